/*
 * subscriber: see redis/subscriber.h.
 *
 * Each SSUBSCRIBE, SUNSUBSCRIBE and PING is answered. A reply that is late closes the connection;
 * while there are channels, PING detects a dead one.
 */
#include "redis/subscriber.h"

#include <stdlib.h>
#include <string.h>

#include "core/loop.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "redis/connection.h"

enum { PING_MS = 10000 };

struct subscriber {
	const struct subscriber_callbacks *callbacks; /* (ref) */
	struct redis_connection *connection;          /* owned */
	unsigned pending;                             /* unanswered commands */
	unsigned unsubscribing;                       /* of them, SUNSUBSCRIBE */
	unsigned channels;                            /* subscribed, or asked for */
	bool is_cluster;                              /* a node of a Cluster */
	struct loop_timer timer;                      /* next reply overdue, or PING due */
	bool error_logged;                            /* on this connection */
};

bool subscriber_is_up(const struct subscriber *s)
{
	return connection_is_ready(s->connection);
}

static void set_timer(struct subscriber *s)
{
	if (s->pending > 0)
		timer_set(&s->timer, loop_now_us() + config()->redis_timeout_ms * 1000);
	else if (s->channels > 0)
		timer_set(&s->timer, loop_now_us() + PING_MS * 1000);
	else
		timer_stop(&s->timer);
}

static void send(struct subscriber *s, const struct text *args, size_t count)
{
	if (!connection_write(s->connection, args, count)) {
		connection_drop(s->connection, "no memory to subscribe");
		return;
	}
	if (s->pending++ == 0)
		set_timer(s);
}

void subscriber_subscribe(struct subscriber *s, struct text channel)
{
	s->channels++;
	send(s, (struct text[]){ TEXT("SSUBSCRIBE"), channel }, 2);
}

void subscriber_unsubscribe(struct subscriber *s, struct text channel)
{
	if (s->channels > 0)
		s->channels--;
	s->unsubscribing++;
	send(s, (struct text[]){ TEXT("SUNSUBSCRIBE"), channel }, 2);
}

void subscriber_flush(struct subscriber *s)
{
	connection_flush(s->connection);
}

static void on_timer(struct loop_timer *t)
{
	struct subscriber *s = container_of(t, struct subscriber, timer);

	if (s->pending > 0) {
		metrics_count(METRIC_redis_timeouts);
		connection_drop(s->connection, "no answer to a subscription in time");
	} else {
		send(s, (struct text[]){ TEXT("PING") }, 1);
	}
}

static void on_up(struct redis_connection *c)
{
	struct subscriber *s = connection_context(c);

	s->pending = s->unsubscribing = s->channels = 0;
	s->error_logged = false;
	s->callbacks->up(s);
}

static void on_down(struct redis_connection *c, const char *why, bool was_up)
{
	struct subscriber *s = connection_context(c);

	(void)why; /* the pool logs it */
	timer_stop(&s->timer);
	s->pending = s->unsubscribing = s->channels = 0;
	if (was_up)
		s->callbacks->down(s);
}

/* An ACL without the channels: waiters then poll only when their time ends. */
static void log_error(struct subscriber *s, struct text error)
{
	if (!s->error_logged)
		log_event(LOG_ERROR, "subscription_refused",
			  "SSUBSCRIBE refused, so waiters wake only at their timeout; ACL: grant &prefix*: %s",
			  error.at);
	s->error_logged = true;
}

/*
 * The server unsubscribed it, not the daemon. A slot that moves takes along all its channels, also
 * one that is subscribed elsewhere by now.
 */
static bool was_unsubscribed(struct subscriber *s, struct text channel)
{
	return s->callbacks->unsubscribed(s, channel) || s->unsubscribing == 0;
}

static bool is_misdirected(const struct reply *reply)
{
	return reply->type == REPLY_ERROR &&
	       (reply_error_begins(reply->text, "MOVED") || reply_error_begins(reply->text, "CLUSTERDOWN"));
}

/* [kind, channel, message or count], or the reply to a PING. */
static void on_received(struct redis_connection *c, const struct reply *reply)
{
	struct subscriber *s = connection_context(c);
	struct text kind = reply_text(reply, 0);

	if (text_is(kind, "smessage")) {
		s->callbacks->message(s, reply_text(reply, 1), reply_text(reply, 2));
		return;
	}
	bool is_gone = text_is(kind, "sunsubscribe");
	if (is_gone && s->is_cluster && was_unsubscribed(s, reply_text(reply, 1)))
		return;
	if (s->pending == 0) {
		metrics_count(METRIC_redis_protocol_errors);
		connection_drop(c, "it sent a reply that no command asked for");
		return;
	}
	s->pending--;
	s->unsubscribing -= is_gone;
	set_timer(s);
	if (text_is(kind, "ssubscribe"))
		s->callbacks->subscribed(s, reply_text(reply, 1));
	else if (is_misdirected(reply))
		s->callbacks->misdirected(s);
	else if (reply->type == REPLY_ERROR)
		log_error(s, reply->text);
}

struct subscriber *subscriber_new(const struct redis_url *url, const struct subscriber_callbacks *callbacks)
{
	static const struct redis_connection_callbacks connection_callbacks = { .up = on_up,
										.down = on_down,
										.received = on_received };
	struct subscriber *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->callbacks = callbacks;
	s->is_cluster = url->kind == REDIS_CLUSTER;
	s->timer.expired = on_timer;
	s->connection = connection_new(url, &connection_callbacks, s);
	if (s->connection)
		return s;
	free(s);
	return NULL;
}

void subscriber_open(struct subscriber *s)
{
	connection_open(s->connection);
}

void subscriber_retarget(struct subscriber *s)
{
	connection_retarget(s->connection);
}

void subscriber_free(struct subscriber *s)
{
	if (!s)
		return;
	if (subscriber_is_up(s))
		s->callbacks->down(s);
	timer_stop(&s->timer);
	connection_free(s->connection);
	free(s);
}
