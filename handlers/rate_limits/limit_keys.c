/* ratelimit_keys: the state that limits keep for a key: get, delete, list, refund. */
#include "common/key_kinds.h"
#include "rate_limits/address_keys.h"
#include "rate_limits/policy_cache.h"

/* Takes the account from an input. All inputs have the same members. */
#define ACCOUNT_OF(in) ((struct limit_account){ .policy = (in)->policy, .check = (in)->check })

static void write_state(struct json_out *o, struct request *req, struct text key, struct limit_account account,
			const char *algorithm, const struct reply *r)
{
	int64_t retry_at_ms = reply_int(r, LIMIT_STATE_RETRY_AT_MS);
	bool exists = reply_int(r, LIMIT_STATE_ALGORITHM);

	out_text(o, "key", key);
	limit_write_account(o, account);
	out_text(o, "algorithm", text_of(algorithm));
	out_bool(o, "allowed", retry_at_ms < 0);
	out_int_or_null(o, "limit", exists, reply_int(r, LIMIT_STATE_LIMIT));
	out_int_or_null(o, "window_ms", exists, reply_int(r, LIMIT_STATE_WINDOW_MS));
	out_int_or_null(o, "capacity", exists, reply_int(r, LIMIT_STATE_CAPACITY));
	out_int_or_null(o, "remaining", exists, reply_int(r, LIMIT_STATE_REMAINING));
	out_int_or_null(o, "retry_after_ms", retry_at_ms >= 0, request_ms_until(req, retry_at_ms));
	out_int_or_null(o, "reset_after_ms", exists, request_ms_until(req, reply_int(r, LIMIT_STATE_RESET_AT_MS)));
}

/* Answers 400 and returns false if both a policy and a check are given. */
static bool account_is_one(struct request *req, struct limit_account account)
{
	if (!account.policy.at || !account.check.at)
		return true;
	answer_field_problem(req, P_INVALID_VALUE, "?check", "cannot be combined with ?policy");
	return false;
}

/*
 * Calls `next` when checks[0] has the key as it is counted: the policy may have `address`. State
 * outlives its policy, so the policy need not exist.
 */
static void find_key(struct request *req, struct text key, struct limit_account account, const char *at,
		     void (*next)(struct request *req))
{
	struct limit_request *limits = limit_request_new(req, 1);

	if (!limits)
		return;
	limits->checks[0].key = key;
	limits->checks[0].account = account;
	limits->key_at = at;
	limits->may_lack_policy = true;
	policy_cache_fill(req, next);
}

static const struct limit_check *check_of(const struct request *req)
{
	return &((const struct limit_request *)req->work)->checks[0];
}

/* ---- GET /ratelimit/keys/{key} ---- */

static void on_state(struct request *req, const struct reply *r)
{
	int64_t algorithm = reply_int(r, LIMIT_STATE_ALGORITHM);
	bool used = algorithm >= 1 && algorithm <= ALGORITHMS;

	write_state(answer_begin(req, 200), req, check_of(req)->key, check_of(req)->account,
		    used ? limit_algorithm_names[algorithm - 1] : NULL, r);
	answer_end(req);
}

static void look(struct request *req)
{
	const struct ratelimit_key_get_input *in = req->input;

	if (!address_keys_apply(req, req->work))
		return;
	struct call *c = call_script(req, &ratelimit_key_get_script);
	for (int i = 1; i <= ALGORITHMS; i++)
		call_key(c, KEY_LIMIT, check_of(req)->key, limit_state_part(req, ACCOUNT_OF(in), i));
	call_int(c, in->algorithm);
	call_send(c, on_state);
}

void ratelimit_key_get(struct request *req, const struct ratelimit_key_get_input *in)
{
	if (account_is_one(req, ACCOUNT_OF(in)))
		find_key(req, in->key, ACCOUNT_OF(in), "{key}", look);
}

/* ---- DELETE /ratelimit/keys/{key} ---- */

