/*
 * request: what the daemon knows of one HTTP request, from its target to its last byte.
 *
 *	READING --> CALLING --> ANSWERED       freed when its asker is done with it (asker_done)
 *	   |         |  ^ |        ^           and no reply is pending (pending.calls == 0)
 *	   |     PARKED-+ STREAMING|
 *	   +-----------------------+               READING may go to STREAMING, too
 *
 * One owner at a time: its asker while READING, STREAMING and ANSWERED, the pending calls while
 * CALLING, wait.c while PARKED. request_move moves it between states and asserts the move; it is
 * answered exactly once. When the client disconnects while replies are pending, the request stays
 * until they arrive; then they are dropped, or the handler compensates them (`on_disconnect`).
 *
 * The asker is HTTP (http/response.c), or the daemon itself (contract/inner.h).
 *
 * A parked request keeps its memory address, its input and its handler's work. What its latest
 * attempt allocated is released (`pending.attempt`).
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

/* A header of the response. */
struct response_header {
	const char *name; /* static */
	const char *value;
};

enum { MAX_PATH_PARAMETERS = 4, MAX_RESPONSE_HEADERS = 12, MAX_QUERY_PARAMETERS = 128 };

struct request_parameter {
	struct text name, value; /* decoded */
};

/* If-Match and If-None-Match as they came, several lines as one list; absent: it did not come. */
struct request_conditions {
	struct text match, none_match;
};

/* What was asked. Texts are absent that did not come. */
struct request_asked {
	const char *method;
	struct text target; /* as it came, with its query */
	struct text path_values[MAX_PATH_PARAMETERS];
	struct request_parameter *query;
	size_t query_count;
	struct text body;
	size_t body_size;        /* room for it */
	size_t body_discarded;   /* bytes beyond the body's limit or memory, which are dropped */
	const struct json *json; /* in the arena */
	struct text request_id, idempotency_key;
	int64_t record_ms;       /* its idempotency record is kept so long; 0: by the option */
	struct text traceparent; /* TRACEPARENT_LEN bytes of a valid one */
	struct text accept;
	const struct request_conditions *conditions; /* NULL: neither came; valid until it is answered */
	/* The value of a header, absent until the asker sets it; valid until it is answered. */
	struct text (*header)(struct request *req, const char *name);
	bool only_health; /* it came by --health-listen, which serves nothing but health */
};

/* The client. */
struct request_caller {
	struct text name;                  /* its token's label, else the digest; absent: it needs none */
	bool is_label;                     /* the name may be shown */
	const unsigned char *token_digest; /* while the scopes depend on the input; else NULL */
	const char *cors_origin;           /* static: the allowed origin it comes from, or NULL */
};

/* What it waits for. */
struct request_pending {
	unsigned calls;            /* replies that have not come yet */
	unsigned replica_turn;     /* picks the replica that it reads from; 0: none was chosen yet */
	bool reads_primary;        /* a read that a replica may serve went to the primary */
	bool is_disconnected;      /* the client is; the asker need not know yet */
	int64_t sent_us;           /* when the latest call was sent: its reply is newer */
	struct waiter *waiter;     /* NULL when it does not wait */
	struct arena_mark attempt; /* set by wait_begin: memory beyond it belongs to one attempt */
	unsigned parkings;         /* how often it parked: replies to calls of before are ignored */
	struct stream *stream;     /* while STREAMING */
	void (*stream_disconnected)(struct stream *s);
	int64_t waited_us, waits_since_us; /* request_waited_us */
};

/* What is answered. */
struct request_answer {
	int status;
	bool close;        /* the connection must not be used again */
	bool is_replay;    /* a reply was recorded for its Idempotency-Key before: Idempotent-Replayed */
	bool from_replica; /* a reply came from a replica: Patternd-Source */
	const char *content_type;
	const char *cache_control;         /* static; NULL: no-store */
	const struct problem_row *problem; /* NULL on success */
	int64_t retry_after_ms;            /* 0: no Retry-After */
	struct json_out *out;
	struct text body;
	struct response_header *headers; /* room for MAX_RESPONSE_HEADERS, once there is one */
	size_t header_count;
};

