/*
 * The three algorithms of the rate limit on a real Redis, each compared with a model in plain
 * integers that gets the instants the script used. A model knows nothing of expiry or storage, so
 * it also finds state that expires too early.
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

static int64_t ceiling(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* Steps of a pseudo-random walk that is the same in every run. */
static uint32_t seed;
static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static const char *number(char out[24], int64_t n)
{
	snprintf(out, 24, "%lld", (long long)n);
	return out;
}

static void take(const struct script *s, const char *key, const int64_t args[4])
{
	char text[4][24];

	run(&r, s, KEYS(key),
	    ARGS(number(text[0], args[0]), number(text[1], args[1]), number(text[2], args[2]),
		 number(text[3], args[3])));
}

/* One item of the decision, LIMIT_DECISION_... */
static int64_t decided(size_t item)
{
	return item_int(&r, LIMIT_TAKEN_DECISION + item);
}

/* ---- The leaky bucket ---- */

struct gcra_model {
	int64_t level, at;
};

static void gcra_step(struct gcra_model *m, int64_t limit, int64_t window, int64_t cost, int64_t burst)
{
	int64_t args[] = { limit, window, cost, burst };

	take(&ratelimit_gcra_script, "p:limit:{a}:@:gcra", args);
	int64_t now = item_int(&r, REPLY_NOW_MS), room = burst * window, weight = cost * window;
	int64_t level = m->level - (now - m->at) * limit;
	if (level < 0)
		level = 0;
	bool allowed = level + weight <= room;
	assert_int_equal(outcome(&r), allowed);
	assert_int_equal(decided(LIMIT_DECISION_RETRY_AT_MS),
			 allowed ? -1 : now + ceiling(level + weight - room, limit));
	if (allowed)
		level += weight;
	assert_int_equal(decided(LIMIT_DECISION_CAPACITY), burst);
	assert_int_equal(decided(LIMIT_DECISION_REMAINING), (room - level) / window);
	assert_int_equal(decided(LIMIT_DECISION_RESET_AT_MS), now + ceiling(level, limit));
	if (allowed && cost > 0)
		*m = (struct gcra_model){ level, now };
}

static void gcra_follows_its_model(void **state)
{
	struct gcra_model m = { 0 };

	(void)state;
	seed = 1;
	for (int i = 0; i < 3000; i++)
		gcra_step(&m, 10000, 1000, next_random(4), 7);
}

/* redis-cell#11 and #50: wrong at thousands a second. Here every drop is accounted for. */
static void gcra_is_exact_at_ten_thousand_a_second(void **state)
{
	struct gcra_model m = { 0 };
	int64_t first = 0, last = 0, allowed = 0;

	(void)state;
	for (int i = 0; i < 6000; i++) {
		gcra_step(&m, 10000, 1000, 1, 20);
		last = item_int(&r, REPLY_NOW_MS);
		first = first ? first : last;
		allowed += outcome(&r);
	}
	assert_true(allowed <= 20 + (last - first) * 10);
}

static void gcra_keeps_its_drops_when_the_parameters_change(void **state)
{
	int64_t old[] = { 1, 3600000, 6, 10 }, changed[] = { 1, 7200000, 0, 10 };

	(void)state;
	take(&ratelimit_gcra_script, "p:limit:{a}:@:gcra", old);
	assert_int_equal(decided(LIMIT_DECISION_REMAINING), 4);
	take(&ratelimit_gcra_script, "p:limit:{a}:@:gcra", changed);
	assert_int_equal(decided(LIMIT_DECISION_REMAINING), 4);
	changed[3] = 4; /* fewer than are in it: full, until they have drained */
	changed[2] = 1;
	take(&ratelimit_gcra_script, "p:limit:{a}:@:gcra", changed);
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(decided(LIMIT_DECISION_REMAINING), 0);
}

static void gcra_refusal_writes_nothing(void **state)
{
	int64_t args[] = { 1, 3600000, 3, 3 };

	(void)state;
	take(&ratelimit_gcra_script, "p:limit:{a}:@:gcra", args);
	redisReply *kept = server_command(&r, "GET p:limit:{a}:@:gcra");
	char *before = strdup(kept->str);
	take(&ratelimit_gcra_script, "p:limit:{a}:@:gcra", args);
	assert_int_equal(outcome(&r), 0);
	kept = server_command(&r, "GET p:limit:{a}:@:gcra");
	assert_string_equal(kept->str, before);
	free(before);
}

/* ---- The sliding window ---- */

enum { LOG_MAX = 4000 };
struct log_model {
	int64_t at[LOG_MAX], cost[LOG_MAX];
	size_t count;
};

static int64_t used_at(const struct log_model *m, int64_t now, int64_t window)
{
	int64_t used = 0;

	for (size_t i = 0; i < m->count; i++)
		if (m->at[i] > now - window)
			used += m->cost[i];
	return used;
}

