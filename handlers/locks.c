/*
 * locks: exclusive leases with a fencing number. Each operation is one script (lua/lock_*.lua).
 *
 * Tokens are made here and told to their holder alone: Redis gets a digest of each, and, so that a retry with the same
 * Idempotency-Key can be answered, the token sealed with that key. Must never hand a plain token to Redis or the log.
 */
#include "handler.h"
#include "keys.h"

enum { TOKEN_DIGITS = 32 };

/* What Redis knows a token by: 128 bits of its SHA-256. */
static struct text token_hash(struct request *req, struct text token)
{
	struct text digest = request_digest(req, token);

	return arena_copy(&req->arena, digest.at, digest.at ? TOKEN_DIGITS : 0);
}

static struct text or_absent(struct text t)
{
	return t.len ? t : (struct text){ 0 };
}

static void answer_not_holder(struct request *req, struct text name)
{
	answer_problem(req, P_NOT_HOLDER, "the token does not hold '%s' (any more)", name.at);
}

/* A replay: what the first answer granted is over. */
static void answer_grant_is_over(struct request *req, struct text name)
{
	answer_problem_effect(req, P_NOT_HOLDER, EFFECT_APPLIED, "it was done before, and '%s' has expired since",
			      name.at);
}

static void lock_keys(struct call *c, struct text name)
{
	call_key(c, KEY_LOCK, name, NULL);
	call_key(c, KEY_LOCK, name, "fence");
}

/* ---- POST /locks/{name}: take it, or say who holds it ---- */

static void answer_held(struct request *req, struct text name, const struct reply *r)
{
	struct text owner = or_absent(reply_text(r, 2));
	int64_t ttl_ms = request_ms_until(req, reply_int(r, 4));

	answer_retry_after_ms(req, ttl_ms);
	struct json_out *o = problem_begin(req, P_LOCK_HELD, "'%s' is held by %s%s%s for another %lld ms", name.at,
					   owner.at ? "'" : "", owner.at ? owner.at : "somebody", owner.at ? "'" : "",
					   (long long)ttl_ms);
	out_object(o, "holder");
	out_text(o, "owner", owner);
	out_int(o, "fence", reply_int(r, 3));
	out_int(o, "ttl_ms", ttl_ms);
	out_close(o);
	out_int(o, "waiters", 0);
	problem_end(req);
}

/* The token of a replay is the first one, which the record kept sealed; without a key nothing was sealed. */
static struct text granted_token(struct request *req, struct text sealed)
{
	const struct text *made = req->work;

	return sealed.len ? request_seal(req, sealed) : *made;
}

static void on_acquired(struct request *req, const struct reply *r)
{
	const struct lock_acquire_input *in = req->input;
	int64_t outcome = reply_int(r, 0), expires_at_ms = reply_int(r, 6);

	if (outcome == 0) {
		answer_held(req, in->name, r);
		return;
	}
	if (outcome < 0) {
		answer_not_holder(req, in->name);
		return;
	}
	if (expires_at_ms <= req->now_ms) {
		answer_grant_is_over(req, in->name);
		return;
	}
	struct json_out *o = answer_begin(req, outcome == 1 ? 201 : 200);
	out_text(o, "name", in->name);
	out_text(o, "token", granted_token(req, reply_text(r, 7)));
	out_int(o, "fence", reply_int(r, 2));
	out_text(o, "owner", or_absent(reply_text(r, 3)));
	out_text(o, "mode", reply_text(r, 4));
	out_int(o, "holds", reply_int(r, 5));
	out_int(o, "ttl_ms", expires_at_ms - req->now_ms);
	out_int(o, "expires_at_ms", expires_at_ms);
	out_int(o, "waited_ms", 0);
	out_object(o, "safety");
	out_string(o, "mode", "single");
	out_int(o, "acked", 1);
	out_int(o, "of", 1);
	out_close(o);
	answer_end(req);
}

void lock_acquire(struct request *req, const struct lock_acquire_input *in)
{
	char hex[TOKEN_DIGITS + 1];
	struct text *token = arena_alloc(&req->arena, sizeof(*token));

	random_hex(hex, TOKEN_DIGITS);
	if (token)
		*token = arena_copy(&req->arena, hex, TOKEN_DIGITS);
	req->work = token;
	struct call *c = script_call(req, &lock_acquire_script);
	lock_keys(c, in->name);
	call_int(c, in->ttl_ms);
	call_text(c, in->owner);
	if (in->metadata && !json_is_null(in->metadata))
		call_text(c, json_tree_text(&req->arena, in->metadata));
	else
		call_string(c, "");
	call_text(c, in->token.at ? token_hash(req, in->token) : TEXT(""));
	call_text(c, token ? token_hash(req, *token) : TEXT(""));
	call_text(c, token && req->idempotency_key.at ? request_seal(req, *token) : TEXT(""));
	call_send(c, on_acquired);
}

