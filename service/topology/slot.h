/*
 * slot: which of a Cluster's 16384 slots a key belongs to. Pure.
 *
 * The slot is CRC16 (XMODEM) of the key, or of its hash tag: the text between the first { and the
 * next }, unless it is empty (Redis Cluster specification, "Hash tags").
 */
#ifndef PATTERND_TOPOLOGY_SLOT_H
#define PATTERND_TOPOLOGY_SLOT_H

#include "core/text.h"

enum { REDIS_SLOTS = 16384 };

int slot_of(struct text key);

/*
 * Returns a hash tag of at most 4 bytes: the first of the numbers 0, 1, 2, ... in base 36 that is
 * in this slot. It is static. It must never change, since keys in Redis have it in their names.
 */
const char *slot_tag(int slot);

#endif
