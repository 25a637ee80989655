/* stage_parts: what stage.h and cluster_stage.h both put on; a test has one of them. */
#include "stage_parts.h"

struct redis_server redis;
struct daemon patternd;
struct client *client;
