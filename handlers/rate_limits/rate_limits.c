/*
 * ratelimit: POST /ratelimit: one limit, or several as one decision.
 *
 * Makes the take of what was asked; the other files ratelimit_*.c carry it on.
 */
#include "rate_limits/rate_limits.h"

const char *const algorithm_names[ALGORITHMS] = { "funnel", "sliding_window", "fixed_window" };

/* Units of lua/rate_limits/lib_limit_funnel.lua: less than 2^52 of them, so that the script computes in whole numbers below 2^53. */
int64_t limit_largest_burst(const struct limit *l)
{
	int64_t divisor = l->limit, rest = l->window_ms;

	while (rest > 0) {
		int64_t next = divisor % rest;
		divisor = rest;
		rest = next;
	}
	return l->algorithm == FUNNEL ? ((INT64_C(1) << 52) - 1) / (l->window_ms / divisor) : INT64_MAX;
}

struct take *take_new(struct request *req, size_t count)
{
	struct take *t = arena_alloc(&req->arena, sizeof(*t) + count * sizeof(t->checks[0]));

	if (!t) {
		answer_no_memory(req, EFFECT_NONE);
		return NULL;
	}
	t->count = count;
	t->refusal = P_RATE_LIMITED;
	req->work = t;
	return t;
}

/* `name` is absent where the request gave none. */
static void ask(struct check *c, struct text name, struct text policy, struct text key, int64_t cost)
{
	c->owner = policy.at ? policy : TEXT("default");
	c->name = name.at ? name : c->owner;
	c->policy_name = policy;
	c->key = key;
	c->cost = cost;
}

static bool count_in_one_place(const struct check *a, const struct check *b)
{
	return text_equal(a->key, b->key) && text_equal(a->owner, b->owner) &&
	       (a->policy_name.at || b->policy_name.at || a->policy.limit.algorithm == b->policy.limit.algorithm);
}

/*
 * A limit that stands in a check counts where it would count alone. Where several would do so, under one key by one algorithm, each counts
 * under its name: so much a second and so much a day can be asked for together.
 */
static void part(struct take *t)
{
	bool meets[CHECKS_MAX] = { false };

	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->count; k++)
			meets[i] |= k != i && !t->checks[i].policy_name.at && !t->checks[k].policy_name.at &&
				    count_in_one_place(&t->checks[i], &t->checks[k]);
	for (size_t i = 0; i < t->count; i++)
		if (meets[i])
			t->checks[i].owner = t->checks[i].name;
}

/* Checks must be told apart in the headers, and must not count in one place. False: it was answered. */
static bool are_distinct(struct request *req, const struct take *t)
{
	char at[32];

	for (size_t i = 1; i < t->count; i++) {
		for (size_t k = 0; k < i; k++) {
			const struct check *a = &t->checks[i], *b = &t->checks[k];
			bool same_name = text_equal(a->name, b->name);
			if (!same_name && !count_in_one_place(a, b))
				continue;
			snprintf(at, sizeof(at), "/checks/%zu", i);
			if (same_name)
				answer_field_problem(req, P_INVALID_VALUE, at,
						     "is named '%s', as is /checks/%zu; give each a name of its own",
						     a->name.at, k);
			else
				answer_field_problem(req, P_INVALID_VALUE, at,
						     "counts '%s' under '%s', as does /checks/%zu", a->key.at,
						     a->owner.at, k);
			return false;
		}
	}
	return true;
}

void ratelimit_take(struct request *req, const struct ratelimit_take_input *in)
{
	struct take *t = take_new(req, in->checks.count ? in->checks.count : 1);

	if (!t)
		return;
	t->several = in->checks.count > 0;
	t->wait_ms = in->wait_ms;
	for (size_t i = 0; i < in->checks.count; i++) {
		const struct ratelimit_take_checks_item *item = &in->checks.items[i];
		ask(&t->checks[i], item->name, item->policy, item->key, item->cost);
		t->checks[i].policy.limit = LIMIT_OF(item);
	}
	if (!t->several) {
		ask(&t->checks[0], (struct text){ 0 }, in->policy, in->key, in->cost);
		t->checks[0].policy.limit = LIMIT_OF(in);
	}
	part(t);
	req->stand_in = ratelimit_degrade;
	if (are_distinct(req, t))
		policies_fill(req, ratelimit_decide);
}
