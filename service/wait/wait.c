/*
 * wait: see wait.h. It attempts the requests of waiters (waiter.c) when they are woken, and a last
 * time when their time ends.
 */
#include "wait/wait.h"

#include <assert.h>
#include <stdio.h>

#include "call/call.h"
#include "core/budget.h"
#include "process/config.h"
#include "process/metrics.h"
#include "request/answer.h"
#include "request/in_flight_key.h"
#include "request/operation.h"
#include "request/request.h"
#include "request/stream.h"
#include "topology/topology.h"
#include "wait/waiter.h"

enum {
	MAX_CHANNELS = 16,
	ATTEMPTS_AN_ITERATION = 256,
	ATTEMPTS_AT_ONCE = 512,
	/*
	 * the body stays as long as the request waits; parsed, it may take 24 times as much memory
	 */
	MAX_BODY = 64 * 1024,
};

static uint64_t last_number;
static unsigned waiting;
static bool draining;

/* ---- One request ---- */

static void begin_attempt(struct waiter *w)
{
	int64_t until_ms = (w->deadline.due_us - loop_now_us()) / 1000;

	w->state = WAITER_ATTEMPTING;
	waiter_begin(w);
	w->retry_due = false;
	loop_timer_stop(&w->look);
	w->attempted_us = loop_now_us();
	w->left_ms = w->expired || draining || until_ms < 1 ? 0 : until_ms;
}

static void on_deadline(struct loop_timer *t)
{
	struct waiter *w = container_of(t, struct waiter, deadline);

	w->expired = true;
	if (w->state == WAITER_PARKED)
		waiter_make_ready(w);
}

bool wait_has_room(struct request *req)
{
	unsigned parked = waiting + stream_count();

	if (parked < config()->max_parked)
		return true;
	answer_problem(req, P_OVERLOADED,
		       "as many requests wait or stream as --max-parked allows (%u); raise it or retry later",
		       (unsigned)config()->max_parked);
	return false;
}

bool wait_fits_body(const struct request *req)
{
	return req->asked.body.len <= MAX_BODY;
}

static bool fits_body(struct request *req)
{
	if (wait_fits_body(req))
		return true;
	answer_problem(req, P_BODY_TOO_LARGE,
		       "the body has %zu bytes; one that waits by wait_ms or wait_result_ms may have %d",
		       req->asked.body.len, MAX_BODY);
	return false;
}

bool wait_begin(struct request *req, int64_t ms, size_t channels)
{
	assert(!req->pending.waiter);
	if (req->asked.idempotency_key.at && !in_flight_key_is_free(req))
		return false;
	if (ms <= 0 || draining)
		return true;
	if (!fits_body(req) || !wait_has_room(req))
		return false;
	assert(channels <= MAX_CHANNELS);
	struct waiter *w = arena_alloc(&req->arena, sizeof(*w) + channels * sizeof(w->channels[0]));
	if (w)
		*w = (struct waiter){ .req = req, .size = channels, .number = ++last_number };
	if (!w || (req->asked.idempotency_key.at && !(w->in_flight_key = in_flight_key_add(req)))) {
		answer_no_memory(req, EFFECT_NONE);
		return false;
	}
	w->deadline.expired = on_deadline;
	req->pending.waiter = w;
	req->pending.attempt = arena_mark(&req->arena);
	waiting++;
	loop_timer_set(&w->deadline, req->started_us + ms * 1000);
	begin_attempt(w);
	return true;
}

void wait_on(struct request *req, struct text key)
{
	if (req->pending.waiter && !waiter_join(req->pending.waiter, ticket_channel(&req->arena, key)))
		req->arena.failed = ARENA_OUT_OF_MEMORY; /* call_send reports it */
}

/* A request whose channels are not subscribed yet is attempted once they are: see wait_park. */
void wait_on_late(struct request *req)
{
	if (req->pending.waiter && waiter_is_subscribed(req->pending.waiter))
		req->pending.waiter->retry_due = true;
}

