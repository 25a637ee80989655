/*
 * Refunds on a real Redis, at the edges: never above full, never into another window. The rest is
 * in test_rate_limits_model_scripts.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run_script.h"
#include "script_stage.h"

static const char *const keys[] = { NULL, "p:limit:{a}:x:gcra", "p:limit:{a}:x:sliding_window",
				    "p:limit:{a}:x:fixed_window" };
static const char *const numbers[] = { NULL, "1", "2", "3" };
enum { GCRA = 1, SLIDING_WINDOW = 2, FIXED_WINDOW = 3 };

static const char *number(char out[24], int64_t n)
{
	snprintf(out, 24, "%lld", (long long)n);
	return out;
}

/* The burst equals the limit, and refused calls do not count. */
static bool take(int algorithm, int64_t limit, int64_t window, int64_t cost)
{
	static const struct script *const scripts[] = { NULL, &ratelimit_gcra_script, &ratelimit_sliding_window_script,
							&ratelimit_fixed_window_script };
	char text[3][24];

	run(&r, scripts[algorithm], KEYS(keys[algorithm]),
	    ARGS(number(text[0], limit), number(text[1], window), number(text[2], cost),
		 algorithm == GCRA ? number(text[0], limit) : "0"));
	return outcome(&r) == 1;
}

static int64_t refund(int algorithm, int64_t cost, int64_t age)
{
	char text[2][24];

	run(&r, &ratelimit_refund_script, KEYS(keys[algorithm]),
	    ARGS(numbers[algorithm], number(text[0], cost), number(text[1], age)));
	return outcome(&r);
}

static void never_above_full(void **state)
{
	(void)state;
	for (int a = GCRA; a <= FIXED_WINDOW; a++) {
		assert_int_equal(refund(a, 5, 0), 0); /* the key is missing */
		assert_int_equal(item_int(&r, LIMIT_STATE_ALGORITHM), 0);
		assert_int_equal(server_command(&r, "EXISTS %s", keys[a])->integer, 0);
		assert_true(take(a, 10, 3600000, 4));
		assert_int_equal(refund(a, 1000000000, 0), 4);
		assert_int_equal(item_int(&r, LIMIT_STATE_ALGORITHM), a);
		assert_int_equal(item_int(&r, LIMIT_STATE_REMAINING), 10);
		assert_int_equal(item_int(&r, LIMIT_STATE_RESET_AT_MS), item_int(&r, REPLY_NOW_MS));
		assert_true(take(a, 10, 3600000, 10));
		assert_false(take(a, 10, 3600000, 1));
	}
}

static void parts_come_back(void **state)
{
	(void)state;
	for (int a = GCRA; a <= FIXED_WINDOW; a++) {
		assert_true(take(a, 10, 3600000, 4));
		assert_true(take(a, 10, 3600000, 3));
		assert_int_equal(refund(a, 5, 0), 5);
		assert_int_equal(item_int(&r, LIMIT_STATE_REMAINING), 8);
		assert_int_equal(item_int(&r, LIMIT_STATE_LIMIT), 10);
		assert_int_equal(item_int(&r, LIMIT_STATE_WINDOW_MS), 3600000);
		assert_true(take(a, 10, 3600000, 8));
		assert_false(take(a, 10, 3600000, 1));
		assert_true(redis_pttl_ms(&r, keys[a]) > 0);
	}
}

/* Taken in a window that has ended: the present one refunds nothing. */
static void not_into_another_window(void **state)
{
	(void)state;
	assert_true(take(FIXED_WINDOW, 10, 40, 4));
	int64_t begun = item_int(&r, REPLY_NOW_MS);
	wait_until(redis_now_ms(&r) >= begun + 45, 2000);
	assert_true(take(FIXED_WINDOW, 10, 40000, 6));
	int64_t age = item_int(&r, REPLY_NOW_MS) - begun;
	assert_int_equal(refund(FIXED_WINDOW, 4, age), 0);
	assert_int_equal(item_int(&r, LIMIT_STATE_REMAINING), 4);
	assert_int_equal(refund(FIXED_WINDOW, 4, 0), 4);
	assert_true(take(SLIDING_WINDOW, 10, 40000, 6));
	assert_int_equal(refund(SLIDING_WINDOW, 4, 40000), 0);
	assert_int_equal(refund(SLIDING_WINDOW, 4, 39999), 4);
}

/* A large refund; a step removes 1000 entries of the log, as more would delay all other clients. */
static void long_log_at_once(void **state)
{
	(void)state;
	for (int i = 0; i < 2500; i++)
		assert_true(take(SLIDING_WINDOW, 3000, 3600000, 1));
	assert_int_equal(refund(SLIDING_WINDOW, 2300, 0), 2300);
	assert_int_equal(item_int(&r, LIMIT_STATE_REMAINING), 2800);
	assert_int_equal(server_command(&r, "ZCARD %s", keys[SLIDING_WINDOW])->integer, 1501);
	assert_true(take(SLIDING_WINDOW, 3000, 3600000, 2800));
	assert_false(take(SLIDING_WINDOW, 3000, 3600000, 1));
	assert_int_equal(refund(SLIDING_WINDOW, 3001, 0), 3000);
	assert_int_equal(server_command(&r, "EXISTS %s", keys[SLIDING_WINDOW])->integer, 0);
}

static void foreign_types_are_left_alone(void **state)
{
	(void)state;
	for (int a = GCRA; a <= FIXED_WINDOW; a++) {
		server_command(&r, "SADD %s x", keys[a]);
		unchanged(&r, run_fails(&r, &ratelimit_refund_script, KEYS(keys[a]), ARGS(numbers[a], "1", "0"),
					"WRONGTYPE"));
	}
}

static void replay_gives_nothing_twice(void **state)
{
	(void)state;
	assert_true(take(FIXED_WINDOW, 10, 3600000, 6));
	for (int i = 0; i < 3; i++) {
		run_with_record(&r, &ratelimit_refund_script, KEYS(keys[FIXED_WINDOW]), ARGS("3", "2", "0"),
				"p:idem:{x}", FINGERPRINT_A);
		assert_int_equal(outcome(&r), 2);
		assert_int_equal(item_int(&r, LIMIT_STATE_REMAINING), 6);
	}
	assert_false(take(FIXED_WINDOW, 10, 3600000, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(never_above_full, script_stage_empty),
		cmocka_unit_test_teardown(parts_come_back, script_stage_empty),
		cmocka_unit_test_teardown(not_into_another_window, script_stage_empty),
		cmocka_unit_test_teardown(long_log_at_once, script_stage_empty),
		cmocka_unit_test_teardown(foreign_types_are_left_alone, script_stage_empty),
		cmocka_unit_test_teardown(replay_gives_nothing_twice, script_stage_empty),
	};

	return cmocka_run_group_tests_name("ratelimit scripts, refunds", tests, script_stage_open, script_stage_close);
}
