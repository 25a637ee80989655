/* several_limits: limits in several slots of a Cluster. */
#ifndef PATTERND_SEVERAL_LIMITS_H
#define PATTERND_SEVERAL_LIMITS_H

#include "rate_limits/limit.h"

void several_limits_decide(struct request *req, const struct slots *slots);

#endif
