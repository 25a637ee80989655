/*
 * answer: the response that a client or raw connection got, and what can be asked of it.
 *
 * Its memory belongs to the client or connection and lives until that frees it.
 */
#ifndef TEST_ANSWER_H
#define TEST_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer_header {
	const char *name, *value;
};

struct answer {
	int status; /* 0: no answer came; `error` has the cause */
	const char *error;
	const char *body; /* never NULL; a NUL follows it */
	size_t body_len;
	const json_t *json; /* (ref) the body, when its Content-Type is JSON and it parses; else NULL */
	const struct answer_header *headers;
	size_t header_count;
	int64_t took_us; /* from sending to the last byte */
};

/* Memory of answers; a client and a raw connection each have one. */
struct answer_memory;

/* A header's value, NULL when there is none; upper and lower case are the same. */
const char *header_of(struct answer a, const char *name);

/* Where a JSON pointer leads ("/errors/0/pointer"), NULL when nowhere. */
const json_t *json_at(struct answer a, const char *pointer);

/* The value there; another type, or no value, fails the test. */
int64_t int_at(struct answer a, const char *pointer);
double real_at(struct answer a, const char *pointer);
bool bool_at(struct answer a, const char *pointer);
const char *text_at(struct answer a, const char *pointer);

/* Fails the test, printing the answer, when the status is another. */
#define assert_status(a, wanted) answer_must_have(a, wanted, __FILE__, __LINE__)
void answer_must_have(struct answer a, int status, const char *file, int line);

/*
 * Fails the test unless the answer is a whole problem (RFC 9457 and the contract) of this status,
 * code and effect. NULL for code or effect takes any. problem_flaw gives the first thing that is
 * wrong with it instead, NULL when nothing is.
 */
#define assert_problem(a, status, code, effect) answer_must_be_problem(a, status, code, effect, __FILE__, __LINE__)
void answer_must_be_problem(struct answer a, int status, const char *code, const char *effect, const char *file,
			    int line);
const char *problem_flaw(struct answer a, int status, const char *code, const char *effect);

/* For a message: status, and the start of the body. */
void answer_print(struct answer a);

/*
 * Makes an answer of a head (status line and headers) and a body, both copied. `kept` takes it; see
 * answer_memory_free.
 */
struct answer answer_make(struct answer_memory **kept, const char *head, size_t head_len, const char *body,
			  size_t body_len);
struct answer answer_missing(struct answer_memory **kept, const char *error);
void answer_memory_free(struct answer_memory **kept);

#endif
