/*
 * subscriber: see redis/subscriber.h.
 *
 * Every command gets a reply. If a reply is late, the connection is closed. While there are
 * channels, PING detects a dead connection. The states of a renewal follow each other:
 *
 *	NOT_RENEWED  `now` is in use; `next` is connecting, or has no connection
 *	SUBSCRIBING  `next` subscribes; messages come from `now`
 *	MARKED       both are subscribed, the marker is published, `next` is held and not read
 *	CATCHING_UP  the successor is `now`; its messages up to the marker were delivered before
 */
#include "redis/subscriber.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "core/loop.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "redis/connection.h"
#include "redis/renewal.h"

enum { PING_MS = 10000, MARKER_BYTES = 128 };

struct line {
	struct redis_connection *connection; /* owned */
	unsigned pending;                    /* unanswered commands */
	unsigned unsubscribing;              /* unanswered SUNSUBSCRIBE commands */
};

enum renewal {
	NOT_RENEWED,
	SUBSCRIBING,
	MARKED,
	CATCHING_UP,
};

struct subscriber {
	const struct subscriber_callbacks *callbacks; /* (ref) */
	const struct redis_url *url;                  /* (ref) */
	subscriber_publish *publish;
	void *context; /* (ref) of publish */
	struct line now;
	struct line next;                /* the successor; its connection is NULL if there is none */
	struct redis_connection *former; /* owned; the next flush frees it */
	enum renewal renewal;
	struct loop_timer overdue; /* timeout of the renewal */
	char marker[MARKER_BYTES]; /* the channel of the marker; "": there is no channel yet */
	bool is_published;
	unsigned channels;       /* that are subscribed, or for which that was requested */
	bool is_cluster;         /* the server is a node of a Cluster */
	struct loop_timer timer; /* the next reply is late, or a PING is due */
	bool error_logged;       /* an error was logged for this connection */
	int note;                /* owned by the callbacks' owner */
};

bool subscriber_is_up(const struct subscriber *s)
{
	return connection_is_ready(s->now.connection);
}

bool subscriber_accepts(const struct subscriber *s)
{
	return s->renewal != MARKED;
}

static void set_timer(struct subscriber *s)
{
	if (s->now.pending > 0)
		loop_timer_set(&s->timer, loop_now_us() + config()->redis_timeout_ms * 1000);
	else if (s->channels > 0)
		loop_timer_set(&s->timer, loop_now_us() + PING_MS * 1000);
	else
		loop_timer_stop(&s->timer);
}

static void send(struct subscriber *s, struct line *line, const struct text *args, size_t count)
{
	if (!connection_write(line->connection, args, count)) {
		connection_drop(line->connection, "no memory to subscribe");
		return;
	}
	if (line->pending++ == 0 && line == &s->now)
		set_timer(s);
}

static bool has_successor(const struct subscriber *s)
{
	return s->renewal == SUBSCRIBING || s->renewal == MARKED;
}

static void subscribe(struct subscriber *s, struct line *line, enum channel_kind kind, struct text channel)
{
	send(s, line, (struct text[]){ kind == SHARDED ? TEXT("SSUBSCRIBE") : TEXT("SUBSCRIBE"), channel }, 2);
}

static void unsubscribe(struct subscriber *s, struct line *line, enum channel_kind kind, struct text channel)
{
	line->unsubscribing += kind == SHARDED;
	send(s, line, (struct text[]){ kind == SHARDED ? TEXT("SUNSUBSCRIBE") : TEXT("UNSUBSCRIBE"), channel }, 2);
}

void subscriber_subscribe(struct subscriber *s, enum channel_kind kind, struct text channel)
{
	s->channels++;
	if (has_successor(s))
		subscribe(s, &s->next, kind, channel);
	subscribe(s, &s->now, kind, channel);
}

void subscriber_unsubscribe(struct subscriber *s, enum channel_kind kind, struct text channel)
{
	if (s->channels > 0)
		s->channels--;
	if (has_successor(s))
		unsubscribe(s, &s->next, kind, channel);
	unsubscribe(s, &s->now, kind, channel);
}

int subscriber_note(const struct subscriber *s)
{
	return s->note;
}

void subscriber_set_note(struct subscriber *s, int note)
{
	s->note = note;
}

void subscriber_flush(struct subscriber *s)
{
	connection_free(s->former);
	s->former = NULL;
	if (s->renewal == MARKED && !s->is_published)
		s->is_published = s->publish(s->context, text_of(s->marker));
	connection_flush(s->now.connection);
	if (s->next.connection)
		connection_flush(s->next.connection);
}

/* ---- Renewal ---- */

