#include "outbound/outbound_socket.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/loop.h"
#include "outbound/loopback.h"

enum socket_state {
	FREE, /* no descriptor */
	USED, /* watched for libcurl, which waits for events of it */
	LEFT, /* not watched: libcurl waits for none, or holds it in its cache */
	KEPT, /* in libcurl's cache, and watched: any event ends it */
};

/*
 * Their number is bounded, so that no callback allocates memory: a callback that fails would end
 * all requests.
 */
static struct socket {
	struct loop_watch watch;
	enum socket_state state;
	const CURL *easy; /* the request that used it last */
	int64_t kept_since_us;
} sockets[OUTBOUND_SOCKETS];
static size_t end; /* sockets from this index on are FREE */
static void (*act)(int fd, int events);

void outbound_socket_open(void (*call_act)(int fd, int events))
{
	act = call_act;
}

static struct socket *find(curl_socket_t fd)
{
	for (size_t i = 0; i < end; i++)
		if (sockets[i].state != FREE && sockets[i].watch.fd == fd)
			return &sockets[i];
	return NULL;
}

static struct socket *take(curl_socket_t fd)
{
	for (size_t i = 0; i < OUTBOUND_SOCKETS; i++) {
		if (sockets[i].state != FREE)
			continue;
		sockets[i] = (struct socket){ .watch = { .fd = fd }, .state = LEFT };
		end = i < end ? end : i + 1;
		return &sockets[i];
	}
	return NULL;
}

static void release(struct socket *s)
{
	if (s->state != LEFT)
		loop_unwatch(&s->watch);
	s->state = FREE;
	while (end > 0 && sockets[end - 1].state == FREE)
		end--;
}

/* ---- Functions that libcurl calls ---- */

/* Opens sockets to this machine only, whatever libcurl made of the URL. */
curl_socket_t outbound_socket_make(void *context, curlsocktype purpose, struct curl_sockaddr *at)
{
	(void)context;
	(void)purpose;
	if (!loopback_holds(&at->addr))
		return CURL_SOCKET_BAD;
	return socket(at->family, at->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->protocol);
}

int outbound_socket_close(void *context, curl_socket_t fd)
{
	struct socket *s = find(fd);

	(void)context;
	if (s)
		release(s);
	return close(fd);
}

static void on_ready(struct loop_watch *w, uint32_t events)
{
	int mask = (events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events & EPOLLOUT ? CURL_CSELECT_OUT : 0);

	if (events & (EPOLLERR | EPOLLHUP))
		mask |= CURL_CSELECT_ERR;
	act(w->fd, mask);
}

/* Before libcurl would use it again, it notices that the socket was shut down. */
static void end_kept(struct socket *s)
{
	shutdown(s->watch.fd, SHUT_RDWR);
	release(s);
}

static void on_unasked(struct loop_watch *w, uint32_t events)
{
	(void)events;
	end_kept(container_of(w, struct socket, watch));
}

/* False: it cannot be watched, so it is idle until its request times out. */
static bool watch(struct socket *s, uint32_t events, enum socket_state state)
{
	bool is_watched = s->state != LEFT;

	s->watch.ready = state == KEPT ? on_unasked : on_ready;
	if (!(is_watched ? loop_rewatch(&s->watch, events) : loop_watch(&s->watch, events)))
		return false;
	s->state = state;
	return true;
}

int outbound_socket_watch(CURL *easy, curl_socket_t fd, int what, void *context, void *of_socket)
{
	uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
	struct socket *s = find(fd);

	(void)context;
	(void)of_socket;
	if (what == CURL_POLL_REMOVE) {
		if (s && s->state != LEFT)
			loop_unwatch(&s->watch);
		if (s)
			s->state = LEFT;
		return 0;
	}
	s = s ? s : take(fd);
	if (!s)
		return 0;
	s->easy = easy;
	watch(s, events, USED);
	return 0;
}

/* ---- Kept connections ---- */

static bool has_input(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

void outbound_socket_keep(const CURL *easy)
{
	for (size_t i = 0; i < end; i++) {
		struct socket *s = &sockets[i];
		if (s->state != LEFT || s->easy != easy)
			continue;
		s->easy = NULL;
		s->kept_since_us = loop_now_us();
		if (has_input(s->watch.fd) || !watch(s, EPOLLIN | EPOLLRDHUP, KEPT))
			end_kept(s);
	}
}

bool outbound_socket_sweep(void)
{
	int64_t until_us = loop_now_us() - 1000000LL * OUTBOUND_KEPT_S;
	bool are_kept = false;

	for (size_t i = 0; i < end; i++) {
		if (sockets[i].state == KEPT && sockets[i].kept_since_us <= until_us)
			end_kept(&sockets[i]);
		are_kept = are_kept || sockets[i].state == KEPT;
	}
	return are_kept;
}
