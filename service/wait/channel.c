/*
 * channel: see channel.h. Owns the channels; hears through subscriber.c.
 *
 * A channel that nobody stands at any more is kept for a while: the next one often comes soon, and need not subscribe again.
 */
#include "wait/channel.h"

#include <search.h>
#include <stdlib.h>

#include "process/metrics.h"
#include "redis/redis.h"
#include "redis/subscriber.h"

#define LONGEST_MS (INT64_MAX / 2000) /* of a timer, in microseconds and beyond now */

enum { KEEP_EMPTY_MS = 10000 };

static const struct channel_owner *owner;
static void *channels_by_name; /* tsearch(3) */
static struct channel *channels;
static unsigned count;
static struct timer sweep;

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

static void on_due(struct timer *t)
{
	owner->something(container_of(t, struct channel, due), 1);
}

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
	if (!tsearch(ch, &channels_by_name, compare_names)) {
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
	count++;
	return ch;
}

static void channel_free(struct channel *ch)
{
	timer_stop(&ch->due);
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

bool channel_enter(struct place *p, struct text name, bool is_timed)
{
	struct channel *ch = name.at ? channel_get(name, is_timed) : NULL;

	if (!ch)
		return false;
	p->channel = ch;
	p->next = NULL;
	p->previous = ch->last;
	if (ch->last)
		ch->last->next = p;
	else
		ch->first = p;
	ch->last = p;
	return true;
}

static bool is_empty(const struct channel *ch)
{
	return !ch->first && !ch->hearers;
}

static void when_empty(struct channel *ch)
{
	if (!is_empty(ch))
		return;
	if (ch->is_timed || ch->hearing == UNHEARD) {
		channel_free(ch);
		return;
	}
	ch->empty_since_us = loop_now_us();
	if (!timer_is_set(&sweep))
		timer_set(&sweep, loop_now_us() + KEEP_EMPTY_MS * 1000);
}

void channel_leave(struct place *p)
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
	if (!ch->first)
		timer_stop(&ch->due);
	when_empty(ch);
}

bool channel_can_hear(void)
{
	return redis_connections() > 0; /* who hears comes up with the others, a moment later perhaps */
}

bool channel_hear(struct hearer *h, struct text name)
{
	struct channel *ch = name.at ? channel_get(name, false) : NULL;

	if (!ch)
		return false;
	h->channel = ch;
	h->previous = NULL;
	h->next = ch->hearers;
	if (h->next)
		h->next->previous = h;
	ch->hearers = h;
	if (ch->hearing == HEARD)
		h->listening(h);
	else
		channel_listen(ch);
	return true;
}

void channel_unhear(struct hearer *h)
{
	struct channel *ch = h->channel;

	if (!ch)
		return;
	if (h->next)
		h->next->previous = h->previous;
	if (h->previous)
		h->previous->next = h->next;
	else
		ch->hearers = h->next;
	when_empty(ch);
}

static void on_sweep(struct timer *t)
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
		if (ch->ear)
			subscriber_unsubscribe(ch->ear, ch->name);
		channel_free(ch);
	}
	if (some_left)
		timer_set(t, loop_now_us() + KEEP_EMPTY_MS * 1000);
}

static void unheard(struct channel *ch)
{
	ch->hearing = UNHEARD;
	ch->ear = NULL;
	owner->deaf(ch);
}

/* A server that lost the channel's slot unsubscribes us by itself, or has become a replica, and its connections are closed. */
void channel_listen(struct channel *ch)
{
	struct subscriber *ear = ch->is_timed ? NULL : redis_subscriber(ch->name);

	if (ear == ch->ear)
		return;
	if (ch->ear)
		unheard(ch);
	if (!ear)
		return;
	ch->hearing = ASKED;
	ch->ear = ear;
	subscriber_subscribe(ear, ch->name);
}

