/*
 * stage_parts: the variables that stage.h and cluster_stage.h share. A test uses one of the stages.
 */
#include "stage_parts.h"

struct redis_server redis;
struct daemon patternd;
struct client *client;
