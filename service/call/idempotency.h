/*
 * idempotency: the key and the fingerprint of a request's idempotency record
 * (lua/lib/idempotency.lua writes it).
 */
#ifndef PATTERND_IDEMPOTENCY_H
#define PATTERND_IDEMPOTENCY_H

#include "core/text.h"

struct request;

/*
 * The record's key. Its name is made of the scope of the Idempotency-Key, but not of the body, so
 * that the same key with another body finds it. In a Cluster it lies in the slot of `key`. A part
 * of a request has its own key; an absent part is the whole.
 */
struct text idempotency_record_key(struct request *req, struct text key, struct text part);

/* seal_request; behind it for how long a record is kept. */
struct text idempotency_fingerprint(struct request *req);

#endif
