/*
 * redis_stage: a Redis for all tests of a file, which start the daemon themselves. A test program
 * includes it once.
 */
#ifndef REDIS_STAGE_H
#define REDIS_STAGE_H

#include "daemon.h"
#include "redis_server.h"
#include "test.h"

static struct redis_server redis;
static struct daemon patternd;

static inline int open_redis(void **state)
{
	server_start(&redis);
	return 0;
}

static inline int close_redis(void **state)
{
	server_stop(&redis);
	return 0;
}

static inline int stop_daemon(void **state)
{
	daemon_stop(&patternd);
	return 0;
}

#endif
