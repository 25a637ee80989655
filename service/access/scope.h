/*
 * scope: what a token permits, and whether that covers what an operation needs. Pure.
 *
 *	*                        everything
 *	locks:*                  every name and action of locks
 *	metrics:read             an action that has no name
 *	queues:orders:receive    an action on one name
 *	queues:orders-*:send     on names with that prefix; * on all
 *	queues:orders:*          every action on one name
 *
 * Parts are compared one by one, never as joined text, so a name with ':' or '*' in it matches
 * nothing else. In a written scope such a name is percent-encoded, as in a path: "lock%3Aa".
 */
#ifndef PATTERND_SCOPE_H
#define PATTERND_SCOPE_H

#include "core/arena.h"
#include "core/text.h"

struct scope {
	struct text kind;   /* absent: everything */
	bool whole_kind;    /* every name and action of the kind */
	struct text name;   /* decoded; absent: the action has none */
	bool is_prefix;     /* any name with that prefix */
	struct text action; /* absent: every action */
};

/* What an operation needs. The name is absent if the action has none. */
struct scope_need {
	struct text kind, name, action;
};

/* Parses a written scope into the arena. Returns NULL, or what is wrong with it. */
const char *scope_parse(struct arena *arena, struct text written, struct scope *out);

bool scope_covers(const struct scope *s, const struct scope_need *need);

/* Returns true if it covers the action on at least one name. */
bool scope_covers_some(const struct scope *s, const struct scope_need *need);

/* Returns true if it covers the action on every name. */
bool scope_covers_all(const struct scope *s, const struct scope_need *need);

/* Returns the scope as text; absent if memory ran out. */
struct text scope_written(struct arena *arena, const struct scope_need *need);

#endif
