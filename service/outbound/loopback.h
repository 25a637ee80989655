/*
 * loopback: which places are of this machine. Pure: knows no library, and looks no name up.
 */
#ifndef PATTERND_LOOPBACK_H
#define PATTERND_LOOPBACK_H

#include <stdbool.h>

struct sockaddr;

/*
 * NULL for `http://` with a loopback address or `localhost`, a port, and a path, all in the
 * characters of a URL. Else what is wrong with it, for people; the text is static.
 */
const char *loopback_refusal(const char *url);

/* 127.0.0.0/8, ::1, a Unix socket. */
bool loopback_holds(const struct sockaddr *at);

#endif