/* What the asker of a request learns, and answers. Static. */
struct request_asker {
	void (*answered)(struct request *req); /* answered, or streaming, while the asker waits for it */
	void (*streamed)(struct request *req); /* its stream has more */
	/* True when the client of a request that waited has disconnected by now. */
	bool (*is_disconnected)(struct request *req);
	void (*disconnected)(struct request *req); /* it did: close */
};

struct request {
	struct arena arena; /* everything below lives here, the struct itself too */
	enum request_state state;
	bool asker_done;            /* the asker is done with it */
	bool background;            /* never had an asker; its steps run all the same */
	const struct operation *op; /* NULL: none matched, and a problem was answered */
	const struct request_asker *asker;
	void *exchange; /* (ref) the asker's side */
	int64_t started_us;
	struct request_asked asked;
	struct request_caller caller;
	struct request_pending pending;
	struct request_answer answer;

	/* Between the steps of a handler: its input and data, Redis's clock of the latest reply */
	const void *input;
	void *work;
	int64_t now_ms;
	const struct call_result *result; /* of the call whose `done` runs, else NULL (call/result.h) */
	bool has_effect;                  /* an earlier step changed something: no problem may be `none` */
	bool is_split;                    /* over several slots of a Cluster: no idempotency record */
	/* Set by a handler: called once instead of a problem. True: it answered. */
	bool (*fallback)(struct request *req, enum problem p, enum effect effect);
	/*
	 * Set by a handler: the client disconnected, so what was acquired for it must be released.
	 * `reply` is that of the call under way, NULL without one, as in a parked request, or when
	 * it never came. Called at most once; may call Redis, without a `done`.
	 */
	void (*on_disconnect)(struct request *req, const struct reply *reply);
	void (*ended)(struct request *req); /* of a background request: it is done; see answer.problem */
};

/*
 * A new request in its own arena, without an asker until one is set; NULL without memory. Takes
 * a copy of the target.
 */
struct request *request_new(const char *target, size_t target_len);

/*
 * A request without a client, for calls that the daemon makes by itself; it is CALLING. NULL
 * without memory. After its first calls call request_background_start: it is freed when no reply is
 * owed. `ended` may be NULL.
 */
struct request *request_background(const struct operation *op, void *work, void (*ended)(struct request *req));
void request_background_start(struct request *req);

/* Makes room for a body of `len` bytes, 0 when it is not known. False without memory. */
bool request_expect_body(struct request *req, size_t len);

/*
 * More of the body. Beyond `limit`, or without memory (arena.failed), it is dropped, so that the
 * client can read the problem; false beyond twice the limit: the connection must be closed.
 */
bool request_take_body(struct request *req, const char *bytes, size_t len, size_t limit);

/* Asserts that the move is allowed. ANSWERED calls the asker. */
void request_move(struct request *req, enum request_state to);

/* How long it was parked or has streamed, in microseconds: not time spent on it. */
int64_t request_waited_us(const struct request *req);

/* The asker is done with it, or a call has ended: frees it when neither is left. */
void request_asker_done(struct request *req);
void request_call_ended(struct request *req);

/*
 * It will be answered by something else than a reply of Redis: until request_call_ended, which
 * follows the answer, it stays.
 */
void request_expect_answer(struct request *req);

/* Its stream has more, or ended. */
void request_streamed(struct request *req);

/* True when the client of a request that has waited disconnected. */
bool request_is_disconnected(struct request *req);

/* The client disconnected: calls on_disconnect with the reply, NULL for none. */
void request_compensate(struct request *req, const struct reply *reply);

/* Set once by wait.c. */
void request_set_wait(void (*ended)(struct request *req));

/* ---- For handlers ---- */

/* Milliseconds from the latest reply's now_ms to an instant; 0 when it has passed. */
int64_t request_ms_until(const struct request *req, int64_t at_ms);

/*
 * True when the instant has passed by the time the response is written: Redis may have been slow,
 * or the daemon may have stalled. A lease that may have expired must not be reported as held.
 */
bool request_is_past(const struct request *req, int64_t at_ms);

#endif
