/*
 * lock_quorum: see locks/quorum_locks.h. The rounds are locks/quorum_round.c's, the scripts
 * lua/lock_quorum_*.lua and those of any lock.
 */
#include "locks/quorum_locks.h"

#include "locks/lock_metrics.h"
#include "locks/quorum_round.h"

/* A lock, and what is acquisition of it. In the request's arena. */
struct quorum_lock {
	struct text name, token, hash;
	struct text owner, metadata; /* for other clients */
	int64_t fence;               /* of a lock that was acquired */
	bool is_forced;              /* released from any holder */
};

static const char *const parts_to_acquire[] = { "fence", "readers", NULL }, *const parts_to_raise[] = { "fence", NULL };

bool lock_quorum_is_mode(void)
{
	return call_members() > 0;
}

/* Starts an operation; NULL: it was answered. */
static struct lock_round *begin(struct request *req, const struct quorum_lock *given, int64_t ttl_ms)
{
	struct quorum_lock *w = arena_alloc(&req->arena, sizeof(*w));

	if (req->asked.idempotency_key.at) {
		answer_field_problem(
			req, P_IDEMPOTENCY_UNAVAILABLE, "Idempotency-Key:",
			"has no meaning for locks on a quorum of servers: none of them knows what all answered");
		return NULL;
	}
	if (w)
		*w = *given;
	return lock_round_new(req, w, ttl_ms);
}

static struct lock_safety safety_of(const struct lock_round *r, size_t acknowledged)
{
	return (struct lock_safety){ "quorum", (int64_t)acknowledged, (int64_t)r->of };
}

/*
 * By the daemon's own clock: those of the servers may differ, and none of them is the lock's. Null
 * for a free lock.
 */
static void out_left(struct json_out *o, int64_t left_ms)
{
	out_int_or_null(o, "ttl_ms", left_ms > 0, left_ms);
	out_int_or_null(o, "expires_at_ms", left_ms > 0, loop_wall_ms() + left_ms);
}

/* `holder_count` and `holders`: the one that a majority reports; NULL for none. */
static void out_holders(struct json_out *o, const struct lock_quorum_holder *holder, const struct lock_holder_at *at)
{
	out_int(o, "holder_count", holder != NULL);
	out_array(o, "holders");
	if (holder) {
		out_object(o, NULL);
		lock_out_holder(o, &(struct lock_holder){
					   .owner = reply_text(holder->reply, at->owner),
					   .fence = reply_int(holder->reply, at->fence),
					   .holds = 1,
					   .ttl_ms = holder->left_ms,
					   .expires_at_ms = loop_wall_ms() + holder->left_ms,
				   });
		if (at->metadata)
			out_raw_or_null(o, "metadata", reply_text(holder->reply, at->metadata));
		out_close(o);
	}
	out_close(o);
}

/* ---- Releasing what has no majority ---- */

static void on_released_one(struct request *req, const struct reply *r)
{
	(void)req;
	(void)r;
}

/*
 * Wherever it may be held, so also on servers that did not answer; by a request without a client.
 * It is no release by a client: the servers still remember the last one.
 */
static void release_all(struct lock_round *r)
{
	const struct quorum_lock *w = r->context;
	struct request *req = request_background(r->req->op, NULL, NULL);

	if (!req)
		return; /* it expires by itself */
	struct text name = arena_copy(&req->arena, w->name.at, w->name.len),
		    hash = arena_copy(&req->arena, w->hash.at, w->hash.len);
	for (size_t i = 0; i < r->of; i++) {
		if (r->votes[i].said && r->votes[i].outcome < 1)
			continue;
		struct call *c = call_script(req, &lock_leave_script);
		lock_call_keys(c, name, lock_parts_to_change);
		call_string(c, "");
		call_text(c, hash);
		call_member(c, (unsigned)i + 1);
		call_may_fail(c);
		call_send(c, on_released_one);
	}
	request_background_start(req);
}

/* ---- POST /locks/{name} ---- */

static const struct lock_holder_at holder_of_refusal = { .outcome = LOCK_QUORUM_TAKE_HELD,
							 .fence = LOCK_QUORUM_TAKE_FENCE,
							 .expires_at = LOCK_QUORUM_TAKE_EXPIRES_AT_MS,
							 .owner = LOCK_QUORUM_TAKE_OWNER };

