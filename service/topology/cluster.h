/*
 * cluster: which node serves which slot of a Redis Cluster (the Redis Cluster specification;
 * CLUSTER SLOTS). It must not know requests or scripts.
 *
 * It asks one node after the other for the map: at start, after MOVED, when a node cannot be
 * reached, and every second.
 */
#ifndef PATTERND_TOPOLOGY_CLUSTER_H
#define PATTERND_TOPOLOGY_CLUSTER_H

#include "topology/node.h"

/*
 * Starts from these nodes. Calls `changed` for each new map. It uses its arguments until
 * cluster_close. False: memory ran out.
 */
bool cluster_open(const struct redis_urls *seeds, const struct redis_node_callbacks *callbacks, void (*changed)(void));
void cluster_close(void);

bool cluster_is_known(void);

/*
 * Returns the node of a slot; NULL: none is known. For REDIS_ANYWHERE it returns any usable node.
 */
struct redis_node *cluster_node(int slot);

/*
 * Return the node in "MOVED <slot> <host>:<port>", or in ASK, which `from` returned. NULL: the
 * address is malformed, or memory ran out.
 */
struct redis_node *cluster_moved(struct text error, const struct redis_node *from);
struct redis_node *cluster_asked(struct text error, const struct redis_node *from);

/* Asks for the map soon, once, however often this is called. */
void cluster_refresh(void);

/*
 * Returns how many slots cannot be served: the map has no node for them, or a node that is not
 * usable. Sets `owner` to the first of these nodes; NULL if there is none.
 */
unsigned cluster_slots_unserved(const struct redis_node **owner);

/*
 * cluster_visit_owners calls `visit` once for each node that has slots by the map; with NULL, if
 * some slot has none. cluster_version increases with each change of the map.
 */
void cluster_visit_owners(void (*visit)(void *context, struct redis_node *n), void *context);
unsigned cluster_version(void);

/* Returns how many slots the node serves. */
unsigned cluster_slots_of(const struct redis_node *n);

/* Returns how many slots, from this one on, its node serves without a gap; at most `most`. */
int cluster_slots_from(int slot, int most);

/* See topology_next_node. */
int cluster_next_node(int slot);

/* Frees retired nodes that are idle. No call may refer to one. */
void cluster_sweep(void);

/* Call it when a connection to a node was opened or lost. */
void cluster_node_changed(void);

#endif
