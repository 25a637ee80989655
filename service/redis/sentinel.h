/*
 * redis_sentinel: which server is the master, asked of Sentinels and followed (Redis documentation, "Sentinel client spec").
 *
 * Stays connected to all of them: the first to publish +switch-master is believed. One is asked; when that one is lost, or what it said does
 * not hold, the next.
 */
#ifndef PATTERND_REDIS_SENTINEL_H
#define PATTERND_REDIS_SENTINEL_H

#include <stdbool.h>

#include "redis/url.h"

/* `found` is called with each address that a Sentinel tells, also when it is the same again. Borrows `from`. False without memory. */
bool sentinel_open(const struct redis_urls *from, void (*found)(struct text host, long port));
void sentinel_close(void);

/* The master that was told of does not serve: another Sentinel is asked soon, however often this is called. */
void sentinel_refresh(void);

/* Writes what was gathered; once a turn. */
void sentinel_flush(void);

/* What went wrong last, for a person. */
const char *sentinel_trouble(void);

#endif
