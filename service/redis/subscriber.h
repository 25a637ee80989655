/*
 * subscriber: a connection for the channels of one server: sharded ones (SSUBSCRIBE, Redis 7.0),
 * and classic ones (SUBSCRIBE), which belong to no slot.
 *
 * Reports when a channel is subscribed, its messages, and when the subscription ends. It does not
 * remember channels: subscribe again after a loss. It must not know requests.
 *
 * When the connection is renewed, its successor subscribes to all channels before it takes over.
 * Redis writes a marker, published on a separate channel, to both of them at once: all messages
 * before the marker are taken from the former connection, all after it from the successor. So none
 * is lost or comes twice. Without the marker in time the successor takes over as after a loss.
 */
#ifndef PATTERND_SUBSCRIBER_H
#define PATTERND_SUBSCRIBER_H

#include <stdbool.h>

#include "core/text.h"

struct redis_url;
struct subscriber;

/* The texts live until the function returns. */
struct subscriber_callbacks {
	void (*up)(struct subscriber *s);                              /* subscribe now */
	void (*down)(struct subscriber *s);                            /* none is subscribed */
	void (*renew)(struct subscriber *s);                           /* call subscriber_renew for each channel */
	void (*subscribed)(struct subscriber *s, struct text channel); /* messages follow */
	void (*message)(struct subscriber *s, struct text channel, struct text message);
	/* The server ended a sharded one, whose slot moves. False: it is not subscribed here. */
	bool (*unsubscribed)(struct subscriber *s, struct text channel);
	/* The server does not have the slot of a channel; it does not name it. */
	void (*misdirected)(struct subscriber *s);
};

/* Publishes on a classic channel at the server. False: not sent; it is called again. */
typedef bool subscriber_publish(void *context, struct text channel);

enum channel_kind { SHARDED, CLASSIC };

/* Returns a new subscriber, not connected yet; NULL without memory. Borrows all. */
struct subscriber *subscriber_new(const struct redis_url *url, const struct subscriber_callbacks *callbacks,
				  subscriber_publish *publish, void *context);
void subscriber_open(struct subscriber *s);     /* starts to connect */
void subscriber_retarget(struct subscriber *s); /* its URL has changed */
void subscriber_free(struct subscriber *s);

bool subscriber_is_up(const struct subscriber *s);

/* False for a moment while it is renewed; `up` follows. */
bool subscriber_accepts(const struct subscriber *s);
/* In `renew`: the channel is subscribed here. */
void subscriber_renew(struct subscriber *s, enum channel_kind kind, struct text channel);

/* Only while it is up, and accepts. `subscribed` follows, or `down`. */
void subscriber_subscribe(struct subscriber *s, enum channel_kind kind, struct text channel);
void subscriber_unsubscribe(struct subscriber *s, enum channel_kind kind, struct text channel);

/* A number that the owner of the callbacks keeps with it; 0 at first. */
int subscriber_note(const struct subscriber *s);
void subscriber_set_note(struct subscriber *s, int note);

/* Writes the buffered commands. Call it once per event-loop iteration. */
void subscriber_flush(struct subscriber *s);

#endif
