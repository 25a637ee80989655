/*
 * client: one client connection, and the deadline of its present step. It must not know operations.
 *
 * libmicrohttpd's own timeout only measures inactivity: one byte now and then keeps a connection
 * open for ever. Deadlines here are absolute. When a client misses one, its socket is shut down,
 * which libmicrohttpd sees as the end of the stream.
 *
 *	handshake  in_handshake; between runs it is suspended, during runs in server->handshakes
 *	idle       `req` is NULL; deadline idle_ms
 *	head       `req` is READING, headers_seen is false; deadline header_ms
 *	body       `req` is READING, headers_seen is true; deadline body_ms
 *	polled     grace_polls > 0 and not suspended; counted in server->grace_polled
 *	suspended  `suspended`; `disconnect` watches the socket instead of libmicrohttpd
 *	answered   is_answered: in server->answered, until the next run
 *	writing    libmicrohttpd has the response; deadline write_ms
 *
 * While a client is polled or suspended, its deadline does not count. All clients are in the list
 * of client_first.
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
	bool is_health;                  /* it serves only health */
	struct client_timeouts timeouts; /* for its clients */

	struct MHD_Daemon *daemon; /* owned; NULL: not open */
	struct loop_watch watch;   /* watches its epoll set */
	/*
	 * a socket is ready, or a connection was resumed, added, answered, or may have its next
	 * request
	 */
	bool must_run;
	struct client *answered; /* list of clients whose responses the next run sends; by ->next_answered */
	struct client **answered_end;
	unsigned request_count;      /* requests that HTTP is not done with */
	unsigned grace_polled;       /* requests that are polled: they wait for Redis and are not suspended */
	struct loop_timer grace_end; /* when the grace polls of the first of them end */
	struct client *handshakes;   /* list of handshakes that continue in the next run; by ->next_handshake */
	bool closing;                /* it makes its last runs: new requests are rejected */
};

struct client {
	int fd;                            /* (ref) owned by libmicrohttpd */
	struct loop_timer deadline;        /* of the connection's present step */
	struct MHD_Connection *connection; /* (ref) owned by libmicrohttpd */
	struct http_server *server;        /* (ref) */
	bool is_unix;                      /* it connected by a Unix socket */
	struct request *req;               /* NULL between requests */
	bool headers_seen;                 /* the headers of req were read */
	bool head_fits;                    /* its request line and headers are within their limit */
	bool body_unread;                  /* the last request was rejected at its headers, and its body not read */
	unsigned grace_polls;              /* runs of libmicrohttpd since req began to wait for Redis */
	uint32_t grace_since_us;           /* low bits of when that wait began */
	bool suspended;
	bool is_disconnected;          /* the client disconnected while it was suspended */
	bool in_handshake;             /* of TLS; if it is suspended, the daemon waits for the client */
	struct loop_watch disconnect;  /* used while it is suspended, when libmicrohttpd does not watch the socket */
	struct https_session *tls;     /* owned; NULL: no TLS */
	struct client *next_handshake; /* used during its handshake */
	bool is_answered;              /* it is in server->answered */
	struct client *next_answered;
	struct client *next, *previous;
};

/* Makes a client with a deadline for its first headers. NULL: memory ran out. */
struct client *client_new(struct MHD_Connection *connection, int fd, struct http_server *server);
void client_free(struct client *c);

/* Replaces the deadline. */
void client_deadline_in(struct client *c, int64_t ms);

/* The first client of the list, by ->next, and the number of clients. */
struct client *client_first(void);
unsigned client_count(void);

#endif
