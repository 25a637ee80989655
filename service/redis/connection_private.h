/* redis_link: what a link is made of, for redis/connection.c and redis/renewal.c alone. */
#ifndef PATTERND_REDIS_LINK_PRIVATE_H
#define PATTERND_REDIS_LINK_PRIVATE_H

#include "core/loop.h"
#include "redis/call_ring.h"
#include "redis/connection.h"
#include "redis/handshake.h"
#include "redis/resp.h"
#include "redis/socket.h"

enum link_state { DOWN, CONNECTING, GREETING, READY, LEAVING };

struct redis_link {
	const struct redis_url *target;       /* (ref) */
	const struct redis_link_owner *owner; /* (ref) */
	void *whose;                          /* (ref) the owner's own */
	struct redis_link *next;              /* in the list of all */
	enum link_state state;
	struct redis_socket socket;
	struct timer timer; /* DOWN: the pause; up to GREETING: the attempt; READY: the oldest call */
	struct reply_reader *reader;
	unsigned failures; /* attempts since it was last usable */
	struct resp_buffer out;
	struct call_ring ring; /* pending calls */
	struct redis_greeting greeting;
	struct redis_call check;             /* of the configuration */
	int64_t checked_us;                  /* or greeted */
	struct permissions_look permissions; /* as of its latest greeting that went well */
	bool renew;                          /* connected before the latest links_renew */
	bool renewing;                       /* left for that, and is not back yet */
};

struct redis_link *link_first(void); /* of all, in the order in which they were made */
void links_try_now(void);            /* those that are down */

/* `changed` is called when a link is ready or freed; with `why` when an attempt has failed: refused, if l->greeting says so. */
void links_observe(void (*changed)(struct redis_link *l, const char *why));

#endif
