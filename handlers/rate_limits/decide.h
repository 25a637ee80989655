/* ratelimit_decide: a request whose policies are known, to Redis and back. */
#ifndef PATTERND_DECIDE_H
#define PATTERND_DECIDE_H

#include "rate_limits/limit.h"

/* The policies and the keys are known: decides and answers. */
void ratelimit_decide(struct request *req);

/* The fallback without Redis, of 5xx: grants when all policies fail open. False: they do not. */
bool ratelimit_degrade(struct request *req, enum problem p, enum effect effect);

#endif
