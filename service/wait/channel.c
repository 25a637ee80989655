/*
 * channel: see channel.h. It subscribes through redis/subscriber.c, whose callbacks it shares with
 * broadcast.c.
 *
 * An empty channel is kept for a while, because its next waiter often arrives soon, and then need
 * not subscribe again.
 */
#include "wait/channel.h"

#include <search.h>
#include <stdlib.h>

#include "core/loop.h"
#include "process/metrics.h"
#include "redis/subscriber.h"
#include "topology/subscribers.h"
#include "topology/topology.h"
#include "wait/broadcast.h"

enum { KEEP_EMPTY_MS = 10000 };

static const struct channel_callbacks *callbacks;
static void *channels_by_name; /* a tree of tsearch(3) */
static struct channel *channels;
static unsigned count;
static struct loop_timer sweep;

struct channel *channel_first(void)
{
	return channels;
}

static int compare_names(const void *a, const void *b)
{
	struct text x = ((const struct channel *)a)->name, y = ((const struct channel *)b)->name;
	int order = memcmp(x.at, y.at, x.len < y.len ? x.len : y.len);

	return order ? order : (x.len > y.len) - (x.len < y.len);
}

static struct channel *channel_find(struct text name)
{
	struct channel probe = { .name = name };
	void *found = tfind(&probe, &channels_by_name, compare_names);

	return found ? *(struct channel **)found : NULL;
}

/* NULL: memory ran out. */
static struct channel *channel_get(struct text name)
{
	struct channel *ch = channel_find(name);

	if (ch)
		return ch;
	ch = calloc(1, sizeof(*ch) + name.len + 1);
	if (!ch)
		return NULL;
	ch->name = (struct text){ memcpy(ch + 1, name.at, name.len), name.len };
	if (!tsearch(ch, &channels_by_name, compare_names)) {
		free(ch);
		return NULL;
	}
	ch->next = channels;
	if (channels)
		channels->previous = ch;
	channels = ch;
	count++;
	return ch;
}

static void channel_free(struct channel *ch)
{
	tdelete(ch, &channels_by_name, compare_names);
	if (ch->next)
		ch->next->previous = ch->previous;
	if (ch->previous)
		ch->previous->next = ch->next;
	else
		channels = ch->next;
	count--;
	free(ch);
}

bool channel_join(struct channel_waiter *w, struct text name)
{
	struct channel *ch = name.at ? channel_get(name) : NULL;

	if (!ch)
		return false;
	w->channel = ch;
	w->next = NULL;
	w->previous = ch->last;
	if (ch->last)
		ch->last->next = w;
	else
		ch->first = w;
	ch->last = w;
	return true;
}

static bool is_empty(const struct channel *ch)
{
	return !ch->first && !ch->listeners;
}

static void when_empty(struct channel *ch)
{
	if (!is_empty(ch))
		return;
	if (ch->state == CHANNEL_UNSUBSCRIBED) {
		channel_free(ch);
		return;
	}
	ch->empty_since_us = loop_now_us();
	if (!loop_timer_is_set(&sweep))
		loop_timer_set(&sweep, loop_now_us() + KEEP_EMPTY_MS * 1000);
}

void channel_leave(struct channel_waiter *w)
{
	struct channel *ch = w->channel;

	if (w->next)
		w->next->previous = w->previous;
	else
		ch->last = w->previous;
	if (w->previous)
		w->previous->next = w->next;
	else
		ch->first = w->next;
	when_empty(ch);
}

bool channel_can_subscribe(struct text name)
{
	/* the subscriber connects with the other connections, or a moment later */
	return !name.at || !topology_is_away(name);
}

bool channel_listen(struct channel_listener *l, struct text name)
{
	struct channel *ch = name.at ? channel_get(name) : NULL;

	if (!ch)
		return false;
	l->channel = ch;
	l->previous = NULL;
	l->next = ch->listeners;
	if (l->next)
		l->next->previous = l;
	ch->listeners = l;
	if (ch->state == CHANNEL_SUBSCRIBED)
		l->subscribed(l);
	else
		channel_subscribe(ch);
	return true;
}

void channel_unlisten(struct channel_listener *l)
{
	struct channel *ch = l->channel;

	if (!ch)
		return;
	if (l->next)
		l->next->previous = l->previous;
	if (l->previous)
		l->previous->next = l->next;
	else
		ch->listeners = l->next;
	when_empty(ch);
}

static void on_sweep(struct loop_timer *t)
{
	int64_t oldest_us = loop_now_us() - KEEP_EMPTY_MS * 1000;
	bool some_left = false;

	for (struct channel *ch = channels, *next; ch; ch = next) {
		next = ch->next;
		if (!is_empty(ch))
			continue;
		if (ch->empty_since_us > oldest_us) {
			some_left = true;
			continue;
		}
		if (ch->subscriber)
			subscriber_unsubscribe(ch->subscriber, SHARDED, ch->name);
		channel_free(ch);
	}
	if (some_left)
		loop_timer_set(t, loop_now_us() + KEEP_EMPTY_MS * 1000);
}

