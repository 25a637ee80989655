/*
 * payment: pays for messages that were received from queues with a `policy`, before they are
 * handed out.
 *
 * Messages that the policy admits are handed out. The others return to their queue as if they had
 * not been received, and the queue is held until the policy may admit more.
 *
 * With an Idempotency-Key, several daemons may pay for the same messages. The first daemon that has
 * paid decides for all, in the record of the receive
 * (lua/queues/deliveries/queue_delivery_pay.lua). So when a request is sent twice at once, both
 * answers have the same messages.
 */
#ifndef PATTERND_QUEUE_PAYMENT_H
#define PATTERND_QUEUE_PAYMENT_H

#include "common/handler.h"

enum { QUEUES_MAX = 16 /* queues of one receive */ };

/* A message that was handed out. */
struct queue_delivery {
	size_t queue;
	const struct reply *m;
	bool is_paid; /* used by payment.c only */
};

struct queue_policy {
	size_t queue;
	struct text name, key;
	struct call *failed; /* the call of a policy that could not be asked; NULL: none */
	bool is_missing;
};

/* The payment for one reply of queue_message_receive. In the request's arena. */
struct queue_payment {
	const struct text *queues;         /* (ref) */
	struct queue_delivery *deliveries; /* (ref) deliveries from index `first` on are not paid yet */
	size_t first, count;               /* count: all deliveries, at the end all paid ones */
	bool acknowledge;                  /* the messages are done already: returning one needs its content */
	struct queue_policy policies[QUEUES_MAX];
	size_t policy_count;

	bool was_refused;       /* some messages are not handed out */
	int64_t hold_ms;        /* if was_refused: the shortest time for which a queue is held */
	struct call *undecided; /* the call for a record that could not be changed; NULL: none */

	void (*done)(struct request *req, const struct queue_payment *p);
	void *work; /* used by payment.c only */
	void (*on_disconnect)(struct request *req, const struct reply *r);
	size_t at;
};

/*
 * Takes a policy from a row of the reply. In such a row the sequence is empty, the state is the
 * policy's name and the content is its key.
 */
void queue_payment_take_in(struct queue_payment *p, struct request *req, size_t queue, const struct reply *row);
/* Pays or returns each delivery, then calls p->done with the present req->work. */
void queue_payment_begin(struct request *req, struct queue_payment *p);

/*
 * Adds three arguments of queue_delivery_return: the sequence and state of a delivery, and its
 * content if the message is done.
 */
void queue_payment_call_delivery(struct request *req, struct call *c, bool is_done, const struct reply *m);

#endif
