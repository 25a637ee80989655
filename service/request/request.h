/*
 * request: what the daemon knows of one HTTP request, from its target to its last byte. It must not
 * know sockets, Redis or patterns.
 *
 *	READING --> CALLING --> ANSWERED       freed when its asker is done with it (asker_done)
 *	   |         |  ^ |        ^           and no reply is pending (pending.calls == 0)
 *	   |     PARKED-+ STREAMING|
 *	   +-----------------------+               READING may go to STREAMING, too
 *
 *	READING    its asker reads head and body
 *	CALLING    pending.calls replies of Redis have not arrived
 *	PARKED     pending.waiter waits (wait/waiter.h)
 *	STREAMING  pending.stream has or gets more to send
 *	ANSWERED   `answer` is complete; its asker sends it
 *
 * It has one owner at a time: its asker while READING, STREAMING and ANSWERED, the pending calls
 * while CALLING, wait.c while PARKED. request_move moves it between states and asserts the move; it
 * is answered exactly once. If the client disconnects while replies are pending, the request stays
 * until they arrive. They are then dropped, or the handler compensates them (`on_disconnect`).
 *
 * The asker is HTTP (http/response.c), or the daemon itself (contract/self_call.h).
 *
 * A parked request keeps its memory address, its input and its handler's work. The allocations of
 * its latest attempt are freed (`pending.attempt`).
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

/* If-Match and If-None-Match; several lines are joined to one list; absent: not sent. */
struct request_conditions {
	struct text match, none_match;
};

/* The request as it was sent. A text that was not sent is absent. */
struct request_asked {
	const char *method;
	struct text target; /* with its query, not decoded */
	struct text path_values[MAX_PATH_PARAMETERS];
	struct request_parameter *query;
	size_t query_count;
	struct text body;
	size_t body_size;        /* bytes that are allocated for it */
	size_t body_discarded;   /* bytes beyond the body's limit or memory, which are dropped */
	const struct json *json; /* in the arena */
	struct text request_id, idempotency_key;
	int64_t record_ms;       /* its idempotency record is kept so long; 0: as the option states */
	struct text traceparent; /* TRACEPARENT_LEN bytes, if it is valid */
	struct text accept, accept_encoding;
	const struct request_conditions *conditions; /* NULL: neither was sent; valid until it is answered */
	/*
	 * Returns the value of a header's first line; absent until the asker sets it, and valid
	 * until it is answered. `lines` may be NULL; it gets the number of lines. Operations'
	 * headers have one, as precheck has checked.
	 */
	struct text (*header)(struct request *req, const char *name, unsigned *lines);
	bool only_health; /* it arrived by --health-listen, which serves only health */
	bool by_unix;     /* it arrived over a Unix socket */
};

/* The client that sent the request. */
struct request_caller {
	struct text name;                  /* label of its token, else the digest; absent: it needs no token */
	bool is_label;                     /* the name may be shown */
	const unsigned char *token_digest; /* NULL: it needs no token */
	const char *cors_origin;           /* static: the allowed origin that sent it, or NULL */
};

/* What the request waits for. */
struct request_pending {
	unsigned calls;            /* replies that have not arrived */
	unsigned replica_turn;     /* selects the replica that it reads from; 0: not chosen yet */
	bool reads_primary;        /* a read that a replica could serve went to the primary */
	bool is_disconnected;      /* the client has disconnected; the asker may not know yet */
	int64_t sent_us;           /* when the latest call with a `done` was sent: its reply is newer */
	struct waiter *waiter;     /* NULL: it does not wait */
	struct arena_mark attempt; /* set by wait_begin: memory after it belongs to one attempt */
	unsigned parkings;         /* how often it parked: replies to calls of earlier attempts are ignored */
	struct stream *stream;     /* while STREAMING */
	void (*stream_disconnected)(struct stream *s);
	int64_t waited_us, waits_since_us; /* see request_waited_us */
};

/* The response. */
struct request_answer {
	int status;
	bool close;        /* the connection must be closed after it */
	bool is_replay;    /* a reply was recorded for its Idempotency-Key before: Idempotent-Replayed */
	bool from_replica; /* a reply came from a replica: Patternd-Source */
	const char *content_type;
	const char *cache_control;         /* static; NULL: no-store */
	const struct problem_row *problem; /* NULL on success */
	int64_t retry_after_ms;            /* 0: no Retry-After */
	struct json_out *out;
	struct text body;
	struct response_header *headers; /* MAX_RESPONSE_HEADERS are allocated with the first one */
	size_t header_count;
};

/*
 * The callbacks of the asker, which is what began the request: HTTP, for one. The struct is static.
 */
struct request_asker {
	void (*answered)(struct request *req); /* it was answered, or streams, while the asker waits for that */
	void (*streamed)(struct request *req); /* its stream has more */
	/* Returns true if the client of a request that waited has disconnected. */
	bool (*is_disconnected)(struct request *req);
	void (*disconnected)(struct request *req); /* the client has disconnected: close */
};

/* What admits an operation that a gateway runs. */
enum gateway_scope {
	GATEWAY_ITS_OWN,    /* its scopes, as the contract has them */
	GATEWAY_ANY_ACTION, /* a scope for any action on its name; see is_blind */
	GATEWAY_ACTION,     /* a scope for `action` on its name */
	GATEWAY_ADMITTED,   /* no scope: the check of an earlier operation admits it */
};

