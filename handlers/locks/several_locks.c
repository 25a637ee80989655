/*
 * lock_several: locks in several slots of a Cluster, where no script reaches all of them: taken slot by slot, always in the order of the
 * slots, those of one slot at once. Who is refused waits there, and holds what comes before: since all go in one order, nobody waits in a
 * circle. When the time is over, or the client leaves, everything goes back before that is told.
 *
 * While it waits, the locks that it holds already last for as long as it may wait; at the end all get the ttl_ms that was asked for, which
 * also shows that none was lost meanwhile.
 */
#include "locks/acquire.h"

enum { COVER_MS = 3000 }; /* beyond the wait: its last try, and the last step */

struct several {
	struct lock_take take;
	const struct slots *slots;
	struct lock_take *groups; /* the same for the names of each slot */
	size_t held;              /* groups, the first ones */
	size_t queued_at;         /* the group whose wait queues it is in, from 1 */
	int64_t fences[LOCK_MOST];
	int64_t asked_us;            /* when the time began that the first of them has */
	size_t owed;                 /* answers */
	bool is_lost;                /* one of them was */
	struct call *failed;         /* why it ends; or */
	const struct reply *refusal; /* the group's after those held; or neither: some were lost */
};

static void take_next(struct request *req);

/* ---- Nothing is kept ---- */

static void answer_not_taken(struct request *req, const struct several *s)
{
	const struct lock_take *group = &s->groups[s->held];

	if (s->failed) {
		call_answer_failure(s->failed);
	} else if (s->refusal) {
		size_t which = (size_t)reply_int(s->refusal, LOCK_HELD_WHICH);
		req->now_ms = reply_int(s->refusal, 1); /* of the node that said it */
		lock_answer_held(req, group->names[which < group->count ? which : 0], s->refusal);
	} else {
		answer_problem(req, P_NOT_HOLDER, "a lock was lost or ran out before all were taken; %s",
			       req->has_effect ? "one that could not be released ends with its ttl_ms"
					       : "none is held");
	}
}

static void on_given_back(struct request *req, const struct reply *r)
{
	struct several *s = req->work;

	req->has_effect = req->has_effect || !r; /* it may be held until its time is over */
	if (--s->owed == 0)
		answer_not_taken(req, s);
}

/* The groups before `end` go back, then it is told why. */
static void give_back(struct request *req, size_t end)
{
	struct several *s = req->work;

	s->owed = end;
	if (end == 0)
		answer_not_taken(req, s);
	for (size_t i = 0; i < end; i++) {
		struct call *c = lock_call_leave(req, &s->groups[i]);
		call_may_fail(c);
		call_send(c, on_given_back);
	}
}

/* The client left; whatever was under way may have won. */
static void leave(struct request *req, const struct reply *r)
{
	const struct several *s = req->work;

	(void)r;
	for (size_t i = 0; i < s->slots->count; i++)
		call_send(lock_call_leave(req, &s->groups[i]), NULL);
}

/* ---- All are held ---- */

/* As lock_acquire would have said it of all. */
static void answer_taken(struct request *req, const struct several *s)
{
	enum { ITEMS = LOCK_FENCES + LOCK_MOST };
	int64_t passed_ms = (loop_now_us() - s->asked_us) / 1000 + 1;
	struct reply items[ITEMS] = { 0 }, *at[ITEMS];
	struct reply all = { .type = REPLY_ARRAY, .count = LOCK_FENCES + s->take.count, .items = at };

	for (size_t i = 0; i < ITEMS; i++) {
		items[i].type = REPLY_INTEGER;
		at[i] = &items[i];
	}
	items[0].integer = 1;
	items[1].integer = req->now_ms;
	items[LOCK_OWNER] = (struct reply){ .type = REPLY_TEXT, .text = s->take.owner };
	items[LOCK_EXPIRES_AT].integer = req->now_ms + s->take.ttl_ms - passed_ms;
	for (size_t i = 0; i < s->take.count; i++)
		items[LOCK_FENCES + i].integer = s->fences[i];
	s->take.taken(req, &s->take, &all);
}

