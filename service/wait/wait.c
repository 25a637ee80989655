/*
 * wait: see wait.h. Owns the waits, each in its request's arena; the requests own themselves, channel.c the places they stand at.
 *
 *	TRYING --wait_park--> ASLEEP --woken--> READY --wait_run--> TRYING      ends when its request is answered, or its client leaves
 *
 * A wait stands in the line of each of its channels from its first try to its end, so its place is kept however often it tries in vain.
 */
#include "wait/wait.h"

#include <assert.h>
#include <stdio.h>

#include "core/budget.h"
#include "process/config.h"
#include "process/metrics.h"
#include "redis/redis.h"
#include "request/answer.h"
#include "request/in_flight_key.h"
#include "request/operation.h"
#include "request/request.h"
#include "request/stream.h"
#include "wait/channel.h"
#include "wait/ticket.h"

enum {
	RUNS_A_TURN = 256,
	TRIES_AT_ONCE = 512,
	MOST_BODY = 64 * 1024, /* it stays for as long as the request waits, parsed up to 24 times as large */
};

enum wait_state { TRYING, ASLEEP, READY };

struct waiter {
	struct request *req; /* (ref) */
	enum wait_state state;
	bool covered;                   /* its channels were heard before this try began */
	bool again;                     /* a wake-up came during this try */
	bool woken;                     /* there may be something that nobody else was woken for */
	bool is_last;                   /* this try */
	bool has_ended;                 /* its time */
	const struct wait_queue *queue; /* (ref) its ticket may be in; NULL: it is in none */
	char mode[TICKET_MODE_SIZE];    /* the end of its ticket */
	unsigned units;
	uint64_t number;
	int64_t left_ms; /* as of this try */
	struct timer deadline;
	struct waiter *next_ready;
	struct in_flight_key *in_flight_key;
	void (*retry)(struct request *req); /* while it is parked */
	size_t count, size;
	struct channel_waiter places[];
};

static uint64_t last_number;
static struct waiter *first_ready, *last_ready;
static unsigned waiting;
static bool draining;

/* ---- Waking ---- */

static void set_busy(struct waiter *w, bool busy)
{
	for (size_t i = 0; i < w->count; i++)
		w->places[i].channel->pending += busy ? w->units : 0U - w->units; /* unsigned: that is - w->units */
}

static void make_ready(struct waiter *w)
{
	assert(w->state == ASLEEP);
	w->state = READY;
	w->next_ready = NULL;
	set_busy(w, true);
	if (last_ready)
		last_ready->next_ready = w;
	else
		first_ready = w;
	last_ready = w;
}

/* An event for this one: it tries now, or once more after the try that is under way. */
static void wake_wait(struct waiter *w)
{
	w->woken = true;
	if (w->state == ASLEEP)
		make_ready(w);
	else if (w->state == TRYING)
		w->again = true;
}

/* Wakes those in `state` until there are enough for `units`; returns what is left. */
static unsigned wake_those(struct channel *ch, enum wait_state state, unsigned units, const struct waiter *except)
{
	for (struct channel_waiter *p = ch->first; p && units > 0; p = p->next) {
		struct waiter *w = p->waiter;
		if (w->state != state || w->again || w == except)
			continue;
		units -= w->units < units ? w->units : units;
		wake_wait(w);
	}
	return units;
}

/* There is something for `units`: as many as that is enough for try, those who are parked first. `except` knows already. */
static void wake(struct channel *ch, unsigned units, const struct waiter *except)
{
	wake_those(ch, TRYING, wake_those(ch, ASLEEP, units, except), except);
}

/* ---- What a channel says ---- */

/* Also when time has made progress possible, perhaps: one tries, and what it is told wakes the others. */
static void on_available(struct channel *ch, unsigned units)
{
	wake(ch, units, NULL);
}

static bool on_offered(struct channel *ch, struct text ticket)
{
	uint64_t number;

	if (!ticket_is_ours(ticket, &number))
		return false;
	for (struct channel_waiter *p = ch->first; p; p = p->next)
		if (p->waiter->number == number) {
			wake_wait(p->waiter);
			return true;
		}
	return false;
}

/* We were taken for dead, a stop or a stall long: all of ours come again. */
static void on_dropped(struct channel *ch, struct text daemon)
{
	if (!ticket_is_instance(daemon))
		return;
	for (struct channel_waiter *p = ch->first; p; p = p->next)
		if (p->waiter->state == ASLEEP)
			make_ready(p->waiter);
		else if (p->waiter->state == TRYING)
			p->waiter->again = true;
}

static bool is_covered(const struct waiter *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->places[i].channel->state != CHANNEL_SUBSCRIBED)
			return false;
	return true;
}

