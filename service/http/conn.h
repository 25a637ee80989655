/*
 * conn: what http.c knows of one client connection, and the deadline of whatever it does now.
 *
 * libmicrohttpd's own timeout only measures inactivity: a byte now and then keeps a connection for ever. Deadlines here are
 * absolute; whoever misses one has his socket shut down, which libmicrohttpd sees as the end of the stream.
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

/* How long a client may take, for each thing that is his to do. */
struct conn_timeouts {
	int64_t header_ms, body_ms, write_ms, idle_ms;
};

/* One daemon of libmicrohttpd; server.c runs it. */
struct http_server {
	/* Set before http_server_open. */
	struct acceptor *acceptor;     /* (ref) its clients count there */
	bool is_secure;                /* TLS */
	bool is_health;                /* nothing but health is served */
	struct conn_timeouts timeouts; /* how long its clients may take */

	struct MHD_Daemon *daemon; /* owned; NULL: not open */
	struct watch watch;        /* of its epoll set */
	bool must_run;             /* it must run: a socket is ready, or a connection was resumed or added */
	unsigned request_count;    /* requests that are not done with */
	unsigned grace_polled;     /* those that wait for Redis without being suspended */
	struct timer grace_end;    /* when the first of them has lingered enough */
	struct conn *handshakes;   /* in their TLS handshake, and about to be looked at; by ->next_handshake */
	bool closing;              /* it runs its last: what comes now is refused at once */
};

struct conn {
	int fd;                            /* (ref) libmicrohttpd's */
	struct timer deadline;             /* of whatever the connection does now */
	struct MHD_Connection *connection; /* (ref) libmicrohttpd's */
	struct http_server *server;        /* (ref) that it belongs to */
	struct request *req;               /* NULL between requests */
	bool headers_seen;                 /* of req */
	bool body_unread;                  /* unread: the last request's, which was refused at its headers */
	unsigned grace_polls;              /* of libmicrohttpd, since Redis owes the answer */
	uint32_t grace_since_us;           /* then; the low bits */
	bool suspended;
	bool client_gone;    /* the client did, while suspended */
	bool in_handshake;   /* TLS is not agreed on yet: suspended until the client says more, and that is his to do */
	struct watch hangup; /* while suspended: libmicrohttpd does not look */
	struct http_tls *tls;        /* owned; NULL: plain */
	struct conn *next_handshake; /* while it is looked at meanwhile */
	struct conn *next, *previous;
};

/* Returns new, with the deadline of its first headers; NULL without memory. */
struct conn *conn_new(struct MHD_Connection *connection, int fd, struct http_server *server);
void conn_free(struct conn *c);

/* The new deadline; the old one is forgotten. */
void conn_deadline_in(struct conn *c, int64_t ms);

/* All of them, by ->next, and how many. */
struct conn *conn_first(void);
unsigned conn_count(void);

#endif
