/*
 * limit_slots: see rate_limits/limit_slots.h. The slots are asked one after the other, in their
 * order. If a slot refuses, the slots before it are compensated
 * (lua/rate_limits/ratelimit_compensate.lua), and the slots after it only report their state. So no
 * limit is exceeded, but another caller may be refused before the compensation.
 */
#include "rate_limits/limit_slots.h"
#include "common/key_kinds.h"
#include "rate_limits/rate_limit_response.h"

/* The state of one decision, in the request's arena. */
struct limit_series {
	const struct slots *slots;
	size_t at;                       /* index of the group that is asked; those before it granted */
	int64_t taken_at_ms[CHECKS_MAX]; /* when each check was taken, by the clock of its node */
	size_t pending;                  /* replies that have not arrived after the refusal */
	bool has_ended;                  /* the request was refused, or a call failed */
	struct call *failed;             /* the call that failed; NULL: the request was refused */
};

static void ask_next(struct request *req);

/*
 * A limit that counts refusals is not compensated, unless the request waits: then it was not
 * refused.
 */
static bool was_taken(const struct limit_request *limits, const struct limit_check *c)
{
	return c->cost > 0 && c->decision.fits && (limits->waits || !limit_counts_refused(c));
}

/* ---- Compensating ---- */

/*
 * Returns those checks of a group which took something. `room` must have space for all its checks.
 */
static struct slots_group taken_of(const struct limit_request *limits, size_t g, size_t *room)
{
	const struct slots_group *group = &limits->series->slots->groups[g];
	struct slots_group taken = { room, 0 };

	for (size_t i = 0; i < group->count; i++)
		if (was_taken(limits, &limits->checks[group->which[i]]))
			room[taken.count++] = group->which[i];
	return taken;
}

static struct call *compensate(struct request *req, const struct slots_group *taken, int64_t taken_at_ms)
{
	const struct limit_request *limits = req->work;
	struct call *call = call_script(req, &ratelimit_compensate_script);

	for (size_t i = 0; i < taken->count; i++) {
		const struct limit_check *c = &limits->checks[taken->which[i]];
		limit_call_key(req, call, c);
	}
	call_int(call, taken_at_ms);
	for (size_t i = 0; i < taken->count; i++) {
		const struct limit_check *c = &limits->checks[taken->which[i]];
		call_int(call, c->policy.limit.algorithm);
		call_int(call, c->policy.limit.limit);
		call_int(call, c->policy.limit.window_ms);
		call_int(call, c->cost);
		call_int(call, c->policy.limit.burst);
		call_int(call, c->decision.reset_after_ms);
	}
	return call;
}

/* ---- Refusal ---- */

static bool counts_refused(const struct limit_request *limits, const struct slots_group *group)
{
	for (size_t i = 0; i < group->count; i++)
		if (limit_counts_refused(&limits->checks[group->which[i]]))
			return true;
	return false;
}

/* Notes whether a limit before the refusal counts it, so that it is not compensated. */
static void note_counted(struct request *req)
{
	struct limit_request *limits = req->work;
	const struct limit_series *series = limits->series;

	for (size_t g = 0; g < series->at && !limits->waits; g++) {
		if (!counts_refused(limits, &series->slots->groups[g]))
			continue;
		limits->counted_refusal = true;
		req->has_effect |= series->failed != NULL;
	}
}

static void when_all_answered(struct request *req)
{
	struct limit_request *limits = req->work;
	struct call *failed = limits->series->failed;

	limits->series = NULL; /* only valid in this attempt */
	if (failed)
		call_problem_answer(failed);
	else
		ratelimit_answer(req);
}

