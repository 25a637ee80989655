/*
 * Tests of arena: pieces are aligned, zeroed and separate, grow in place or by copy, and may fail
 * for lack of memory.
 */
#include "core/arena.h"
#include "core/budget.h"
#include "test.h"

/*
 * More than any address space has, and less than the size that arena itself refuses: arena calls
 * malloc, which fails.
 */
#define TOO_MUCH ((size_t)1 << 62)

/* By default the sanitizer ends the program instead of returning NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static bool all_are(const unsigned char *at, size_t n, unsigned char wanted)
{
	for (size_t i = 0; i < n; i++)
		if (at[i] != wanted)
			return false;
	return true;
}

TEST(pieces_are_aligned_zeroed_and_apart)
{
	enum { PIECES = 400 };
	unsigned char *pieces[PIECES];
	size_t sizes[PIECES];

	srand(1);
	/* The second round uses blocks that the first round filled. */
	for (int round = 0; round < 2; round++) {
		struct arena a = { 0 };
		for (size_t i = 0; i < PIECES; i++) {
			sizes[i] = (size_t)rand() % (i % 50 == 0 ? 20000 : 300);
			pieces[i] = arena_alloc(&a, sizes[i]);
			assert_non_null(pieces[i]);
			assert_int_equal((uintptr_t)pieces[i] % 16, 0);
			if (!all_are(pieces[i], sizes[i], 0))
				fail_msg("piece %zu of %zu bytes is not zeroed", i, sizes[i]);
			memset(pieces[i], (int)(i % 255 + 1), sizes[i]);
		}
		for (size_t i = 0; i < PIECES; i++)
			if (!all_are(pieces[i], sizes[i], (unsigned char)(i % 255 + 1)))
				fail_msg("piece %zu was written to through another", i);
		assert_false(a.failed);
		arena_free(&a);
		assert_null(a.blocks);
	}
}

/* Around the size of a block, where the sums must be right. */
TEST(sizes_around_a_block)
{
	for (size_t size = 4000; size <= 4200; size++) {
		struct arena a = { 0 };
		char *small = arena_alloc(&a, 1), *big = arena_alloc(&a, size), *next = arena_alloc(&a, 1);
		memset(big, 'b', size);
		memset(next, 'n', 1);
		assert_int_equal(*small, 0);
		assert_int_equal(big[size - 1], 'b');
		arena_free(&a);
	}
}

TEST(nothing_is_something)
{
	struct arena a = { 0 };
	void *one = arena_alloc(&a, 0), *other = arena_alloc(&a, 0);

	assert_non_null(one);
	assert_ptr_not_equal(one, other);
	arena_free(&a);
	arena_free(&a); /* empty: nothing to do */
}

TEST(the_newest_grows_in_place)
{
	struct arena a = { 0 };
	char *at = arena_alloc(&a, 10);

	memcpy(at, "0123456789", 10);
	assert_ptr_equal(arena_grow(&a, at, 10, 16), at);
	assert_ptr_equal(arena_grow(&a, at, 16, 1000), at);
	memset(at + 10, 'x', 990);
	char *other = arena_alloc(&a, 8); /* must begin behind the piece that grew */
	assert_true(other >= at + 1000);
	assert_memory_equal(at, "0123456789xx", 12);
	arena_free(&a);
}

TEST(older_ones_grow_by_copy)
{
	struct arena a = { 0 };
	char *old = arena_alloc(&a, 10);

	memcpy(old, "0123456789", 10);
	char *other = arena_alloc(&a, 16);
	char *grown = arena_grow(&a, old, 10, 20);
	assert_ptr_not_equal(grown, old);
	memset(grown + 10, 'x', 10);
	assert_memory_equal(grown, "0123456789xxxxxxxxxx", 20);
	assert_memory_equal(old, "0123456789", 10);
	assert_true(all_are((unsigned char *)other, 16, 0));
	char *large = arena_grow(&a, grown, 20, 100000); /* does not fit into its block */
	memset(large + 20, 'y', 100000 - 20);
	assert_memory_equal(large, "0123456789xxxxxxxxxxyy", 22);
	char *less = arena_grow(&a, old, 10, 4);
	assert_memory_equal(less, "0123", 4);
	assert_non_null(arena_grow(&a, NULL, 0, 5));
	arena_free(&a);
}

/* A buffer that grows byte by byte keeps its bytes when it moves. */
TEST(growth_keeps_what_was_there)
{
	struct arena a = { 0 };
	unsigned char *at = NULL;

	for (size_t n = 0; n < 20000; n++) {
		at = arena_grow(&a, at, n, n + 1);
		at[n] = (unsigned char)(n * 7);
		if (n % 777 == 0)
			memset(arena_alloc(&a, 3), 0xee, 3);
	}
	for (size_t n = 0; n < 20000; n++)
		assert_int_equal(at[n], (unsigned char)(n * 7));
	arena_free(&a);
}

TEST(a_big_piece_has_its_own_block)
{
	struct arena a = { 0 };
	size_t size = 3 * 1024 * 1024 + 5;
	char *small = arena_alloc(&a, 3);
	char *big = arena_alloc(&a, size);

	memset(small, 's', 3);
	assert_true(all_are((unsigned char *)big, size, 0));
	memset(big, 'b', size);
	assert_memory_equal(small, "sss", 3);
	assert_non_null(arena_alloc(&a, 10));
	arena_free(&a);
}