static void answer_held(struct lock_round *r)
{
	const struct quorum_lock *w = r->context;
	struct request *req = r->req;
	struct lock_quorum_holder holder;
	bool is_held = lock_round_holder(r, &holder_of_refusal, &holder);
	struct text owner = is_held ? reply_text(holder.reply, holder_of_refusal.owner) : TEXT("");
	struct json_out *o;

	lock_metrics_refused(req, w->name);
	answer_retry_after_ms(req, is_held ? holder.left_ms : 0);
	if (is_held)
		o = answer_begin_problem(req, P_LOCK_HELD, "'%s' is held by %s%s%s for another %lld ms", w->name.at,
					 owner.len ? "'" : "", owner.len ? owner.at : "another client",
					 owner.len ? "'" : "", (long long)holder.left_ms);
	else
		o = answer_begin_problem(
			req, P_LOCK_HELD,
			"other clients have '%s' at %zu of %zu lock servers, and none has a majority: they came at the same "
			"time, or lost it",
			w->name.at, lock_round_count(r, holder_of_refusal.outcome), r->of);
	out_text(o, "name", w->name);
	out_int(o, "waiter_count", 0);
	out_holders(o, is_held ? &holder : NULL, &holder_of_refusal);
	answer_end(req);
}

static void answer_acquired(struct lock_round *r, int64_t left_ms)
{
	const struct quorum_lock *w = r->context;
	struct lock_safety safety = safety_of(r, lock_round_count(r, LOCK_QUORUM_FENCE_FENCED));
	struct json_out *o = answer_begin(r->req, 201);

	lock_metrics_acquired(r->req, &w->name, 1);
	out_text(o, "name", w->name);
	out_text(o, "token", w->token);
	out_int(o, "fence", w->fence);
	lock_out_owner(o, w->owner);
	out_string(o, "mode", "exclusive");
	out_int(o, "holds", 1);
	out_left(o, left_ms);
	out_int(o, "waited_ms", 0);
	lock_out_safety(o, &safety);
	answer_end(r->req);
}

static void on_fenced(struct lock_round *r)
{
	size_t acknowledged = lock_round_count(r, LOCK_QUORUM_FENCE_FENCED);
	int64_t left_ms = lock_round_left_ms(r);

	if (acknowledged >= lock_round_majority(r) && left_ms > 0) {
		answer_acquired(r, left_ms);
		return;
	}
	release_all(r);
	lock_round_answer_none(r, EFFECT_NONE, acknowledged,
			       left_ms > 0 ? "kept it (it is released)" : "kept it when it had expired");
}

static struct call *ask_to_fence(struct lock_round *r)
{
	const struct quorum_lock *w = r->context;
	struct call *c = call_script(r->req, &lock_quorum_fence_script);

	lock_call_keys(c, w->name, parts_to_raise);
	call_text(c, w->hash);
	call_int(c, w->fence);
	return c;
}

/*
 * The highest proposal becomes the fence once a majority knows it: any later majority then proposes
 * more.
 */
static void on_asked(struct lock_round *r)
{
	struct quorum_lock *w = r->context;
	size_t granted = lock_round_count(r, LOCK_QUORUM_TAKE_TAKEN);

	for (size_t i = 0; i < r->of; i++)
		if (r->votes[i].said && r->votes[i].outcome == LOCK_QUORUM_TAKE_TAKEN &&
		    reply_int(r->votes[i].reply, LOCK_QUORUM_TAKE_FENCE) > w->fence)
			w->fence = reply_int(r->votes[i].reply, LOCK_QUORUM_TAKE_FENCE);
	if (granted >= lock_round_majority(r)) {
		lock_round_ask(r, ask_to_fence, on_fenced);
		return;
	}
	release_all(r);
	if (r->said >= lock_round_majority(r))
		answer_held(r);
	else
		lock_round_answer_none(r, EFFECT_NONE, granted, "granted it");
}

static struct call *ask_to_acquire(struct lock_round *r)
{
	const struct quorum_lock *w = r->context;
	struct call *c = call_script(r->req, &lock_quorum_take_script);

	lock_call_keys(c, w->name, parts_to_acquire);
	call_int(c, r->ttl_ms);
	call_text(c, w->owner);
	call_text(c, w->metadata);
	call_text(c, w->hash);
	return c;
}

