/*
 * ratelimit_answer: what was decided, in all the forms that clients read.
 *
 * Owns the headers of draft-ietf-httpapi-ratelimit-headers-10 and of its older drafts.
 */
#include "rate_limits/rate_limits.h"

static int64_t seconds_up(int64_t ms)
{
	return (ms + 999) / 1000;
}

static bool passes(const struct check *c)
{
	return c->decision.fits || c->policy.shadow;
}

/* True when `a` holds its caller back more than `b`: a shadow never does, and of what refuses what does so longest. */
static bool is_tighter(const struct take *t, const struct check *a, const struct check *b)
{
	if (a->policy.shadow != b->policy.shadow)
		return b->policy.shadow;
	if (!t->granted && a->decision.retry_after_ms != b->decision.retry_after_ms)
		return a->decision.retry_after_ms > b->decision.retry_after_ms;
	if (a->decision.remaining != b->decision.remaining)
		return a->decision.remaining < b->decision.remaining;
	return a->decision.reset_after_ms > b->decision.reset_after_ms;
}

static const struct check *tightest_of(const struct take *t)
{
	const struct check *tightest = &t->checks[0];

	for (size_t i = 1; i < t->count; i++)
		if (is_tighter(t, &t->checks[i], tightest))
			tightest = &t->checks[i];
	return tightest;
}

/* ---- Headers ---- */

enum { PARTS = 6 }; /* of one member of a list */

/* One member of each list a check: their names are plain, so nothing needs to be escaped. */
static void write_lists(struct request *req, const struct take *t)
{
	char numbers[CHECKS_MAX * 4][TEXT_DIGITS];
	struct text policies[CHECKS_MAX * PARTS], rests[CHECKS_MAX * PARTS];
	size_t p = 0, r = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct check *c = &t->checks[i];
		int64_t more_s = seconds_up(c->decision.more_after_ms);
		struct text opening = i ? TEXT(", \"") : TEXT("\"");
		policies[p++] = rests[r++] = opening;
		policies[p++] = rests[r++] = c->name;
		policies[p++] = TEXT("\";q=");
		policies[p++] = text_of_int(c->policy.limit.limit, numbers[i * 4]);
		policies[p++] = TEXT(";w=");
		policies[p++] = text_of_int(seconds_up(c->policy.limit.window_ms), numbers[i * 4 + 1]);
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

static void write_headers(struct request *req, const struct take *t, const struct decision *d)
{
	write_lists(req, t);
	answer_header_int(req, "RateLimit-Limit", d->capacity);
	answer_header_int(req, "RateLimit-Remaining", d->remaining);
	answer_header_int(req, "RateLimit-Reset", seconds_up(d->reset_after_ms));
	if (t->granted)
		return;
	int64_t more_ms = seconds_up(d->more_after_ms) * 1000; /* never before `t`, as the draft asks */
	answer_retry_after_ms(req, d->retry_after_ms > more_ms ? d->retry_after_ms : more_ms);
}

/* ---- The body ---- */

static void write_values(struct json_out *o, const struct check *c, bool allowed)
{
	out_bool(o, "allowed", allowed);
	out_int(o, "limit", c->decision.capacity);
	out_int(o, "remaining", c->decision.remaining);
	out_int(o, "retry_after_ms", allowed ? -1 : c->decision.retry_after_ms);
	out_int(o, "reset_after_ms", c->decision.reset_after_ms);
	out_text(o, "policy", c->owner);
}

/* What the shadows would have said: nothing when there is none, or nobody could decide. */
static void write_shadow(struct json_out *o, const struct take *t)
{
	bool any = false, all_fit = true;

	for (size_t i = 0; i < t->count; i++) {
		any |= t->checks[i].policy.shadow;
		all_fit &= !t->checks[i].policy.shadow || t->checks[i].decision.fits;
	}
	if (any && !t->degraded)
		out_bool(o, "shadow_allowed", all_fit);
}

static void write_checks(struct json_out *o, const struct take *t, const struct check *tightest)
{
	out_text(o, "name", tightest->name);
	out_array(o, "checks");
	for (size_t i = 0; i < t->count; i++) {
		const struct check *c = &t->checks[i];
		out_object(o, NULL);
		out_text(o, "name", c->name);
		write_values(o, c, passes(c));
		if (c->policy.shadow && !t->degraded)
			out_bool(o, "shadow_allowed", c->decision.fits);
		out_close(o);
	}
	out_close(o);
}

/*
 * Who waits for one limit goes one by one: the first wakes when there should be room for him, and whoever is done lets the next one look
 * when that is for him. Nothing is reserved: a wait that would be too short is refused at once.
 */
static bool waits(struct request *req, const struct take *t, const struct check *tightest)
{
	int64_t retry_after_ms = tightest->decision.retry_after_ms;

	if (!t->granted && retry_after_ms >= 0 && retry_after_ms <= wait_left_ms(req)) {
		wait_next(req, (size_t)(tightest - t->checks), 0, req->now_ms + retry_after_ms);
		if (wait_park(req, ratelimit_retry))
			return true;
	}
	for (size_t i = 0; i < t->count; i++)
		wait_next(req, i, 1, -1);
	return false;
}

void ratelimit_answer(struct request *req)
{
	const struct take *t = req->work;
	const struct check *c = tightest_of(t);
	struct json_out *o;

	if (t->wait_ms && waits(req, t, c))
		return;
	write_headers(req, t, &c->decision);
	if (t->granted)
		o = answer_begin(req, 200);
	else
		o = problem_begin(req, t->refusal, "'%s' has room for %lld in %lld ms", c->key.at, (long long)c->cost,
				  (long long)c->decision.retry_after_ms);
	write_values(o, c, t->granted);
	out_bool(o, "degraded", t->degraded);
	write_shadow(o, t);
	if (t->several)
		write_checks(o, t, c);
	if (t->granted)
		answer_end(req);
	else
		problem_end(req);
}
