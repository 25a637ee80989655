/*
 * lock_release called twice: what the token of the last release gets within a minute, and what any
 * other token gets. The test sets the clock.
 */
#include "lock_calls.h"
#include "script_stage.h"
#include "test.h"

#define RELEASED "p:lock:{a}:released"

enum { TTL_MS = 30000, RELEASED_MS = 60000 };

static const struct lock_try first = { .token = TOKEN_1, .ttl_ms = TTL_MS };
static const struct lock_try again = { .presented = TOKEN_1, .token = TOKEN_2, .ttl_ms = TTL_MS };
static const struct lock_try other = { .token = TOKEN_3, .ttl_ms = TTL_MS };
static const struct lock_try reader = { .token = TOKEN_1, .ttl_ms = TTL_MS, .mode = "shared" };
static const struct lock_try other_reader = { .token = TOKEN_2, .ttl_ms = TTL_MS, .mode = "shared" };

static int64_t release(const char *token)
{
	return lock_release(&r, "a", token);
}

static void later_ms(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

static void is_acquired_and_freed(void)
{
	assert_int_equal(lock_acquire(&r, first), LOCK_ACQUIRE_TAKEN);
	assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED);
	later_ms(1);
}

/* Checks the reply of the latest release. `held_fence` is 0 if the lock is free. */
static void answered(int64_t holds, int64_t held_fence)
{
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), holds);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HELD_FENCE), held_fence);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .after = script_stage_empty);

TEST(repeated_for_a_minute)
{
	is_acquired_and_freed();
	later_ms(RELEASED_MS - 2); /* Redis may delete a key in the very millisecond in which it expires */
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE));
	assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE);
	answered(0, 0);
	unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_NOT_HOLDER));
	unchanged(&r, assert_int_equal(lock_force(&r, "a"), LOCK_RELEASE_NOT_HOLDER));
	unchanged(&r, assert_int_equal(lock_extend(&r, "a", TOKEN_1, TTL_MS), LOCK_EXTEND_NOT_HOLDER));
	unchanged(&r, assert_int_equal(lock_acquire(&r, again), LOCK_ACQUIRE_NOT_HOLDER));
	later_ms(2); /* a repeated release does not start the minute again */
	assert_int_equal(release(TOKEN_1), LOCK_RELEASE_NOT_HOLDER);
	assert_int_equal(redis_exists(&r, RELEASED), 0);
}

static void another_releases(void)
{
	assert_int_equal(release(TOKEN_3), LOCK_RELEASE_RELEASED);
}

static void another_expires(void)
{
	later_ms(TTL_MS + 1);
	assert_int_equal(lock_get(&r, "a"), LOCK_GET_FREE);
}

static void another_is_released_by_force(void)
{
	assert_int_equal(lock_force(&r, "a"), LOCK_RELEASE_RELEASED);
}

static void another_leaves(void)
{
	lock_leave(&r, "a", "", TOKEN_3);
	assert_int_equal(lock_get(&r, "a"), LOCK_GET_FREE);
}

/*
 * A released token is still known after the hold of another client, unless that client released
 * the lock itself.
 */
TEST(also_once_another_client_acquired_it)
{
	static void (*const ends[])(void) = { another_expires, another_is_released_by_force, another_leaves,
					      another_releases };

	for (size_t i = 0; i < COUNT(ends); i++) {
		server_command(&r, "FLUSHALL");
		is_acquired_and_freed();
		assert_int_equal(lock_acquire(&r, other), LOCK_ACQUIRE_TAKEN);
		int64_t fence = item_int(&r, LOCK_ACQUIRE_FENCES);
		unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE));
		assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE);
		answered(0, fence);
		unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_NOT_HOLDER));
		ends[i]();
		bool is_last = ends[i] != another_releases; /* only the latest release is remembered */
		unchanged(&r, assert_int_equal(release(TOKEN_1),
					       is_last ? LOCK_RELEASE_RELEASED_BEFORE : LOCK_RELEASE_NOT_HOLDER));
		assert_int_equal(release(TOKEN_3), is_last ? LOCK_RELEASE_NOT_HOLDER : LOCK_RELEASE_RELEASED_BEFORE);
	}
}

/* If a token holds the lock, its hold is released, even if the token released an earlier hold. */
TEST(a_token_that_holds_it_again_releases_it)
{
	is_acquired_and_freed();
	is_acquired_and_freed();
	assert_int_equal(lock_acquire(&r, reader), LOCK_ACQUIRE_TAKEN);
	assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED);
	assert_int_equal(lock_get(&r, "a"), LOCK_GET_FREE);
}

/* A repeated release returns how many holds its holder has left at that time. */
TEST(with_what_its_holder_has_left)
{
	static const struct lock_try *const firsts[] = { &first, &reader };

	for (size_t i = 0; i < COUNT(firsts); i++) {
		lock_acquire(&r, *firsts[i]);
		int64_t fence = item_int(&r, LOCK_ACQUIRE_FENCES);
		assert_int_equal(lock_acquire(&r, again), LOCK_ACQUIRE_ENTERED);
		assert_int_equal(release(TOKEN_2), LOCK_RELEASE_RELEASED);
		answered(1, fence);
		unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_RELEASED_BEFORE));
		assert_int_equal(release(TOKEN_2), LOCK_RELEASE_RELEASED_BEFORE);
		answered(1, fence);
		assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED);
		answered(0, 0);
		unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_NOT_HOLDER));
		unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE));
	}
}

/* Another reader's hold keeps the lock held, but is not counted. */
TEST(by_readers)
{
	lock_acquire(&r, reader);
	lock_acquire(&r, other_reader);
	int64_t fence = item_int(&r, LOCK_ACQUIRE_FENCES);
	assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED);
	answered(0, fence);
	assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE);
	answered(0, fence);
	assert_int_equal(release(TOKEN_2), LOCK_RELEASE_RELEASED);
	answered(0, 0);
	later_ms(1);
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_NOT_HOLDER));
	unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_RELEASED_BEFORE));
	assert_int_equal(lock_acquire(&r, reader), LOCK_ACQUIRE_TAKEN);
	unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_RELEASED_BEFORE));
}

/* A release leaves one small key per name, which expires by itself. */
TEST(one_key_is_kept)
{
	for (int i = 0; i < 50; i++)
		is_acquired_and_freed();
	for (int i = 0; i < 50; i++) {
		lock_acquire(&r, reader);
		assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED);
	}
	assert_int_equal(server_command(&r, "DBSIZE")->integer, 2 + 1); /* the fence, and the index of names */
	assert_in_range(server_command(&r, "STRLEN " RELEASED)->integer, 34, 64);
	assert_in_range(redis_pttl_ms(&r, RELEASED), 1, RELEASED_MS);
	later_ms(RELEASED_MS + 1);
	assert_int_equal(redis_exists(&r, RELEASED), 0);
}
