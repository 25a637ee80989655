/*
 * outbound_socket: the sockets of libcurl, from their opening to their end: only to this machine,
 * and watched by the loop.
 *
 *	USED <--> LEFT --> KEPT      LEFT: libcurl waits for nothing; KEPT: for the next request
 *	  ^                 |
 *	  +-----------------+
 *
 * A kept connection is closed when something comes by it, since that can be no answer to a request
 * which was not sent yet, and when none was sent for OUTBOUND_KEPT_S: a program that serves one
 * connection after the other waits for its end.
 */
#ifndef PATTERND_OUTBOUND_SOCKET_H
#define PATTERND_OUTBOUND_SOCKET_H

#include "outbound/curl_library.h"

enum { OUTBOUND_KEPT_S = 1, OUTBOUND_SOCKETS = 768 };

/* Called once: libcurl is to act for a socket. */
void outbound_socket_open(void (*act)(int fd, int events));

/* What libcurl calls; none of these calls it. */
curl_socket_t outbound_socket_make(void *context, curlsocktype purpose, struct curl_sockaddr *at);
int outbound_socket_close(void *context, curl_socket_t fd);
int outbound_socket_watch(CURL *easy, curl_socket_t fd, int what, void *context, void *of_socket);

/* The request has ended: its connection is kept, unless there is something to read. */
void outbound_socket_keep(const CURL *easy);
/* Closes what was kept for too long. False: none is kept. */
bool outbound_socket_sweep(void);

#endif
