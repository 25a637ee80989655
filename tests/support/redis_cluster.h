/*
 * redis_cluster: a real Redis Cluster of redis-server processes on the loopback, for tests.
 *
 *	struct redis_cluster c = { .with_replicas = true };
 *	cluster_start(&c);                    three masters and their replicas, all in order
 *	daemon_start(&d, "--redis", c.url);
 *	cluster_wait_well(&c);
 *	cluster_kill(&c, cluster_owner_of(&c, "p:lock:{a}"));
 *	cluster_stop(&c);
 *
 * Nodes 0, 1 and 2 begin as masters, each of a third of the slots. Nodes 3, 4 and 5 begin as their
 * replicas. A node keeps its number, port and data when its role changes.
 */
#ifndef TEST_REDIS_CLUSTER_H
#define TEST_REDIS_CLUSTER_H

#include "proxy.h"
#include "redis_server.h"

enum {
	CLUSTER_MASTERS = 3,
	CLUSTER_NODES_MAX = 2 * CLUSTER_MASTERS,
	CLUSTER_SLOTS = 16384,
	CLUSTER_ID_LEN = 40,
	CLUSTER_OPTIONS_MAX = 14,
	CLUSTER_QUICK_MS = 1000,
};

struct cluster_node {
	struct redis_server server; /* its port, process and connection */
	int bus_port;
	char id[CLUSTER_ID_LEN + 1];
	char config_path[160]; /* nodes.conf */
	char settings[4][16];  /* texts of its options */
	struct proxy *proxy;   /* owned: with behind_proxies, the address that the node announces */
};

struct redis_cluster {
	bool with_replicas;  /* set before cluster_start */
	bool behind_proxies; /* set before it, too: `url` and the announced addresses lead to proxies */
	struct cluster_node nodes[CLUSTER_NODES_MAX];
	int count;                          /* of nodes */
	char url[160];                      /* for --redis: the first three */
	unsigned char owner[CLUSTER_SLOTS]; /* where a slot was last seen; a node's redirection corrects it */
	redisReply *reply;                  /* owned: of the last cluster_command */
};

/*
 * Returns when all nodes agree that all is well and every replica is in sync: after 0.15 s, or
 * after a second with replicas. Takes options of redis.conf for all nodes, like server_start.
 */
#define cluster_start(...) cluster_start_with(__VA_ARGS__, (const char *)NULL)
void cluster_start_with(struct redis_cluster *c, ...) __attribute__((sentinel));
void cluster_start_list(struct redis_cluster *c, const char *const options[]);
void cluster_stop(struct redis_cluster *c);

/*
 * cluster_kill sends SIGKILL to a node. cluster_restart starts it again, in the role that the other
 * nodes gave it. From cluster_kill on, a silent node counts as failed after CLUSTER_QUICK_MS.
 * cluster_wait_well sets 15 s again, because nodes may be slow on a machine under load.
 */
void cluster_kill(struct redis_cluster *c, int node);
void cluster_restart(struct redis_cluster *c, int node);
void cluster_be_quick(struct redis_cluster *c);
void cluster_be_patient(struct redis_cluster *c);

/*
 * True when, or waits until, all running nodes take part: all slots are served, and all running
 * replicas are in sync.
 */
bool cluster_is_well(struct redis_cluster *c);
void cluster_wait_well(struct redis_cluster *c);

/* The slot of a key, and the node that owns a slot or key now. -1: no running node claims it. */
int cluster_slot(const char *key, size_t len);
int cluster_owner(struct redis_cluster *c, int slot);
int cluster_owner_of(struct redis_cluster *c, const char *key);

/* The node that announces this port; -1 when there is none. */
int cluster_node_at(const struct redis_cluster *c, long long port);

/* A running node that reports itself as a replica of `node`; -1 when there is none. */
int cluster_replica_of(struct redis_cluster *c, int node);

#endif
