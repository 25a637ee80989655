/*
 * redis_link: see redis_link.h.
 *
 *	DOWN -> RESOLVING -> CONNECTING -> GREETING -> READY -> (LEAVING ->) DOWN, after a pause that grows
 *
 * Owns its socket, buffers and the ring of pending calls; the calls themselves belong to whoever made them.
 */
#include "redis_link.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "backoff.h"
#include "call_ring.h"
#include "config.h"
#include "loop.h"
#include "metrics.h"
#include "redis_greeting.h"
#include "redis_reply.h"
#include "resolve.h"
#include "resp.h"

enum {
	READ_BYTES = 64 * 1024,
	REPLY_BYTES = 8 * 1024 * 1024, /* of a reply, beside what messages take */
	FIRST_PAUSE_MS = 4,
	LONGEST_PAUSE_MS = 1000,
	REFUSED_PAUSE_MS = 5000, /* after a wrong password: asking again soon would not help */
};

enum link_state { DOWN, RESOLVING, CONNECTING, GREETING, READY, LEAVING };

struct redis_link {
	const struct redis_url *target;       /* (ref) */
	const struct redis_link_owner *owner; /* (ref) */
	void *whose;                          /* (ref) the owner's own */
	enum link_state state;
	struct watch watch;
	struct lookup lookup; /* RESOLVING */
	struct timer timer;   /* DOWN: the pause; up to GREETING: the attempt; READY: the oldest call */
	struct reply_reader *reader;
	unsigned failures; /* attempts since it was last usable */

	struct resp_buffer out;
	bool want_write; /* the kernel's buffer is full: waiting for EPOLLOUT */

	struct call_ring ring; /* pending calls */
	struct redis_greeting greeting;
};

static unsigned in_flight; /* on all links */
static char read_buffer[READ_BYTES];

unsigned links_in_flight(void)
{
	return in_flight;
}

bool link_is_ready(const struct redis_link *l)
{
	return l->state == READY;
}