/* ---- POST /locks/{name}/extend ---- */

static void on_extended(struct request *req, const struct reply *r)
{
	const struct lock_extend_input *in = req->input;
	int64_t expires_at_ms = reply_int(r, 4);

	if (reply_int(r, 0) < 1) {
		answer_not_holder(req, in->name);
		return;
	}
	if (expires_at_ms <= req->now_ms) {
		answer_grant_is_over(req, in->name);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_int(o, "fence", reply_int(r, 2));
	out_int(o, "holds", reply_int(r, 3));
	out_int(o, "ttl_ms", expires_at_ms - req->now_ms);
	out_int(o, "expires_at_ms", expires_at_ms);
	answer_end(req);
}

void lock_extend(struct request *req, const struct lock_extend_input *in)
{
	struct call *c = script_call(req, &lock_extend_script);

	call_key(c, KEY_LOCK, in->name, NULL);
	call_int(c, in->ttl_ms);
	call_text(c, token_hash(req, in->token));
	call_send(c, on_extended);
}

/* ---- DELETE /locks/{name} ---- */

static void on_released(struct request *req, const struct reply *r)
{
	const struct lock_release_input *in = req->input;

	if (reply_int(r, 0) < 1 && in->force) {
		answer_problem(req, P_NOT_HOLDER, "nobody holds '%s'", in->name.at);
		return;
	}
	if (reply_int(r, 0) < 1) {
		answer_not_holder(req, in->name);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_int(o, "holds", reply_int(r, 2));
	answer_end(req);
}

void lock_release(struct request *req, const struct lock_release_input *in)
{
	struct text token = in->lock_token.at ? in->lock_token : in->token;

	if (in->force && token.at) {
		answer_field_problem(req, P_INVALID_VALUE, "?force", "stands beside a token; give one of them");
		return;
	}
	if (!in->force && !token.at) {
		answer_field_problem(req, P_MISSING_FIELD, "Lock-Token:", "is required, or ?token= instead");
		return;
	}
	if (in->token.at && !text_equal(token, in->token)) {
		answer_field_problem(req, P_INVALID_VALUE, "?token", "is another token than the header Lock-Token");
		return;
	}
	struct call *c = script_call(req, &lock_release_script);
	call_key(c, KEY_LOCK, in->name, NULL);
	call_text(c, in->force ? TEXT("") : token_hash(req, token));
	call_int(c, in->force);
	call_send(c, on_released);
}

/* ---- GET /locks/{name} ---- */

static void on_looked(struct request *req, const struct reply *r)
{
	const struct lock_look_input *in = req->input;
	bool held = reply_int(r, 0) == 0;
	struct text metadata = reply_text(r, 7);
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_bool(o, "held", held);
	out_text(o, "owner", or_absent(reply_text(r, 3)));
	out_text(o, "mode", or_absent(reply_text(r, 4)));
	out_int(o, "fence", reply_int(r, 2));
	out_int(o, "ttl_ms", held ? request_ms_until(req, reply_int(r, 6)) : 0);
	out_int(o, "expires_at_ms", reply_int(r, 6));
	out_int(o, "holds", reply_int(r, 5));
	out_int(o, "waiters", 0);
	if (metadata.len)
		out_raw(o, "metadata", metadata);
	else
		out_null(o, "metadata");
	answer_end(req);
}

void lock_look(struct request *req, const struct lock_look_input *in)
{
	struct call *c = script_call(req, &lock_look_script);

	lock_keys(c, in->name);
	call_send(c, on_looked);
}

/* ---- GET /locks ---- */

static struct call *look_one(struct request *req, struct text name, struct text part)
{
	(void)part;
	struct call *c = script_call(req, &lock_look_script);

	call_key(c, KEY_LOCK, name, NULL);
	return c;
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	(void)part;
	if (reply_int(r, 0) != 0)
		return;
	out_object(o, NULL);
	out_text(o, "name", name);
	out_text(o, "owner", or_absent(reply_text(r, 3)));
	out_text(o, "mode", reply_text(r, 4));
	out_int(o, "fence", reply_int(r, 2));
	out_int(o, "ttl_ms", request_ms_until(req, reply_int(r, 6)));
	out_int(o, "holds", reply_int(r, 5));
	out_close(o);
}

void lock_list(struct request *req, const struct lock_list_input *in)
{
	static const struct list_of locks = { .kind = KEY_LOCK, .look = look_one, .item = item_of };

	list_keys(req, &locks, in->match, in->cursor, in->limit);
}
