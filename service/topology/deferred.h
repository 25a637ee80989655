/*
 * deferred: calls that Redis refused for a moment, and that are sent again soon. It must not know
 * which node gets a call.
 */
#ifndef PATTERND_TOPOLOGY_DEFERRED_H
#define PATTERND_TOPOLOGY_DEFERRED_H

#include <stdbool.h>

#include "redis/command.h"

/*
 * Calls `done` with REDIS_DEFERRED in a moment. False: the call has timed out, or deferred_close
 * was called.
 */
bool deferred_add(struct redis_call *call);
unsigned deferred_count(void);

/* Ends all calls with REDIS_NOT_SENT, and accepts no more. */
void deferred_close(void);

#endif
