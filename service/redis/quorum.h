/*
 * redis_members: the servers of --lock-quorum: masters that know nothing of each other, nor of the server of --redis.
 *
 * Each has one connection, so that what is asked of a member later never overtakes what was asked of it earlier: a lock that is
 * given back is not taken afterwards by a command that was written before.
 */
#ifndef PATTERND_REDIS_MEMBERS_H
#define PATTERND_REDIS_MEMBERS_H

#include "redis/node.h"

/* Starts to connect to what `urls` lists, or does nothing when it is "". False: a line on stderr says what is wrong. */
bool members_open(const char *urls);
void members_close(void);

/* How many there are; and where each is, from 1. */
unsigned members_count(void);
const char *members_address(unsigned member);

/* From 1 to members_count(). */
struct redis_node *member_node(unsigned member);

/* Writes what was gathered; once a turn. */
void members_flush(void);

#endif
