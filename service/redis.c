/*
 * redis: the connections and what is under way on them; see redis.h.
 *
 *	DOWN -> RESOLVING -> CONNECTING -> GREETING -> READY -> (LEAVING ->) DOWN, after a pause that grows
 *
 * Owns sockets, buffers and the rings of pending calls; the calls themselves belong to whoever made them. Knows nothing of
 * requests and patterns.
 */
#include "redis.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "config.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "redis_greeting.h"
#include "redis_reply.h"
#include "redis_url.h"
#include "resolve.h"

enum {
	READ_BYTES = 64 * 1024,
	REPLY_BYTES = 8 * 1024 * 1024,    /* of a reply, beside what messages take */
	MAX_OUT_BYTES = 64 * 1024 * 1024, /* waiting in one connection to be written */
	FIRST_PAUSE_MS = 4,
	LONGEST_PAUSE_MS = 1000,
	REFUSED_PAUSE_MS = 5000, /* after a wrong password: asking again soon would not help */
	TROUBLE_BYTES = 256,
};

enum link_state { DOWN, RESOLVING, CONNECTING, GREETING, READY, LEAVING };

/* One connection. */
struct link {
	enum link_state state;
	struct watch watch;
	struct timer timer; /* DOWN: the pause; up to GREETING: the attempt; READY: the oldest call */
	struct reply_reader *reader;
	unsigned failures; /* attempts since it was last usable */

	char *out; /* [out_done, out_len) waits to be written */
	size_t out_len, out_done, out_size;
	uint64_t written; /* bytes that the kernel took, since the connection was made */
	bool want_write;  /* the kernel's buffer is full: waiting for EPOLLOUT */

	struct redis_call **ring; /* pending calls, oldest at ring_first */
	size_t ring_size, ring_first, ring_count;
	struct redis_greeting greeting;
};

static struct link *links;
static unsigned link_count, ready_count, in_flight, next_link;
static struct redis_url target;
static char trouble[TROUBLE_BYTES] = "not connected yet";
static char server[64];
static bool was_reached, closing;
static char read_buffer[READ_BYTES];

unsigned redis_connections(void)
{
	return ready_count;
}

unsigned redis_in_flight(void)
{
	return in_flight;
}

bool redis_was_reached(void)
{
	return was_reached;
}

const char *redis_trouble(void)
{
	return ready_count ? "" : trouble;
}

const char *redis_address(void)
{
	return target.address;
}

const char *redis_server(void)
{
	return server;
}

/* ---- The ring of pending calls ---- */

static bool ring_push(struct link *l, struct redis_call *call)
{
	if (l->ring_count == l->ring_size) {
		size_t size = l->ring_size ? l->ring_size * 2 : 64;
		struct redis_call **bigger = malloc(size * sizeof(*bigger));
		if (!bigger)
			return false;
		for (size_t i = 0; i < l->ring_count; i++)
			bigger[i] = l->ring[(l->ring_first + i) & (l->ring_size - 1)];
		free(l->ring);
		l->ring = bigger;
		l->ring_size = size;
		l->ring_first = 0;
	}
	l->ring[(l->ring_first + l->ring_count++) & (l->ring_size - 1)] = call;
	in_flight++;
	return true;
}

static struct redis_call *ring_pop(struct link *l)
{
	struct redis_call *call = l->ring[l->ring_first];

	l->ring_first = (l->ring_first + 1) & (l->ring_size - 1);
	l->ring_count--;
	in_flight--;
	return call;
}

/* ---- Writing ---- */

static bool out_reserve(struct link *l, size_t more)
{
	if (l->out_size - l->out_len >= more)
		return true;
	if (l->out_done) {
		memmove(l->out, l->out + l->out_done, l->out_len - l->out_done);
		l->out_len -= l->out_done;
		l->out_done = 0;
	}
	if (l->out_len + more > MAX_OUT_BYTES)
		return false;
	if (l->out_size - l->out_len < more) {
		size_t size = l->out_size * 2 > l->out_len + more ? l->out_size * 2 : l->out_len + more;
		char *bigger = realloc(l->out, size);
		if (!bigger)
			return false;
		l->out = bigger;
		l->out_size = size;
	}
	return true;
}

