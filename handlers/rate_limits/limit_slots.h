/* limit_slots: one decision over limits in several slots of a Cluster. */
#ifndef PATTERND_LIMIT_SLOTS_H
#define PATTERND_LIMIT_SLOTS_H

#include "rate_limits/limit.h"

void limit_slots_decide(struct request *req, const struct slots *slots);

#endif
