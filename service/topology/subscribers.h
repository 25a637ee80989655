/*
 * subscribers: which server's subscriber has a channel, and the subscribers of all servers. It must
 * not know what channels are for.
 */
#ifndef PATTERND_SUBSCRIBERS_H
#define PATTERND_SUBSCRIBERS_H

#include <stdbool.h>

#include "core/text.h"

struct subscriber;

/* Returns the subscriber for a sharded channel; NULL while there is none. */
struct subscriber *subscribers_at(struct text channel);

/*
 * Calls `visit` for each server that has slots; without a Cluster there is one server. Its
 * subscriber is NULL while it is not up. `is_away` is what topology_is_away returns.
 */
void subscribers_visit(void (*visit)(void *context, struct subscriber *s, bool is_away), void *context);

/* Returns a number that changes whenever a slot may have another server. */
unsigned subscribers_map_version(void);

#endif
