/*
 * quorum: the servers of --lock-quorum: masters that are independent of each other and of --redis.
 *
 * Each has a single connection, so that commands never overtake each other: a lock that was
 * released is not acquired afterwards by an earlier command.
 */
#ifndef PATTERND_TOPOLOGY_QUORUM_H
#define PATTERND_TOPOLOGY_QUORUM_H

#include "topology/node.h"

/* Parses the URLs, or none. False: a line on stderr gives the reason. */
bool quorum_check(const char *list);

/* Connects to the servers of quorum_check. False without memory. */
bool quorum_open(void);
void quorum_close(void);

/* The number of servers; and the address of each, from 1. */
unsigned quorum_count(void);
const char *quorum_address(unsigned server);

/* From 1 to quorum_count(). */
struct redis_node *quorum_node(unsigned server);

/* Writes the buffered commands. Call it once per event-loop iteration. */
void quorum_flush(void);

#endif
