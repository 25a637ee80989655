/*
 * sentinel: see topology/sentinel.h. It owns a connection to each Sentinel. It reports masters, and
 * must not use them.
 */
#include "topology/sentinel.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/loop.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "redis/connection.h"

enum { PING_MS = 5000, REFRESH_MS = 200, LIST_MS = 1000 };

struct sentinel {
	struct redis_connection *connection;
	unsigned pending;        /* unanswered commands */
	struct loop_timer timer; /* timeout of the next reply; if none is pending, the next PING */
	char trouble[SOCKET_WHY_BYTES + 128];
};

static const struct redis_urls *urls;
static struct sentinel sentinels[REDIS_MOST_HOSTS]; /* in the order of `urls` */
/* The Sentinel that was asked last, or that published the latest switch; may be NULL. */
static struct sentinel *current;
static void (*found)(struct text host, long port);
static void (*listed)(const struct reply *replicas); /* may be NULL */
static struct loop_timer refresh;                    /* when to ask the next Sentinel */
static struct loop_timer list;                       /* when to ask for the replicas */
static int64_t asked_us;
static const char *trouble = "no Sentinel was asked yet";
static enum redis_error trouble_error;

const char *sentinel_trouble(void)
{
	return trouble;
}

enum redis_error sentinel_error(void)
{
	return trouble_error;
}

void sentinel_flush(void)
{
	for (size_t i = 0; i < urls->count; i++)
		connection_flush(sentinels[i].connection);
}

static void set_timer(struct sentinel *s)
{
	loop_timer_set(&s->timer, loop_now_us() + (s->pending > 0 ? config()->redis_timeout_ms : PING_MS) * 1000);
}

static void send(struct sentinel *s, const struct text *args, size_t count)
{
	if (!connection_is_ready(s->connection))
		return; /* the connection was lost between two commands */
	if (!connection_write(s->connection, args, count))
		connection_drop(s->connection, "no memory to ask");
	else if (s->pending++ == 0)
		set_timer(s);
}

static void listen(struct sentinel *s)
{
	send(s, (struct text[]){ TEXT("SUBSCRIBE"), TEXT("+switch-master") }, 2);
}

/*
 * A subscribed connection may send no other command, so it unsubscribes. If the master switches in
 * between, the reply has the new one.
 */
static void ask(struct sentinel *s)
{
	send(s, (struct text[]){ TEXT("UNSUBSCRIBE"), TEXT("+switch-master") }, 2);
	send(s, (struct text[]){ TEXT("SENTINEL"), TEXT("GET-MASTER-ADDR-BY-NAME"), text_of(urls->master) }, 3);
	if (listed)
		send(s, (struct text[]){ TEXT("SENTINEL"), TEXT("REPLICAS"), text_of(urls->master) }, 3);
	listen(s);
}

static void set_current(struct sentinel *s)
{
	current = s;
	asked_us = loop_now_us();
}

/*
 * Asks the next Sentinel that is connected. If there is none, the first one that connects is asked.
 */
static void ask_next(void)
{
	size_t count = urls->count, next = current ? (size_t)(current - sentinels) + 1 : 0;

	current = NULL;
	for (size_t i = 0; i < count && !current; i++)
		if (connection_is_ready(sentinels[(next + i) % count].connection))
			set_current(&sentinels[(next + i) % count]);
	if (current)
		ask(current);
}

static void on_up(struct redis_connection *c)
{
	struct sentinel *s = connection_context(c);

	s->pending = 0;
	if (current)
		listen(s);
	else
		ask_next();
}

static void note(struct sentinel *s, enum redis_error error, const char *why)
{
	bool news = strstr(s->trouble, why) == NULL;

	snprintf(s->trouble, sizeof(s->trouble), "Sentinel %.60s: %s", urls->at[s - sentinels].address, why);
	log_event(news ? LOG_WARN : LOG_DEBUG, "sentinel_trouble", "%s", s->trouble);
	trouble = s->trouble;
	trouble_error = error;
}

static void on_down(struct redis_connection *c, const char *why, bool was_up)
{
	struct sentinel *s = connection_context(c);

	(void)was_up;
	loop_timer_stop(&s->timer);
	s->pending = 0;
	if (strcmp(why, CONNECTION_DRAINED) != 0)
		note(s, connection_error(c), why);
	if (s == current)
		ask_next();
}

static void on_refresh(struct loop_timer *t)
{
	(void)t;
	ask_next();
}

static void ask_soon(void)
{
	int64_t at_us = asked_us + REFRESH_MS * 1000;

	loop_timer_set(&refresh, at_us > loop_now_us() ? at_us : loop_now_us());
}

void sentinel_refresh(void)
{
	if (!current || loop_timer_is_set(&refresh))
		return;
	note(current, ERROR_OTHER, "the master that it reported does not serve; another Sentinel is asked");
	ask_soon();
}