void wait_on_none(struct request *req)
{
	struct waiter *w = req->pending.waiter;

	if (!w)
		return;
	waiter_leave(w);
	loop_timer_stop(&w->look);
	w->queued_us = 0;
	w->retry_due = false; /* that wake-up was for the channels that it left */
}

void wait_shares(struct request *req)
{
	if (req->pending.waiter)
		req->pending.waiter->shares = true;
}

/* Returns the channel whose waiters an attempt of `w` may answer; NULL: no channel. */
static struct channel *shared_channel(const struct waiter *w)
{
	return w->shares && w->count ? w->channels[0].channel : NULL;
}

static void end_attempt(struct waiter *w)
{
	struct channel *ch = shared_channel(w);

	if (ch && ch->scout == w)
		ch->scout = NULL;
}

/* A request that parked later than the attempt may wait for a state after the one in the reply. */
void wait_share(struct request *req, const struct reply *r,
		void (*answer)(struct request *other, const struct reply *r))
{
	struct waiter *w = req->pending.waiter;
	struct channel *ch = w ? shared_channel(w) : NULL;
	unsigned count = 0;

	for (struct channel_waiter *p = ch ? ch->first : NULL, *next; p; p = next) {
		struct waiter *other = p->waiter;
		next = p->next;
		if (other->state == WAITER_ATTEMPTING || other->parked_us >= w->attempted_us)
			continue;
		if (++count > ATTEMPTS_AN_ITERATION || budget_is_full())
			break;
		if (other->state == WAITER_READY)
			waiter_leave_ready(other);
		other->state = WAITER_ATTEMPTING;
		other->queue = NULL;
		other->req->now_ms = req->now_ms;
		request_move(other->req, CALLING);
		answer(other->req, r);
	}
}

int64_t wait_left_ms(const struct request *req)
{
	return req->pending.waiter ? req->pending.waiter->left_ms : 0;
}

int64_t wait_waited_ms(const struct request *req)
{
	return req->pending.waiter ? (loop_now_us() - req->started_us) / 1000 : 0;
}

int64_t wait_queued_us(const struct request *req)
{
	return req->pending.waiter && req->pending.waiter->queued_us ? loop_now_us() - req->pending.waiter->queued_us
								     : 0;
}

struct text wait_ticket(struct request *req, const struct ticket_queue *queue, struct text tail)
{
	struct waiter *w = req->pending.waiter;
	char ticket[TICKET_SIZE];

	if (!w)
		return TEXT("");
	w->tail = tail;
	w->queue = queue;
	return arena_copy(&req->arena, ticket, ticket_print(ticket, w->number, tail));
}

bool wait_arguments(struct request *req, struct call *c, const struct ticket_queue *queue, struct text tail)
{
	if (!req->pending.waiter)
		return false;
	call_text(c, wait_ticket(req, queue, tail));
	call_int(c, wait_left_ms(req));
	call_int(c, wait_queued_us(req));
	return true;
}

void wait_ticket_left(struct request *req)
{
	if (req->pending.waiter)
		req->pending.waiter->queue = NULL;
}

void wait_look_at(struct request *req, int64_t at_ms)
{
	if (req->pending.waiter && at_ms >= 0)
		waiter_look_in(req->pending.waiter, request_ms_until(req, at_ms));
}

void wait_look_in(struct request *req, int64_t ms)
{
	if (req->pending.waiter)
		waiter_look_in(req->pending.waiter, ms);
}

bool wait_park(struct request *req, void (*retry)(struct request *req))
{
	struct waiter *w = req->pending.waiter;

	if (!w || w->left_ms == 0)
		return false;
	for (size_t i = 0; i < w->count; i++)
		channel_subscribe(w->channels[i].channel);
	request_move(req, PARKED);
	end_attempt(w);
	w->parked_us = loop_now_us();
	w->retry = retry;
	w->state = WAITER_PARKED;
	if (!w->queued_us)
		w->queued_us = w->attempted_us;
	if (w->retry_due || w->expired || waiter_has_missed(w))
		waiter_make_ready(w);
	return true;
}