/* What is published now is missed: everybody tries once more when it can be heard again. */
static void on_unsubscribed(struct channel *ch)
{
	for (struct channel_waiter *p = ch->first; p; p = p->next)
		p->waiter->covered = false;
}

/* Who parked before it was heard tries once more. */
static void on_subscribed(struct channel *ch)
{
	for (struct channel_waiter *p = ch->first; p; p = p->next)
		if (p->waiter->state == ASLEEP && !p->waiter->covered && is_covered(p->waiter))
			make_ready(p->waiter);
}

/* ---- One request ---- */

static void begin_try(struct waiter *w)
{
	int64_t until_ms = (w->deadline.due_us - loop_now_us()) / 1000;

	w->state = TRYING;
	w->covered = is_covered(w);
	w->again = false;
	w->left_ms = w->has_ended || until_ms < 1 ? 0 : until_ms;
	w->is_last = w->left_ms == 0;
}

static void on_deadline(struct timer *t)
{
	struct waiter *w = container_of(t, struct waiter, deadline);

	w->has_ended = true;
	if (w->state == ASLEEP)
		make_ready(w);
}

bool wait_has_room(struct request *req)
{
	unsigned staying = waiting + stream_count();

	if (staying < config()->max_parked)
		return true;
	answer_problem(req, P_OVERLOADED, "%u requests wait or stream; --max-parked allows no more", staying);
	return false;
}

static bool fits_body(struct request *req)
{
	if (req->body.len <= MOST_BODY)
		return true;
	answer_problem(req, P_BODY_TOO_LARGE,
		       "the body has %zu bytes; with wait_ms it may have %d; send less, or leave out wait_ms",
		       req->body.len, MOST_BODY);
	return false;
}

bool wait_begin(struct request *req, int64_t ms, size_t places)
{
	assert(!req->waiter);
	if (req->idempotency_key.at && !in_flight_key_is_free(req))
		return false;
	if (ms <= 0 || draining)
		return true;
	if (!fits_body(req) || !wait_has_room(req))
		return false;
	struct waiter *w = arena_alloc(&req->arena, sizeof(*w) + places * sizeof(w->places[0]));
	if (w)
		*w = (struct waiter){ .req = req, .size = places, .units = 1, .number = ++last_number };
	if (!w || (req->idempotency_key.at && !(w->in_flight_key = in_flight_key_add(req)))) {
		answer_no_memory(req, EFFECT_NONE);
		return false;
	}
	w->deadline.expired = on_deadline;
	req->waiter = w;
	req->attempt = arena_mark(&req->arena);
	waiting++;
	timer_set(&w->deadline, req->started_us + ms * 1000);
	begin_try(w);
	return true;
}

static void stand_at(struct request *req, struct text name, bool is_timed)
{
	struct waiter *w = req->waiter;

	if (!w)
		return;
	assert(w->count < w->size);
	struct channel_waiter *p = &w->places[w->count];
	p->waiter = w;
	if (!channel_join(p, name, is_timed)) {
		req->arena.failed = ARENA_OUT_OF_MEMORY; /* which call_send tells */
		return;
	}
	w->count++;
	p->channel->pending += w->units;
	w->covered = is_covered(w);
}

void wait_on(struct request *req, struct text channel)
{
	stand_at(req, channel, false);
}

void wait_on_time(struct request *req, struct text name)
{
	stand_at(req, name, true);
}

/* A wake-up that it did not use goes to the next. */
static void leave_places(struct waiter *w)
{
	for (size_t i = 0; i < w->count; i++) {
		if (w->woken)
			wake(w->places[i].channel, 1, w);
		channel_leave(&w->places[i]);
	}
	w->count = 0;
}

void wait_on_none(struct request *req)
{
	struct waiter *w = req->waiter;

	if (!w)
		return;
	set_busy(w, false);
	leave_places(w);
	w->woken = w->again = false; /* which was for where it stood */
	w->covered = true;
}

void wait_takes(struct request *req, unsigned units)
{
	struct waiter *w = req->waiter;

	if (!w || w->units == units)
		return;
	set_busy(w, false);
	w->units = units;
	set_busy(w, true);
}

int64_t wait_left_ms(const struct request *req)
{
	return req->waiter ? req->waiter->left_ms : 0;
}

int64_t wait_waited_ms(const struct request *req)
{
	return req->waiter ? (loop_now_us() - req->started_us) / 1000 : 0;
}

struct text wait_ticket(struct request *req, const struct wait_queue *queue, const char *mode)
{
	struct waiter *w = req->waiter;
	char ticket[TICKET_SIZE];

