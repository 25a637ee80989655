/*
 * node: one Redis server: a pool of pipelined connections to it, and one subscriber.
 *
 * It must not know other servers: topology.c chooses the node for a call.
 */
#ifndef PATTERND_TOPOLOGY_NODE_H
#define PATTERND_TOPOLOGY_NODE_H

#include "redis/command.h"
#include "redis/connection.h"
#include "redis/replica_ack.h"
#include "redis/subscriber.h"
#include "redis/url.h"

enum { NODE_TROUBLE_BYTES = SOCKET_WHY_BYTES + 64 };

struct redis_node {
	struct redis_node *next;                      /* in the list of all */
	const struct redis_node_callbacks *callbacks; /* (ref) */
	struct redis_url url;
	struct redis_connection **connections;
	unsigned count, ready;         /* connections, and the usable ones */
	unsigned current;              /* takes all commands of this iteration */
	struct subscriber *subscriber; /* NULL: no subscriptions */
	struct redis_call published;   /* by publish */
	bool is_publishing;
	struct replica_ack *replica_ack;  /* NULL before the first call with replicas */
	bool retired;                     /* takes no more calls; freed once idle */
	unsigned number;                  /* topology/cluster.c's */
	char trouble[NODE_TROUBLE_BYTES]; /* the latest error, for people; "" when there is none */
	enum redis_error error;           /* and for programs */
	char server[64];                  /* "redis 7.0.15"; "" before it was reached */
};

/* The functions must not free the node. */
struct redis_node_callbacks {
	void (*up)(struct redis_node *n); /* one more connection is usable */
	void (*down)(struct redis_node *n, const char *why, bool was_up);
};

/* Returns a new node, which starts to connect; NULL without memory. Copies `url`. */
struct redis_node *node_new(const struct redis_url *url, const struct redis_node_callbacks *callbacks);
/* A node with so many connections, without a subscriber, that is not in the list. */
struct redis_node *node_new_apart(const struct redis_url *url, const struct redis_node_callbacks *callbacks,
				  unsigned connections);
void node_free(struct redis_node *n);

/* The first of the list. */
struct redis_node *node_first(void);

/* No attempt to connect has failed yet. */
bool node_is_new(const struct redis_node *n);

/* True if it was tried and is not usable, so that it will not be usable soon; true for NULL. */
bool node_is_away(const struct redis_node *n);

/* Usable connections to the nodes of the list. */
unsigned nodes_ready(void);

/* Gives each node, now and later, a subscriber. False without memory. */
bool nodes_subscribe(const struct subscriber_callbacks *callbacks);

/*
 * With call->ask set, ASKING precedes it: the slot is migrating to this node (Redis Cluster
 * specification, "ASK redirection").
 */
enum redis_send_error node_send(struct redis_node *n, struct redis_call *call, const struct text *args, size_t count);
void node_flush(struct redis_node *n);

/* The newest of what its connections learned, each at another time. */
struct redis_memory node_memory(const struct redis_node *n);

/* The server misbehaves or is no longer the right one: reconnects after the pending calls. */
void node_reject(struct redis_node *n, const char *why);

/* n->url has changed. */
void node_retarget(struct redis_node *n);

/* Takes no more calls. Free it once node_is_idle. */
void node_retire(struct redis_node *n);
bool node_is_idle(const struct redis_node *n);

#endif
