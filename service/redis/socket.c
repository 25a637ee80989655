#include "redis/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/tls.h"
#include "process/config.h"
#include "redis/credentials.h"

enum { RECORDS_AN_EVENT = 16 }; /* TLS records per event, each by one read */

static bool any_accepted;

bool redis_socket_any_accepted(void)
{
	return any_accepted;
}

static void fail(struct redis_socket *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct redis_socket *s, const char *format, ...)
{
	char why[SOCKET_WHY_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	s->callbacks->failed(s, why);
}

static void fail_tls(struct redis_socket *s)
{
	s->tls_rejected = tls_is_refused(s->tls);
	fail(s, "%s", tls_why(s->tls));
}

static void want_write(struct redis_socket *s, bool wanted)
{
	/* If memory for this runs out, the next loop iteration or event tries again. */
	if (s->wants_write != wanted && loop_rewatch(&s->watch, (s->held ? 0U : EPOLLIN) | (wanted ? EPOLLOUT : 0U)))
		s->wants_write = wanted;
}

void redis_socket_hold(struct redis_socket *s, bool held)
{
	if (s->state == SOCKET_OPEN && s->held != held &&
	    loop_rewatch(&s->watch, (held ? 0U : EPOLLIN) | (s->wants_write ? EPOLLOUT : 0U)))
		s->held = held;
}

/* ---- Connecting ---- */

static void opened(struct redis_socket *s)
{
	s->state = SOCKET_OPEN;
	s->callbacks->opened(s);
}

static void handshake(struct redis_socket *s)
{
	if (tls_handshake(s->tls) == 1)
		opened(s);
	else if (errno == EAGAIN)
		want_write(s, tls_wants_write(s->tls));
	else
		fail_tls(s);
}

static void on_connected(struct redis_socket *s)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(s->watch.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error) {
		fail(s, "%s", strerror(error ? error : errno));
		return;
	}
	any_accepted = true;
	if (!loop_rewatch(&s->watch, EPOLLIN)) {
		fail(s, "no memory");
		return;
	}
	if (!s->url->tls) {
		opened(s);
		return;
	}
	s->state = SOCKET_TLS_HANDSHAKE;
	s->tls = credentials_tls_session(s->watch.fd, s->url->host);
	if (s->tls)
		handshake(s);
	else
		fail(s, "no memory for TLS");
}

static void on_event(struct loop_watch *w, uint32_t events)
{
	struct redis_socket *s = container_of(w, struct redis_socket, watch);

	if (s->state == SOCKET_CONNECTING) {
		on_connected(s);
		return;
	}
	if (s->state == SOCKET_TLS_HANDSHAKE) {
		handshake(s);
		return;
	}
	if (s->held) /* an error is reported in any case */
		events &= ~(uint32_t)EPOLLIN;
	else if (s->tls) /* a read may have waited for a write, and a write for a read */
		events |= EPOLLIN | EPOLLOUT;
	/* Read first, because the server may send the reason for closing. */
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		for (int left = s->tls ? RECORDS_AN_EVENT : 1; left > 0 && s->state == SOCKET_OPEN; left--)
			if (!s->callbacks->readable(s))
				break;
	if (s->state == SOCKET_OPEN && (events & EPOLLOUT))
		want_write(s, false);
}

/*
 * A gateway may forget an idle connection, and a probe by TCP reminds it. A dead peer is noticed
 * after one idle time and three probes. Errors only mean that the kernel's times hold.
 */
static void keep_alive(int fd)
{
	enum { PROBES = 3 };
	int on = 1, probes = PROBES, idle_s = (int)(config()->redis_keepalive_ms / 1000);
	int each_s = idle_s > PROBES ? idle_s / PROBES : 1;
	unsigned user_ms = (unsigned)(idle_s + PROBES * each_s) * 1000;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each_s, sizeof(each_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_ms, sizeof(user_ms));
}

static void connect_to(struct redis_socket *s, const struct sockaddr *address, socklen_t len)
{
	int on = 1;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	s->state = SOCKET_CONNECTING;
	s->watch = (struct loop_watch){ .fd = fd, .ready = on_event };
	if (fd < 0) {
		fail(s, "no socket: %s", strerror(errno));
		return;
	}
	if (address->sa_family != AF_UNIX) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		keep_alive(fd);
	}
	if (!loop_watch(&s->watch, EPOLLOUT))
		fail(s, "no memory");
	else if (connect(fd, address, len) != 0 && errno != EINPROGRESS)
		fail(s, "%s", strerror(errno));
}

