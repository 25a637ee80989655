/*
 * ratelimit_several: one decision over limits in several slots of a Cluster: taken slot by slot, in the order of the slots. When one refuses,
 * what was taken before is given back (lua/rate_limits/ratelimit_give_back.lua), and those behind it only say how they stand. So no limit is ever
 * exceeded, but another caller may be refused meanwhile.
 */
#include "kinds.h"
#include "rate_limits/rate_limits.h"

enum { HEAD_FIELDS = 2, CHECK_FIELDS = 5 }; /* of ratelimit_give_back's reply */

/* In the request's arena. */
struct turns {
	const struct slots *slots;
	size_t at;                       /* the group that is asked; those before it were granted */
	int64_t taken_at_ms[CHECKS_MAX]; /* when each of them was, by its node's clock */
	size_t owed;                     /* answers, once it was refused */
	bool is_over;                    /* it was refused or failed: nothing is taken any more */
	struct call *failed;             /* why it ends; NULL: it was refused */
};

static void take_next(struct request *req);

/* A refusal that counts too is no reason to give back. */
static bool was_taken(const struct check *c)
{
	const struct limit *l = &c->policy.limit;

	return c->cost > 0 && c->decision.fits && !(l->algorithm == SLIDING_WINDOW && l->count_refused);
}

/* ---- Giving back ---- */

/* The checks of a group that took something; `room` for as many as it has. */
static struct slot_group taken_of(const struct take *t, size_t g, size_t *room)
{
	const struct slot_group *group = &t->turns->slots->groups[g];
	struct slot_group taken = { room, 0 };

	for (size_t i = 0; i < group->count; i++)
		if (was_taken(&t->checks[group->which[i]]))
			room[taken.count++] = group->which[i];
	return taken;
}

static struct call *give_back(struct request *req, const struct slot_group *taken, int64_t taken_at_ms)
{
	const struct take *t = req->work;
	struct call *call = script_call(req, &ratelimit_give_back_script);

	for (size_t i = 0; i < taken->count; i++) {
		const struct check *c = &t->checks[taken->which[i]];
		call_key(call, KEY_LIMIT, c->key, state_part(req, c->owner, c->policy.limit.algorithm));
	}
	call_int(call, taken_at_ms);
	for (size_t i = 0; i < taken->count; i++) {
		const struct check *c = &t->checks[taken->which[i]];
		call_int(call, c->policy.limit.algorithm);
		call_int(call, c->policy.limit.limit);
		call_int(call, c->policy.limit.window_ms);
		call_int(call, c->cost);
		call_int(call, c->policy.limit.burst);
		call_int(call, c->decision.reset_after_ms);
	}
	return call;
}

/* ---- Refused ---- */

static void when_all_told(struct request *req)
{
	struct take *t = req->work;
	struct call *failed = t->turns->failed;

	t->turns = NULL; /* of this attempt only */
	if (failed)
		call_answer_failure(failed);
	else
		ratelimit_answer(req);
}

static void on_told(struct request *req, const struct reply *r)
{
	struct take *t = req->work;
	struct turns *turns = t->turns;
	const struct slot_group *group = &turns->slots->groups[req->tag];
	size_t room[CHECKS_MAX];

	if (req->tag > turns->at) {
		if (r)
			ratelimit_read(req, group, r);
	} else if (r) {
		struct slot_group taken = taken_of(t, req->tag, room);
		for (size_t i = 0; i < taken.count; i++)
			t->checks[taken.which[i]].decision = decision_of(req, r, true, HEAD_FIELDS + i * CHECK_FIELDS);
	} else {
		req->has_effect = true; /* it stays taken */
	}
	if (--turns->owed == 0)
		when_all_told(req);
}

/* A limit that cannot be asked any more is told as one that was never used. */
static void tell_unused(struct check *c)
{
	int64_t burst = c->policy.limit.burst;

	c->decision = (struct decision){ .fits = true, .capacity = burst, .remaining = burst, .retry_after_ms = -1 };
}

static void end(struct request *req)
{
	struct take *t = req->work;
	struct turns *turns = t->turns;
	struct call *calls[CHECKS_MAX];
	size_t room[CHECKS_MAX], count = 0, groups = turns->failed ? turns->at : turns->slots->count;

	turns->is_over = true;
	for (size_t g = 0; g < groups; g++) {
		const struct slot_group *group = &turns->slots->groups[g];
		struct slot_group taken = g < turns->at ? taken_of(t, g, room) : (struct slot_group){ 0 };
		if (g == turns->at || (g < turns->at && taken.count == 0))
			continue;
		for (size_t i = 0; g > turns->at && i < group->count; i++)
			tell_unused(&t->checks[group->which[i]]);
		struct call *call = g < turns->at ? give_back(req, &taken, turns->taken_at_ms[g])
						  : ratelimit_call(req, group, true);
		call_tag(call, g);
		call_may_fail(call);
		calls[count++] = call;
	}
	turns->owed = count;
	if (count == 0)
		when_all_told(req);
	for (size_t i = 0; i < count; i++)
		call_send(calls[i], on_told);
}

/* The client left in the middle. */
static void leave(struct request *req, const struct reply *r)
{
	const struct take *t = req->work;
	size_t room[CHECKS_MAX];

	if (!t->turns || t->turns->is_over)
		return;
	struct turns *turns = t->turns;
	if (r && reply_int(r, 0) > 0) {
		ratelimit_read(req, &turns->slots->groups[turns->at], r);
		turns->taken_at_ms[turns->at++] = req->now_ms;
	}
	if (turns->at == turns->slots->count)
		return; /* it is granted, and counts, as one that is answered */
	for (size_t g = 0; g < turns->at; g++) {
		struct slot_group taken = taken_of(t, g, room);
		if (taken.count)
			call_send(give_back(req, &taken, turns->taken_at_ms[g]), NULL);
	}
}

/* ---- One slot after the other ---- */

static void on_decided(struct request *req, const struct reply *r)
{
	struct take *t = req->work;
	struct turns *turns = t->turns;

	if (!r) {
		turns->failed = req->failed;
		end(req);
		return;
	}
	ratelimit_read(req, &turns->slots->groups[turns->at], r);
	if (reply_int(r, 0) < 1) {
		end(req);
		return;
	}
	turns->taken_at_ms[turns->at++] = req->now_ms;
	if (turns->at < turns->slots->count) {
		take_next(req);
		return;
	}
	t->granted = true;
	ratelimit_answer(req);
}

static void take_next(struct request *req)
{
	const struct take *t = req->work;
	struct call *call = ratelimit_call(req, &t->turns->slots->groups[t->turns->at], false);

	call_may_fail(call);
	call_send(call, on_decided);
}

void ratelimit_decide_in_turn(struct request *req, const struct slots *slots)
{
	struct take *t = req->work;

	t->turns = arena_alloc(&req->arena, sizeof(*t->turns));
	if (!t->turns) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*t->turns = (struct turns){ .slots = slots };
	req->gone = leave;
	take_next(req);
}
