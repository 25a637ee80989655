/*
 * resolve: host names to addresses without ever blocking the loop.
 *
 * getaddrinfo_a(3) works in threads of glibc's, the only foreign ones in the process, which block all signals. SIGUSR1 is taken.
 */
#ifndef PATTERND_RESOLVE_H
#define PATTERND_RESOLVE_H

struct addrinfo;
struct resolving;

/* A look-up under way. Lives inside its owner until `done` was called or it was cancelled. */
struct lookup {
	/* All addresses of the name, of which the first may not be the one that answers; NULL when there is none, `why` then says so. */
	void (*done)(struct lookup *l, const struct addrinfo *found, const char *why);
	struct resolving *resolving; /* resolve.c's; NULL: not under way */
	struct lookup *next;
};

/* Looks a name up; an IP literal is answered at once, before this returns. */
void resolve_name(struct lookup *l, const char *host, const char *port);
void resolve_cancel(struct lookup *l); /* also one that is not under way */

/* The n-th address, counted round and round. */
const struct addrinfo *resolve_nth(const struct addrinfo *found, unsigned n);

void resolve_close(void);

#endif
