/*
 * replicated: a Redis with two replicas and a daemon that reads from them, each connection through
 * its own proxy.
 *
 *	SUITE(.open = replicated_open, .close = replicated_close, .columns = 2);
 *	proxy_set(replica_link[0], (struct proxy_fault){ .delay_ms = 3000 });    it lags
 */
#ifndef TEST_REPLICATED_H
#define TEST_REPLICATED_H

#include "proxy.h"
#include "stage.h"

enum { REPLICAS = 2, REPLICATED_LAG_MS = 1000 }; /* --max-replica-lag-ms */

extern struct redis_server replicas[REPLICAS];
extern struct proxy *replica_link[REPLICAS];   /* from the replica to its primary */
extern struct proxy *replica_access[REPLICAS]; /* from the daemon to the replica */

int replicated_open(void **state);
int replicated_close(void **state);
/* After each test: all is as at first, and empty. */
int replicated_forget(void **state);

/* Waits until this many replicas serve reads, by /metrics. */
void replicated_wait_usable(int count);

/* Waits until the replicas have all writes so far. */
void replicated_wait_synced(void);

/* True when a replica served the answer. */
bool came_from_replica(struct answer a);

#endif
