/*
 * lock_acquire: see locks/acquire.h. The script is lua/locks/lock_acquire.lua. If the client
 * disconnects, lua/locks/lock_leave.lua releases what was acquired for it.
 *
 * With `min_replicas`, a grant counts once that many replicas have it. Otherwise
 * lua/locks/lock_revoke.lua releases the lock and deletes the request's idempotency record, so that
 * a retry starts again. A replay asks the replicas again and releases nothing, because the client
 * may have the token.
 */
#include "locks/acquire.h"

#include "locks/lock_metrics.h"
#include "locks/lock_slots.h"
#include "locks/lock_waiters.h"

/* ---- A new grant ---- */

static void on_revoked(struct request *req, const struct reply *r)
{
	const struct lock_acquisition *acquisition = req->work;

	answer_problem_effect(
		req, P_NOT_ENOUGH_REPLICAS, r ? EFFECT_NONE : EFFECT_UNKNOWN,
		"%lld of the %lld required replicas acknowledged '%s' in time, and %lld are connected; %s",
		(long long)acquisition->safety.acknowledged - 1, (long long)acquisition->min_replicas,
		acquisition->names[0].at, (long long)acquisition->safety.servers - 1,
		r ? "it was released" : "it could not be released either, and is held until it expires");
}

static void revoke(struct request *req, const struct lock_acquisition *acquisition)
{
	struct call *c = call_script(req, &lock_revoke_script);

	lock_call_keys(c, acquisition->names[0], lock_parts_to_change);
	call_record_key(c, call_key_name(req, KEY_LOCK, acquisition->names[0], NULL));
	call_text(c, acquisition->token_hash);
	call_may_fail(c);
	call_send(c, on_revoked);
}

static bool has_enough(struct request *req, struct lock_acquisition *acquisition)
{
	acquisition->safety = (struct lock_safety){ "replicated", 1 + (int64_t)req->result->acked,
						    1 + (int64_t)req->result->replicas };
	return req->result->acked >= acquisition->min_replicas;
}

/* ---- A replay ---- */

static void on_confirmed(struct request *req, const struct reply *r)
{
	struct lock_acquisition *acquisition = req->work;

	(void)r;
	if (has_enough(req, acquisition))
		acquisition->acquired(req, acquisition, acquisition->grant);
	else
		answer_problem_effect(
			req, P_NOT_ENOUGH_REPLICAS, EFFECT_APPLIED,
			"the first request acquired '%s', but now %lld of the %lld required replicas acknowledge it; it stays held",
			acquisition->names[0].at, (long long)req->result->acked, (long long)acquisition->min_replicas);
}

static void confirm(struct request *req, struct lock_acquisition *acquisition, const struct reply *r)
{
	struct call *c = call_script(req, &lock_confirm_script);

	acquisition->grant = reply_keep(&req->arena, r);
	call_key(c, KEY_LOCK, acquisition->names[0], "fence");
	call_replicas(c, (unsigned)acquisition->min_replicas);
	call_send(c, on_confirmed);
}

static void grant(struct request *req, struct lock_acquisition *acquisition, const struct reply *r)
{
	struct text sealed = reply_text(r, LOCK_ACQUIRE_SEALED);

	if (sealed.len)
		/* a replay returns the first token, which the record kept */
		acquisition->token = seal_mask(req, sealed);
	acquisition->safety = lock_single;
	if (acquisition->min_replicas == 0 || (!req->result->replayed && has_enough(req, acquisition))) {
		lock_metrics_acquired(req, acquisition->names, acquisition->count);
		acquisition->acquired(req, acquisition, r);
	} else if (req->result->replayed) {
		confirm(req, acquisition, r);
	} else {
		revoke(req, acquisition);
	}
}

/* ---- Acquiring ---- */

/*
 * The lease may have expired in a replay, or when Redis or the daemon was slow: it is counted from
 * when the attempt was sent.
 */
static bool has_expired(const struct request *req, const struct lock_acquisition *acquisition, const struct reply *r)
{
	return reply_int(r, LOCK_ACQUIRE_EXPIRES_AT_MS) <= req->now_ms ||
	       loop_now_us() - acquisition->asked_us >= acquisition->ttl_ms * 1000;
}

static void attempt(struct request *req);

static void answer_held(struct request *req, struct text name, const struct reply *r)
{
	lock_metrics_refused(req, name);
	lock_answer_held(req, name, r);
}

static void on_decided(struct request *req, const struct reply *r)
{
	struct lock_acquisition *acquisition = req->work;
	int64_t outcome = reply_outcome(r);
	size_t which = outcome == LOCK_ACQUIRE_HELD ? (size_t)reply_int(r, LOCK_REFUSAL_WHICH) : 0;

	if (!req->result->replayed && (outcome > 0 || wait_left_ms(req) == 0))
		wait_ticket_left(req);
	if (outcome == LOCK_ACQUIRE_NOT_HOLDER) {
		lock_answer_not_holder(req, acquisition->names[0]);
	} else if (outcome == LOCK_ACQUIRE_MODE_CONFLICT) {
		answer_problem(req, P_LOCK_MODE_CONFLICT, "the token holds '%s' in mode %s; release it first",
			       acquisition->names[0].at, reply_text(r, LOCK_ACQUIRE_HELD_MODE).at);
	} else if (outcome == LOCK_ACQUIRE_HELD) {
		wait_look_at(req, reply_int(r, LOCK_REFUSAL_NEXT_AT_MS));
		req->on_disconnect = NULL; /* there is nothing to release */
		if (!wait_park(req, attempt))
			answer_held(req, acquisition->names[which < acquisition->count ? which : 0], r);
	} else if (has_expired(req, acquisition, r)) {
		lock_answer_expired(req, acquisition->names[0]);
	} else {
		grant(req, acquisition, r);
	}
}

/*
 * The client disconnected. Releases what the present attempt may have acquired, unless a retry of
 * the client could claim it.
 */
static void on_disconnect(struct request *req, const struct reply *r)
{
	const struct lock_acquisition *acquisition = req->work;

	(void)r;
	if (!req->asked.idempotency_key.at)
		call_send(lock_call_leave(req, acquisition), NULL);
}

static void attempt(struct request *req)
{
	struct lock_acquisition *acquisition = req->work;
	struct call *c = lock_call_acquire(req, acquisition);

	req->on_disconnect = on_disconnect;
	acquisition->asked_us = loop_now_us();
	call_send(c, on_decided);
}

void lock_acquire_begin(struct request *req, const struct lock_acquisition *given)
{
	const struct slots *slots = slots_of(req, given->names, given->count);
	struct lock_acquisition *acquisition = arena_alloc(&req->arena, sizeof(*acquisition));

	if (!slots || !slots_bear_key(req, slots))
		return;
	if (!acquisition) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*acquisition = *given;
	if (given->wait_ms)
		acquisition->ticket_tail = lock_ticket_tail(req, given->owner, strcmp(given->mode, "shared") == 0);
	if (slots->count > 1) {
		lock_slots_acquire(req, acquisition, slots);
		return;
	}
	acquisition->token = handler_random(req, HANDLER_SECRET_DIGITS);
	acquisition->token_hash = handler_secret_hash(req, acquisition->token);
	req->work = acquisition;
	if (!wait_begin(req, given->presented.at ? 0 : given->wait_ms, given->count))
		return;
	for (size_t i = 0; i < given->count; i++)
		wait_on(req, call_key_name(req, KEY_LOCK, given->names[i], NULL));
	attempt(req);
}
