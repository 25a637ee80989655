/*
 * budget: the memory that all requests together may use: bodies, parsed values, responses, streams.
 *
 * It owns a counter and the limit (--max-request-memory). It owns no memory and must not know
 * requests. What allocates for a request counts it here first: arena.c for nearly everything,
 * stream.c for unread events.
 */
#ifndef PATTERND_BUDGET_H
#define PATTERND_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

/* What the bytes are for. This decides how much of the budget they may use. */
enum budget_use {
	BUDGET_LARGE,     /* up to seven eighths, so that large responses leave room for small requests */
	BUDGET_SMALL,     /* up to the whole budget */
	BUDGET_UNLIMITED, /* counted without a limit: a problem, or the response to a change that was made */
};

/* Sets the limit in bytes. Before the first call there is none. */
void budget_limit(size_t bytes);

/* Counts bytes. Returns false, and counts nothing, if they exceed the limit. */
bool budget_take(size_t bytes, enum budget_use use);
void budget_release(size_t bytes);

/*
 * Returns true if a body of that size fits into half of the budget: reading it takes several times
 * its bytes.
 */
bool budget_admits_body(size_t bytes);

/* Returns true when even small allocations are rejected. */
bool budget_is_full(void);

size_t budget_used(void);

#endif
