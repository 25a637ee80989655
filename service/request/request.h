/*
 * request: what the daemon knows of one HTTP request, from its target to its last byte.
 *
 *	READING --> CALLING --> ANSWERED          freed when the HTTP side is done with it (http_done)
 *	   |         |  ^ |        ^              and Redis owes it nothing more (calls_owed == 0)
 *	   |     PARKED-+ STREAMING|
 *	   +-----------------------+               READING may go to STREAMING, too
 *
 * One owner at a time: http.c while READING, STREAMING and ANSWERED, the pending calls while CALLING, wait.c while PARKED. One function
 * moves it between states and asserts the move; it is answered exactly once. When the client leaves while Redis owes answers, the
 * request stays until they have come, and what they say is thrown away, or given back where a handler said how (`on_disconnect`).
 *
 * A parked request keeps its place, its input and its handler's work. What its latest attempt allocated is released (`attempt`).
 */
#ifndef PATTERND_REQUEST_H
#define PATTERND_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/text.h"
#include "request/operation.h"

struct call_result;
struct json;
struct operation;
struct reply;
struct stream;
struct waiter;

enum request_state { READING, CALLING, PARKED, STREAMING, ANSWERED };

/* A header of the answer. */
struct response_header {
	const char *name; /* static */
	const char *value;
};

enum { MAX_PATH_PARAMETERS = 4, MAX_ANSWER_HEADERS = 12, MAX_QUERY_PARAMETERS = 128 };

struct request_parameter {
	struct text name, value; /* decoded */
};

/* If-Match and If-None-Match as they came, several lines as one list; absent: it did not come. */
struct request_conditions {
	struct text match, none_match;
};

struct request {
	struct arena arena; /* everything below lives here, the struct itself too */
	enum request_state state;
	/* Side by side: each that waits takes memory for as long. */
	bool http_done;           /* the HTTP side is done with it */
	bool client_gone;         /* its client left, which the HTTP side need not have seen yet */
	bool only_health;         /* it came by --health-listen: nothing but health is served there */
	bool background;          /* never had a client: its steps run all the same */
	bool has_effect;          /* an earlier step changed something: no problem may say `none` any more */
	bool is_split;            /* over several slots of a Cluster: an Idempotency-Key cannot be kept */
	bool misread;             /* a reply of Redis was not of the agreed form: a problem is its answer */
	bool misread_told;        /* which it got */
	bool close;               /* the connection must not be used again */
	bool (*is_misread)(void); /* while a handler reads a reply: an element was of another type than it read */
	unsigned calls_owed;      /* replies that Redis owes it */

	/* What was asked */
	const char *method;
	struct text target;         /* as it came, with its query */
	const struct operation *op; /* NULL: none matched, and a problem was answered */
	struct text path_values[MAX_PATH_PARAMETERS];
	struct request_parameter *query;
	size_t query_count;
	struct text body;
	size_t body_size;        /* room for it */
	size_t body_discarded;   /* bytes of a body that went over its limit, or found no room; they are thrown away */
	const struct json *json; /* in the arena */
	struct text request_id, idempotency_key;
	struct text trace_id;              /* of a valid traceparent; else absent */
	struct text caller;                /* the label of its token; absent: it has none */
	const unsigned char *token_digest; /* until its input was filled, where that decides; else NULL */
	const char *cors_origin;           /* static: an allowed origin that it comes from; else NULL */
	struct text accept;
	const struct request_conditions *conditions; /* NULL: neither came; works until the answer is given */
	/* The value of a header, absent when there is none; set by http.c, works until the answer is given. */
	struct text (*header)(struct request *req, const char *name);
	void *exchange; /* (ref) http.c's side */
	int64_t started_us;
	int64_t waited_us, waits_since_us; /* request_waited_us */

	/* While it waits, and when nobody does any more */
	struct waiter *waiter;     /* wait.c's; NULL when it never waits */
	struct arena_mark attempt; /* set by wait_begin: what the arena has beyond it belongs to one attempt */
	/*
	 * Set by a handler: the client left, so what was won for it goes back. `reply` is that of the call under way, NULL when there was none,
	 * as of a parked request, or it never came. Called at most once; may call Redis, and does not learn the outcome.
	 */
	void (*on_disconnect)(struct request *req, const struct reply *reply);
	void (*ended)(struct request *req);    /* of a background one: all is said; `problem` tells how it went */
	struct stream *stream;                 /* while STREAMING */
	void (*stream_left)(struct stream *s); /* its client did */

