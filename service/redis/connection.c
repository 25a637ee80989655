/*
 * connection: see redis/connection.h; the states are in redis/connection_private.h.
 * It owns its socket, its buffers and the ring of pending calls, but not the calls.
 */
#include "redis/connection.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/backoff.h"
#include "process/config.h"
#include "process/metrics.h"
#include "redis/connection_private.h"
#include "redis/credentials.h"
#include "redis/reply_reader.h"

enum {
	READ_BYTES = 64 * 1024,
	REPLY_BYTES = 8 * 1024 * 1024, /* of the largest reply, beside message bodies */
	FIRST_PAUSE_MS = 4,
	LONGEST_PAUSE_MS = 1000,
	REJECTED_PAUSE_MS = 5000, /* after a wrong password, since a retry would fail the same way */
};

static struct redis_connection *connections; /* list of all connections */
static unsigned in_flight;                   /* calls on all connections */
static struct redis_answers answers;
static void (*changed)(struct redis_connection *c, const char *why); /* may be NULL */
static char read_buffer[READ_BYTES];

unsigned connections_in_flight(void)
{
	return in_flight;
}

struct redis_answers connections_answers(void)
{
	return answers;
}

struct redis_connection *connection_first(void)
{
	return connections;
}

void connections_observe(void (*observer)(struct redis_connection *c, const char *why))
{
	changed = observer;
}

void connections_retry_now(void)
{
	for (struct redis_connection *c = connections; c; c = c->next)
		if (c->state == DOWN)
			loop_timer_set(&c->timer, loop_now_us());
}

bool connection_is_ready(const struct redis_connection *c)
{
	return c->state == READY;
}

bool connection_is_usable(const struct redis_connection *c)
{
	return c->state == READY || (c->renewing && c->failures == 0);
}

bool connection_is_untried(const struct redis_connection *c)
{
	return c->failures == 0 && c->state != READY;
}

bool connection_is_open(const struct redis_connection *c)
{
	return c->state >= READY;
}

size_t connection_pending(const struct redis_connection *c)
{
	return c->ring.count;
}

void *connection_context(const struct redis_connection *c)
{
	return c->context;
}

const struct redis_process *connection_process(const struct redis_connection *c)
{
	return &c->handshake.process;
}

enum redis_error connection_error(const struct redis_connection *c)
{
	return c->handshake.error;
}

/* A replica has half of the timeout, because the primary is asked next. */
static int64_t reply_timeout_us(const struct redis_connection *c)
{
	return config()->redis_timeout_ms * 1000 / (c->target->replica ? 2 : 1);
}

/* ---- Writing ---- */

