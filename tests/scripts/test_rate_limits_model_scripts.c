/*
 * All algorithms against one model in whole numbers of 128 bits. The clock leaps both ways by
 * milliseconds, minutes and a year while parameters change; and all pairs of extreme parameters are
 * tried. Each answer must equal the model's, to the millisecond.
 */
#include "random_walk.h"
#include "ratelimit_model.h"
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

static const int64_t begin_ms = INT64_C(1700000000000), year_ms = INT64_C(31622400000);

static const char *const keys[] = { "p:limit:{a}:x:gcra", "p:limit:{a}:x:sliding_window", "p:limit:{a}:x:fixed_window",
				    NULL };

static int64_t now_ms;
static struct limit_model models[ALGORITHMS_END]; /* by the algorithm's number */

#define ELEMENT_OF(list) ((list)[random_below((int64_t)(COUNT(list)))])

static const char *digits_of(int64_t value)
{
	static char texts[64][24];
	static unsigned next;
	char *text = texts[next++ % 64];

	snprintf(text, sizeof(texts[0]), "%lld", (long long)value);
	return text;
}

/* ---- The clock ---- */

/* Redis reads each key, so that both Redis and the model lose what has ended. */
static void clock_set(int64_t ms)
{
	now_ms = ms;
	*script_clock_us = ms * 1000 + 999;
	server_command(&r, "EXISTS %s %s %s", keys[0], keys[1], keys[2]);
	for (int a = GCRA; a < ALGORITHMS_END; a++)
		limit_model_see(&models[a], now_ms);
}

static void clock_leap(void)
{
	const int64_t leaps[] = { 0,
				  0,
				  0,
				  1,
				  1,
				  2,
				  7,
				  -1,
				  -3,
				  90,
				  1000,
				  -1000,
				  random_below(100),
				  random_below(5000),
				  60000,
				  -60000,
				  600000,
				  -600000,
				  3600000,
				  year_ms,
				  -year_ms };
	int64_t to = now_ms + ELEMENT_OF(leaps);

	if (to != now_ms)
		clock_set(llabs(to - begin_ms) > 3 * year_ms ? begin_ms : to);
}

static void begin_again(uint64_t seed)
{
	random_begin(seed);
	for (int a = GCRA; a < ALGORITHMS_END; a++)
		models[a] = (struct limit_model){ .algorithm = a };
	clock_set(begin_ms);
}

/* ---- One answer ---- */

static long step; /* the position in the walk, to reproduce a failure */

static void agree(size_t at, int64_t wanted)
{
	if (item_int(&r, at) != wanted)
		fail_msg("step %ld: item %zu is %lld, and must be %lld", step, at, (long long)item_int(&r, at),
			 (long long)wanted);
}

/* Compares the decision whose first item is `at`. */
static void must_be(struct limit_answer wanted, size_t at)
{
	agree(at + LIMIT_DECISION_CAPACITY, wanted.capacity);
	agree(at + LIMIT_DECISION_REMAINING, wanted.remaining);
	agree(at + LIMIT_DECISION_RETRY_AT_MS, wanted.retry_at);
	agree(at + LIMIT_DECISION_RESET_AT_MS, wanted.reset_at);
	agree(at + LIMIT_DECISION_MORE_AT_MS, wanted.more_at);
}

static int64_t last_argument(int algorithm, const struct limit_rule *rule)
{
	return algorithm == GCRA ? rule->burst : rule->count_refused;
}

static bool take(int algorithm, const struct limit_rule *rule, int64_t cost)
{
	static const struct script *const scripts[] = { NULL, &ratelimit_gcra_script, &ratelimit_sliding_window_script,
							&ratelimit_fixed_window_script };
	static struct limit_model next;
	struct limit_model *m = &models[algorithm];

	run(&r, scripts[algorithm], KEYS(keys[algorithm - 1]),
	    ARGS(digits_of(rule->limit), digits_of(rule->window_ms), digits_of(cost),
		 digits_of(last_argument(algorithm, rule))));
	assert_int_equal(item_int(&r, REPLY_NOW_MS), now_ms);
	struct limit_answer wanted = limit_model_decide(m, now_ms, rule, cost, &next);
	bool counts = limit_model_counts(m, rule, cost, wanted.allowed);
	agree(REPLY_OUTCOME, !wanted.allowed && counts ? RATELIMIT_SLIDING_WINDOW_COUNTED_REFUSAL : wanted.allowed);
	must_be(wanted, LIMIT_TAKEN_DECISION);
	if (counts)
		*m = next;
	return wanted.allowed;
}