bool link_is_new(const struct redis_link *l)
{
	return l->failures == 0 && l->state != READY;
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

static void want_write(struct redis_link *l, bool wanted)
{
	if (l->want_write != wanted) {
		l->want_write = wanted;
		loop_rewatch(&l->watch, EPOLLIN | (wanted ? EPOLLOUT : 0U));
	}
}

void link_flush(struct redis_link *l)
{
	if (l->state < GREETING || l->want_write)
		return;
	if (resp_write(&l->out, l->watch.fd))
		want_write(l, resp_waiting(&l->out) > 0);
	else
		link_lost(l, "cannot write: %s", strerror(errno));
}

bool link_send(struct redis_link *l, struct redis_call *call, const struct text *args, size_t count)
{
	uint64_t starts_at = l->out.written + resp_waiting(&l->out);

	if (!ring_reserve(&l->ring) || !resp_add(&l->out, args, count))
		return false;
	ring_push(&l->ring, call);
	in_flight++;
	call->starts_at = starts_at;
	call->due_us = loop_now_us() + config()->redis_timeout_ms * 1000;
	if (l->ring.count == 1 && l->state == READY)
		timer_set(&l->timer, call->due_us);
	metrics_count(METRIC_redis_commands);
	return true;
}

bool link_say(struct redis_link *l, const struct text *args, size_t count)
{
	return resp_add(&l->out, args, count);
}

/* ---- Up and down ---- */

static void link_connect(struct redis_link *l);

static void pause_then_connect(struct redis_link *l, int64_t least_ms)
{
	timer_set(&l->timer,
		  loop_now_us() + backoff_ms(l->failures++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, least_ms) * 1000);
}

/* The calls that were on a connection when it ended. */
struct orphans {
	struct call_ring ring; /* owned */
	uint64_t written;
};

/* Closes the socket and returns to DOWN. The pending calls are to learn their fate: tell_fates. */
static struct orphans link_close(struct redis_link *l)
{
	struct orphans o = { l->ring, l->out.written };

	l->state = DOWN;
	timer_stop(&l->timer);
	resolve_cancel(&l->lookup);
	if (l->watch.fd >= 0) {
		loop_unwatch(&l->watch);
		close(l->watch.fd);
		l->watch.fd = -1;
	}
	reply_reader_free(l->reader);
	l->reader = NULL;
	l->ring = (struct call_ring){ 0 };
	in_flight -= (unsigned)o.ring.count;
	resp_reset(&l->out);
	l->want_write = false;
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
	bool was_up = l->state >= READY, was_leaving = l->state == LEAVING;
	bool refused = l->greeting.refused;
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	metrics_count(was_up ? METRIC_redis_disconnects : METRIC_redis_connect_failures);
	struct orphans orphans = link_close(l);
	pause_then_connect(l, refused ? REFUSED_PAUSE_MS : 0);
	if (was_leaving) /* at will: that is no failure */
		l->failures = 0;
	l->owner->down(l, why, was_up);
	tell_fates(orphans);
}

void link_drop(struct redis_link *l, const char *why)
{
	if (l->state == READY)
		link_lost(l, "%s", why);
}

void link_leave(struct redis_link *l)
{
	if (l->state != READY)
		return;
	l->state = LEAVING; /* nothing new goes out on it; it is lost once what is under way was answered */
	if (l->ring.count == 0)
		timer_set(&l->timer, loop_now_us());
}

void link_moved(struct redis_link *l)
{
	if (l->state >= READY) {
		link_leave(l);
		return;
	}
	tell_fates(link_close(l)); /* nothing but a greeting was under way */
	l->failures = 0;
	link_connect(l);
}

/* ---- The greeting ---- */

static void link_ready(struct redis_link *l)
{
	l->state = READY;
	l->failures = 0;
	metrics_count(METRIC_redis_connects);
	timer_stop(&l->timer);
	l->owner->up(l);
}

/* An answer to the greeting. */
static void greeting_step(struct redis_link *l, const struct reply *reply)
{
	if (!greeting_reply(&l->greeting, reply))
		link_lost(l, "%s", l->greeting.why);
	else if (l->greeting.owed == 0)
		link_ready(l);
}

static void link_greet(struct redis_link *l)
{
	struct greeting_command commands[GREETING_COMMANDS];
	size_t count = greeting_commands(&l->greeting, l->target, commands);
	bool ok = true;

	l->state = GREETING;
	for (size_t i = 0; i < count && ok; i++)
		ok = resp_add(&l->out, commands[i].args, commands[i].count);
	for (const struct script *const *s = l->owner->said ? NULL : greeting_scripts(); s && *s && ok; s++) {
		struct text load[] = { TEXT("SCRIPT"), TEXT("LOAD"), (*s)->source };
		ok = resp_add(&l->out, load, 3);
		l->greeting.owed++;
	}
	if (!ok)
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
		call->done(call, FATE_ANSWERED, reply);
	}
	if (l->state == LEAVING && l->ring.count == 0)
		link_lost(l, LINK_LEFT);
	return l->state >= GREETING;
}

static void link_read(struct redis_link *l)
{
	ssize_t n = recv(l->watch.fd, read_buffer, sizeof(read_buffer), 0);
	const struct reply *reply;
	const char *why = "";

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		link_lost(l, "%s", n == 0 ? "it closed the connection" : strerror(errno));
		return;
	}
	if (!reply_reader_feed(l->reader, read_buffer, (size_t)n)) {
		link_lost(l, "its answer is too large");
		return;
	}
	for (;;) {
		struct reply_reader *reader = l->reader;
		if (!reply_reader_next(reader, &reply, &why)) {
			metrics_count(METRIC_redis_protocol_errors);
			link_lost(l, "what it says is not the Redis protocol (%s)", why);
			return;
		}
		if (!reply || !on_reply(l, reply))
			break;
		reply_reader_done(reader);
	}
	if (l->state >= READY && l->ring.count)
		timer_set(&l->timer, ring_oldest(&l->ring)->due_us);
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct redis_link *l = (struct redis_link *)((char *)w - offsetof(struct redis_link, watch));
	int error = 0;
	socklen_t len = sizeof(error);

	if (l->state == CONNECTING) {
		if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error) {
			link_lost(l, "%s", strerror(error ? error : errno));
			return;
		}
		loop_rewatch(w, EPOLLIN);
		link_greet(l);
		return;
	}
	if (events & EPOLLOUT) {
		want_write(l, false);
		link_flush(l);
	}
	if (l->state >= GREETING && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		link_read(l);
}

