#include "locks/lock_round.h"

enum { TAGS_A_ROUND = 16, DRIFT_PARTS = 100, DRIFT_LEAST_MS = 2 };

size_t lock_round_majority(const struct lock_round *r)
{
	return r->of / 2 + 1;
}

size_t lock_round_count(const struct lock_round *r, int64_t outcome)
{
	size_t n = 0;

	for (size_t i = 0; i < r->of; i++)
		n += r->votes[i].said && r->votes[i].outcome == outcome;
	return n;
}

bool lock_round_agrees(const struct lock_round *r, size_t item)
{
	size_t most = 0;

	for (size_t i = 0; i < r->of; i++) {
		int64_t number = r->votes[i].said ? reply_int(r->votes[i].reply, item) : 0;
		size_t same = 0;
		for (size_t k = 0; number > 0 && k < r->of; k++)
			same += r->votes[k].said && reply_int(r->votes[k].reply, item) == number;
		most = same > most ? same : most;
	}
	return most >= lock_round_majority(r);
}

static int64_t drift_ms(int64_t ttl_ms)
{
	return (ttl_ms + DRIFT_PARTS - 1) / DRIFT_PARTS + DRIFT_LEAST_MS;
}

int64_t lock_round_left_ms(const struct lock_round *r)
{
	int64_t passed_ms = (loop_now_us() - r->began_us + 999) / 1000;

	return r->ttl_ms - passed_ms - drift_ms(r->ttl_ms);
}

int64_t lock_round_least_ttl_ms(void)
{
	int64_t ttl_ms = 1;

	while (ttl_ms - drift_ms(ttl_ms) < 2) /* an answer takes at least 1 ms */
		ttl_ms++;
	return ttl_ms;
}

/* The timeout is at most a tenth of the lease: a slow server costs the holder that much of it. */
static int64_t timeout_ms(const struct lock_round *r)
{
	int64_t ms = config()->lock_quorum_timeout_ms;

	if (ms > config()->redis_timeout_ms)
		ms = config()->redis_timeout_ms;
	if (r->ttl_ms && ms > r->ttl_ms / 10)
		ms = r->ttl_ms / 10;
	return ms > 0 ? ms : 1;
}

/* ---- One round ---- */

static void decide(struct lock_round *r)
{
	loop_timer_stop(&r->deadline);
	r->number++; /* later answers are ignored */
	r->decide(r);
}

static void leave(struct lock_round *r)
{
	loop_timer_stop(&r->deadline);
	r->number++;
	r->req->on_disconnect = NULL;
	if (r->left)
		r->left(r);
}

static void on_gone(struct request *req, const struct reply *reply)
{
	(void)reply;
	leave(req->work);
}

/* A call is still under way, so the request exists. */
static void on_deadline(struct loop_timer *t)
{
	struct lock_round *r = container_of(t, struct lock_round, deadline);

	if (request_is_disconnected(r->req))
		request_compensate(r->req, NULL);
	else
		decide(r);
}

static void on_vote(struct request *req, const struct reply *reply)
{
	struct lock_round *r = req->work;
	struct lock_vote *v = &r->votes[req->result->tag % TAGS_A_ROUND];

	if (req->result->tag / TAGS_A_ROUND != r->number)
		return;
	v->reply = reply ? reply_keep(&req->arena, reply) : NULL;
	v->said = v->reply != NULL;
	if (v->said)
		v->outcome = reply_outcome(v->reply);
	else
		r->trouble = call_problem_text(req->result->failed);
	r->said += v->said;
	r->pending -= v->awaited;
	if (r->pending == 0)
		decide(r);
}

void lock_round_ask(struct lock_round *r, struct call *(*ask)(struct lock_round *r), void (*then)(struct lock_round *r))
{
	unsigned number = r->number;

	r->said = r->pending = 0;
	for (size_t i = 0; i < r->of; i++) {
		r->votes[i] = (struct lock_vote){ .awaited = number == r->first || r->votes[i].said };
		r->pending += r->votes[i].awaited;
	}
	r->trouble = NULL;
	r->decide = then;
	for (size_t i = 0; i < r->of && r->number == number; i++) {
		struct call *c = ask(r);
		call_member(c, (unsigned)i + 1);
		call_may_fail(c);
		call_without_record(c);
		call_tag(c, number * TAGS_A_ROUND + i);
		call_send(c, on_vote);
	}
	if (r->number == number && r->req->state == CALLING)
		loop_timer_set(&r->deadline, loop_now_us() + timeout_ms(r) * 1000);
}

struct lock_round *lock_round_new(struct request *req, void *context, int64_t ttl_ms)
{
	struct lock_round *r = arena_alloc(&req->arena, sizeof(*r));

	if (!r) {
		answer_no_memory(req, EFFECT_NONE);
		return NULL;
	}
	r->req = req;
	r->context = context;
	r->of = call_members();
	r->ttl_ms = ttl_ms;
	r->deadline.expired = on_deadline;
	req->work = r;
	lock_round_restart(r);
	return r;
}

void lock_round_restart(struct lock_round *r)
{
	r->began_us = loop_now_us();
	r->first = r->number;
	r->req->on_disconnect = on_gone;
}

void lock_round_answer_none(struct lock_round *r, enum effect effect, size_t count, const char *what)
{
	answer_problem_effect(r->req, P_NO_QUORUM, effect,
			      "%zu of %zu lock servers %s; %zu are needed, and %zu answered within %lld ms%s%s", count,
			      r->of, what, lock_round_majority(r), r->said, (long long)timeout_ms(r),
			      r->trouble ? "; " : "", r->trouble ? r->trouble : "");
}

/* ---- The holder ---- */

static bool has_holder(const struct lock_vote *v, const struct lock_holder_at *at)
{
	return v->said && v->outcome == at->outcome;
}

/* Returns the `nth` largest number; 1 is the largest. */
static int64_t largest(const int64_t *list, size_t count, size_t nth)
{
	int64_t best = 0;

	for (size_t i = 0; i < count; i++) {
		size_t not_below = 0;
		for (size_t k = 0; k < count; k++)
			not_below += list[k] >= list[i];
		if (not_below >= nth && list[i] > best)
			best = list[i];
	}
	return best;
}

bool lock_round_holder(const struct lock_round *r, const struct lock_holder_at *at, struct lock_quorum_holder *out)
{
	int64_t rests[LOCK_ROUND_MOST];

	for (size_t i = 0; i < r->of; i++) {
		size_t same = 0;
		for (size_t k = 0; k < r->of && has_holder(&r->votes[i], at); k++) {
			const struct reply *one = r->votes[i].reply, *other = r->votes[k].reply;
			if (has_holder(&r->votes[k], at) && reply_int(one, at->fence) == reply_int(other, at->fence))
				rests[same++] = reply_int(other, at->expires_at) - reply_int(other, REPLY_NOW_MS);
		}
		if (same < lock_round_majority(r))
			continue;
		*out = (struct lock_quorum_holder){ r->votes[i].reply, largest(rests, same, lock_round_majority(r)),
						    same };
		return true;
	}
	return false;
}