static void on_ended(struct request *req, const struct reply *r)
{
	struct limit_request *limits = req->work;
	struct limit_series *series = limits->series;
	const struct slots_group *group = &series->slots->groups[req->result->tag];
	size_t room[CHECKS_MAX];

	if (req->result->tag > series->at) {
		if (r)
			limit_read(req, group, r);
		else
			req->has_effect |= !limits->waits && counts_refused(limits, group);
	} else if (r) {
		struct slots_group taken = taken_of(limits, req->result->tag, room);
		for (size_t i = 0; i < taken.count; i++)
			limits->checks[taken.which[i]].decision =
				limit_decision_of(req, r, true,
						  RATELIMIT_COMPENSATE_DECISIONS + i * LIMIT_DECISION_ITEMS);
	} else {
		req->has_effect = true; /* what was taken stays taken */
	}
	if (--series->pending == 0)
		when_all_answered(req);
}

static void end(struct request *req)
{
	struct limit_request *limits = req->work;
	struct limit_series *series = limits->series;
	struct call *calls[CHECKS_MAX];
	size_t room[CHECKS_MAX], count = 0, groups = series->failed ? series->at : series->slots->count;

	series->has_ended = true;
	note_counted(req);
	for (size_t g = 0; g < groups; g++) {
		const struct slots_group *group = &series->slots->groups[g];
		struct slots_group taken = g < series->at ? taken_of(limits, g, room) : (struct slots_group){ 0 };
		if (g == series->at || (g < series->at && taken.count == 0))
			continue;
		for (size_t i = 0; g > series->at && i < group->count; i++) {
			struct limit_check *c = &limits->checks[group->which[i]];
			c->decision = limit_unused(&c->policy.limit); /* in case the slot cannot be reached */
		}
		struct call *call =
			g < series->at ? compensate(req, &taken, series->taken_at_ms[g]) : limit_call(req, group, true);
		call_tag(call, g);
		call_may_fail(call);
		calls[count++] = call;
	}
	series->pending = count;
	if (count == 0)
		when_all_answered(req);
	for (size_t i = 0; i < count; i++)
		call_send(calls[i], on_ended);
}

/* The client disconnected before all slots were asked. */
static void leave(struct request *req, const struct reply *r)
{
	const struct limit_request *limits = req->work;
	size_t room[CHECKS_MAX];

	if (!limits->series || limits->series->has_ended)
		return;
	struct limit_series *series = limits->series;
	if (r && reply_outcome(r) == RATELIMIT_TAKE_ALL_ADMITTED) {
		limit_read(req, &series->slots->groups[series->at], r);
		series->taken_at_ms[series->at++] = req->now_ms;
	}
	if (series->at == series->slots->count)
		return; /* the request was granted, and counts as if it had been answered */
	for (size_t g = 0; g < series->at; g++) {
		struct slots_group taken = taken_of(limits, g, room);
		if (taken.count)
			call_send(compensate(req, &taken, series->taken_at_ms[g]), NULL);
	}
}

/* ---- One slot after the other ---- */

static void on_decided(struct request *req, const struct reply *r)
{
	struct limit_request *limits = req->work;
	struct limit_series *series = limits->series;

	if (!r) {
		series->failed = req->result->failed;
		end(req);
		return;
	}
	limit_read(req, &series->slots->groups[series->at], r);
	if (reply_outcome(r) != RATELIMIT_TAKE_ALL_ADMITTED) {
		end(req);
		return;
	}
	series->taken_at_ms[series->at++] = req->now_ms;
	if (series->at < series->slots->count) {
		ask_next(req);
		return;
	}
	limits->granted = true;
	ratelimit_answer(req);
}

static void ask_next(struct request *req)
{
	const struct limit_request *limits = req->work;
	struct call *call = limit_call(req, &limits->series->slots->groups[limits->series->at], false);

	call_may_fail(call);
	call_send(call, on_decided);
}

void limit_slots_decide(struct request *req, const struct slots *slots)
{
	struct limit_request *limits = req->work;

	limits->series = arena_alloc(&req->arena, sizeof(*limits->series));
	if (!limits->series) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*limits->series = (struct limit_series){ .slots = slots };
	req->on_disconnect = leave;
	ask_next(req);
}
