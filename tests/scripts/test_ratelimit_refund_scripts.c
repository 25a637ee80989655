/*
 * Refunds on a real Redis: for each algorithm held against a model, and at the edges: never above full, never into another window.
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

enum { REFUNDED, NOW, ALGORITHM, LIMIT, WINDOW, CAPACITY, REMAINING, RETRY_AT, RESET_AT }; /* of a refund */
enum { TAKE_ALLOWED, TAKE_NOW, TAKE_CAPACITY, TAKE_REMAINING, TAKE_RETRY_AT };
enum { LOG_MAX = 6000 };

static const char *const keys[] = { NULL, "p:limit:{a}:x:funnel", "p:limit:{a}:x:sliding_window",
				    "p:limit:{a}:x:fixed_window" };
static const char *const numbers[] = { NULL, "1", "2", "3" };
enum { FUNNEL = 1, SLIDING_WINDOW = 2, FIXED_WINDOW = 3 };

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

/* Burst is the limit, refused calls do not count. */
static bool take(int algorithm, int64_t limit, int64_t window, int64_t cost)
{
	static const struct script *const scripts[] = { NULL, &ratelimit_funnel_script,
							&ratelimit_sliding_window_script,
							&ratelimit_fixed_window_script };
	char text[3][24];

	run(&r, scripts[algorithm], KEYS(keys[algorithm]),
	    ARGS(number(text[0], limit), number(text[1], window), number(text[2], cost),
		 algorithm == FUNNEL ? number(text[0], limit) : "0"));
	return item_int(&r, TAKE_ALLOWED) == 1;
}

static int64_t refund(int algorithm, int64_t cost, int64_t age)
{
	char text[2][24];

	run(&r, &ratelimit_refund_script, KEYS(keys[algorithm]),
	    ARGS(numbers[algorithm], number(text[0], cost), number(text[1], age)));
	return item_int(&r, REFUNDED);
}

/* ---- Each against its model ---- */

static void funnel_follows_its_model(void **state)
{
	const int64_t limit = 100,
		      window = 100; /* a drop a millisecond, so that all of it drains in between now and then */
	int64_t level = 0, at = 0;

	(void)state;
	seed = 5;
	for (int i = 0; i < 3000; i++) {
		int64_t cost = 1 + next_random(9);
		bool gives_back = next_random(3) == 0;
		int64_t refunded = gives_back ? refund(FUNNEL, cost, 0) : 0;
		bool allowed = !gives_back && take(FUNNEL, limit, window, cost);
		int64_t now = item_int(&r, NOW);
		level = level > (now - at) * limit ? level - (now - at) * limit : 0;
		at = now;
		int64_t drops = (level + window - 1) / window;
		if (gives_back) {
			assert_int_equal(refunded, cost < drops ? cost : drops);
			level = level > cost * window ? level - cost * window : 0;
		}
		level += allowed ? cost * window : 0;
		int64_t left = (limit * window - level) / window;
		bool lapsed = gives_back && item_int(&r, ALGORITHM) == 0;
		if (lapsed)
			assert_int_equal(level, 0);
		else
			assert_int_equal(item_int(&r, gives_back ? REMAINING : TAKE_REMAINING), left);
	}
}

/* A log from which the oldest go: the newest keep their time, so nothing is let in before it may be. */
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

static int64_t give_back(struct log_model *m, int64_t now, int64_t window, int64_t cost)
{
	int64_t wanted = cost;

	for (size_t i = 0; i < m->count && cost > 0; i++) {
		int64_t from_this = m->at[i] > now - window ? (m->cost[i] < cost ? m->cost[i] : cost) : 0;
		m->cost[i] -= from_this;
		cost -= from_this;
	}
	return wanted - cost;
}

static void sliding_window_follows_its_model(void **state)
{
	static struct log_model m;
	const int64_t limit = 60, window = 40;

	(void)state;
	m.count = 0;
	seed = 9;
	for (int i = 0; i < 5000; i++) {
		int64_t cost = 1 + next_random(4);
		bool gives_back = next_random(3) == 0;
		int64_t refunded = gives_back ? refund(SLIDING_WINDOW, cost, 0) : 0;
		bool allowed = !gives_back && take(SLIDING_WINDOW, limit, window, cost);
		int64_t now = item_int(&r, NOW);
		if (gives_back)
			assert_int_equal(refunded, give_back(&m, now, window, cost));
		if (allowed) {
			assert_true(m.count < LOG_MAX);
			m.at[m.count] = now;
			m.cost[m.count++] = cost;
		}
		int64_t left = limit - used_at(&m, now, window);
		if (gives_back && item_int(&r, ALGORITHM) == 0)
			assert_int_equal(left, limit);
		else
			assert_int_equal(item_int(&r, gives_back ? REMAINING : TAKE_REMAINING), left);
		if (!gives_back && !allowed) { /* and the wait that is told is still the true one */
			int64_t retry_at = item_int(&r, TAKE_RETRY_AT);
			assert_true(used_at(&m, retry_at, window) + cost <= limit);
			assert_true(used_at(&m, retry_at - 1, window) + cost > limit);
		}
	}
}

