/* lock_call: see locks/acquire.h. The script is lua/locks/lock_acquire.lua, what takes it back lua/locks/lock_leave.lua. What a grant must outlive: locks/grant.c. */
#include "locks/acquire.h"

static const char *const parts_to_take[] = { "fence", "readers", "line", "offer", NULL };
const char *const lock_parts_to_release[] = { "readers", "line", "offer", NULL };
const char *const lock_parts_to_extend[] = { "readers", "line", NULL };
const char *const lock_parts_to_look[] = { "readers", "line", "fence", NULL };

struct text lock_token_new(struct request *req)
{
	char hex[TOKEN_DIGITS + 1];

	random_hex(hex, TOKEN_DIGITS);
	return arena_copy(&req->arena, hex, TOKEN_DIGITS);
}

struct text lock_token_hash(struct request *req, struct text token)
{
	struct text digest = request_digest(req, token);

	return arena_copy(&req->arena, digest.at, digest.at ? TOKEN_DIGITS : 0);
}

void lock_call_keys(struct call *c, struct text name, const char *const *parts)
{
	call_key(c, KEY_LOCK, name, NULL);
	for (; *parts; parts++)
		call_key(c, KEY_LOCK, name, *parts);
}

void lock_out_owner(struct json_out *o, struct text owner)
{
	out_text(o, "owner", owner.len ? owner : (struct text){ 0 });
}

void lock_out_safety(struct json_out *o, const struct lock_safety *safety)
{
	out_object(o, "safety");
	out_string(o, "mode", safety->mode);
	out_int(o, "acked", safety->acked);
	out_int(o, "of", safety->of);
	out_close(o);
}

void lock_out_time(struct json_out *o, struct request *req, int64_t expires_at_ms)
{
	out_int(o, "ttl_ms", request_ms_until(req, expires_at_ms));
	out_int(o, "expires_at_ms", expires_at_ms);
}

void lock_answer_not_holder(struct request *req, struct text name)
{
	answer_problem(req, P_NOT_HOLDER, "the token does not hold '%s' (any more)", name.at);
}

void lock_answer_is_over(struct request *req, struct text name)
{
	answer_problem_effect(req, P_NOT_HOLDER, EFFECT_APPLIED, "it was done, and the time of '%s' is over by now",
			      name.at);
}

/* ---- Not now ---- */

enum { HELD_WAITERS = LOCK_HELD_WHICH + 1, HELD_MODE, HELD_HOLDERS };

static void out_holder(struct json_out *o, struct request *req, const struct reply *r, size_t at)
{
	lock_out_owner(o, reply_text(r, at));
	out_int(o, "fence", reply_int(r, at + 1));
	out_int(o, "ttl_ms", request_ms_until(req, reply_int(r, at + 2)));
	out_close(o);
}

static struct json_out *begin_held(struct request *req, struct text name, const struct reply *r, int64_t rest_ms)
{
	struct text mode = reply_text(r, HELD_MODE), owner = reply_text(r, HELD_HOLDERS);
	long long rest = rest_ms;

	if (mode.len == 0)
		return problem_begin(req, P_LOCK_HELD, "'%s' is free, but others wait for it, and it is their turn",
				     name.at);
	if (text_is(mode, "shared"))
		return problem_begin(req, P_LOCK_HELD, "'%s' is shared by %zu, for another %lld ms", name.at,
				     (r->count - HELD_HOLDERS) / 3, rest);
	return problem_begin(req, P_LOCK_HELD, "'%s' is held by %s%s%s for another %lld ms", name.at,
			     owner.len ? "'" : "", owner.len ? owner.at : "somebody", owner.len ? "'" : "", rest);
}

void lock_answer_held(struct request *req, struct text name, const struct reply *r)
{
	bool is_shared = text_is(reply_text(r, HELD_MODE), "shared");
	int64_t until_ms = 0;

	for (size_t i = HELD_HOLDERS; i + 2 < r->count; i += 3)
		until_ms = reply_int(r, i + 2) > until_ms ? reply_int(r, i + 2) : until_ms;
	int64_t rest_ms = request_ms_until(req, until_ms);
	answer_retry_after_ms(req, rest_ms);
	struct json_out *o = begin_held(req, name, r, rest_ms);
	out_text(o, "name", name);
	if (is_shared) {
		out_array(o, "holders");
		for (size_t i = HELD_HOLDERS; i + 2 < r->count; i += 3) {
			out_object(o, NULL);
			out_holder(o, req, r, i);
		}
		out_close(o);
	} else if (reply_text(r, HELD_MODE).len) {
		out_object(o, "holder");
		out_holder(o, req, r, HELD_HOLDERS);
	} else {
		out_null(o, "holder");
	}
	out_int(o, "waiters", reply_int(r, HELD_WAITERS));
	problem_end(req);
}

