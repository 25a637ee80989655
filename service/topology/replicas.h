/*
 * replicas: the replicas that reads may go to (--read-from replica), and how old their data is.
 *
 * Each replica is probed four times in --max-replica-lag-ms, or each second: INFO of the primary,
 * then of the replica (topology/replica_age.h). Nothing is written for it, and no clock but the
 * daemon's is involved.
 *
 * It must not know where the list of replicas comes from: topology.c and cluster.c set it.
 */
#ifndef PATTERND_TOPOLOGY_REPLICAS_H
#define PATTERND_TOPOLOGY_REPLICAS_H

#include "topology/node.h"

/* True when --read-from is replica. */
bool replicas_enabled(void);

/* Checks the options; `kind` is --redis's. False: one line on stderr names what is wrong. */
bool replicas_check(enum redis_kind kind);

/* After replicas_check. A single server, `primary`, has the replicas of --redis-replicas. */
bool replicas_open(struct redis_node *primary);
/* Call it after the primaries were freed, which ends the probes. */
void replicas_close(void);

/*
 * Sets the list: begin, add each one (also several times), end. Those that were not added serve no
 * more reads. All primaries that were named must live until the next list. Without replicas_enabled
 * nothing happens. Copies `url`.
 */
void replicas_begin(void);
void replicas_add(const struct redis_url *url, struct redis_node *primary);
void replicas_end(void);

/*
 * Returns a replica of the primary whose link is up and whose data is young enough. The same `turn`
 * gets the same replica while it serves reads, then the next one. NULL: no replica serves.
 */
struct redis_node *replicas_choose(const struct redis_node *primary, unsigned turn);

/*
 * Slots of a Cluster node move: its replicas serve no reads for some seconds. A replica of Redis 7
 * answers for keys that have moved as if they did not exist, where its primary answers ASK.
 */
void replicas_hold(const struct redis_node *primary);

/* Writes the buffered commands. Call it once per event-loop iteration. */
void replicas_flush(void);

/* Frees the nodes of replicas that left the list. No call may refer to them. */
void replicas_sweep(void);

struct replica_info {
	const char *address, *server; /* valid in this iteration; server "" if not reached */
	unsigned connections;         /* usable */
	const char *trouble;          /* why it serves no reads; NULL when it does */
	int64_t lag_ms;               /* upper bound of the age of its data; -1: not known */
};
/* The i-th, from 0; false when there are no more. */
bool replicas_info(size_t i, struct replica_info *out);

#endif
