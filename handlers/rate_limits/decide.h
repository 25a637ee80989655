/* ratelimit_decide: asks Redis for a decision, for a request whose policies are known. */
#ifndef PATTERND_DECIDE_H
#define PATTERND_DECIDE_H

#include "rate_limits/limit.h"

/* Decides and answers. Policies and keys must be known. */
void ratelimit_decide(struct request *req);

/*
 * Decides without Redis, in place of a 5xx problem: grants if all policies fail open, else returns
 * false.
 */
bool ratelimit_degrade(struct request *req, enum problem p, enum effect effect);

#endif
