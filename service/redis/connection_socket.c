/*
 * link_socket: a link's way to its server, plain or through TLS: from a name until something can be said, and what comes in then. What goes
 * out is resp.c's.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "net/tls.h"
#include "process/config.h"
#include "redis/connection_private.h"
#include "redis/credentials.h"
#include "redis/reply_reader.h"

enum { REPLY_BYTES = 8 * 1024 * 1024 }; /* of a reply, beside what messages take */

static bool reached;

/* ---- Connecting ---- */

static void link_connect_to(struct redis_link *l, const struct sockaddr *address, socklen_t len)
{
	int on = 1;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	l->watch = (struct watch){ .fd = fd, .ready = link_on_ready };
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
static void on_resolved(struct resolve_lookup *lookup, const struct addrinfo *found, const char *why)
{
	struct redis_link *l = container_of(lookup, struct redis_link, lookup);
	const struct addrinfo *a = found ? resolve_nth(found, l->failures) : NULL;

	if (a)
		link_connect_to(l, a->ai_addr, a->ai_addrlen);
	else
		link_lost(l, "its name does not resolve: %s", why);
}

void link_connect(struct redis_link *l)
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
	l->lookup.done = on_resolved;
	resolve_name(&l->lookup, l->target->host, l->target->port);
}

/* ---- Connected ---- */

/* The certificate that is not accepted now will not be in a moment either. */
static void tls_lost(struct redis_link *l)
{
	l->greeting.refused = tls_is_refused(l->tls);
	link_lost(l, "%s", tls_why(l->tls));
}

void link_handshake(struct redis_link *l)
{
	if (tls_handshake(l->tls) == 1)
		link_greet(l);
	else if (errno == EAGAIN)
		link_want_write(l, tls_wants_write(l->tls));
	else
		tls_lost(l);
}

bool links_reached(void)
{
	return reached;
}

void link_connected(struct redis_link *l)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(l->watch.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error) {
		link_lost(l, "%s", strerror(error ? error : errno));
		return;
	}
	reached = true;
	l->renew = false; /* it shows from here on what the files contain now */
	if (!loop_rewatch(&l->watch, EPOLLIN)) {
		link_lost(l, "no memory");
		return;
	}
	if (!l->target->tls) {
		link_greet(l);
		return;
	}
	l->state = HANDSHAKING;
	l->tls = login_session(l->watch.fd, l->target->host);
	if (l->tls)
		link_handshake(l);
	else
		link_lost(l, "no memory for TLS");
}

/* A server that expects TLS hangs up on what is none. */
static void plain_lost(struct redis_link *l, const char *why)
{
	if (l->state == GREETING && l->greeting.at == 0 && l->target->host[0])
		link_lost(l, "%s before a word was said (is it a port for TLS? use rediss://)", why);
	else
		link_lost(l, "%s", why);
}

size_t link_receive(struct redis_link *l, char *at, size_t size)
{
	ssize_t n = l->tls ? tls_read(l->tls, at, size) : recv(l->watch.fd, at, size, 0);

	if (n > 0)
		return (size_t)n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (l->tls && tls_wants_write(l->tls))
			link_want_write(l, true);
	} else if (l->tls) {
		tls_lost(l);
	} else {
		plain_lost(l, n == 0 ? "it closed the connection" : strerror(errno));
	}
	return 0;
}
