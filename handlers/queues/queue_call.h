/*
 * queue_call: what the handlers of queues share: keys, receipts, arguments. All queue scripts take
 * the same keys in the same order (lua/queues/lib_queue.lua).
 */
#ifndef PATTERND_QUEUE_CALL_H
#define PATTERND_QUEUE_CALL_H

#include "common/handler.h"

/* For scripts a delivery is "<sequence>.<nonce>"; its receipt is "<sequence>.<nonce>.<check>". */
enum { SEQUENCE_DIGITS = 16, NONCE_DIGITS = 16, CHECK_DIGITS = 8 };
enum { DELIVERY_LEN = SEQUENCE_DIGITS + 1 + NONCE_DIGITS, RECEIPT_LEN = DELIVERY_LEN + 1 + CHECK_DIGITS };

/*
 * The states of a message, as scripts name them, in the order of the contract's enum. NULL ends the
 * list.
 */
extern const char *const queue_states[];

/* The parts of the keys that a queue has beside its main key. NULL ends the list. */
extern const char *const queue_parts[];

/* Adds the keys of another queue, for a script over several queues. */
void queue_call_keys(struct call *c, struct text queue);

/* Starts a call of a queue script with all keys of the queue. The caller adds the arguments. */
struct call *queue_call(struct request *req, const struct script *s, struct text queue);

/*
 * queue_receipt writes the receipt of a delivery into `buffer`. queue_is_receipt returns whether a
 * text is a receipt of this queue. The check finds damaged receipts, and receipts of other queues,
 * before Redis is asked. It is not a secret: the nonce is the part that cannot be guessed.
 */
struct text queue_receipt(struct request *req, struct text queue, struct text sequence, struct text nonce,
			  char buffer[RECEIPT_LEN + 1]);
bool queue_is_receipt(struct request *req, struct text queue, struct text t);
/* Answers 400: the value at `pointer` is not a receipt of the queue. */
void queue_answer_no_receipt(struct request *req, const char *pointer, struct text queue);
/* How a delivery is rejected. */
struct queue_reject {
	bool has_delay_ms, dead, counted;
	int64_t delay_ms;
	struct text reason;
};
/* Takes the members from an item of any type of the contract that has them. */
#define QUEUE_REJECT_OF(item)                                                                           \
	(struct queue_reject)                                                                           \
	{                                                                                               \
		.has_delay_ms = (item)->has_delay_ms, .dead = (item)->dead, .counted = (item)->counted, \
		.delay_ms = (item)->delay_ms, .reason = (item)->reason                                  \
	}
/* Returns the member that `dead` excludes, such as "/delay_ms", if both are given; else NULL. */
const char *queue_reject_conflict(const struct queue_reject *r);
/* Answers 400 for such a conflict. */
void queue_answer_reject_conflict(struct request *req, const char *pointer);
/* Adds three arguments: the delay, the reason and the kind. */
void queue_call_reject(struct call *c, const struct queue_reject *r);
/* Adds the last argument of a script that ends or extends deliveries, if receipts count late. */
void queue_call_late(struct call *c, bool late);
/* Adds two arguments: the sequence and the nonce of a receipt. */
void queue_call_receipt(struct request *req, struct call *c, struct text receipt);

/*
 * Starts a call of queue_get that settles nothing. Deliveries and messages whose time has ended are
 * counted as exactly as a script that only reads can count them.
 */
struct call *queue_look(struct request *req, struct text queue);

/* Answers 404. */
void queue_answer_no_message(struct request *req, struct text queue, struct text id);

/*
 * Returns the max_receives of a request as it is stored. 0 means never, and is stored as a number
 * that no message reaches. So all scripts, even scripts of older daemons, compare it like any other
 * number.
 */
#define QUEUE_NEVER_DEAD INT64_C(999999999999)
int64_t queue_most_receives(int64_t max_receives);

/* Adds an integer, or -1 when the field was not given. */
void queue_call_optional(struct call *c, bool has, int64_t value);

#endif
