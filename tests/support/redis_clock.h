/*
 * redis_clock: a Redis whose clock moves only when a test changes it.
 *
 *	clock_us = server_start_by_clock(&r, INT64_C(1795219450378000));
 *	*clock_us += 60000000;
 *
 * After a restart it goes by the clock of the machine.
 */
#ifndef TEST_REDIS_CLOCK_H
#define TEST_REDIS_CLOCK_H

#include "redis_server.h"

/* As server_start. Returns the clock, in microseconds. */
volatile int64_t *server_start_by_clock(struct redis_server *r, int64_t first_us);

#endif
