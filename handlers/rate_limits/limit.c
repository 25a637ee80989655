#include "rate_limits/limit.h"

#include <stdlib.h>

#include "common/key_kinds.h"

const char *const limit_algorithm_names[ALGORITHMS] = { "gcra", "sliding_window", "fixed_window" };

/*
 * The unit of lua/rate_limits/lib_limit_gcra.lua is so small that a burst must have less than 2^52
 * units: the script then computes in whole numbers below 2^53.
 */
static int64_t largest_burst(const struct limit *l)
{
	int64_t divisor = l->limit, rest = l->window_ms;

	while (rest > 0) {
		int64_t next = divisor % rest;
		divisor = rest;
		rest = next;
	}
	return l->algorithm == GCRA ? ((INT64_C(1) << 52) - 1) / (l->window_ms / divisor) : INT64_MAX;
}

struct limit_request *limit_request_new(struct request *req, size_t count)
{
	struct limit_request *limits = arena_alloc(&req->arena, sizeof(*limits) + count * sizeof(limits->checks[0]));

	if (!limits) {
		answer_no_memory(req, EFFECT_NONE);
		return NULL;
	}
	limits->count = count;
	limits->refusal = P_RATE_LIMITED;
	req->work = limits;
	return limits;
}

const char *limit_state_part(struct request *req, struct limit_account account, int algorithm)
{
	static const char *const unnamed[] = { "@:gcra", "@:sliding_window", "@:fixed_window" };

	if (!account.policy.at && !account.check.at)
		return unnamed[algorithm - 1];
	struct text parts[] = { account.policy.at ? TEXT("") : TEXT("@"),
				account.policy.at ? account.policy : account.check, TEXT(":"),
				text_of(limit_algorithm_names[algorithm - 1]) };
	return arena_join(&req->arena, parts, 4).at;
}

struct limit_account limit_account_cut(struct text *part)
{
	struct text name = text_cut(part, ':');

	if (name.len == 0 || *name.at != '@')
		return (struct limit_account){ .policy = name };
	if (name.len == 1)
		return (struct limit_account){ 0 };
	return (struct limit_account){ .check = { name.at + 1, name.len - 1 } };
}

void limit_write_account(struct json_out *o, struct limit_account account)
{
	out_text(o, "policy", account.policy);
	out_text(o, "check", account.check);
}

void limit_call_key(struct request *req, struct call *call, const struct limit_check *c)
{
	call_key(call, KEY_LIMIT, c->key, limit_state_part(req, c->account, c->policy.limit.algorithm));
}

/* ---- Rules ---- */

static const char *pointer(struct request *req, const char *at, const char *member)
{
	struct text whole = arena_join(&req->arena, (struct text[]){ text_of(at), text_of(member) }, 2);

	return whole.at ? whole.at : member;
}

/*
 * Answers 400 and returns false if members contradict each other. `at` is the pointer to the object
 * that has them.
 */
