/*
 * broadcast: see broadcast.h. The note of a subscriber is the state of its server:
 *
 *	APART        not subscribed there
 *	SUBSCRIBING  a SUBSCRIBE is pending
 *	SUBSCRIBED   messages arrive
 *
 * Without listeners the channel is kept for a while, as channel.c does.
 */
#include "wait/broadcast.h"

#include <stdlib.h>
#include <string.h>

#include "core/loop.h"
#include "redis/subscriber.h"
#include "topology/subscribers.h"

enum { KEEP_EMPTY_MS = 10000 };
enum note { APART, SUBSCRIBING, SUBSCRIBED };

static struct text name; /* owned; absent: there is no listener, and has not been for a while */
static struct broadcast_listener *listeners;
static struct progress {
	bool is_complete, is_settled;
} progress;
static unsigned version; /* of the map of slots */
static struct loop_timer sweep;

/* ---- The servers ---- */

/* If memory runs out, the subscriber closes its connection, and its note becomes APART again. */
static void subscribe_at(void *context, struct subscriber *s, bool is_away)
{
	struct progress *now = context;

	(void)is_away;
	if (s && subscriber_note(s) == APART && subscriber_accepts(s)) {
		subscriber_set_note(s, SUBSCRIBING);
		subscriber_subscribe(s, CLASSIC, name);
	}
	now->is_complete &= s && subscriber_note(s) == SUBSCRIBED;
	now->is_settled &= !s || subscriber_note(s) != SUBSCRIBING;
}

static void update(bool is_news)
{
	struct progress now = { true, true };

	subscribers_visit(subscribe_at, &now);
	progress = now;
	for (struct broadcast_listener *l = is_news ? listeners : NULL, *next; l; l = next) {
		next = l->next;
		l->subscribed(l);
	}
}

void broadcast_update(void)
{
	bool has_moved = version != subscribers_map_version();

	if (!name.at)
		return;
	version = subscribers_map_version();
	update(has_moved); /* messages about a key whose slot has moved may be lost */
}

/* A server without slots may still be subscribed, even if there is no listener. */
void broadcast_renew(struct subscriber *s)
{
	if (!name.at)
		subscriber_set_note(s, APART);
	else if (subscriber_note(s) != APART)
		subscriber_renew(s, CLASSIC, name);
}

void broadcast_down(struct subscriber *s)
{
	if (subscriber_note(s) == APART)
		return;
	subscriber_set_note(s, APART);
	if (name.at)
		update(false);
}

void broadcast_subscribed(struct subscriber *s, struct text channel)
{
	if (!name.at || !text_equal(channel, name) || subscriber_note(s) != SUBSCRIBING)
		return;
	subscriber_set_note(s, SUBSCRIBED);
	update(true);
}

/* Any client of Redis may publish anything. */
void broadcast_message(struct subscriber *s, struct text channel, struct text message)
{
	struct text rest = message;

	if (!name.at || !text_equal(channel, name))
		return;
	struct text key = text_cut(&rest, '\n');
	if (!rest.at || subscribers_at(key) != s)
		return;
	for (struct broadcast_listener *l = listeners, *next; l; l = next) {
		next = l->next;
		l->message(l, key, rest);
	}
}

/* ---- The listeners ---- */

static void find_away(void *context, struct subscriber *s, bool is_away)
{
	bool *some = context;

	(void)s;
	*some = *some || is_away;
}

bool broadcast_can_subscribe(void)
{
	bool some = false;

	subscribers_visit(find_away, &some);
	return !some;
}

bool broadcast_is_subscribed(void)
{
	return progress.is_complete;
}

bool broadcast_is_settled(void)
{
	return progress.is_settled;
}

static void unsubscribe_at(void *context, struct subscriber *s, bool is_away)
{
	(void)context, (void)is_away;
	if (!s || subscriber_note(s) == APART)
		return;
	subscriber_set_note(s, APART);
	subscriber_unsubscribe(s, CLASSIC, name);
}

static void forget_name(void)
{
	free((char *)(uintptr_t)name.at);
	name = (struct text){ 0 };
	progress = (struct progress){ 0 };
}

/* Otherwise a reply that is still pending would count as the reply to the next SUBSCRIBE. */
static void on_sweep(struct loop_timer *t)
{
	if (listeners)
		return;
	if (!progress.is_settled) {
		loop_timer_set(t, loop_now_us() + KEEP_EMPTY_MS * 1000);
		return;
	}
	subscribers_visit(unsubscribe_at, NULL);
	forget_name();
}

bool broadcast_listen(struct broadcast_listener *l, struct text channel)
{
	if (!name.at && channel.at)
		name = (struct text){ strdup(channel.at), channel.len };
	if (!name.at || !channel.at)
		return false;
	l->is_listening = true;
	l->previous = NULL;
	l->next = listeners;
	if (l->next)
		l->next->previous = l;
	listeners = l;
	if (progress.is_complete)
		l->subscribed(l);
	else
		broadcast_update();
	return true;
}

void broadcast_unlisten(struct broadcast_listener *l)
{
	if (!l->is_listening)
		return;
	l->is_listening = false;
	if (l->next)
		l->next->previous = l->previous;
	if (l->previous)
		l->previous->next = l->next;
	else
		listeners = l->next;
	if (listeners)
		return;
	sweep.expired = on_sweep;
	loop_timer_set(&sweep, loop_now_us() + KEEP_EMPTY_MS * 1000);
}

void broadcast_close(void)
{
	loop_timer_stop(&sweep);
	forget_name();
}
