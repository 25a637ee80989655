/*
 * quorum: the servers of --lock-quorum: masters that are independent of each other and of --redis.
 * It must not know locks.
 *
 * Each server has a single connection, so that commands never overtake each other: a lock that was
 * released cannot be acquired afterwards by an earlier command.
 */
#ifndef PATTERND_TOPOLOGY_QUORUM_H
#define PATTERND_TOPOLOGY_QUORUM_H

#include "topology/node.h"

/* Parses the URLs, if any. Returns false after a line on stderr. */
bool quorum_check(const char *list);

/* Connects to the servers of quorum_check. False: memory ran out. */
bool quorum_open(void);
void quorum_close(void);

/* Return the number of servers, and the address of each, counted from 1. */
unsigned quorum_count(void);
const char *quorum_address(unsigned server);

/* `server` is from 1 to quorum_count(). */
struct redis_node *quorum_node(unsigned server);

/* Writes the buffered commands. Call it once per event-loop iteration. */
void quorum_flush(void);

#endif
