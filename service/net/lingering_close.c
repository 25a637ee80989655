/*
 * lingering_close: see lingering_close.h. When all LINGERING_CLOSES_MAX are in use, a connection is
 * closed at once.
 */
#include "net/lingering_close.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/loop.h"

enum { MOST_BYTES = 1 << 20, MOST_US = 1000000 };

struct lingering_close {
	struct loop_watch watch; /* watches a duplicate of the socket; `ready` is NULL if it is unused */
	struct loop_timer end;
	size_t bytes;
};

static struct lingering_close closes[LINGERING_CLOSES_MAX];

static void end(struct lingering_close *c)
{
	loop_timer_stop(&c->end);
	loop_unwatch(&c->watch);
	close(c->watch.fd);
	c->watch.ready = NULL;
}

static void on_bytes(struct loop_watch *w, uint32_t events)
{
	static char nowhere[16 * 1024];
	struct lingering_close *c = container_of(w, struct lingering_close, watch);
	ssize_t n = recv(w->fd, nowhere, sizeof(nowhere), MSG_DONTWAIT);

	(void)events;
	if (n > 0)
		c->bytes += (size_t)n;
	if (n == 0 || (n < 0 && errno != EAGAIN) || c->bytes >= MOST_BYTES)
		end(c);
}

static void on_end(struct loop_timer *t)
{
	end(container_of(t, struct lingering_close, end));
}

void lingering_close(int fd)
{
	struct lingering_close *c = closes;

	while (c < closes + LINGERING_CLOSES_MAX && c->watch.ready)
		c++;
	int own = c < closes + LINGERING_CLOSES_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (own < 0)
		return;
	shutdown(own, SHUT_WR); /* closing the other descriptor sends no FIN while this duplicate is open */
	*c = (struct lingering_close){ .watch = { own, on_bytes }, .end.expired = on_end };
	if (!loop_watch(&c->watch, EPOLLIN) || !loop_timer_set(&c->end, loop_now_us() + MOST_US))
		end(c);
}
