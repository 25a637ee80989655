/*
 * ratelimit_decide: a take whose policies are known, to Redis and back: one script, whether it is one limit or several.
 */
#include "kinds.h"
#include "rate_limits/rate_limits.h"

enum { HEAD_FIELDS = 2, CHECK_FIELDS = 6 }; /* of ratelimit_take_all's reply */

const char *state_part(struct request *req, struct text owner, int algorithm)
{
	static const char *const usual[] = { "default:funnel", "default:sliding_window", "default:fixed_window" };

	if (text_is(owner, "default"))
		return usual[algorithm - 1];
	struct text parts[] = { owner, TEXT(":"), text_of(algorithm_names[algorithm - 1]) };
	return arena_join(&req->arena, parts, 3).at;
}

/* ---- What can be said without Redis ---- */

static const char *pointer(struct request *req, const char *at, const char *member)
{
	struct text whole = arena_join(&req->arena, (struct text[]){ text_of(at), text_of(member) }, 2);

	return whole.at ? whole.at : member;
}

bool limit_is_sound(struct request *req, const struct limit *l, const char *at)
{
	int64_t most = limit_largest_burst(l);

	if (l->has_burst && l->algorithm != FUNNEL)
		answer_field_problem(req, P_INVALID_VALUE, pointer(req, at, "/burst"),
				     "belongs to the algorithm funnel");
	else if (l->count_refused && l->algorithm != SLIDING_WINDOW)
		answer_field_problem(req, P_INVALID_VALUE, pointer(req, at, "/count_refused"),
				     "belongs to the algorithm sliding_window");
	else if (l->burst > most)
		answer_field_problem(
			req, P_OUT_OF_RANGE, pointer(req, at, l->has_burst ? "/burst" : "/limit"),
			"makes a burst of %lld; with this limit and window_ms it must be at most %lld, to be exact; "
			"give a smaller burst, or rounder numbers as limit and window_ms",
			(long long)l->burst, (long long)most);
	else
		return true;
	return false;
}

static bool check_is_sound(struct request *req, const struct take *t, const struct check *c)
{
	const struct limit *l = &c->policy.limit;
	char at[32] = "";

	if (t->several)
		snprintf(at, sizeof(at), "/checks/%zu", (size_t)(c - t->checks));
	if (!c->policy_name.at && !limit_is_sound(req, l, at))
		return false;
	if (c->cost <= l->burst)
		return true;
	answer_field_problem(req, P_NEVER_SATISFIABLE, pointer(req, at, "/cost"), "of %lld never fits: the %s is %lld",
			     (long long)c->cost, l->has_burst ? "burst" : "limit", (long long)l->burst);
	return false;
}

/* ---- What Redis says ---- */

struct decision decision_of(const struct request *req, const struct reply *r, bool fits, size_t at)
{
	return (struct decision){
		.fits = fits,
		.capacity = reply_int(r, at),
		.remaining = reply_int(r, at + 1),
		.retry_after_ms = reply_int(r, at + 2) < 0 ? -1 : request_ms_until(req, reply_int(r, at + 2)),
		.reset_after_ms = request_ms_until(req, reply_int(r, at + 3)),
		.more_after_ms = request_ms_until(req, reply_int(r, at + 4)),
	};
}

static void on_one_decided(struct request *req, const struct reply *r)
{
	struct take *t = req->work;
	struct check *c = &t->checks[0];

	c->decision = decision_of(req, r, reply_int(r, 0) > 0, HEAD_FIELDS);
	t->granted = c->decision.fits || c->policy.shadow;
	ratelimit_answer(req);
}