/* Calls a script for each slot. A server that no attempt reached does not have the ticket. */
static void leave_queues(const struct waiter *w)
{
	struct text keys[MAX_CHANNELS];
	bool has_left[MAX_CHANNELS];
	char ticket[TICKET_SIZE];
	size_t len = ticket_print(ticket, w->number, w->tail);

	for (size_t i = 0; i < w->count; i++)
		has_left[i] = !(w->reached & 1U << i);
	for (size_t i = 0; i < w->count; i++) {
		size_t count = 0;
		if (has_left[i])
			continue;
		for (size_t j = i; j < w->count; j++) {
			struct text name = w->channels[j].channel->name;
			if (has_left[j] || topology_slot(name) != topology_slot(w->channels[i].channel->name))
				continue;
			keys[count++] = ticket_key(name);
			has_left[j] = true;
		}
		ticket_leave(w->req->op, w->queue, keys, count, (struct text){ ticket, len });
	}
}

/* The request was answered, or the client disconnected. */
static void on_ended(struct request *req)
{
	struct waiter *w = req->pending.waiter;

	req->pending.waiter = NULL;
	loop_timer_stop(&w->deadline);
	loop_timer_stop(&w->look);
	if (w->queue)
		leave_queues(w);
	in_flight_key_remove(w->in_flight_key);
	if (w->state == WAITER_READY)
		waiter_leave_ready(w);
	end_attempt(w);
	waiter_leave(w);
	waiting--;
}

/* ---- Turns, start and end ---- */

static void retry(struct waiter *w)
{
	struct request *req = w->req;

	struct channel *ch = shared_channel(w);

	waiter_leave_ready(w);
	if (ch && !ch->scout)
		ch->scout = w;
	begin_attempt(w);
	metrics_count(METRIC_wait_retries);
	request_move(req, CALLING);
	w->retry(req);
}

static bool is_served(const struct waiter *w)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct channel *ch = w->channels[i].channel;
		assert(ch);
		if (topology_serves(ch->name))
			return true;
	}
	return false;
}

/*
 * A waiter stays parked while none of its servers is reachable, while memory for an attempt is
 * missing, and while the attempt of another request may answer it.
 */
static bool may_retry(const struct waiter *w)
{
	const struct channel *ch = shared_channel(w);

	if (ch && ch->scout && !w->expired)
		return false;
	if (w->expired || w->count == 0)
		return true;
	return is_served(w) && !budget_is_full();
}

/*
 * An iteration attempts a limited number of requests, because the last of thousands would otherwise
 * be answered too late. It always attempts at least one.
 */
bool wait_run(void)
{
	unsigned max_in_flight = (unsigned)config()->max_in_flight / 2 + 1;
	unsigned count = 0;

	for (struct waiter *w = waiter_first_ready(), *next; w && count < ATTEMPTS_AN_ITERATION; w = next) {
		if (topology_in_flight() >= max_in_flight)
			break;
		next = w->next_ready;
		if (!may_retry(w))
			continue;
		retry(w);
		count++;
		if (max_in_flight > ATTEMPTS_AT_ONCE)
			max_in_flight = ATTEMPTS_AT_ONCE;
	}
	return count == ATTEMPTS_AN_ITERATION;
}

void wait_drain(void)
{
	draining = true;
	for (struct channel *ch = channel_first(); ch; ch = ch->next)
		for (struct channel_waiter *p = ch->first; p; p = p->next)
			if (!p->waiter->expired)
				on_deadline(&p->waiter->deadline);
}

static double requests_waiting(void)
{
	return waiting;
}

bool wait_open(void)
{
	ticket_open();
	request_set_wait(on_ended);
	metrics_gauge("requests_waiting", "Requests that wait.", requests_waiting);
	bool ok = waiter_open();
	if (!ok)
		fprintf(stderr, "patternd: no memory to subscribe in Redis\n");
	return ok;
}

void wait_close(void)
{
	ticket_close();
	channel_close();
}
