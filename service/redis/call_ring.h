/*
 * call_ring: the unanswered calls of one connection, oldest first. It grows and never shrinks. It
 * owns its slots, not the calls, and must not know what they ask for.
 */
#ifndef PATTERND_CALL_RING_H
#define PATTERND_CALL_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redis_call;

struct call_ring {
	struct redis_call **slots; /* owned; their number is a power of two */
	size_t size, first, count;
};

/* Makes room for one more call; call it before call_ring_push. False: memory ran out. */
bool call_ring_reserve(struct call_ring *r);
void call_ring_push(struct call_ring *r, struct redis_call *call);

/* Returns the oldest call. The ring must not be empty. */
struct redis_call *call_ring_oldest(const struct call_ring *r);
struct redis_call *call_ring_pop(struct call_ring *r);

/* The calls that were pending when their connection was closed. */
struct unanswered_calls {
	struct call_ring ring; /* owned */
	uint64_t written;      /* bytes that were written: calls that start there or later were not sent */
};

/*
 * Ends each call with its `done`, and frees the ring. The connection must be down, since `done` may
 * send.
 */
void call_ring_end(struct unanswered_calls o);

#endif
