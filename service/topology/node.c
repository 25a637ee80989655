#include "topology/node.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/loop.h"
#include "process/config.h"
#include "process/log.h"

static const struct subscriber_callbacks *subscriber_callbacks; /* may be NULL */
static struct redis_node *nodes;

struct redis_node *node_first(void)
{
	return nodes;
}

unsigned nodes_ready(void)
{
	unsigned ready = 0;

	for (const struct redis_node *n = nodes; n; n = n->next)
		ready += n->ready;
	return ready;
}

bool node_clock_is_recent(const struct redis_node *n)
{
	return n->clock_read_us > 0 && loop_now_us() - n->clock_read_us < NODE_CLOCK_KEPT_US;
}

void node_learn_clock(struct redis_node *n, int64_t redis_ms, int64_t sent_us)
{
	int64_t now_us = loop_now_us();

	if (n->clock_read_us > 0 && now_us - n->clock_read_us < NODE_CLOCK_US)
		return;
	int64_t wall_ms = loop_wall_ms(), least = redis_ms - wall_ms,
		most = least + 1 + (now_us - sent_us + 999) / 1000;
	n->clock_read_us = now_us;
	if (n->clock_offset_ms < least)
		n->clock_offset_ms = least;
	if (n->clock_offset_ms > most)
		n->clock_offset_ms = most;
}

/* ---- Calls ---- */

bool node_is_new(const struct redis_node *n)
{
	for (unsigned i = 0; i < n->count; i++)
		if (!connection_is_untried(n->connections[i]))
			return false;
	return true;
}

bool node_is_away(const struct redis_node *n)
{
	return !n || (n->ready == 0 && (n->retired || !node_is_new(n)));
}

/* The reply to ASKING carries no information. */
static void on_asking(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	(void)call;
	(void)outcome;
	(void)reply;
}

static enum redis_send_error send_asking(struct redis_connection *c)
{
	static struct redis_call asking = { .done = on_asking };

	return connection_send(c, &asking, (struct text[]){ TEXT("ASKING") }, 1);
}

static void use_next_connection(struct redis_node *n)
{
	n->current = n->current + 1 < n->count ? n->current + 1 : 0;
}

/* NULL: no connection is ready. */
static struct redis_connection *connection_for(struct redis_node *n, const struct redis_call *call)
{
	if (call->replicas) {
		if (!n->replica_ack)
			n->replica_ack = replica_ack_new(&n->url);
		return n->replica_ack ? replica_ack_connection(n->replica_ack) : NULL;
	}
	for (unsigned i = 0; i < n->count; i++, use_next_connection(n))
		if (connection_is_ready(n->connections[n->current]))
			return n->connections[n->current];
	return NULL;
}

enum redis_send_error node_send(struct redis_node *n, struct redis_call *call, const struct text *args, size_t count)
{
	call->node = n;
	if (n->ready == 0)
		return node_is_new(n) && !n->retired ? SEND_LATER : SEND_DOWN;
	if (connections_in_flight() >= config()->max_in_flight)
		return SEND_MANY;
	struct redis_connection *c = connection_for(n, call);
	if (!c)
		return SEND_LATER;
	enum redis_send_error error = call->ask ? send_asking(c) : SEND_OK;
	n->restart.has_data |= call->writes;
	return error == SEND_OK ? connection_send(c, call, args, count) : error;
}

void node_flush(struct redis_node *n)
{
	if (n->subscriber) /* this comes first, because it may publish */
		subscriber_flush(n->subscriber);
	for (unsigned i = 0; i < n->count; i++)
		connection_flush(n->connections[i]);
	use_next_connection(n);
	if (n->replica_ack)
		replica_ack_flush(n->replica_ack);
}

/* ---- Connections opened and lost ---- */

static void count_ready(struct redis_node *n)
{
	unsigned was_ready = n->ready;

	n->ready = 0;
	for (unsigned i = 0; i < n->count; i++)
		n->ready += connection_is_usable(n->connections[i]);
	if (n->ready)
		n->away_since_ms = 0;
	else if (!n->away_since_ms && (was_ready || node_is_away(n)))
		n->away_since_ms = loop_wall_ms();
}

static void drain(struct redis_node *n)
{
	for (unsigned i = 0; i < n->count; i++)
		connection_drain(n->connections[i]);
	if (n->replica_ack)
		replica_ack_drain(n->replica_ack);
	count_ready(n);
}

static void note_trouble(struct redis_node *n, enum redis_error error, const char *why)
{
	n->error = error;
	snprintf(n->trouble, sizeof(n->trouble), "%.60s: %s", n->url.address, why);
}

static void on_up(struct redis_connection *c)
{
	struct redis_node *n = connection_context(c);
	bool was_usable = n->ready > 0;

	count_ready(n);
	snprintf(n->server, sizeof(n->server), "%s", connection_process(c)->server);
	if (!was_usable) {
		n->trouble[0] = '\0';
		log_event(LOG_INFO, "redis_connected", "connected to %s at %s", n->server, n->url.address);
	}
	restart_on_up(&n->restart, connection_process(c), n->url.address);
	n->callbacks->up(n);
}

/*
 * A failure that repeats is logged at debug level. A drained connection is closed because of an
 * earlier failure, whose text stays.
 */
