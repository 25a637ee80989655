#include "redis/call_ring.h"

#include <stdlib.h>

#include "process/metrics.h"
#include "redis/command.h"

enum { FIRST_SLOTS = 64 };

bool call_ring_reserve(struct call_ring *r)
{
	if (r->count < r->size)
		return true;
	size_t size = r->size ? r->size * 2 : FIRST_SLOTS;
	struct redis_call **bigger = malloc(size * sizeof(*bigger));
	if (!bigger)
		return false;
	for (size_t i = 0; i < r->count; i++)
		bigger[i] = r->slots[(r->first + i) & (r->size - 1)];
	free(r->slots);
	*r = (struct call_ring){ bigger, size, 0, r->count };
	return true;
}

void call_ring_push(struct call_ring *r, struct redis_call *call)
{
	r->slots[(r->first + r->count++) & (r->size - 1)] = call;
}

struct redis_call *call_ring_oldest(const struct call_ring *r)
{
	return r->slots[r->first];
}

struct redis_call *call_ring_pop(struct call_ring *r)
{
	struct redis_call *call = call_ring_oldest(r);

	r->first = (r->first + 1) & (r->size - 1);
	r->count--;
	return call;
}

void call_ring_end(struct unanswered_calls o)
{
	while (o.ring.count > 0) {
		struct redis_call *call = call_ring_pop(&o.ring);
		bool sent = call->starts_at < o.written;
		if (sent)
			metrics_count(METRIC_calls_unknown);
		call->done(call, sent ? REDIS_UNKNOWN : REDIS_NOT_SENT, NULL);
	}
	free(o.ring.slots);
}
