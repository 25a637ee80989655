/*
 * What the scripts of the rate limits store, on a real Redis: no more than they need, nothing for a
 * refusal or a replay, and nothing if a key is foreign. (test_rate_limits_model_scripts.c checks
 * their answers.)
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

static const char *const keys[] = { "p:limit:{a}:x:gcra", "p:limit:{a}:x:sliding_window", "p:limit:{a}:x:fixed_window",
				    NULL };
static const struct script *const takes[] = { &ratelimit_gcra_script, &ratelimit_sliding_window_script,
					      &ratelimit_fixed_window_script };
static const char *const numbers[] = { "1", "2", "3" };
enum { GCRA, SLIDING_WINDOW, FIXED_WINDOW, ALGORITHMS };

/* `extra` is the burst of a leaky bucket. For a sliding window, "1" counts refused calls, too. */
static void take(int algorithm, const char *limit, const char *window_ms, const char *cost, const char *extra)
{
	run(&r, takes[algorithm], KEYS(keys[algorithm]), ARGS(limit, window_ms, cost, extra));
}

static int64_t remaining(void)
{
	return item_int(&r, LIMIT_TAKEN_DECISION + LIMIT_DECISION_REMAINING);
}

/* An item of one check of a call for several limits. */
static int64_t taken_item(size_t check, size_t item)
{
	return item_int(&r, RATELIMIT_TAKE_ALL_CHECKS + check * LIMIT_CHECK_ITEMS + item);
}

static int64_t remaining_of(size_t check)
{
	return taken_item(check, LIMIT_CHECK_DECISION + LIMIT_DECISION_REMAINING);
}

/* ---- Refusals ---- */

SUITE(.open = script_stage_open, .close = script_stage_close, .after = script_stage_empty);

TEST(a_refusal_writes_nothing)
{
	for (int a = 0; a < ALGORITHMS; a++) {
		take(a, "3", "3600000", "3", a == GCRA ? "3" : "0");
		assert_int_equal(outcome(&r), 1);
		unchanged(&r, take(a, "3", "3600000", "3", a == GCRA ? "3" : "0"));
	}
	const char *const *refused = ARGS("1", "3", "3600000", "0", "3", "0", "2", "9", "3600000", "1", "0", "0", "3",
					  "9", "3600000", "9", "0", "0");
	unchanged(&r, run(&r, &ratelimit_take_all_script, keys, refused));
	run(&r, &ratelimit_take_all_script, keys, refused); /* unchanged() replaced the reply */
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(taken_item(1, LIMIT_CHECK_FITS), 1);
	assert_int_equal(remaining_of(1), 6); /* the present state, not the state after a grant */
	assert_int_equal(taken_item(2, LIMIT_CHECK_FITS), 0);
}

/*
 * Limits of other slots refused the call. Each limit here reports its state, and takes nothing
 * unless it counts refusals.
 */
TEST(refused_elsewhere)
{
	take(FIXED_WINDOW, "5", "86400000", "1", "0");
	run(&r, &ratelimit_take_all_script, KEYS(keys[FIXED_WINDOW], keys[SLIDING_WINDOW]),
	    ARGS("3", "5", "86400000", "2", "0", "0", "2", "5", "86400000", "2", "1", "0", "1"));
	assert_int_equal(outcome(&r), RATELIMIT_TAKE_ALL_COUNTED_REFUSAL);
	assert_int_equal(taken_item(0, LIMIT_CHECK_FITS), 1);
	assert_int_equal(remaining_of(0), 4);
	assert_int_equal(taken_item(1, LIMIT_CHECK_FITS), 1);
	assert_int_equal(remaining_of(1), 3);
	take(FIXED_WINDOW, "5", "86400000", "0", "0");
	assert_int_equal(remaining(), 4);
}

/* ---- What is stored ---- */

TEST(sliding_window_keeps_no_more_than_it_needs)
{
	int64_t begun = 0, now = 0;
	while (now - begun < 200) {
		take(SLIDING_WINDOW, "100000", "20", "1", "0");
		now = item_int(&r, REPLY_NOW_MS);
		begun = begun ? begun : now;
	}
	int64_t kept = server_command(&r, "ZCARD %s", keys[SLIDING_WINDOW])->integer;
	char since[32];
	snprintf(since, sizeof(since), "(%lld", (long long)(now - 20));
	int64_t live = server_command(&r, "ZCOUNT %s %s +inf", keys[SLIDING_WINDOW], since)->integer;
	assert_true(kept <=
		    live + 1); /* the live entries, the parameters' member, and the entry that starts the window */
	assert_true(redis_pttl_ms(&r, keys[SLIDING_WINDOW]) <= 20);
}

/* A flood of counted refusals must not grow the log beyond the entries that still matter. */
TEST(sliding_window_of_a_flood_stays_bounded)
{
	for (int i = 0; i < 1500; i++)
		take(SLIDING_WINDOW, "50", "3600000", "1", "1");
	assert_int_equal(remaining(), 0);
	assert_true(server_command(&r, "ZCARD %s", keys[SLIDING_WINDOW])->integer < 60);
}

