/*
 * lock_holder: who holds a lock, as far as the servers of --lock-quorum agree.
 *
 * The same fence at a majority is the same lock: while one is being taken, each server has another yet.
 */
#ifndef PATTERND_LOCK_HOLDER_H
#define PATTERND_LOCK_HOLDER_H

#include "locks/quorum_round.h"

/* Where a script's reply tells it. */
struct holder_at {
	int64_t outcome; /* of a reply that tells of a holder */
	size_t fence, expires_at, owner;
};

struct holder {
	const struct reply *reply; /* of one of the servers that tell of it */
	int64_t left_ms;           /* until fewer than a majority do */
	size_t servers;
};

/* False: no majority tells of the same one. */
bool lock_find_holder(const struct round *r, const struct holder_at *at, struct holder *out);

#endif
