/*
 * slots: the names of one request, by the slots of a Cluster that they lie in.
 *
 * All keys of a script lie in one slot. An operation over names of several slots goes group by
 * group in the order of the slots, and releases what it acquired when a later group rejects it: so
 * no circle of waiters can form, no limit is exceeded and no part stays acquired; but it is not
 * atomic. Without a Cluster there is one group, and one script.
 *
 * 	const struct slots *s = slots_of(req, in->names.items, in->names.count);
 * 	if (!s || !slots_bear_key(req, s))
 * 		return;
 * 	if (s->count > 1) ... one call a group, each with call_may_fail
 */
#ifndef PATTERND_SLOTS_H
#define PATTERND_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

struct request;

struct slots_group {
	const size_t *which; /* of the names, in the order given */
	size_t count;
};

/* In the request's arena. */
struct slots {
	size_t count;
	struct slots_group groups[]; /* in the order of the slots */
};

/* Groups at least one name. NULL without memory, which was answered. */
const struct slots *slots_of(struct request *req, const struct text *names, size_t count);

/* True when a script may have keys of both. */
bool slots_are_one(struct text a, struct text b);

/* False: it has an Idempotency-Key, but no slot for the record of all; it was answered. */
bool slots_bear_key(struct request *req, const struct slots *s);

#endif
