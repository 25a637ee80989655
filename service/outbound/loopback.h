/*
 * loopback: which addresses belong to this machine. Pure: it must not know a library, and looks no
 * name up.
 */
#ifndef PATTERND_LOOPBACK_H
#define PATTERND_LOOPBACK_H

#include <stdbool.h>

struct sockaddr;

/*
 * Returns NULL for `http://` with a loopback address or `localhost`, a port, and a path, all in
 * characters of a URL. Otherwise returns what is wrong, as static text.
 */
const char *loopback_refusal(const char *url);

/* True for 127.0.0.0/8, ::1 and Unix sockets. */
bool loopback_holds(const struct sockaddr *at);

#endif