	/* Between the steps of one handler: its input, whatever it wants to keep, Redis's clock of the latest reply */
	const void *input;
	void *work;
	/* Set by a handler: asked instead of a problem of 5xx. True: it has answered. At most once. */
	bool (*fallback)(struct request *req);
	int64_t now_ms;
	int64_t asked_us;                 /* when the latest call was handed over: what its reply tells was so later */
	const struct call_result *result; /* of the call whose `done` runs, else NULL (call/script.h) */

	/* What is answered */
	int status;
	const char *content_type;
	const char *cache_control;         /* static; NULL: no-store */
	const struct problem_row *problem; /* NULL on success */
	struct json_out *out;
	struct text answer;              /* the body's bytes */
	struct response_header *headers; /* room for MAX_ANSWER_HEADERS, once there is one */
	size_t header_count;
};

/* A new request in its own arena; NULL without memory. Takes a copy of the target. */
struct request *request_new(const char *target, size_t target_len);

/*
 * A request that has no client, for what the daemon owes Redis by itself; it is CALLING. NULL without memory. Once its first calls were
 * sent, request_background_start: it is freed when none is left. `ended` may be NULL.
 */
struct request *request_background(const struct operation *op, void *work, void (*ended)(struct request *req));
void request_background_start(struct request *req);

/* Makes room for a body of `len` bytes, 0 when it is not known. False without memory. */
bool request_expect_body(struct request *req, size_t len);

/*
 * More of the body. Beyond `limit`, or without memory (arena.failed), it is thrown away, so that the client can read why; false when it
 * goes on for ever (twice the limit): the connection must go.
 */
bool request_take_body(struct request *req, const char *bytes, size_t len, size_t limit);

/* Moves it on; asserts that the move is allowed. ANSWERED tells http.c. */
void request_move(struct request *req, enum request_state to);

/* How long it was parked or has streamed, in microseconds: the rest of its time was spent on it. */
int64_t request_waited_us(const struct request *req);

/* http.c is done with it, or a call's reply has come: frees it when nobody needs it any more. */
void request_http_done(struct request *req);
void request_call_ended(struct request *req);

/* Its stream has more, or ended. */
void request_streamed(struct request *req);

/* True when nobody is there any more to take the answer of a request that has waited. */
bool request_client_gone(struct request *req);

/* Nobody waits for what `reply` says (NULL: nothing was said): what was won goes back. */
void request_compensate(struct request *req, const struct reply *reply);

/* Who is told. Set once by http.c and wait.c. */
struct request_callbacks {
	void (*answered)(struct request *req); /* answered, or streaming, while HTTP still waits for it */
	void (*streamed)(struct request *req); /* its stream has more */
	/* Asks: did the client of a request that waited leave this very moment? */
	bool (*client_gone)(struct request *req);
	void (*disconnected)(struct request *req); /* it did, and what was won for it goes back: close */
};
void request_set_http(const struct request_callbacks *told);
void request_set_wait(void (*ended)(struct request *req));

/* ---- For handlers ---- */

/* `digits` random hex digits and a NUL, from the kernel. */
void random_hex(char *out, size_t digits);

/* SHA-256 as 64 hex digits, in the request's arena. */
struct text request_digest(struct request *req, struct text bytes);

/* What its Idempotency-Key is scoped to: operation, path and key. Only when it has a key. */
struct text request_scope(struct request *req);

/*
 * Masks 32 hex digits with the request's Idempotency-Key (XOR with a digest of it and its scope), so
 * that what Redis keeps for a replay is of use only to a client that presents the key. Masking twice
 * restores them. Without a key it returns its input.
 */
struct text request_mask(struct request *req, struct text hex32);

/* Milliseconds from the latest reply's now_ms to an instant; 0 when it has passed. */
int64_t request_ms_until(const struct request *req, int64_t at_ms);

/*
 * The same, as seen when the answer is written: Redis may have been slow to tell, or the daemon have stood still. What was granted until then
 * must not be told as if it could still be used.
 */
bool request_is_past(const struct request *req, int64_t at_ms);

/*
 * How well a media type suits the Accept header: of two, the one with the larger result is preferred. 0: it is ruled out (q=0); negative: no
 * media range matches it. The most specific range that matches a type decides; parameters other than q are not looked at.
 */
int request_accepts(struct request *req, const char *media_type);

#endif
