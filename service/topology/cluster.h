/*
 * cluster: which node serves which slot of a Redis Cluster (the Redis Cluster specification;
 * CLUSTER SLOTS).
 *
 * Asks one node after the other for the map: at start, after MOVED, when a node cannot be reached,
 * and every second.
 */
#ifndef PATTERND_TOPOLOGY_CLUSTER_H
#define PATTERND_TOPOLOGY_CLUSTER_H

#include "topology/node.h"

/* Starts from these nodes. Calls `changed` for each new map. Borrows all. False without memory. */
bool cluster_open(const struct redis_urls *seeds, const struct redis_node_callbacks *callbacks, void (*changed)(void));
void cluster_close(void);

bool cluster_is_known(void);

/* The node of a slot, or NULL if none is known. REDIS_ANYWHERE: any usable node. */
struct redis_node *cluster_node(int slot);

/*
 * The node named in "MOVED <slot> <host>:<port>" or in ASK, which `from` returned. NULL when the
 * address is malformed, or without memory.
 */
struct redis_node *cluster_moved(struct text error, const struct redis_node *from);
struct redis_node *cluster_asked(struct text error, const struct redis_node *from);

/* Asks for the map soon, once, however often this is called. */
void cluster_refresh(void);

/*
 * How many slots cannot be served: the map names no node for them, or one that is not usable. Sets
 * `owner` to the first of these nodes; NULL if there is none.
 */
unsigned cluster_slots_unserved(const struct redis_node **owner);

/*
 * Calls `visit` once for each node that has slots by the map; with NULL, if some slot has none. Its
 * version rises with each change.
 */
void cluster_visit_owners(void (*visit)(void *context, struct redis_node *n), void *context);
unsigned cluster_version(void);

/* How many slots the node serves. */
unsigned cluster_slots_of(const struct redis_node *n);

/* How many slots from this one on its node serves without a gap, at most `most`. */
int cluster_slots_from(int slot, int most);

/* See topology_next_node. */
int cluster_next_node(int slot);

/* Frees retired nodes. No call may refer to one. */
void cluster_sweep(void);

/* A connection to a node was opened or lost. */
void cluster_node_changed(void);

#endif
