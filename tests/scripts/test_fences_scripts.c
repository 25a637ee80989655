/*
 * The fence scripts on a real Redis: which fences pass, what is stored, and foreign keys, which
 * stay untouched.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define FENCE "p:fence:{a}"

static int64_t check(const char *fence)
{
	run(&r, &fence_check_script, KEYS(FENCE), ARGS(fence));
	return outcome(&r);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

TEST(what_is_not_below_the_highest_passes)
{
	static const struct {
		const char *fence;
		int64_t outcome;
		const char *highest;
	} rows[] = {
		{ "1", FENCE_CHECK_PASSED, "1" },
		{ "1", FENCE_CHECK_PASSED, "1" },
		{ "1795219450378210", FENCE_CHECK_PASSED, "1795219450378210" },
		{ "1795219450378210", FENCE_CHECK_PASSED, "1795219450378210" },
		{ "1795219450378209", FENCE_CHECK_STALE, "1795219450378210" },
		{ "1", FENCE_CHECK_STALE, "1795219450378210" },
		{ "1795219450378211", FENCE_CHECK_PASSED, "1795219450378211" },
		{ "9007199254740991", FENCE_CHECK_PASSED, "9007199254740991" },
		{ "9007199254740990", FENCE_CHECK_STALE, "9007199254740991" },
		{ "9007199254740991", FENCE_CHECK_PASSED, "9007199254740991" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *before = server_picture(&r);
		int64_t before_ms = server_now_ms(&r);
		assert_int_equal(check(rows[i].fence), rows[i].outcome);
		assert_in_range(item_int(&r, REPLY_NOW_MS), before_ms, before_ms + 5000);
		assert_int_equal(item_int(&r, FENCE_CHECK_HIGHEST), strtoll(rows[i].highest, NULL, 10));
		assert_string_equal(server_command(&r, "GET " FENCE)->str, rows[i].highest);
		assert_int_equal(redis_pttl_ms(&r, FENCE), -1);
		char *after = server_picture(&r);
		if (rows[i].outcome == FENCE_CHECK_STALE)
			assert_string_equal(after, before);
		free(before);
		free(after);
	}
}

static int64_t highest(void)
{
	run(&r, &fence_get_script, KEYS(FENCE), ARGS());
	assert_int_equal(outcome(&r), item_int(&r, FENCE_GET_HIGHEST) ? 0 : FENCE_GET_ABSENT);
	return item_int(&r, FENCE_GET_HIGHEST);
}

static int64_t remove_fence(void)
{
	run(&r, &fence_delete_script, KEYS(FENCE), ARGS());
	return outcome(&r);
}

TEST(what_was_deleted_was_never_seen)
{
	assert_int_equal(highest(), 0);
	unchanged(&r, assert_int_equal(remove_fence(), 0));
	check("9007199254740991");
	unchanged(&r, assert_int_equal(highest(), INT64_C(9007199254740991)));
	assert_int_equal(remove_fence(), 1);
	assert_int_equal(server_keys(&r), 0);
	assert_int_equal(highest(), 0);
	assert_int_equal(check("1"), FENCE_CHECK_PASSED);
}

TEST(a_foreign_key_stays_as_it_is)
{
	static const char *const foreign[] = {
		"SET " FENCE " mine", "SET " FENCE " 1.5", "SET " FENCE " -1",
		"HSET " FENCE " a 1", "RPUSH " FENCE " 1", "ZADD " FENCE " 1 a",
	};

	for (size_t i = 0; i < COUNT(foreign); i++) {
		script_stage_empty(NULL);
		assert_int_not_equal(server_command(&r, foreign[i])->type, REDIS_REPLY_ERROR);
		unchanged(&r, run_fails(&r, &fence_check_script, KEYS(FENCE), ARGS("7"), "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &fence_get_script, KEYS(FENCE), ARGS(), "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &fence_delete_script, KEYS(FENCE), ARGS(), "WRONGTYPE"));
	}
}

TEST(a_full_redis_refuses_a_check_and_still_deletes)
{
	check("5");
	server_command(&r, "CONFIG SET maxmemory 1");
	unchanged(&r, run_fails(&r, &fence_check_script, KEYS(FENCE), ARGS("7"), "OOM"));
	assert_int_equal(remove_fence(), 1);
}
