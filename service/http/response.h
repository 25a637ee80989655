/*
 * http_response: how a connection waits for its response and gets it from libmicrohttpd.
 * http/server.c has the earlier steps. It must not know operations.
 *
 * A request that waits for Redis is polled for a few runs of libmicrohttpd (grace polls), then its
 * connection is suspended. A request that waits for an event, or streams, is suspended at once.
 * libmicrohttpd then neither reads, nor times out, nor notices that the client disconnects. This
 * file does.
 */
#ifndef PATTERND_HTTP_RESPONSE_H
#define PATTERND_HTTP_RESPONSE_H

#include <stdbool.h>

#include "http/client.h"

/*
 * Call it once. While `check_draining` returns true, each response is the last of its connection.
 */
void http_response_open(bool (*draining)(void));

/* Begins the connection's next request, whose asker is HTTP. */
void http_response_begin(struct client *c, struct request *req);

/*
 * Sends the response of a request that was answered or streams. False: the connection must be
 * closed.
 */
bool http_response_send(struct client *c);

/*
 * Writes the problem that answers a head beyond its limit directly to the socket, since
 * libmicrohttpd may have no memory left for response headers. The connection must be closed then.
 */
void http_response_refuse_head(struct client *c);

/* Runs libmicrohttpd, with the responses to requests that were answered since its last run. */
void http_response_run(struct http_server *s);

/* The request waits: libmicrohttpd calls the handler again, in its next run or after the answer. */
void http_response_wait(struct client *c);

/* Call it when HTTP is done with the connection's request. */
void http_response_end(struct client *c);

#endif
