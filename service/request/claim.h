/*
 * claim: the Idempotency-Keys of requests that wait. A second request with such a key cannot wait beside the first, nor be answered as it
 * was: that has no answer yet.
 */
#ifndef PATTERND_CLAIM_H
#define PATTERND_CLAIM_H

#include <stdbool.h>

#include "core/text.h"

struct request;

struct claim;

/* False: a request with the same Idempotency-Key waits already, which was answered. */
bool claim_is_free(struct request *req);

/* Returns new; NULL without memory. */
struct claim *claim_new(struct request *req);
/* Frees it; NULL is none. */
void claim_free(struct claim *c);

#endif
