/*
 * outbound_socket: the sockets of libcurl, from their opening to their end. They lead to this
 * machine only, and the loop watches them. It must not know requests.
 *
 *	FREE --> USED <--> LEFT --> KEPT       closed in any state: FREE
 *	          ^                  |
 *	          +------------------+
 *
 *	FREE  not a socket
 *	USED  libcurl waits for it; `watch` calls libcurl
 *	LEFT  libcurl does not wait for it; it is not watched
 *	KEPT  its request has ended; `watch` closes it when anything arrives
 *
 * All are in the array `sockets`. A kept connection is closed when anything arrives, since that
 * cannot be the answer to a request that was not sent yet. It is also closed when no request was
 * sent for OUTBOUND_KEPT_S, because a program that serves one connection at a time waits for its
 * end.
 */
#ifndef PATTERND_OUTBOUND_SOCKET_H
#define PATTERND_OUTBOUND_SOCKET_H

#include "outbound/curl_library.h"

enum { OUTBOUND_KEPT_S = 1, OUTBOUND_SOCKETS = 768 };

/* Call it once. `act` has libcurl act for a socket. */
void outbound_socket_open(void (*act)(int fd, int events));

/* libcurl calls these. They must not call it. */
curl_socket_t outbound_socket_make(void *context, curlsocktype purpose, struct curl_sockaddr *at);
int outbound_socket_close(void *context, curl_socket_t fd);
int outbound_socket_watch(CURL *easy, curl_socket_t fd, int what, void *context, void *of_socket);

/* Call it when the request has ended: its connection is kept, unless there is something to read. */
void outbound_socket_keep(const CURL *easy);
/* Closes connections that were kept for too long. Returns false if none is kept. */
bool outbound_socket_sweep(void);

#endif
