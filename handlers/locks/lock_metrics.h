/*
 * lock_metrics: the counts and figures of single locks, which --metrics-names locks:GLOB selects.
 */
#ifndef PATTERND_LOCK_METRICS_H
#define PATTERND_LOCK_METRICS_H

#include "common/handler.h"

/*
 * Both note how an acquisition ended for its names. A replay is not counted, since its acquisition
 * was counted before.
 */
void lock_metrics_acquired(const struct request *req, const struct text *names, size_t count);
void lock_metrics_refused(const struct request *req, struct text name);

void lock_metrics_open(void);

#endif
