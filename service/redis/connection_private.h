/* redis_link_inside: what a link is made of, for redis_link.c, link_socket.c and link_check.c alone. */
#ifndef PATTERND_REDIS_LINK_INSIDE_H
#define PATTERND_REDIS_LINK_INSIDE_H

#include "core/loop.h"
#include "net/resolve.h"
#include "redis/call_ring.h"
#include "redis/connection.h"
#include "redis/handshake.h"
#include "redis/resp.h"

enum link_state { DOWN, RESOLVING, CONNECTING, HANDSHAKING, GREETING, READY, LEAVING };

struct redis_link {
	const struct redis_url *target;       /* (ref) */
	const struct redis_link_owner *owner; /* (ref) */
	void *whose;                          /* (ref) the owner's own */
	struct redis_link *next;              /* in the list of all */
	enum link_state state;
	struct watch watch;
	struct resolve_lookup lookup; /* RESOLVING */
	struct tls_session *tls;      /* owned; NULL: plain */
	struct timer timer;           /* DOWN: the pause; up to GREETING: the attempt; READY: the oldest call */
	struct reply_reader *reader;
	unsigned failures; /* attempts since it was last usable */

	struct resp_buffer out;
	bool want_write; /* the kernel's buffer is full: waiting for EPOLLOUT */

	struct call_ring ring; /* pending calls */
	struct redis_greeting greeting;
	struct redis_call check;             /* redis/connection_check.c */
	int64_t checked_us;                  /* or greeted */
	struct permissions_look permissions; /* as of its latest greeting that went well */
	bool renew;                          /* connected before the latest links_renew */
};

/* redis/connection.c */
struct redis_link *link_first(void); /* of all, in the order in which they were made */
void link_want_write(struct redis_link *l, bool wanted);
void link_greet(struct redis_link *l); /* now that something can be said */
void link_lost(struct redis_link *l, const char *format, ...)
	__attribute__((format(printf, 2, 3))); /* the connection, or the attempt */

void link_on_ready(struct watch *w, uint32_t events);

/* redis/connection_socket.c */
void link_connect(struct redis_link *l); /* an attempt, from its name on */
void link_connected(struct redis_link *l);
void link_handshake(struct redis_link *l); /* goes on with it */
/* Bytes that came; 0 when there are none now, or none ever: the link is lost then. */
size_t link_receive(struct redis_link *l, char *at, size_t size);

/* redis/connection_check.c */
void links_try_now(void); /* those that are down */
/* It is ready, or it goes: the next one may be renewed. */
void link_renewal_done(const struct redis_link *l);
/* An attempt has failed: it was refused where l->greeting says so. */
void link_renewal_failed(const struct redis_link *l, const char *why);
void link_check(struct redis_link *l); /* asks, if that is due */
/* Asks what its user may; false: there is nothing to ask, or nothing more. */
bool link_ask_permissions(struct redis_link *l);
/* Logs what its user lacks, and has all links greet again in a moment as long as that is anything. */
void link_check_permissions(const struct redis_link *l);

#endif
