#include "call/slots.h"

#include <stdint.h>
#include <stdlib.h>

#include "request/answer.h"
#include "request/request.h"
#include "topology/topology.h"

struct placed {
	int slot;
	size_t which;
};

static int compare(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->which < y->which ? -1 : x->which > y->which;
}

const struct slots *slots_of(struct request *req, const struct text *names, size_t count)
{
	struct placed *placed = arena_alloc(&req->arena, count * sizeof(*placed));
	size_t *which = arena_alloc(&req->arena, count * sizeof(*which));
	struct slots *s = arena_alloc(&req->arena, sizeof(*s) + count * sizeof(s->groups[0]));

	if (!placed || !which || !s) {
		answer_no_memory(req, EFFECT_NONE);
		return NULL;
	}
	/* A name has no braces and is the hash tag of its keys, so it has the slot of its keys. */
	for (size_t i = 0; i < count; i++)
		placed[i] = (struct placed){ topology_slot(names[i]), i };
	qsort(placed, count, sizeof(*placed), compare);
	s->count = 0;
	for (size_t i = 0; i < count; i++) {
		which[i] = placed[i].which;
		if (i == 0 || placed[i].slot != placed[i - 1].slot)
			s->groups[s->count++] = (struct slots_group){ which + i, 0 };
		s->groups[s->count - 1].count++;
	}
	return s;
}

bool slots_are_one(struct text a, struct text b)
{
	return topology_slot(a) == topology_slot(b);
}

bool slots_bear_key(struct request *req, const struct slots *s)
{
	req->is_split = s->count > 1;
	if (!req->is_split || !req->asked.idempotency_key.at)
		return true;
	answer_field_problem(req, P_IDEMPOTENCY_UNAVAILABLE,
			     "Idempotency-Key:", "cannot be kept for names in %zu different slots of the Cluster",
			     s->count);
	return false;
}
