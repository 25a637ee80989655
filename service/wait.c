/*
 * wait: see wait.h. Owns the waits and the channels they wait at; the requests own themselves.
 *
 *	TRYING --wait_park--> PARKED --woken--> READY --wait_run--> TRYING      ends when its request is answered, or its client leaves
 *
 * A wait stands in the line of each of its channels from its first try to its end, so its place is kept however often it tries in vain.
 */
#include "wait.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>

#include "input.h"
#include "loop.h"
#include "metrics.h"
#include "config.h"
#include "redis.h"
#include "request.h"
#include "script.h"
#include "subscriber.h"

enum {
	RUNS_A_TURN = 256,
	KEEP_CHANNEL_MS = 10000, /* a channel that nobody waits at: the next one often comes soon */
};

struct place {
	struct wait *wait;                /* (ref) */
	struct channel *channel;          /* (ref) */
	struct place *next, *previous;    /* in the channel's line, the longest waiting first */
};

enum hearing { UNHEARD, ASKED, HEARD };

struct channel {
	struct text name; /* behind the struct */
	enum hearing hearing;
	bool is_timed;              /* nothing is published here */
	struct place *first, *last; /* who waits here */
	unsigned busy;              /* units of those who are READY or TRYING */
	struct timer due;           /* when time makes progress possible */
	int64_t empty_since_us;
	struct channel *next, *previous; /* in the list of all */
};

enum wait_state { TRYING, PARKED_, READY };

struct wait {
	struct request *req; /* (ref) */
	enum wait_state state;
	bool covered;  /* its channels were heard before this try began */
	bool again;    /* a wake-up came during this try */
	bool woken;    /* there may be something that nobody else was woken for */
	bool is_last;  /* this try */
	bool has_ended; /* its time */
	unsigned units;
	uint64_t number;
	int64_t left_ms; /* as of this try */
	struct timer deadline;
	struct wait *next_ready;
	struct wait *next_keyed;
	struct text scope; /* owned; of its Idempotency-Key */
	size_t count, size;
	struct place places[];
};

static char life[WAIT_TICKET_DIGITS + 1]; /* this daemon's, since its start */
static uint64_t last_number;
static void *channels_by_name; /* tsearch(3) */
static struct channel *channels;
static struct timer sweep;
static struct wait *first_ready, *last_ready;
static struct wait *keyed; /* those with an Idempotency-Key */
static unsigned waiting, channel_count;
static bool draining;

/* ---- Channels ---- */

static int compare_channels(const void *a, const void *b)
{
	struct text x = ((const struct channel *)a)->name, y = ((const struct channel *)b)->name;
	int order = memcmp(x.at, y.at, x.len < y.len ? x.len : y.len);

	return order ? order : (x.len > y.len) - (x.len < y.len);
}

static struct channel *channel_find(struct text name)
{
	struct channel probe = { .name = name };
	void *found = tfind(&probe, &channels_by_name, compare_channels);

	return found ? *(struct channel **)found : NULL;
}

static void on_due(struct timer *t);

/* NULL without memory. */
static struct channel *channel_get(struct text name, bool is_timed)
{
	struct channel *ch = channel_find(name);

	if (ch)
		return ch;
	ch = calloc(1, sizeof(*ch) + name.len + 1);
	if (!ch)
		return NULL;
	ch->name = (struct text){ memcpy(ch + 1, name.at, name.len), name.len };
	if (!tsearch(ch, &channels_by_name, compare_channels)) {
		free(ch);
		return NULL;
	}
	ch->is_timed = is_timed;
	ch->hearing = is_timed ? HEARD : UNHEARD;
	ch->due.expired = on_due;
	ch->next = channels;
	if (channels)
		channels->previous = ch;
	channels = ch;
	channel_count++;
	return ch;
}

static void channel_free(struct channel *ch)
{
	timer_stop(&ch->due);
	tdelete(ch, &channels_by_name, compare_channels);
	if (ch->next)
		ch->next->previous = ch->previous;
	if (ch->previous)
		ch->previous->next = ch->next;
	else
		channels = ch->next;
	channel_count--;
	free(ch);
}

