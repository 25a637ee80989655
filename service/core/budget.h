/*
 * budget: the memory that all requests may use together: bodies, parsed values, responses, streams.
 *
 * A counter and a limit (--max-request-memory); owns no memory and knows no requests. Whatever
 * allocates for a request counts it here first: arena.c nearly all, stream.c unread events.
 */
#ifndef PATTERND_BUDGET_H
#define PATTERND_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

/* What the bytes are for, which decides how much of the budget they may use. */
enum budget_use {
	BUDGET_LARGE,     /* seven eighths, so that large responses leave room for small requests */
	BUDGET_SMALL,     /* all of it */
	BUDGET_UNLIMITED, /* counted only: a problem, or the response to a change that was made */
};

/* Sets the limit; before it is called there is none. */
void budget_limit(size_t bytes);

/* False when they exceed the limit: nothing is counted then. */
bool budget_take(size_t bytes, enum budget_use use);
void budget_release(size_t bytes);

/* At most half of the budget: reading a body takes several times its bytes. */
bool budget_admits_body(size_t bytes);

/* True when even small allocations are rejected. */
bool budget_is_full(void);

size_t budget_used(void);

#endif
