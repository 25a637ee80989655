/*
 * redis_node: one Redis server: a pool of pipelined connections to it, and one that hears what is published there.
 *
 * Knows nothing of other servers: which one takes a call is redis.c's affair.
 */
#ifndef PATTERND_REDIS_NODE_H
#define PATTERND_REDIS_NODE_H

#include "redis/command.h"
#include "redis/connection.h"
#include "redis/replica_ack.h"
#include "redis/subscriber.h"
#include "redis/url.h"

enum { NODE_TROUBLE_BYTES = SOCKET_WHY_BYTES + 64 };

struct redis_node {
	struct redis_node *next;                      /* in the list of all */
	const struct redis_node_callbacks *callbacks; /* (ref) */
	struct redis_url url;                         /* where it is */
	struct redis_connection **connections;
	unsigned count, ready; /* connections, and those that are usable */
	unsigned
		current; /* takes the commands of this turn, all of them: they leave in one write, and come back in one read */
	struct subscriber *subscriber;    /* NULL: nobody wants to hear */
	struct replica_ack *replica_ack;  /* for calls that replicas acknowledge; NULL: there was none yet */
	bool retired;                     /* no more calls; goes once what is under way was answered */
	unsigned number;                  /* redis/cluster.c's */
	char trouble[NODE_TROUBLE_BYTES]; /* what went wrong last, for a person; "" when nothing did */
	char server[64];                  /* "redis 7.0.15"; "" before it was reached */
};

/* Who is told. The functions must not free the node. */
struct redis_node_callbacks {
	void (*up)(struct redis_node *n); /* one more connection is usable */
	void (*down)(struct redis_node *n, const char *why, bool was_up);
};

/* Makes one and starts to connect. Returns new; NULL without memory. Copies `url`. */
struct redis_node *node_new(const struct redis_url *url, const struct redis_node_callbacks *callbacks);
/* One that stands in no list and hears nothing, with a single connection. */
struct redis_node *node_new_apart(const struct redis_url *url, const struct redis_node_callbacks *callbacks);
void node_free(struct redis_node *n);

/* All of them, by ->next. */
struct redis_node *node_first(void);

/* All of them, and those to come, hear what is published there. False without memory. */
bool nodes_subscribe(const struct subscriber_callbacks *told);

/* With call->once set, ASKING goes before it: the slot is on its way here (Redis Cluster specification, "ASK redirection"). */
enum redis_send_error node_send(struct redis_node *n, struct redis_call *call, const struct text *args, size_t count);
void node_flush(struct redis_node *n);

/* The server should not be ours any more. Connects anew once what is under way was answered. */
void node_reject(struct redis_node *n, const char *why);

/* It is elsewhere now: n->url was changed. */
void node_retarget(struct redis_node *n);

/* Takes no more calls; node_is_idle says when it may be freed. */
void node_retire(struct redis_node *n);
bool node_is_idle(const struct redis_node *n);

#endif
