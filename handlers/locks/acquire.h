/* lock_acquire: acquires one lock, or several at once. */
#ifndef PATTERND_LOCK_ACQUIRE_H
#define PATTERND_LOCK_ACQUIRE_H

#include "locks/lock_call.h"

/*
 * Acquires the locks or waits for them, then calls `acquired`, or answers why not. Copies `given`.
 */
void lock_acquire_begin(struct request *req, const struct lock_acquisition *given);

#endif