static void sliding_step(struct log_model *m, int64_t limit, int64_t window, int64_t cost, bool count_refused)
{
	int64_t args[] = { limit, window, cost, count_refused };

	take(&ratelimit_sliding_window_script, "p:limit:{a}:@:sliding_window", args);
	int64_t now = item_int(&r, REPLY_NOW_MS);
	bool allowed = used_at(m, now, window) + cost <= limit;
	assert_int_equal(outcome(&r), !allowed && cost > 0 && count_refused ? RATELIMIT_SLIDING_WINDOW_COUNTED_REFUSAL
									    : allowed);
	if (cost > 0 && (allowed || count_refused)) {
		assert_true(m->count < LOG_MAX);
		m->at[m->count] = now;
		m->cost[m->count++] = cost;
	}
	int64_t used = used_at(m, now, window), retry_at = decided(LIMIT_DECISION_RETRY_AT_MS);
	assert_int_equal(decided(LIMIT_DECISION_REMAINING), used < limit ? limit - used : 0);
	if (allowed) {
		assert_int_equal(retry_at, -1);
		return;
	}
	/* Retry-After is exact: at that instant the call fits, a millisecond before it does not. */
	assert_true(used_at(m, retry_at, window) + cost <= limit);
	assert_true(used_at(m, retry_at - 1, window) + cost > limit);
}

static void sliding_window_follows_its_model(void **state)
{
	static struct log_model m;

	(void)state;
	m.count = 0;
	seed = 7;
	for (int i = 0; i < 2500; i++)
		sliding_step(&m, 40, 50, next_random(4), false);
}

static void sliding_window_counts_refusals_if_asked(void **state)
{
	static struct log_model m;

	(void)state;
	m.count = 0;
	for (int i = 0; i < 60; i++)
		sliding_step(&m, 5, 30, 1 + i % 3, true);
}

static void sliding_window_keeps_no_more_than_it_needs(void **state)
{
	int64_t args[] = { 100000, 20, 1, 0 };

	(void)state;
	int64_t begun = 0, now = 0;
	while (now - begun < 200) {
		take(&ratelimit_sliding_window_script, "p:limit:{a}:@:sliding_window", args);
		now = item_int(&r, REPLY_NOW_MS);
		begun = begun ? begun : now;
	}
	int64_t kept = server_command(&r, "ZCARD p:limit:{a}:@:sliding_window")->integer;
	char since[32];
	snprintf(since, sizeof(since), "(%lld", (long long)(now - 20));
	int64_t live = server_command(&r, "ZCOUNT p:limit:{a}:@:sliding_window %s +inf", since)->integer;
	assert_true(kept <=
		    live + 1); /* the live entries, the parameters' member, and the entry that starts the window */
	assert_true(server_command(&r, "PTTL p:limit:{a}:@:sliding_window")->integer <= 20);
}

/* A flood of counted refusals must not grow the log beyond the entries that still matter. */
static void sliding_window_of_a_flood_stays_bounded(void **state)
{
	int64_t args[] = { 50, 3600000, 1, 1 };

	(void)state;
	for (int i = 0; i < 1500; i++)
		take(&ratelimit_sliding_window_script, "p:limit:{a}:@:sliding_window", args);
	assert_int_equal(decided(LIMIT_DECISION_REMAINING), 0);
	assert_true(server_command(&r, "ZCARD p:limit:{a}:@:sliding_window")->integer < 60);
}

/* ---- The fixed window ---- */

static void fixed_window_starts_with_its_first_call(void **state)
{
	int64_t args[] = { 5, 60, 0, 0 };

	(void)state;
	take(&ratelimit_fixed_window_script, "p:limit:{a}:@:fixed_window", args);
	assert_int_equal(decided(LIMIT_DECISION_RESET_AT_MS), item_int(&r, REPLY_NOW_MS)); /* a look opens no window */
	assert_int_equal(server_command(&r, "EXISTS p:limit:{a}:@:fixed_window")->integer, 0);
	int64_t started = 0, used = 0;
	seed = 3;
	for (int i = 0; i < 2000; i++) {
		args[2] = next_random(3);
		take(&ratelimit_fixed_window_script, "p:limit:{a}:@:fixed_window", args);
		int64_t now = item_int(&r, REPLY_NOW_MS);
		if (now >= started + args[1])
			used = 0;
		if (used == 0)
			started = now;
		bool allowed = used + args[2] <= args[0];
		assert_int_equal(outcome(&r), allowed);
		if (allowed)
			used += args[2];
		else
			assert_int_equal(decided(LIMIT_DECISION_RETRY_AT_MS), started + args[1]);
		assert_int_equal(decided(LIMIT_DECISION_REMAINING), args[0] - used);
	}
}

/* ---- All ---- */

