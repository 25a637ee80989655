/*
 * redis_as_one: uses a Redis Cluster like one server, for tests that know only one server
 * (redis_server.h).
 *
 * A command goes to the node that has its key; a command without a key goes to all nodes, and their
 * replies are combined: numbers are added, arrays and texts are concatenated.
 */
#ifndef TEST_REDIS_AS_ONE_H
#define TEST_REDIS_AS_ONE_H

#include "redis_cluster.h"

/* True when the variable PATTERND_TEST_TOPOLOGY asks for a cluster. */
bool tests_run_on_a_cluster(void);

/* Sends a command in its wire format. The caller frees the reply. */
redisReply *as_one_send(struct redis_cluster *c, const char *bytes, size_t len);

#endif
