/*
 * http_response: how a connection waits for its response and gets it from libmicrohttpd. The other
 * half of http/server.c.
 *
 * A request that waits for Redis is polled for a few runs of libmicrohttpd (grace polls), then its
 * connection is suspended; a request that waits for an event, or streams, is suspended at once.
 * libmicrohttpd then neither reads, nor times out, nor notices that the client disconnects: this
 * file does.
 */
#ifndef PATTERND_HTTP_RESPONSE_H
#define PATTERND_HTTP_RESPONSE_H

#include <stdbool.h>

#include "http/client.h"

/* Called once. While `draining` returns true, each response is its connection's last. */
void http_response_open(bool (*draining)(void));

/* The connection's next request: its asker is HTTP. */
void http_response_begin(struct client *c, struct request *req);

/* The request was answered, or streams. False: the connection must be closed. */
bool http_response_send(struct client *c);

/*
 * Writes the problem that answers a head beyond its limit to the socket, since such a head may have
 * left no memory for response headers in libmicrohttpd. The connection must be closed then.
 */
void http_response_refuse_head(struct client *c);

/* Runs libmicrohttpd, with the responses to requests that were answered since its last run. */
void http_response_run(struct http_server *s);

/* It waits: libmicrohttpd calls the handler again, in its next run or after the answer. */
void http_response_wait(struct client *c);

/* HTTP is done with the connection's request. */
void http_response_end(struct client *c);

#endif