/*
 * What a gateway keeps of a request: it takes requests of another protocol, and runs operations of
 * the contract for them (contract/gateway.h). It is a member of the gateway's struct, in the
 * request's arena.
 */
struct request_gateway {
	const struct operation *op; /* what the client asked for, in logs and metrics */
	/*
	 * Called when an answer is complete, instead of sending it. It must answer, or run the next
	 * operation.
	 */
	void (*answered)(struct request *req);
	enum gateway_scope scope; /* of the next operation; then GATEWAY_ITS_OWN */
	const char *action;       /* static; for GATEWAY_ACTION, or NULL */
	/*
	 * After GATEWAY_ANY_ACTION with an action: the token has neither the operation's own scope
	 * nor one for the action, so the answer may not be shown.
	 */
	bool is_blind;
	struct text resource; /* what the client named, for logs; absent: what the operation names */
	const char *code;     /* static; of an error that the contract does not have, for logs */
};

struct request {
	struct arena arena; /* has all memory of the request, the struct included */
	enum request_state state;
	bool asker_done;            /* the asker does not use it any more */
	bool background;            /* it never had an asker; its steps run nevertheless */
	const struct operation *op; /* NULL: no operation matched, and a problem was answered */
	const struct request_asker *asker;
	void *exchange; /* (ref) owned by the asker */
	int64_t started_us;
	struct request_asked asked;
	struct request_caller caller;
	struct request_pending pending;
	struct request_answer answer;
	struct request_gateway *gateway; /* NULL: it is a request of the contract */

	/*
	 * What the steps of a handler share: its input and work, and Redis's clock in the latest
	 * reply.
	 */
	const void *input;
	void *work;
	int64_t now_ms;
	const struct call_result *result; /* of the call whose `done` runs, else NULL (call/result.h) */
	/* an earlier step changed something, so no problem may have the effect `none` */
	bool has_effect;
	bool is_split; /* it has several slots of a Cluster, so it has no idempotency record */
	/* Set by a handler: called once in place of a problem. Returns true if it answered. */
	bool (*fallback)(struct request *req, enum problem p, enum effect effect);
	/*
	 * Set by a handler: called at most once when the client disconnected, to release what was
	 * acquired for it. `reply` belongs to the call under way; NULL: none was under way, as in a
	 * parked request, or its reply never came. It may call Redis, without a `done`.
	 */
	void (*on_disconnect)(struct request *req, const struct reply *reply);
	void (*ended)(struct request *req); /* of a background request, when it has ended; see answer.problem */
};

/* Makes a request in its own arena, without an asker. Copies the target. NULL: memory ran out. */
struct request *request_new(const char *target, size_t target_len);

/*
 * request_background makes a request without a client, for the daemon's own calls. It is CALLING,
 * and `ended` may be NULL. NULL: memory ran out. Call request_background_start after its first
 * calls: the request is freed when no reply is pending.
 */
struct request *request_background(const struct operation *op, void *work, void (*ended)(struct request *req));
void request_background_start(struct request *req);

/* Returns what the client asked for, which logs and metrics name; NULL: nothing that is known. */
static inline const struct operation *request_operation(const struct request *req)
{
	return req->gateway ? req->gateway->op : req->op;
}

/* Makes room for a body of `len` bytes; 0: the length is not known. False: memory ran out. */
bool request_expect_body(struct request *req, size_t len);

/*
 * Takes more of the body. Beyond `limit`, or if memory runs out (arena.failed), bytes are dropped,
 * so that the client can read the problem. Returns false beyond twice the limit: the connection
 * must be closed.
 */
bool request_take_body(struct request *req, const char *bytes, size_t len, size_t limit);

/* Moves the request to a state, and asserts that the move is allowed. ANSWERED calls the asker. */
void request_move(struct request *req, enum request_state to);

/*
 * Returns how long it was parked or has streamed, in microseconds: time that was not spent on it.
 */
int64_t request_waited_us(const struct request *req);

/* Call them when the asker is done with it, or a call has ended. It is freed after both. */
void request_asker_done(struct request *req);
void request_call_ended(struct request *req);

/*
 * Call it if something other than a reply of Redis will answer the request. It then exists until
 * request_call_ended, which must follow the answer.
 */
void request_expect_answer(struct request *req);

/* Call it when its stream has more, or has ended. */
void request_streamed(struct request *req);

/* Returns true if the client of a request that has waited disconnected. */
bool request_is_disconnected(struct request *req);

/* The client disconnected: calls on_disconnect with the reply, or NULL. */
void request_compensate(struct request *req, const struct reply *reply);

/* Called once, by wait.c. */
void request_set_wait(void (*ended)(struct request *req));

/* ---- For handlers ---- */

/* Returns the milliseconds from now_ms of the latest reply to an instant; 0 when it has passed. */
int64_t request_ms_until(const struct request *req, int64_t at_ms);

/*
 * Returns true if the instant has passed by the time the response is written: Redis may have been
 * slow, or the daemon may have stalled. A lease that may have expired must not be reported as held.
 */
bool request_is_past(const struct request *req, int64_t at_ms);

#endif
