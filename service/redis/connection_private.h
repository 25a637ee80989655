/* connection: its members, for redis/connection.c and redis/renewal.c only. */
#ifndef PATTERND_REDIS_CONNECTION_PRIVATE_H
#define PATTERND_REDIS_CONNECTION_PRIVATE_H

#include "core/loop.h"
#include "redis/call_ring.h"
#include "redis/connection.h"
#include "redis/handshake.h"
#include "redis/resp.h"
#include "redis/socket.h"

enum connection_state { DOWN, CONNECTING, HANDSHAKE, READY, DRAINING };

struct redis_connection {
	const struct redis_url *target;                     /* (ref) */
	const struct redis_connection_callbacks *callbacks; /* (ref) */
	void *context;                                      /* (ref) */
	struct redis_connection *next;                      /* in the list of all */
	enum connection_state state;
	struct redis_socket socket;
	struct loop_timer timer; /* end of the pause, of the attempt, or of the oldest call */
	struct reply_reader *reader;
	unsigned failures; /* attempts since it was last ready */
	struct resp_buffer out;
	struct call_ring ring; /* pending calls */
	struct redis_handshake handshake;
	struct redis_call check;               /* see check_server */
	int64_t checked_us;                    /* or when it became ready */
	struct permissions_report permissions; /* as of its latest successful handshake */
	bool renew;                            /* has credentials from before renewal_start */
	bool renewing;                         /* drained for that, and not ready again yet */
};

struct redis_connection *connection_first(void); /* in the order in which they were made */
void connections_retry_now(void);                /* those that are down */

/*
 * Sets a function that is called when a connection is ready or freed, and, with `why`, when an
 * attempt has failed. c->handshake.rejected is set when the server rejected it.
 */
void connections_observe(void (*changed)(struct redis_connection *c, const char *why));

#endif