/* Nobody waits here any more. */
static void channel_empty(struct channel *ch)
{
	timer_stop(&ch->due);
	if (ch->is_timed || ch->hearing == UNHEARD) {
		channel_free(ch);
		return;
	}
	ch->empty_since_us = loop_now_us();
	if (!sweep.place)
		timer_set(&sweep, loop_now_us() + KEEP_CHANNEL_MS * 1000);
}

/* Leaves the channels that nobody has waited at for a while. */
static void on_sweep(struct timer *t)
{
	int64_t oldest_us = loop_now_us() - KEEP_CHANNEL_MS * 1000;
	bool some_left = false;

	for (struct channel *ch = channels, *next; ch; ch = next) {
		next = ch->next;
		if (ch->first)
			continue;
		if (ch->empty_since_us > oldest_us) {
			some_left = true;
			continue;
		}
		if (subscriber_is_up())
			subscriber_ignore(ch->name);
		channel_free(ch);
	}
	if (some_left)
		timer_set(t, loop_now_us() + KEEP_CHANNEL_MS * 1000);
}

static void channel_listen(struct channel *ch)
{
	if (ch->hearing != UNHEARD || !subscriber_is_up())
		return;
	ch->hearing = ASKED;
	subscriber_listen(ch->name);
}

/* ---- Waking ---- */

static void set_busy(struct wait *w, bool busy)
{
	for (size_t i = 0; i < w->count; i++) {
		if (busy)
			w->places[i].channel->busy += w->units;
		else
			w->places[i].channel->busy -= w->units;
	}
}

static void make_ready(struct wait *w)
{
	assert(w->state == PARKED_);
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
static void wake_wait(struct wait *w)
{
	w->woken = true;
	if (w->state == PARKED_)
		make_ready(w);
	else if (w->state == TRYING)
		w->again = true;
}

/* Wakes those in `state` until there are enough for `units`; returns what is left. */
static unsigned wake_those(struct channel *ch, enum wait_state state, unsigned units, const struct wait *except)
{
	for (struct place *p = ch->first; p && units > 0; p = p->next) {
		struct wait *w = p->wait;
		if (w->state != state || w->again || w == except)
			continue;
		units -= w->units < units ? w->units : units;
		wake_wait(w);
	}
	return units;
}

/* There is something for `units`: as many as that is enough for try, those who are parked first. `except` knows already. */
static void wake(struct channel *ch, unsigned units, const struct wait *except)
{
	wake_those(ch, TRYING, wake_those(ch, PARKED_, units, except), except);
}

/* Time has made progress possible, perhaps: one tries, and what it is told wakes the others. */
static void on_due(struct timer *t)
{
	wake((struct channel *)((char *)t - offsetof(struct channel, due)), 1, NULL);
}

static void set_due(struct channel *ch, int64_t in_ms)
{
	int64_t due_us = loop_now_us() + (in_ms > 0 ? in_ms : 0) * 1000;

	if (!ch->due.place || ch->due.due_us > due_us)
		timer_set(&ch->due, due_us);
}

/* ---- What the subscriber says ---- */

static bool is_covered(const struct wait *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->places[i].channel->hearing != HEARD)
			return false;
	return true;
}

static void on_up(void)
{
	for (struct channel *ch = channels; ch; ch = ch->next)
		channel_listen(ch);
}

/* What is published now is missed: everybody tries once more when it can be heard again. */
static void on_down(void)
{
	for (struct channel *ch = channels, *next; ch; ch = next) {
		next = ch->next;
		if (ch->is_timed)
			continue;
		ch->hearing = UNHEARD;
		for (struct place *p = ch->first; p; p = p->next)
			p->wait->covered = false;
		if (!ch->first)
			channel_free(ch);
	}
}

/* Who parked before it was heard tries once more. */
static void on_listening(struct text name)
{
	struct channel *ch = channel_find(name);

	if (!ch)
		return;
	ch->hearing = HEARD;
	for (struct place *p = ch->first; p; p = p->next)
		if (p->wait->state == PARKED_ && !p->wait->covered && is_covered(p->wait))
			make_ready(p->wait);
}

