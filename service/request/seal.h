/*
 * seal: what Redis stores in place of a request's secrets: digests, and tokens that only the
 * request's Idempotency-Key opens. It must not know Redis.
 */
#ifndef PATTERND_SEAL_H
#define PATTERND_SEAL_H

#include "core/text.h"

struct request;

/* Returns SHA-256 as 64 hex digits, in the request's arena. */
struct text seal_digest(struct request *req, struct text bytes);

/*
 * Returns the scope of the Idempotency-Key: operation, path, key and caller. The request must have
 * a key.
 */
struct text seal_scope(struct request *req);

/*
 * Returns a digest of what distinguishes requests with the same Idempotency-Key: the body, and the
 * headers that are inputs of the operation.
 */
struct text seal_request(struct request *req);

/*
 * Masks 32 hex digits with the request's Idempotency-Key (XOR with a digest of the key and its
 * scope). So what Redis stores for a replay is of use only to a client that presents the key.
 * Masking twice restores the digits. Without a key it returns its input.
 */
struct text seal_mask(struct request *req, struct text hex32);

#endif
