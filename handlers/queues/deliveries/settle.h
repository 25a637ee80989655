/*
 * settle: ends several deliveries of a request: each is acknowledged, acknowledged with a result,
 * or rejected. POST /queues/{name}/settle uses it, and so does `settle` of a receive (receive.c),
 * before it receives.
 *
 *	struct queue_settle *s = queue_settle_new(req, (struct queue_settle){ ... }, count);
 *	queue_settle_add(s, (struct queue_settling){ ... }); ...
 *	if (queue_settle_check(req, s))
 *		queue_settle_send(req, s, on_settled);
 *	on_settled: queue_settle_out(o, s)
 *
 * Each queue takes one call of a script, and all calls are under way at once.
 */
#ifndef PATTERND_QUEUE_SETTLE_H
#define PATTERND_QUEUE_SETTLE_H

#include "queues/queue_call.h"

enum queue_ending { QUEUE_ACKNOWLEDGE, QUEUE_COMPLETE, QUEUE_REJECT };

/* The outcomes, as the script numbers them. UNANSWERED: the call for the queue got no reply. */
enum queue_settled {
	SETTLED_NOT_CURRENT,
	SETTLED_ACKNOWLEDGED,
	SETTLED_REJECTED,
	SETTLED_RESULT_KEPT, /* acknowledged, and its result is stored */
	SETTLED_CANCELLED,
	SETTLED_UNANSWERED,
	SETTLED_COUNT
};

/* One delivery. */
struct queue_settling {
	struct text queue, receipt;
	enum queue_ending ending;
	struct text result;      /* if it is completed */
	struct queue_reject how; /* if it is rejected */
	size_t of_queue;         /* the index of `queue` in the list */
	enum queue_settled outcome;
};

/* The deliveries of a request, in the order of `ending`. In the request's arena. */
struct queue_settle {
	const struct text *queues; /* at most 16 */
	size_t queue_count;
	bool names_queue; /* each delivery names its queue, in the request and in the answer */
	/* the request continues afterwards, so these calls have separate idempotency records */
	bool is_part;
	bool late;           /* a receipt counts although its visibility has ended */
	const char *pointer; /* to the lists in the body: "" or "/settle" */
	/* req->work is this struct while calls are under way: */
	void (*done)(struct request *req);
	void *work; /* the earlier req->work */
	size_t pending, answered;
	unsigned without_results; /* bit i: Redis had no memory for the results of queue i */
	struct call *failed;      /* a call that failed; NULL: none */
	size_t count, counts[QUEUE_REJECT + 1];
	struct queue_settling rows[];
};

/* Allocates room for `count` deliveries. NULL: memory ran out, and the request was answered. */
struct queue_settle *queue_settle_new(struct request *req, struct queue_settle given, size_t count);
void queue_settle_add(struct queue_settle *s, struct queue_settling row);

/* The members of a delivery, from an item of any type of the contract that has them. */
#define QUEUE_SETTLE_COMPLETED(item) .receipt = (item)->receipt, .ending = QUEUE_COMPLETE, .result = (item)->result
#define QUEUE_SETTLE_REJECTED(item) .receipt = (item)->receipt, .ending = QUEUE_REJECT, .how = QUEUE_REJECT_OF(item)

/*
 * The usual turn of a worker is one call, which also receives (queues/receive/queue_turn.lua): it
 * acknowledges deliveries of one queue, without results, without an Idempotency-Key, and not late.
 * `s` may be NULL. queue_settle_call adds the first arguments, and queue_settle_take reads the
 * outcomes.
 */
bool queue_settle_fits_turn(const struct request *req, const struct queue_settle *s);
void queue_settle_call(struct request *req, struct call *c, const struct queue_settle *s);
void queue_settle_take(struct request *req, struct queue_settle *s, const struct reply *r);

/* Answers 400 for the first invalid delivery and returns false. Nothing is settled then. */
bool queue_settle_check(struct request *req, struct queue_settle *s);

/*
 * Sends the calls. There must be at least one delivery. `done` is called once each delivery has an
 * outcome. If no call got a reply, the request is answered with the problem instead.
 */
void queue_settle_send(struct request *req, struct queue_settle *s, void (*done)(struct request *req));

/* Writes the member `deliveries`. */
void queue_settle_out(struct json_out *o, const struct queue_settle *s);

#endif
