/*
 * lock_slots: see locks/lock_slots.h. One script cannot reach several slots, so the groups are
 * acquired slot by slot, and the locks of one slot at once. A refused request waits at that slot
 * and keeps the locks before it. All requests go in the order of the slots, so no two wait for each
 * other. If the time ends, or the client disconnects, all locks are released before the answer.
 *
 * While the request waits, its locks get leases that cover the wait. At the end all are extended to
 * ttl_ms, which also shows that none was lost.
 */
#include "locks/lock_slots.h"

#include "locks/lock_metrics.h"

enum { COVER_MS = 3000 }; /* added to the wait, for its last attempt and the last step */

struct lock_slots {
	struct lock_acquisition acquisition;
	const struct slots *slots;
	struct lock_acquisition *groups; /* the names of each slot, as an acquisition each */
	size_t held;                     /* how many groups, from the first one, are held */
	size_t queued_at;                /* index + 1 of the group whose wait queues the request has joined; 0: none */
	int64_t fences[LOCKS_MAX];
	int64_t asked_us;    /* when the first group was asked for, or all were extended */
	size_t pending;      /* replies that have not arrived */
	bool is_lost;        /* an extension found that a lock is not held any more */
	struct call *failed; /* the call that failed; NULL: none */
	/*
	 * the reply that refused group `held`; NULL: none. If `failed` is NULL too, locks were lost
	 */
	const struct reply *refusal;
};

static void acquire_next(struct request *req);

/* ---- Release ---- */

static void answer_not_acquired(struct request *req, const struct lock_slots *s)
{
	const struct lock_acquisition *group = &s->groups[s->held];

	if (s->failed) {
		call_problem_answer(s->failed);
	} else if (s->refusal) {
		size_t which = (size_t)reply_int(s->refusal, LOCK_REFUSAL_WHICH);
		req->now_ms = reply_int(s->refusal, REPLY_NOW_MS); /* the clock of the node that refused */
		struct text name = group->names[which < group->count ? which : 0];
		lock_metrics_refused(req, name);
		lock_answer_held(req, name, s->refusal);
	} else {
		answer_problem(req, P_NOT_HOLDER, "a lock was lost or expired before all were acquired; %s",
			       req->has_effect ? "one that could not be released ends with its ttl_ms"
					       : "none is held");
	}
}

static void on_released_one(struct request *req, const struct reply *r)
{
	struct lock_slots *s = req->work;

	req->has_effect = req->has_effect || !r; /* the lock may be held until it expires */
	if (--s->pending == 0)
		answer_not_acquired(req, s);
}

/* Releases the groups before `end`, then answers why. */
static void release_all(struct request *req, size_t end)
{
	struct lock_slots *s = req->work;

	s->pending = end;
	if (end == 0)
		answer_not_acquired(req, s);
	for (size_t i = 0; i < end; i++) {
		struct call *c = lock_call_leave(req, &s->groups[i]);
		call_may_fail(c);
		call_send(c, on_released_one);
	}
}

/*
 * The client disconnected. An attempt that is under way may have succeeded, so all groups are
 * released.
 */
static void leave(struct request *req, const struct reply *r)
{
	const struct lock_slots *s = req->work;

	(void)r;
	for (size_t i = 0; i < s->slots->count; i++)
		call_send(lock_call_leave(req, &s->groups[i]), NULL);
}

/* ---- All groups are held ---- */

/* Answers with a reply as lock_acquire would have returned it for all locks. */
static void answer_acquired(struct request *req, const struct lock_slots *s)
{
	enum { ITEMS = LOCK_ACQUIRE_FENCES + LOCKS_MAX };
	int64_t passed_ms = (loop_now_us() - s->asked_us) / 1000 + 1;
	struct reply items[ITEMS] = { 0 }, *at[ITEMS];
	struct reply all = { .type = REPLY_ARRAY, .count = LOCK_ACQUIRE_FENCES + s->acquisition.count, .items = at };

	for (size_t i = 0; i < ITEMS; i++) {
		items[i].type = REPLY_INTEGER;
		at[i] = &items[i];
	}
	items[REPLY_OUTCOME].integer = LOCK_ACQUIRE_TAKEN;
	items[REPLY_NOW_MS].integer = req->now_ms;
	items[LOCK_ACQUIRE_OWNER] = (struct reply){ .type = REPLY_TEXT, .text = s->acquisition.owner };
	items[LOCK_ACQUIRE_EXPIRES_AT_MS].integer = req->now_ms + s->acquisition.ttl_ms - passed_ms;
	for (size_t i = 0; i < s->acquisition.count; i++)
		items[LOCK_ACQUIRE_FENCES + i].integer = s->fences[i];
	lock_metrics_acquired(req, s->acquisition.names, s->acquisition.count);
	s->acquisition.acquired(req, &s->acquisition, &all);
}

