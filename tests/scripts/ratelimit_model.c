#include "ratelimit_model.h"

#include "test.h"

__extension__ typedef __int128 wide;

static const int64_t largest_level = INT64_C(1) << 52;

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static wide smaller(wide a, wide b)
{
	return a < b ? a : b;
}

static int64_t ceiling(wide a, wide b)
{
	return (int64_t)((a + b - 1) / b);
}

/* Bounds the times by the end of the state: a state that is not written keeps its expiry. */
static void cut(struct limit_answer *a, int64_t ends_at)
{
	a->retry_at = (int64_t)smaller(a->retry_at, ends_at);
	a->reset_at = (int64_t)smaller(a->reset_at, ends_at);
	a->more_at = (int64_t)smaller(a->more_at, ends_at);
}

void limit_model_see(struct limit_model *m, int64_t now_ms)
{
	if (m->exists && now_ms > m->ends_at)
		m->exists = false;
}

/* ---- The leaky bucket ---- */

bool limit_units(const struct limit_rule *rule, int64_t *drain, int64_t *drop)
{
	int64_t a = rule->limit, b = rule->window_ms;

	while (b > 0) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	*drain = rule->limit / a;
	*drop = rule->window_ms / a;
	return (wide)rule->burst * *drop < largest_level;
}

static int64_t level_at(const struct limit_model *m, int64_t now, int64_t at, const struct limit_rule *rule)
{
	int64_t drain, drop, old_drain, old_drop;

	if (!m->exists || now >= m->ends_at)
		return 0;
	limit_units(rule, &drain, &drop);
	limit_units(&m->rule, &old_drain, &old_drop);
	wide level = ((wide)m->level * drop + old_drop - 1) / old_drop;
	level = smaller(level, largest_level) - (wide)(at - m->at) * drain;
	return level > 0 ? (int64_t)level : 0;
}

static struct limit_answer gcra_decide(const struct limit_model *m, int64_t now, const struct limit_rule *rule,
				       int64_t cost, struct limit_model *next)
{
	int64_t at = m->exists ? larger(now, m->at) : now, drain, drop;

	limit_units(rule, &drain, &drop);
	int64_t level = level_at(m, now, at, rule);
	wide room = (wide)rule->burst * drop, after = level + (wide)cost * drop;
	struct limit_answer a = { .allowed = after <= room, .capacity = rule->burst, .retry_at = -1 };
	if (a.allowed)
		level = (int64_t)after;
	else
		a.retry_at = at + ceiling(after - room, drain);
	a.remaining = level > room ? 0 : (int64_t)((room - level) / drop);
	a.reset_at = at + ceiling(level, drain);
	a.more_at = level ? at + ceiling(level - room + (wide)(a.remaining + 1) * drop, drain) : 0;
	next->at = at;
	next->level = level;
	next->ends_at = a.reset_at;
	if (m->exists && (!a.allowed || cost == 0) && now < m->ends_at)
		cut(&a, m->ends_at);
	return a;
}

static int64_t gcra_compensate(struct limit_model *m, int64_t now, int64_t cost, int64_t age, int64_t lasts)
{
	int64_t drain, drop, at = larger(now, m->at);

	limit_units(&m->rule, &drain, &drop);
	int64_t level = level_at(m, now, at, &m->rule);
	wide weight = smaller((wide)cost * drop, largest_level);
	wide left = weight - (wide)age * drain;
	if (left < (wide)lasts * drain)
		left = (wide)lasts * drain;
	wide back = smaller(smaller(left > 0 ? left : 0, weight), level);
	if (back == 0)
		return 0;
	m->level = level - (int64_t)back;
	m->at = at;
	m->ends_at = at + ceiling(m->level, drain);
	m->exists = m->level > 0;
	return ceiling(back, drop);
}

/* ---- The fixed window ---- */

static struct limit_answer fixed_decide(const struct limit_model *m, int64_t now, const struct limit_rule *rule,
					int64_t cost, struct limit_model *next)
{
	bool counts = m->exists && now < m->ends_at && now < m->at + rule->window_ms;
	int64_t used = counts ? m->level : 0, started = counts ? m->at : now, ends_at = started + rule->window_ms;
	struct limit_answer a = { .allowed = used + cost <= rule->limit, .capacity = rule->limit, .retry_at = -1 };

	if (a.allowed)
		used += cost;
	else
		a.retry_at = ends_at;
	a.remaining = larger(0, rule->limit - used);
	a.reset_at = used ? ends_at : now;
	a.more_at = used ? ends_at : 0;
	next->at = started;
	next->level = used;
	next->ends_at = ends_at;
	if (counts && (!a.allowed || cost == 0))
		cut(&a, m->ends_at);
	return a;
}

static int64_t fixed_compensate(struct limit_model *m, int64_t now, int64_t cost, int64_t taken_at)
{
	if (now >= m->ends_at || m->at > taken_at)
		return 0;
	int64_t back = (int64_t)smaller(cost, m->level);
	m->level -= back;
	m->exists = m->level > 0;
	return back;
}

/* ---- The sliding window ---- */

/* Returns how many entries have left the window. `used` receives the cost of the others. */
static size_t left_by(const struct limit_model *m, int64_t now, int64_t window_ms, int64_t *used)
{
	int64_t cutoff = larger(now - window_ms, now < m->ends_at ? m->at - m->rule.window_ms : m->at);
	size_t left = 0;

	*used = 0;
	if (!m->exists)
		return 0;
	while (left < m->count && m->log[left].at <= cutoff)
		left++;
	for (size_t i = left; i < m->count; i++)
		*used += m->log[i].cost;
	return left;
}

