/*
 * http: a client for tests, over libcurl, and what can be asked of an answer.
 *
 *	struct client *c = client_open(d.port);
 *	struct answer a = http(c, "POST", "/locks/a", "{\"ttl_ms\":5000}");
 *	assert_status(a, 201);
 *	a = http(c, "DELETE", "/locks/a", NULL, "Lock-Token: none");
 *	assert_problem(a, 409, "not_holder", "none");
 *	assert_int_equal(int_at(a, "/holds"), 0);
 *	client_close(c);
 *
 * A client keeps its connection alive between requests. Answers belong to the client (or raw connection) that got them
 * and live until client_close or client_forget. Every exchange is recorded (exchange.h). One thread at a time uses a
 * client.
 */
#ifndef TEST_HTTP_H
#define TEST_HTTP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct header {
	const char *name, *value;
};

struct answer {
	int status; /* 0: no answer came, `error` says why */
	const char *error;
	const char *body; /* never NULL; a NUL follows it */
	size_t body_len;
	const json_t *json; /* (ref) the body, when it says that it is JSON and is; else NULL */
	const struct header *headers;
	size_t header_count;
	int64_t took_us; /* from sending to the last byte */
};

/* Memory of answers; a client and a raw connection each have one. */
struct kept;

struct client;
struct client *client_open(int port);
void client_by_unix(struct client *c, const char *path); /* by that socket instead of the port */
/* By https://localhost:port, whose certificate `ca` must have signed, with a certificate of its own (NULL: none). All are files. */
void client_by_tls(struct client *c, const char *ca, const char *cert, const char *key);
void client_close(struct client *c);
void client_forget(struct client *c);             /* frees the answers so far */
void client_timeout_ms(struct client *c, int ms); /* for a whole exchange; 10 s when never called */
void client_reconnect(struct client *c);          /* the next request opens a new connection */
void client_decode(struct client *c);             /* asks for compressed bodies, and decompresses them */

/*
 * One exchange: method, target (as it is sent: percent-encode it yourself), body text or NULL, then any number of
 * headers "Name: value" ("Name:" takes out one of the client's own). A body goes as application/json unless a header
 * says otherwise.
 */
#define http(client, ...) http_exchange((client), __VA_ARGS__, (const char *)NULL)
struct answer http_exchange(struct client *c, const char *method, const char *target, const char *body, ...)
	__attribute__((sentinel));

/* The same with a body of any bytes. */
struct answer http_bytes(struct client *c, const char *method, const char *target, const void *body, size_t len,
			 const char *const headers[]);

/*
 * All pages of a list as if they were one, for tests of few items: a list of a Cluster has a page a node at least. The first
 * answer that is not 200 instead.
 */
struct answer http_all(struct client *c, const char *target);

/* A header's value, NULL when there is none; upper and lower case are the same. */
const char *header_of(struct answer a, const char *name);

/* Where a JSON pointer leads ("/errors/0/pointer"), NULL when nowhere. */
const json_t *json_at(struct answer a, const char *pointer);

/* What is there; anything else there, or nothing, fails the test. */
int64_t int_at(struct answer a, const char *pointer);
double real_at(struct answer a, const char *pointer);
bool bool_at(struct answer a, const char *pointer);
const char *text_at(struct answer a, const char *pointer);

/* Fails the test, printing the answer, when the status is another. */
#define assert_status(a, wanted) answer_must_have(a, wanted, __FILE__, __LINE__)
void answer_must_have(struct answer a, int status, const char *file, int line);

/*
 * Fails the test unless the answer is a whole problem (RFC 9457 and the contract) of this status, code and effect. NULL
 * for code or effect takes any. problem_flaw gives the first thing that is wrong with it instead, NULL when nothing is.
 */
#define assert_problem(a, status, code, effect) answer_must_be_problem(a, status, code, effect, __FILE__, __LINE__)
void answer_must_be_problem(struct answer a, int status, const char *code, const char *effect, const char *file,
			    int line);
const char *problem_flaw(struct answer a, int status, const char *code, const char *effect);

/* For a message: status, and the start of the body. */
void answer_print(struct answer a);

/* Makes an answer of a head (status line and headers) and a body, both copied. `kept` takes it; see kept_free. */
struct answer answer_make(struct kept **kept, const char *head, size_t head_len, const char *body, size_t body_len);
struct answer answer_missing(struct kept **kept, const char *error);
void kept_free(struct kept **kept);

#endif