static void out_bytes(struct link *l, const char *bytes, size_t len)
{
	if (len)
		memcpy(l->out + l->out_len, bytes, len);
	l->out_len += len;
}

static void out_header(struct link *l, char type, size_t n)
{
	char buffer[TEXT_DIGITS];
	struct text digits = text_of_int((int64_t)n, buffer);

	out_bytes(l, &type, 1);
	out_bytes(l, digits.at, digits.len);
	out_bytes(l, "\r\n", 2);
}

/* The command in RESP, written in place: hiredis's formatter would build each in memory of its own first. */
static bool out_command(struct link *l, const struct text *args, size_t count)
{
	size_t most = 24;

	for (size_t i = 0; i < count; i++)
		most += args[i].len + 26;
	if (!out_reserve(l, most))
		return false;
	out_header(l, '*', count);
	for (size_t i = 0; i < count; i++) {
		out_header(l, '$', args[i].len);
		out_bytes(l, args[i].at, args[i].len);
		out_bytes(l, "\r\n", 2);
	}
	return true;
}

static void link_lost(struct link *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void want_write(struct link *l, bool wanted)
{
	if (l->want_write != wanted) {
		l->want_write = wanted;
		loop_rewatch(&l->watch, EPOLLIN | (wanted ? EPOLLOUT : 0U));
	}
}

static void link_flush(struct link *l)
{
	while (l->out_done < l->out_len) {
		ssize_t n = send(l->watch.fd, l->out + l->out_done, l->out_len - l->out_done, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			want_write(l, true);
			return;
		}
		if (n < 0) {
			link_lost(l, "cannot write: %s", strerror(errno));
			return;
		}
		l->out_done += (size_t)n;
		l->written += (uint64_t)n;
	}
	l->out_len = l->out_done = 0;
	want_write(l, false);
}

void redis_flush(void)
{
	for (unsigned i = 0; i < link_count; i++) {
		struct link *l = &links[i];
		if (l->state >= GREETING && l->out_done < l->out_len && !l->want_write)
			link_flush(l);
	}
}

static bool link_send(struct link *l, struct redis_call *call, const struct text *args, size_t count)
{
	uint64_t starts_at = l->written + (l->out_len - l->out_done);

	if (!out_command(l, args, count))
		return false;
	if (!ring_push(l, call)) {
		l->out_len = l->out_done + (size_t)(starts_at - l->written);
		return false;
	}
	call->starts_at = starts_at;
	call->due_us = loop_now_us() + config()->redis_timeout_ms * 1000;
	if (l->ring_count == 1 && l->state == READY)
		timer_set(&l->timer, call->due_us);
	metrics_count(METRIC_redis_commands);
	return true;
}

enum redis_refusal redis_send(struct redis_call *call, const struct text *args, size_t count)
{
	if (ready_count == 0)
		return REDIS_DOWN;
	if (in_flight >= config()->max_in_flight)
		return REDIS_FULL;
	for (unsigned i = 0; i < link_count; i++) {
		struct link *l = &links[next_link++ % link_count];
		if (l->state == READY)
			return link_send(l, call, args, count) ? REDIS_TOOK : REDIS_FULL;
	}
	return REDIS_DOWN;
}

/* ---- Up and down ---- */

static void link_connect(struct link *l);

static uint32_t random_number(void)
{
	uint32_t n = 0;

	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) != sizeof(n))
		n = (uint32_t)loop_now_us();
	return n;
}

