/*
 * call_ring: the calls that wait for an answer on one connection, oldest first. Grows, never shrinks; owns its slots, not the calls.
 */
#ifndef PATTERND_CALL_RING_H
#define PATTERND_CALL_RING_H

#include <stdbool.h>
#include <stddef.h>

struct redis_call;

struct call_ring {
	struct redis_call **slots; /* owned; a power of two of them */
	size_t size, first, count;
};

/* Room for one more call, which ring_push then takes. False without memory. */
bool ring_reserve(struct call_ring *r);
void ring_push(struct call_ring *r, struct redis_call *call);

/* The oldest one, which must be there. */
struct redis_call *ring_oldest(const struct call_ring *r);
struct redis_call *ring_pop(struct call_ring *r);

void ring_free(struct call_ring *r);

#endif