/* Retry-After is exact: the call passes at that instant, and not a millisecond before. */
static void come_back(int algorithm, const struct limit_rule *rule, int64_t cost)
{
	int64_t retry_at = item_int(&r, LIMIT_TAKEN_DECISION + LIMIT_DECISION_RETRY_AT_MS);

	if (retry_at > begin_ms + 10 * year_ms)
		return;
	if (retry_at - 1 >= now_ms) {
		clock_set(retry_at - 1);
		assert_false(take(algorithm, rule, cost));
	}
	clock_set(retry_at);
	assert_true(take(algorithm, rule, cost));
}

/* Compares the state of a limit in the reply of a refund or of a look. */
static void must_match(const struct limit_model *m, const struct limit_rule *rule)
{
	static struct limit_model next;

	if (!rule) {
		agree(LIMIT_STATE_ALGORITHM, 0);
		return;
	}
	struct limit_answer wanted = limit_model_decide(m, now_ms, rule, 0, &next);
	agree(LIMIT_STATE_ALGORITHM, m->algorithm);
	agree(LIMIT_STATE_LIMIT, rule->limit);
	agree(LIMIT_STATE_WINDOW_MS, rule->window_ms);
	agree(LIMIT_STATE_CAPACITY, wanted.capacity);
	agree(LIMIT_STATE_REMAINING, wanted.remaining);
	agree(LIMIT_STATE_RETRY_AT_MS, wanted.remaining > 0 ? -1 : wanted.more_at);
	agree(LIMIT_STATE_RESET_AT_MS, wanted.reset_at);
}

static void look(int algorithm)
{
	const struct limit_model *m = &models[algorithm];

	run(&r, &ratelimit_key_get_script, keys, ARGS(digits_of(algorithm)));
	must_match(m, m->exists ? &m->rule : NULL);
}

static void refund(int algorithm, int64_t cost, int64_t age)
{
	struct limit_model *m = &models[algorithm];
	const struct limit_rule rule = m->rule;
	bool was_there = m->exists;

	run(&r, &ratelimit_refund_script, KEYS(keys[algorithm - 1]),
	    ARGS(digits_of(algorithm), digits_of(cost), digits_of(age)));
	agree(REPLY_OUTCOME, limit_model_refund(m, now_ms, cost, age));
	must_match(m, was_there ? &rule : NULL);
}

/* ---- Several at once, and refunds ---- */

static struct given {
	struct limit_rule rule;
	int64_t cost, taken_at, whole_at;
} given[ALGORITHMS_END];

static bool granted_by(const struct limit_rule rules[], const int64_t costs[], const bool shadows[])
{
	static struct limit_model next;
	bool granted = true;

	for (int a = GCRA; a < ALGORITHMS_END; a++)
		granted &= shadows[a] || limit_model_decide(&models[a], now_ms, &rules[a], costs[a], &next).allowed;
	return granted;
}

static void take_all(const struct limit_rule rules[], const int64_t costs[])
{
	enum { FIELDS = 6 };
	static struct limit_model next;
	const bool shadows[] = { false, random_below(5) == 0, random_below(5) == 0, random_below(5) == 0 };
	const char *args[FIELDS * 3 + 1] = { NULL };

	for (int a = GCRA, n = 0; a < ALGORITHMS_END; a++) {
		const int64_t values[FIELDS] = {
			a, rules[a].limit, rules[a].window_ms, costs[a], last_argument(a, &rules[a]), shadows[a]
		};
		for (size_t i = 0; i < FIELDS; i++)
			args[n++] = digits_of(values[i]);
	}
	run(&r, &ratelimit_take_all_script, keys, args);
	bool granted = granted_by(rules, costs, shadows);
	bool counted =
		limit_model_counts(&models[SLIDING_WINDOW], &rules[SLIDING_WINDOW], costs[SLIDING_WINDOW], false);
	agree(REPLY_OUTCOME, !granted && counted ? RATELIMIT_TAKE_ALL_COUNTED_REFUSAL : granted);
	for (int a = GCRA; a < ALGORITHMS_END; a++) {
		size_t at = RATELIMIT_TAKE_ALL_CHECKS + LIMIT_CHECK_ITEMS * (size_t)(a - GCRA);
		struct limit_answer wanted = limit_model_decide(&models[a], now_ms, &rules[a], costs[a], &next);
		bool fits = wanted.allowed;
		bool counts = limit_model_counts(&models[a], &rules[a], costs[a], granted && fits);
		given[a] = (struct given){ rules[a], counts && !rules[a].count_refused ? costs[a] : 0, now_ms,
					   wanted.reset_at };
		if (counts)
			models[a] = next;
		else if (fits)
			wanted = limit_model_decide(&models[a], now_ms, &rules[a], 0, &next);
		agree(at + LIMIT_CHECK_FITS, fits);
		must_be(wanted, at + LIMIT_CHECK_DECISION);
	}
}

