/*
 * subscriber: a connection for the channels of one server: sharded ones (SSUBSCRIBE, Redis 7.0),
 * and classic ones (SUBSCRIBE), which belong to no slot. It must not know requests.
 *
 * It reports when a channel is subscribed, its messages, and when the subscription ends. It does
 * not remember channels: its owner subscribes again after a loss.
 *
 * When the connection is renewed, its successor subscribes to all channels before it takes over. A
 * marker is published on a separate channel, and Redis writes it to both connections at once.
 * Messages before the marker are taken from the former connection, messages after it from the
 * successor, so no message is lost or delivered twice. If the marker does not arrive in time, the
 * successor takes over as after a loss.
 */
#ifndef PATTERND_SUBSCRIBER_H
#define PATTERND_SUBSCRIBER_H

#include <stdbool.h>

#include "core/text.h"

struct redis_url;
struct subscriber;

/* Texts are valid until the callback returns. */
struct subscriber_callbacks {
	void (*up)(struct subscriber *s);                              /* subscribe now */
	void (*down)(struct subscriber *s);                            /* no channel is subscribed any more */
	void (*renew)(struct subscriber *s);                           /* call subscriber_renew for each channel */
	void (*subscribed)(struct subscriber *s, struct text channel); /* messages of the channel follow */
	void (*message)(struct subscriber *s, struct text channel, struct text message);
	void (*emptied)(struct subscriber *s); /* all keys of the server were deleted at once */
	/*
	 * The server ended a sharded channel, whose slot moves. Returns false if it is not
	 * subscribed here.
	 */
	bool (*unsubscribed)(struct subscriber *s, struct text channel);
	/* The server does not have the slot of a channel. It does not return which channel. */
	void (*misdirected)(struct subscriber *s);
};

/*
 * Publishes on a classic channel at the server. Returns false if nothing was sent; it is then
 * called again.
 */
typedef bool subscriber_publish(void *context, struct text channel);

enum channel_kind { SHARDED, CLASSIC };

/*
 * Makes a subscriber, which is not connected yet. It uses all arguments until subscriber_free.
 * NULL: memory ran out.
 */
struct subscriber *subscriber_new(const struct redis_url *url, const struct subscriber_callbacks *callbacks,
				  subscriber_publish *publish, void *context);
void subscriber_open(struct subscriber *s);     /* starts to connect */
void subscriber_retarget(struct subscriber *s); /* call it when the URL has changed */
void subscriber_free(struct subscriber *s);

bool subscriber_is_up(const struct subscriber *s);

/* Returns false for a moment during a renewal; `up` is called afterwards. */
bool subscriber_accepts(const struct subscriber *s);
/* Call it in `renew`, for each channel that is subscribed here. */
void subscriber_renew(struct subscriber *s, enum channel_kind kind, struct text channel);

/* Call these only while it is up and accepts. `subscribed` or `down` is called afterwards. */
void subscriber_subscribe(struct subscriber *s, enum channel_kind kind, struct text channel);
void subscriber_unsubscribe(struct subscriber *s, enum channel_kind kind, struct text channel);

/* A number that the owner of the callbacks stores with it; 0 at first. */
int subscriber_note(const struct subscriber *s);
void subscriber_set_note(struct subscriber *s, int note);

/* Writes the buffered commands. Call it once per event-loop iteration. */
void subscriber_flush(struct subscriber *s);

#endif
