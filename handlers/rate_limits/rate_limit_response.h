/* ratelimit_answer: the answer to a decision: headers and body. */
#ifndef PATTERND_RATE_LIMIT_RESPONSE_H
#define PATTERND_RATE_LIMIT_RESPONSE_H

#include "rate_limits/limit.h"

/* Waits for room if the request may, else answers. */
void ratelimit_answer(struct request *req);

#endif