/* A buffer alone in its block grows with the block, and leaves no copies behind. */
TEST(a_big_piece_grows_alone)
{
	enum { LAST = 4 * 1024 * 1024 };
	struct arena a = { 0 };
	unsigned char *at = NULL;
	size_t before = budget_used();

	arena_alloc(&a, 100);
	for (size_t n = 0, next; n < LAST; n = next) {
		next = n ? n * 2 : 64 * 1024;
		at = arena_grow(&a, at, n, next);
		memset(at + n, (int)(n >> 16), next - n);
	}
	assert_in_range(budget_used() - before, LAST, LAST + 16 * 1024);
	assert_int_equal(at[0], 0);
	for (size_t n = 64 * 1024; n < LAST; n *= 2)
		assert_true(all_are(at + n, n, (unsigned char)(n >> 16)));
	arena_free(&a);
	assert_int_equal(budget_used(), before);
}

TEST(the_budget_counts_and_bounds)
{
	enum { LIMIT = 1024 * 1024, SMALL = 100, LARGE = 64 * 1024 };
	struct arena a = { 0 }, b = { 0 };
	size_t large = 0, small = 0;

	budget_limit(LIMIT);
	assert_true(budget_admits_body(LIMIT / 2));
	assert_false(budget_admits_body(LIMIT / 2 + 1));
	a.bounded = true;
	while (arena_alloc(&a, LARGE))
		large += LARGE;
	assert_in_range(large, LIMIT / 2, LIMIT / 8 * 7);
	assert_int_equal(a.failed, ARENA_OVER_BUDGET);
	assert_false(budget_is_full());
	a.failed = ARENA_OK; /* an eighth is left for small pieces */
	while (arena_alloc(&a, SMALL))
		small += SMALL;
	assert_true(small > LIMIT / 10 && budget_used() <= LIMIT);
	assert_non_null(arena_alloc(&b, 2 * LIMIT)); /* not bounded: granted beyond the limit */
	assert_true(budget_is_full());
	assert_false(budget_admits_body(1));
	arena_free(&b);
	arena_free(&a);
	assert_int_equal(budget_used(), 0);
	budget_limit(SIZE_MAX);
}

TEST(copies_and_prints_end_in_nul)
{
	struct arena a = { 0 };
	struct text t = arena_copy(&a, "a\0b-not", 3);

	assert_memory_equal(t.at, "a\0b\0", 4);
	assert_int_equal(t.len, 3);
	t = arena_copy(&a, NULL, 0);
	assert_string_equal(t.at, "");
	/* Around the size of the buffer on the stack, which short texts use. */
	for (int width = 0; width<1100; width += width> 500 && width < 520 ? 1 : 20) {
		t = arena_printf(&a, "%*s", width, "x");
		size_t len = width > 1 ? (size_t)width : 1;
		assert_int_equal(t.len, len);
		assert_int_equal(strlen(t.at), len);
		assert_int_equal(t.at[len - 1], 'x');
	}
	arena_free(&a);
}

TEST(the_struct_may_live_inside)
{
	struct owner {
		struct arena arena;
		char rest[100];
	};
	struct arena a = { 0 };
	struct owner *o = arena_new(sizeof(*o), &a);

	assert_true(all_are((unsigned char *)o, sizeof(*o), 0));
	o->arena = a;
	memset(arena_alloc(&o->arena, 9000), 1, 9000);
	a = o->arena; /* as its owner must: the blocks are freed during the walk */
	arena_free(&a);
	struct arena untouched = { .failed = ARENA_OUT_OF_MEMORY };
	assert_null(arena_new(TOO_MUCH, &untouched));
	assert_null(untouched.blocks);
}

/*
 * Many steps use the memory of one step, whether a step fits into the block or needs more blocks.
 */
TEST(rewound_it_uses_the_same_memory)
{
	static const size_t sizes[] = { 100, 3900, 5000, 100000 };

	for (size_t s = 0; s < COUNT(sizes); s++) {
		struct arena a = { 0 };
		struct arena_mark empty = arena_mark(&a);
		struct text kept = arena_copy(&a, "kept", 4);
		const char *next = a.next;
		struct arena_mark mark = arena_mark(&a);
		for (int step = 0; step < 50; step++) {
			unsigned char *piece = arena_alloc(&a, sizes[s]);
			assert_true(all_are(piece, sizes[s], 0));
			memset(piece, 'x', sizes[s]);
			arena_rewind(&a, mark);
			assert_ptr_equal(a.next, next);
			assert_ptr_equal(a.blocks, mark.block);
		}
		assert_string_equal(kept.at, "kept");
		arena_rewind(&a, empty);
		assert_null(a.blocks);
		assert_non_null(arena_alloc(&a, 10));
		arena_free(&a);
	}
}

TEST(without_memory_it_fails_and_remembers)
{
	static const size_t sizes[] = {
		TOO_MUCH, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX - 15, SIZE_MAX - 1, SIZE_MAX
	};

	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct arena a = { 0 };
		char *small = arena_alloc(&a, 10);
		memcpy(small, "unharmed.", 10);
		if (arena_alloc(&a, sizes[i]) || a.failed != ARENA_OUT_OF_MEMORY)
			fail_msg("%zu bytes were given", sizes[i]);
		a.failed = ARENA_OK;
		if (arena_grow(&a, small, 10, sizes[i]) || a.failed != ARENA_OUT_OF_MEMORY)
			fail_msg("growth in place to %zu bytes was given", sizes[i]);
		assert_string_equal(small, "unharmed.");
		assert_non_null(arena_alloc(&a, 10)); /* the arena still allocates, but keeps its error */
		assert_true(a.failed);
		arena_free(&a);
		assert_false(a.failed);
	}
}

static int forget(void **state)
{
	arena_free_cache();
	arena_free_cache();
	return 0;
}

SUITE(.close = forget);
