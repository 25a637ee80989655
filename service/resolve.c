/*
 * resolve: getaddrinfo_a behind an eventfd; see resolve.h.
 *
 * Owns the requests to glibc, each until it has ended, however long that takes and whoever has lost interest meanwhile: who asks for a
 * name that is being resolved joins.
 */
#include "resolve.h"

#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "loop.h"

/* One request to glibc. */
struct resolving {
	struct gaicb request;
	char host[256], port[16];
	struct lookup *lookups; /* who wants to know */
	struct resolving *next;
};

static const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
static struct watch watch = { .fd = -1 };
static struct resolving *all;

/* Each may ask again at once, which then is another request. */
static void tell(struct resolving *r, const struct addrinfo *found, const char *why)
{
	while (r->lookups) {
		struct lookup *l = r->lookups;
		r->lookups = l->next;
		l->resolving = NULL;
		l->done(l, found, why);
	}
}

/* Those that have ended. */
static void collect(void)
{
	for (struct resolving **at = &all; *at;) {
		struct resolving *r = *at;
		int error = gai_error(&r->request);
		if (error == EAI_INPROGRESS) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		tell(r, error ? NULL : r->request.ar_result, error ? gai_strerror(error) : "no address");
		if (r->request.ar_result)
			freeaddrinfo(r->request.ar_result);
		free(r);
		at = &all; /* whoever was told may have asked for another */
	}
}

static void on_resolved(struct watch *w, uint32_t events)
{
	uint64_t n;

	(void)events;
	if (read(w->fd, &n, sizeof(n)) == sizeof(n))
		collect();
}

/* In glibc's thread: nothing but the write. */
static void wake(union sigval value)
{
	uint64_t one = 1;
	ssize_t n = write(value.sival_int, &one, sizeof(one));

	(void)n;
}

static bool open_watch(void)
{
	if (watch.fd >= 0)
		return true;
	watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch.ready = on_resolved;
	return watch.fd >= 0 && loop_watch(&watch, EPOLLIN);
}

/* NULL when the resolver cannot be started. */
static struct resolving *start(const char *host, const char *port)
{
	struct resolving *r = open_watch() ? calloc(1, sizeof(*r)) : NULL;

	if (!r)
		return NULL;
	snprintf(r->host, sizeof(r->host), "%s", host);
	snprintf(r->port, sizeof(r->port), "%s", port);
	r->request = (struct gaicb){ .ar_name = r->host, .ar_service = r->port, .ar_request = &hints };
	struct gaicb *list[] = { &r->request };
	struct sigevent how = { .sigev_notify = SIGEV_THREAD,
				.sigev_notify_function = wake,
				.sigev_value.sival_int = watch.fd };
	bool ok = getaddrinfo_a(GAI_NOWAIT, list, 1, &how) == 0;
	/* It may have begun all the same, if memory was missing afterwards: it is glibc's then until it has ended. */
	if (!ok && gai_error(&r->request) == 0 && !r->request.ar_result) {
		free(r);
		return NULL;
	}
	r->next = all;
	all = r;
	return r;
}

static struct resolving *find(const char *host, const char *port)
{
	struct resolving *r = all;

	while (r && (strcmp(r->host, host) != 0 || strcmp(r->port, port) != 0))
		r = r->next;
	return r;
}

void resolve_name(struct lookup *l, const char *host, const char *port)
{
	struct addrinfo literal = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *found = NULL;

	int error = getaddrinfo(host, port, &literal, &found);
	if (error == 0 || error == EAI_MEMORY) { /* a literal: no look-up, no waiting */
		l->done(l, found, error ? gai_strerror(error) : NULL);
		if (found)
			freeaddrinfo(found);
		return;
	}
	collect(); /* without memory glibc ends a request and tells nobody: who joined that would wait for ever */
	struct resolving *r = find(host, port);
	if (!r)
		r = start(host, port);
	if (!r) {
		l->done(l, NULL, "the resolver cannot be started");
		return;
	}
	l->resolving = r;
	l->next = r->lookups;
	r->lookups = l;
}

void resolve_cancel(struct lookup *l)
{
	if (!l->resolving)
		return;
	for (struct lookup **at = &l->resolving->lookups; *at; at = &(*at)->next)
		if (*at == l) {
			*at = l->next;
			break;
		}
	l->resolving = NULL;
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
	if (watch.fd >= 0 && !all) { /* else a thread may still write to it */
		loop_unwatch(&watch);
		close(watch.fd);
		watch.fd = -1;
	}
}
