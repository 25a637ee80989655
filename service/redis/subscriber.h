/*
 * subscriber: a connection to one server that hears what scripts publish there, on sharded channels (SSUBSCRIBE, Redis 7.0).
 *
 * Says when a channel is heard, what is heard on it, and when it is not heard any more. Remembers no channel: after a loss its callbacks
 * subscribes anew. Knows nothing of requests.
 */
#ifndef PATTERND_SUBSCRIBER_H
#define PATTERND_SUBSCRIBER_H

#include <stdbool.h>

#include "core/text.h"

struct redis_url;
struct subscriber;

/* Who is told. The texts live until the function returns. */
struct subscriber_callbacks {
	void (*up)(struct subscriber *s);   /* connected: subscribe now */
	void (*down)(struct subscriber *s); /* lost, or freed: no channel is heard on it any more */
	void (*subscribed)(struct subscriber *s, struct text channel); /* what is published from now on will be heard */
	void (*message)(struct subscriber *s, struct text channel, struct text message);
	/* The server says that it unsubscribed us: its slot goes to another one. False: that channel is not listened to here. */
	bool (*unsubscribed)(struct subscriber *s, struct text channel);
	/* It refused a channel, which one is not said, because it does not have its slot. */
	void (*misdirected)(struct subscriber *s);
};

/* Makes one, not connected yet. NULL without memory. Borrows both. */
struct subscriber *subscriber_new(const struct redis_url *url, const struct subscriber_callbacks *callbacks);
void subscriber_open(struct subscriber *s);     /* starts to connect */
void subscriber_retarget(struct subscriber *s); /* its URL is another now */
void subscriber_free(struct subscriber *s);

bool subscriber_is_up(const struct subscriber *s);

/* Only while it is up. `listening` follows, or `down`. */
void subscriber_subscribe(struct subscriber *s, struct text channel);
void subscriber_unsubscribe(struct subscriber *s, struct text channel);

/* Writes what was gathered; once a turn. */
void subscriber_flush(struct subscriber *s);

#endif
