/* redis_connection: what a connection is made of, for redis/connection.c and redis/renewal.c alone. */
#ifndef PATTERND_REDIS_LINK_PRIVATE_H
#define PATTERND_REDIS_LINK_PRIVATE_H

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
	void *context;                                      /* (ref) the callbacks's own */
	struct redis_connection *next;                      /* in the list of all */
	enum connection_state state;
	struct redis_socket socket;
	struct timer timer; /* DOWN: the pause; up to HANDSHAKE: the attempt; READY: the oldest call */
	struct reply_reader *reader;
	unsigned failures; /* attempts since it was last usable */
	struct resp_buffer out;
	struct call_ring ring; /* pending calls */
	struct redis_handshake handshake;
	struct redis_call check;               /* of the configuration */
	int64_t checked_us;                    /* or greeted */
	struct permissions_report permissions; /* as of its latest handshake that went well */
	bool renew;                            /* connected before the latest connections_renew */
	bool renewing;                         /* left for that, and is not back yet */
};

struct redis_connection *connection_first(void); /* of all, in the order in which they were made */
void connections_retry_now(void);                /* those that are down */

/* `changed` is called when a connection is ready or freed; with `why` when an attempt has failed: rejected, if c->handshake says so. */
void connections_observe(void (*changed)(struct redis_connection *c, const char *why));

#endif
