/*
 * redis_clock: a Redis whose clock moves only when a test changes it.
 *
 *	clock_us = server_start_by_clock(&r, INT64_C(1795219450378000));
 *	*clock_us += 60000000;
 *
 * Only commands delete keys that have ended, until server_expires_alone: Redis 8 alone does so a
 * millisecond before a command would, so what a test sees would depend on chance. After a restart
 * Redis goes by the clock of the machine.
 */
#ifndef TEST_REDIS_CLOCK_H
#define TEST_REDIS_CLOCK_H

#include "redis_server.h"

/* As server_start. Returns the clock, in microseconds. */
volatile int64_t *server_start_by_clock(struct redis_server *r, int64_t first_us);

void server_expires_alone(struct redis_server *r, bool expires);

#endif
