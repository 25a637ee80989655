/*
 * conn: one client connection, and the deadline of its current step.
 *
 * libmicrohttpd's own timeout only measures inactivity: a byte now and then keeps a connection open
 * for ever. Deadlines here are absolute. When a client misses one its socket is shut down, which
 * libmicrohttpd sees as the end of the stream.
 */
#ifndef PATTERND_CONN_H
#define PATTERND_CONN_H

#include <stdbool.h>

#include "core/loop.h"
#include "net/acceptor.h"
#include "request/request.h"

struct MHD_Connection;
struct MHD_Daemon;
struct conn;
struct http_tls;

/* How long a client may take for each step. */
struct conn_timeouts {
	int64_t header_ms, body_ms, write_ms, idle_ms;
};

/* One daemon of libmicrohttpd; server.c runs it. */
struct http_server {
	/* Set before http_server_open. */
	struct acceptor *acceptor;     /* (ref) counts its connections */
	bool is_secure;                /* TLS */
	bool is_health;                /* serves only health */
	struct conn_timeouts timeouts; /* of its clients */

	struct MHD_Daemon *daemon; /* owned; NULL: not open */
	struct loop_watch watch;   /* of its epoll set */
	bool must_run; /* a socket is ready; a connection was resumed, added, answered, or may have its next request */
	struct conn *answered; /* whose responses the next run takes; by ->next_answered */
	struct conn **answered_end;
	unsigned request_count;      /* requests that HTTP is not done with */
	unsigned grace_polled;       /* requests that wait for Redis and are not suspended */
	struct loop_timer grace_end; /* when the grace polls of the first of them end */
	struct conn *handshakes;     /* that go on in the next run; by ->next_handshake */
	bool closing;                /* it is in its last runs: new requests are rejected */
};

struct conn {
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
	bool client_gone;            /* the client disconnected while it was suspended */
	bool in_handshake;           /* TLS: when suspended, it waits for the client */
	struct loop_watch hangup;    /* while suspended: libmicrohttpd does not watch the socket */
	struct http_tls *tls;        /* owned; NULL: no TLS */
	struct conn *next_handshake; /* while its handshake goes on */
	bool is_answered;            /* in its server's list */
	struct conn *next_answered;
	struct conn *next, *previous;
};

/* Returns new, with a deadline for its first headers; NULL without memory. */
struct conn *conn_new(struct MHD_Connection *connection, int fd, struct http_server *server);
void conn_free(struct conn *c);

/* Replaces the deadline. */
void conn_deadline_in(struct conn *c, int64_t ms);

/* All connections, by ->next, and their number. */
struct conn *conn_first(void);
unsigned conn_count(void);

#endif