static void foreign_types_are_left_alone(void **state)
{
	(void)state;
	server_command(&r, "SET p:limit:{b}:@:gcra x");
	server_command(&r, "ZADD p:limit:{b}:@:sliding_window 1 x");
	server_command(&r, "SET p:limit:{b}:@:fixed_window x");
	run_fails(&r, &ratelimit_gcra_script, KEYS("p:limit:{b}:@:gcra"), ARGS("1", "1000", "1", "1"),
		  "WRONGTYPE");
	run_fails(&r, &ratelimit_sliding_window_script, KEYS("p:limit:{b}:@:sliding_window"),
		  ARGS("1", "1000", "1", "0"), "WRONGTYPE");
	run_fails(&r, &ratelimit_fixed_window_script, KEYS("p:limit:{b}:@:fixed_window"), ARGS("1", "1000", "1"),
		  "WRONGTYPE");
	server_command(&r, "SADD p:limit:{a}:@:gcra x");
	server_command(&r, "SET p:limit:{a}:@:sliding_window x");
	server_command(&r, "SADD p:limit:{a}:@:fixed_window x");
	run_fails(&r, &ratelimit_gcra_script, KEYS("p:limit:{a}:@:gcra"), ARGS("1", "1000", "1", "1"),
		  "WRONGTYPE");
	run_fails(&r, &ratelimit_sliding_window_script, KEYS("p:limit:{a}:@:sliding_window"),
		  ARGS("1", "1000", "1", "0"), "WRONGTYPE");
	run_fails(&r, &ratelimit_fixed_window_script, KEYS("p:limit:{a}:@:fixed_window"), ARGS("1", "1000", "1"),
		  "WRONGTYPE");
}

static void look_needs_no_parameters(void **state)
{
	static const char *const keys[] = { "p:limit:{a}:@:gcra", "p:limit:{a}:@:sliding_window",
					    "p:limit:{a}:@:fixed_window", NULL };
	static const char *const numbers[] = { "1", "2", "3" };
	int64_t args[] = { 10, 3600000, 4, 10 };

	(void)state;
	run(&r, &ratelimit_key_get_script, keys, ARGS("0"));
	assert_int_equal(item_int(&r, LIMIT_STATE_ALGORITHM), 0);
	take(&ratelimit_gcra_script, keys[0], args);
	args[3] = 0;
	take(&ratelimit_sliding_window_script, keys[1], args);
	take(&ratelimit_fixed_window_script, keys[2], args);
	for (int i = 0; i < 3; i++) {
		run(&r, &ratelimit_key_get_script, keys, ARGS(numbers[i]));
		assert_int_equal(item_int(&r, LIMIT_STATE_ALGORITHM), i + 1);
		assert_int_equal(item_int(&r, LIMIT_STATE_LIMIT), 10);
		assert_int_equal(item_int(&r, LIMIT_STATE_WINDOW_MS), 3600000);
		assert_int_equal(item_int(&r, LIMIT_STATE_REMAINING), 6);
		assert_int_equal(item_int(&r, LIMIT_STATE_RETRY_AT_MS), -1);
	}
}

static void replay_takes_nothing(void **state)
{
	static const char *const keys[] = { "p:limit:{a}:@:gcra", NULL };

	(void)state;
	for (int i = 0; i < 3; i++) {
		run_with_record(&r, &ratelimit_gcra_script, keys, ARGS("1", "3600000", "1", "9"), "p:limit:{a}:idem:x",
				FINGERPRINT_A);
		assert_int_equal(decided(LIMIT_DECISION_REMAINING), 8);
	}
	run_with_record_fails(&r, &ratelimit_gcra_script, keys, ARGS("1", "3600000", "1", "9"), "p:limit:{a}:idem:x",
			      FINGERPRINT_B, "IDEMPOTENCY_KEY_REUSED");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(gcra_follows_its_model, script_stage_empty),
		cmocka_unit_test_teardown(gcra_is_exact_at_ten_thousand_a_second, script_stage_empty),
		cmocka_unit_test_teardown(gcra_keeps_its_drops_when_the_parameters_change, script_stage_empty),
		cmocka_unit_test_teardown(gcra_refusal_writes_nothing, script_stage_empty),
		cmocka_unit_test_teardown(sliding_window_follows_its_model, script_stage_empty),
		cmocka_unit_test_teardown(sliding_window_counts_refusals_if_asked, script_stage_empty),
		cmocka_unit_test_teardown(sliding_window_keeps_no_more_than_it_needs, script_stage_empty),
		cmocka_unit_test_teardown(sliding_window_of_a_flood_stays_bounded, script_stage_empty),
		cmocka_unit_test_teardown(fixed_window_starts_with_its_first_call, script_stage_empty),
		cmocka_unit_test_teardown(foreign_types_are_left_alone, script_stage_empty),
		cmocka_unit_test_teardown(look_needs_no_parameters, script_stage_empty),
		cmocka_unit_test_teardown(replay_takes_nothing, script_stage_empty),
	};

	return cmocka_run_group_tests_name("ratelimit scripts", tests, script_stage_open, script_stage_close);
}
