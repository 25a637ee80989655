/* lock_slots: acquires locks that are in several slots of a Cluster. */
#ifndef PATTERND_LOCK_SLOTS_H
#define PATTERND_LOCK_SLOTS_H

#include "locks/lock_call.h"

/* Copies `given`. */
void lock_slots_acquire(struct request *req, const struct lock_acquisition *given, const struct slots *slots);

#endif