static const size_t checks_in_order[CHECKS_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

void ratelimit_read(struct request *req, const struct slot_group *some, const struct reply *r)
{
	struct take *t = req->work;

	for (size_t i = 0; i < some->count; i++) {
		size_t at = HEAD_FIELDS + i * CHECK_FIELDS;
		t->checks[some->which[i]].decision = decision_of(req, r, reply_int(r, at) > 0, at + 1);
	}
}

static void on_all_decided(struct request *req, const struct reply *r)
{
	struct take *t = req->work;

	ratelimit_read(req, &(struct slot_group){ checks_in_order, t->count }, r);
	t->granted = reply_int(r, 0) > 0;
	ratelimit_answer(req);
}

static void decide_one(struct request *req, const struct check *c)
{
	static const struct script *const scripts[] = { &ratelimit_funnel_script, &ratelimit_sliding_window_script,
							&ratelimit_fixed_window_script };
	const struct limit *l = &c->policy.limit;
	struct call *call = script_call(req, scripts[l->algorithm - 1]);

	call_key(call, KEY_LIMIT, c->key, state_part(req, c->owner, l->algorithm));
	call_int(call, l->limit);
	call_int(call, l->window_ms);
	call_int(call, c->cost);
	if (l->algorithm == FUNNEL)
		call_int(call, l->burst);
	else if (l->algorithm == SLIDING_WINDOW)
		call_int(call, l->count_refused);
	if (c->cost == 0)
		call_without_record(call); /* a look */
	call_send(call, on_one_decided);
}

struct call *ratelimit_call(struct request *req, const struct slot_group *some, bool is_refused)
{
	const struct take *t = req->work;
	struct call *call = script_call(req, &ratelimit_take_all_script);
	int64_t cost = 0;

	for (size_t i = 0; i < some->count; i++) {
		const struct check *c = &t->checks[some->which[i]];
		call_key(call, KEY_LIMIT, c->key, state_part(req, c->owner, c->policy.limit.algorithm));
		cost += c->cost;
	}
	for (size_t i = 0; i < some->count; i++) {
		const struct check *c = &t->checks[some->which[i]];
		const struct limit *l = &c->policy.limit;
		call_int(call, l->algorithm);
		call_int(call, l->limit);
		call_int(call, l->window_ms);
		call_int(call, c->cost);
		call_int(call, l->algorithm == FUNNEL ? l->burst : l->count_refused);
		call_int(call, c->policy.shadow);
	}
	call_int(call, is_refused);
	if (cost == 0)
		call_without_record(call);
	return call;
}

/* ---- What is said when Redis says nothing ---- */

bool ratelimit_degrade(struct request *req)
{
	struct take *t = req->work;

	for (size_t i = 0; t && i < t->count; i++) {
		struct check *c = &t->checks[i];
		const struct policy *last = c->policy_name.at && !c->known ? policy_known_last(c->policy_name) : NULL;
		if (last)
			c->policy = *last;
		if (!c->policy.open && !c->policy.shadow)
			return false;
		int64_t burst = c->policy.limit.burst;
		c->decision =
			(struct decision){ .fits = true, .capacity = burst, .remaining = burst, .retry_after_ms = -1 };
	}
	if (!t)
		return false;
	t->degraded = t->granted = true;
	ratelimit_answer(req);
	return true;
}

/* The slots that the limits lie in. NULL: it was answered. */
static const struct slots *slots_for(struct request *req, const struct take *t)
{
	struct text keys[CHECKS_MAX] = { 0 };
	int64_t cost = 0;

	for (size_t i = 0; i < t->count; i++) {
		keys[i] = t->checks[i].key;
		cost += t->checks[i].cost;
	}
	const struct slots *slots = slots_of(req, keys, t->count);
	return slots && (cost == 0 || slots_bear_key(req, slots)) ? slots : NULL;
}

static bool are_sound(struct request *req, const struct take *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (!check_is_sound(req, t, &t->checks[i]))
			return false;
	return true;
}

/* The policies are known: one attempt. */
static void attempt(struct request *req)
{
	struct take *t = req->work;
	const struct slots *slots = t->several ? slots_for(req, t) : NULL;

	if (!t->several)
		decide_one(req, &t->checks[0]);
	else if (slots && slots->count == 1)
		call_send(ratelimit_call(req, &slots->groups[0], false), on_all_decided);
	else if (slots)
		ratelimit_decide_in_turn(req, slots);
}

void ratelimit_decide(struct request *req)
{
	struct take *t = req->work;

	if (!are_sound(req, t) || !wait_begin(req, t->wait_ms, t->count))
		return;
	for (size_t i = 0; t->wait_ms && i < t->count; i++) {
		const struct check *c = &t->checks[i];
		wait_on_time(req,
			     script_key(req, KEY_LIMIT, c->key, state_part(req, c->owner, c->policy.limit.algorithm)));
	}
	attempt(req);
}

static void decide_again(struct request *req)
{
	if (are_sound(req, req->work))
		attempt(req);
}

void ratelimit_retry(struct request *req)
{
	policies_fill(req, decide_again);
}
