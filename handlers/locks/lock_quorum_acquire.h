/*
 * lock_quorum_acquire: POST /locks/{name} on a quorum of servers: two rounds per try, and the tries
 * of a request that waits.
 */
#ifndef PATTERND_LOCK_QUORUM_ACQUIRE_H
#define PATTERND_LOCK_QUORUM_ACQUIRE_H

#include "operations.h"

void lock_quorum_acquire(struct request *req, const struct lock_acquire_input *in);

#endif
