/* waiter: see waiter.h. It owns the list of ready waiters. */
#include "wait/waiter.h"

#include <assert.h>
#include <stdlib.h>

#include "process/metrics.h"
#include "topology/topology.h"

#define LONGEST_MS (INT64_MAX / 2000) /* limit of a timer: in microseconds it fits, even after the present time */

static struct waiter *first_ready, *last_ready;

/* ---- The list of ready waiters ---- */

struct waiter *waiter_first_ready(void)
{
	return first_ready;
}

void waiter_make_ready(struct waiter *w)
{
	assert(w->state == WAITER_PARKED);
	w->state = WAITER_READY;
	w->next_ready = NULL;
	if (last_ready)
		last_ready->next_ready = w;
	else
		first_ready = w;
	last_ready = w;
}

void waiter_leave_ready(struct waiter *w)
{
	struct waiter **at = &first_ready, *previous = NULL;

	for (; *at != w; at = &previous->next_ready)
		previous = *at;
	*at = w->next_ready;
	if (last_ready == w)
		last_ready = previous;
}

/* ---- Waking ---- */

/* Has the waiter attempted now, or once more after the present attempt. */
static void retry_soon(struct waiter *w)
{
	if (w->state == WAITER_PARKED)
		waiter_make_ready(w);
	else if (w->state == WAITER_ATTEMPTING)
		w->retry_due = true;
}

static void on_look(struct loop_timer *t)
{
	retry_soon(container_of(t, struct waiter, look));
}

void waiter_look_in(struct waiter *w, int64_t ms)
{
	int64_t some_ms = ms < LONGEST_MS ? ms : LONGEST_MS; /* any client of Redis may publish any number */
	int64_t due_us = loop_now_us() + some_ms * 1000;

	if (ms <= 0) {
		retry_soon(w);
	} else if (!loop_timer_is_set(&w->look) || w->look.due_us > due_us) {
		w->look.expired = on_look;
		loop_timer_set(&w->look, due_us);
	}
}

/* ---- Callbacks of channels ---- */

/* Returns the bit of a channel in `heard` and `reached`. */
static uint16_t bit_of(const struct channel_waiter *p)
{
	return (uint16_t)(1U << (p - p->waiter->channels));
}

/* lua/lib/waiters.lua has the form of messages. */
static void on_message(struct channel *ch, struct text message)
{
	char *end;

	metrics_count(METRIC_wakeups);
	if (message.at[0] == '!') {
		for (struct channel_waiter *p = ch->first; p; p = p->next)
			waiter_look_in(p->waiter, strtoll(message.at + 1, NULL, 10));
		return;
	}
	uint64_t number = strtoull(message.at, &end, 16);
	for (struct channel_waiter *p = ch->first; p; p = p->next)
		if (p->waiter->number == number) {
			waiter_look_in(p->waiter, strtoll(end, NULL, 10));
			return;
		}
}

/*
 * Messages are missed until the next subscription, after which all are attempted once more. A
 * waiter does not need all its channels for that: the server of another one may stay away.
 */
static void on_unsubscribed(struct channel *ch)
{
	for (struct channel_waiter *p = ch->first; p; p = p->next)
		p->waiter->heard &= (uint16_t)~bit_of(p);
}

static void on_subscribed(struct channel *ch)
{
	for (struct channel_waiter *p = ch->first; p; p = p->next)
		if (p->waiter->state == WAITER_PARKED && !(p->waiter->heard & bit_of(p)))
			waiter_make_ready(p->waiter);
}

bool waiter_open(void)
{
	static const struct channel_callbacks callbacks = { on_subscribed, on_unsubscribed, on_message };

	return channel_open(&callbacks);
}

/* ---- The channels of a waiter ---- */

static void begin_at(struct channel_waiter *p)
{
	if (p->channel->state == CHANNEL_SUBSCRIBED)
		p->waiter->heard |= bit_of(p);
	if (!topology_is_away(p->channel->name))
		p->waiter->reached |= bit_of(p);
}

void waiter_begin(struct waiter *w)
{
	w->heard = 0;
	for (size_t i = 0; i < w->count; i++)
		begin_at(&w->channels[i]);
}

bool waiter_has_missed(const struct waiter *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (!(w->heard & bit_of(&w->channels[i])) && w->channels[i].channel->state == CHANNEL_SUBSCRIBED)
			return true;
	return false;
}

bool waiter_is_subscribed(const struct waiter *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->channels[i].channel->state == CHANNEL_SUBSCRIBED)
			return true;
	return false;
}

bool waiter_join(struct waiter *w, struct text name)
{
	struct channel_waiter *p = &w->channels[w->count];

	assert(w->count < w->size);
	*p = (struct channel_waiter){ .waiter = w };
	if (!channel_join(p, name))
		return false;
	w->count++;
	begin_at(p);
	return true;
}

void waiter_leave(struct waiter *w)
{
	for (size_t i = 0; i < w->count; i++)
		channel_leave(&w->channels[i]);
	w->count = 0;
}
