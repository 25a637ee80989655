/*
 * push_outcome: what the end of a request means for its message, and for its target: from how many
 * requests at once it goes on, and how long it backs off.
 */
#ifndef PATTERND_PUSH_OUTCOME_H
#define PATTERND_PUSH_OUTCOME_H

#include "push/push_state.h"

/* `answer` of the job was judged: the job has ended. */
void push_outcome_take(struct push_target *t, struct push_job *j);

/* For how long it backs off depends on how often that was so in a row. */
void push_outcome_not_ready(struct push_target *t, const char *why);
/* By the status of a receive's answer. Returns when to ask again, in milliseconds. */
int64_t push_outcome_not_received(struct push_target *t, int status);

#endif
