/* resolve: getaddrinfo_a behind an eventfd; see resolve.h. */
#include "resolve.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "loop.h"

static struct gaicb request;
static struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
static char host_copy[256], port_copy[16];
static struct watch watch = { .fd = -1 };
static bool under_way;
static resolve_done told;

static void tell(const struct addrinfo *found, const char *why)
{
	resolve_done done = told;

	told = NULL;
	if (done)
		done(found, why);
}

static void on_resolved(struct watch *w, uint32_t events)
{
	uint64_t n;

	(void)events;
	if (read(w->fd, &n, sizeof(n)) != sizeof(n))
		return;
	under_way = false;
	int error = gai_error(&request);
	struct addrinfo *found = error == 0 ? request.ar_result : NULL;
	request.ar_result = NULL;
	tell(found, error ? gai_strerror(error) : "no address");
	if (found)
		freeaddrinfo(found);
}

/* In glibc's thread: nothing but the write. */
static void wake(union sigval value)
{
	uint64_t one = 1;
	ssize_t n = write(value.sival_int, &one, sizeof(one));

	(void)n;
}

static bool start(void)
{
	struct gaicb *list[] = { &request };
	struct sigevent how = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = wake };

	if (watch.fd < 0) {
		watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		watch.ready = on_resolved;
		if (watch.fd < 0 || !loop_watch(&watch, EPOLLIN))
			return false;
	}
	how.sigev_value.sival_int = watch.fd;
	request = (struct gaicb){ .ar_name = host_copy, .ar_service = port_copy, .ar_request = &hints };
	return getaddrinfo_a(GAI_NOWAIT, list, 1, &how) == 0;
}

void resolve_name(const char *host, const char *port, resolve_done done)
{
	struct addrinfo literal = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *found = NULL;

	told = done;
	if (getaddrinfo(host, port, &literal, &found) == 0) { /* a literal: no look-up, no waiting */
		tell(found, NULL);
		freeaddrinfo(found);
		return;
	}
	if (under_way)
		return;
	snprintf(host_copy, sizeof(host_copy), "%s", host);
	snprintf(port_copy, sizeof(port_copy), "%s", port);
	under_way = start();
	if (!under_way)
		tell(NULL, "the resolver cannot be started");
}

const struct addrinfo *resolve_nth(const struct addrinfo *found, unsigned n)
{
	const struct addrinfo *a = found;

	while (n--)
		a = a->ai_next ? a->ai_next : found;
	return a;
}

void resolve_close(void)
{
	told = NULL;
	if (watch.fd >= 0 && !under_way) { /* else the thread may still write to it */
		loop_unwatch(&watch);
		close(watch.fd);
		watch.fd = -1;
	}
}