/* A large refund. One step removes 1000 entries of the log; more would delay all other clients. */
TEST(a_long_log_is_refunded_at_once)
{
	for (int i = 0; i < 2500; i++)
		take(SLIDING_WINDOW, "3000", "3600000", "1", "0");
	run(&r, &ratelimit_refund_script, KEYS(keys[SLIDING_WINDOW]), ARGS("2", "2300", "0"));
	assert_int_equal(outcome(&r), 2300);
	assert_int_equal(item_int(&r, LIMIT_STATE_REMAINING), 2800);
	assert_int_equal(server_command(&r, "ZCARD %s", keys[SLIDING_WINDOW])->integer, 1501);
	take(SLIDING_WINDOW, "3000", "3600000", "2800", "0");
	assert_int_equal(outcome(&r), 1);
	take(SLIDING_WINDOW, "3000", "3600000", "1", "0");
	assert_int_equal(outcome(&r), 0);
	run(&r, &ratelimit_refund_script, KEYS(keys[SLIDING_WINDOW]), ARGS("2", "3001", "0"));
	assert_int_equal(outcome(&r), 3000);
	assert_int_equal(redis_exists(&r, keys[SLIDING_WINDOW]), 0);
}

TEST(what_is_whole_again_has_no_key)
{
	for (int a = 0; a < ALGORITHMS; a++) {
		const char *const burst = a == GCRA ? "10" : "0";
		run(&r, &ratelimit_refund_script, KEYS(keys[a]), ARGS(numbers[a], "5", "0"));
		assert_int_equal(redis_exists(&r, keys[a]), 0); /* a refund without a key makes none */
		take(a, "10", "86400000", "0", burst);
		assert_int_equal(redis_exists(&r, keys[a]), 0); /* a look makes no key */
		run(&r, &ratelimit_take_all_script, KEYS(keys[a]), ARGS(numbers[a], "10", "86400000", "3", burst, "0"));
		char at[24], left[24];
		int64_t now_ms = item_int(&r, REPLY_NOW_MS);
		snprintf(at, sizeof(at), "%lld", (long long)now_ms);
		snprintf(left, sizeof(left), "%lld",
			 (long long)(taken_item(0, LIMIT_CHECK_DECISION + LIMIT_DECISION_RESET_AT_MS) - now_ms));
		run(&r, &ratelimit_compensate_script, KEYS(keys[a]),
		    ARGS(at, numbers[a], "10", "86400000", "3", burst, left));
		assert_int_equal(redis_exists(&r, keys[a]), 0);
	}
}

/* ---- Foreign keys, and replays ---- */

/* The key has foreign content or a foreign type, beside other keys or alone. */
TEST(a_foreign_key_is_left_alone)
{
	static const char *const plants[][2] = { { "SET %s x", "SADD %s x" },
						 { "ZADD %s 1 x", "SET %s x" },
						 { "SET %s x", "RPUSH %s x" } };

	for (int i = 0; i < 2 * ALGORITHMS; i++) {
		int a = i / 2, other = (a + 1) % ALGORITHMS;
		script_stage_empty(NULL);
		server_command(&r, plants[a][i % 2], keys[a]);
		unchanged(&r, run_fails(&r, takes[a], KEYS(keys[a]), ARGS("1", "1000", "1", a == GCRA ? "1" : "0"),
					"WRONGTYPE"));
		unchanged(&r, run_fails(&r, &ratelimit_take_all_script, KEYS(keys[other], keys[a]),
					ARGS(numbers[other], "9", "1000", "1", other == GCRA ? "9" : "0", "0",
					     numbers[a], "9", "1000", "1", a == GCRA ? "9" : "0", "0"),
					"WRONGTYPE"));
		take(other, "5", "60000", "1", other == GCRA ? "5" : "0");
		unchanged(&r, run_fails(&r, &ratelimit_compensate_script, KEYS(keys[other], keys[a]),
					ARGS("0", numbers[other], "5", "60000", "1", other == GCRA ? "5" : "0", "12000",
					     numbers[a], "5", "60000", "1", a == GCRA ? "5" : "0", "0"),
					"WRONGTYPE"));
		if (i % 2)
			unchanged(&r, run_fails(&r, &ratelimit_refund_script, KEYS(keys[a]), ARGS(numbers[a], "1", "0"),
						"WRONGTYPE"));
	}
}

TEST(a_replay_changes_nothing)
{
	const struct {
		const struct script *script;
		const char *const *args;
		size_t remaining; /* the item of the reply */
		int64_t wanted;
	} rows[] = {
		{ &ratelimit_gcra_script, ARGS("1", "3600000", "1", "9"),
		  LIMIT_TAKEN_DECISION + LIMIT_DECISION_REMAINING, 8 },
		{ &ratelimit_take_all_script, ARGS("1", "1", "3600000", "3", "9", "0"),
		  RATELIMIT_TAKE_ALL_CHECKS + LIMIT_CHECK_DECISION + LIMIT_DECISION_REMAINING, 5 },
		{ &ratelimit_refund_script, ARGS("1", "2", "0"), LIMIT_STATE_REMAINING, 7 },
	};
	char record[32];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(record, sizeof(record), "p:idem:{%zu}", i);
		for (int n = 0; n < 3; n++) {
			run_with_record(&r, rows[i].script, KEYS(keys[GCRA]), rows[i].args, record, FINGERPRINT_A);
			assert_int_equal(item_int(&r, rows[i].remaining), rows[i].wanted);
		}
		run_with_record_fails(&r, rows[i].script, KEYS(keys[GCRA]), rows[i].args, record, FINGERPRINT_B,
				      "IDEMPOTENCY_KEY_REUSED");
	}
}
