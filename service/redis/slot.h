/*
 * redis_slot: which of a Cluster's 16384 slots a key lies in. Pure.
 *
 * CRC16 (XMODEM) of the key, or of what stands between its first { and the } after it when that is not empty: the Redis Cluster
 * specification, "Hash tags".
 */
#ifndef PATTERND_REDIS_SLOT_H
#define PATTERND_REDIS_SLOT_H

#include "core/text.h"

enum { REDIS_SLOTS = 16384 };

int redis_slot_of(struct text key);

#endif
