/*
 * Compensation of a recent take, on a real Redis: as if it had never been taken, and never more
 * than that.
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

enum { GCRA, SLIDING_WINDOW, FIXED_WINDOW, ALGORITHMS };

static const char *const keys[] = { "p:limit:{a}:x:gcra", "p:limit:{a}:x:sliding_window",
				    "p:limit:{a}:x:fixed_window" };

static const char *digits_of(int64_t value)
{
	static char texts[16][24];
	static unsigned next;

	char *text = texts[next++ % 16];

	snprintf(text, sizeof(texts[0]), "%lld", (long long)value);
	return text;
}

/* A take of one check, and its reply. */
struct taken {
	int algorithm;
	int64_t limit, window, cost, at_ms, reset_after_ms;
};

/* One item of a check, of a take. */
static int64_t taken_item(size_t check, size_t item)
{
	return item_int(&r, RATELIMIT_TAKE_ALL_CHECKS + check * LIMIT_CHECK_ITEMS + item);
}

static struct taken take(int algorithm, int64_t limit, int64_t window, int64_t cost)
{
	run(&r, &ratelimit_take_all_script, KEYS(keys[algorithm]),
	    ARGS(digits_of(algorithm + 1), digits_of(limit), digits_of(window), digits_of(cost),
		 algorithm == GCRA ? digits_of(limit) : "0", "0"));
	assert_int_equal(outcome(&r), 1);
	int64_t now = item_int(&r, REPLY_NOW_MS);
	return (struct taken){
		algorithm, limit, window,
		cost,      now,   taken_item(0, LIMIT_CHECK_DECISION + LIMIT_DECISION_RESET_AT_MS) - now
	};
}

/* Returns what remains afterwards. */
static int64_t compensate(struct taken t)
{
	run(&r, &ratelimit_compensate_script, KEYS(keys[t.algorithm]),
	    ARGS(digits_of(t.at_ms), digits_of(t.algorithm + 1), digits_of(t.limit), digits_of(t.window),
		 digits_of(t.cost), t.algorithm == GCRA ? digits_of(t.limit) : "0", digits_of(t.reset_after_ms)));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, RATELIMIT_COMPENSATE_DECISIONS + LIMIT_DECISION_CAPACITY), t.limit);
	assert_int_equal(item_int(&r, RATELIMIT_COMPENSATE_DECISIONS + LIMIT_DECISION_RETRY_AT_MS), -1);
	return item_int(&r, RATELIMIT_COMPENSATE_DECISIONS + LIMIT_DECISION_REMAINING);
}

static void as_if_it_had_never_been_taken(void **state)
{
	(void)state;
	for (int a = 0; a < ALGORITHMS; a++) {
		struct taken first = take(a, 10, 86400000, 3), second = take(a, 10, 86400000, 4);
		assert_int_equal(compensate(second), 7);
		struct taken third = take(a, 10, 86400000, 2);
		assert_int_equal(compensate(first), 8);
		assert_int_equal(compensate(third), 10);
		assert_int_equal(redis_exists(&r, keys[a]), 0);
	}
}

/* Others that drain slowly remain in front of it: however often it repeats, nothing is lost. */
static void nothing_is_lost_while_others_lie_before_it(void **state)
{
	(void)state;
	take(GCRA, 1000, 3600000, 500);
	for (int i = 0; i < 300; i++)
		assert_in_range(compensate(take(GCRA, 1000, 3600000, 7)), 500, 501);
}

/* A take of a window that has ended is not refunded: the count now belongs to other calls. */
static void not_what_has_ended(void **state)
{
	(void)state;
	struct taken ends = take(FIXED_WINDOW, 5, 500, 5), leaves = take(SLIDING_WINDOW, 5, 500, 5);
	while (redis_now_ms(&r) <= leaves.at_ms + 500)
		;
	take(FIXED_WINDOW, 5, 500, 3);
	take(SLIDING_WINDOW, 5, 500, 3);
	assert_int_equal(compensate(ends), 2);
	assert_int_equal(compensate(leaves), 2);
}

