/*
 * queue_call: what the handlers of queues share. All queue scripts take the same keys in the same order (lua/lib/queue.lua).
 */
#ifndef PATTERND_QUEUE_CALL_H
#define PATTERND_QUEUE_CALL_H

#include "handler.h"

/* A receipt is "<sequence>.<nonce>". */
enum { SEQUENCE_DIGITS = 16, NONCE_DIGITS = 16 };

/* The keys of another queue, for a script over several. */
void queue_call_keys(struct call *c, struct text queue);

/* Starts a call of a queue script with all its keys; arguments follow. */
struct call *queue_call(struct request *req, const struct script *s, struct text queue);

/* An integer that is sent as -1 when the field was not given. */
void queue_call_optional(struct call *c, bool has, int64_t value);

#endif
