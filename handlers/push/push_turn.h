/*
 * push_turn: the operations of a queue that a target runs, as JSON: what it asks, and what is
 * answered. openapi/queues.yaml has them.
 */
#ifndef PATTERND_PUSH_TURN_H
#define PATTERND_PUSH_TURN_H

#include "contract/inner.h"
#include "push/push_job.h"

/*
 * Each runs an operation by `i`. False without memory: nothing was run.
 *
 * Of the jobs that have ended and are carried by nothing, receive and settle carry as many as fit:
 * those have settled_by = i. What the receive cannot carry is for a settle.
 */
bool push_turn_receive(struct inner *i, struct text queue, struct push_job *jobs, unsigned limit, int64_t lease_ms);
bool push_turn_settle(struct inner *i, struct text queue, struct push_job *jobs);
/* Of those that are ready or sent, the ones whose lease ends before this instant. */
bool push_turn_extend(struct inner *i, struct text queue, const struct push_job *jobs, int64_t before_us,
		      int64_t lease_ms);

/* What was answered, in the request's arena; NULL unless it is 200. Bodies are opaque. */
const struct json *push_turn_answer(struct inner *i);

#endif
