/*
 * claim: the Idempotency-Keys of requests that wait. A second request with such a key cannot wait beside the first, nor be answered as it
 * was: that has no answer yet.
 */
#ifndef PATTERND_CLAIM_H
#define PATTERND_CLAIM_H

#include <stdbool.h>

#include "text.h"

struct request;

/* Lives inside a wait; zero at first. */
struct claim {
	struct request *req; /* (ref) it may move: wait.c keeps this up to date */
	struct text scope;   /* owned */
	struct claim *next;
};

/* False: a request with the same Idempotency-Key waits already, which was answered. */
bool claim_is_free(struct request *req);

/* False without memory. */
bool claim_make(struct claim *c, struct request *req);
/* Also one that was never made. */
void claim_drop(struct claim *c);

#endif
