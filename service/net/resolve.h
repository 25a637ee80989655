/*
 * resolve: host names to addresses without ever blocking the loop.
 *
 * getaddrinfo_a(3) works in threads of glibc's, the only foreign ones in the process, which block all signals. SIGUSR1 is taken.
 */
#ifndef PATTERND_RESOLVE_H
#define PATTERND_RESOLVE_H

struct addrinfo;
struct resolve_request;

/* A look-up under way. Lives inside its owner until `done` was called or it was cancelled. */
struct resolve_lookup {
	/* All addresses of the name, of which the first may not be the one that answers; NULL when there is none, `why` then says so. */
	void (*done)(struct resolve_lookup *l, const struct addrinfo *found, const char *why);
	struct resolve_request *request; /* resolve.c's; NULL: not under way */
	struct resolve_lookup *next;
};

/* Looks a name up; an IP literal is answered at once, before this returns. */
void resolve_name(struct resolve_lookup *l, const char *host, const char *port);
void resolve_cancel(struct resolve_lookup *l); /* also one that is not under way */

/* The n-th address, counted round and round. */
const struct addrinfo *resolve_nth(const struct addrinfo *found, unsigned n);

void resolve_close(void);

#endif
