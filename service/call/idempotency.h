/*
 * idempotency: the key and the fingerprint of a request's idempotency record, which
 * lua/lib/recorded.lua writes. It must not know operations.
 */
#ifndef PATTERND_IDEMPOTENCY_H
#define PATTERND_IDEMPOTENCY_H

#include "core/text.h"

struct request;

/*
 * Returns the record's key. It is made from the scope of the Idempotency-Key, and not from the
 * body, so that the same key with another body finds the record. In a Cluster it is in the slot of
 * `key`. A part of a request has its own key; an absent part means the whole request.
 */
struct text idempotency_record_key(struct request *req, struct text key, struct text part);

/* Returns seal_request, a blank, and for how many ms the record is kept at most. */
struct text idempotency_fingerprint(struct request *req);

#endif
