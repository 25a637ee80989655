/*
 * cluster_stage: a Redis Cluster that a test may harm, one daemon on it and one client; new ones
 * for each test.
 *
 *	cmocka_unit_test_setup_teardown(a_test, cluster_of_masters, cluster_stage_close), ...
 */
#ifndef TEST_CLUSTER_STAGE_H
#define TEST_CLUSTER_STAGE_H

#include "load.h"
#include "redis_cluster.h"
#include "stage_parts.h"

enum { STAGE_TIMEOUT_MS = 500, STAGE_MARGIN_MS = 400, STAGE_NAMES = 6 };

extern struct redis_cluster cluster; /* `redis` is the same as one server: see redis_as_one.h */
/* --redis-timeout-ms, STAGE_TIMEOUT_MS; set a longer one before the stage opens. */
extern int stage_timeout_ms;

/* Names of resources: 0 and 3 are node 0's at first, 1 and 4 node 1's, 2 and 5 node 2's. */
extern const char *stage_names[STAGE_NAMES];

int cluster_of_masters(void **state);
int cluster_with_replicas(void **state);
int cluster_behind_proxies(void **state); /* of masters, each with a proxy before it */
int cluster_stage_close(void **state);

int slot_of(const char *name);

/* All names in use, and all served. */
struct load *cluster_under_load(void);

/* POST /queues/{name}/messages, and GET /locks/{name}. */
struct answer send_to(const char *queue);
struct answer get_lock(const char *lock);

/* Waits until Redis takes writes to this name; monotonic_us then. */
int64_t cluster_writable_us(const char *name);

/* Fails the test unless the answer is a 503 or 504 in time, with the effect of a write. */
void assert_failed_in_time(struct answer a);

#endif
