/*
 * redis_cluster: who serves which slot of a Redis Cluster (the Redis Cluster specification; CLUSTER SLOTS).
 *
 * Asks one node after the other for the map: at the start, when a node says MOVED, when one cannot be reached, and now and then.
 */
#ifndef PATTERND_REDIS_CLUSTER_H
#define PATTERND_REDIS_CLUSTER_H

#include "redis/node.h"

/* Starts from these nodes; `changed` is called when a map was learnt. Borrows all. False without memory. */
bool cluster_open(const struct redis_urls *seeds, const struct redis_node_callbacks *callbacks, void (*changed)(void));
void cluster_close(void);

bool cluster_is_known(void);

/* NULL: nobody serves it, as far as is known. Any slot when REDIS_ANYWHERE. */
struct redis_node *cluster_node(int slot);

/* "MOVED <slot> <host>:<port>", or ASK, as `from` said it: the node that is meant. NULL when it makes no sense, or without memory. */
struct redis_node *cluster_moved(struct text error, const struct redis_node *from);
struct redis_node *cluster_asked(struct text error, const struct redis_node *from);

/* The map may be wrong. It is asked for soon, however often this is called. */
void cluster_refresh(void);

/* How many slots it serves. */
unsigned cluster_slots_of(const struct redis_node *n);

/* See redis_next_node. */
int cluster_next_node(int slot);

/* Lets go of nodes that have left; while no call remembers one. */
void cluster_sweep(void);

/* A connection to a node came, or went. */
void cluster_node_changed(void);

#endif
