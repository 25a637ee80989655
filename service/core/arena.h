/*
 * arena: memory that lives as long as its request.
 *
 * Allocation moves a pointer, and arena_free frees everything at once. The first block comes from a
 * small cache, so that an ordinary request does not call malloc. When memory runs out, `failed` is
 * set and stays set, so a caller that builds something in several steps may check it once, at the
 * end. Allocated bytes count in the budget of all requests (budget.h). It must not know what it
 * stores.
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
	bool bounded; /* the budget's limit applies; set once the request has its own struct */
};

/*
 * Makes an arena together with `size` zeroed bytes inside it, at which *arena itself may live.
 * Returns NULL without memory.
 */
void *arena_new(size_t size, struct arena *out);
void arena_free(struct arena *a);

/* arena_rewind frees what was allocated after arena_mark, for work in many steps. */
struct arena_mark {
	struct arena_block *block;
	char *next;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark to);

/*
 * Allocates zeroed bytes, aligned for any type. If memory runs out, returns NULL and sets
 * a->failed.
 */
void *arena_alloc(struct arena *a, size_t size);

/*
 * Grows the newest allocation in place if it can, else copies it. `old` may be NULL. Fails as
 * arena_alloc does.
 */
void *arena_grow(struct arena *a, void *old, size_t old_size, size_t new_size);

/* Each makes a text that ends in NUL. Its `at` is NULL if memory ran out. */
struct text arena_copy(struct arena *a, const char *at, size_t len);
struct text arena_join(struct arena *a, const struct text *parts, size_t count);
struct text arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct text arena_vprintf(struct arena *a, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Call it at exit, so that leak checkers report nothing. */
void arena_free_cache(void);

#endif