static void finish(struct request *req)
{
	struct lock_slots *s = req->work;

	if (s->failed || s->is_lost || loop_now_us() - s->asked_us >= s->acquisition.ttl_ms * 1000)
		release_all(req, s->slots->count);
	else
		answer_acquired(req, s);
}

static void on_extended(struct request *req, const struct reply *r)
{
	struct lock_slots *s = req->work;

	if (!r)
		s->failed = req->result->failed;
	else if (reply_outcome(r) == LOCK_EXTEND_NOT_HOLDER)
		s->is_lost = true;
	if (--s->pending == 0)
		finish(req);
}

/* Extends all locks to ttl_ms. */
static void extend(struct request *req)
{
	struct lock_slots *s = req->work;

	s->pending = s->acquisition.count;
	s->asked_us = loop_now_us();
	for (size_t i = 0; i < s->acquisition.count; i++) {
		struct call *c = call_script(req, &lock_extend_script);
		lock_call_keys(c, s->acquisition.names[i], lock_parts_to_change);
		call_int(c, s->acquisition.ttl_ms);
		call_text(c, s->acquisition.token_hash);
		call_may_fail(c);
		call_send(c, on_extended);
	}
}

/* ---- One slot after the other ---- */

static void on_decided(struct request *req, const struct reply *r)
{
	struct lock_slots *s = req->work;
	const struct slots_group *group = &s->slots->groups[s->held];

	if (r && (reply_outcome(r) > 0 || wait_left_ms(req) == 0))
		wait_ticket_left(req);

	if (!r) {
		s->failed = req->result->failed;
		release_all(req, s->held + call_problem_is_unknown(s->failed));
	} else if (reply_outcome(r) == LOCK_ACQUIRE_HELD) {
		wait_look_at(req, reply_int(r, LOCK_REFUSAL_NEXT_AT_MS));
		if (wait_park(req, acquire_next))
			return;
		s->refusal = reply_keep(&req->arena, r);
		release_all(req, s->held);
	} else {
		for (size_t i = 0; i < group->count; i++)
			s->fences[group->which[i]] = reply_int(r, LOCK_ACQUIRE_FENCES + i);
		if (++s->held < s->slots->count)
			acquire_next(req);
		else if (req->pending.waiter)
			extend(req);
		else
			finish(req);
	}
}

static void acquire_next(struct request *req)
{
	struct lock_slots *s = req->work;
	struct lock_acquisition *group = &s->groups[s->held];
	int64_t cover_ms = wait_left_ms(req) + COVER_MS;

	if (s->queued_at != s->held + 1) {
		s->queued_at = s->held + 1;
		wait_on_none(req);
		for (size_t i = 0; i < group->count; i++)
			wait_on(req, call_key_name(req, KEY_LOCK, group->names[i], NULL));
	}
	group->ttl_ms = req->pending.waiter && s->acquisition.ttl_ms < cover_ms ? cover_ms : s->acquisition.ttl_ms;
	struct call *c = lock_call_acquire(req, group);
	call_may_fail(c);
	call_send(c, on_decided);
}

/* False: memory ran out. */
static bool group_names(struct request *req, struct lock_slots *s)
{
	struct text *names = arena_alloc(&req->arena, s->acquisition.count * sizeof(*names));

	s->groups = arena_alloc(&req->arena, s->slots->count * sizeof(s->groups[0]));
	if (!names || !s->groups)
		return false;
	for (size_t g = 0; g < s->slots->count; g++) {
		const struct slots_group *group = &s->slots->groups[g];
		s->groups[g] = s->acquisition;
		s->groups[g].names = names;
		s->groups[g].count = group->count;
		for (size_t i = 0; i < group->count; i++)
			*names++ = s->acquisition.names[group->which[i]];
	}
	return true;
}

void lock_slots_acquire(struct request *req, const struct lock_acquisition *given, const struct slots *slots)
{
	struct lock_slots *s = arena_alloc(&req->arena, sizeof(*s));

	if (s) {
		*s = (struct lock_slots){ .acquisition = *given, .slots = slots, .asked_us = loop_now_us() };
		s->acquisition.safety = lock_single;
		s->acquisition.token = handler_random(req, HANDLER_SECRET_DIGITS);
		s->acquisition.token_hash = handler_secret_hash(req, s->acquisition.token);
	}
	if (!s || !group_names(req, s)) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	req->work = s;
	req->on_disconnect = leave;
	if (wait_begin(req, given->wait_ms, given->count))
		acquire_next(req);
}
