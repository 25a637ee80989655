/*
 * node: one Redis server: a pool of pipelined connections to it, and one subscriber. It must not
 * know other servers: topology.c chooses the node for a call.
 *
 * Its circuit breaker is the state of the pool:
 *
 *	new      `ready` is 0, and no attempt to connect has failed: calls are deferred
 *	closed   `ready` is above 0: calls are sent
 *	open     `ready` is 0 after a failure, a timeout or node_reject: calls are refused at once;
 *	         the connections reconnect, and the first successful handshake closes the circuit
 *	retired  `retired`: calls are refused; freed once idle
 */
#ifndef PATTERND_TOPOLOGY_NODE_H
#define PATTERND_TOPOLOGY_NODE_H

#include "core/loop.h"
#include "redis/command.h"
#include "redis/connection.h"
#include "redis/replica_ack.h"
#include "redis/restart.h"
#include "redis/subscriber.h"
#include "redis/url.h"

enum { NODE_TROUBLE_BYTES = SOCKET_WHY_BYTES + 64, NODE_KEY_BYTES = 512 };
enum { NODE_CLOCK_US = 100000, NODE_CLOCK_KEPT_US = 600 * 1000 * 1000 };

/* Used by topology/refusal.c, which describes it. */
struct node_refusal {
	int64_t since_ms;  /* by the daemon's clock; 0: the server refuses nothing */
	int64_t latest_us; /* when it refused a call last */
	enum redis_error error;
	char text[NODE_TROUBLE_BYTES];
	char key[NODE_KEY_BYTES]; /* of the probe */
	struct redis_call probe;
	struct loop_timer timer;
};

struct redis_node {
	struct redis_node *next;                      /* in the list of all nodes */
	const struct redis_node_callbacks *callbacks; /* (ref) */
	struct redis_url url;
	struct redis_connection **connections;
	unsigned count, ready;         /* all connections, and the usable ones */
	unsigned current;              /* index of the connection that takes all commands of this iteration */
	struct subscriber *subscriber; /* NULL: no subscriptions */
	struct redis_call published;   /* the call of publish */
	bool is_publishing;
	struct replica_ack *replica_ack;  /* NULL before the first call with replicas */
	bool retired;                     /* takes no more calls; freed once idle */
	unsigned number;                  /* used by topology/cluster.c */
	char trouble[NODE_TROUBLE_BYTES]; /* text of the latest error since it was last away; "": none */
	int64_t away_since_ms;            /* by the daemon's clock; 0: it is usable, or was not tried yet */
	enum redis_error error;           /* the latest error */
	struct node_refusal refusal;
	struct redis_restart restart;
	struct server_check check;
	int64_t clock_offset_ms; /* of its clock from the clock of the daemon's machine */
	int64_t clock_read_us;   /* when it was read last; 0: never */
	char server[64];         /* such as "redis 7.0.15"; "" before it was reached */
};

/* The callbacks must not free the node. */
struct redis_node_callbacks {
	void (*up)(struct redis_node *n); /* another connection is usable */
	void (*down)(struct redis_node *n, const char *why, bool was_up);
};

/*
 * Makes a node, which starts to connect, and adds it to the list. Copies `url`. NULL: memory ran
 * out.
 */
struct redis_node *node_new(const struct redis_url *url, const struct redis_node_callbacks *callbacks);
/*
 * node_new_apart makes a node with that many connections, without a subscriber, that is not in the
 * list.
 */
struct redis_node *node_new_apart(const struct redis_url *url, const struct redis_node_callbacks *callbacks,
				  unsigned connections);
void node_free(struct redis_node *n);

/* The first node of the list. */
struct redis_node *node_first(void);

/* Returns true if no attempt to connect has failed yet. */
bool node_is_new(const struct redis_node *n);

/*
 * Returns true if it was tried and is not usable, so that it will not be usable soon. Returns true
 * for NULL.
 */
bool node_is_away(const struct redis_node *n);

/* Returns the number of usable connections to the nodes of the list. */
unsigned nodes_ready(void);

/* Returns true if clock_offset_ms was read within the last ten minutes. */
bool node_clock_is_recent(const struct redis_node *n);

/* Gives a subscriber to each node, also to nodes that are added later. False: memory ran out. */
bool nodes_subscribe(const struct subscriber_callbacks *callbacks);

/*
 * Sends a call. If call->ask is set, ASKING precedes it: the slot is migrating to this node (Redis
 * Cluster specification, "ASK redirection").
 */
enum redis_send_error node_send(struct redis_node *n, struct redis_call *call, const struct text *args, size_t count);
void node_flush(struct redis_node *n);

/*
 * Takes Redis's time, Unix milliseconds, of the reply to a call that was sent at `sent_us` or
 * later. The offset of the clocks changes only when it is outside of the bounds that a reply gives,
 * so it is as exact as the fastest reply. It is read at most every NODE_CLOCK_US.
 */
void node_learn_clock(struct redis_node *n, int64_t redis_ms, int64_t sent_us);

/*
 * Call it if the server misbehaves, or is not the right one any more: reconnects after the pending
 * calls.
 */
void node_reject(struct redis_node *n, const char *why);

/* Call it when n->url has changed. */
void node_retarget(struct redis_node *n);

/* node_retire: the node takes no more calls. Free it once node_is_idle. */
void node_retire(struct redis_node *n);
bool node_is_idle(const struct redis_node *n);

#endif
