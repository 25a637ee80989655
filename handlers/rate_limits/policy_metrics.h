/* policy_metrics: the counts of single policies, which --metrics-names policies:GLOB selects. */
#ifndef PATTERND_POLICY_METRICS_H
#define PATTERND_POLICY_METRICS_H

#include "rate_limits/limit.h"

/* Counts a decision for each policy that a check of the request names. */
void policy_metrics_decided(const struct request *req, const struct limit_request *limits);

/*
 * Counts deliveries of a queue that its policy, the first check, granted or refused: one decision
 * each.
 */
void policy_metrics_took(const struct limit_request *limits, int64_t granted, int64_t refused);

void policy_metrics_open(void);

#endif