/* "@<ticket> <ms>": his turn; others look after that time. "<units> <ms>": so much is there now, and more in that time (-1: nothing). */
static void on_heard(struct text name, struct text message)
{
	struct channel *ch = channel_find(name);
	const char *space = message.at ? strchr(message.at, ' ') : NULL;

	if (!ch || !ch->first || !space)
		return;
	metrics_count(METRIC_wakeups);
	int64_t in_ms = strtoll(space, NULL, 10);
	if (message.at[0] != '@') {
		wake(ch, (unsigned)strtoul(message.at, NULL, 10), NULL);
		if (in_ms >= 0)
			set_due(ch, in_ms);
		return;
	}
	bool is_ours = strncmp(message.at + 1, life, WAIT_TICKET_DIGITS) == 0 && message.at[1 + WAIT_TICKET_DIGITS] == '.';
	uint64_t number = is_ours ? strtoull(message.at + WAIT_TICKET_DIGITS + 2, NULL, 16) : 0;
	for (struct place *p = ch->first; p && is_ours; p = p->next)
		if (p->wait->number == number) {
			wake_wait(p->wait);
			return;
		}
	set_due(ch, in_ms);
}

/* ---- One request ---- */

static void begin_try(struct wait *w)
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
	struct wait *w = (struct wait *)((char *)t - offsetof(struct wait, deadline));

	w->has_ended = true;
	if (w->state == PARKED_)
		make_ready(w);
}

/* False: a request with the same Idempotency-Key waits already. */
static bool claim_key(struct request *req, struct wait *w)
{
	struct text scope = request_scope(req);

	for (struct wait *other = keyed; other; other = other->next_keyed) {
		if (!text_equal(other->scope, scope))
			continue;
		if (text_equal(other->req->body, req->body))
			answer_problem(req, P_IN_PROGRESS, "the first request with this Idempotency-Key still waits");
		else
			answer_problem(req, P_IDEMPOTENCY_KEY_REUSED,
				       "this Idempotency-Key came with another body before");
		return false;
	}
	char *copy = malloc(scope.len + 1);
	if (!copy || !scope.at) {
		free(copy);
		answer_problem(req, P_OVERLOADED, "the daemon is out of memory");
		return false;
	}
	w->scope = (struct text){ memcpy(copy, scope.at, scope.len), scope.len };
	w->next_keyed = keyed;
	keyed = w;
	return true;
}

static void disclaim_key(struct wait *w)
{
	struct wait **at = &keyed;

	if (!w->scope.at)
		return;
	while (*at != w)
		at = &(*at)->next_keyed;
	*at = w->next_keyed;
	free((void *)(uintptr_t)w->scope.at);
}

bool wait_begin(struct request *req, int64_t ms, size_t places)
{
	if (req->wait || ms <= 0 || draining)
		return true;
	struct wait *w = calloc(1, sizeof(*w) + places * sizeof(w->places[0]));
	if (!w) {
		answer_problem(req, P_OVERLOADED, "the daemon is out of memory");
		return false;
	}
	*w = (struct wait){ .req = req, .size = places, .units = 1, .number = ++last_number };
	if (req->idempotency_key.at && !claim_key(req, w)) {
		free(w);
		return false;
	}
	w->deadline.expired = on_deadline;
	req->wait = w;
	waiting++;
	timer_set(&w->deadline, req->started_us + ms * 1000);
	begin_try(w);
	return true;
}

