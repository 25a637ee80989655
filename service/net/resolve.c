/*
 * resolve: see resolve.h. It uses getaddrinfo_a, which reports the end of a request by a signal.
 *
 * It owns each request to glibc until the request has ended, even if its look-ups were cancelled. A
 * look-up of a name that is being resolved joins the request.
 */
#include "net/resolve.h"

#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/loop.h"

/*
 * The signal that reports the end of a request. The alternative is a callback in a thread of glibc.
 * That thread would take all signals, and the next SIGTERM or SIGHUP there would end the process.
 * The signal is blocked, so only the signalfd receives it; one signal may report several ends.
 */
enum { ENDED = SIGUSR1 };

/* One request to glibc. */
struct resolve_request {
	struct gaicb gai;
	char host[256], port[16];
	struct resolve_lookup *lookups; /* the look-ups that wait for it */
	struct resolve_request *next;
};

static const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
static struct loop_watch watch = { .fd = -1 };
static struct resolve_request *all;

/* `done` may start another look-up, which is another request. */
static void finish(struct resolve_request *r, const struct addrinfo *found, const char *why)
{
	while (r->lookups) {
		struct resolve_lookup *l = r->lookups;
		r->lookups = l->next;
		l->request = NULL;
		l->done(l, found, why);
	}
}

/* Finishes the requests that have ended. */
static void collect_ended(void)
{
	for (struct resolve_request **at = &all; *at;) {
		struct resolve_request *r = *at;
		int error = gai_error(&r->gai);
		if (error == EAI_INPROGRESS) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		finish(r, error ? NULL : r->gai.ar_result, error ? gai_strerror(error) : "no address");
		if (r->gai.ar_result)
			freeaddrinfo(r->gai.ar_result);
		free(r);
		at = &all; /* `done` may have started another request */
	}
}

static void on_resolved(struct loop_watch *w, uint32_t events)
{
	struct signalfd_siginfo s;

	(void)events;
	if (read(w->fd, &s, sizeof(s)) == sizeof(s))
		collect_ended();
}

static bool open_watch(void)
{
	sigset_t set;

	if (watch.fd >= 0)
		return true;
	sigemptyset(&set);
	sigaddset(&set, ENDED);
	sigprocmask(SIG_BLOCK, &set, NULL);
	watch = (struct loop_watch){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_resolved };
	if (watch.fd >= 0 && loop_watch(&watch, EPOLLIN))
		return true;
	resolve_close(); /* otherwise the next call would assume that it is watched */
	return false;
}

/* NULL: the resolver cannot be started. */
static struct resolve_request *start(const char *host, const char *port)
{
	struct resolve_request *r = open_watch() ? calloc(1, sizeof(*r)) : NULL;

	if (!r)
		return NULL;
	snprintf(r->host, sizeof(r->host), "%s", host);
	snprintf(r->port, sizeof(r->port), "%s", port);
	r->gai = (struct gaicb){ .ar_name = r->host, .ar_service = r->port, .ar_request = &hints };
	struct gaicb *list[] = { &r->gai };
	struct sigevent how = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = ENDED };
	bool ok = getaddrinfo_a(GAI_NOWAIT, list, 1, &how) == 0;
	/* If memory ran out after the request began, it belongs to glibc until it has ended. */
	if (!ok && gai_error(&r->gai) == 0 && !r->gai.ar_result) {
		free(r);
		return NULL;
	}
	r->next = all;
	all = r;
	return r;
}

static struct resolve_request *find(const char *host, const char *port)
{
	struct resolve_request *r = all;

	while (r && (strcmp(r->host, host) != 0 || strcmp(r->port, port) != 0))
		r = r->next;
	return r;
}

void resolve_name(struct resolve_lookup *l, const char *host, const char *port)
{
	struct addrinfo literal = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *found = NULL;

	int error = getaddrinfo(host, port, &literal, &found);
	if (error == 0 || error == EAI_MEMORY) { /* an IP literal, which needs no look-up */
		l->done(l, found, error ? gai_strerror(error) : NULL);
		if (found)
			freeaddrinfo(found);
		return;
	}
	/*
	 * If memory runs out, glibc ends a request without a signal, so nothing else would finish
	 * it.
	 */
	collect_ended();
	struct resolve_request *r = find(host, port);
	if (!r)
		r = start(host, port);
	if (!r) {
		l->done(l, NULL, "the resolver cannot be started");
		return;
	}
	l->request = r;
	l->next = r->lookups;
	r->lookups = l;
}

void resolve_cancel(struct resolve_lookup *l)
{
	if (!l->request)
		return;
	for (struct resolve_lookup **at = &l->request->lookups; *at; at = &(*at)->next)
		if (*at == l) {
			*at = l->next;
			break;
		}
	l->request = NULL;
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
	if (watch.fd < 0)
		return;
	loop_unwatch(&watch);
	close(watch.fd);
	watch.fd = -1;
}
