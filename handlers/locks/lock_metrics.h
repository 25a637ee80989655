/* lock_metrics: what --metrics-names locks:GLOB counts and measures of single locks. */
#ifndef PATTERND_LOCK_METRICS_H
#define PATTERND_LOCK_METRICS_H

#include "common/handler.h"

/* How an acquisition ended for one of its names; not of a replay, which ended before. */
void lock_metrics_acquired(const struct request *req, const struct text *names, size_t count);
void lock_metrics_refused(const struct request *req, struct text name);

void lock_metrics_open(void);

#endif