/* ---- Taking ---- */

/* A replay's may be over; and Redis may have been slow to tell, or the daemon have stood still: it counts from when it was asked for. */
static bool is_over(const struct request *req, const struct lock_take *take, const struct reply *r)
{
	return reply_int(r, LOCK_EXPIRES_AT) <= req->now_ms || loop_now_us() - take->asked_us >= take->ttl_ms * 1000;
}

static void attempt(struct request *req);

static void on_decided(struct request *req, const struct reply *r)
{
	struct lock_take *take = req->work;
	int64_t outcome = reply_int(r, 0);
	size_t which = outcome == 0 ? (size_t)reply_int(r, LOCK_HELD_WHICH) : 0;

	if (!req->replayed && (outcome > 0 || wait_left_ms(req) == 0))
		wait_ticket_left(req);
	if (outcome == -1) {
		lock_answer_not_holder(req, take->names[0]);
	} else if (outcome == -2) {
		answer_problem(req, P_MODE_CONFLICT, "the token holds '%s' in the mode %s", take->names[0].at,
			       reply_text(r, 2).at);
	} else if (outcome == 0) {
		wait_next(req, which, 0, reply_int(r, LOCK_HELD_NEXT_AT));
		req->gone = NULL; /* there is nothing to release */
		if (!wait_park(req, attempt))
			lock_answer_held(req, take->names[which < take->count ? which : 0], r);
	} else if (is_over(req, take, r)) {
		lock_answer_is_over(req, take->names[0]);
	} else {
		lock_granted(req, take, r);
	}
}

struct call *lock_call_leave(struct request *req, const struct lock_take *take)
{
	struct call *c = script_call(req, &lock_leave_script);

	for (size_t i = 0; i < take->count; i++)
		lock_call_keys(c, take->names[i], lock_parts_to_release);
	call_string(c, ""); /* of its ticket wait.c sees to it */
	call_text(c, take->token_hash);
	return c;
}

/* The client left: what the attempt under way may have taken is released, unless the client may come again for it. */
static void on_disconnect(struct request *req, const struct reply *r)
{
	const struct lock_take *take = req->work;

	(void)r;
	if (!req->idempotency_key.at)
		call_send(lock_call_leave(req, take), NULL);
}

struct text lock_metadata(struct request *req, const struct json *given)
{
	return given && given->kind != JSON_IS_NULL ? json_tree_text(&req->arena, given) : TEXT("");
}

struct call *lock_call_acquire(struct request *req, const struct lock_take *take)
{
	static const struct wait_queue queue = { &lock_leave_script, lock_parts_to_release };
	struct call *c = script_call(req, &lock_acquire_script);

	for (size_t i = 0; i < take->count; i++)
		lock_call_keys(c, take->names[i], parts_to_take);
	call_int(c, take->ttl_ms);
	call_text(c, take->owner);
	call_text(c, lock_metadata(req, take->metadata));
	call_text(c, take->presented.at ? lock_token_hash(req, take->presented) : TEXT(""));
	call_text(c, take->token_hash);
	call_text(c, req->idempotency_key.at ? request_seal(req, take->token) : TEXT(""));
	call_string(c, take->mode);
	call_text(c, wait_ticket(req, &queue, strcmp(take->mode, "shared") == 0 ? "s" : "x"));
	call_int(c, wait_left_ms(req));
	call_replicas(c, (unsigned)take->min_replicas);
	if (take->is_stream)
		call_without_record(c);
	return c;
}

static void attempt(struct request *req)
{
	struct lock_take *take = req->work;
	struct call *c = lock_call_acquire(req, take);

	req->gone = on_disconnect;
	take->asked_us = loop_now_us();
	call_send(c, on_decided);
}

void lock_take(struct request *req, const struct lock_take *given)
{
	const struct slots *slots = slots_of(req, given->names, given->count);
	struct lock_take *take = arena_alloc(&req->arena, sizeof(*take));

	if (!slots || !slots_bear_key(req, slots))
		return;
	if (slots->count > 1) {
		lock_take_in_turn(req, given, slots);
		return;
	}
	if (!take) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*take = *given;
	take->token = lock_token_new(req);
	take->token_hash = lock_token_hash(req, take->token);
	req->work = take;
	if (!wait_begin(req, given->presented.at ? 0 : given->wait_ms, given->count))
		return;
	for (size_t i = 0; i < given->count; i++)
		wait_on(req, script_key(req, KEY_LOCK, given->names[i], NULL));
	attempt(req);
}
