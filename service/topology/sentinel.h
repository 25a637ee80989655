/*
 * sentinel: which server is the master, as Sentinels report it (Redis documentation, "Sentinel
 * client spec"). It must not know calls.
 *
 * It stays connected to all Sentinels, and follows the first one to publish +switch-master. It asks
 * one of them, and then the next one if its connection is lost or the master that it reported does
 * not serve.
 */
#ifndef PATTERND_TOPOLOGY_SENTINEL_H
#define PATTERND_TOPOLOGY_SENTINEL_H

#include <stdbool.h>

#include "redis/error.h"
#include "redis/reply.h"
#include "redis/url.h"

/*
 * Calls `found` with each reported address, even if it has not changed. If `listed` is given, it
 * also asks for the replicas each second, and calls `listed` with the reply. It uses `from` until
 * sentinel_close. False: memory ran out.
 */
bool sentinel_open(const struct redis_urls *from, void (*found)(struct text host, long port),
		   void (*listed)(const struct reply *replicas));

/* Reads the address of a listed replica. False: the replica is down, or its entry is malformed. */
bool sentinel_replica(const struct reply *one, struct text *host, long *port);

void sentinel_close(void);

/*
 * Call it if the reported master does not serve: asks another Sentinel soon, once, however often
 * this is called.
 */
void sentinel_refresh(void);

/* Writes the buffered commands. Call it once per event-loop iteration. */
void sentinel_flush(void);

/* Returns the text of the latest error. */
const char *sentinel_trouble(void);
enum redis_error sentinel_error(void); /* the same error as a value */

#endif
