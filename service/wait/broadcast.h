/*
 * broadcast: one classic channel that is subscribed at every server, for listeners to patterns,
 * whose topics they cannot name.
 *
 * A message on it begins with the key that it is about and a newline. It is accepted only from the
 * server that has this key, because PUBLISH in a Cluster reaches the subscribers of all nodes. So
 * messages about one key come in order, and once, as messages of a sharded channel do.
 */
#ifndef PATTERND_BROADCAST_H
#define PATTERND_BROADCAST_H

#include <stdbool.h>

#include "core/text.h"

struct subscriber;

/* Lives inside its owner, which must call broadcast_unlisten before it frees it. */
struct broadcast_listener {
	bool is_listening;
	struct broadcast_listener *next, *previous;
	/*
	 * One more server is subscribed, or slots have moved: earlier messages may have been
	 * missed.
	 */
	void (*subscribed)(struct broadcast_listener *l);
	/* Both live until this returns; may unlisten. */
	void (*message)(struct broadcast_listener *l, struct text key, struct text message);
};

/* False while some server is away. */
bool broadcast_can_subscribe(void);
/* Every server is subscribed. */
bool broadcast_is_subscribed(void);
/* Each server is subscribed or away. */
bool broadcast_is_settled(void);

/*
 * `subscribed` is called once every server is subscribed, if not before. The channel's name is the
 * same in all calls. False without memory; an absent name means the same.
 */
bool broadcast_listen(struct broadcast_listener *l, struct text channel);
void broadcast_unlisten(struct broadcast_listener *l); /* also one that never listened */

/* ---- For channel.c, which has the callbacks of the subscribers ---- */

void broadcast_update(void); /* a subscriber is up, or the map is another */
void broadcast_renew(struct subscriber *s);
void broadcast_down(struct subscriber *s);
void broadcast_subscribed(struct subscriber *s, struct text channel);
void broadcast_message(struct subscriber *s, struct text channel, struct text message);
void broadcast_close(void);

#endif
