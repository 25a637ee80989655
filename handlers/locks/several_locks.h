/* several_locks: acquires locks that lie in several slots of a Cluster. */
#ifndef PATTERND_SEVERAL_LOCKS_H
#define PATTERND_SEVERAL_LOCKS_H

#include "locks/lock_call.h"

/* Copies `given`. */
void several_locks_acquire(struct request *req, const struct lock_acquisition *given, const struct slots *slots);

#endif
