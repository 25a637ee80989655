/*
 * http_server: one daemon of libmicrohttpd, in external epoll mode, and the steps of its requests.
 * Only http.c uses it. It must not know patterns.
 *
 * libmicrohttpd gets connected sockets (net/acceptor.h) and never listens.
 */
#ifndef PATTERND_HTTP_SERVER_H
#define PATTERND_HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "http/client.h"

/* Return the version of libmicrohttpd that is loaded, and whether it has TLS. */
const char *http_server_library(void);
bool http_server_has_tls(void);

/* Starts it. If that fails, writes one line to stderr and returns false. */
bool http_server_open(struct http_server *s);

/*
 * Adds a client's socket, which the server owns from then on, even if this fails. `by` is where it
 * connected.
 */
void http_server_add(struct http_server *s, const struct listener *by, int fd);

/* Runs the daemon if it has work. True: it must run again. */
bool http_server_run(struct http_server *s);

/* Returns how long http_server_run may wait, in milliseconds; -1: until an event. */
int64_t http_server_timeout_ms(struct http_server *s);

/* Closes every connection. None may be suspended, except in its TLS handshake. */
void http_server_close(struct http_server *s);

#endif
