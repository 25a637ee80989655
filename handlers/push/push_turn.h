/*
 * push_turn: the operations of a queue that a target runs, as JSON: the requests and the answers of
 * openapi/queues.yaml.
 */
#ifndef PATTERND_PUSH_TURN_H
#define PATTERND_PUSH_TURN_H

#include "contract/self_call.h"
#include "push/push_job.h"

/*
 * Both run an operation by `i`. False: memory ran out, and nothing was run.
 *
 * They carry as many ENDED jobs as fit; for these, settled_by becomes `i`. A settle carries the
 * jobs that did not fit into the receive.
 */
bool push_turn_receive(struct self_call *i, struct text queue, struct push_job *jobs, unsigned limit, int64_t lease_ms);
bool push_turn_settle(struct self_call *i, struct text queue, struct push_job *jobs);
/* Extends the READY and SENT jobs whose leases end before `before_us`, at most 100. */
bool push_turn_extend(struct self_call *i, struct text queue, const struct push_job *jobs, int64_t before_us,
		      int64_t lease_ms);

/*
 * Returns the answer, parsed into the request's arena, or NULL if its status is not 200. The bodies
 * of messages are not parsed.
 */
const struct json *push_turn_answer(struct self_call *i);

#endif
