/* link_renewal: see redis/connection_renewal.h. */
#include "redis/connection_renewal.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "process/log.h"
#include "redis/connection_private.h"
#include "redis/credentials.h"

/* ---- A successor: a link that takes no calls ---- */

static char
	told[LINK_WHY_BYTES]; /* what was last logged: the same from the next link, or the next attempt, is no news */

/* Not in the middle of what it is reading: its timer comes this same turn. */
static void on_up(struct redis_link *s)
{
	*told = '\0';
	timer_set(&s->timer, loop_now_us());
}

static void on_down(struct redis_link *s, const char *why, bool was_up)
{
	bool news = !was_up && strcmp(told, why) != 0;

	if (news)
		snprintf(told, sizeof(told), "%s", why);
	log_event(news ? LOG_WARN : LOG_DEBUG, "redis_not_renewed", "%.60s: %s; the connections made before serve on",
		  s->target->address, why);
}

static void ignore(struct redis_link *s, const struct reply *reply)
{
	(void)s;
	(void)reply;
}

static const struct redis_link_owner of_callers = { .up = on_up, .down = on_down };
static const struct redis_link_owner of_hearers = { .up = on_up, .down = on_down, .said = ignore };

static void open_successor(struct redis_link *l)
{
	struct redis_link *s = link_new(l->target, l->owner->said ? &of_hearers : &of_callers, NULL);

	if (!s)
		return; /* the connection that is there serves on */
	s->renews = l;
	link_open(s);
}

/* ---- The change ---- */

static void take_connection(struct redis_link *to, const struct redis_link *from)
{
	to->watch.fd = from->watch.fd;
	to->watch.ready = from->watch.ready;
	to->tls = from->tls;
	to->reader = from->reader;
	to->out = from->out;
	to->want_write = from->want_write;
	to->ring = from->ring;
	to->greeting = from->greeting;
	to->permissions = from->permissions;
}

/* Memory that epoll has no room for is the only thing that can go wrong: the link's deadlines find that out. */
static void watch_again(struct redis_link *l)
{
	loop_watch(&l->watch, EPOLLIN | (l->want_write ? EPOLLOUT : 0U));
}

static void retire(struct redis_link *s)
{
	s->retired = true;
	if (s->state == READY)
		s->state = LEAVING;
	timer_set(&s->timer, s->ring.count ? ring_oldest(&s->ring)->due_us : loop_now_us());
}

static void change_connections(struct redis_link *l, struct redis_link *s)
{
	link_flush(l); /* what was gathered goes out on the connection that it was written for */
	if (!link_is_ready(l)) {
		retire(s);
		return;
	}
	if (l->owner->said) {
		l->state = LEAVING; /* nobody may say anything on what is about to go */
		l->owner->down(l, "it is made anew", true);
		l->state = READY;
	}
	struct redis_link was = *l;
	loop_unwatch(&l->watch);
	loop_unwatch(&s->watch);
	take_connection(l, s);
	take_connection(s, &was);
	watch_again(l);
	watch_again(s);
	timer_stop(&l->timer);
	retire(s);
	log_event(LOG_DEBUG, "redis_renewed", "%.60s", l->target->address);
	if (l->owner->said)
		l->owner->up(l);
}

bool renewal_timer(struct redis_link *s)
{
	if (!s->retired && s->state == READY)
		change_connections(s->renews, s);
	else if (!s->retired || (s->ring.count > 0 && s->state != DOWN))
		return false; /* as any link */
	else
		link_free(s);
	return true;
}

/* ---- All of them ---- */

/* The first that is made for `l`; with `also_retired` also one that was. */
static struct redis_link *made_for(const struct redis_link *l, bool also_retired)
{
	struct redis_link *s = link_first();

	while (s && (s->renews != l || (s->retired && !also_retired)))
		s = s->next;
	return s;
}

void renewal_cancel(const struct redis_link *l)
{
	struct redis_link *s = made_for(l, false);

	if (s)
		retire(s);
}

size_t renewal_owed(const struct redis_link *l)
{
	size_t n = 0;

	for (const struct redis_link *s = link_first(); s; s = s->next)
		n += s->renews == l ? s->ring.count : 0;
	return n;
}

void renewal_forget(struct redis_link *l)
{
	for (struct redis_link *s; (s = made_for(l, true));)
		link_free(s);
}

void links_try_now(void)
{
	for (struct redis_link *l = link_first(); l; l = l->next)
		if (l->state == DOWN)
			timer_set(&l->timer, loop_now_us());
}

void links_renew(void)
{
	login_accepted(); /* what was refused is not what will be shown now */
	links_try_now();
	for (struct redis_link *l = link_first(); l; l = l->next) {
		if (l->renews || !link_is_ready(l))
			continue;
		renewal_cancel(l); /* one on its way has what was to be shown before */
		open_successor(l);
	}
}
