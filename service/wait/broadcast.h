/*
 * broadcast: one classic channel that is subscribed at every server, for listeners to patterns,
 * whose topics they cannot name. It must not know requests.
 *
 * A message on it begins with its key and a newline. It is accepted only from the server that has
 * this key, because PUBLISH in a Cluster reaches the subscribers of all nodes. So messages about
 * one key arrive in order, and once, as on a sharded channel.
 */
#ifndef PATTERND_BROADCAST_H
#define PATTERND_BROADCAST_H

#include <stdbool.h>

#include "core/text.h"

struct subscriber;

/* Part of its owner, which must call broadcast_unlisten before it frees it. */
struct broadcast_listener {
	bool is_listening;
	struct broadcast_listener *next, *previous;
	/*
	 * Another server is subscribed, or slots have moved: earlier messages may have been missed.
	 */
	void (*subscribed)(struct broadcast_listener *l);
	/* Texts are valid until this returns. It may unlisten. */
	void (*message)(struct broadcast_listener *l, struct text key, struct text message);
};

/* Returns false while a server is not reachable. */
bool broadcast_can_subscribe(void);
/* Returns true if every server is subscribed. */
bool broadcast_is_subscribed(void);
/* Returns true if each server is subscribed or not reachable. */
bool broadcast_is_settled(void);

/*
 * Adds a listener. `subscribed` is called once every server is subscribed. The channel's name is
 * the same in all calls. Returns false if memory runs out, or the name is absent.
 */
bool broadcast_listen(struct broadcast_listener *l, struct text channel);
void broadcast_unlisten(struct broadcast_listener *l); /* may be called for a listener that never listened */

/* ---- For channel.c, which owns the callbacks of the subscribers ---- */

void broadcast_update(void); /* a subscriber is up, or the map has changed */
void broadcast_renew(struct subscriber *s);
void broadcast_down(struct subscriber *s);
void broadcast_subscribed(struct subscriber *s, struct text channel);
void broadcast_message(struct subscriber *s, struct text channel, struct text message);
void broadcast_close(void);

#endif
