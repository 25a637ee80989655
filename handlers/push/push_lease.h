/*
 * push_lease: the deliveries of a target's jobs are extended while their requests are open, in one
 * batch, and a request whose delivery may be another's by now is closed.
 */
#ifndef PATTERND_PUSH_LEASE_H
#define PATTERND_PUSH_LEASE_H

#include "push/push_state.h"

void push_lease_open(struct push_target *t);

/* Gives up the jobs whose lease ends. */
void push_lease_lose_late(struct push_target *t);
/* Extends those that are due, unless an extension is under way. */
void push_lease_extend(struct push_target *t);
/* When either has something to do; INT64_MAX: never. */
int64_t push_lease_next_us(const struct push_target *t);

#endif