static void connection_lost(struct redis_connection *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A draining connection is closed only here, so that replica_ack.c can send a WAIT before. */
void connection_flush(struct redis_connection *c)
{
	if (c->state == DRAINING && c->ring.count == 0)
		connection_lost(c, CONNECTION_DRAINED);
	else if (c->state >= HANDSHAKE)
		resp_write(&c->out, &c->socket);
}

static void on_info(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	(void)outcome;
	struct redis_connection *c = container_of(call, struct redis_connection, check_call);

	c->check->is_pending = false;
	if (!reply || reply->type != REPLY_TEXT)
		return;
	if (!handshake_is_safe(&c->handshake, reply->text))
		c->callbacks->drain_all(c); /* the next handshake rejects the server and reports the reason */
	server_check_learn(c->check, &c->handshake);
}

static void check_server(struct redis_connection *c, bool is_idle)
{
	if (!is_idle && !server_check_is_due(c->check))
		return;
	server_check_begin(c->check);
	c->check_call.done = on_info;
	c->check->is_pending = connection_send(c, &c->check_call, server_check_command, SERVER_CHECK_ARGS) == SEND_OK;
}

enum redis_send_error connection_send(struct redis_connection *c, struct redis_call *call, const struct text *args,
				      size_t count)
{
	check_server(c, false); /* this comes first, because ASKING applies to the next command */
	uint64_t starts_at = c->out.written + resp_waiting(&c->out);
	if (!call_ring_reserve(&c->ring) || !resp_add(&c->out, args, count))
		return resp_is_full_for(&c->out, args, count) ? SEND_BEHIND : SEND_NO_MEMORY;
	call_ring_push(&c->ring, call);
	in_flight++;
	call->starts_at = starts_at;
	c->sent_us = loop_now_us();
	call->due_us = c->sent_us + reply_timeout_us(c);
	if (c->ring.count == 1)
		loop_timer_set(&c->timer, call->due_us);
	resp_write_ahead(&c->out, &c->socket);
	metrics_count(METRIC_redis_commands);
	return SEND_OK;
}

bool connection_write(struct redis_connection *c, const struct text *args, size_t count)
{
	return resp_add(&c->out, args, count);
}

/* ---- Up and down ---- */

/* Closes the socket and returns to DOWN. Pass the result to call_ring_end. */
static struct unanswered_calls connection_close(struct redis_connection *c)
{
	struct unanswered_calls o = { c->ring, c->out.written + c->socket.sealed };

	c->state = DOWN;
	loop_timer_stop(&c->timer);
	redis_socket_close(&c->socket);
	reply_reader_free(c->reader);
	c->reader = NULL;
	c->ring = (struct call_ring){ 0 };
	in_flight -= (unsigned)o.ring.count;
	resp_reset(&c->out);
	return o;
}

/* Ends the connection, or the attempt to connect. */
static void connection_lost(struct redis_connection *c, const char *format, ...)
{
	char why[SOCKET_WHY_BYTES];
	bool was_up = c->state >= READY, is_drained = c->state == DRAINING && c->ring.count == 0;
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (!is_drained)
		metrics_count(was_up ? METRIC_redis_disconnects : METRIC_redis_connect_failures);
	struct unanswered_calls unanswered = connection_close(c);
	bool is_stale = c->handshake.auth_failed && c->handshake.credentials_version_used != credentials_version();
	if (c->handshake.auth_failed && !is_stale && credentials_are_shared(c->target))
		credentials_rejected(why);
	int64_t least_ms = c->handshake.rejected && !is_stale ? REJECTED_PAUSE_MS : 0;
	int64_t pause_ms = backoff_ms(c->failures++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, least_ms);
	loop_timer_set(&c->timer, loop_now_us() + pause_ms * 1000);
	if (is_drained) /* closed on purpose, which is not a failure */
		c->failures = 0;
	if (!was_up && changed)
		changed(c, why);
	c->callbacks->down(c, why, was_up);
	call_ring_end(unanswered);
}

void connection_drop(struct redis_connection *c, const char *why)
{
	if (c->state == READY)
		connection_lost(c, "%s", why);
}

void connection_reject(struct redis_connection *c, const char *why)
{
	c->handshake.rejected = true;
	c->handshake.error = redis_error_of(text_of(why));
	connection_drop(c, why);
}

void connection_drain(struct redis_connection *c)
{
	if (c->state == READY)
		c->state = DRAINING;
}

void connection_retarget(struct redis_connection *c)
{
	if (c->state >= READY) {
		connection_drain(c);
		return;
	}
	call_ring_end(connection_close(c)); /* no call was pending yet */
	c->failures = 0;
	connection_open(c);
}

/* ---- The handshake ---- */

static void become_ready(struct redis_connection *c)
{
	c->state = READY;
	c->failures = 0;
	c->sent_us = c->handshake.process.heard_us = loop_now_us();
	if (c->check)
		server_check_learn(c->check, &c->handshake);
	c->permissions = c->handshake.permissions;
	metrics_count(METRIC_redis_connects);
	loop_timer_set(&c->timer, c->sent_us + config()->redis_keepalive_ms * 1000);
	if (credentials_are_shared(c->target) && credentials_accepted())
		connections_retry_now();
	if (changed)
		changed(c, NULL);
	c->callbacks->up(c);
}

void connection_shake(struct redis_connection *c, const struct reply *reply)
{
	if (reply && !handshake_reply(&c->handshake, reply))
		connection_lost(c, "%s", c->handshake.why);
	else if (c->handshake.pending == 0 && !handshake_ask_more(&c->handshake, &c->out))
		connection_lost(c, "no memory for the handshake");
	else if (c->handshake.pending == 0 && !c->handshake.waits)
		become_ready(c);
	else
		connection_flush(c);
}

static void on_opened(struct redis_socket *socket)
{
	struct redis_connection *c = container_of(socket, struct redis_connection, socket);

	c->state = HANDSHAKE;
	if (handshake_begin(&c->handshake, c->target, !c->callbacks->received, &c->out))
		connection_flush(c);
	else
		connection_lost(c, "no memory for the handshake");
}

/* ---- Reading ---- */

/* Handles one reply. False: the connection was closed. */
static bool on_reply(struct redis_connection *c, const struct reply *reply)
{
	if (c->state == HANDSHAKE) {
		connection_shake(c, reply);
	} else if (c->callbacks->received) {
		c->callbacks->received(c, reply);
	} else if (c->ring.count == 0) {
		metrics_count(METRIC_redis_protocol_errors);
		connection_lost(c, "it sent a reply that no command asked for");
	} else {
		struct redis_call *call = call_ring_pop(&c->ring);
		in_flight--;
		answers.count++;
		c->handshake.process.heard_us = loop_now_us();
		answers.took_us += c->handshake.process.heard_us - call->due_us + reply_timeout_us(c);
		reply_note_mismatch(NULL);
		call->done(call, REDIS_ANSWERED, reply);
		if (server_check_on_reply(c->check, reply) && c->state == READY)
			check_server(c, false);
		if (reply_mismatch() && c->state >= READY) {
			metrics_count(METRIC_redis_protocol_errors);
			connection_lost(c, "%s", reply_mismatch());
		}
	}
	return c->state >= HANDSHAKE;
}

/* The bytes in the read buffer are not RESP. A TLS alert begins with 21, 3. */
static void not_redis(struct redis_connection *c, const char *why)
{
	metrics_count(METRIC_redis_protocol_errors);
	if (c->state == HANDSHAKE && read_buffer[0] == 21 && read_buffer[1] == 3)
		connection_lost(c, "this port speaks TLS: use rediss://");
	else
		connection_lost(c, "unexpected reply; is this Redis? (%s)", why);
}

static bool on_readable(struct redis_socket *socket)
{
	struct redis_connection *c = container_of(socket, struct redis_connection, socket);
	const struct reply *reply;
	const char *why = "";
	size_t n = redis_socket_read(socket, read_buffer, sizeof(read_buffer));

	if (n == 0)
		return false;
	if (!reply_reader_feed(c->reader, read_buffer, n)) {
		connection_lost(c, "its answer is too large");
		return false;
	}
	for (;;) {
		struct reply_reader *reader = c->reader;
		if (!reply_reader_next(reader, &reply, &why)) {
			not_redis(c, why);
			return false;
		}
		if (!reply || !on_reply(c, reply))
			break;
		reply_reader_done(reader);
	}
	if (c->state >= READY && c->ring.count)
		loop_timer_set(&c->timer, call_ring_oldest(&c->ring)->due_us);
	return true;
}

static void on_failed(struct redis_socket *socket, const char *why)
{
	struct redis_connection *c = container_of(socket, struct redis_connection, socket);

	c->handshake.rejected |= socket->tls_rejected;
	connection_lost(c, "%s", why);
}

/* ---- Connecting ---- */

void connection_open(struct redis_connection *c)
{
	loop_timer_set(&c->timer, loop_now_us() + config()->redis_timeout_ms * 1000);
	c->handshake = (struct redis_handshake){ 0 };
	c->state = CONNECTING;
	c->renew = false; /* from here on it uses the present contents of the files */
	/* A reply may have two message bodies and other data, which scripts keep below 1 MiB. */
	c->reader = reply_reader_new((size_t)config()->max_body_bytes * 2 + REPLY_BYTES);
	if (c->reader)
		redis_socket_open(&c->socket, c->target, c->failures);
	else
		connection_lost(c, "no memory");
}

/* The pause has ended. The certificate files may have been renewed during it. */
static void attempt(struct redis_connection *c)
{
	int64_t wait_us = credentials_are_shared(c->target) ? credentials_wait_us() : 0;

	if (wait_us > 0) {
		loop_timer_set(&c->timer, loop_now_us() + wait_us);
		c->handshake.error = ERROR_AUTH;
		/* the rejection was reported by another connection */
		c->callbacks->down(c, credentials_rejection(), false);
		return;
	}
	if (c->handshake.rejected && !c->handshake.auth_failed && c->target->tls)
		credentials_reread();
	connection_open(c);
}

/* The pause has ended, the attempt has taken too long, or the oldest call has timed out. */
static void on_timer(struct loop_timer *t)
{
	struct redis_connection *c = container_of(t, struct redis_connection, timer);

	if (c->state == DOWN) {
		attempt(c);
	} else if (c->state < READY) {
		connection_lost(c, "%s", redis_socket_overdue(&c->socket));
	} else if (c->ring.count && call_ring_oldest(&c->ring)->due_us <= loop_now_us()) {
		metrics_count(METRIC_redis_timeouts);
		connection_lost(c, "no answer within %lld ms", (long long)reply_timeout_us(c) / 1000);
		c->callbacks->drain_all(c);
	} else if (c->ring.count) {
		loop_timer_set(t, call_ring_oldest(&c->ring)->due_us);
	} else if (!c->callbacks->received) {
		int64_t idle_until_us = c->sent_us + config()->redis_keepalive_ms * 1000;
		loop_timer_set(t, idle_until_us);
		/* If a proxy has forgotten the connection, no request has to find out. */
		if (c->state == READY && idle_until_us <= loop_now_us())
			check_server(c, true);
	}
}

/* ---- Start and end ---- */

struct redis_connection *connection_new(const struct redis_url *target, struct server_check *check,
					const struct redis_connection_callbacks *callbacks, void *context)
{
	static const struct redis_socket_callbacks socket_callbacks = { on_opened, on_readable, on_failed };
	struct redis_connection *c = calloc(1, sizeof(*c)), **at = &connections;

	if (!c)
		return NULL;
	c->target = target;
	c->check = check;
	c->callbacks = callbacks;
	c->context = context;
	c->socket.callbacks = &socket_callbacks;
	c->timer.expired = on_timer;
	while (*at)
		at = &(*at)->next;
	*at = c;
	return c;
}

void connection_free(struct redis_connection *c)
{
	struct redis_connection **at = &connections;

	if (!c)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	call_ring_end(connection_close(c));
	if (changed)
		changed(c, NULL);
	resp_free(&c->out);
	free(c);
}
