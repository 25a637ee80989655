/*
 * model: RESP2 by its specification, independent of hiredis: which replies a stream of bytes holds.
 * Knows texts, numbers and arrays by a digest only.
 */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "redis/reply.h"

/*
 * The first reply of `bytes` and how many bytes it has: 0 when it is not whole, -1 when it is none.
 */
long model_reply(struct text bytes, uint64_t *digest);

/* The same digest of a reply that was read. */
uint64_t model_digest(const struct reply *reply);

#endif
