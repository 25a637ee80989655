/*
 * push_target: one queue whose messages are sent to one program. It owns the order of steps of a
 * target.
 *
 * A target receives, settles and extends by operations of the contract (contract/self_call.h), as
 * any client does, so that groups, rates and policies apply. A delivery is held for PUSH_LEASE_MS
 * and extended while its request is open. If the daemon is killed, its messages are delivered again
 * after PUSH_LEASE_MS.
 *
 * A target receives only as many messages as it may have requests open. It begins with one; each
 * success allows one more, and so does each second in which all allowed requests are open, up to
 * `concurrency`. If the program cannot be reached, or asks for a pause, the target backs off: it
 * calls nothing for a while, then begins with one request again.
 */
#ifndef PATTERND_PUSH_TARGET_H
#define PATTERND_PUSH_TARGET_H

#include "push/push_state.h"

/*
 * Makes a target, which owns `settings` from then on. It acts in the next iteration of the loop.
 * NULL: memory ran out.
 */
struct push_target *push_target_new(struct push_settings *settings);
/* Frees the target and its jobs. Their messages are delivered again when their leases end. */
void push_target_free(struct push_target *t);

/*
 * Takes one step. When all OUTBOUND_MOST requests were open, targets begin requests only here,
 * until push_target_end_turns. Otherwise a target with a long queue would take each request that
 * ends.
 */
void push_target_take_turn(struct push_target *t);
/* Ends the turns, unless all requests are open. */
void push_target_end_turns(void);

/*
 * Stops receiving, and returns the messages that were not sent. The target is idle once no job and
 * no operation is left.
 */
void push_target_stop(struct push_target *t);
bool push_target_is_idle(const struct push_target *t);

#endif