static void finish(struct request *req)
{
	struct several *s = req->work;

	if (s->failed || s->is_lost || loop_now_us() - s->asked_us >= s->take.ttl_ms * 1000)
		give_back(req, s->slots->count);
	else
		answer_taken(req, s);
}

static void on_extended(struct request *req, const struct reply *r)
{
	struct several *s = req->work;

	if (!r)
		s->failed = req->failed;
	else if (reply_int(r, 0) < 1)
		s->is_lost = true;
	if (--s->owed == 0)
		finish(req);
}

/* All get the time that was asked for. */
static void extend(struct request *req)
{
	struct several *s = req->work;

	s->owed = s->take.count;
	s->asked_us = loop_now_us();
	for (size_t i = 0; i < s->take.count; i++) {
		struct call *c = script_call(req, &lock_extend_script);
		lock_call_keys(c, s->take.names[i], lock_parts_to_extend);
		call_int(c, s->take.ttl_ms);
		call_text(c, s->take.token_hash);
		call_may_fail(c);
		call_send(c, on_extended);
	}
}

/* ---- One slot after the other ---- */

static void on_decided(struct request *req, const struct reply *r)
{
	struct several *s = req->work;
	const struct slot_group *group = &s->slots->groups[s->held];

	if (r && (reply_int(r, 0) > 0 || wait_left_ms(req) == 0))
		wait_ticket_left(req);

	if (!r) {
		s->failed = req->failed;
		give_back(req, s->held + call_was_lost(s->failed));
	} else if (reply_int(r, 0) < 1) {
		wait_next(req, (size_t)reply_int(r, LOCK_HELD_WHICH), 0, reply_int(r, LOCK_HELD_NEXT_AT));
		if (wait_park(req, take_next))
			return;
		s->refusal = reply_keep(&req->arena, r);
		give_back(req, s->held);
	} else {
		for (size_t i = 0; i < group->count; i++)
			s->fences[group->which[i]] = reply_int(r, LOCK_FENCES + i);
		if (++s->held < s->slots->count)
			take_next(req);
		else if (req->wait)
			extend(req);
		else
			finish(req);
	}
}

static void take_next(struct request *req)
{
	struct several *s = req->work;
	struct lock_take *group = &s->groups[s->held];
	int64_t cover_ms = wait_left_ms(req) + COVER_MS;

	if (s->queued_at != s->held + 1) {
		s->queued_at = s->held + 1;
		wait_on_none(req);
		for (size_t i = 0; i < group->count; i++)
			wait_on(req, script_key(req, KEY_LOCK, group->names[i], NULL));
	}
	group->ttl_ms = req->wait && s->take.ttl_ms < cover_ms ? cover_ms : s->take.ttl_ms;
	struct call *c = lock_call_acquire(req, group);
	call_may_fail(c);
	call_send(c, on_decided);
}

/* False without memory. */
static bool group_names(struct request *req, struct several *s)
{
	struct text *names = arena_alloc(&req->arena, s->take.count * sizeof(*names));

	s->groups = arena_alloc(&req->arena, s->slots->count * sizeof(s->groups[0]));
	if (!names || !s->groups)
		return false;
	for (size_t g = 0; g < s->slots->count; g++) {
		const struct slot_group *group = &s->slots->groups[g];
		s->groups[g] = s->take;
		s->groups[g].names = names;
		s->groups[g].count = group->count;
		for (size_t i = 0; i < group->count; i++)
			*names++ = s->take.names[group->which[i]];
	}
	return true;
}

void lock_take_in_turn(struct request *req, const struct lock_take *given, const struct slots *slots)
{
	struct several *s = arena_alloc(&req->arena, sizeof(*s));

	if (s) {
		*s = (struct several){ .take = *given, .slots = slots, .asked_us = loop_now_us() };
		s->take.safety = lock_single;
		s->take.token = lock_token_new(req);
		s->take.token_hash = lock_token_hash(req, s->take.token);
	}
	if (!s || !group_names(req, s)) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	req->work = s;
	req->gone = leave;
	if (wait_begin(req, given->wait_ms, given->count))
		take_next(req);
}
