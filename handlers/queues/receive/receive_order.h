/* receive_order: the work of a request that receives. */
#ifndef PATTERND_QUEUE_RECEIVE_ORDER_H
#define PATTERND_QUEUE_RECEIVE_ORDER_H

#include "queues/deliveries/settle.h"
#include "queues/receive/receive_lacks.h"

/*
 * What the request asks for, and what it has received so far. In the request's arena. It is small,
 * since a request that waits keeps it.
 */
struct receive_order {
	const struct text *queues;
	uint16_t queue_count;
	uint16_t at; /* the queue that is asked now; those before it had no more messages */
	int32_t limit, visibility_ms;
	int32_t wait_ms;       /* -1: the queues decide, and the first attempt does not wait */
	int32_t queue_wait_ms; /* the longest wait_ms of the queues, once they were asked */
	bool names_queue;      /* each message names its queue */
	bool has_visibility_ms, acknowledge;
	/*
	 * the queues must exist; false once they were looked at, since they may be deleted during
	 * the wait
	 */
	bool must_exist;
	bool in_turn;      /* the queues are in several slots, so they are asked one after the other */
	bool settles_too;  /* the next call ends the deliveries of `settle`, and then receives */
	bool was_replayed; /* the latest reply was a replay */
	uint16_t first;    /* the item of the latest reply that is its first delivery */
	uint16_t noted;    /* queues whose worker was noted */
	uint16_t rounds;   /* calls of this attempt after which a policy admitted nothing */
	uint16_t count;    /* of deliveries */
	struct receive_lacks lacks;
	struct text worker;                /* percent-encoded; empty if not given */
	struct queue_settle *settle;       /* NULL: the request settles nothing */
	struct queue_delivery *deliveries; /* an array of `limit` items */
	size_t body_bytes;
	struct queue_payment *payment; /* for the latest reply; NULL: none of its queues has a policy */
	char ticket_tail[TEXT_DIGITS]; /* the limit, as the end of the ticket */
};

#endif
