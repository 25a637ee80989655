/*
 * subscriber: the one connection that hears what scripts publish, on sharded channels (SSUBSCRIBE, Redis 7.0).
 *
 * Says when a channel is heard, what is heard on it, and when nothing is heard any more. Remembers no channel: after a loss its owner
 * subscribes anew. Knows nothing of requests.
 */
#ifndef PATTERND_SUBSCRIBER_H
#define PATTERND_SUBSCRIBER_H

#include <stdbool.h>

#include "text.h"

/* Who is told. The texts live until the function returns. */
struct subscriber_owner {
	void (*up)(void);                       /* connected: subscribe now */
	void (*down)(void);                     /* lost: no channel is heard any more */
	void (*listening)(struct text channel); /* what is published from now on will be heard */
	void (*heard)(struct text channel, struct text message);
};

/* Starts to connect to redis_target(). False without memory. */
bool subscriber_open(const struct subscriber_owner *owner);
void subscriber_close(void);

bool subscriber_is_up(void);

/* Only while it is up. `listening` follows, or `down`. */
void subscriber_listen(struct text channel);
void subscriber_ignore(struct text channel);

/* Writes what was gathered; once a turn. */
void subscriber_flush(void);

#endif
