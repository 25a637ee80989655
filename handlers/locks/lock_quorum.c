/* lock_quorum: see locks/lock_quorum.h. It uses the scripts of other locks. */
#include "locks/lock_quorum.h"

#include "locks/lock_quorum_call.h"

bool lock_quorum_is_mode(void)
{
	return call_members() > 0;
}

/* ---- POST /locks/{name}/extend ---- */

static bool has_extended(const struct lock_vote *v)
{
	return v->said && v->outcome == LOCK_EXTEND_EXTENDED;
}

/*
 * Returns the fence that most servers report; a server that missed it reports another. Of two
 * equally frequent ones it returns the smaller, which is safe.
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
		struct lock_safety safety = lock_quorum_safety(r, extended);
		struct json_out *o = answer_begin(r->req, 200);
		out_text(o, "name", w->name);
		out_int(o, "fence", common_fence(r));
		out_int(o, "holds", 1);
		lock_quorum_out_left(o, left_ms);
		lock_out_safety(o, &safety);
		answer_end(r->req);
	} else if (lock_round_count(r, LOCK_EXTEND_NOT_HOLDER) >= lock_round_majority(r)) {
		if (extended > 0)
			lock_quorum_release_all(r); /* the remaining grants only keep other clients out */
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
		lock_quorum_begin(req,
				  &(struct quorum_lock){ .name = in->name,
							 .hash = handler_secret_hash(req, in->lock_token) },
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
	struct lock_round *r = lock_quorum_begin(req, &w, 0);
	if (r)
		lock_round_ask(r, ask_to_release, on_released);
}

/* ---- GET /locks/{name} ---- */

static const struct lock_holder_at holder_of_state = { .outcome = LOCK_GET_HELD,
						       .fence = LOCK_GET_FENCE,
						       .expires_at = LOCK_GET_EXPIRES_AT_MS,
						       .owner = LOCK_GET_HOLDERS + LOCK_HOLDER_OWNER,
						       .metadata = LOCK_GET_HOLDERS + LOCK_HOLDER_METADATA };

/* The lock is free, or no majority holds it: returns the highest fence that a server reports. */
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
	lock_quorum_out_left(o, holder.left_ms);
	out_int(o, "waiter_count", 0);
	lock_quorum_out_holders(o, is_held ? &holder : NULL, &holder_of_state);
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
	struct lock_round *r = lock_quorum_begin(req, &(struct quorum_lock){ .name = in->name }, 0);

	if (r)
		lock_round_ask(r, ask_to_get, on_state);
}

/* ---- Operations that a quorum does not support ---- */

bool lock_quorum_has_no(struct request *req, const char *what)
{
	if (!lock_quorum_is_mode())
		return false;
	answer_problem(req, P_UNSUPPORTED_WITH_QUORUM, "%s is not supported with --lock-quorum", what);
	return true;
}
