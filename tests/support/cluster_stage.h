/*
 * cluster_stage: a Redis Cluster that a test may harm, with one daemon and one client. Each test
 * gets new ones.
 *
 *	TEST(a_node_hangs, .before = cluster_of_masters, .after = cluster_stage_close)
 */
#ifndef TEST_CLUSTER_STAGE_H
#define TEST_CLUSTER_STAGE_H

#include "load.h"
#include "redis_cluster.h"
#include "stage_parts.h"

enum { STAGE_TIMEOUT_MS = 500, STAGE_MARGIN_MS = 400, STAGE_NAMES = 6 };

extern struct redis_cluster cluster; /* `redis` is this cluster as one server: see redis_as_one.h */
/*
 * --redis-timeout-ms: STAGE_TIMEOUT_MS, or a longer one that a test sets before the stage opens.
 */
extern int stage_timeout_ms;

/*
 * Names of resources. At first node 0 has names 0 and 3, node 1 has 1 and 4, node 2 has 2 and 5.
 */
extern const char *stage_names[STAGE_NAMES];

int cluster_of_masters(void **state);
int cluster_with_replicas(void **state);
int cluster_behind_proxies(void **state); /* masters only, each behind a proxy */
int cluster_stage_close(void **state);

int slot_of(const char *name);

/* Starts a load on all names, and returns when all are served. */
struct load *cluster_under_load(void);

/* POST /queues/{name}/messages, and GET /locks/{name}. */
struct answer send_to(const char *queue);
struct answer get_lock(const char *lock);

/* Waits until Redis accepts writes to this name. Returns the monotonic_us of that moment. */
int64_t cluster_writable_us(const char *name);

/*
 * Fails the test unless the answer to a write is a 503 with the effect none or a 504 with the
 * effect unknown, and came in time.
 */
void assert_failed_in_time(struct answer a);

#endif