/* The instant at which entries with a total cost of `much` have left the window. */
static int64_t gone_at(const struct limit_model *m, size_t left, int64_t now, int64_t window_ms, int64_t much)
{
	for (size_t i = left; i < m->count && m->exists; i++)
		if ((much -= m->log[i].cost) <= 0)
			return m->log[i].at + window_ms;
	return now + window_ms;
}

static void drop_first(struct limit_model *m, size_t count)
{
	m->count -= count;
	memmove(m->log, m->log + count, m->count * sizeof(m->log[0]));
}

/*
 * Merges the oldest entry into the next one while no call would pass when that entry alone leaves:
 * at most ten entries per call.
 */
static void merge(struct limit_model *m)
{
	for (int i = 0; i < 10; i++) {
		int64_t behind = 0;
		for (size_t k = 2; k < m->count; k++)
			behind += m->log[k].cost;
		if (behind < m->rule.limit)
			return;
		m->log[1].cost += m->log[0].cost;
		drop_first(m, 1);
	}
}

static void log_write(struct limit_model *m, size_t left, int64_t now, int64_t cost, bool is_refused)
{
	for (size_t i = 0; i < left; i++)
		m->log[i].cost = 0;
	assert_true(m->count < LIMIT_LOG_MAX);
	m->log[m->count].at = now;
	m->log[m->count++].cost = cost;
	if (left > 1)
		drop_first(m, left - 1);
	if (is_refused)
		merge(m);
	m->at = now;
	m->ends_at = now + m->rule.window_ms;
}

static struct limit_answer sliding_decide(const struct limit_model *m, int64_t now, const struct limit_rule *rule,
					  int64_t cost, struct limit_model *next)
{
	int64_t latest = m->exists ? m->at : 0, used, window = rule->window_ms;

	now = larger(now, latest);
	size_t left = left_by(m, now, window, &used);
	struct limit_answer a = { .allowed = used + cost <= rule->limit, .capacity = rule->limit, .retry_at = -1 };
	bool counts = cost > 0 && (a.allowed || rule->count_refused);
	if (counts) {
		used += cost;
		latest = now;
	}
	if (!a.allowed)
		a.retry_at = gone_at(m, left, now, window, used + cost - rule->limit);
	a.remaining = larger(0, rule->limit - used);
	a.reset_at = used ? latest + window : now;
	a.more_at = used ? gone_at(m, left, now, window, larger(0, used - rule->limit) + 1) : 0;
	if (used && !counts)
		cut(&a, m->ends_at);
	if (counts) {
		next->count = m->exists ? m->count : 0;
		log_write(next, left, now, cost, !a.allowed);
	}
	return a;
}

static int64_t sliding_compensate(struct limit_model *m, int64_t now, int64_t cost, int64_t age)
{
	int64_t used;
	size_t left = left_by(m, larger(now, m->at), m->rule.window_ms, &used);

	if (age >= m->rule.window_ms || used == 0)
		return 0;
	int64_t back = (int64_t)smaller(cost, used), rest = back;
	drop_first(m, left);
	while (m->count && rest >= m->log[0].cost) {
		rest -= m->log[0].cost;
		drop_first(m, 1);
	}
	m->exists = m->count > 0;
	if (m->exists)
		m->log[0].cost -= rest;
	return back;
}

/* ---- All ---- */

struct limit_answer limit_model_decide(const struct limit_model *m, int64_t now_ms, const struct limit_rule *rule,
				       int64_t cost, struct limit_model *next)
{
	*next = *m;
	next->exists = true;
	next->rule = *rule;
	if (m->algorithm == GCRA)
		return gcra_decide(m, now_ms, rule, cost, next);
	if (m->algorithm == SLIDING_WINDOW)
		return sliding_decide(m, now_ms, rule, cost, next);
	return fixed_decide(m, now_ms, rule, cost, next);
}

bool limit_model_counts(const struct limit_model *m, const struct limit_rule *rule, int64_t cost, bool is_granted)
{
	return cost > 0 && (is_granted || (m->algorithm == SLIDING_WINDOW && rule->count_refused));
}

int64_t limit_model_refund(struct limit_model *m, int64_t now_ms, int64_t cost, int64_t age_ms)
{
	if (!m->exists)
		return 0;
	if (m->algorithm == GCRA)
		return gcra_compensate(m, now_ms, cost, age_ms, 0);
	if (m->algorithm == SLIDING_WINDOW)
		return sliding_compensate(m, now_ms, cost, age_ms);
	int64_t at = now_ms < m->ends_at ? larger(now_ms, m->at) : now_ms;
	return fixed_compensate(m, now_ms, cost, at - age_ms);
}

int64_t limit_model_compensate(struct limit_model *m, int64_t now_ms, const struct limit_rule *rule, int64_t cost,
			       int64_t taken_at, int64_t whole_at)
{
	bool same = rule->limit == m->rule.limit && rule->window_ms == m->rule.window_ms;
	int64_t at = larger(now_ms, m->at), lasts = same ? whole_at - 1 - at : 0;

	if (!m->exists)
		return 0;
	if (m->algorithm == GCRA)
		return gcra_compensate(m, now_ms, cost, larger(0, at - taken_at), lasts);
	taken_at = whole_at - rule->window_ms;
	if (m->algorithm == SLIDING_WINDOW)
		return sliding_compensate(m, now_ms, cost, at - taken_at);
	return fixed_compensate(m, now_ms, cost, taken_at);
}