/* The pause is over, an attempt took too long, or the oldest call is overdue. */
static void on_timer(struct timer *t)
{
	struct redis_link *l = (struct redis_link *)((char *)t - offsetof(struct redis_link, timer));

	if (l->state == DOWN) {
		link_connect(l);
	} else if (l->state < READY) {
		link_lost(l, l->state == RESOLVING ? "its name was not resolved in time" : "it did not answer in time");
	} else if (l->state == LEAVING && l->ring.count == 0) {
		link_lost(l, LINK_LEFT);
	} else if (l->ring.count && ring_oldest(&l->ring)->due_us <= loop_now_us()) {
		metrics_count(METRIC_redis_timeouts);
		link_lost(l, "no answer within %lld ms", (long long)config()->redis_timeout_ms);
		if (l->owner->silent)
			l->owner->silent(l);
	} else if (l->ring.count) {
		timer_set(t, ring_oldest(&l->ring)->due_us);
	}
}

/* ---- Connecting ---- */

static void link_connect_to(struct redis_link *l, const struct sockaddr *address, socklen_t len)
{
	int on = 1;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	l->watch = (struct watch){ .fd = fd, .ready = on_ready };
	if (fd < 0) {
		link_lost(l, "no socket: %s", strerror(errno));
		return;
	}
	if (address->sa_family != AF_UNIX) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	}
	/* A message's body in one reply with others; scripts keep those within a mebibyte. */
	l->reader = reply_reader_new((size_t)config()->max_body_bytes * 2 + REPLY_BYTES);
	l->state = CONNECTING;
	if (!l->reader || !loop_watch(&l->watch, EPOLLOUT))
		link_lost(l, "no memory");
	else if (connect(fd, address, len) != 0 && errno != EINPROGRESS)
		link_lost(l, "%s", strerror(errno));
}

/* Each attempt takes the next address: localhost may be ::1 first, and Redis listen on 127.0.0.1 only. */
static void on_resolved(struct lookup *lookup, const struct addrinfo *found, const char *why)
{
	struct redis_link *l = (struct redis_link *)((char *)lookup - offsetof(struct redis_link, lookup));
	const struct addrinfo *a = found ? resolve_nth(found, l->failures) : NULL;

	if (a)
		link_connect_to(l, a->ai_addr, a->ai_addrlen);
	else
		link_lost(l, "its name does not resolve: %s", why);
}

static void link_connect(struct redis_link *l)
{
	timer_set(&l->timer, loop_now_us() + config()->redis_timeout_ms * 1000);
	l->greeting = (struct redis_greeting){ 0 };
	if (l->target->path[0]) {
		struct sockaddr_un address = { .sun_family = AF_UNIX };
		memcpy(address.sun_path, l->target->path, sizeof(address.sun_path));
		link_connect_to(l, (struct sockaddr *)&address, sizeof(address));
		return;
	}
	l->state = RESOLVING;
	resolve_name(&l->lookup, l->target->host, l->target->port);
}

struct redis_link *link_new(const struct redis_url *target, const struct redis_link_owner *owner, void *whose)
{
	struct redis_link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->target = target;
	l->owner = owner;
	l->whose = whose;
	l->watch.fd = -1;
	l->timer.expired = on_timer;
	l->lookup.done = on_resolved;
	return l;
}

void link_open(struct redis_link *l)
{
	link_connect(l);
}

void link_free(struct redis_link *l)
{
	if (!l)
		return;
	tell_fates(link_close(l));
	resp_free(&l->out);
	free(l);
}
