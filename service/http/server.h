/*
 * http_server: one daemon of libmicrohttpd, in external epoll mode, and the steps of the requests that reach it.
 *
 * libmicrohttpd is given sockets that are connected already (net/acceptor.h): it never listens. For http.c and http/response.c only.
 */
#ifndef PATTERND_HTTP_SERVER_H
#define PATTERND_HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "http/conn.h"

/* The version of libmicrohttpd that is loaded, and whether it has TLS. */
const char *http_server_library(void);
bool http_server_has_tls(void);

/* Starts it. False after one line on stderr. */
bool http_server_open(struct http_server *s);

/* A client's socket; taken, also when it cannot be served. */
void http_server_add(struct http_server *s, int fd);

/* Runs it when there is something to do. True when it must run again. */
bool http_server_run(struct http_server *s);

/* How long http_server_run may wait, in milliseconds; -1: until something happens. */
int64_t http_server_timeout_ms(struct http_server *s);

/* Closes every connection and ends it; nothing may be suspended then but by TLS. */
void http_server_close(struct http_server *s);

#endif
