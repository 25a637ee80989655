/*
 * client: one client connection, and the deadline of its current step.
 *
 * libmicrohttpd's own timeout only measures inactivity: a byte now and then keeps a connection open
 * for ever. Deadlines here are absolute. When a client misses one its socket is shut down, which
 * libmicrohttpd sees as the end of the stream.
 */
#ifndef PATTERND_HTTP_CLIENT_H
#define PATTERND_HTTP_CLIENT_H

#include <stdbool.h>

#include "core/loop.h"
#include "net/acceptor.h"
#include "request/request.h"

struct MHD_Connection;
struct MHD_Daemon;
struct client;
struct https_session;

/* How long a client may take for each step. */
struct client_timeouts {
	int64_t header_ms, body_ms, write_ms, idle_ms;
};

/* One daemon of libmicrohttpd; server.c runs it. */
struct http_server {
	/* Set before http_server_open. */
	struct acceptor *acceptor;       /* (ref) counts its connections */
	bool is_secure;                  /* TLS */
	bool is_health;                  /* serves only health */
	struct client_timeouts timeouts; /* of its clients */

	struct MHD_Daemon *daemon; /* owned; NULL: not open */
	struct loop_watch watch;   /* of its epoll set */
	bool must_run; /* a socket is ready; a connection was resumed, added, answered, or may have its next request */
	struct client *answered; /* whose responses the next run takes; by ->next_answered */
	struct client **answered_end;
	unsigned request_count;      /* requests that HTTP is not done with */
	unsigned grace_polled;       /* requests that wait for Redis and are not suspended */
	struct loop_timer grace_end; /* when the grace polls of the first of them end */
	struct client *handshakes;   /* that go on in the next run; by ->next_handshake */
	bool closing;                /* it is in its last runs: new requests are rejected */
};

struct client {
	int fd;                            /* (ref) libmicrohttpd's */
	struct loop_timer deadline;        /* of the connection's current step */
	struct MHD_Connection *connection; /* (ref) libmicrohttpd's */
	struct http_server *server;        /* (ref) */
	struct request *req;               /* NULL between requests */
	bool headers_seen;                 /* of req */
	bool head_fits;                    /* its request line and headers are within their limit */
	bool body_unread;                  /* of the last request, rejected at its headers */
	unsigned grace_polls;              /* runs of libmicrohttpd since it waits for Redis */
	uint32_t grace_since_us;           /* when that wait began; the low bits */
	bool suspended;
	bool is_disconnected;          /* the client disconnected while it was suspended */
	bool in_handshake;             /* TLS: when suspended, it waits for the client */
	struct loop_watch disconnect;  /* while suspended: libmicrohttpd does not watch the socket */
	struct https_session *tls;     /* owned; NULL: no TLS */
	struct client *next_handshake; /* while its handshake goes on */
	bool is_answered;              /* in its server's list */
	struct client *next_answered;
	struct client *next, *previous;
};

/* Returns new, with a deadline for its first headers; NULL without memory. */
struct client *client_new(struct MHD_Connection *connection, int fd, struct http_server *server);
void client_free(struct client *c);

/* Replaces the deadline. */
void client_deadline_in(struct client *c, int64_t ms);

/* All connections, by ->next, and their number. */
struct client *client_first(void);
unsigned client_count(void);

#endif
