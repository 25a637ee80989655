/*
 * lock_quorum_call: what the operations on a quorum's locks share (lock_quorum_acquire.c,
 * lock_quorum.c): a lock, and how answers show it.
 */
#ifndef PATTERND_LOCK_QUORUM_CALL_H
#define PATTERND_LOCK_QUORUM_CALL_H

#include "locks/lock_call.h"
#include "locks/lock_round.h"

/* A lock, and what is asked about it. In the request's arena. */
struct quorum_lock {
	struct text name, token, hash;
	struct text owner, metadata; /* shown to other clients */
	int64_t fence;               /* set once the lock is acquired */
	bool is_forced;              /* release it whatever client holds it */
	unsigned tries;
	int64_t pause_ms; /* the longest pause before the next try */
};

/* Starts an operation. NULL: the request was answered. */
struct lock_round *lock_quorum_begin(struct request *req, const struct quorum_lock *given, int64_t ttl_ms);

struct lock_safety lock_quorum_safety(const struct lock_round *r, size_t acknowledged);

/*
 * Writes ttl_ms and expires_at_ms by the daemon's clock, since the clocks of the servers may
 * differ. Both are null for a free lock.
 */
void lock_quorum_out_left(struct json_out *o, int64_t left_ms);

/* Writes `holder_count` and `holders`, with the holder that a majority reports; NULL for none. */
void lock_quorum_out_holders(struct json_out *o, const struct lock_quorum_holder *holder,
			     const struct lock_holder_at *at);

/*
 * Releases the lock on each server that may hold it, also on those that did not answer, by a
 * request without a client. This does not count as a client's release: the servers still remember
 * the last release by a client.
 */
void lock_quorum_release_all(struct lock_round *r);

#endif
