/*
 * ratelimit_answer: see rate_limits/rate_limit_response.h. It owns the headers of
 * draft-ietf-httpapi-ratelimit-headers-10 and of its older drafts.
 */
#include "rate_limits/rate_limit_response.h"

#include "rate_limits/policy_metrics.h"

static int64_t seconds_up(int64_t ms)
{
	return (ms + 999) / 1000;
}

static bool passes(const struct limit_check *c)
{
	return c->decision.fits || c->policy.shadow;
}

/*
 * Returns true if `a` restricts its caller more than `b`. A shadow restricts nothing; of two
 * refusals, the one with the longer wait restricts more.
 */
static bool is_tighter(const struct limit_request *limits, const struct limit_check *a, const struct limit_check *b)
{
	if (a->policy.shadow != b->policy.shadow)
		return b->policy.shadow;
	if (!limits->granted && a->decision.retry_after_ms != b->decision.retry_after_ms)
		return a->decision.retry_after_ms > b->decision.retry_after_ms;
	if (a->decision.remaining != b->decision.remaining)
		return a->decision.remaining < b->decision.remaining;
	return a->decision.reset_after_ms > b->decision.reset_after_ms;
}

static const struct limit_check *tightest_of(const struct limit_request *limits)
{
	const struct limit_check *tightest = &limits->checks[0];

	for (size_t i = 1; i < limits->count; i++)
		if (is_tighter(limits, &limits->checks[i], tightest))
			tightest = &limits->checks[i];
	return tightest;
}

/*
 * Returns when a refused call may try again. It is never before `t` of the header RateLimit, when
 * there is more than now. If a call would fit, but was refused because others wait before it,
 * `more_after_ms` is the only known instant.
 */
static int64_t retry_after_of(const struct limit_decision *d)
{
	int64_t ms = d->retry_after_ms > d->more_after_ms ? d->retry_after_ms : d->more_after_ms;

	return ms > 0 ? ms : 1;
}

/* ---- Headers ---- */

enum { PARTS = 6 }; /* parts of one member of a list */

/*
 * Each list has one member per check. Names of checks have no characters that need to be escaped.
 */
static void write_lists(struct request *req, const struct limit_request *limits)
{
	char numbers[CHECKS_MAX * 4][TEXT_DIGITS];
	struct text policies[CHECKS_MAX * PARTS], rests[CHECKS_MAX * PARTS];
	size_t p = 0, r = 0;

	for (size_t i = 0; i < limits->count; i++) {
		const struct limit_check *c = &limits->checks[i];
		int64_t more_s = seconds_up(c->decision.more_after_ms);
		struct text opening = i ? TEXT(", \"") : TEXT("\"");
		policies[p++] = rests[r++] = opening;
		policies[p++] = rests[r++] = c->name;
		policies[p++] = TEXT("\";q=");
		policies[p++] = text_of_int(c->decision.limit, numbers[i * 4]);
		policies[p++] = TEXT(";w=");
		policies[p++] = text_of_int(seconds_up(c->decision.window_ms), numbers[i * 4 + 1]);
		rests[r++] = TEXT("\";r=");
		rests[r++] = text_of_int(c->decision.remaining, numbers[i * 4 + 2]);
		if (more_s == 0)
			continue;
		rests[r++] = TEXT(";t=");
		rests[r++] = text_of_int(more_s, numbers[i * 4 + 3]);
	}
	answer_header_parts(req, "RateLimit-Policy", policies, p);
	answer_header_parts(req, "RateLimit", rests, r);
}

static void write_headers(struct request *req, const struct limit_request *limits, const struct limit_decision *d,
			  int64_t retry_after_ms)
{
	write_lists(req, limits);
	answer_header_int(req, "RateLimit-Limit", d->capacity);
	answer_header_int(req, "RateLimit-Remaining", d->remaining);
	answer_header_int(req, "RateLimit-Reset", seconds_up(d->reset_after_ms));
	if (!limits->granted)
		answer_retry_after_ms(req, retry_after_ms);
}

/* ---- The body ---- */

static void write_values(struct json_out *o, const struct limit_check *c, bool allowed)
{
	out_text(o, "key", c->key);
	limit_write_account(o, c->account);
	out_bool(o, "allowed", allowed);
	out_int(o, "limit", c->decision.limit);
	out_int(o, "window_ms", c->decision.window_ms);
	out_int(o, "capacity", c->decision.capacity);
	out_int(o, "remaining", c->decision.remaining);
	out_int(o, "reset_after_ms", c->decision.reset_after_ms);
}

/* Writes what the shadows would have decided; writes nothing without a shadow or without Redis. */
static void write_shadow(struct json_out *o, const struct limit_request *limits)
{
	bool any = false, all_fit = true;

	for (size_t i = 0; i < limits->count; i++) {
		any |= limits->checks[i].policy.shadow;
		all_fit &= !limits->checks[i].policy.shadow || limits->checks[i].decision.fits;
	}
	if (any && !limits->degraded)
		out_bool(o, "shadow_allowed", all_fit);
}

static void write_checks(struct json_out *o, const struct limit_request *limits, const struct limit_check *tightest)
{
	out_text(o, "name", tightest->name);
	out_array(o, "checks");
	for (size_t i = 0; i < limits->count; i++) {
		const struct limit_check *c = &limits->checks[i];
		out_object(o, NULL);
		out_text(o, "name", c->name);
		write_values(o, c, passes(c));
		out_int_or_null(o, "retry_after_ms", !passes(c), c->decision.retry_after_ms);
		if (c->policy.shadow && !limits->degraded)
			out_bool(o, "shadow_allowed", c->decision.fits);
		out_close(o);
	}
	out_close(o);
}

static enum effect effect_of_refusal(const struct request *req, const struct limit_request *limits)
{
	if (req->has_effect)
		return EFFECT_UNKNOWN;
	return limits->counted_refusal ? EFFECT_APPLIED : EFFECT_NONE;
}

void ratelimit_answer(struct request *req)
{
	const struct limit_request *limits = req->work;
	const struct limit_check *c = tightest_of(limits);
	int64_t retry_after_ms = retry_after_of(&c->decision);
	struct json_out *o;

	if (!limits->granted && limits->waits && wait_park(req, limits->retry))
		return;
	policy_metrics_decided(req, limits);
	write_headers(req, limits, &c->decision, retry_after_ms);
	if (limits->granted)
		o = answer_begin(req, 200);
	else
		o = answer_begin_problem_effect(req, limits->refusal, effect_of_refusal(req, limits),
						"rate limit for key '%s' exceeded; retry in %lld ms", c->key.at,
						(long long)retry_after_ms);
	write_values(o, c, limits->granted);
	out_bool(o, "degraded", limits->degraded);
	write_shadow(o, limits);
	if (limits->several)
		write_checks(o, limits, c);
	if (limits->granted)
		out_null(o, "retry_after_ms");
	answer_end(req);
}