static void end_renewal(struct subscriber *s)
{
	s->renewal = NOT_RENEWED;
	loop_timer_stop(&s->overdue);
}

static void take_over(struct subscriber *s)
{
	renewal_hold(s->next.connection, false);
	s->former = s->now.connection;
	s->now = s->next;
	s->next = (struct line){ 0 };
	s->error_logged = false;
	set_timer(s);
}

/* Messages were lost, or may be, so this is handled as a lost connection. */
static void take_over_now(struct subscriber *s)
{
	if (has_successor(s))
		take_over(s);
	end_renewal(s);
	s->callbacks->down(s);
	s->callbacks->up(s);
}

static void on_overdue(struct loop_timer *t)
{
	take_over_now(container_of(t, struct subscriber, overdue));
}

/* The marker's channel is classic, so any node of a Cluster accepts it. */
static void name_marker(struct subscriber *s)
{
	unsigned long long random = 0;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK); /* other daemons have other names */
	snprintf(s->marker, sizeof(s->marker), "%srenewal:%016llx", config()->prefix, random);
}

void subscriber_renew(struct subscriber *s, enum channel_kind kind, struct text channel)
{
	if (!s->marker[0])
		name_marker(s);
	subscribe(s, &s->next, kind, channel);
}

/* Called when the successor is connected. */
static void begin_renewal(struct subscriber *s)
{
	bool was_up = subscriber_is_up(s);

	s->next.pending = s->next.unsubscribing = 0;
	s->marker[0] = '\0';
	if (was_up) {
		s->renewal = SUBSCRIBING;
		s->callbacks->renew(s);
	}
	if (!s->marker[0]) {
		take_over(s);
		end_renewal(s);
		s->callbacks->up(s);
	} else if (has_successor(s)) { /* `renew` may have run out of memory, and lost the successor */
		loop_timer_set(&s->overdue, loop_now_us() + config()->redis_timeout_ms * 1000);
		subscribe(s, &s->next, CLASSIC, text_of(s->marker));
		subscribe(s, &s->now, CLASSIC, text_of(s->marker));
	}
}

/* Marks once both connections are subscribed to the same channels. */
static void mark(struct subscriber *s)
{
	if (s->renewal != SUBSCRIBING || s->now.pending > 0 || s->next.pending > 0)
		return;
	s->renewal = MARKED;
	s->is_published = false; /* the next flush publishes it */
	renewal_hold(s->next.connection, true);
}

/*
 * Takes a message during a renewal. True: it is the marker, or it was delivered by the former
 * connection.
 */
static bool is_known(struct subscriber *s, const struct reply *reply)
{
	bool is_marker = text_is(reply_text(reply, 1), s->marker);

	if (is_marker && s->renewal == MARKED) {
		take_over(s);
		s->renewal = CATCHING_UP;
		s->callbacks->up(s);
	} else if (is_marker && s->renewal == CATCHING_UP) {
		end_renewal(s);
		unsubscribe(s, &s->now, CLASSIC, text_of(s->marker));
	}
	return is_marker || s->renewal == CATCHING_UP;
}

static bool is_message(struct text kind)
{
	return text_is(kind, "smessage") || text_is(kind, "message");
}

/* Takes a reply to the successor. */
static void on_successor_received(struct subscriber *s, const struct reply *reply)
{
	struct text kind = reply_text(reply, 0);

	if (is_message(kind))
		return;
	bool is_gone = text_is(kind, "sunsubscribe");
	if (is_gone && s->next.unsubscribing == 0)
		return; /* its slot has moved; `now` gets the same reply */
	if (reply->type == REPLY_ERROR || s->next.pending == 0) {
		take_over_now(s);
		return;
	}
	s->next.pending--;
	s->next.unsubscribing -= is_gone;
	mark(s);
}

/* ---- Callbacks of the connections ---- */

static void on_timer(struct loop_timer *t)
{
	struct subscriber *s = container_of(t, struct subscriber, timer);

	if (s->now.pending > 0) {
		metrics_count(METRIC_redis_timeouts);
		connection_drop(s->now.connection, "no answer to a subscription in time");
	} else {
		send(s, &s->now, (struct text[]){ TEXT("PING") }, 1);
	}
}

static void on_up(struct redis_connection *c)
{
	struct subscriber *s = connection_context(c);

	if (c == s->next.connection) {
		begin_renewal(s);
		return;
	}
	s->now.pending = s->now.unsubscribing = s->channels = 0;
	s->error_logged = false;
	s->callbacks->up(s);
}

