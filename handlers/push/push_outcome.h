/*
 * push_outcome: what the end of a request means for its message, and for its target: from how many
 * requests at once it goes on, and how long it backs off.
 */
#ifndef PATTERND_PUSH_OUTCOME_H
#define PATTERND_PUSH_OUTCOME_H

#include "push/push_state.h"

/* `answer` of the job was judged: the job has ended. */
void push_outcome_take(struct push_target *t, struct push_job *j);

/* After a trouble: for how long depends on how often in a row. */
void push_outcome_back_off(struct push_target *t, enum push_trouble trouble, int64_t ms, const char *why);
/* Of reaching the program, or the queue, in milliseconds; counts one failure more. */
int64_t push_outcome_backoff_ms(unsigned *failures);

#endif
