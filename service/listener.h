/* listener: the socket that clients connect to. */
#ifndef PATTERND_LISTENER_H
#define PATTERND_LISTENER_H

#include <stddef.h>

/*
 * Binds HOST:PORT (a name, an IPv4 address, or an IPv6 address in brackets; port 0 takes a free one) and listens. Returns the
 * descriptor, and what was bound in `address`; -1 after one line on stderr that says why not.
 */
int listener_open(const char *option, char *address, size_t size);

#endif