static void unsubscribed(struct channel *ch)
{
	ch->state = CHANNEL_UNSUBSCRIBED;
	ch->subscriber = NULL;
	callbacks->unsubscribed(ch);
}

/*
 * The former server needs no UNSUBSCRIBE: if it lost the channel's slot, it ends the subscription;
 * if it became a replica, its connections are closed.
 */
void channel_subscribe(struct channel *ch)
{
	struct subscriber *subscriber = subscribers_at(ch->name);

	if (subscriber == ch->subscriber)
		return;
	if (ch->subscriber)
		unsubscribed(ch);
	if (!subscriber || !subscriber_accepts(subscriber))
		return;
	ch->state = CHANNEL_SUBSCRIBING;
	ch->subscriber = subscriber;
	subscriber_subscribe(subscriber, SHARDED, ch->name);
}

/* ---- Callbacks of the subscriber ---- */

static void on_up(struct subscriber *s)
{
	(void)s;
	for (struct channel *ch = channels; ch; ch = ch->next)
		channel_subscribe(ch);
	broadcast_update();
}

static void on_renew(struct subscriber *s)
{
	for (struct channel *ch = channels; ch; ch = ch->next)
		if (ch->subscriber == s)
			subscriber_renew(s, SHARDED, ch->name);
	broadcast_renew(s);
}

/*
 * on_up may call it, when memory to subscribe runs out. So it frees no empty channel: the sweep
 * does.
 */
static void on_down(struct subscriber *s)
{
	bool lost = false;

	for (struct channel *ch = channels; ch; ch = ch->next) {
		if (ch->subscriber != s)
			continue;
		lost = true;
		unsubscribed(ch);
		channel_subscribe(ch); /* another server may have the channel now */
	}
	broadcast_down(s);
	if (lost)
		topology_refresh();
}

/*
 * It is not subscribed again before the next map. By the present map it would be subscribed at the
 * same server, which accepts that even as a replica.
 */
static bool on_taken_away(struct subscriber *s, struct text name)
{
	struct channel *ch = channel_find(name);

	if (!ch || ch->subscriber != s || ch->state != CHANNEL_SUBSCRIBED)
		return false;
	unsubscribed(ch);
	if (is_empty(ch))
		channel_free(ch);
	topology_refresh();
	return true;
}

/* The reply does not name the channel. Replies about the other channels still follow. */
static void on_misdirected(struct subscriber *s)
{
	for (struct channel *ch = channels; ch; ch = ch->next)
		if (ch->subscriber == s && ch->state == CHANNEL_SUBSCRIBING)
			unsubscribed(ch);
	topology_refresh();
}

static void on_subscribed(struct subscriber *s, struct text name)
{
	struct channel *ch = channel_find(name);

	broadcast_subscribed(s, name);
	if (!ch || ch->state == CHANNEL_SUBSCRIBED || (ch->subscriber && ch->subscriber != s))
		return;
	ch->state = CHANNEL_SUBSCRIBED;
	ch->subscriber = s;
	callbacks->subscribed(ch);
	for (struct channel_listener *l = ch->listeners, *next; l; l = next) {
		next = l->next;
		l->subscribed(l);
	}
}

static void on_message(struct subscriber *s, struct text name, struct text message)
{
	struct channel *ch = channel_find(name);

	broadcast_message(s, name, message);
	if (!ch || ch->subscriber != s) /* a former owner may still forward messages of the present one */
		return;
	for (struct channel_listener *l = ch->listeners, *next; l; l = next) {
		next = l->next;
		l->message(l, message);
	}
	if (ch->first && message.len)
		callbacks->message(ch, message);
}

/* The wait queues are gone, so all waiters join again. */
static void on_emptied(struct subscriber *s)
{
	for (struct channel *ch = channels; ch; ch = ch->next)
		if (ch->subscriber == s && ch->first)
			callbacks->message(ch, TEXT("! 0"));
}

static double channels_open(void)
{
	return count;
}

bool channel_open(const struct channel_callbacks *to)
{
	static const struct subscriber_callbacks subscribers = { .up = on_up,
								 .down = on_down,
								 .renew = on_renew,
								 .subscribed = on_subscribed,
								 .message = on_message,
								 .emptied = on_emptied,
								 .unsubscribed = on_taken_away,
								 .misdirected = on_misdirected };

	callbacks = to;
	sweep.expired = on_sweep;
	metrics_gauge("wait_channels", "Channels with waiters or listeners, or that had some a moment ago.",
		      channels_open);
	return topology_subscribe(&subscribers);
}

void channel_close(void)
{
	loop_timer_stop(&sweep);
	while (channels)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the first one has no previous. */
		channel_free(channels);
	broadcast_close();
}
