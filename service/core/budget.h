/*
 * budget: how much memory requests may take together: their bodies, what is made of them, their answers, their streams.
 *
 * A counter and a limit (--max-request-memory); owns no memory. Whoever takes memory for a request says so here first: arena.c for
 * almost all of it, stream.c for what waits to be read. Knows nothing of requests.
 */
#ifndef PATTERND_BUDGET_H
#define PATTERND_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

/* What the bytes are for, which says how much of the budget is theirs. */
enum budget_use {
	BUDGET_LARGE, /* up to seven eighths of it, so that large answers do not keep small requests from being served */
	BUDGET_SMALL, /* all of it */
	BUDGET_OWED,  /* what must be said whatever the limit: a problem, what a change has done. Only counted */
};

/* Before it was called there is no limit. */
void budget_limit(size_t bytes);

/* False: there is no room for so much more. */
bool budget_take(size_t bytes, enum budget_use use);
void budget_give(size_t bytes);

/* May a body of so many bytes come in? Up to half of the budget: what is made of it takes several times as much. */
bool budget_lets_in(size_t bytes);

/* True when not even small pieces have room. */
bool budget_is_full(void);

size_t budget_taken(void);

#endif
