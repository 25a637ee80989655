/*
 * http_response: how a connection waits for its answer and gets it, over libmicrohttpd. The other half of http/server.c.
 *
 * A request that waits for Redis lingers a few runs of libmicrohttpd, then its connection is suspended; one that waits for an event, or
 * streams, is suspended at once. libmicrohttpd then neither reads, nor times out, nor notices the client leaving: this does.
 */
#ifndef PATTERND_HTTP_RESPONSE_H
#define PATTERND_HTTP_RESPONSE_H

#include <stdbool.h>

#include "http/conn.h"

/* Once, before the first connection. `leaving` says whether each answer is to be the connection's last. */
void http_response_open(bool (*leaving)(void));

/* The request was answered, or streams. False: the connection must go. */
bool http_response_send(struct conn *c);

/* It was not: libmicrohttpd asks again, now or when it was answered. */
void http_response_wait(struct conn *c);

/* HTTP is done with the connection's request. */
void http_response_end(struct conn *c);

#endif