static void stand_at(struct request *req, struct text name, bool is_timed)
{
	struct wait *w = req->wait;

	if (!w || w->count == w->size)
		return; /* since its first try */
	struct channel *ch = name.at ? channel_get(name, is_timed) : NULL;
	if (!ch) {
		req->arena.failed = true; /* which call_send tells */
		return;
	}
	struct place *p = &w->places[w->count++];
	*p = (struct place){ .wait = w, .channel = ch, .previous = ch->last };
	if (ch->last)
		ch->last->next = p;
	else
		ch->first = p;
	ch->last = p;
	ch->busy += w->units;
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

void wait_takes(struct request *req, unsigned units)
{
	struct wait *w = req->wait;

	if (!w || w->units == units)
		return;
	set_busy(w, false);
	w->units = units;
	set_busy(w, true);
}

int64_t wait_left_ms(const struct request *req)
{
	return req->wait ? req->wait->left_ms : 0;
}

int64_t wait_waited_ms(const struct request *req)
{
	return req->wait ? (loop_now_us() - req->started_us) / 1000 : 0;
}

struct text wait_ticket(struct request *req)
{
	if (!req->wait)
		return TEXT("");
	return arena_printf(&req->arena, "%s.%016llx", life, (unsigned long long)req->wait->number);
}

void wait_next(struct request *req, size_t place, unsigned ready, int64_t next_at_ms)
{
	struct wait *w = req->wait;

	if (!w || place >= w->count)
		return;
	struct channel *ch = w->places[place].channel;
	unsigned others = ch->busy - w->units; /* who will see it by themselves */
	w->woken = false;
	if (ready > others)
		wake(ch, ready - others, w);
	if (next_at_ms >= 0)
		set_due(ch, request_ms_until(req, next_at_ms));
}

bool wait_park(struct request *req)
{
	struct wait *w = req->wait;

	if (!w || w->is_last)
		return false;
	for (size_t i = 0; i < w->count; i++)
		channel_listen(w->places[i].channel);
	request_move(req, PARKED);
	w->state = PARKED_;
	set_busy(w, false);
	if (w->again || w->has_ended || (!w->covered && is_covered(w)))
		make_ready(w);
	return true;
}

static void leave_ready(struct wait *w)
{
	struct wait **at = &first_ready, *previous = NULL;

	while (*at != w) {
		previous = *at;
		at = &(*at)->next_ready;
	}
	*at = w->next_ready;
	if (last_ready == w)
		last_ready = previous;
}

static void leave_place(struct place *p)
{
	struct channel *ch = p->channel;

	if (p->next)
		p->next->previous = p->previous;
	else
		ch->last = p->previous;
	if (p->previous)
		p->previous->next = p->next;
	else
		ch->first = p->next;
}

/* Its request was answered, or its client left. A wake-up that it did not use goes to the next. */
static void on_ended(struct request *req)
{
	struct wait *w = req->wait;

	req->wait = NULL;
	timer_stop(&w->deadline);
	disclaim_key(w);
	if (w->state == READY)
		leave_ready(w);
	if (w->state != PARKED_)
		set_busy(w, false);
	for (size_t i = 0; i < w->count; i++) {
		struct channel *ch = w->places[i].channel;
		leave_place(&w->places[i]);
		if (w->woken)
			wake(ch, 1, NULL);
		if (!ch->first)
			channel_empty(ch);
	}
	waiting--;
	free(w);
}

static void on_moved(struct request *req)
{
	if (req->wait)
		req->wait->req = req;
}

/* ---- Each turn, start and end ---- */

static void try_again(struct wait *w)
{
	struct request *req = w->req;

	leave_ready(w);
	begin_try(w);
	metrics_count(METRIC_tries_again);
	request_move(req, CALLING);
	const void *input = input_fill(req);
	if (input)
		req->op->run(req, input);
}

bool wait_run(void)
{
	int64_t most = config()->max_in_flight / 2 + 1;
	unsigned runs = 0;

	for (struct wait *w = first_ready, *next; w && runs < RUNS_A_TURN && redis_in_flight() < most; w = next) {
		next = w->next_ready;
		/* While Redis is away only he whose time is over need know. */
		if (redis_connections() == 0 && !w->has_ended)
			continue;
		try_again(w);
		runs++;
	}
	return runs == RUNS_A_TURN;
}

void wait_drain(void)
{
	draining = true;
	for (struct channel *ch = channels; ch; ch = ch->next)
		for (struct place *p = ch->first; p; p = p->next)
			if (!p->wait->has_ended)
				on_deadline(&p->wait->deadline);
}

static double requests_waiting(void)
{
	return waiting;
}

static double channels_open(void)
{
	return channel_count;
}

bool wait_open(void)
{
	static const struct subscriber_owner owner = { on_up, on_down, on_listening, on_heard };

	random_hex(life, WAIT_TICKET_DIGITS);
	sweep.expired = on_sweep;
	request_tell_wait(on_ended, on_moved);
	metrics_gauge("requests_waiting", "Requests that wait for something to happen.", requests_waiting);
	metrics_gauge("wait_channels", "Channels that somebody waits at, or did a moment ago.", channels_open);
	return subscriber_open(&owner);
}

void wait_close(void)
{
	subscriber_close();
	timer_stop(&sweep);
	while (channels)
		channel_free(channels);
}
