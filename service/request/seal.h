/*
 * seal: what Redis keeps of a request instead of its secrets: digests, and tokens that only the
 * request's Idempotency-Key opens.
 */
#ifndef PATTERND_SEAL_H
#define PATTERND_SEAL_H

#include "core/text.h"

struct request;

/* SHA-256 as 64 hex digits, in the request's arena. */
struct text seal_digest(struct request *req, struct text bytes);

/* What its Idempotency-Key is scoped to: operation, path, key and caller. Only with a key. */
struct text seal_scope(struct request *req);

/*
 * A digest of what distinguishes requests with the same Idempotency-Key: the body, and the texts in
 * headers of the operation's own, such as Lock-Token. They are inputs as members of the body are.
 */
struct text seal_request(struct request *req);

/*
 * Masks 32 hex digits with the request's Idempotency-Key (XOR with a digest of it and its scope),
 * so that what Redis keeps for a replay is of use only to a client that presents the key. Masking
 * twice restores them. Without a key it returns its input.
 */
struct text seal_mask(struct request *req, struct text hex32);

#endif