static bool is_sound(struct request *req, const struct limit *l, const char *at)
{
	int64_t most = largest_burst(l);

	if (l->has_burst && l->algorithm != GCRA)
		answer_field_problem(req, P_INVALID_VALUE, pointer(req, at, "/burst"),
				     "is allowed only with the algorithm gcra");
	else if (l->count_refused && l->algorithm != SLIDING_WINDOW)
		answer_field_problem(req, P_INVALID_VALUE, pointer(req, at, "/count_refused"),
				     "is allowed only with the algorithm sliding_window");
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

static bool check_is_sound(struct request *req, const struct limit_request *limits, const struct limit_check *c)
{
	const struct limit *l = &c->policy.limit;
	char at[32] = "";

	if (limits->several)
		snprintf(at, sizeof(at), "/checks/%zu", (size_t)(c - limits->checks));
	if (!c->account.policy.at && !is_sound(req, l, at))
		return false;
	if (c->cost <= l->burst)
		return true;
	answer_field_problem(req, P_COST_ABOVE_LIMIT, pointer(req, at, "/cost"),
			     "is %lld, above the %s of %lld, so it can never be granted", (long long)c->cost,
			     l->has_burst ? "burst" : "limit", (long long)l->burst);
	return false;
}

bool limit_request_is_sound(struct request *req, const struct limit_request *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		if (!check_is_sound(req, limits, &limits->checks[i]))
			return false;
	return true;
}

/* ---- Several limits of one slot: lua/rate_limits/ratelimit_take_all.lua ---- */

struct limit_decision limit_decision_of(const struct request *req, const struct reply *r, bool fits, size_t at)
{
	int64_t retry_at_ms = reply_int(r, at + LIMIT_DECISION_RETRY_AT_MS);

	return (struct limit_decision){
		.fits = fits,
		.limit = reply_int(r, at + LIMIT_DECISION_LIMIT),
		.window_ms = reply_int(r, at + LIMIT_DECISION_WINDOW_MS),
		.capacity = reply_int(r, at + LIMIT_DECISION_CAPACITY),
		.remaining = reply_int(r, at + LIMIT_DECISION_REMAINING),
		.retry_after_ms = retry_at_ms < 0 ? -1 : request_ms_until(req, retry_at_ms),
		.reset_after_ms = request_ms_until(req, reply_int(r, at + LIMIT_DECISION_RESET_AT_MS)),
		.more_after_ms = request_ms_until(req, reply_int(r, at + LIMIT_DECISION_MORE_AT_MS)),
	};
}

struct limit_decision limit_unused(const struct limit *l)
{
	return (struct limit_decision){
		.fits = true,
		.limit = l->limit,
		.window_ms = l->window_ms,
		.capacity = l->burst,
		.remaining = l->burst,
		.retry_after_ms = -1,
	};
}

bool limit_counts_refused(const struct limit_check *c)
{
	return c->cost > 0 && c->policy.limit.algorithm == SLIDING_WINDOW && c->policy.limit.count_refused;
}

void limit_read(struct request *req, const struct slots_group *some, const struct reply *r)
{
	struct limit_request *limits = req->work;
	size_t at = RATELIMIT_TAKE_ALL_CHECKS;

	limits->counted_refusal |= reply_outcome(r) == RATELIMIT_TAKE_ALL_COUNTED_REFUSAL;
	for (size_t i = 0; i < some->count; i++, at += LIMIT_CHECK_ITEMS)
		limits->checks[some->which[i]].decision =
			limit_decision_of(req, r, reply_int(r, at + LIMIT_CHECK_FITS) > 0, at + LIMIT_CHECK_DECISION);
	if (reply_int(r, RATELIMIT_TAKE_ALL_IS_WAITING)) {
		limits->waits = true;
		wait_look_at(req, reply_int(r, RATELIMIT_TAKE_ALL_LOOK_AT_MS));
	}
}

static const char *waiters_part(struct request *req, const struct limit_check *c)
{
	struct text state = text_of(limit_state_part(req, c->account, c->policy.limit.algorithm));

	return arena_join(&req->arena, (struct text[]){ state, TEXT(":waiters") }, 2).at;
}

struct call *limit_call(struct request *req, const struct slots_group *some, bool is_refused)
{
	static const char *const parts[] = { "waiters", NULL };
	static const struct ticket_queue queue = { &ratelimit_leave_script, parts };
	struct limit_request *limits = req->work;
	struct call *call = call_script(req, &ratelimit_take_all_script);
	int64_t cost = 0;

	for (size_t i = 0; i < some->count; i++) {
		const struct limit_check *c = &limits->checks[some->which[i]];
		limit_call_key(req, call, c);
		cost += c->cost;
	}
	for (size_t i = 0; limits->wait_ms && i < some->count; i++) {
		const struct limit_check *c = &limits->checks[some->which[i]];
		call_key(call, KEY_LIMIT, c->key, waiters_part(req, c));
	}
	for (size_t i = 0; i < some->count; i++) {
		const struct limit_check *c = &limits->checks[some->which[i]];
		const struct limit *l = &c->policy.limit;
		call_int(call, l->algorithm);
		call_int(call, l->limit);
		call_int(call, l->window_ms);
		call_int(call, c->cost);
		call_int(call, l->algorithm == GCRA ? l->burst : l->count_refused);
		call_int(call, c->policy.shadow);
	}
	call_int(call, !is_refused ? 0 : limits->waits ? 2 : 1);
	wait_arguments(req, call, &queue, text_of_int(limits->checks[0].cost, limits->ticket_tail));
	if (cost == 0)
		call_without_record(call);
	return call;
}

/* ---- Policies ---- */

/* The bounds of the contract. */
#define MOST INT64_C(1000000000)
#define WINDOW_MOST_MS INT64_C(31622400000)

static bool is_in(int64_t n, int64_t low, int64_t high)
{
	return n >= low && n <= high;
}

int limit_algorithm_of(struct text name)
{
	for (int i = 0; i < ALGORITHMS; i++)
		if (text_is(name, limit_algorithm_names[i]))
			return i + 1;
	return 0;
}

/* The fields of a policy are texts in a hash, which another program may have written. */
static int64_t number_at(const struct reply *r, size_t i)
{
	return strtoll(reply_text(r, i).at, NULL, 10);
}

/* `header` is absent if the policy names none. */
static void set_key_header(struct limit_policy *p, struct text header)
{
	memset(p->key_header, 0, sizeof(p->key_header));
	if (header.len)
		memcpy(p->key_header, header.at, header.len);
}

bool limit_policy_read(const struct reply *r, struct limit_policy *out)
{
	struct text header = reply_text(r, LIMIT_POLICY_KEY_HEADER), kind = reply_text(r, LIMIT_POLICY_ALGORITHM);
	struct text algorithm = text_cut(&kind, ' ');
	int64_t limit = number_at(r, LIMIT_POLICY_LIMIT), burst = number_at(r, LIMIT_POLICY_BURST);

	*out = (struct limit_policy){
		.limit = { .algorithm = limit_algorithm_of(algorithm),
			   .limit = limit,
			   .window_ms = number_at(r, LIMIT_POLICY_WINDOW_MS),
			   .burst = burst ? burst : limit,
			   .has_burst = burst != 0,
			   .count_refused = number_at(r, LIMIT_POLICY_COUNT_REFUSED) },
		.open = text_is(reply_text(r, LIMIT_POLICY_ON_ERROR), "open"),
		.shadow = number_at(r, LIMIT_POLICY_SHADOW),
	};
	if (header.len <= PLAIN_NAME_MAX)
		set_key_header(out, header);
	const struct limit *l = &out->limit;
	return header.len <= PLAIN_NAME_MAX && l->algorithm && is_in(l->limit, 1, MOST) && is_in(l->burst, 1, MOST) &&
	       is_in(l->window_ms, 1, WINDOW_MOST_MS) && l->burst <= largest_burst(l) &&
	       limit_address_parse(kind, &out->address);
}

void limit_answer_foreign_policy(struct request *req, struct text name)
{
	answer_problem(req, P_FOREIGN_KEY, "another program has written to the key of policy '%s'", name.at);
}

bool limit_policy_of_input(struct request *req, const struct ratelimit_policy_put_input *in, struct limit_policy *out)
{
	*out = (struct limit_policy){
		.limit = LIMIT_OF(in),
		.open = in->on_error == RATELIMIT_POLICY_PUT_ON_ERROR_OPEN,
		.shadow = in->shadow,
	};
	set_key_header(out, in->key_header);
	limit_address_of_input(in, &out->address);
	return is_sound(req, &out->limit, "");
}

/* Null resets a member to its default. */
bool limit_policy_merge(struct request *req, const struct ratelimit_policy_patch_input *in, struct limit_policy *out)
{
	struct limit *l = &out->limit;

	if (in->has_algorithm || in->reset_algorithm)
		l->algorithm = in->has_algorithm ? (int)in->algorithm : GCRA;
	if (in->has_limit)
		l->limit = in->limit;
	if (in->has_window_ms)
		l->window_ms = in->window_ms;
	if (in->has_burst || in->reset_burst)
		l->has_burst = in->has_burst;
	if (in->has_burst || !l->has_burst)
		l->burst = in->has_burst ? in->burst : l->limit;
	if (in->has_count_refused || in->reset_count_refused)
		l->count_refused = in->count_refused;
	if (in->has_on_error || in->reset_on_error)
		out->open = in->on_error == RATELIMIT_POLICY_PATCH_ON_ERROR_OPEN;
	if (in->has_shadow || in->reset_shadow)
		out->shadow = in->shadow;
	if (in->has_key_header || in->reset_key_header)
		set_key_header(out, in->key_header);
	limit_address_merge(in, &out->address);
	return is_sound(req, l, "");
}
