/*
 * connection: its members and states, for redis/connection.c and redis/renewal.c only. It must not
 * know requests or patterns.
 *
 *	DOWN --> CONNECTING --> HANDSHAKE --> READY --> DRAINING --> DOWN
 *
 *	DOWN        no socket; `timer` ends the pause, which grows with `failures`
 *	CONNECTING  `socket` resolves, connects, and makes the TLS handshake; `timer` limits it
 *	HANDSHAKE   `handshake` has commands whose replies are pending; `ring` is empty
 *	READY       `ring` has the unanswered calls; `timer` is the timeout of the oldest
 *	DRAINING    as READY, but no new calls; closed once `ring` is empty
 *
 * From any state a failure leads to DOWN. All connections of any state are in the list `next`.
 */
#ifndef PATTERND_REDIS_CONNECTION_PRIVATE_H
#define PATTERND_REDIS_CONNECTION_PRIVATE_H

#include "core/loop.h"
#include "redis/call_ring.h"
#include "redis/connection.h"
#include "redis/handshake.h"
#include "redis/resp.h"
#include "redis/server_check.h"
#include "redis/socket.h"

enum connection_state { DOWN, CONNECTING, HANDSHAKE, READY, DRAINING };

struct redis_connection {
	const struct redis_url *target;                     /* (ref) */
	const struct redis_connection_callbacks *callbacks; /* (ref) */
	void *context;                                      /* (ref) */
	struct redis_connection *next;                      /* in the list of all connections */
	enum connection_state state;
	struct redis_socket socket;
	struct loop_timer timer; /* end of the pause, of the attempt, or of the oldest call */
	struct reply_reader *reader;
	unsigned failures; /* failed attempts since it was last ready */
	struct resp_buffer out;
	struct call_ring ring; /* pending calls */
	struct redis_handshake handshake;
	struct server_check *check;            /* (ref), NULL with callbacks->received */
	struct redis_call check_call;          /* its command */
	int64_t sent_us;                       /* when the latest command was sent */
	struct permissions_report permissions; /* of the latest successful handshake */
	bool renew;                            /* it uses credentials from before renewal_start */
	bool renewing;                         /* drained for a renewal, and not ready again yet */
};

struct redis_connection *connection_first(void); /* in the order in which they were made */
void connections_retry_now(void);                /* those that are DOWN */

/* Continues the handshake after a reply. NULL: after it has waited for another connection. */
void connection_shake(struct redis_connection *c, const struct reply *reply);

/*
 * Sets a function that is called when a connection is ready or freed; and, with `why`, when an
 * attempt has failed. c->handshake.rejected is set if the server rejected it.
 */
void connections_observe(void (*changed)(struct redis_connection *c, const char *why));

#endif
