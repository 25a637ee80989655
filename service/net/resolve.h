/*
 * resolve: resolves host names without blocking the event loop. It must not know what connects to
 * them.
 *
 * getaddrinfo_a(3) works in threads of glibc, the only other threads of the process. They block all
 * signals. SIGUSR1 is used for it.
 */
#ifndef PATTERND_RESOLVE_H
#define PATTERND_RESOLVE_H

struct addrinfo;
struct resolve_request;

/* A look-up, in the caller's memory until `done` was called or it was cancelled. */
struct resolve_lookup {
	/*
	 * `found` has all addresses of the name, some of which may not answer. NULL: there are
	 * none, and `why` is the reason.
	 */
	void (*done)(struct resolve_lookup *l, const struct addrinfo *found, const char *why);
	struct resolve_request *request; /* NULL: not under way */
	struct resolve_lookup *next;
};

/* Looks a name up. For an IP literal, `done` is called before this returns. */
void resolve_name(struct resolve_lookup *l, const char *host, const char *port);
void resolve_cancel(struct resolve_lookup *l); /* has no effect if none is under way */

/* Returns the n-th address, modulo their number. */
const struct addrinfo *resolve_nth(const struct addrinfo *found, unsigned n);

void resolve_close(void);

#endif