/* Doubles up to a second, of which a random half is taken off, so that many daemons do not come back in step. */
static void pause_then_connect(struct link *l, int64_t least_ms)
{
	int64_t ms = FIRST_PAUSE_MS;

	for (unsigned i = 0; i < l->failures && ms < LONGEST_PAUSE_MS; i++)
		ms *= 2;
	if (ms > LONGEST_PAUSE_MS)
		ms = LONGEST_PAUSE_MS;
	if (ms < least_ms)
		ms = least_ms;
	ms -= (int64_t)(random_number() % (uint32_t)(ms / 2 + 1));
	l->failures++;
	timer_set(&l->timer, loop_now_us() + ms * 1000);
}

/* Every call that was on the connection learns its fate. The link is already DOWN: what the owners do cannot reach it. */
static void tell_fates(struct redis_call **ring, size_t size, size_t first, size_t count, uint64_t written)
{
	for (size_t i = 0; i < count; i++) {
		struct redis_call *call = ring[(first + i) & (size - 1)];
		bool sent = call->starts_at < written;
		if (sent)
			metrics_count(METRIC_calls_unknown);
		call->done(call, sent ? FATE_LOST : FATE_NOT_SENT, NULL);
	}
	free(ring);
}

/* Closes the socket and returns to DOWN; the pending calls learn their fate. */
static void link_down(struct link *l)
{
	struct redis_call **ring = l->ring;
	size_t size = l->ring_size, first = l->ring_first, count = l->ring_count;

	if (l->state == READY)
		ready_count--;
	l->state = DOWN;
	timer_stop(&l->timer);
	if (l->watch.fd >= 0) {
		loop_unwatch(&l->watch);
		close(l->watch.fd);
		l->watch.fd = -1;
	}
	reply_reader_free(l->reader);
	l->reader = NULL;
	l->ring = NULL;
	l->ring_size = l->ring_first = l->ring_count = 0;
	in_flight -= (unsigned)count;
	l->out_len = l->out_done = 0;
	l->want_write = false;
	tell_fates(ring, size, first, count, l->written);
	l->written = 0;
}

/* The connection, or the attempt, is over. */
static void link_lost(struct link *l, const char *format, ...)
{
	char why[TROUBLE_BYTES - 64];
	bool was_up = l->state >= READY;
	bool refused = l->greeting.refused;
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	bool news = was_up || strstr(trouble, why) == NULL;
	snprintf(trouble, sizeof(trouble), "%.60s: %s", target.address, why);
	metrics_count(was_up ? METRIC_redis_disconnects : METRIC_redis_connect_failures);
	log_event(news ? LOG_WARN : LOG_DEBUG, was_up ? "redis_lost" : "redis_unreachable", "%s", trouble);
	link_down(l);
	if (!closing)
		pause_then_connect(l, refused ? REFUSED_PAUSE_MS : 0);
}

void redis_distrust(const char *why)
{
	for (unsigned i = 0; i < link_count; i++) {
		if (links[i].state != READY)
			continue;
		links[i].state = LEAVING; /* READY no longer: nothing new goes out on it */
		ready_count--;
		snprintf(trouble, sizeof(trouble), "%.60s: %.150s", target.address, why);
	}
}

/* ---- The greeting ---- */

static void link_ready(struct link *l)
{
	l->state = READY;
	l->failures = 0;
	ready_count++;
	was_reached = true;
	snprintf(server, sizeof(server), "%s", l->greeting.server);
	metrics_count(METRIC_redis_connects);
	timer_stop(&l->timer);
	if (ready_count == 1)
		log_event(LOG_INFO, "redis_connected", "%s at %s", server, target.address);
}

/* An answer to the greeting. */
static void greeting_step(struct link *l, const struct reply *reply)
{
	if (!greeting_reply(&l->greeting, reply))
		link_lost(l, "%s", l->greeting.why);
	else if (l->greeting.owed == 0)
		link_ready(l);
}

static void link_greet(struct link *l)
{
	struct greeting_command commands[GREETING_COMMANDS];
	size_t count = greeting_commands(&l->greeting, &target, commands);
	bool ok = true;

	l->state = GREETING;
	for (size_t i = 0; i < count && ok; i++)
		ok = out_command(l, commands[i].args, commands[i].count);
	for (const struct script *const *s = greeting_scripts(); *s && ok; s++) {
		struct text load[] = { TEXT("SCRIPT"), TEXT("LOAD"), (*s)->source };
		ok = out_command(l, load, 3);
		l->greeting.owed++;
	}
	if (!ok)
		link_lost(l, "no memory for the greeting");
}

