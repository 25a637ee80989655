/* redis_cluster_slots: commands by slot, and slots and masters that move; see redis_cluster.h. */
#ifndef TEST_REDIS_CLUSTER_SLOTS_H
#define TEST_REDIS_CLUSTER_SLOTS_H

#include "redis_cluster.h"

/*
 * Sends a command to the node that has the key (`key` and `format` may be one text). The reply
 * lives until the next one.
 */
redisReply *cluster_command(struct redis_cluster *c, const char *key, const char *format, ...);

/*
 * Sends a command in its wire format to the node that has the slot now. The caller frees the reply.
 */
redisReply *cluster_send(struct redis_cluster *c, int slot, const char *bytes, size_t len);

/*
 * Moves a slot while it is in use: marks it at both ends, moves its keys one by one and informs all
 * masters. `between` may be NULL; it is called after the marking and after each key, with the
 * number of keys moved so far.
 */
void cluster_migrate(struct redis_cluster *c, int slot, int to, void (*between)(void *arg, int moved), void *arg);

/* Marks a slot as moving, but moves no key. cluster_migrate may finish the move. */
void cluster_mark_moving(struct redis_cluster *c, int slot, int from, int to);

/*
 * cluster_add_master lets a replica leave the Cluster and join it again as a new master without
 * slots. cluster_remove_master kills a master without slots, and the other nodes forget it.
 */
void cluster_add_master(struct redis_cluster *c, int replica);
void cluster_remove_master(struct redis_cluster *c, int node);

/* A replica takes over from its master, which runs and agrees. Returns when all nodes know. */
void cluster_failover(struct redis_cluster *c, int replica);

#endif
