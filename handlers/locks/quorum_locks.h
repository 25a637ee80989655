/*
 * lock_quorum: locks on a majority of the servers of --lock-quorum, which are independent of each
 * other (Redlock; Redis documentation, "Distributed Locks with Redis"). Each operation of locks.c
 * has its counterpart here, but acquiring: quorum_acquire.h.
 *
 * What such a lock promises, and what not: docs/guarantees.md, "What a lock promises".
 */
#ifndef PATTERND_LOCK_QUORUM_H
#define PATTERND_LOCK_QUORUM_H

#include "locks/lock_call.h"

/* True when locks live on a quorum of servers. */
bool lock_quorum_is_mode(void);

void lock_quorum_extend(struct request *req, const struct lock_extend_input *in);
void lock_quorum_release(struct request *req, const struct lock_release_input *in);
void lock_quorum_get(struct request *req, const struct lock_get_input *in);

/* True: it was answered that a quorum has no such operation. `what`, for a person. */
bool lock_quorum_has_no(struct request *req, const char *what);

#endif
