/*
 * redis_quorum_count: the servers of --lock-quorum: masters that know nothing of each other, nor of the server of --redis.
 *
 * Each has one connection, so that what is asked of a member later never overtakes what was asked of it earlier: a lock that is
 * given back is not taken afterwards by a command that was written before.
 */
#ifndef PATTERND_REDIS_MEMBERS_H
#define PATTERND_REDIS_MEMBERS_H

#include "redis/node.h"

/* Starts to connect to what `urls` lists, or does nothing when it is "". False: a line on stderr says what is wrong. */
bool quorum_open(const char *urls);
void quorum_close(void);

/* How many there are; and where each is, from 1. */
unsigned quorum_count(void);
const char *quorum_address(unsigned server);

/* From 1 to quorum_count(). */
struct redis_node *quorum_node(unsigned server);

/* Writes what was gathered; once a turn. */
void quorum_flush(void);

#endif
