/*
 * receive: ends deliveries, then receives messages, of one queue or of several in order of
 * preference, and waits for them. What either operation asks is read by receive_input.c.
 */
#ifndef PATTERND_QUEUE_RECEIVE_H
#define PATTERND_QUEUE_RECEIVE_H

#include "queues/payment.h"
#include "queues/settle.h"

/* What is wanted, of either operation, and what there is so far. In the request's arena. */
struct receive_order {
	const struct text *queues;
	size_t queue_count;
	bool names_queue; /* in each message */
	int64_t limit, wait_ms;
	bool has_visibility_ms, acknowledge;
	bool must_exist; /* until the queues were looked at: they may be deleted while the request waits */
	int64_t visibility_ms;
	struct text worker;                /* percent-encoded; empty without one */
	struct queue_settle *settle;       /* NULL: the request has none */
	bool in_turn;                      /* the queues lie in several slots: one is asked after the other ... */
	size_t at;                         /* ... this one now; those before it had no more */
	struct queue_delivery *deliveries; /* `limit` of them at most */
	size_t count, body_bytes;
	struct queue_payment *payment; /* of the latest reply; NULL: its queues have no policy */
	bool was_replayed;             /* the latest reply */
	char ticket_tail[TEXT_DIGITS]; /* how many messages a waiter takes */
};

/* Takes a copy of what is wanted. */
void receive_begin(struct request *req, const struct receive_order *given);

#endif
