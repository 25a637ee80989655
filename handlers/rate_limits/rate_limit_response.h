/* ratelimit_answer: what was decided. */
#ifndef PATTERND_RATE_LIMIT_RESPONSE_H
#define PATTERND_RATE_LIMIT_RESPONSE_H

#include "rate_limits/limit.h"

/* Waits for room, or answers. */
void ratelimit_answer(struct request *req);

#endif
