/* arena: see core/arena.h. Memory is allocated in blocks, by moving a pointer. */
#include "core/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/budget.h"

/*
 * AddressSanitizer knows blocks, not the allocations inside them. Therefore builds with
 * AddressSanitizer poison the bytes of a block that are not allocated, and leave a gap between two
 * allocations. So they report a read past the end of an allocation, or after arena_free.
 */
#ifdef PATTERND_SANITIZED
#include <sanitizer/asan_interface.h>
enum { GAP = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)0)
enum { GAP = 0 };
#endif

enum {
	/*
	 * bytes, with the header: an ordinary request fits, and a parked request stays below 4 KiB
	 */
	FIRST_BLOCK = 3680,
	CACHED_BLOCKS = 128,
	LARGEST_STEP = 256 * 1024, /* a larger block is not doubled further */
	ALIGNMENT = 16,
};

struct arena_block {
	struct arena_block *older;
	size_t size; /* bytes, with this header */
};

_Static_assert(sizeof(struct arena_block) % ALIGNMENT == 0, "blocks start aligned");

static struct arena_block *cache;
static unsigned cached;

static struct arena_block *block_new(size_t size)
{
	struct arena_block *b;

	if (size <= FIRST_BLOCK && cache) {
		b = cache;
		cache = b->older;
		cached--;
		return b;
	}
	b = malloc(size);
	if (b) {
		b->size = size;
		ASAN_POISON_MEMORY_REGION(b + 1, size - sizeof(*b));
	}
	return b;
}

static void block_free(struct arena_block *b)
{
	budget_release(b->size);
	if (b->size == FIRST_BLOCK && cached < CACHED_BLOCKS) {
		b->older = cache;
		cache = b;
		cached++;
		ASAN_POISON_MEMORY_REGION(b + 1, b->size - sizeof(*b));
	} else {
		free(b);
	}
}

static enum budget_use use_of(const struct arena *a, size_t payload)
{
	return !a->bounded ? BUDGET_UNLIMITED : payload > FIRST_BLOCK ? BUDGET_LARGE : BUDGET_SMALL;
}

/* Blocks double from the third on, because malloc returns only few large ones to the system. */
static size_t wanted_size(const struct arena *a)
{
	if (!a->blocks || !a->blocks->older)
		return FIRST_BLOCK;
	return a->blocks->size < LARGEST_STEP / 2 ? a->blocks->size * 2 : LARGEST_STEP;
}

static bool add_block(struct arena *a, size_t payload)
{
	size_t min_size = payload + sizeof(struct arena_block), wanted = wanted_size(a);
	enum budget_use use = use_of(a, payload);
	struct arena_block *b = NULL;

	if (min_size < FIRST_BLOCK)
		min_size = FIRST_BLOCK;
	size_t size = wanted > min_size ? wanted : min_size;
	bool fits = budget_take(size, use);
	if (!fits && size > min_size)
		fits = budget_take(size = min_size, use);
	if (fits) {
		b = block_new(size);
		if (!b)
			budget_release(size);
	}
	if (!b) {
		a->failed = fits ? ARENA_OUT_OF_MEMORY : ARENA_OVER_BUDGET;
		return false;
	}
	b->older = a->blocks;
	a->blocks = b;
	a->next = (char *)(b + 1);
	a->end = (char *)b + b->size;
	return true;
}

/* Returns the bytes that an allocation takes from its block. */
static size_t room_for(size_t size)
{
	return ((size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1)) + GAP;
}

void *arena_new(size_t size, struct arena *out)
{
	struct arena a = { 0 };
	void *memory = arena_alloc(&a, size);

	if (memory)
		*out = a;
	return memory;
}

/* Frees the blocks that are newer than `oldest`, and returns that one. */
static struct arena_block *free_down_to(struct arena_block *b, const struct arena_block *oldest)
{
	while (b != oldest) {
		struct arena_block *older = b->older;
		block_free(b);
		b = older;
	}
	return b;
}

void arena_free(struct arena *a)
{
	struct arena_block *newest = a->blocks;

	*a = (struct arena){ 0 };
	free_down_to(newest, NULL);
}

struct arena_mark arena_mark(const struct arena *a)
{
	return (struct arena_mark){ a->blocks, a->next };
}

