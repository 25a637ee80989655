/* ratelimit_decide: see rate_limits/decide.h. One script decides about one limit or several. */
#include "rate_limits/decide.h"

#include "common/key_kinds.h"
#include "process/metrics.h"
#include "rate_limits/address_keys.h"
#include "rate_limits/limit_slots.h"
#include "rate_limits/policy_cache.h"
#include "rate_limits/rate_limit_response.h"

/* ---- With Redis ---- */

static void on_one_decided(struct request *req, const struct reply *r)
{
	struct limit_request *limits = req->work;
	struct limit_check *c = &limits->checks[0];

	/* The scripts of the other algorithms use the same number. */
	bool fits = reply_outcome(r) == RATELIMIT_SLIDING_WINDOW_ALLOWED;
	c->decision = limit_decision_of(req, r, fits, LIMIT_TAKEN_DECISION);
	limits->counted_refusal = reply_outcome(r) == RATELIMIT_SLIDING_WINDOW_COUNTED_REFUSAL;
	limits->granted = c->decision.fits || c->policy.shadow;
	ratelimit_answer(req);
}

static const size_t checks_in_order[CHECKS_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

static void on_all_decided(struct request *req, const struct reply *r)
{
	struct limit_request *limits = req->work;

	limit_read(req, &(struct slots_group){ checks_in_order, limits->count }, r);
	limits->granted = reply_outcome(r) == RATELIMIT_TAKE_ALL_ADMITTED;
	if (!req->result->replayed && !limits->waits)
		wait_ticket_left(req);
	ratelimit_answer(req);
}

static void decide_one(struct request *req, const struct limit_check *c)
{
	static const struct script *const scripts[] = { &ratelimit_gcra_script, &ratelimit_sliding_window_script,
							&ratelimit_fixed_window_script };
	const struct limit *l = &c->policy.limit;
	struct call *call = call_script(req, scripts[l->algorithm - 1]);

	limit_call_key(req, call, c);
	call_int(call, l->limit);
	call_int(call, l->window_ms);
	call_int(call, c->cost);
	if (l->algorithm == GCRA)
		call_int(call, l->burst);
	else if (l->algorithm == SLIDING_WINDOW)
		call_int(call, l->count_refused);
	if (c->cost == 0)
		call_without_record(call); /* it only reads */
	call_send(call, on_one_decided);
}

/* ---- Without Redis ---- */

bool ratelimit_degrade(struct request *req, enum problem p, enum effect effect)
{
	struct limit_request *limits = req->work;

	(void)effect;
	if (problem_row(p)->status < 500)
		return false;
	for (size_t i = 0; limits && i < limits->count; i++) {
		struct limit_check *c = &limits->checks[i];
		const struct limit_policy *last =
			c->account.policy.at && !c->has_policy ? policy_cache_last(c->account.policy) : NULL;
		if (last)
			c->policy = *last;
		if (!c->policy.open && !c->policy.shadow)
			return false;
		c->decision = limit_unused(&c->policy.limit);
	}
	if (!limits)
		return false;
	if (!address_keys_apply(req, limits))
		return true;
	limits->degraded = limits->granted = true;
	metrics_count(METRIC_answers_degraded);
	ratelimit_answer(req);
	return true;
}

/* Returns the slots of the limits. NULL: the request was answered. */
static const struct slots *slots_for(struct request *req, const struct limit_request *limits)
{
	struct text keys[CHECKS_MAX] = { 0 };
	int64_t cost = 0;

	for (size_t i = 0; i < limits->count; i++) {
		keys[i] = limits->checks[i].key;
		cost += limits->checks[i].cost;
	}
	const struct slots *slots = slots_of(req, keys, limits->count);
	return slots && (cost == 0 || slots_bear_key(req, slots)) ? slots : NULL;
}

/* Makes one attempt; the policies are known. */
static void attempt(struct request *req)
{
	struct limit_request *limits = req->work;
	const struct slots *slots = limits->several ? slots_for(req, limits) : NULL;

	limits->waits = limits->counted_refusal = false;
	if (!limits->several && limits->wait_ms)
		call_send(limit_call(req, &(struct slots_group){ checks_in_order, 1 }, false), on_all_decided);
	else if (!limits->several)
		decide_one(req, &limits->checks[0]);
	else if (slots && slots->count == 1)
		call_send(limit_call(req, &slots->groups[0], false), on_all_decided);
	else if (slots)
		limit_slots_decide(req, slots);
}

static void decide_again(struct request *req)
{
	if (address_keys_apply(req, req->work) && limit_request_is_sound(req, req->work))
		attempt(req);
}

/* The policies may have changed while the request waited, so they are read again. */
static void retry(struct request *req)
{
	policy_cache_fill(req, decide_again);
}

void ratelimit_decide(struct request *req)
{
	struct limit_request *limits = req->work;

	limits->retry = retry;
	if (!address_keys_apply(req, limits) || !limit_request_is_sound(req, limits) ||
	    !wait_begin(req, limits->wait_ms, limits->count))
		return;
	for (size_t i = 0; limits->wait_ms && i < limits->count; i++) {
		const struct limit_check *c = &limits->checks[i];
		wait_on(req, call_key_name(req, KEY_LIMIT, c->key,
					   limit_state_part(req, c->account, c->policy.limit.algorithm)));
	}
	attempt(req);
}