static void on_forgotten(struct request *req, const struct reply *r)
{
	const struct ratelimit_key_delete_input *in = req->input;

	if (handler_removed(req, r))
		return;
	if (in->policy.at)
		answer_problem(req, P_NOT_FOUND, "key '%s' has no state of the policy '%s'", check_of(req)->key.at,
			       in->policy.at);
	else if (in->check.at)
		answer_problem(req, P_NOT_FOUND, "key '%s' has no state of the check '%s'", in->key.at, in->check.at);
	else
		answer_problem(req, P_NOT_FOUND, "key '%s' has no state of a limit without a name", in->key.at);
}

static void forget(struct request *req)
{
	const struct ratelimit_key_delete_input *in = req->input;

	if (!address_keys_apply(req, req->work))
		return;
	struct call *c = call_script(req, &ratelimit_key_delete_script);
	for (int i = 1; i <= ALGORITHMS; i++)
		if (in->algorithm == 0 || (int)in->algorithm == i)
			call_key(c, KEY_LIMIT, check_of(req)->key, limit_state_part(req, ACCOUNT_OF(in), i));
	call_send(c, on_forgotten);
}

void ratelimit_key_delete(struct request *req, const struct ratelimit_key_delete_input *in)
{
	if (account_is_one(req, ACCOUNT_OF(in)))
		find_key(req, in->key, ACCOUNT_OF(in), "{key}", forget);
}

/* ---- POST /ratelimit/refund ---- */

static void on_refunded(struct request *req, const struct reply *r)
{
	const struct limit_check *c = check_of(req);
	struct json_out *o = answer_begin(req, 200);

	out_int(o, "refunded", reply_outcome(r));
	write_state(o, req, c->key, c->account, limit_algorithm_names[c->policy.limit.algorithm - 1], r);
	answer_end(req);
}

static void refund(struct request *req)
{
	const struct ratelimit_refund_input *in = req->input;
	struct limit_request *limits = req->work;
	struct limit_check *c = &limits->checks[0];

	if (!address_keys_apply(req, limits))
		return;
	if (in->algorithm || !c->account.policy.at)
		c->policy.limit.algorithm = in->algorithm ? (int)in->algorithm : GCRA;
	struct call *call = call_script(req, &ratelimit_refund_script);
	call_key(call, KEY_LIMIT, c->key, limit_state_part(req, c->account, c->policy.limit.algorithm));
	call_int(call, c->policy.limit.algorithm);
	call_int(call, in->cost);
	call_int(call, in->age_ms);
	call_send(call, on_refunded);
}

void ratelimit_refund(struct request *req, const struct ratelimit_refund_input *in)
{
	struct limit_request *limits = limit_request_new(req, 1);

	if (!limits)
		return;
	limits->checks[0].key = in->key;
	limits->checks[0].account = ACCOUNT_OF(in);
	limits->may_lack_policy = in->algorithm != 0;
	policy_cache_fill(req, refund);
}

/* ---- GET /ratelimit/keys ---- */

static struct call *look_one(struct request *req, struct text name, struct text part)
{
	struct call *c = call_script(req, &ratelimit_key_get_script);
	struct limit_account account = limit_account_cut(&part);

	for (int i = 1; i <= ALGORITHMS; i++)
		call_key(c, KEY_LIMIT, name, limit_state_part(req, account, i));
	call_int(c, limit_algorithm_of(part));
	return c;
}

static void list_item(struct json_out *o, struct request *req, struct text name, struct text part,
		      const struct reply *r)
{
	struct limit_account account = limit_account_cut(&part);
	int algorithm = limit_algorithm_of(part);

	if (algorithm == 0 || reply_int(r, LIMIT_STATE_ALGORITHM) != algorithm)
		return;
	out_object(o, NULL);
	write_state(o, req, name, account, limit_algorithm_names[algorithm - 1], r);
	out_close(o);
}

void ratelimit_key_list(struct request *req, const struct ratelimit_key_list_input *in)
{
	static const struct list_of states = {
		.kind = KEY_LIMIT, .part_pattern = ":*", .look = look_one, .item = list_item
	};

	list_keys(req, &states, in->match, in->cursor, in->limit);
}