static void compensate(int algorithm)
{
	struct given *g = &given[algorithm];
	static struct limit_model next;

	if (g->cost == 0)
		return;
	run(&r, &ratelimit_compensate_script, KEYS(keys[algorithm - 1]),
	    ARGS(digits_of(g->taken_at), digits_of(algorithm), digits_of(g->rule.limit), digits_of(g->rule.window_ms),
		 digits_of(g->cost), digits_of(last_argument(algorithm, &g->rule)),
		 digits_of(g->whole_at - g->taken_at)));
	limit_model_compensate(&models[algorithm], now_ms, &g->rule, g->cost, g->taken_at, g->whole_at);
	must_be(limit_model_decide(&models[algorithm], now_ms, &g->rule, 0, &next), RATELIMIT_COMPENSATE_DECISIONS);
	g->cost = 0;
}

/* ---- Random calls ---- */

static struct limit_rule any_rule(int algorithm)
{
	static const struct limit_rule buckets[] = {
		{ 10, 1000, 7, false },
		{ 10000, 1000, 20, false }, /* redis-cell#11 and #50: wrong at thousands per second */
		{ 1, 1000, 3, false },
		{ 3, 7, 5, false },
		{ 7, 13, 1000, false },
		{ 1000, 3600000, 1000, false },
		{ 6, 3600000, 10, false },
		{ 1, 1, 1000000000, false },
		{ 1000000000, 1, 1000000000, false },
		{ 999999937, 31622400000, 142000, false },
		{ 1, 31622400000, 142000, false },
		{ 1000000, 31536000000, 1000000, false },
	};
	static const struct limit_rule windows[] = {
		{ 1, 1, 1, false },
		{ 5, 7, 5, false },
		{ 30, 90, 30, true },
		{ 60, 1000, 60, false },
		{ 4, 60000, 4, true },
		{ 60, 60000, 60, true },
		{ 10, 600000, 10, false },
		{ 50, 3600000, 50, false },
		{ 20, 31622400000, 20, false },
		{ 1000000000, 1000, 1000000000, true },
		{ 1000000000, 31622400000, 1000000000, false },
	};

	return algorithm == GCRA ? ELEMENT_OF(buckets) : ELEMENT_OF(windows);
}

/* Many entries in a log would make the model slow, so large limits are taken in large parts. */
static int64_t any_cost(const struct limit_rule *rule)
{
	const int64_t most = rule->burst, least = most / 50 + 1;
	const int64_t costs[] = { 0,   least, least, least, least + random_below(most / 4 + 1), random_below(most) + 1,
				  most };
	int64_t cost = ELEMENT_OF(costs);

	return cost > most ? most : cost;
}

static void do_anything(struct limit_rule rules[])
{
	int algorithm = GCRA + (int)random_below(3);
	const struct limit_rule *rule = &rules[algorithm];
	const int64_t costs[] = { 0, any_cost(&rules[GCRA]), any_cost(&rules[SLIDING_WINDOW]),
				  any_cost(&rules[FIXED_WINDOW]) };
	const int64_t ages[] = { 0, 0, 1, 350, 1100, random_below(rule->window_ms), year_ms };

	switch (random_below(10)) {
	case 0:
		refund(algorithm, random_below(8) ? any_cost(rule) + 1 : 1000000000, ELEMENT_OF(ages));
		break;
	case 1:
		look(algorithm);
		break;
	case 2:
		take_all(rules, costs);
		break;
	case 3:
		compensate(algorithm);
		break;
	default:
		if (!take(algorithm, rule, costs[algorithm]) && costs[algorithm] && !rule->count_refused &&
		    random_below(4) == 0)
			come_back(algorithm, rule, costs[algorithm]);
	}
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .after = script_stage_empty);

