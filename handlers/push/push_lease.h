/*
 * push_lease: extends the deliveries of a target's jobs while their requests are open, and closes a
 * request whose delivery another consumer may have.
 */
#ifndef PATTERND_PUSH_LEASE_H
#define PATTERND_PUSH_LEASE_H

#include "push/push_state.h"

void push_lease_open(struct push_target *t);

/* Drops the jobs whose leases are about to end. */
void push_lease_lose_late(struct push_target *t);
/* Extends the leases that are due, unless an extension is under way. */
void push_lease_extend(struct push_target *t);
/* Returns when either function is due next, on the loop's clock; INT64_MAX: never. */
int64_t push_lease_next_us(const struct push_target *t);

#endif
