/*
 * arena: memory that lives as long as its request.
 *
 * Allocation is a pointer bump; arena_free frees everything at once. The first block comes from a
 * small cache, so that an ordinary request does not call malloc. When memory runs out `failed` is
 * set and stays set: callers that build something in several steps may check once, at the end. What
 * is allocated counts in the budget of all requests (budget.h).
 */
#ifndef PATTERND_ARENA_H
#define PATTERND_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

struct arena_block;

/* The limit that the last failed allocation reached. */
enum arena_failure { ARENA_OK, ARENA_OUT_OF_MEMORY, ARENA_OVER_BUDGET };

struct arena {
	struct arena_block *blocks; /* newest first; owned */
	char *next;                 /* first free byte of the newest block */
	char *end;
	enum arena_failure failed;
	bool bounded; /* the limit of the budget applies; set once the request has its own struct */
};

/*
 * Makes an arena together with `size` zeroed bytes inside it, at which *arena itself may live.
 * Returns NULL without memory.
 */
void *arena_new(size_t size, struct arena *out);
void arena_free(struct arena *a);

/* For work in many steps: frees what was allocated since a mark. */
struct arena_mark {
	struct arena_block *block;
	char *next;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark to);

/* Zeroed, aligned for any type. Returns NULL (and sets a->failed) without memory. */
void *arena_alloc(struct arena *a, size_t size);

/*
 * Grows the newest allocation in place when it can, else copies. `old` may be NULL. Same errors as
 * arena_alloc.
 */
void *arena_grow(struct arena *a, void *old, size_t old_size, size_t new_size);

/* Copies; the result ends in NUL. `at` is NULL without memory. */
struct text arena_copy(struct arena *a, const char *at, size_t len);
struct text arena_join(struct arena *a, const struct text *parts, size_t count);
struct text arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct text arena_vprintf(struct arena *a, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* At exit, so that leak checkers report nothing. */
void arena_free_cache(void);

#endif
