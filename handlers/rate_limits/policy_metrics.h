/* policy_metrics: what --metrics-names policies:GLOB counts of single policies. */
#ifndef PATTERND_POLICY_METRICS_H
#define PATTERND_POLICY_METRICS_H

#include "rate_limits/limit.h"

/* The request was decided: each check that names a policy counts as a decision of that policy. */
void policy_metrics_decided(const struct request *req, const struct limit_request *limits);

void policy_metrics_open(void);

#endif
