/* stage_parts: a Redis, a daemon on it and a client; stage.h or cluster_stage.h starts them. */
#ifndef TEST_STAGE_PARTS_H
#define TEST_STAGE_PARTS_H

#include "daemon.h"
#include "http.h"
#include "redis_server.h"

extern struct redis_server redis;
extern struct daemon patternd;
extern struct client *client;

#endif
