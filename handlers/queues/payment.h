/*
 * queue_payment: what was received from queues with a `policy` is paid for before it is handed out.
 *
 * What the policy admits is handed out; the rest returns to its queue as if it had not been
 * received, and the queue is held until there may be more.
 *
 * With an Idempotency-Key several daemons may pay for the same messages. The first that has paid
 * decides for all, in the record of the receive (lua/queues/deliveries/queue_delivery_pay.lua). So
 * of a request that is sent twice at once, both answers have the same messages.
 */
#ifndef PATTERND_QUEUE_PAYMENT_H
#define PATTERND_QUEUE_PAYMENT_H

#include "common/handler.h"

enum { QUEUES_MAX = 16 /* of a receive */ };

/* A message that was handed out. */
struct queue_delivery {
	size_t queue;
	const struct reply *m;
	bool is_paid; /* payment.c's */
};

struct queue_policy {
	size_t queue;
	struct text name, key;
};

/* Of one reply of queue_message_receive. In the request's arena. */
struct queue_payment {
	const struct text *queues;         /* (ref) */
	struct queue_delivery *deliveries; /* (ref) those from `first` on are not paid yet */
	size_t first, count;               /* count: how many there are; in the end, how many are paid */
	bool acknowledge;                  /* they are done already: to return one takes its content */
	struct queue_policy policies[QUEUES_MAX];
	size_t policy_count;

	bool was_refused;       /* some are not handed out */
	int64_t hold_ms;        /* then: how long the first of these queues is held, at most */
	struct text missing;    /* a policy that does not exist; absent: all do */
	struct call *failed;    /* of a policy that could not be asked; NULL: none */
	struct call *undecided; /* of a record that could not be changed; NULL: none */

	void (*done)(struct request *req, const struct queue_payment *p);
	void *work; /* payment.c's */
	void (*on_disconnect)(struct request *req, const struct reply *r);
	size_t at;
};

/*
 * Takes in a row of the reply that is a policy: its sequence is empty, its state the name, its
 * content the key.
 */
void queue_payment_take_in(struct queue_payment *p, struct request *req, size_t queue, const struct reply *row);
/* Calls p->done once all is paid or returned, with req->work as it is now. */
void queue_payment_begin(struct request *req, struct queue_payment *p);

/*
 * Sequence and state of a delivery, and the content of what is done: three arguments of
 * queue_delivery_return.
 */
void queue_payment_call_delivery(struct request *req, struct call *c, bool is_done, const struct reply *m);

#endif