/* A leaky bucket that drained the refund, and took from others since. */
static void not_what_a_bucket_took_from_others(void **state)
{
	(void)state;
	struct taken mine = take(GCRA, 1000, 1000, 5); /* a drop a millisecond */
	while (redis_now_ms(&r) <= mine.at_ms + 50)
		;
	take(GCRA, 1000, 1000, 900);
	int64_t taken_ms = item_int(&r, REPLY_NOW_MS);
	int64_t remaining = compensate(mine);
	int64_t passed_ms = item_int(&r, REPLY_NOW_MS) - taken_ms;
	assert_in_range(remaining, 100, 100 + passed_ms);
}

static void foreign_type_changes_nothing(void **state)
{
	(void)state;
	server_command(&r, "SET %s text", keys[FIXED_WINDOW]);
	take(GCRA, 5, 60000, 1);
	run_fails(&r, &ratelimit_compensate_script, KEYS(keys[GCRA], keys[FIXED_WINDOW]),
		  ARGS("0", "1", "5", "60000", "1", "5", "12000", "3", "5", "60000", "1", "0", "0"), "WRONGTYPE");
	run(&r, &ratelimit_take_all_script, KEYS(keys[GCRA]), ARGS("1", "5", "60000", "0", "5", "0"));
	assert_int_equal(taken_item(0, LIMIT_CHECK_DECISION + LIMIT_DECISION_REMAINING), 4);
}

/* Other limits refused: each reports its state, and takes nothing unless it counts refusals. */
static void refused_elsewhere(void **state)
{
	(void)state;
	take(FIXED_WINDOW, 5, 86400000, 1);
	run(&r, &ratelimit_take_all_script, KEYS(keys[FIXED_WINDOW], keys[SLIDING_WINDOW]),
	    ARGS("3", "5", "86400000", "2", "0", "0", "2", "5", "86400000", "2", "1", "0", "1"));
	assert_int_equal(outcome(&r), RATELIMIT_TAKE_ALL_COUNTED_REFUSAL);
	assert_int_equal(taken_item(0, LIMIT_CHECK_FITS), 1);
	assert_int_equal(taken_item(0, LIMIT_CHECK_DECISION + LIMIT_DECISION_REMAINING), 4);
	assert_int_equal(taken_item(1, LIMIT_CHECK_FITS), 1);
	assert_int_equal(taken_item(1, LIMIT_CHECK_DECISION + LIMIT_DECISION_REMAINING), 3);
	/* While it waits for one of those, it is not refused, and counts nothing. */
	run(&r, &ratelimit_take_all_script, KEYS(keys[SLIDING_WINDOW]), ARGS("2", "5", "86400000", "2", "1", "0", "2"));
	assert_int_equal(outcome(&r), RATELIMIT_TAKE_ALL_REFUSED);
	assert_int_equal(taken_item(0, LIMIT_CHECK_DECISION + LIMIT_DECISION_REMAINING), 3);
	run(&r, &ratelimit_take_all_script, KEYS(keys[FIXED_WINDOW]), ARGS("3", "5", "86400000", "0", "0", "0"));
	assert_int_equal(taken_item(0, LIMIT_CHECK_DECISION + LIMIT_DECISION_REMAINING), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(as_if_it_had_never_been_taken, script_stage_empty),
		cmocka_unit_test_teardown(nothing_is_lost_while_others_lie_before_it, script_stage_empty),
		cmocka_unit_test_teardown(not_what_has_ended, script_stage_empty),
		cmocka_unit_test_teardown(not_what_a_bucket_took_from_others, script_stage_empty),
		cmocka_unit_test_teardown(foreign_type_changes_nothing, script_stage_empty),
		cmocka_unit_test_teardown(refused_elsewhere, script_stage_empty),
	};

	return cmocka_run_group_tests_name("ratelimit scripts, given back", tests, script_stage_open,
					   script_stage_close);
}
