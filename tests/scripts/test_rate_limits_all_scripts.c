/*
 * Several limits as one decision, on a real Redis: compared with a model in plain integers, which
 * gets the instants that the script used.
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

enum { GCRA = 1, SLIDING_WINDOW = 2, FIXED_WINDOW = 3 };
enum { CHECKS = 5, LOG_MAX = 20000, ARGUMENTS = 6 };

/* A limit and its counts: entries, which each algorithm reads in its own way. */
struct model {
	int algorithm;
	int64_t limit, window, extra; /* burst of a leaky bucket; 1: refused calls count, too */
	bool shadow;
	int64_t level, level_at; /* of a leaky bucket */
	int64_t used, started;   /* fixed window */
	int64_t at[LOG_MAX], cost[LOG_MAX];
	size_t count; /* sliding window */
};

static struct model models[CHECKS] = {
	{ .algorithm = GCRA, .limit = 400, .window = 100, .extra = 9 },
	{ .algorithm = SLIDING_WINDOW, .limit = 60, .window = 40 },
	{ .algorithm = FIXED_WINDOW, .limit = 45, .window = 30 },
	{ .algorithm = SLIDING_WINDOW, .limit = 90, .window = 10, .extra = 1 },
	{ .algorithm = GCRA, .limit = 100, .window = 100, .extra = 3, .shadow = true },
};

static const char *const keys[] = { "p:limit:{a}:x:gcra",         "p:limit:{a}:x:sliding_window",
				    "p:limit:{a}:x:fixed_window", "p:limit:{a}:y:sliding_window",
				    "p:limit:{a}:z:gcra",         NULL };

static uint32_t seed;
static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void forget(void)
{
	for (size_t i = 0; i < CHECKS; i++) {
		struct model *m = &models[i];
		m->level = m->level_at = m->used = m->started = 0;
		m->count = 0;
	}
}

/* What is in use at `now`, and room in the same units. */
static int64_t in_use(struct model *m, int64_t now)
{
	int64_t used = 0;

	if (m->algorithm == GCRA) {
		int64_t level = m->level - (now - m->level_at) * m->limit;
		m->level = level > 0 ? level : 0;
		m->level_at = now;
		return m->level;
	}
	if (m->algorithm == FIXED_WINDOW) {
		if (now >= m->started + m->window)
			m->used = 0;
		return m->used;
	}
	for (size_t i = 0; i < m->count; i++)
		if (m->at[i] > now - m->window)
			used += m->cost[i];
	return used;
}

static int64_t unit_of(const struct model *m)
{
	return m->algorithm == GCRA ? m->window : 1;
}

static int64_t room_of(const struct model *m)
{
	return m->algorithm == GCRA ? m->extra * m->window : m->limit;
}

static void count(struct model *m, int64_t now, int64_t cost)
{
	if (m->algorithm == GCRA) {
		m->level += cost * m->window;
	} else if (m->algorithm == FIXED_WINDOW) {
		if (m->used == 0)
			m->started = now;
		m->used += cost;
	} else {
		assert_true(m->count < LOG_MAX);
		m->at[m->count] = now;
		m->cost[m->count++] = cost;
	}
}

static int64_t remaining(struct model *m, int64_t now)
{
	int64_t left = room_of(m) - in_use(m, now);

	return left > 0 ? left / unit_of(m) : 0;
}

static void take(const int64_t costs[CHECKS])
{
	static char texts[CHECKS * ARGUMENTS][24];
	const char *args[CHECKS * ARGUMENTS + 1];

	for (size_t i = 0; i < CHECKS; i++) {
		const struct model *m = &models[i];
		const int64_t six[] = { m->algorithm, m->limit, m->window, costs[i], m->extra, m->shadow };
		for (size_t k = 0; k < ARGUMENTS; k++)
			snprintf(texts[i * ARGUMENTS + k], 24, "%lld", (long long)six[k]);
	}
	for (size_t i = 0; i < CHECKS * ARGUMENTS; i++)
		args[i] = texts[i];
	args[CHECKS * ARGUMENTS] = NULL;
	run(&r, &ratelimit_take_all_script, keys, args);
}

static int64_t reply_field(size_t check, size_t field)
{
	return item_int(&r, RATELIMIT_TAKE_ALL_CHECKS + check * LIMIT_CHECK_ITEMS + field);
}

static int64_t decided(size_t check, size_t field)
{
	return reply_field(check, LIMIT_CHECK_DECISION + field);
}

