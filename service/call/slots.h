/*
 * slots: groups the names of one request by their slots in a Cluster. It must not know kinds.
 *
 * All keys of a script are in one slot. An operation over names of several slots goes group by
 * group in the order of the slots, and releases what it acquired when a later group rejects it. So
 * waiters cannot form a circle, no limit is exceeded, and no part stays acquired; but the operation
 * is not atomic. Without a Cluster there is one group, and one script.
 *
 *	const struct slots *s = slots_of(req, in->names.items, in->names.count);
 *	if (!s || !slots_bear_key(req, s))
 *		return;
 *	if (s->count > 1) ... one call per group, each with call_may_fail
 */
#ifndef PATTERND_SLOTS_H
#define PATTERND_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

struct request;

struct slots_group {
	const size_t *which; /* indexes of the names, in the given order */
	size_t count;
};

/* The groups of a request, in its arena. */
struct slots {
	size_t count;
	struct slots_group groups[]; /* in the order of the slots */
};

/*
 * Groups the names, of which there must be at least one. NULL: memory ran out, and the request was
 * answered.
 */
const struct slots *slots_of(struct request *req, const struct text *names, size_t count);

/* Returns true if one script may have keys of both. */
bool slots_are_one(struct text a, struct text b);

/*
 * False: the request has an Idempotency-Key, but no slot can have the record of all groups; it was
 * answered.
 */
bool slots_bear_key(struct request *req, const struct slots *s);

#endif