/* False: a quorum cannot do that, which was answered. */
static bool is_possible(struct request *req, const struct lock_acquire_input *in, bool is_shared)
{
	const char *field = in->wait_ms         ? "/wait_ms"
			    : is_shared         ? "/mode"
			    : in->lock_token.at ? "Lock-Token:"
			    : in->min_replicas  ? "/min_replicas"
						: NULL;

	if (field)
		answer_field_problem(
			req, P_UNSUPPORTED_WITH_QUORUM, field,
			"is not available with --lock-quorum, where a lock is acquired at once, exclusively and once");
	else if (in->ttl_ms < lock_round_least_ttl_ms())
		answer_field_problem(
			req, P_OUT_OF_RANGE, "/ttl_ms",
			"must be at least %lld on a quorum of servers: the difference of their clocks takes 1 %% and 2 ms",
			(long long)lock_round_least_ttl_ms());
	return !field && in->ttl_ms >= lock_round_least_ttl_ms();
}

void lock_quorum_acquire(struct request *req, const struct lock_acquire_input *in)
{
	struct quorum_lock w = { .name = in->name, .owner = in->owner };

	if (!is_possible(req, in, in->mode == 2))
		return;
	w.metadata = lock_metadata(in->metadata);
	w.token = handler_random(req, HANDLER_SECRET_DIGITS);
	w.hash = handler_secret_hash(req, w.token);
	struct lock_round *r = begin(req, &w, in->ttl_ms);
	if (!r)
		return;
	r->left = release_all;
	lock_round_ask(r, ask_to_acquire, on_asked);
}

/* ---- POST /locks/{name}/extend ---- */

static bool has_extended(const struct lock_vote *v)
{
	return v->said && v->outcome == LOCK_EXTEND_EXTENDED;
}

/*
 * That of most servers; of equals the smaller one, which is safe. A server that missed the common
 * one has another.
 */
static int64_t common_fence(const struct lock_round *r)
{
	int64_t best = 0;
	size_t most = 0;

	for (size_t i = 0; i < r->of; i++) {
		size_t same = 0;
		if (!has_extended(&r->votes[i]))
			continue;
		int64_t fence = reply_int(r->votes[i].reply, LOCK_EXTEND_FENCE);
		for (size_t k = 0; k < r->of; k++)
			same += has_extended(&r->votes[k]) && reply_int(r->votes[k].reply, LOCK_EXTEND_FENCE) == fence;
		if (same > most || (same == most && fence < best)) {
			most = same;
			best = fence;
		}
	}
	return best;
}

static void on_extended(struct lock_round *r)
{
	const struct quorum_lock *w = r->context;
	size_t extended = lock_round_count(r, LOCK_EXTEND_EXTENDED);
	int64_t left_ms = lock_round_left_ms(r);

	if (extended >= lock_round_majority(r) && left_ms > 0) {
		struct lock_safety safety = safety_of(r, extended);
		struct json_out *o = answer_begin(r->req, 200);
		out_text(o, "name", w->name);
		out_int(o, "fence", common_fence(r));
		out_int(o, "holds", 1);
		out_left(o, left_ms);
		lock_out_safety(o, &safety);
		answer_end(r->req);
	} else if (lock_round_count(r, LOCK_EXTEND_NOT_HOLDER) >= lock_round_majority(r)) {
		if (extended > 0)
			release_all(r); /* the rest only keeps others out */
		lock_answer_not_holder(r->req, w->name);
	} else {
		lock_round_answer_none(r, EFFECT_UNKNOWN, extended, "extended it");
	}
}

static struct call *ask_to_extend(struct lock_round *r)
{
	const struct quorum_lock *w = r->context;
	struct call *c = call_script(r->req, &lock_extend_script);

	lock_call_keys(c, w->name, lock_parts_to_change);
	call_int(c, r->ttl_ms);
	call_text(c, w->hash);
	return c;
}

void lock_quorum_extend(struct request *req, const struct lock_extend_input *in)
{
	struct lock_round *r =
		begin(req, &(struct quorum_lock){ .name = in->name, .hash = handler_secret_hash(req, in->lock_token) },
		      in->ttl_ms);

	if (r)
		lock_round_ask(r, ask_to_extend, on_extended);
}

/* ---- DELETE /locks/{name} ---- */