static bool step(const int64_t costs[CHECKS])
{
	bool granted = true, counted = false, fits[CHECKS];

	take(costs);
	int64_t now = item_int(&r, REPLY_NOW_MS);
	for (size_t i = 0; i < CHECKS; i++) {
		struct model *m = &models[i];
		fits[i] = in_use(m, now) + costs[i] * unit_of(m) <= room_of(m);
		granted = granted && (fits[i] || m->shadow);
		assert_int_equal(reply_field(i, LIMIT_CHECK_FITS), fits[i]);
		assert_int_equal(decided(i, LIMIT_DECISION_RETRY_AT_MS) < 0, fits[i]);
	}
	for (size_t i = 0; i < CHECKS; i++) {
		struct model *m = &models[i];
		bool counts_refused = m->algorithm == SLIDING_WINDOW && m->extra;
		counted |= costs[i] > 0 && counts_refused;
		if (costs[i] > 0 && ((granted && fits[i]) || counts_refused))
			count(m, now, costs[i]);
		assert_int_equal(decided(i, LIMIT_DECISION_REMAINING), remaining(m, now));
	}
	assert_int_equal(outcome(&r), granted ? RATELIMIT_TAKE_ALL_ADMITTED
				      : counted ? RATELIMIT_TAKE_ALL_COUNTED_REFUSAL
						: RATELIMIT_TAKE_ALL_REFUSED);
	return granted;
}

static void all_follow_their_models(void **state)
{
	int64_t costs[CHECKS];
	unsigned granted = 0, refused = 0;

	(void)state;
	forget();
	seed = 11;
	for (int i = 0; i < 3000; i++) {
		for (size_t k = 0; k < CHECKS; k++)
			costs[k] = next_random(3);
		if (i % 20 == 0)
			costs[2] = models[2].limit + 1; /* also where everything drains faster than the test calls */
		if (step(costs))
			granted++;
		else
			refused++;
	}
	assert_true(granted > 100 && refused > 100); /* else the test would show nothing */
}

/* One refuses: the counts of the others must not change by a byte. */
static void refusal_takes_nothing(void **state)
{
	const char *const three[] = { "p:limit:{a}:x:gcra", "p:limit:{a}:x:sliding_window",
				      "p:limit:{a}:x:fixed_window", NULL };
	const char *const some[] = { "1", "1", "3600000", "1", "9",       "0", "2", "9", "3600000", "1",
				     "0", "0", "3",       "9", "3600000", "1", "0", "0", NULL };
	const char *const too_much[] = { "1", "1", "3600000", "1", "9",       "0", "2", "9", "3600000", "1",
					 "0", "0", "3",       "9", "3600000", "9", "0", "0", NULL };

	(void)state;
	run(&r, &ratelimit_take_all_script, three, some);
	unchanged(&r, run(&r, &ratelimit_take_all_script, three, too_much));
	run(&r, &ratelimit_take_all_script, three, too_much); /* unchanged() replaced the reply */
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(reply_field(0, LIMIT_CHECK_FITS), 1);
	assert_int_equal(decided(0, LIMIT_DECISION_REMAINING), 8); /* as it is, not as it would have been */
	assert_int_equal(decided(1, LIMIT_DECISION_REMAINING), 8);
	assert_int_equal(reply_field(2, LIMIT_CHECK_FITS), 0);
	assert_int_equal(decided(2, LIMIT_DECISION_REMAINING), 8);
}

static void foreign_type_in_the_last_key_half_applies_nothing(void **state)
{
	const char *const args[] = { "1", "9", "1000", "1", "9", "0", "3", "9", "1000", "1", "0", "0", NULL };
	const char *const two[] = { "p:limit:{a}:x:gcra", "p:limit:{b}:x:fixed_window", NULL };

	(void)state;
	server_command(&r, "RPUSH p:limit:{b}:x:fixed_window x");
	run_fails(&r, &ratelimit_take_all_script, two, args, "WRONGTYPE");
	assert_int_equal(server_keys(&r), 1);
	server_command(&r, "DEL p:limit:{b}:x:fixed_window");
	server_command(&r, "SET p:limit:{b}:x:fixed_window text");
	run_fails(&r, &ratelimit_take_all_script, two, args, "WRONGTYPE");
	assert_int_equal(server_keys(&r), 1);
}

static void replay_takes_nothing(void **state)
{
	const char *const args[] = { "1", "1", "3600000", "1", "9", "0", "3", "9", "3600000", "2", "0", "0", NULL };
	const char *const two[] = { "p:limit:{a}:x:gcra", "p:limit:{a}:x:fixed_window", NULL };

	(void)state;
	for (int i = 0; i < 3; i++) {
		run_with_record(&r, &ratelimit_take_all_script, two, args, "p:idem:{x}", FINGERPRINT_A);
		assert_int_equal(outcome(&r), 1);
		assert_int_equal(decided(0, LIMIT_DECISION_REMAINING), 8);
		assert_int_equal(decided(1, LIMIT_DECISION_REMAINING), 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(all_follow_their_models, script_stage_empty),
		cmocka_unit_test_teardown(refusal_takes_nothing, script_stage_empty),
		cmocka_unit_test_teardown(foreign_type_in_the_last_key_half_applies_nothing, script_stage_empty),
		cmocka_unit_test_teardown(replay_takes_nothing, script_stage_empty),
	};

	return cmocka_run_group_tests_name("ratelimit scripts, several at once", tests, script_stage_open,
					   script_stage_close);
}
