/*
 * push_outcome: what the end of a request means for its message and for its target: how many
 * requests the target may have open, and how long it backs off.
 */
#ifndef PATTERND_PUSH_OUTCOME_H
#define PATTERND_PUSH_OUTCOME_H

#include "push/push_state.h"

/* Ends a job, whose `answer` has been judged. */
void push_outcome_take(struct push_target *t, struct push_job *j);

/* The ready_path did not answer 2xx: the target backs off, longer after each failure in a row. */
void push_outcome_not_ready(struct push_target *t, const char *why);
/* A receive was answered with `status`. Returns when to receive again, in milliseconds from now. */
int64_t push_outcome_not_received(struct push_target *t, int status);

#endif
