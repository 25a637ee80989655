/*
 * sentinel: see redis/sentinel.h. Owns a connection to each Sentinel; reports masters, but does not
 * use them.
 */
#include "redis/sentinel.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/loop.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "redis/connection.h"

enum { PING_MS = 5000, REFRESH_MS = 200 };

struct watcher {
	struct redis_connection *connection;
	unsigned pending;   /* unanswered commands */
	struct timer timer; /* deadline of the next reply; none pending: next PING */
	char trouble[SOCKET_WHY_BYTES + 128];
};

static const struct redis_urls *sentinels;
static struct watcher watchers[REDIS_MOST_HOSTS]; /* one for each of `sentinels` */
static struct watcher *current;                   /* asked last, or published the latest switch; NULL: none */
static void (*told)(struct text host, long port);
static struct timer refresh; /* when to ask the next one */
static int64_t asked_us;
static const char *trouble = "no Sentinel was asked yet";

const char *sentinel_trouble(void)
{
	return trouble;
}

void sentinel_flush(void)
{
	for (size_t i = 0; i < sentinels->count; i++)
		connection_flush(watchers[i].connection);
}

static void set_timer(struct watcher *w)
{
	timer_set(&w->timer, loop_now_us() + (w->pending > 0 ? config()->redis_timeout_ms : PING_MS) * 1000);
}

static void say(struct watcher *w, const struct text *args, size_t count)
{
	if (!connection_is_ready(w->connection))
		return; /* lost between two commands */
	if (!connection_say(w->connection, args, count))
		connection_drop(w->connection, "no memory to ask");
	else if (w->pending++ == 0)
		set_timer(w);
}

static void listen(struct watcher *w)
{
	say(w, (struct text[]){ TEXT("SUBSCRIBE"), TEXT("+switch-master") }, 2);
}

/* A subscribed connection may ask nothing else. Switches meanwhile are in the reply. */
static void ask(struct watcher *w)
{
	say(w, (struct text[]){ TEXT("UNSUBSCRIBE"), TEXT("+switch-master") }, 2);
	say(w, (struct text[]){ TEXT("SENTINEL"), TEXT("GET-MASTER-ADDR-BY-NAME"), text_of(sentinels->master) }, 3);
	listen(w);
}

static void set_current(struct watcher *w)
{
	current = w;
	asked_us = loop_now_us();
}

/* Asks the next one that is connected; if there is none, the first to connect. */
static void ask_next(void)
{
	size_t count = sentinels->count, next = current ? (size_t)(current - watchers) + 1 : 0;

	current = NULL;
	for (size_t i = 0; i < count && !current; i++)
		if (connection_is_ready(watchers[(next + i) % count].connection))
			set_current(&watchers[(next + i) % count]);
	if (current)
		ask(current);
}

static void on_up(struct redis_connection *c)
{
	struct watcher *w = connection_context(c);

	w->pending = 0;
	if (current)
		listen(w);
	else
		ask_next();
}

static void note(struct watcher *w, const char *why)
{
	bool news = strstr(w->trouble, why) == NULL;

	snprintf(w->trouble, sizeof(w->trouble), "Sentinel %.60s: %s", sentinels->at[w - watchers].address, why);
	log_event(news ? LOG_WARN : LOG_DEBUG, "sentinel_trouble", "%s", w->trouble);
	trouble = w->trouble;
}

static void on_down(struct redis_connection *c, const char *why, bool was_up)
{
	struct watcher *w = connection_context(c);

	(void)was_up;
	timer_stop(&w->timer);
	w->pending = 0;
	if (strcmp(why, CONNECTION_DRAINED) != 0)
		note(w, why);
	if (w == current)
		ask_next();
}

static void on_refresh(struct timer *t)
{
	(void)t;
	ask_next();
}

static void ask_soon(void)
{
	int64_t at_us = asked_us + REFRESH_MS * 1000;

	timer_set(&refresh, at_us > loop_now_us() ? at_us : loop_now_us());
}

void sentinel_refresh(void)
{
	if (!current || timer_is_set(&refresh))
		return;
	note(current, "the master that it told of does not serve; another one is asked");
	ask_soon();
}

static void on_timer(struct timer *t)
{
	struct watcher *w = container_of(t, struct watcher, timer);

	if (w->pending > 0) {
		metrics_count(METRIC_redis_timeouts);
		connection_drop(w->connection, "it did not answer in time");
	} else {
		say(w, (struct text[]){ TEXT("PING") }, 1);
	}
}

/* "<name> <old host> <old port> <host> <port>", from the first Sentinel to publish it. */
static void on_switch(struct watcher *w, struct text message)
{
	struct text name = text_cut(&message, ' ');

	text_cut(&message, ' ');
	text_cut(&message, ' ');
	struct text host = text_cut(&message, ' '), port = text_cut(&message, ' ');
	if (!text_is(name, sentinels->master) || !port.at)
		return;
	set_current(w);
	told(host, strtol(port.at, NULL, 10));
}

/*
 * The reply to a question, to (UN)SUBSCRIBE or to PING. Ignored if another Sentinel was asked
 * meanwhile.
 */
static void on_answer(struct watcher *w, const struct reply *reply)
{
	char why[SOCKET_WHY_BYTES];

	if (reply->type == REPLY_ERROR) {
		connection_reject(w->connection, reply->text.at); /* no permission */
	} else if (reply->type == REPLY_NIL) {
		snprintf(why, sizeof(why), "it knows no master named '%s'", sentinels->master);
		note(w, why);
		if (w == current)
			ask_soon();
	} else if (w == current && reply->type == REPLY_ARRAY && reply->count == 2 &&
		   !text_is(reply_text(reply, 0), "pong")) {
		told(reply_text(reply, 0), (long)reply_int(reply, 1));
	}
}

static void on_received(struct redis_connection *c, const struct reply *reply)
{
	struct watcher *w = connection_context(c);

	if (text_is(reply_text(reply, 0), "message")) {
		on_switch(w, reply_text(reply, 2));
	} else if (w->pending == 0) {
		connection_reject(c, "it received something that was not asked for");
	} else {
		w->pending--;
		set_timer(w);
		on_answer(w, reply);
	}
}

bool sentinel_open(const struct redis_urls *from, void (*found)(struct text host, long port))
{
	static const struct redis_connection_callbacks callbacks = { .up = on_up,
								     .down = on_down,
								     .received = on_received };

	sentinels = from;
	told = found;
	refresh.expired = on_refresh;
	for (size_t i = 0; i < from->count; i++) {
		watchers[i].timer.expired = on_timer;
		watchers[i].connection = connection_new(&from->at[i], &callbacks, &watchers[i]);
		if (!watchers[i].connection)
			return false;
	}
	for (size_t i = 0; i < from->count; i++)
		connection_open(watchers[i].connection);
	return true;
}

void sentinel_close(void)
{
	timer_stop(&refresh);
	current = NULL;
	for (size_t i = 0; i < REDIS_MOST_HOSTS; i++) {
		timer_stop(&watchers[i].timer);
		connection_free(watchers[i].connection);
		watchers[i].connection = NULL;
	}
}
