/* gate: see gate.h. */
#include "net/gate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "process/log.h"
#include "process/metrics.h"

enum { ENTER_A_TURN = 16, RETRY_MS = 100 };

static void shut(struct gate *g)
{
	if (g->shut)
		return;
	g->shut = true;
	metrics_count(METRIC_accepts_paused);
	for (size_t i = 0; i < g->count; i++)
		loop_unwatch(&g->ways[i].watch);
}

static void unshut(struct gate *g)
{
	bool ok = true;

	if (!g->shut)
		return;
	timer_stop(&g->retry);
	for (size_t i = 0; i < g->count; i++)
		ok &= loop_watch(&g->ways[i].watch, EPOLLIN) || errno == EEXIST;
	if (ok)
		g->shut = false;
	else /* nobody else would open it again */
		timer_set(&g->retry, loop_now_us() + RETRY_MS * 1000);
}

static void on_retry(struct timer *t)
{
	unshut(container_of(t, struct gate, retry));
}

/* The client is gone already, or it was nothing: the next one may do better. */
static bool is_passing(int error)
{
	return error == ECONNABORTED || error == EINTR || error == EPROTO || error == ENETDOWN ||
	       error == EHOSTUNREACH || error == ENETUNREACH || error == EPERM;
}

static void cannot_accept(struct gate *g, int error)
{
	if (!g->told)
		log_event(LOG_WARN, "accept_failed", "no client can be let in: %s", strerror(error));
	g->told = true;
	shut(g);
	timer_set(&g->retry, loop_now_us() + RETRY_MS * 1000);
}

static void on_arrivals(struct watch *w, uint32_t events)
{
	struct gate_way *way = container_of(w, struct gate_way, watch);
	struct gate *g = way->gate;

	(void)events;
	for (int i = 0; i < ENTER_A_TURN && !g->shut; i++) {
		if (g->inside >= g->most) {
			if (g->crowded)
				g->crowded(g);
			shut(g);
			return;
		}
		int fd = accept4(way->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			g->told = false;
			g->enter(&way->listener, fd);
		} else if (errno == EAGAIN) {
			return;
		} else if (!is_passing(errno)) {
			cannot_accept(g, errno);
		}
	}
}

void gate_entered(struct gate *g)
{
	g->inside++;
}

void gate_left(struct gate *g)
{
	g->inside--;
	unshut(g);
}

static bool open_way(struct gate *g, const struct listen_address *a, const struct listener_options *options)
{
	struct gate_way *way = &g->ways[g->count];

	if (!listener_open(&way->listener, a, options))
		return false;
	g->count++;
	way->gate = g;
	way->watch = (struct watch){ .fd = way->listener.fd, .ready = on_arrivals };
	bool ok = loop_watch(&way->watch, EPOLLIN);
	if (!ok)
		fprintf(stderr, "patternd: cannot watch %s: %s\n", way->listener.address, strerror(errno));
	return ok;
}

bool gate_open(struct gate *g, const char *option, const char *list, mode_t mode)
{
	struct listen_address addresses[LISTEN_ADDRESSES_MAX];
	size_t count = listen_addresses_parse(option, list, addresses);
	/* [::] alone serves IPv4 too; beside others it would take the place of 0.0.0.0. */
	struct listener_options options = { .option = option, .mode = mode, .only_v6 = count > 1 };

	g->retry.expired = on_retry;
	for (size_t i = 0; i < count; i++)
		if (!open_way(g, &addresses[i], &options))
			return false;
	return count > 0;
}

void gate_close(struct gate *g)
{
	timer_stop(&g->retry);
	for (size_t i = 0; i < g->count; i++) {
		if (!g->shut && g->ways[i].listener.fd >= 0)
			loop_unwatch(&g->ways[i].watch);
		listener_close(&g->ways[i].listener);
	}
	g->shut = false;
}
