/*
 * replicas: the replicas that reads may go to (--read-from replica), and how old their data is. It
 * must not know where the list of replicas comes from: topology.c and cluster.c set it.
 *
 * Each replica is probed four times per --max-replica-lag-ms, and at least each second: INFO of the
 * primary, then of the replica (topology/replica_age.h). Nothing is written for it, and only the
 * daemon's clock is used.
 */
#ifndef PATTERND_TOPOLOGY_REPLICAS_H
#define PATTERND_TOPOLOGY_REPLICAS_H

#include "topology/node.h"

/* Returns true if --read-from is replica. */
bool replicas_enabled(void);

/*
 * Checks the options; `kind` is the kind of --redis. If that fails, writes one line to stderr and
 * returns false.
 */
bool replicas_check(enum redis_kind kind);

/*
 * Call it after replicas_check. `primary`, a single server, has the replicas of --redis-replicas.
 */
bool replicas_open(struct redis_node *primary);
/* Call it after the primaries were freed, which ends the probes. */
void replicas_close(void);

/*
 * To set the list, call begin, then add for each replica (once or more), then end. Replicas that
 * were not added serve no more reads. All primaries of the list must live until the next list.
 * Copies `url`. Without replicas_enabled these functions do nothing.
 */
void replicas_begin(void);
void replicas_add(const struct redis_url *url, struct redis_node *primary);
void replicas_end(void);

/*
 * Returns a replica of the primary that is reachable and whose data is young enough. The same
 * `turn` returns the same replica while it serves reads, then the next one. NULL: no replica serves
 * reads.
 */
struct redis_node *replicas_choose(const struct redis_node *primary, unsigned turn);

/*
 * Call it when slots of a Cluster node move: its replicas serve no reads for some seconds. A
 * replica of Redis 7 answers as if keys that have moved did not exist, where its primary answers
 * ASK.
 */
void replicas_hold(const struct redis_node *primary);

/* Writes the buffered commands. Call it once per event-loop iteration. */
void replicas_flush(void);

/* Frees the nodes of replicas that left the list. No call may refer to them. */
void replicas_sweep(void);

struct replica_info {
	const char *address, *server; /* valid in this iteration; server "" if it was not reached */
	unsigned connections;         /* number of usable ones */
	const char *trouble;          /* why it serves no reads; NULL when it does */
	int64_t lag_ms;               /* upper bound of the age of its data; -1: not known */
};
/* Writes replica `i`, counted from 0. Returns false if there are not as many. */
bool replicas_info(size_t i, struct replica_info *out);

#endif
