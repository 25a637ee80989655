/*
 * redis_link: see redis/connection.h.
 *
 *	DOWN -> CONNECTING -> GREETING -> READY -> (LEAVING ->) DOWN, after a pause that grows
 *
 * Owns its socket, buffers and the ring of pending calls; the calls themselves belong to whoever made them.
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
	REPLY_BYTES = 8 * 1024 * 1024, /* of a reply, beside what messages take */
	FIRST_PAUSE_MS = 4,
	LONGEST_PAUSE_MS = 1000,
	REFUSED_PAUSE_MS = 5000,     /* after a wrong password: asking again soon would not help */
	CHECK_US = 61 * 1000 * 1000, /* longer than --redis-timeout-ms can be: the last one is over by then */
};

static struct redis_link *links; /* all of them */
static unsigned in_flight;       /* on all links */
static struct redis_answers answers;
static void (*changed)(struct redis_link *l, const char *why); /* NULL: nothing observes them */
static char read_buffer[READ_BYTES];

unsigned links_in_flight(void)
{
	return in_flight;
}

struct redis_answers links_answers(void)
{
	return answers;
}

struct redis_link *link_first(void)
{
	return links;
}

void links_observe(void (*observer)(struct redis_link *l, const char *why))
{
	changed = observer;
}

void links_try_now(void)
{
	for (struct redis_link *l = links; l; l = l->next)
		if (l->state == DOWN)
			timer_set(&l->timer, loop_now_us());
}

bool link_is_ready(const struct redis_link *l)
{
	return l->state == READY;
}

bool link_serves(const struct redis_link *l)
{
	return l->state == READY || (l->renewing && l->failures == 0);
}

bool link_is_new(const struct redis_link *l)
{
	return l->failures == 0 && l->state != READY;
}

bool link_is_open(const struct redis_link *l)
{
	return l->state >= READY;
}

size_t link_owed(const struct redis_link *l)
{
	return l->ring.count;
}

void *link_whose(const struct redis_link *l)
{
	return l->whose;
}

const char *link_server(const struct redis_link *l)
{
	return l->greeting.server;
}

/* ---- Writing ---- */