/* ---- Reading ---- */

/* One reply; false: the connection is gone. */
static bool on_reply(struct link *l, const struct reply *reply)
{
	if (l->state == GREETING) {
		greeting_step(l, reply);
	} else if (l->ring_count == 0) {
		metrics_count(METRIC_redis_protocol_errors);
		link_lost(l, "it said something that was not asked for");
	} else {
		struct redis_call *call = ring_pop(l);
		call->done(call, FATE_ANSWERED, reply);
	}
	if (l->state == LEAVING && l->ring_count == 0)
		link_lost(l, "left it: it does not take writes");
	return l->state >= GREETING;
}

static void link_read(struct link *l)
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
	if (l->state >= READY && l->ring_count)
		timer_set(&l->timer, l->ring[l->ring_first]->due_us);
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct link *l = (struct link *)((char *)w - offsetof(struct link, watch));
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
		l->want_write = true;
		link_flush(l);
	}
	if (l->state >= GREETING && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		link_read(l);
}

/* The pause is over, an attempt took too long, or the oldest call is overdue. */
static void on_timer(struct timer *t)
{
	struct link *l = (struct link *)((char *)t - offsetof(struct link, timer));

	if (l->state == DOWN) {
		link_connect(l);
	} else if (l->state < READY) {
		link_lost(l, l->state == RESOLVING ? "its name was not resolved in time" : "it did not answer in time");
	} else if (l->ring_count && l->ring[l->ring_first]->due_us <= loop_now_us()) {
		metrics_count(METRIC_redis_timeouts);
		link_lost(l, "no answer within %lld ms", (long long)config()->redis_timeout_ms);
	} else if (l->ring_count) {
		timer_set(t, l->ring[l->ring_first]->due_us);
	}
}

/* ---- Connecting ---- */

static void link_connect_to(struct link *l, const struct sockaddr *address, socklen_t len)
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

static void on_resolved(const struct sockaddr *address, socklen_t len, const char *why)
{
	for (unsigned i = 0; i < link_count; i++) {
		struct link *l = &links[i];
		if (l->state != RESOLVING)
			continue;
		if (len)
			link_connect_to(l, address, len);
		else
			link_lost(l, "its name does not resolve: %s", why);
	}
}

static void link_connect(struct link *l)
{
	timer_set(&l->timer, loop_now_us() + config()->redis_timeout_ms * 1000);
	l->greeting = (struct redis_greeting){ 0 };
	if (target.path[0]) {
		struct sockaddr_un address = { .sun_family = AF_UNIX };
		memcpy(address.sun_path, target.path, sizeof(address.sun_path));
		link_connect_to(l, (struct sockaddr *)&address, sizeof(address));
		return;
	}
	l->state = RESOLVING;
	resolve_name(target.host, target.port, on_resolved);
}

bool redis_open(const char *url, const char *password)
{
	const char *why = redis_url_parse(&target, url, password);

	if (why) {
		fprintf(stderr, "patternd: --redis: %s; expected redis://[user:password@]host:port[/db] or unix:///path\n", why);
		return false;
	}
	links = calloc((size_t)config()->pool_size, sizeof(*links));
	if (!links)
		return false;
	link_count = (unsigned)config()->pool_size;
	for (unsigned i = 0; i < link_count; i++) {
		links[i].watch.fd = -1;
		links[i].timer.expired = on_timer;
		link_connect(&links[i]);
	}
	return true;
}

void redis_close(void)
{
	closing = true;
	for (unsigned i = 0; i < link_count; i++) {
		link_down(&links[i]);
		free(links[i].out);
	}
	free(links);
	links = NULL;
	link_count = 0;
	resolve_close();
}