static void on_timer(struct loop_timer *t)
{
	struct sentinel *s = container_of(t, struct sentinel, timer);

	if (s->pending > 0) {
		metrics_count(METRIC_redis_timeouts);
		connection_drop(s->connection, "it did not answer in time");
	} else {
		send(s, (struct text[]){ TEXT("PING") }, 1);
	}
}

/* Takes "<name> <old host> <old port> <host> <port>" from the first Sentinel to publish it. */
static void on_switch(struct sentinel *s, struct text message)
{
	struct text name = text_cut(&message, ' ');

	text_cut(&message, ' ');
	text_cut(&message, ' ');
	struct text host = text_cut(&message, ' '), port = text_cut(&message, ' ');
	if (!text_is(name, urls->master) || !port.at)
		return;
	set_current(s);
	loop_timer_stop(&refresh); /* the next Sentinel may not know of the switch yet */
	found(host, strtol(port.at, NULL, 10));
}

/* Only the reply to REPLICAS is an empty array, or has arrays in it. */
static bool is_list(const struct reply *reply)
{
	return reply->type == REPLY_ARRAY && (reply->count == 0 || reply->items[0]->type == REPLY_ARRAY);
}

/* Returns the value of a name in an array of names and values. */
static struct text value_of(const struct reply *map, const char *name)
{
	for (size_t i = 0; i + 1 < map->count; i += 2)
		if (text_is(reply_text(map, i), name))
			return reply_text(map, i + 1);
	return (struct text){ 0 };
}

bool sentinel_replica(const struct reply *one, struct text *host, long *port)
{
	struct text flags = value_of(one, "flags");

	*host = value_of(one, "ip");
	*port = text_u16(value_of(one, "port"));
	return host->at && *port > 0 && flags.at && !strstr(flags.at, "_down");
}

static void on_list_timer(struct loop_timer *t)
{
	if (current && connection_is_ready(current->connection))
		ask(current);
	loop_timer_set(t, loop_now_us() + LIST_MS * 1000);
}

/*
 * Takes the reply to a question, to (UN)SUBSCRIBE or to PING. It is ignored if another Sentinel has
 * been asked since.
 */
static void on_answer(struct sentinel *s, const struct reply *reply)
{
	char why[SOCKET_WHY_BYTES];

	if (reply->type == REPLY_ERROR && reply_error_begins(reply->text, "ERR No such master")) {
		return; /* this replies to REPLICAS; the reply about the master was nil */
	} else if (reply->type == REPLY_ERROR) {
		connection_reject(s->connection, reply->text.at); /* the user lacks the permission */
	} else if (reply->type == REPLY_NIL) {
		snprintf(why, sizeof(why), "it knows no master named '%s'", urls->master);
		note(s, ERROR_OTHER, why);
		if (s == current)
			ask_soon();
	} else if (is_list(reply)) {
		if (s == current && listed)
			listed(reply);
	} else if (s == current && reply->type == REPLY_ARRAY && reply->count == 2 &&
		   !text_is(reply_text(reply, 0), "pong")) {
		found(reply_text(reply, 0), (long)reply_int(reply, 1));
	}
}

static void on_received(struct redis_connection *c, const struct reply *reply)
{
	struct sentinel *s = connection_context(c);

	if (text_is(reply_text(reply, 0), "message")) {
		on_switch(s, reply_text(reply, 2));
	} else if (s->pending == 0) {
		connection_reject(c, "it sent a reply that no command asked for");
	} else {
		s->pending--;
		set_timer(s);
		on_answer(s, reply);
	}
}

bool sentinel_open(const struct redis_urls *from, void (*on_found)(struct text host, long port),
		   void (*on_listed)(const struct reply *replicas))
{
	static const struct redis_connection_callbacks callbacks = { .up = on_up,
								     .down = on_down,
								     .received = on_received };

	urls = from;
	found = on_found;
	listed = on_listed;
	refresh.expired = on_refresh;
	list.expired = on_list_timer;
	if (listed)
		loop_timer_set(&list, loop_now_us() + LIST_MS * 1000);
	for (size_t i = 0; i < from->count; i++) {
		sentinels[i].timer.expired = on_timer;
		sentinels[i].connection = connection_new(&from->at[i], NULL, &callbacks, &sentinels[i]);
		if (!sentinels[i].connection)
			return false;
	}
	for (size_t i = 0; i < from->count; i++)
		connection_open(sentinels[i].connection);
	return true;
}

void sentinel_close(void)
{
	loop_timer_stop(&refresh);
	loop_timer_stop(&list);
	current = NULL;
	for (size_t i = 0; i < REDIS_MOST_HOSTS; i++) {
		loop_timer_stop(&sentinels[i].timer);
		connection_free(sentinels[i].connection);
		sentinels[i].connection = NULL;
	}
}
