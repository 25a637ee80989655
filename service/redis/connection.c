/*
 * redis_link: see redis/connection.h.
 *
 *	DOWN -> RESOLVING -> CONNECTING -> (HANDSHAKING ->) GREETING -> READY -> (LEAVING ->) DOWN, after a pause that grows
 *
 * Owns its socket, buffers and the ring of pending calls; the calls themselves belong to whoever made them.
 */
#include "redis/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/backoff.h"
#include "net/tls.h"
#include "process/config.h"
#include "process/metrics.h"
#include "redis/connection_private.h"
#include "redis/credentials.h"
#include "redis/reply_reader.h"

enum {
	READ_BYTES = 64 * 1024,
	READS_A_TURN = 16, /* of records of TLS, each of which is one read */
	FIRST_PAUSE_MS = 4,
	LONGEST_PAUSE_MS = 1000,
	REFUSED_PAUSE_MS = 5000, /* after a wrong password: asking again soon would not help */
};

static struct redis_link *links; /* all of them */
static unsigned in_flight;       /* on all links */
static struct redis_answers answers;
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

bool link_is_ready(const struct redis_link *l)
{
	return l->state == READY;
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

void link_want_write(struct redis_link *l, bool wanted)
{
	/* Where there is no memory for it, the next turn or event tries again. */
	if (l->want_write != wanted && loop_rewatch(&l->watch, EPOLLIN | (wanted ? EPOLLOUT : 0U)))
		l->want_write = wanted;
}

static void write_out(struct redis_link *l)
{
	if (l->state < GREETING || l->want_write)
		return;
	if (resp_write(&l->out, l->watch.fd, l->tls))
		link_want_write(l, l->tls ? tls_wants_write(l->tls) : resp_waiting(&l->out) > 0);
	else
		link_lost(l, "cannot write: %s", l->tls ? tls_why(l->tls) : strerror(errno));
}

/* A drained link closes here, and not at its last answer: redis_acked.c adds a WAIT by the end of the turn. */
void link_flush(struct redis_link *l)
{
	if (l->state == LEAVING && l->ring.count == 0)
		link_lost(l, LINK_LEFT);
	else
		write_out(l);
}

bool link_send(struct redis_link *l, struct redis_call *call, const struct text *args, size_t count)
{
	link_check(l); /* not behind it: an ASKING is for the very next command */

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
	struct orphans o = { l->ring, l->out.written + l->out.sealed };

	l->state = DOWN;
	timer_stop(&l->timer);
	resolve_cancel(&l->lookup);
	tls_session_free(l->tls);
	l->tls = NULL;
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
void link_lost(struct redis_link *l, const char *format, ...)
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
	pause_then_connect(l, l->greeting.refused && !is_stale ? REFUSED_PAUSE_MS : 0);
	if (has_left) /* at will: that is no failure */
		l->failures = 0;
	if (!was_up)
		link_renewal_failed(l, why);
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
	link_connect(l);
}

/* ---- The greeting ---- */

static void link_ready(struct redis_link *l)
{
	l->state = READY;
	l->failures = 0;
	l->checked_us = loop_now_us();
	l->permissions = l->greeting.permissions;
	link_check_permissions(l);
	metrics_count(METRIC_redis_connects);
	timer_stop(&l->timer);
	if (login_is_shared(l->target) && login_accepted())
		links_try_now();
	link_renewal_done(l);
	l->owner->up(l);
}

/* An answer to the greeting. */
static void greeting_step(struct redis_link *l, const struct reply *reply)
{
	if (!greeting_reply(&l->greeting, reply))
		link_lost(l, "%s", l->greeting.why);
	else if (l->greeting.owed == 0 && !link_ask_permissions(l))
		link_ready(l);
}

void link_greet(struct redis_link *l)
{
	struct greeting_command commands[GREETING_COMMANDS];
	size_t count = greeting_commands(&l->greeting, l->target, commands);
	bool ok = true;

	l->state = GREETING;
	for (size_t i = 0; i < count && ok; i++)
		ok = resp_add(&l->out, commands[i].args, commands[i].count);
	for (const struct text *s = l->owner->said ? NULL : greeting_preload(); s && s->at && ok; s++) {
		struct text load[] = { TEXT("SCRIPT"), TEXT("LOAD"), *s };
		ok = resp_add(&l->out, load, 3);
		l->greeting.owed++;
	}
	struct text whoami[PERMISSION_ARGS];
	if (ok && l->greeting.owed > count) /* there were scripts, so that there is something to be allowed */
		ok = resp_add(&l->out, whoami, greeting_whoami(&l->greeting, whoami));
	if (ok)
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

/* True when more may have come than was read. */
static bool link_read(struct redis_link *l)
{
	const struct reply *reply;
	const char *why = "";
	size_t n = link_receive(l, read_buffer, sizeof(read_buffer));

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
	return l->tls != NULL; /* that was one record */
}

void link_on_ready(struct watch *w, uint32_t events)
{
	struct redis_link *l = container_of(w, struct redis_link, watch);

	if (l->state == CONNECTING) {
		link_connected(l);
		return;
	}
	if (l->state == HANDSHAKING) {
		link_handshake(l);
		return;
	}
	if (l->tls) /* a read may have waited to write, and the reverse */
		events |= EPOLLIN | EPOLLOUT;
	/* First what the server says: it may tell why it takes no more. */
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		for (int left = READS_A_TURN; left > 0 && l->state >= GREETING && link_read(l); left--)
			;
	if (l->state >= GREETING && (events & EPOLLOUT)) {
		link_want_write(l, false);
		write_out(l);
	}
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
	link_connect(l);
}

static const char *const late[READY] = {
	[RESOLVING] = "its name was not resolved in time",
	[CONNECTING] = "it did not answer in time",
	[HANDSHAKING] = "TLS: no handshake in time; redis:// is for a port without TLS",
	[GREETING] = "it did not answer in time",
};

/* The pause is over, an attempt took too long, or the oldest call is overdue. */
static void on_timer(struct timer *t)
{
	struct redis_link *l = container_of(t, struct redis_link, timer);

	if (l->state == DOWN) {
		link_try(l);
	} else if (l->state < READY) {
		link_lost(l, "%s", late[l->state]);
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
	struct redis_link *l = calloc(1, sizeof(*l)), **at = &links;

	if (!l)
		return NULL;
	l->target = target;
	l->owner = owner;
	l->whose = whose;
	l->watch.fd = -1;
	l->timer.expired = on_timer;
	while (*at)
		at = &(*at)->next;
	*at = l;
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
	for (struct redis_link **at = &links; *at; at = &(*at)->next)
		if (*at == l) {
			*at = l->next;
			break;
		}
	link_renewal_done(l);
	tell_fates(link_close(l));
	resp_free(&l->out);
	free(l);
}
