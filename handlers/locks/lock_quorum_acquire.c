/* The scripts are lua/locks/lock_quorum_take.lua and lua/locks/lock_quorum_fence.lua. */
#include "locks/lock_quorum_acquire.h"

#include "locks/lock_metrics.h"
#include "locks/lock_quorum_call.h"

/*
 * Before the next try, a waiting request pauses for a random time up to PAUSE_FIRST_MS, which
 * doubles after each try up to PAUSE_LAST_MS. The libraries of Redlock pause for 200 ms, too.
 */
enum { PAUSE_FIRST_MS = 25, PAUSE_LAST_MS = 200 };

static const char *const parts_to_acquire[] = { "fence", "readers", NULL }, *const parts_to_raise[] = { "fence", NULL };

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
					 owner.len ? "'" : "", owner.len ? owner.at : "a client without an owner",
					 owner.len ? "'" : "", (long long)holder.left_ms);
	else
		o = answer_begin_problem(
			req, P_LOCK_HELD,
			"no client has a majority for '%s'; others have %zu of %zu lock servers, as several tried at once "
			"or one lost it: retry after a random pause",
			w->name.at, lock_round_count(r, holder_of_refusal.outcome), r->of);
	out_text(o, "name", w->name);
	out_int(o, "waiter_count", 0);
	lock_quorum_out_holders(o, is_held ? &holder : NULL, &holder_of_refusal);
	answer_end(req);
}

static void answer_acquired(struct lock_round *r, int64_t left_ms)
{
	const struct quorum_lock *w = r->context;
	struct lock_safety safety = lock_quorum_safety(r, lock_round_count(r, LOCK_QUORUM_FENCE_FENCED));
	struct json_out *o = answer_begin(r->req, 201);

	lock_metrics_acquired(r->req, &w->name, 1);
	out_text(o, "name", w->name);
	out_text(o, "token", w->token);
	out_int(o, "fence", w->fence);
	lock_out_owner(o, w->owner);
	out_string(o, "mode", "exclusive");
	out_int(o, "holds", 1);
	lock_quorum_out_left(o, left_ms);
	out_int(o, "waited_ms", wait_waited_ms(r->req));
	lock_out_safety(o, &safety);
	answer_end(r->req);
}

static void attempt(struct request *req);

/*
 * Call it when all that the try acquired was released. Returns false if the request does not wait,
 * or its time has ended.
 */
static bool tries_again(struct lock_round *r)
{
	struct quorum_lock *w = r->context;

	r->req->on_disconnect = NULL; /* there is nothing to release */
	wait_look_in(r->req, handler_random_up_to(w->pause_ms));
	w->pause_ms = w->pause_ms * 2 < PAUSE_LAST_MS ? w->pause_ms * 2 : PAUSE_LAST_MS;
	return wait_park(r->req, attempt);
}

/*
 * Answers 503 at the first try. A request that has begun to wait tries again instead, since the
 * servers may come back.
 */
static void answer_none(struct lock_round *r, size_t count, const char *what)
{
	const struct quorum_lock *w = r->context;

	if (w->tries == 1 || !tries_again(r))
		lock_round_answer_none(r, EFFECT_NONE, count, what);
}

static void on_fenced(struct lock_round *r)
{
	size_t acknowledged = lock_round_count(r, LOCK_QUORUM_FENCE_FENCED);
	int64_t left_ms = lock_round_left_ms(r);

	if (acknowledged >= lock_round_majority(r) && left_ms > 0) {
		answer_acquired(r, left_ms);
		return;
	}
	lock_quorum_release_all(r);
	answer_none(r, acknowledged,
		    left_ms > 0 ? "confirmed it, so it was released" : "confirmed it after it had expired");
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
 * The highest proposal becomes the fence once a majority knows it. Each later majority then has a
 * server that knows it, and proposes a higher number.
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
	lock_quorum_release_all(r);
	if (r->said < lock_round_majority(r))
		answer_none(r, granted, "granted it");
	else if (!tries_again(r))
		answer_held(r);
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

/* Answers 400 and returns false if a quorum does not support what the request asks for. */
static bool is_possible(struct request *req, const struct lock_acquire_input *in, bool is_shared)
{
	const char *field = is_shared           ? "/mode"
			    : in->lock_token.at ? "Lock-Token:"
			    : in->min_replicas  ? "/min_replicas"
						: NULL;

	if (field)
		answer_field_problem(req, P_UNSUPPORTED_WITH_QUORUM, field,
				     "is not supported with --lock-quorum, which has no shared mode and no re-entry");
	else if (in->ttl_ms < lock_round_least_ttl_ms())
		answer_field_problem(
			req, P_OUT_OF_RANGE, "/ttl_ms",
			"must be at least %lld with --lock-quorum, which subtracts 1 %% and 2 ms for differences of clocks",
			(long long)lock_round_least_ttl_ms());
	return !field && in->ttl_ms >= lock_round_least_ttl_ms();
}

/*
 * Each attempt has a new token, since the release of the attempt before may reach a server late,
 * over a connection that was lost.
 */
static void attempt(struct request *req)
{
	struct lock_round *r = req->work;
	struct quorum_lock *w = r->context;

	w->tries++;
	w->fence = 0;
	w->token = handler_random(req, HANDLER_SECRET_DIGITS);
	w->hash = handler_secret_hash(req, w->token);
	lock_round_restart(r);
	lock_round_ask(r, ask_to_acquire, on_asked);
}

void lock_quorum_acquire(struct request *req, const struct lock_acquire_input *in)
{
	struct quorum_lock w = { .name = in->name, .owner = in->owner, .pause_ms = PAUSE_FIRST_MS };

	if (!is_possible(req, in, in->mode == 2))
		return;
	w.metadata = lock_metadata(in->metadata);
	struct lock_round *r = lock_quorum_begin(req, &w, in->ttl_ms);
	if (!r || !wait_begin(req, in->wait_ms, 0))
		return;
	r->left = lock_quorum_release_all;
	attempt(req);
}
