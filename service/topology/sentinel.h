/*
 * sentinel: which server is the master, as Sentinels report it (Redis documentation, "Sentinel
 * client spec").
 *
 * Stays connected to all of them, and follows the first to publish +switch-master. Asks one of
 * them, and the next one if its connection is lost or the master that it named does not serve.
 */
#ifndef PATTERND_TOPOLOGY_SENTINEL_H
#define PATTERND_TOPOLOGY_SENTINEL_H

#include <stdbool.h>

#include "redis/error.h"
#include "redis/reply.h"
#include "redis/url.h"

/*
 * Calls `found` with each reported address, even if it has not changed. With `listed`, also asks
 * for the replicas each second, and calls `listed` with the reply. Borrows `from`. False without
 * memory.
 */
bool sentinel_open(const struct redis_urls *from, void (*found)(struct text host, long port),
		   void (*listed)(const struct reply *replicas));

/* The address of one of the listed replicas. False: it is down, or its entry is malformed. */
bool sentinel_replica(const struct reply *one, struct text *host, long *port);

void sentinel_close(void);

/*
 * The reported master does not serve: asks another Sentinel soon, once, however often this is
 * called.
 */
void sentinel_refresh(void);

/* Writes the buffered commands. Call it once per event-loop iteration. */
void sentinel_flush(void);

/* The latest error, for people. */
const char *sentinel_trouble(void);
enum redis_error sentinel_error(void); /* the same */

#endif
