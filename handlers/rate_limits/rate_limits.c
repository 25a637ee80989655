/*
 * ratelimit: POST /ratelimit: one limit, or several as one decision. It makes the limit_request.
 * The other files of the folder decide and answer (rate_limits/limit.h).
 */
#include "rate_limits/decide.h"
#include "rate_limits/policy_cache.h"

/*
 * `name` is absent if the request gave none. Names let a request have a limit per second and a
 * limit per day for one key.
 */
static void set_check(struct limit_check *c, struct text name, struct text policy, struct text key, int64_t cost)
{
	c->account = policy.at ? (struct limit_account){ .policy = policy } : (struct limit_account){ .check = name };
	c->name = name.at ? name : policy.at ? policy : TEXT("default");
	c->key = key;
	c->cost = cost;
}

/*
 * Only checks of the same policy can share a state: checks with their own limits have different
 * names.
 */
static bool share_state(const struct limit_check *a, const struct limit_check *b)
{
	return a->account.policy.at && text_equal(a->account.policy, b->account.policy) && text_equal(a->key, b->key);
}

/*
 * Answers 400 and returns false if two checks have the same name in the headers, or share a state.
 */
static bool are_distinct(struct request *req, const struct limit_request *limits)
{
	char at[32];

	for (size_t i = 1; i < limits->count; i++) {
		for (size_t k = 0; k < i; k++) {
			const struct limit_check *a = &limits->checks[i], *b = &limits->checks[k];
			bool same_name = text_equal(a->name, b->name);
			if (!same_name && !share_state(a, b))
				continue;
			snprintf(at, sizeof(at), "/checks/%zu", i);
			if (same_name)
				answer_field_problem(req, P_INVALID_VALUE, at,
						     "is named '%s', as is /checks/%zu; give each its own name",
						     a->name.at, k);
			else
				answer_field_problem(
					req, P_INVALID_VALUE, at,
					"counts '%s' under '%s', as does /checks/%zu; use each policy once per key",
					a->key.at, a->account.policy.at, k);
			return false;
		}
	}
	return true;
}

void ratelimit_take(struct request *req, const struct ratelimit_take_input *in)
{
	struct limit_request *limits = limit_request_new(req, in->checks.count ? in->checks.count : 1);

	if (!limits)
		return;
	limits->several = in->checks.count > 0;
	limits->wait_ms = in->wait_ms;
	for (size_t i = 0; i < in->checks.count; i++) {
		const struct ratelimit_take_checks_item *item = &in->checks.items[i];
		set_check(&limits->checks[i], item->name, item->policy, item->key, item->cost);
		limits->checks[i].policy.limit = LIMIT_OF(item);
	}
	if (!limits->several) {
		set_check(&limits->checks[0], (struct text){ 0 }, in->policy, in->key, in->cost);
		limits->checks[0].policy.limit = LIMIT_OF(in);
	}
	req->fallback = ratelimit_degrade;
	if (are_distinct(req, limits))
		policy_cache_fill(req, ratelimit_decide);
}