static void on_released(struct lock_round *r)
{
	const struct quorum_lock *w = r->context;
	size_t released =
		lock_round_count(r, LOCK_RELEASE_RELEASED) + lock_round_count(r, LOCK_RELEASE_RELEASED_BEFORE);

	if (released >= lock_round_majority(r)) {
		struct json_out *o = answer_begin(r->req, 200);
		lock_out_released(o, w->name, 0, lock_round_agrees(r, LOCK_RELEASE_HELD_FENCE));
		answer_end(r->req);
	} else if (lock_round_count(r, LOCK_RELEASE_NOT_HOLDER) < lock_round_majority(r)) {
		lock_round_answer_none(r, EFFECT_UNKNOWN, released, "released it");
	} else if (w->is_forced) {
		answer_problem(r->req, P_NOT_HOLDER, "no client holds '%s'", w->name.at);
	} else {
		lock_answer_not_holder(r->req, w->name);
	}
}

static struct call *ask_to_release(struct lock_round *r)
{
	const struct quorum_lock *w = r->context;
	struct call *c = call_script(r->req, &lock_release_script);

	lock_call_keys(c, w->name, lock_parts_to_release);
	call_text(c, w->hash);
	call_int(c, w->is_forced);
	return c;
}

void lock_quorum_release(struct request *req, const struct lock_release_input *in)
{
	struct quorum_lock w = { .name = in->name, .hash = TEXT(""), .is_forced = in->force };

	if (!in->force)
		w.hash = handler_secret_hash(req, in->lock_token);
	struct lock_round *r = begin(req, &w, 0);
	if (r)
		lock_round_ask(r, ask_to_release, on_released);
}

/* ---- GET /locks/{name} ---- */

static const struct lock_holder_at holder_of_state = { .outcome = LOCK_GET_HELD,
						       .fence = LOCK_GET_FENCE,
						       .expires_at = LOCK_GET_EXPIRES_AT_MS,
						       .owner = LOCK_GET_HOLDERS + LOCK_HOLDER_OWNER,
						       .metadata = LOCK_GET_HOLDERS + LOCK_HOLDER_METADATA };

/* Free, or not held by a majority: the highest fence that any server gave out. */
static int64_t highest_fence(const struct lock_round *r)
{
	int64_t highest = 0;

	for (size_t i = 0; i < r->of; i++)
		if (r->votes[i].said && reply_int(r->votes[i].reply, LOCK_GET_FENCE) > highest)
			highest = reply_int(r->votes[i].reply, LOCK_GET_FENCE);
	return highest;
}

static void on_state(struct lock_round *r)
{
	const struct quorum_lock *w = r->context;
	struct lock_quorum_holder holder = { 0 };

	if (r->said < lock_round_majority(r)) {
		lock_round_answer_none(r, EFFECT_NONE, r->said, "could be asked");
		return;
	}
	bool is_held = lock_round_holder(r, &holder_of_state, &holder) && holder.left_ms > 0;
	struct json_out *o = answer_begin(r->req, 200);
	out_text(o, "name", w->name);
	out_bool(o, "held", is_held);
	out_text(o, "mode", is_held ? TEXT("exclusive") : (struct text){ 0 });
	lock_out_fence(o, is_held ? reply_int(holder.reply, holder_of_state.fence) : highest_fence(r));
	out_left(o, holder.left_ms);
	out_int(o, "waiter_count", 0);
	out_holders(o, is_held ? &holder : NULL, &holder_of_state);
	answer_end(r->req);
}

static struct call *ask_to_get(struct lock_round *r)
{
	const struct quorum_lock *w = r->context;
	struct call *c = call_script(r->req, &lock_get_script);

	lock_call_keys(c, w->name, lock_parts_to_get);
	return c;
}

void lock_quorum_get(struct request *req, const struct lock_get_input *in)
{
	struct lock_round *r = begin(req, &(struct quorum_lock){ .name = in->name }, 0);

	if (r)
		lock_round_ask(r, ask_to_get, on_state);
}

/* ---- Operations without a quorum ---- */

bool lock_quorum_has_no(struct request *req, const char *what)
{
	if (!lock_quorum_is_mode())
		return false;
	answer_problem(req, P_UNSUPPORTED_WITH_QUORUM, "%s is not supported with --lock-quorum", what);
	return true;
}
