/*
 * slot: which of a Cluster's 16384 slots a key belongs to. Pure.
 *
 * CRC16 (XMODEM) of the key, or of its hash tag: the text between the first { and the next },
 * unless it is empty (Redis Cluster specification, "Hash tags").
 */
#ifndef PATTERND_TOPOLOGY_SLOT_H
#define PATTERND_TOPOLOGY_SLOT_H

#include "core/text.h"

enum { REDIS_SLOTS = 16384 };

int slot_of(struct text key);

/*
 * A hash tag of that slot: of 0, 1, 2, ... in base 36 the first that lies there; at most 4 bytes.
 * Static; it never changes, since keys have it in their names.
 */
const char *slot_tag(int slot);

#endif
