#include "net/acceptor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "process/log.h"
#include "process/metrics.h"

enum { ACCEPTS_A_TURN = 16, RETRY_MS = 100, LOG_PAUSE_US = 60 * 1000 * 1000 };

static void pause_accepting(struct acceptor *a)
{
	if (a->paused)
		return;
	a->paused = true;
	metrics_count(METRIC_accepts_paused);
	for (size_t i = 0; i < a->count; i++)
		loop_unwatch(&a->sockets[i].watch);
}

static void retry_soon(struct acceptor *a)
{
	loop_timer_set(&a->retry, loop_now_us() + RETRY_MS * 1000);
}

static void resume_accepting(struct acceptor *a)
{
	if (!a->paused)
		return;
	loop_timer_stop(&a->retry);
	a->paused = false;
	for (size_t i = 0; i < a->count; i++)
		a->paused |= !loop_watch(&a->sockets[i].watch, EPOLLIN) && errno != EEXIST;
	if (a->paused) /* if no connection is open, nothing else would resume it */
		retry_soon(a);
}

static void on_retry(struct loop_timer *t)
{
	resume_accepting(container_of(t, struct acceptor, retry));
}

/*
 * The error concerns one client, which has disconnected: the next accept may succeed (accept(2)).
 */
static bool is_passing(int error)
{
	return error == ECONNABORTED || error == EINTR || error == EPROTO || error == ENETDOWN ||
	       error == EHOSTUNREACH || error == ENETUNREACH || error == EPERM;
}

static void cannot_accept(struct acceptor *a, int error)
{
	if (loop_now_us() >= a->quiet_until_us) {
		log_event(LOG_WARN, "accept_failed", "cannot accept clients: %s; new clients wait", strerror(error));
		a->quiet_until_us = loop_now_us() + LOG_PAUSE_US;
	}
	pause_accepting(a);
	retry_soon(a);
}

static void on_arrivals(struct loop_watch *w, uint32_t events)
{
	struct acceptor_socket *s = container_of(w, struct acceptor_socket, watch);
	struct acceptor *a = s->acceptor;

	(void)events;
	for (int i = 0; i < ACCEPTS_A_TURN && !a->paused; i++) {
		if (a->connection_count >= a->max_connections) {
			if (a->on_full)
				a->on_full(a);
			pause_accepting(a);
			return;
		}
		int fd = accept4(s->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			a->on_client(&s->listener, fd);
		} else if (errno == EAGAIN) {
			return;
		} else if (!is_passing(errno)) {
			cannot_accept(a, errno);
		}
	}
}

void acceptor_client_opened(struct acceptor *a)
{
	a->connection_count++;
}

void acceptor_client_closed(struct acceptor *a)
{
	a->connection_count--;
	resume_accepting(a);
}

/* True, too, if the address was skipped. */
static bool open_socket(struct acceptor *a, const struct listener_address *address,
			const struct listener_options *options)
{
	struct acceptor_socket *s = &a->sockets[a->count];

	if (a->count == ACCEPTOR_SOCKETS_MAX)
		return listener_address_refuse(options->option, address, "too many addresses");
	if (!listener_open(&s->listener, address, options))
		return false;
	if (s->listener.fd < 0)
		return true;
	a->count++;
	s->acceptor = a;
	s->watch = (struct loop_watch){ .fd = s->listener.fd, .ready = on_arrivals };
	bool ok = loop_watch(&s->watch, EPOLLIN);
	if (!ok)
		fprintf(stderr, "patternd: cannot watch %s: %s\n", s->listener.address, strerror(errno));
	return ok;
}

/* Opens all addresses of one item. If its port is 0, all of them get the port of the first. */
static bool open_all(struct acceptor *a, const struct listener_address *item, struct listener_options options)
{
	struct listener_address each[LISTENER_OF_NAME_MAX];
	size_t count = listener_address_expand(options.option, item, each), before = a->count;

	options.may_lack = count > 1;
	for (size_t i = 0; i < count; i++) {
		const char *port = a->count > before ? strrchr(a->sockets[before].listener.address, ':') : NULL;
		if (port)
			snprintf(each[i].port, sizeof(each[i].port), "%s", port + 1);
		if (!open_socket(a, &each[i], &options))
			return false;
	}
	if (count > 0 && a->count == before)
		return listener_address_refuse(options.option, item, "this machine has none of its addresses");
	return count > 0;
}

bool acceptor_open(struct acceptor *a, const char *option, const char *list, mode_t mode)
{
	struct listener_address addresses[LISTENER_ADDRESSES_MAX];
	size_t count = listener_address_parse(option, list, addresses);
	/*
	 * If [::] is the only address, it also serves IPv4. Beside others it would conflict with
	 * 0.0.0.0.
	 */
	struct listener_options options = { .option = option, .mode = mode, .only_v6 = count > 1 };

	a->retry.expired = on_retry;
	for (size_t i = 0; i < count; i++)
		if (!open_all(a, &addresses[i], options))
			return false;
	return count > 0;
}

void acceptor_close(struct acceptor *a)
{
	loop_timer_stop(&a->retry);
	for (size_t i = 0; i < a->count; i++) {
		if (!a->paused && a->sockets[i].listener.fd >= 0)
			loop_unwatch(&a->sockets[i].watch);
		listener_close(&a->sockets[i].listener);
	}
	a->paused = false;
}