void arena_rewind(struct arena *a, struct arena_mark to)
{
	a->blocks = free_down_to(a->blocks, to.block);
	a->next = to.next;
	a->end = to.block ? (char *)to.block + to.block->size : NULL;
	ASAN_POISON_MEMORY_REGION(a->next, (size_t)(a->end - a->next));
}

/* Sets the size of the newest allocation, at `at`. The rest of the block becomes free. */
static void *place_newest(struct arena *a, char *at, size_t size)
{
	a->next = at + room_for(size);
	ASAN_UNPOISON_MEMORY_REGION(at, size);
	ASAN_POISON_MEMORY_REGION(at + size, (size_t)(a->end - at) - size);
	return at;
}

static char *reserve_in_new_block(struct arena *a, size_t size)
{
	if (size > SIZE_MAX / 2) {
		a->failed = ARENA_OUT_OF_MEMORY;
		return NULL;
	}
	if (!add_block(a, room_for(size)))
		return NULL;
	return place_newest(a, a->next, size);
}

/* Allocates `size` bytes, which are not zeroed. A request calls this about forty times. */
static inline char *reserve(struct arena *a, size_t size)
{
	size_t left = (size_t)(a->end - a->next);

	size += size == 0;
	if (size > left || room_for(size) > left)
		return reserve_in_new_block(a, size);
	return place_newest(a, a->next, size);
}

void *arena_alloc(struct arena *a, size_t size)
{
	char *at = reserve(a, size);

	return at ? memset(at, 0, size) : NULL;
}

/* Grows the newest block, which has one allocation. */
static void *grow_block(struct arena *a, size_t payload)
{
	size_t size = sizeof(struct arena_block) + room_for(payload), more = size - a->blocks->size;
	struct arena_block *b = NULL;

	bool fits = budget_take(more, use_of(a, room_for(payload)));
	if (fits) {
		b = realloc(a->blocks, size);
		if (!b)
			budget_release(more);
	}
	if (!b) {
		a->failed = fits ? ARENA_OUT_OF_MEMORY : ARENA_OVER_BUDGET;
		return NULL;
	}
	b->size = size;
	a->blocks = b;
	a->end = (char *)b + size;
	return place_newest(a, (char *)(b + 1), payload);
}

void *arena_grow(struct arena *a, void *old, size_t old_size, size_t new_size)
{
	char *at;

	if (old && new_size <= SIZE_MAX / 2 && (char *)old + room_for(old_size) == a->next) {
		if (room_for(new_size) <= (size_t)(a->end - (char *)old))
			return place_newest(a, old, new_size);
		if ((char *)old == (char *)(a->blocks + 1) && a->blocks->size > FIRST_BLOCK)
			return grow_block(a, new_size);
	}
	at = reserve(a, new_size);
	if (at && old)
		memcpy(at, old, old_size < new_size ? old_size : new_size);
	return at;
}

struct text arena_copy(struct arena *a, const char *from, size_t len)
{
	char *at = reserve(a, len + 1);

	if (!at)
		return (struct text){ 0 };
	if (len)
		memcpy(at, from, len);
	at[len] = '\0';
	return (struct text){ at, len };
}

struct text arena_join(struct arena *a, const struct text *parts, size_t count)
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++)
		len += parts[i].len;
	char *at = reserve(a, len + 1), *to = at;
	if (!at)
		return (struct text){ 0 };
	for (size_t i = 0; i < count; i++) {
		if (parts[i].len)
			memcpy(to, parts[i].at, parts[i].len);
		to += parts[i].len;
	}
	*to = '\0';
	return (struct text){ at, len };
}

struct text arena_vprintf(struct arena *a, const char *format, va_list args)
{
	char small[512];
	va_list again;
	struct text t = { 0 };

	va_copy(again, args);
	int len = vsnprintf(small, sizeof(small), format, args);
	if (len >= 0 && (size_t)len < sizeof(small)) {
		t = arena_copy(a, small, (size_t)len);
	} else if (len >= 0) {
		char *at = reserve(a, (size_t)len + 1);
		if (at) {
			vsnprintf(at, (size_t)len + 1, format, again);
			t = (struct text){ at, (size_t)len };
		}
	}
	va_end(again);
	return t;
}

struct text arena_printf(struct arena *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	struct text t = arena_vprintf(a, format, args);
	va_end(args);
	return t;
}

void arena_free_cache(void)
{
	while (cache) {
		struct arena_block *older = cache->older;
		free(cache);
		cache = older;
	}
	cached = 0;
}
