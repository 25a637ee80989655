/*
 * channel: the waiters and the listeners of each channel.
 *
 * Owns which channels are subscribed, and the order of their waiters. What a message means for a
 * request that waits is up to waiter.c. A listener does not wait; it receives every message as it
 * is.
 */
#ifndef PATTERND_CHANNEL_H
#define PATTERND_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

struct channel;
struct subscriber;
struct waiter;

/* A waiter at this channel. Lives inside its waiter. */
struct channel_waiter {
	struct waiter *waiter;                  /* (ref) */
	struct channel *channel;                /* (ref) */
	struct channel_waiter *next, *previous; /* at the channel, the longest waiting first */
};

/* Lives inside its owner, which must call channel_unlisten before it frees it. */
struct channel_listener {
	struct channel *channel; /* (ref) */
	struct channel_listener *next, *previous;
	/*
	 * From now on no message is missed. Called again whenever a message may have been missed.
	 */
	void (*subscribed)(struct channel_listener *l);
	void (*message)(struct channel_listener *l, struct text message); /* lives until this returns; may unlisten */
};

enum channel_state { CHANNEL_UNSUBSCRIBED, CHANNEL_SUBSCRIBING, CHANNEL_SUBSCRIBED };

struct channel {
	struct text name; /* behind the struct */
	enum channel_state state;
	struct subscriber *subscriber;       /* (ref) NULL while CHANNEL_UNSUBSCRIBED */
	struct channel_waiter *first, *last; /* the waiters */
	struct waiter *scout;                /* (ref) the one whose attempt is made for all; NULL: none is */
	struct channel_listener *listeners;
	int64_t empty_since_us;
	struct channel *next, *previous; /* in the list of all */
};

struct channel_callbacks {
	void (*subscribed)(struct channel *ch);                   /* what is published from now on arrives */
	void (*unsubscribed)(struct channel *ch);                 /* it no longer does */
	void (*message)(struct channel *ch, struct text message); /* for its waiters */
};

bool channel_open(const struct channel_callbacks *callbacks);
void channel_close(void);

/* All of them, by ->next. */
struct channel *channel_first(void);

/* Becomes the last waiter of the channel of that name. False without memory. */
bool channel_join(struct channel_waiter *w, struct text name);
void channel_leave(struct channel_waiter *w);

/* False while the channel's server is away. */
bool channel_can_subscribe(struct text name);
/* Listens from when `subscribed` is called. False without memory; an absent name means the same. */
bool channel_listen(struct channel_listener *l, struct text name);
void channel_unlisten(struct channel_listener *l); /* also one that never listened */

/* Subscribes at the channel's server by the newest map, unless it is subscribed there. */
void channel_subscribe(struct channel *ch);

#endif
