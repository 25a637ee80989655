/*
 * api_stage: a Redis, a daemon and a client, of which the tests in a file share one each; how they
 * end, and what is forgotten between two tests. A stage that includes this starts them.
 */
#ifndef API_STAGE_H
#define API_STAGE_H

#include "daemon.h"
#include "http.h"
#include "redis_server.h"
#include "test.h"

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

static inline int stop(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

static inline int forget_all(void **state)
{
	server_command(&redis, "FLUSHALL");
	client_forget(client);
	return 0;
}

#endif