	if (!w)
		return TEXT("");
	assert(strlen(mode) < sizeof(w->mode));
	memcpy(w->mode, mode, strlen(mode) + 1);
	w->queue = queue;
	return arena_copy(&req->arena, ticket, ticket_print(ticket, w->number, w->mode));
}

void wait_ticket_left(struct request *req)
{
	if (req->waiter)
		req->waiter->queue = NULL;
}

void wait_next(struct request *req, size_t place, unsigned ready, int64_t next_at_ms)
{
	struct waiter *w = req->waiter;

	if (!w || place >= w->count)
		return;
	struct channel *ch = w->places[place].channel;
	unsigned others = ch->pending - w->units; /* who will see it by themselves */
	w->woken = w->again;                      /* of what came during the try it need not have seen anything */
	if (ready > others)
		wake(ch, ready - others, w);
	if (next_at_ms >= 0)
		channel_due_in(ch, request_ms_until(req, next_at_ms));
}

bool wait_park(struct request *req, void (*retry)(struct request *req))
{
	struct waiter *w = req->waiter;

	if (!w || w->is_last)
		return false;
	for (size_t i = 0; i < w->count; i++)
		channel_subscribe(w->places[i].channel);
	request_move(req, PARKED);
	w->retry = retry;
	w->state = ASLEEP;
	set_busy(w, false);
	if (w->again || w->has_ended || (!w->covered && is_covered(w)))
		make_ready(w);
	return true;
}

static void leave_ready(struct waiter *w)
{
	struct waiter **at = &first_ready, *previous = NULL;

	for (; *at != w; at = &previous->next_ready)
		previous = *at;
	*at = w->next_ready;
	if (last_ready == w)
		last_ready = previous;
}

/* A ticket that nobody has would be offered what others wait for. */
static void leave_queues(const struct waiter *w)
{
	struct text channels[WAIT_PLACES];
	char ticket[TICKET_SIZE];
	size_t len = ticket_print(ticket, w->number, w->mode);

	for (size_t i = 0; i < w->count; i++)
		channels[i] = w->places[i].channel->name;
	ticket_leave(w->req->op, w->queue, channels, w->count, (struct text){ ticket, len });
}

/* Its request was answered, or its client left. */
static void on_ended(struct request *req)
{
	struct waiter *w = req->waiter;

	req->waiter = NULL;
	timer_stop(&w->deadline);
	if (w->queue)
		leave_queues(w);
	in_flight_key_remove(w->in_flight_key);
	if (w->state == READY)
		leave_ready(w);
	if (w->state != ASLEEP)
		set_busy(w, false);
	leave_places(w);
	waiting--;
}

/* ---- Each turn, start and end ---- */

static void try_again(struct waiter *w)
{
	struct request *req = w->req;

	leave_ready(w);
	begin_try(w);
	metrics_count(METRIC_wait_retries);
	request_move(req, CALLING);
	w->retry(req);
}

/* While its server is away, or there is no memory for a try, only he whose time is over need know. */
static bool may_try(const struct waiter *w)
{
	return w->has_ended || w->count == 0 || (redis_serves(w->places[0].channel->name) && !budget_is_full());
}

/* When thousands are to try at once, the last would be answered too late. However much else is under way, one a turn may. */
bool wait_run(void)
{
	unsigned most = (unsigned)config()->max_in_flight / 2 + 1;
	unsigned runs = 0;

	for (struct waiter *w = first_ready, *next; w && runs < RUNS_A_TURN && redis_in_flight() < most; w = next) {
		next = w->next_ready;
		if (!may_try(w))
			continue;
		try_again(w);
		runs++;
		if (most > TRIES_AT_ONCE)
			most = TRIES_AT_ONCE;
	}
	return runs == RUNS_A_TURN;
}

void wait_drain(void)
{
	draining = true;
	for (struct channel *ch = channel_first(); ch; ch = ch->next)
		for (struct channel_waiter *p = ch->first; p; p = p->next)
			if (!p->waiter->has_ended)
				on_deadline(&p->waiter->deadline);
}

static double requests_waiting(void)
{
	return waiting;
}

bool wait_open(void)
{
	static const struct channel_callbacks callbacks = { on_subscribed, on_unsubscribed, on_available, on_offered,
							    on_dropped };

	ticket_open();
	request_set_wait(on_ended);
	metrics_gauge("requests_waiting", "Requests that wait for something to happen.", requests_waiting);
	bool ok = channel_open(&callbacks);
	if (!ok)
		fprintf(stderr, "patternd: no memory to subscribe in Redis\n");
	return ok;
}

void wait_close(void)
{
	ticket_close();
	channel_close();
}
