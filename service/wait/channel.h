/*
 * channel: the waiters and the listeners of each channel. It owns which channels are subscribed,
 * and the order of their waiters. It must not know what a message means: waiter.c does. A listener
 * does not wait; it receives every message unchanged.
 *
 *	CHANNEL_UNSUBSCRIBED  `subscriber` is NULL; freed when it has no waiter and no listener
 *	CHANNEL_SUBSCRIBING   `subscriber` has sent the command
 *	CHANNEL_SUBSCRIBED    messages arrive
 *
 * All channels are in the list of channel_first. An empty one that is not UNSUBSCRIBED is kept for
 * a while (`empty_since_us`).
 */
#ifndef PATTERND_CHANNEL_H
#define PATTERND_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

struct channel;
struct subscriber;
struct waiter;

/* A waiter's place at one channel; part of its waiter. */
struct channel_waiter {
	struct waiter *waiter;                  /* (ref) */
	struct channel *channel;                /* (ref) */
	struct channel_waiter *next, *previous; /* of the channel, the longest waiting first */
};

/* Part of its owner, which must call channel_unlisten before it frees it. */
struct channel_listener {
	struct channel *channel; /* (ref) */
	struct channel_listener *next, *previous;
	/*
	 * From now on no message is missed. It is called again whenever a message may have been
	 * missed.
	 */
	void (*subscribed)(struct channel_listener *l);
	/* valid until this returns; it may unlisten */
	void (*message)(struct channel_listener *l, struct text message);
};

enum channel_state { CHANNEL_UNSUBSCRIBED, CHANNEL_SUBSCRIBING, CHANNEL_SUBSCRIBED };

struct channel {
	struct text name; /* stored after the struct */
	enum channel_state state;
	struct subscriber *subscriber;       /* (ref) NULL while CHANNEL_UNSUBSCRIBED */
	struct channel_waiter *first, *last; /* the waiters */
	struct waiter *scout;                /* (ref) the waiter whose attempt is made for all; NULL: none */
	struct channel_listener *listeners;
	int64_t empty_since_us;
	struct channel *next, *previous; /* in the list of all channels */
};

struct channel_callbacks {
	void (*subscribed)(struct channel *ch);                   /* messages that are published from now on arrive */
	void (*unsubscribed)(struct channel *ch);                 /* they do not arrive any more */
	void (*message)(struct channel *ch, struct text message); /* for its waiters */
};

bool channel_open(const struct channel_callbacks *callbacks);
void channel_close(void);

/* The first of all channels, by ->next. */
struct channel *channel_first(void);

/* channel_join appends a waiter to the channel with that name. False: memory ran out. */
bool channel_join(struct channel_waiter *w, struct text name);
void channel_leave(struct channel_waiter *w);

/* Returns false while the channel's server is not reachable. */
bool channel_can_subscribe(struct text name);
/*
 * Adds a listener; messages arrive from the call of `subscribed` on. Returns false if memory runs
 * out, or the name is absent.
 */
bool channel_listen(struct channel_listener *l, struct text name);
void channel_unlisten(struct channel_listener *l); /* may be called for a listener that never listened */

/* Subscribes at the channel's server by the newest map, unless that was done. */
void channel_subscribe(struct channel *ch);

#endif
