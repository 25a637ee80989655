/*
 * http_handshake: a connection between its first byte and the end of its TLS handshake. A part of http/server.c.
 *
 * libmicrohttpd asks GnuTLS in each run to go on with a handshake, and then to be run at once again, also when nothing came: a client that
 * stays away in the middle of it would keep the daemon spinning. So its connection is suspended until there are bytes.
 */
#ifndef PATTERND_HTTP_HANDSHAKE_H
#define PATTERND_HTTP_HANDSHAKE_H

#include "http/conn.h"

/* A connection is new; `session` is its session of GnuTLS. It is looked at in the next run. */
void http_handshake_begin(struct conn *c, void *session);

/* Lets libmicrohttpd look at it in its next run. Only while it is suspended by this file. */
void http_handshake_wake(struct conn *c);

/* After a run: who has not finished sleeps until he says more. */
void http_handshake_sleep(struct http_server *s);

/* The connection closes. */
void http_handshake_end(struct conn *c);

#endif
