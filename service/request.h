/*
 * request: what the daemon knows of one HTTP request, from its target to its last byte.
 *
 *	READING --> CALLING --> ANSWERED          freed when the HTTP side is done with it (http_gone)
 *	   |                       ^              and Redis owes it nothing more (calls_owed == 0)
 *	   +-----------------------+
 *
 * One owner at a time: http.c while READING and ANSWERED, the pending calls while CALLING. One function moves it between
 * states and asserts the move; it is answered exactly once. When the client leaves while Redis owes answers, the request
 * stays until they have come, and what they say is thrown away.
 */
#ifndef PATTERND_REQUEST_H
#define PATTERND_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "answer.h"
#include "arena.h"
#include "input.h"
#include "text.h"

enum request_state { READING, CALLING, ANSWERED };

/* A header of the answer. */
struct answer_header_row {
	const char *name; /* static */
	const char *value;
};

enum { MAX_PATH_PARAMETERS = 4, MAX_ANSWER_HEADERS = 12, MAX_QUERY_PARAMETERS = 128 };

struct query_parameter {
	struct text name, value; /* decoded */
};

struct request {
	struct arena arena; /* everything below lives here, the struct itself too */
	enum request_state state;
	bool http_gone;      /* the HTTP side is done with it */
	unsigned calls_owed; /* replies that Redis owes it */

	/* What was asked */
	const char *method;
	struct text target;         /* as it came, with its query */
	const struct operation *op; /* NULL: none matched, and a problem was answered */
	struct text path_values[MAX_PATH_PARAMETERS];
	struct query_parameter *query;
	size_t query_count;
	struct text body;
	size_t body_size;      /* room for it */
	size_t body_discarded; /* bytes of a body that went over its limit; they are thrown away */
	json_t *json;          /* in the arena */
	struct text request_id, idempotency_key;
	struct text trace_id; /* of a valid traceparent; else absent */
	struct text accept;
	/* The value of a header, absent when there is none; set by http.c, works until the answer is given. */
	struct text (*header)(struct request *req, const char *name);
	void *exchange; /* (ref) http.c's side */
	int64_t started_us;

	/* Between the steps of one handler: its input, whatever it wants to keep, Redis's clock of the latest reply */
	const void *input;
	void *work;
	bool has_effect; /* an earlier step changed something: no problem may say `none` any more */
	int64_t now_ms;
	size_t tag; /* of the call whose `done` runs */

	/* What is answered */
	int status;
	const char *content_type;
	const struct problem_row *problem; /* NULL on success */
	struct json_out out;
	struct text answer; /* the body's bytes */
	struct answer_header_row headers[MAX_ANSWER_HEADERS];
	size_t header_count;
	bool close; /* the connection must not be used again */
};

/* A new request in its own arena; NULL without memory. Takes a copy of the target. */
struct request *request_new(const char *target, size_t target_len);

/* Makes room for a body of `len` bytes, 0 when it is not known. False without memory. */
bool request_expect_body(struct request *req, size_t len);

/*
 * More of the body. Beyond `limit` it is thrown away, so that the client can read why; false when it goes on for ever (twice the
 * limit), or without memory: the connection must go.
 */
bool request_take_body(struct request *req, const char *bytes, size_t len, size_t limit);

/* Moves it on; asserts that the move is allowed. ANSWERED tells http.c. */
void request_move(struct request *req, enum request_state to);

/* http.c is done with it, or a call's reply has come: frees it when nobody needs it any more. */
void request_http_gone(struct request *req);
void request_call_ended(struct request *req);

/* What request_move calls when a request is answered while HTTP still waits for it. Set once by http.c. */
void request_on_answered(void (*answered)(struct request *req));

/* ---- For handlers ---- */

/* `digits` random hex digits and a NUL, from the kernel. */
void random_hex(char *out, size_t digits);

/* SHA-256 as 64 hex digits, in the request's arena. */
struct text request_digest(struct request *req, struct text bytes);

/* What its Idempotency-Key is scoped to: operation, path and key. Only when it has a key. */
struct text request_scope(struct request *req);

/*
 * Seals 32 hex digits with the request's Idempotency-Key (XOR with a digest of it and its scope), so that what Redis keeps for a replay is
 * of use only to somebody who presents the key. Sealing twice unseals. Without a key it returns its input.
 */
struct text request_seal(struct request *req, struct text hex32);

/* Milliseconds from the latest reply's now_ms to an instant; 0 when it has passed. */
int64_t request_ms_until(const struct request *req, int64_t at_ms);

/* True when the Accept header names this media type itself (not through a wildcard). */
bool request_accepts(struct request *req, const char *media_type);

#endif
