/*
 * lock_release a second time: what the last holder gets within a minute, and what any other token
 * gets. The clock is the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lock_calls.h"
#include "script_stage.h"

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

static void repeated_for_a_minute(void **state)
{
	(void)state;
	is_acquired_and_freed();
	later_ms(RELEASED_MS - 1);
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE));
	assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
	unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_NOT_HOLDER));
	unchanged(&r, assert_int_equal(lock_force(&r, "a"), LOCK_RELEASE_NOT_HOLDER));
	unchanged(&r, assert_int_equal(lock_extend(&r, "a", TOKEN_1, TTL_MS), LOCK_EXTEND_NOT_HOLDER));
	unchanged(&r, assert_int_equal(lock_acquire(&r, again), LOCK_ACQUIRE_NOT_HOLDER));
	later_ms(1); /* a repeated release does not start the minute again */
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

/* Another client acquired it since, whatever became of its hold. */
static void not_once_another_client_acquired_it(void **state)
{
	static void (*const ends[])(void) = { another_releases, another_expires, another_is_released_by_force,
					      another_leaves };

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		server_command(&r, "FLUSHALL");
		is_acquired_and_freed();
		assert_int_equal(lock_acquire(&r, other), LOCK_ACQUIRE_TAKEN);
		unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_NOT_HOLDER));
		ends[i]();
		unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_NOT_HOLDER));
		assert_int_equal(release(TOKEN_3), i == 0 ? LOCK_RELEASE_RELEASED_BEFORE : LOCK_RELEASE_NOT_HOLDER);
	}
}

/* An entry that was released before the last one did not free the lock. */
static void only_by_the_token_that_freed_it(void **state)
{
	(void)state;
	lock_acquire(&r, first);
	assert_int_equal(lock_acquire(&r, again), LOCK_ACQUIRE_ENTERED);
	assert_int_equal(release(TOKEN_2), LOCK_RELEASE_RELEASED);
	unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_NOT_HOLDER));
	assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED);
	unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_NOT_HOLDER));
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE));
}

static void only_by_the_last_reader(void **state)
{
	(void)state;
	lock_acquire(&r, reader);
	lock_acquire(&r, other_reader);
	assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED);
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_NOT_HOLDER));
	assert_int_equal(release(TOKEN_2), LOCK_RELEASE_RELEASED);
	later_ms(1);
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_NOT_HOLDER));
	unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_RELEASED_BEFORE));
	assert_int_equal(lock_acquire(&r, reader), LOCK_ACQUIRE_TAKEN);
	unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_NOT_HOLDER));
}

/* One small key a name, which expires by itself. */
static void one_key_is_kept(void **state)
{
	(void)state;
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

/* Without the fence nothing shows that the lock was not acquired since. */
static void not_without_the_fence(void **state)
{
	(void)state;
	is_acquired_and_freed();
	server_command(&r, "DEL p:lock:{a}:fence");
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_NOT_HOLDER));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(repeated_for_a_minute, script_stage_empty),
		cmocka_unit_test_teardown(not_once_another_client_acquired_it, script_stage_empty),
		cmocka_unit_test_teardown(only_by_the_token_that_freed_it, script_stage_empty),
		cmocka_unit_test_teardown(only_by_the_last_reader, script_stage_empty),
		cmocka_unit_test_teardown(one_key_is_kept, script_stage_empty),
		cmocka_unit_test_teardown(not_without_the_fence, script_stage_empty),
	};

	return cmocka_run_group_tests_name("lock release", tests, script_stage_open_by_clock, script_stage_close);
}
