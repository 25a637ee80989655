/*
 * settle: deliveries that end together, each acknowledged, acknowledged with a result, or rejected:
 * those of POST /queues/{name}/settle, and those of `settle` in a receive (receive.c), which end
 * first.
 *
 *	struct queue_settle *s = queue_settle_new(req, (struct queue_settle){ ... }, count);
 *	queue_settle_add(s, (struct queue_settling){ ... }); ...
 *	if (queue_settle_check(req, s))
 *		queue_settle_send(req, s, on_settled);
 *	on_settled: queue_settle_out(o, s)
 *
 * One queue is one call of a script; of several queues each is a call of its own, and all calls are
 * under way at once.
 */
#ifndef PATTERND_QUEUE_SETTLE_H
#define PATTERND_QUEUE_SETTLE_H

#include "queues/queue_call.h"

enum queue_ending { QUEUE_ACKNOWLEDGE, QUEUE_COMPLETE, QUEUE_REJECT };

/* As the script numbers them; the last is that of a queue whose call had no reply. */
enum queue_settled {
	SETTLED_NOT_CURRENT,
	SETTLED_ACKNOWLEDGED,
	SETTLED_REJECTED,
	SETTLED_RESULT_KEPT, /* acknowledged, and its result is */
	SETTLED_CANCELLED,
	SETTLED_UNANSWERED,
	SETTLED_COUNT
};

/* One delivery. */
struct queue_settling {
	struct text queue, receipt;
	enum queue_ending ending;
	struct text result;      /* to complete it */
	struct queue_reject how; /* to reject it */
	size_t of_queue;         /* where `queue` is in the list */
	enum queue_settled outcome;
};

/* Those of a request, in the order of `ending`. In its arena. */
struct queue_settle {
	const struct text *queues; /* at most 16 */
	size_t queue_count;
	bool names_queue;    /* each delivery does, in the request and in the answer */
	bool is_part;        /* of a request that goes on: its idempotency records are its own */
	const char *pointer; /* to the lists in the body: "" or "/settle" */
	/* While calls are under way it is the request's work: */
	void (*done)(struct request *req);
	void *work; /* and what that was before */
	size_t pending, answered;
	unsigned without_results; /* a bit for each queue for whose results Redis had no memory */
	struct call *failed;      /* one of the calls that failed */
	size_t count, counts[QUEUE_REJECT + 1];
	struct queue_settling rows[];
};

/* Room for `count` deliveries. NULL without memory, which was answered. */
struct queue_settle *queue_settle_new(struct request *req, struct queue_settle given, size_t count);
void queue_settle_add(struct queue_settle *s, struct queue_settling row);

/* Members of a delivery, of any of the contract's types. */
#define QUEUE_SETTLE_COMPLETED(item) .receipt = (item)->receipt, .ending = QUEUE_COMPLETE, .result = (item)->result
#define QUEUE_SETTLE_REJECTED(item) .receipt = (item)->receipt, .ending = QUEUE_REJECT, .how = QUEUE_REJECT_OF(item)

/* False when the request was answered with the first that is wrong; nothing is settled then. */
bool queue_settle_check(struct request *req, struct queue_settle *s);

/*
 * `done` is called once there is an outcome of each delivery, of which there is at least one. When
 * no queue's call had a reply, the request is answered the problem instead.
 */
void queue_settle_send(struct request *req, struct queue_settle *s, void (*done)(struct request *req));

/* Writes the member `deliveries`. */
void queue_settle_out(struct json_out *o, const struct queue_settle *s);

#endif