TEST(clock_leaps_and_parameters_change)
{
	enum { STEPS = 25000 };
	struct limit_rule rules[ALGORITHMS_END];

	begin_again(1);
	for (int a = GCRA; a < ALGORITHMS_END; a++)
		rules[a] = any_rule(a);
	for (step = 0; step < STEPS; step++) {
		int changed = (int)random_below(20);
		if (changed >= GCRA && changed < ALGORITHMS_END)
			rules[changed] = any_rule(changed);
		clock_leap();
		do_anything(rules);
	}
}

/* ---- Extremes ---- */

static const int64_t limits[] = { 1, 2, 999999937, 1000000000 };
static const int64_t windows_ms[] = { 1, 999999937, 31622399999, 31622400000 };

static size_t extremes(int algorithm, struct limit_rule out[])
{
	size_t n = 0;
	int64_t drain, drop;

	for (size_t l = 0; l < 4; l++) {
		for (size_t w = 0; w < 4; w++) {
			struct limit_rule rule = { limits[l], windows_ms[w], limits[l], false };
			limit_units(&rule, &drain, &drop);
			int64_t most = ((INT64_C(1) << 52) - 1) / drop;
			const int64_t bursts[] = { 1, most < 1000000000 ? most : 1000000000 };
			for (size_t b = 0; b < (algorithm == GCRA ? 2 : 1); b++) {
				if (algorithm == GCRA)
					rule.burst = bursts[b];
				assert_true(algorithm != GCRA || limit_units(&rule, &drain, &drop));
				out[n++] = rule;
			}
		}
	}
	return n;
}

/* Fills a limit by one rule. Then the other rule looks, refunds and takes. */
static void pair(int algorithm, const struct limit_rule *one, const struct limit_rule *other)
{
	const int64_t leaps[] = { 0, 0, 1, -1, year_ms, -year_ms, 999999937 };

	server_command(&r, "DEL %s", keys[algorithm - 1]);
	models[algorithm].exists = false;
	clock_set(begin_ms);
	take(algorithm, one, one->burst);
	clock_set(begin_ms + ELEMENT_OF(leaps));
	take(algorithm, other, 0);
	int64_t cost = random_below(2) ? 1 : other->burst;
	if (!take(algorithm, other, cost) && random_below(4) == 0)
		come_back(algorithm, other, cost);
	look(algorithm);
	refund(algorithm, random_below(2) ? 1 : 1000000000, ELEMENT_OF(leaps) < 0 ? 0 : year_ms - 1);
	take(algorithm, other, 1);
	refund(algorithm, random_below(2) ? 1 : 1000000000, 0);
	take(algorithm, one, 1);
}

TEST(every_pair_of_extremes)
{
	struct limit_rule rules[32];

	begin_again(2);
	for (int a = GCRA; a < ALGORITHMS_END; a++) {
		size_t count = extremes(a, rules);
		for (size_t i = 0; i < count; i++)
			for (size_t k = 0; k < count; k++)
				pair(a, &rules[i], &rules[k]);
	}
}

/* The totals of a log that has counted 2^52 begin again. That admits no additional call. */
TEST(totals_never_leave_exact_numbers)
{
	static const struct limit_rule rule = { 10, 60000, 10, false };

	begin_again(3);
	server_command(&r, "ZADD %s %lld 4503599627370488 %lld 4503599627370494", keys[1], (long long)begin_ms - 60000,
		       (long long)begin_ms - 1000);
	server_command(&r, "ZADD %s +inf %s", keys[1], "10 60000 0");
	struct limit_model *m = &models[SLIDING_WINDOW];
	for (int i = 0; i < 3; i++) {
		run(&r, &ratelimit_sliding_window_script, KEYS(keys[1]), ARGS("10", "60000", "1", "0"));
		assert_int_equal(outcome(&r), 1);
		assert_int_equal(item_int(&r, LIMIT_TAKEN_DECISION + LIMIT_DECISION_REMAINING), 3 - i);
	}
	*m = (struct limit_model){ .algorithm = SLIDING_WINDOW,
				   .exists = true,
				   .rule = rule,
				   .ends_at = begin_ms + 60000,
				   .at = begin_ms,
				   .count = 1,
				   .log = { { begin_ms, 9 } } };
	for (int i = 0; i < 9; i++)
		take(SLIDING_WINDOW, &rule, 1 + i % 3);
	clock_set(begin_ms + 59999);
	take(SLIDING_WINDOW, &rule, 2);
	clock_set(begin_ms + 60000);
	take(SLIDING_WINDOW, &rule, 9);
}
