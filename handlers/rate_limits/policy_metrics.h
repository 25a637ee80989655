/*
 * policy_metrics: the counts of single policies, which --metrics-names policies:GLOB selects. It
 * must not know how a decision is made.
 */
#ifndef PATTERND_POLICY_METRICS_H
#define PATTERND_POLICY_METRICS_H

#include "rate_limits/limit.h"

/* Counts a decision for each policy that a check of the request names. */
void policy_metrics_decided(const struct request *req, const struct limit_request *limits);

void policy_metrics_open(void);

#endif