/*
 * Each attempt takes the next address: localhost may be ::1 first while Redis listens on 127.0.0.1
 * only.
 */
static void on_resolved(struct resolve_lookup *lookup, const struct addrinfo *found, const char *why)
{
	struct redis_socket *s = container_of(lookup, struct redis_socket, lookup);
	const struct addrinfo *a = found ? resolve_nth(found, s->attempt) : NULL;

	if (a)
		connect_to(s, a->ai_addr, a->ai_addrlen);
	else
		fail(s, "its name does not resolve: %s", why);
}

void redis_socket_open(struct redis_socket *s, const struct redis_url *url, unsigned attempt)
{
	s->url = url;
	s->attempt = attempt;
	s->watch.fd = -1;
	s->was_read = s->tls_rejected = false;
	if (url->path[0]) {
		struct sockaddr_un address = { .sun_family = AF_UNIX };
		memcpy(address.sun_path, url->path, sizeof(address.sun_path));
		connect_to(s, (struct sockaddr *)&address, sizeof(address));
		return;
	}
	s->state = SOCKET_RESOLVING;
	s->lookup.done = on_resolved;
	resolve_name(&s->lookup, url->host, url->port);
}

void redis_socket_close(struct redis_socket *s)
{
	if (s->state == SOCKET_CLOSED)
		return;
	s->state = SOCKET_CLOSED;
	resolve_cancel(&s->lookup);
	tls_session_free(s->tls);
	s->tls = NULL;
	if (s->watch.fd >= 0) {
		loop_unwatch(&s->watch);
		close(s->watch.fd);
	}
	s->watch.fd = -1;
	s->sealed = 0;
	s->wants_write = s->held = false;
}

const char *redis_socket_overdue(const struct redis_socket *s)
{
	static const char *const late[] = {
		[SOCKET_RESOLVING] = "its name was not resolved in time",
		[SOCKET_CONNECTING] = "it did not answer in time",
		[SOCKET_TLS_HANDSHAKE] = "TLS: no handshake in time; redis:// is for a port without TLS",
		[SOCKET_OPEN] = "it did not answer in time",
	};

	return late[s->state];
}

/* ---- Open ---- */

/* A server that expects TLS closes a connection without it. */
static void fail_plain(struct redis_socket *s, const char *why)
{
	if (!s->was_read && s->url->host[0])
		fail(s, "%s before its first reply (is it a port for TLS? use rediss://)", why);
	else
		fail(s, "%s", why);
}

size_t redis_socket_read(struct redis_socket *s, char *at, size_t size)
{
	ssize_t n = s->tls ? tls_read(s->tls, at, size) : recv(s->watch.fd, at, size, 0);

	if (n > 0) {
		s->was_read = true;
		return (size_t)n;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (s->tls && tls_wants_write(s->tls))
			want_write(s, true);
	} else if (s->tls) {
		fail_tls(s);
	} else {
		fail_plain(s, n == 0 ? "it closed the connection" : strerror(errno));
	}
	return 0;
}

/* Writes at most one record. Its bytes may have been sent before TLS reports them as written. */
static ssize_t write_tls(struct redis_socket *s, const char *at, size_t len)
{
	s->sealed = len < TLS_RECORD_BYTES ? len : TLS_RECORD_BYTES;
	ssize_t n = tls_write(s->tls, at, len);
	if (n > 0)
		s->sealed = 0;
	return n;
}

size_t redis_socket_write(struct redis_socket *s, const char *at, size_t len)
{
	ssize_t n;

	if (s->wants_write)
		return 0;
	do
		n = s->tls ? write_tls(s, at, len) : send(s->watch.fd, at, len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return (size_t)n;
	if (errno == EAGAIN)
		want_write(s, !s->tls || tls_wants_write(s->tls));
	else
		fail(s, "cannot write: %s", s->tls ? tls_why(s->tls) : strerror(errno));
	return 0;
}

size_t redis_socket_write_ahead(const struct redis_socket *s, const char *at, size_t len)
{
	ssize_t n = s->state != SOCKET_OPEN || s->tls || s->wants_write ? 0 : send(s->watch.fd, at, len, MSG_NOSIGNAL);

	return n > 0 ? (size_t)n : 0;
}
