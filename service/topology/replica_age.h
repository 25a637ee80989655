/*
 * replica_age: how old a replica's data is, computed from offsets of the replication stream. Pure.
 *
 * A replica that has applied an offset of its primary has all data that the primary had at that
 * offset. So the age is an upper bound, as exact as the pause between two samples of the primary,
 * and it does not grow while nothing is written. Offsets are comparable only within one history,
 * which has an id.
 */
#ifndef PATTERND_TOPOLOGY_REPLICA_AGE_H
#define PATTERND_TOPOLOGY_REPLICA_AGE_H

#include <stdint.h>

#include "core/text.h"

enum { REPLICA_AGE_SAMPLES = 16, REPLICA_AGE_ID_BYTES = 48 };

/* All zero at first. */
struct replica_age {
	struct {
		int64_t at_us, offset;  /* the primary's offset at that time; at_us 0: no sample */
	} samples[REPLICA_AGE_SAMPLES]; /* a ring */
	unsigned newest;
	char history[REPLICA_AGE_ID_BYTES]; /* the history that the samples belong to */
	int64_t fresh_us;                   /* the replica has all that the primary had at that time; 0: not known */
};

/* Takes INFO replication of the primary, which was asked for at `asked_us`. */
void replica_age_sample(struct replica_age *age, struct text info, int64_t asked_us);

/*
 * Takes INFO replication of the replica, and sets fresh_us. Returns NULL, or why it cannot be
 * compared with the primary.
 */
const char *replica_age_compare(struct replica_age *age, struct text info);

#endif