static void on_down(struct redis_connection *c, const char *why, bool was_up)
{
	struct redis_node *n = connection_context(c);
	bool is_drained = strcmp(why, CONNECTION_DRAINED) == 0;
	bool news = !is_drained && (was_up || strstr(n->trouble, why) == NULL);

	count_ready(n);
	if (n->ready == 0)
		n->check = (struct server_check){ 0 };
	if (was_up)
		restart_on_lost(&n->restart, connection_process(c));
	if (!is_drained || !n->trouble[0])
		note_trouble(n, connection_error(c), why);
	if (n->retired)
		return;
	log_event(news ? LOG_WARN : LOG_DEBUG, was_up ? "redis_lost" : "redis_unreachable", "%.60s: %s", n->url.address,
		  why);
	n->callbacks->down(n, why, was_up);
}

/*
 * When a call has timed out, other calls to this server would, too, so all connections reconnect
 * first. This is called after the calls of the lost connection have ended. The `done` of a lost
 * call may have sent a call that compensates it, and that call is written before its connection
 * drains.
 */
static void on_drain_all(struct redis_connection *c)
{
	drain(connection_context(c));
}

void node_reject(struct redis_node *n, const char *why)
{
	note_trouble(n, redis_error_of(text_of(why)), why);
	drain(n);
}

void node_retarget(struct redis_node *n)
{
	n->restart = (struct redis_restart){ 0 };
	n->clock_read_us = 0;
	for (unsigned i = 0; i < n->count; i++)
		connection_retarget(n->connections[i]);
	if (n->replica_ack)
		replica_ack_retarget(n->replica_ack);
	if (n->subscriber)
		subscriber_retarget(n->subscriber);
	count_ready(n);
}

void node_retire(struct redis_node *n)
{
	n->retired = true;
	drain(n);
}

bool node_is_idle(const struct redis_node *n)
{
	for (unsigned i = 0; i < n->count; i++)
		if (connection_pending(n->connections[i]))
			return false;
	return !n->replica_ack || replica_ack_is_idle(n->replica_ack);
}

/* ---- Start and end ---- */

static void on_published(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	(void)outcome;
	(void)reply; /* a message that does not arrive is noticed elsewhere */
	container_of(call, struct redis_node, published)->is_publishing = false;
}

static bool publish(void *context, struct text channel)
{
	struct redis_node *n = context;
	struct text command[] = { TEXT("PUBLISH"), channel, TEXT("") };

	if (n->is_publishing)
		return false;
	n->published = (struct redis_call){ .done = on_published };
	n->is_publishing = node_send(n, &n->published, command, 3) == SEND_OK;
	return n->is_publishing;
}

static bool make_subscriber(struct redis_node *n)
{
	n->subscriber = subscriber_new(&n->url, subscriber_callbacks, publish, n);
	if (n->subscriber)
		subscriber_open(n->subscriber);
	return n->subscriber != NULL;
}

bool nodes_subscribe(const struct subscriber_callbacks *callbacks)
{
	bool ok = true;

	subscriber_callbacks = callbacks;
	for (struct redis_node *n = nodes; n; n = n->next)
		ok = make_subscriber(n) && ok;
	return ok;
}

static bool make_connections(struct redis_node *n, unsigned wanted)
{
	static const struct redis_connection_callbacks callbacks = { .up = on_up,
								     .down = on_down,
								     .drain_all = on_drain_all };

	n->connections = calloc(wanted, sizeof(*n->connections));
	for (; n->connections && n->count < wanted; n->count++) {
		n->connections[n->count] = connection_new(&n->url, &n->check, &callbacks, n);
		if (!n->connections[n->count])
			return false;
	}
	return n->connections != NULL;
}

static struct redis_node *make(const struct redis_url *url, const struct redis_node_callbacks *callbacks,
			       unsigned connections)
{
	struct redis_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->callbacks = callbacks;
	n->url = *url;
	if (!make_connections(n, connections)) {
		node_free(n);
		return NULL;
	}
	return n;
}

static struct redis_node *open_connections(struct redis_node *n)
{
	for (unsigned i = 0; n && i < n->count; i++)
		connection_open(n->connections[i]);
	return n;
}

struct redis_node *node_new(const struct redis_url *url, const struct redis_node_callbacks *callbacks)
{
	struct redis_node *n = make(url, callbacks, (unsigned)config()->pool_size);

	if (!n)
		return NULL;
	n->next = nodes;
	nodes = n;
	if (subscriber_callbacks && !make_subscriber(n)) {
		node_free(n);
		return NULL;
	}
	return open_connections(n);
}

struct redis_node *node_new_apart(const struct redis_url *url, const struct redis_node_callbacks *callbacks,
				  unsigned connections)
{
	return open_connections(make(url, callbacks, connections));
}

void node_free(struct redis_node *n)
{
	for (struct redis_node **at = &nodes; *at; at = &(*at)->next)
		if (*at == n) {
			*at = n->next;
			break;
		}
	n->ready = 0; /* a call that ends now cannot send another */
	n->retired = true;
	subscriber_free(n->subscriber);
	replica_ack_free(n->replica_ack);
	while (n->count)
		connection_free(n->connections[--n->count]);
	loop_timer_stop(&n->refusal.timer); /* a probe that ended now has set it */
	free(n->connections);
	free(n);
}
