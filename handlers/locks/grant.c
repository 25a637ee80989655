/*
 * lock_grant: what happens between a lock's being taken and the answer: with `min_replicas` so many replicas must have it, or it is taken
 * back (lua/locks/lock_revoke.lua) with the record of the request, which may then be tried again.
 *
 * A replay finds what was granted before, and asks the replicas anew; it takes nothing back, since somebody may know the token by now.
 */
#include "locks/acquire.h"

const struct lock_safety lock_single = { "single", 1, 1 };

/* ---- A new grant ---- */

static void on_revoked(struct request *req, const struct reply *r)
{
	const struct lock_take *take = req->work;

	answer_problem_effect(req, P_NOT_ENOUGH_REPLICAS, r ? EFFECT_NONE : EFFECT_UNKNOWN,
			      "%lld of %lld replicas acknowledged '%s' in time, %lld of which are connected; %s",
			      (long long)take->safety.acked - 1, (long long)take->min_replicas, take->names[0].at,
			      (long long)take->safety.of - 1,
			      r ? "it was released"
				: "it could not be released either, and is held until its time is over");
}

static void revoke(struct request *req, const struct lock_take *take)
{
	struct call *c = script_call(req, &lock_revoke_script);

	lock_call_keys(c, take->names[0], lock_parts_to_release);
	call_record_key(c);
	call_text(c, take->token_hash);
	call_may_fail(c);
	call_send(c, on_revoked);
}

static bool has_enough(struct request *req, struct lock_take *take)
{
	take->safety = (struct lock_safety){ "replicated", 1 + (int64_t)req->acked, 1 + (int64_t)req->replicas };
	return req->acked >= take->min_replicas;
}

/* ---- A replay ---- */

static void on_confirmed(struct request *req, const struct reply *r)
{
	struct lock_take *take = req->work;

	(void)r;
	if (has_enough(req, take))
		take->taken(req, take, take->grant);
	else
		answer_problem_effect(
			req, P_NOT_ENOUGH_REPLICAS, EFFECT_APPLIED,
			"'%s' was taken before, but now %lld of %lld replicas acknowledge it in time; it stays as it is",
			take->names[0].at, (long long)req->acked, (long long)take->min_replicas);
}

static void confirm(struct request *req, struct lock_take *take, const struct reply *r)
{
	struct call *c = script_call(req, &lock_confirm_script);

	take->grant = reply_keep(&req->arena, r);
	call_key(c, KEY_LOCK, take->names[0], "fence");
	call_replicas(c, (unsigned)take->min_replicas);
	call_send(c, on_confirmed);
}

void lock_granted(struct request *req, struct lock_take *take, const struct reply *r)
{
	struct text sealed = reply_text(r, LOCK_SEALED);

	if (sealed.len)
		take->token = request_seal(req, sealed); /* that of a replay is the first one, which the record kept */
	take->safety = lock_single;
	if (take->min_replicas == 0 || (!req->replayed && has_enough(req, take)))
		take->taken(req, take, r);
	else if (req->replayed)
		confirm(req, take, r);
	else
		revoke(req, take);
}
