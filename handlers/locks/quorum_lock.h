/*
 * quorum_lock: what the operations of locks on a quorum share (quorum_acquire.c, quorum_locks.c): a
 * lock, and how answers show it.
 */
#ifndef PATTERND_QUORUM_LOCK_H
#define PATTERND_QUORUM_LOCK_H

#include "locks/lock_call.h"
#include "locks/quorum_round.h"

/* A lock, and what is asked of it. In the request's arena. */
struct quorum_lock {
	struct text name, token, hash;
	struct text owner, metadata; /* for other clients */
	int64_t fence;               /* of a lock that was acquired */
	bool is_forced;              /* released from any holder */
	unsigned tries;
	int64_t pause_ms; /* at most, before the next one */
};

/* Starts an operation; NULL: it was answered. */
struct lock_round *lock_quorum_begin(struct request *req, const struct quorum_lock *given, int64_t ttl_ms);

struct lock_safety lock_quorum_safety(const struct lock_round *r, size_t acknowledged);

/*
 * By the daemon's own clock: the clocks of the servers may differ, and none of them is the lock's.
 * Null for a free lock.
 */
void lock_quorum_out_left(struct json_out *o, int64_t left_ms);

/* `holder_count` and `holders`: the one that a majority reports; NULL for none. */
void lock_quorum_out_holders(struct json_out *o, const struct lock_quorum_holder *holder,
			     const struct lock_holder_at *at);

/*
 * Wherever it may be held, so also on servers that did not answer; by a request without a client.
 * It is not a release by a client: the servers still remember the last one.
 */
void lock_quorum_release_all(struct lock_round *r);

#endif
