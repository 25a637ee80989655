/* record: where the answer to a request with an Idempotency-Key is kept, and whose it is (lua/lib/idempotency.lua writes it). */
#ifndef PATTERND_RECORD_H
#define PATTERND_RECORD_H

#include "core/text.h"

struct request;

/*
 * Its key: named by what the Idempotency-Key is scoped to, and by nothing of the body, so that the same key with another body finds it. In
 * a Cluster it lies in the slot of `key`.
 */
struct text record_key(struct request *req, struct text key);

/* What tells requests with the same Idempotency-Key apart. */
struct text record_fingerprint(struct request *req);

#endif