void channel_due_in(struct channel *ch, int64_t ms)
{
	int64_t some_ms = ms < 0 ? 0 : ms < LONGEST_MS ? ms : LONGEST_MS; /* whoever may publish says what he likes */
	int64_t due_us = loop_now_us() + some_ms * 1000;

	if (!timer_is_set(&ch->due) || ch->due.due_us > due_us)
		timer_set(&ch->due, due_us);
}

/* ---- What the subscriber says ---- */

static void on_up(struct subscriber *s)
{
	(void)s;
	for (struct channel *ch = channels; ch; ch = ch->next)
		channel_listen(ch);
}

/* Perhaps in the middle of on_up, without memory to subscribe: so the empty ones are left to the sweep. */
static void on_down(struct subscriber *s)
{
	bool lost = false;

	for (struct channel *ch = channels; ch; ch = ch->next) {
		if (ch->ear != s || ch->is_timed)
			continue;
		lost = true;
		unheard(ch);
		channel_listen(ch); /* another server has it by now, perhaps */
	}
	if (lost)
		redis_refresh_topology();
}

/* By the map that is known it would be subscribed at the same server again, which takes that even as a replica: not before the next map. */
static bool on_taken_away(struct subscriber *s, struct text name)
{
	struct channel *ch = channel_find(name);

	if (!ch || ch->ear != s || ch->hearing != HEARD)
		return false;
	unheard(ch);
	if (is_empty(ch))
		channel_free(ch);
	redis_refresh_topology();
	return true;
}

/* Which one is not known. The others are confirmed all the same. */
static void on_misdirected(struct subscriber *s)
{
	for (struct channel *ch = channels; ch; ch = ch->next)
		if (ch->ear == s && ch->hearing == ASKED)
			unheard(ch);
	redis_refresh_topology();
}

static void on_listening(struct subscriber *s, struct text name)
{
	struct channel *ch = channel_find(name);

	if (!ch || ch->hearing == HEARD || (ch->ear && ch->ear != s))
		return;
	ch->hearing = HEARD;
	ch->ear = s;
	owner->heard(ch);
	for (struct hearer *h = ch->hearers, *next; h; h = next) {
		next = h->next;
		h->listening(h);
	}
}

/*
 * "<units> <ms>": so much is there now, and more in that time (-1: nothing is known).
 * "@<ticket> <ms>": his turn; others look after that time whether he came.
 * "!<daemon> -1": the tickets of a daemon that seemed to be gone were dropped.
 */
static void on_heard(struct subscriber *s, struct text name, struct text message)
{
	struct channel *ch = channel_find(name);
	const char *space = message.at ? strchr(message.at, ' ') : NULL;

	if (!ch || ch->ear != s) /* a former owner may pass on what the present one says itself */
		return;
	for (struct hearer *h = ch->hearers, *next; h; h = next) {
		next = h->next;
		h->message(h, message);
	}
	if (!ch->first || !space)
		return;
	metrics_count(METRIC_wakeups);
	int64_t in_ms = strtoll(space, NULL, 10);
	struct text who = { message.at + 1, (size_t)(space - message.at - 1) };
	if (message.at[0] == '@') {
		if (owner->turn_of(ch, who))
			return;
	} else if (message.at[0] == '!') {
		owner->dropped(ch, who);
	} else {
		owner->something(ch, (unsigned)strtoull(message.at, NULL, 10));
	}
	if (in_ms >= 0)
		channel_due_in(ch, in_ms);
}

static double channels_open(void)
{
	return count;
}

bool channel_open(const struct channel_owner *told)
{
	static const struct subscriber_callbacks ears = { on_up,    on_down,       on_listening,
							  on_heard, on_taken_away, on_misdirected };

	owner = told;
	sweep.expired = on_sweep;
	metrics_gauge("wait_channels", "Channels that somebody waits at, or did a moment ago.", channels_open);
	return redis_subscribe(&ears);
}

void channel_close(void)
{
	timer_stop(&sweep);
	while (channels)
		channel_free(channels);
}