static void fixed_window_follows_its_model(void **state)
{
	const int64_t limit = 30, window = 50;
	int64_t used = 0, started = 0;

	(void)state;
	seed = 21;
	for (int i = 0; i < 3000; i++) {
		int64_t cost = 1 + next_random(4);
		bool gives_back = next_random(3) == 0;
		int64_t refunded = gives_back ? refund(FIXED_WINDOW, cost, 0) : 0;
		bool allowed = !gives_back && take(FIXED_WINDOW, limit, window, cost);
		int64_t now = item_int(&r, NOW);
		if (now >= started + window)
			used = 0;
		if (gives_back)
			assert_int_equal(refunded, cost < used ? cost : used);
		used -= refunded;
		if (allowed && used == 0)
			started = now;
		used += allowed ? cost : 0;
		if (gives_back && item_int(&r, ALGORITHM) == 0)
			assert_int_equal(used, 0);
		else
			assert_int_equal(item_int(&r, gives_back ? REMAINING : TAKE_REMAINING), limit - used);
	}
}

/* ---- Edges ---- */

static void never_above_full(void **state)
{
	(void)state;
	for (int a = FUNNEL; a <= FIXED_WINDOW; a++) {
		assert_int_equal(refund(a, 5, 0), 0); /* there is nothing */
		assert_int_equal(item_int(&r, ALGORITHM), 0);
		assert_int_equal(server_command(&r, "EXISTS %s", keys[a])->integer, 0);
		assert_true(take(a, 10, 3600000, 4));
		assert_int_equal(refund(a, 1000000000, 0), 4);
		assert_int_equal(item_int(&r, ALGORITHM), a);
		assert_int_equal(item_int(&r, REMAINING), 10);
		assert_int_equal(item_int(&r, RESET_AT), item_int(&r, NOW));
		assert_true(take(a, 10, 3600000, 10));
		assert_false(take(a, 10, 3600000, 1));
	}
}

static void parts_come_back(void **state)
{
	(void)state;
	for (int a = FUNNEL; a <= FIXED_WINDOW; a++) {
		assert_true(take(a, 10, 3600000, 4));
		assert_true(take(a, 10, 3600000, 3));
		assert_int_equal(refund(a, 5, 0), 5);
		assert_int_equal(item_int(&r, REMAINING), 8);
		assert_int_equal(item_int(&r, LIMIT), 10);
		assert_int_equal(item_int(&r, WINDOW), 3600000);
		assert_true(take(a, 10, 3600000, 8));
		assert_false(take(a, 10, 3600000, 1));
		assert_true(redis_pttl_ms(&r, keys[a]) > 0);
	}
}

/* Taken in a window that has ended: the one of now has nothing to give back. */
static void not_into_another_window(void **state)
{
	(void)state;
	assert_true(take(FIXED_WINDOW, 10, 40, 4));
	int64_t begun = item_int(&r, NOW);
	wait_until(redis_now_ms(&r) >= begun + 45, 2000);
	assert_true(take(FIXED_WINDOW, 10, 40000, 6));
	int64_t age = item_int(&r, NOW) - begun;
	assert_int_equal(refund(FIXED_WINDOW, 4, age), 0);
	assert_int_equal(item_int(&r, REMAINING), 4);
	assert_int_equal(refund(FIXED_WINDOW, 4, 0), 4);
	assert_true(take(SLIDING_WINDOW, 10, 40000, 6));
	assert_int_equal(refund(SLIDING_WINDOW, 4, 40000), 0);
	assert_int_equal(refund(SLIDING_WINDOW, 4, 39999), 4);
}

/* What 1000 calls took goes at once: more would hold up everybody else. */
static void long_log_in_pieces(void **state)
{
	(void)state;
	for (int i = 0; i < 2500; i++)
		assert_true(take(SLIDING_WINDOW, 3000, 3600000, 1));
	assert_int_equal(refund(SLIDING_WINDOW, 2300, 0), 1000);
	assert_int_equal(item_int(&r, REMAINING), 1500);
	assert_int_equal(refund(SLIDING_WINDOW, 1300, 0), 1000);
	assert_int_equal(refund(SLIDING_WINDOW, 300, 0), 300);
	assert_int_equal(item_int(&r, REMAINING), 2800);
	assert_in_range(server_command(&r, "ZCARD %s", keys[SLIDING_WINDOW])->integer, 201, 205);
	assert_int_equal(refund(SLIDING_WINDOW, 300, 0), 200);
	assert_int_equal(server_command(&r, "EXISTS %s", keys[SLIDING_WINDOW])->integer, 0);
}

static void foreign_types_are_left_alone(void **state)
{
	(void)state;
	for (int a = FUNNEL; a <= FIXED_WINDOW; a++) {
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
		assert_int_equal(item_int(&r, REFUNDED), 2);
		assert_int_equal(item_int(&r, REMAINING), 6);
	}
	assert_false(take(FIXED_WINDOW, 10, 3600000, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(funnel_follows_its_model, script_stage_empty),
		cmocka_unit_test_teardown(sliding_window_follows_its_model, script_stage_empty),
		cmocka_unit_test_teardown(fixed_window_follows_its_model, script_stage_empty),
		cmocka_unit_test_teardown(never_above_full, script_stage_empty),
		cmocka_unit_test_teardown(parts_come_back, script_stage_empty),
		cmocka_unit_test_teardown(not_into_another_window, script_stage_empty),
		cmocka_unit_test_teardown(long_log_in_pieces, script_stage_empty),
		cmocka_unit_test_teardown(foreign_types_are_left_alone, script_stage_empty),
		cmocka_unit_test_teardown(replay_gives_nothing_twice, script_stage_empty),
	};

	return cmocka_run_group_tests_name("ratelimit scripts, refunds", tests, script_stage_open, script_stage_close);
}
