/*
 * model: finds the replies in a stream of bytes by the specification of RESP2, without hiredis. It
 * represents texts, numbers and arrays by a digest only.
 */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "redis/reply.h"

/*
 * Reads the first reply of `bytes`. Returns its length in bytes, 0 if it is not whole, and -1 if it
 * is not a reply.
 */
long model_reply(struct text bytes, uint64_t *digest);

/* The same digest for a reply that the daemon has read. */
uint64_t model_digest(const struct reply *reply);

#endif