static void on_down(struct redis_connection *c, const char *why, bool was_up)
{
	struct subscriber *s = connection_context(c);

	(void)why; /* the pool logs it */
	if (c == s->former)
		return;
	if (c == s->next.connection) { /* it reconnects */
		if (was_up) {
			end_renewal(s);
			s->callbacks->up(s);
		}
		return;
	}
	if (has_successor(s)) {
		take_over_now(s);
		return;
	}
	end_renewal(s);
	loop_timer_stop(&s->timer);
	s->now.pending = s->now.unsubscribing = s->channels = 0;
	if (was_up)
		s->callbacks->down(s);
}

/* The ACL lacks the channels. Waiters then poll only when their time ends. */
static void log_error(struct subscriber *s, struct text error)
{
	if (!s->error_logged)
		log_event(LOG_ERROR, "subscription_refused",
			  "SSUBSCRIBE or SUBSCRIBE refused, so waiters wake only at their timeout and topics have no "
			  "listeners; ACL: grant &prefix*: %s",
			  error.at);
	s->error_logged = true;
}

/*
 * Returns true if the server ended the subscription, not the daemon. A slot that moves takes all
 * its channels with it, even a channel that is subscribed elsewhere by now.
 */
static bool was_unsubscribed(struct subscriber *s, struct text channel)
{
	return s->callbacks->unsubscribed(s, channel) || s->now.unsubscribing == 0;
}

static bool is_misdirected(const struct reply *reply)
{
	return reply->type == REPLY_ERROR &&
	       (reply_error_begins(reply->text, "MOVED") || reply_error_begins(reply->text, "CLUSTERDOWN"));
}

/* A reply is [kind, channel, message or count], or the reply to a PING. */
static void on_received(struct redis_connection *c, const struct reply *reply)
{
	struct subscriber *s = connection_context(c);
	struct text kind = reply_text(reply, 0);

	if (c == s->former)
		return;
	if (c == s->next.connection) {
		on_successor_received(s, reply);
		return;
	}
	if (is_message(kind)) {
		if (text_is(reply_text(reply, 1), "__redis__:invalidate"))
			s->callbacks->emptied(s);
		else if (s->renewal == NOT_RENEWED || !is_known(s, reply))
			s->callbacks->message(s, reply_text(reply, 1), reply_text(reply, 2));
		return;
	}
	bool is_gone = text_is(kind, "sunsubscribe");
	if (is_gone && s->is_cluster && was_unsubscribed(s, reply_text(reply, 1)))
		return;
	if (s->now.pending == 0) {
		metrics_count(METRIC_redis_protocol_errors);
		connection_drop(c, "it sent a reply that no command asked for");
		return;
	}
	s->now.pending--;
	s->now.unsubscribing -= is_gone;
	set_timer(s);
	if (text_is(kind, "ssubscribe") || text_is(kind, "subscribe"))
		s->callbacks->subscribed(s, reply_text(reply, 1));
	else if (is_misdirected(reply))
		s->callbacks->misdirected(s);
	else if (reply->type == REPLY_ERROR)
		log_error(s, reply->text);
	mark(s);
}

static struct redis_connection *on_renew(struct redis_connection *c);

static const struct redis_connection_callbacks connection_callbacks = {
	.up = on_up, .down = on_down, .received = on_received, .renew = on_renew
};

/* NULL: there is a successor already. */
static struct redis_connection *on_renew(struct redis_connection *c)
{
	struct subscriber *s = connection_context(c);

	if (c != s->now.connection || s->next.connection)
		return NULL;
	s->next.connection = connection_new(s->url, NULL, &connection_callbacks, s);
	return s->next.connection;
}

struct subscriber *subscriber_new(const struct redis_url *url, const struct subscriber_callbacks *callbacks,
				  subscriber_publish *publish, void *context)
{
	struct subscriber *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->callbacks = callbacks;
	s->url = url;
	s->publish = publish;
	s->context = context;
	s->overdue.expired = on_overdue;
	s->is_cluster = url->kind == REDIS_CLUSTER;
	s->timer.expired = on_timer;
	s->now.connection = connection_new(url, NULL, &connection_callbacks, s);
	if (s->now.connection)
		return s;
	free(s);
	return NULL;
}

void subscriber_open(struct subscriber *s)
{
	connection_open(s->now.connection);
}

void subscriber_retarget(struct subscriber *s)
{
	struct redis_connection *successor = s->next.connection;

	end_renewal(s);
	s->next = (struct line){ 0 };
	connection_free(successor);
	connection_retarget(s->now.connection);
}

void subscriber_free(struct subscriber *s)
{
	if (!s)
		return;
	if (subscriber_is_up(s))
		s->callbacks->down(s);
	loop_timer_stop(&s->timer);
	end_renewal(s);
	connection_free(s->former);
	connection_free(s->next.connection);
	connection_free(s->now.connection);
	free(s);
}
