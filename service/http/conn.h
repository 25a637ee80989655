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
#include "request/request.h"

struct MHD_Connection;
struct http_server;
struct http_tls;

/* How long a client may take, for each thing that is his to do. */
struct patience {
	int64_t header_ms, body_ms, write_ms, idle_ms;
};

struct conn {
	int fd;                            /* (ref) libmicrohttpd's */
	struct timer deadline;             /* of whatever the connection does now */
	struct MHD_Connection *connection; /* (ref) libmicrohttpd's */
	struct http_server *server;        /* (ref) that it belongs to */
	const struct patience *wait;       /* (ref) that server's */
	struct request *req;               /* NULL between requests */
	bool headers_seen;                 /* of req */
	bool leaves_body;                  /* unread: the last request's, which was refused at its headers */
	unsigned runs_waited;              /* of libmicrohttpd, since Redis owes the answer */
	uint32_t waits_since_us;           /* then; the low bits */
	bool suspended;
	bool left;           /* the client did, while suspended */
	bool shakes_hands;   /* TLS is not agreed on yet: suspended until the client says more, and that is his to do */
	struct watch hangup; /* while suspended: libmicrohttpd does not look */
	struct http_tls *tls;    /* owned; NULL: plain */
	struct conn *next_awake; /* while it is looked at meanwhile */
	struct conn *next, *previous;
};

/* Returns new, with the deadline of its first headers; NULL without memory. */
struct conn *conn_new(struct MHD_Connection *connection, int fd, const struct patience *wait);
void conn_free(struct conn *c);

/* The new deadline; the old one is forgotten. */
void conn_deadline_in(struct conn *c, int64_t ms);

/* All of them, by ->next, and how many. */
struct conn *conn_first(void);
unsigned conn_count(void);

#endif