static void link_lost(struct redis_link *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A drained link closes here, and not at its last answer: redis_acked.c adds a WAIT by the end of the turn. */
void link_flush(struct redis_link *l)
{
	if (l->state == LEAVING && l->ring.count == 0)
		link_lost(l, LINK_LEFT);
	else if (l->state >= GREETING)
		resp_write(&l->out, &l->socket);
}

static void on_info(struct redis_call *call, enum redis_fate fate, const struct reply *reply)
{
	(void)fate;
	struct redis_link *l = container_of(call, struct redis_link, check);

	if (reply && !greeting_is_safe(&l->greeting, reply->text))
		link_leave(l); /* the next greeting is refused, and tells why */
}

/*
 * Is the server still configured as safely as when it was greeted? It is asked each minute, and only where others ask something: a daemon
 * that is idle asks nothing.
 */
static void check_server(struct redis_link *l)
{
	static const struct text info[] = { TEXT("INFO"), TEXT("memory"), TEXT("persistence") };

	if (loop_now_us() - l->checked_us < CHECK_US)
		return;
	l->checked_us = loop_now_us();
	l->check.done = on_info;
	link_send(l, &l->check, info, 3); /* without memory for it: the next time */
}

bool link_send(struct redis_link *l, struct redis_call *call, const struct text *args, size_t count)
{
	check_server(l); /* not behind it: an ASKING is for the very next command */

	uint64_t starts_at = l->out.written + resp_waiting(&l->out);

	if (!ring_reserve(&l->ring) || !resp_add(&l->out, args, count))
		return false;
	ring_push(&l->ring, call);
	in_flight++;
	call->starts_at = starts_at;
	call->due_us = loop_now_us() + config()->redis_timeout_ms * 1000;
	if (l->ring.count == 1)
		timer_set(&l->timer, call->due_us);
	metrics_count(METRIC_redis_commands);
	return true;
}

bool link_say(struct redis_link *l, const struct text *args, size_t count)
{
	return resp_add(&l->out, args, count);
}

/* ---- Up and down ---- */

/* The calls that were on a connection when it ended. */
struct orphans {
	struct call_ring ring; /* owned */
	uint64_t written;
};

/* Closes the socket and returns to DOWN. The pending calls are to learn their fate: tell_fates. */
static struct orphans link_close(struct redis_link *l)
{
	struct orphans o = { l->ring, l->out.written + l->socket.sealed };

	l->state = DOWN;
	timer_stop(&l->timer);
	redis_socket_close(&l->socket);
	reply_reader_free(l->reader);
	l->reader = NULL;
	l->ring = (struct call_ring){ 0 };
	in_flight -= (unsigned)o.ring.count;
	resp_reset(&l->out);
	return o;
}

/* The link is down by now: what the calls' owners do cannot reach it. */
static void tell_fates(struct orphans o)
{
	while (o.ring.count > 0) {
		struct redis_call *call = ring_pop(&o.ring);
		bool sent = call->starts_at < o.written;
		if (sent)
			metrics_count(METRIC_calls_unknown);
		call->done(call, sent ? FATE_LOST : FATE_NOT_SENT, NULL);
	}
	ring_free(&o.ring);
}

/* The connection, or the attempt, is over. */
static void link_lost(struct redis_link *l, const char *format, ...)
{
	char why[LINK_WHY_BYTES];
	bool was_up = l->state >= READY, has_left = l->state == LEAVING && l->ring.count == 0;
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (!has_left)
		metrics_count(was_up ? METRIC_redis_disconnects : METRIC_redis_connect_failures);
	struct orphans orphans = link_close(l);
	bool is_stale = l->greeting.no_entry && l->greeting.shown != login_version();
	if (l->greeting.no_entry && !is_stale && login_is_shared(l->target))
		login_refused(why);
	int64_t least_ms = l->greeting.refused && !is_stale ? REFUSED_PAUSE_MS : 0;
	int64_t pause_ms = backoff_ms(l->failures++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, least_ms);
	timer_set(&l->timer, loop_now_us() + pause_ms * 1000);
	if (has_left) /* at will: that is no failure */
		l->failures = 0;
	if (!was_up && changed)
		changed(l, why);
	l->owner->down(l, why, was_up);
	tell_fates(orphans);
}

void link_drop(struct redis_link *l, const char *why)
{
	if (l->state == READY)
		link_lost(l, "%s", why);
}

void link_distrust(struct redis_link *l, const char *why)
{
	l->greeting.refused = true;
	link_drop(l, why);
}

void link_leave(struct redis_link *l)
{
	if (l->state == READY)
		l->state = LEAVING;
}

void link_moved(struct redis_link *l)
{
	if (l->state >= READY) {
		link_leave(l);
		return;
	}
	tell_fates(link_close(l)); /* nothing but a greeting was under way */
	l->failures = 0;
	link_open(l);
}

/* ---- The greeting ---- */

static void link_ready(struct redis_link *l)
{
	l->state = READY;
	l->failures = 0;
	l->checked_us = loop_now_us();
	l->permissions = l->greeting.permissions;
	metrics_count(METRIC_redis_connects);
	timer_stop(&l->timer);
	if (login_is_shared(l->target) && login_accepted())
		links_try_now();
	if (changed)
		changed(l, NULL);
	l->owner->up(l);
}

/* An answer to the greeting. */
static void greeting_step(struct redis_link *l, const struct reply *reply)
{
	if (!greeting_reply(&l->greeting, reply))
		link_lost(l, "%s", l->greeting.why);
	else if (l->greeting.owed == 0 && !greeting_ask_permissions(&l->greeting, &l->out))
		link_lost(l, "no memory for the greeting");
	else if (l->greeting.owed == 0)
		link_ready(l);
	else
		link_flush(l);
}

static void on_opened(struct redis_socket *socket)
{
	struct redis_link *l = container_of(socket, struct redis_link, socket);

	l->state = GREETING;
	if (greeting_begin(&l->greeting, l->target, !l->owner->said, &l->out))
		link_flush(l);
	else
		link_lost(l, "no memory for the greeting");
}

/* ---- Reading ---- */

/* One reply; false: the connection is gone. */
static bool on_reply(struct redis_link *l, const struct reply *reply)
{
	if (l->state == GREETING) {
		greeting_step(l, reply);
	} else if (l->owner->said) {
		l->owner->said(l, reply);
	} else if (l->ring.count == 0) {
		metrics_count(METRIC_redis_protocol_errors);
		link_lost(l, "it said something that was not asked for");
	} else {
		struct redis_call *call = ring_pop(&l->ring);
		in_flight--;
		answers.count++;
		answers.took_us += loop_now_us() - call->due_us + config()->redis_timeout_ms * 1000;
		call->done(call, FATE_ANSWERED, reply);
	}
	return l->state >= GREETING;
}

/* The bytes in the read buffer are no reply. An alert of TLS begins with 21, 3. */
static void not_redis(struct redis_link *l, const char *why)
{
	bool is_alert = l->state == GREETING && read_buffer[0] == 21 && read_buffer[1] == 3;

	metrics_count(METRIC_redis_protocol_errors);
	if (is_alert)
		link_lost(l, "this port speaks TLS: use rediss://");
	else
		link_lost(l, "what it says is not the Redis protocol (%s)", why);
}

static bool on_readable(struct redis_socket *socket)
{
	struct redis_link *l = container_of(socket, struct redis_link, socket);
	const struct reply *reply;
	const char *why = "";
	size_t n = redis_socket_read(socket, read_buffer, sizeof(read_buffer));

	if (n == 0)
		return false;
	if (!reply_reader_feed(l->reader, read_buffer, n)) {
		link_lost(l, "its answer is too large");
		return false;
	}
	for (;;) {
		struct reply_reader *reader = l->reader;
		if (!reply_reader_next(reader, &reply, &why)) {
			not_redis(l, why);
			return false;
		}
		if (!reply || !on_reply(l, reply))
			break;
		reply_reader_done(reader);
	}
	if (l->state >= READY && l->ring.count)
		timer_set(&l->timer, ring_oldest(&l->ring)->due_us);
	return true;
}

static void on_writable(struct redis_socket *socket)
{
	struct redis_link *l = container_of(socket, struct redis_link, socket);

	resp_write(&l->out, socket);
}

static void on_failed(struct redis_socket *socket, const char *why)
{
	struct redis_link *l = container_of(socket, struct redis_link, socket);

	l->greeting.refused |= socket->tls_rejected;
	link_lost(l, "%s", why);
}

/* ---- Connecting ---- */

void link_open(struct redis_link *l)
{
	timer_set(&l->timer, loop_now_us() + config()->redis_timeout_ms * 1000);
	l->greeting = (struct redis_greeting){ 0 };
	l->state = CONNECTING;
	l->renew = false; /* it shows from here on what the files contain now */
	/* A message's body in one reply with others; scripts keep those within a mebibyte. */
	l->reader = reply_reader_new((size_t)config()->max_body_bytes * 2 + REPLY_BYTES);
	if (l->reader)
		redis_socket_open(&l->socket, l->target, l->failures);
	else
		link_lost(l, "no memory");
}

/* The pause is over. A certificate that was not accepted may lie renewed in its file by now, or the CA's. */
static void link_try(struct redis_link *l)
{
	int64_t wait_us = login_is_shared(l->target) ? login_wait_us() : 0;

	if (wait_us > 0) {
		timer_set(&l->timer, loop_now_us() + wait_us);
		l->owner->down(l, login_refusal(), false); /* said to another, and meant for all */
		return;
	}
	if (l->greeting.refused && !l->greeting.no_entry && l->target->tls)
		login_read_again();
	link_open(l);
}

/* The pause is over, an attempt took too long, or the oldest call is overdue. */
static void on_timer(struct timer *t)
{
	struct redis_link *l = container_of(t, struct redis_link, timer);

	if (l->state == DOWN) {
		link_try(l);
	} else if (l->state < READY) {
		link_lost(l, "%s", redis_socket_overdue(&l->socket));
	} else if (l->ring.count && ring_oldest(&l->ring)->due_us <= loop_now_us()) {
		metrics_count(METRIC_redis_timeouts);
		link_lost(l, "no answer within %lld ms", (long long)config()->redis_timeout_ms);
		if (l->owner->silent)
			l->owner->silent(l);
	} else if (l->ring.count) {
		timer_set(t, ring_oldest(&l->ring)->due_us);
	}
}

/* ---- Its life ---- */

struct redis_link *link_new(const struct redis_url *target, const struct redis_link_owner *owner, void *whose)
{
	static const struct redis_socket_callbacks callbacks = { on_opened, on_readable, on_writable, on_failed };
	struct redis_link *l = calloc(1, sizeof(*l)), **at = &links;

	if (!l)
		return NULL;
	l->target = target;
	l->owner = owner;
	l->whose = whose;
	l->socket.callbacks = &callbacks;
	l->timer.expired = on_timer;
	while (*at)
		at = &(*at)->next;
	*at = l;
	return l;
}

void link_free(struct redis_link *l)
{
	struct redis_link **at = &links;

	if (!l)
		return;
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	tell_fates(link_close(l));
	if (changed)
		changed(l, NULL);
	resp_free(&l->out);
	free(l);
}
