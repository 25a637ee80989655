/*
 * push_target: one queue whose messages go to one program.
 *
 * A target receives, settles and extends by operations of the contract (contract/inner.h), as any
 * client: so a push is a receive like any other, and groups, rates and policies hold. A delivery is
 * held for PUSH_LEASE_MS, and extended while its request is open: the open request is the lease.
 * What a daemon that was killed had pushed is back after PUSH_LEASE_MS.
 *
 * It receives only for as many requests as may be open: from one, one more with each success and
 * each second in which all of them are, up to `concurrency`. From a program that is away or asks
 * for a pause it backs off: for a while it calls nothing. Then it begins with one again.
 */
#ifndef PATTERND_PUSH_TARGET_H
#define PATTERND_PUSH_TARGET_H

#include "push/push_state.h"

/* Takes the settings. NULL without memory. It begins when the loop comes to it. */
struct push_target *push_target_new(struct push_settings *settings);
/* Gives up what it has: its messages come back when their lease ends. */
void push_target_free(struct push_target *t);

/*
 * Does what is due. Once OUTBOUND_MOST requests were open, a target begins none by itself until all
 * have had their turn: else one with a backlog would take each that ends.
 */
void push_target_take_turn(struct push_target *t);
/* All have had their turn, and another may be open. */
void push_target_end_turns(void);

/* Takes no more; what was not begun returns. It is idle when nothing is left. */
void push_target_stop(struct push_target *t);
bool push_target_is_idle(const struct push_target *t);

#endif
