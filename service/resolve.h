/*
 * resolve: host names to addresses without ever blocking the loop.
 *
 * getaddrinfo_a(3) works in a thread of glibc's, the only foreign one in the process; its end is told through an eventfd.
 */
#ifndef PATTERND_RESOLVE_H
#define PATTERND_RESOLVE_H

struct addrinfo;

/* All addresses of the name, of which the first may not be the one that answers; NULL when there is none, `why` then says so. */
typedef void (*resolve_done)(const struct addrinfo *found, const char *why);

/*
 * Looks up one name; one look-up at a time, a second call while one is under way only changes who is told. An IP literal is
 * answered at once, before this returns.
 */
void resolve_name(const char *host, const char *port, resolve_done done);

/* The n-th address, counted round and round. */
const struct addrinfo *resolve_nth(const struct addrinfo *found, unsigned n);

void resolve_close(void);

#endif
