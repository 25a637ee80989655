/*
 * lock_quorum: locks on a majority of the servers of --lock-quorum, which are independent of each
 * other. The algorithm is Redlock (Redis documentation, "Distributed Locks with Redis"). Each
 * operation of locks.c has its counterpart here, except acquire (lock_quorum_acquire.h).
 *
 * docs/guarantees.md states what such a lock promises, under "What a lock promises".
 */
#ifndef PATTERND_LOCK_QUORUM_H
#define PATTERND_LOCK_QUORUM_H

#include "locks/lock_call.h"

/* True if locks are kept on a quorum of servers. */
bool lock_quorum_is_mode(void);

void lock_quorum_extend(struct request *req, const struct lock_extend_input *in);
void lock_quorum_release(struct request *req, const struct lock_release_input *in);
void lock_quorum_get(struct request *req, const struct lock_get_input *in);

/*
 * Answers 400 and returns true if locks are kept on a quorum. `what` is the noun of the operation
 * in the detail.
 */
bool lock_quorum_has_no(struct request *req, const char *what);

#endif
