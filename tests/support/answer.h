/*
 * answer: a response that a client (http.h) or a raw connection (raw.h) received, and functions
 * that read and check it.
 *
 * The client or connection owns the memory of its answers, and frees it.
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

/* The value of a header, or NULL without one. The case of the name does not matter. */
const char *header_of(struct answer a, const char *name);

/* The value at a JSON pointer ("/errors/0/pointer"), or NULL without one. */
const json_t *json_at(struct answer a, const char *pointer);
/* The first item of a list whose member is this text; NULL without one. */
const json_t *json_item(struct answer a, const char *list, const char *member, const char *text);

/* The value at a JSON pointer. Fails the test when it is missing or of another type. */
int64_t int_at(struct answer a, const char *pointer);
double real_at(struct answer a, const char *pointer);
bool bool_at(struct answer a, const char *pointer);
const char *text_at(struct answer a, const char *pointer);

/* Prints the answer and fails the test when the answer has another status. */
#define assert_status(a, wanted) answer_must_have(a, wanted, __FILE__, __LINE__)
void answer_must_have(struct answer a, int status, const char *file, int line);

/*
 * Fails the test unless the answer is a complete problem (RFC 9457 and the contract) with this
 * status, code and effect. NULL accepts any code or effect. problem_flaw returns the first fault
 * instead, or NULL without one.
 */
#define assert_problem(a, status, code, effect) answer_must_be_problem(a, status, code, effect, __FILE__, __LINE__)
void answer_must_be_problem(struct answer a, int status, const char *code, const char *effect, const char *file,
			    int line);
const char *problem_flaw(struct answer a, int status, const char *code, const char *effect);

/* Prints the status and the start of the body, to explain a failure. */
void answer_print(struct answer a);

/*
 * Makes an answer from a head (status line and headers) and a body, and copies both. `kept` owns
 * the answer until answer_memory_free.
 */
struct answer answer_make(struct answer_memory **kept, const char *head, size_t head_len, const char *body,
			  size_t body_len);
struct answer answer_missing(struct answer_memory **kept, const char *error);
void answer_memory_free(struct answer_memory **kept);

#endif
