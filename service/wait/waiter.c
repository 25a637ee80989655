/* waiter: see waiter.h. Owns the list of those that are ready. */
#include "wait/waiter.h"

#include <assert.h>

static struct waiter *first_ready, *last_ready;

/* ---- The list of those that are ready ---- */

struct waiter *waiter_first_ready(void)
{
	return first_ready;
}

void waiter_make_ready(struct waiter *w)
{
	assert(w->state == WAITER_PARKED);
	w->state = WAITER_READY;
	w->next_ready = NULL;
	waiter_set_pending(w, true);
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

void waiter_set_pending(struct waiter *w, bool is_pending)
{
	for (size_t i = 0; i < w->count; i++)
		w->channels[i].channel->pending += is_pending ? w->units : 0U - w->units; /* unsigned: that subtracts */
}

/* It is attempted now, or once more after the attempt under way. */
static void retry_soon(struct waiter *w)
{
	if (w->state == WAITER_PARKED)
		waiter_make_ready(w);
	else if (w->state == WAITER_ATTEMPTING)
		w->retry_due = true;
}

static void wake_one(struct waiter *w)
{
	w->woken = true;
	retry_soon(w);
}

/* Wakes those in `state` until there are enough for `units`; returns what is left. */
static unsigned wake_in_state(struct channel *ch, enum waiter_state state, unsigned units, const struct waiter *except)
{
	for (struct channel_waiter *p = ch->first; p && units > 0; p = p->next) {
		struct waiter *w = p->waiter;
		if (w->state != state || w->retry_due || w == except)
			continue;
		units -= w->units < units ? w->units : units;
		wake_one(w);
	}
	return units;
}

void waiter_wake(struct channel *ch, unsigned units, const struct waiter *except)
{
	wake_in_state(ch, WAITER_ATTEMPTING, wake_in_state(ch, WAITER_PARKED, units, except), except);
}

/* ---- Callbacks of channels ---- */

/* Also when something may be due: one is attempted, and its reply wakes the others. */
static void on_available(struct channel *ch, unsigned units)
{
	waiter_wake(ch, units, NULL);
}

static bool on_offered(struct channel *ch, struct text ticket)
{
	uint64_t number;

	if (!ticket_is_ours(ticket, &number))
		return false;
	for (struct channel_waiter *p = ch->first; p; p = p->next)
		if (p->waiter->number == number) {
			wake_one(p->waiter);
			return true;
		}
	return false;
}

/* This daemon was stopped or stalled, and taken for dead: all of its waiters join again. */
static void on_dropped(struct channel *ch, struct text instance_id)
{
	if (!ticket_is_instance(instance_id))
		return;
	for (struct channel_waiter *p = ch->first; p; p = p->next)
		retry_soon(p->waiter);
}

/* Messages are missed meanwhile: all are attempted once more after the next subscription. */
static void on_unsubscribed(struct channel *ch)
{
	for (struct channel_waiter *p = ch->first; p; p = p->next)
		p->waiter->subscribed = false;
}

static void on_subscribed(struct channel *ch)
{
	for (struct channel_waiter *p = ch->first; p; p = p->next)
		if (p->waiter->state == WAITER_PARKED && !p->waiter->subscribed && waiter_is_subscribed(p->waiter))
			waiter_make_ready(p->waiter);
}

bool waiter_open(void)
{
	static const struct channel_callbacks callbacks = { on_subscribed, on_unsubscribed, on_available, on_offered,
							    on_dropped };

	return channel_open(&callbacks);
}

/* ---- Its channels ---- */

bool waiter_is_subscribed(const struct waiter *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->channels[i].channel->state != CHANNEL_SUBSCRIBED)
			return false;
	return true;
}

bool waiter_join(struct waiter *w, struct text name, bool is_timed)
{
	struct channel_waiter *p = &w->channels[w->count];

	assert(w->count < w->size);
	p->waiter = w;
	if (!channel_join(p, name, is_timed))
		return false;
	w->count++;
	p->channel->pending += w->units;
	w->subscribed = waiter_is_subscribed(w);
	return true;
}

void waiter_leave(struct waiter *w)
{
	for (size_t i = 0; i < w->count; i++) {
		if (w->woken)
			waiter_wake(w->channels[i].channel, 1, w);
		channel_leave(&w->channels[i]);
	}
	w->count = 0;
}
