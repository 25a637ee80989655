/*
 * conn: what http.c knows of one client connection, and the deadline of whatever it does now.
 *
 * libmicrohttpd's own timeout only measures inactivity: a byte now and then keeps a connection for ever. Deadlines here are
 * absolute; whoever misses one has his socket shut down, which libmicrohttpd sees as the end of the stream.
 */
#ifndef PATTERND_CONN_H
#define PATTERND_CONN_H

#include <stdbool.h>

#include "loop.h"
#include "request.h"

struct MHD_Connection;

struct conn {
	int fd;                            /* (ref) libmicrohttpd's */
	struct timer deadline;             /* of whatever the connection does now */
	struct MHD_Connection *connection; /* (ref) libmicrohttpd's */
	struct request *req;               /* NULL between requests */
	bool headers_seen;                 /* of req */
	unsigned runs_waited;              /* of libmicrohttpd, since Redis owes the answer */
	bool suspended;
	struct watch hangup; /* while suspended: libmicrohttpd does not look */
	bool left;           /* the client did, while suspended */
	struct conn *next, *previous;
};

/* Returns new, with the deadline of its first headers; NULL without memory. */
struct conn *conn_new(struct MHD_Connection *connection, int fd);
void conn_free(struct conn *c);

/* The new deadline; the old one is forgotten. */
void conn_deadline_in(struct conn *c, int64_t ms);

/* All of them, by ->next, and how many. */
struct conn *conn_first(void);
unsigned conn_count(void);

#endif
