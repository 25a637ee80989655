/*
 * queue_call: what the handlers of queues share. All queue scripts take the same keys in the same
 * order (lua/queues/lib_queue.lua).
 */
#ifndef PATTERND_QUEUE_CALL_H
#define PATTERND_QUEUE_CALL_H

#include "common/handler.h"

/*
 * The scripts know a delivery as "<sequence>.<nonce>"; its receipt is "<sequence>.<nonce>.<check>".
 */
enum { SEQUENCE_DIGITS = 16, NONCE_DIGITS = 16, CHECK_DIGITS = 8 };
enum { DELIVERY_LEN = SEQUENCE_DIGITS + 1 + NONCE_DIGITS, RECEIPT_LEN = DELIVERY_LEN + 1 + CHECK_DIGITS };

/* Of a message, as the scripts know them; in the order of the contract's enum, ended by NULL. */
extern const char *const queue_states[];

/* The parts of its key that a queue has beside the key itself; ended by NULL. */
extern const char *const queue_parts[];

/* The keys of another queue, for a script over several. */
void queue_call_keys(struct call *c, struct text queue);

/* Starts a call of a queue script with all its keys; arguments follow. */
struct call *queue_call(struct request *req, const struct script *s, struct text queue);

/*
 * The receipt of a delivery, written into `buffer`; and whether a text is a receipt of this queue.
 * The check finds damaged receipts and those of other queues before Redis is asked. It is no
 * secret: the nonce is what cannot be guessed.
 */
struct text queue_receipt(struct request *req, struct text queue, struct text sequence, struct text nonce,
			  char buffer[RECEIPT_LEN + 1]);
bool queue_is_receipt(struct request *req, struct text queue, struct text t);
/* 400: what the pointer names is no receipt of the queue. */
void queue_answer_no_receipt(struct request *req, const char *pointer, struct text queue);
/* How a delivery is rejected. */
struct queue_reject {
	bool has_delay_ms, dead, counted;
	int64_t delay_ms;
	struct text reason;
};
/* Of any of the contract's types. */
#define QUEUE_REJECT_OF(item)                                                                           \
	(struct queue_reject)                                                                           \
	{                                                                                               \
		.has_delay_ms = (item)->has_delay_ms, .dead = (item)->dead, .counted = (item)->counted, \
		.delay_ms = (item)->delay_ms, .reason = (item)->reason                                  \
	}
/*
 * The member that cannot be combined with `dead`, which it has, as in "/delay_ms"; NULL when there
 * is none.
 */
const char *queue_reject_conflict(const struct queue_reject *r);
/* 400 for it: `pointer` is to that member. */
void queue_answer_reject_conflict(struct request *req, const char *pointer);
/* Three arguments: the delay, the reason and the kind. */
void queue_call_reject(struct call *c, const struct queue_reject *r);
/* Sequence and nonce of a receipt, two arguments. */
void queue_call_receipt(struct request *req, struct call *c, struct text receipt);

/*
 * Makes the messages of schedules that came due, before a look, as a receive would. `done` is
 * called also when that failed.
 */
void queue_run_schedules(struct request *req, struct text queue,
			 void (*done)(struct request *req, const struct reply *reply));

/* 404. */
void queue_answer_no_message(struct request *req, struct text queue, struct text id);

/* An integer that is sent as -1 when the field was not given. */
void queue_call_optional(struct call *c, bool has, int64_t value);

#endif
