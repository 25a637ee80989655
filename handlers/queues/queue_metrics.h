/*
 * queue_metrics: what --metrics-names queues:GLOB, on by default, counts and measures of single
 * queues.
 */
#ifndef PATTERND_QUEUE_METRICS_H
#define PATTERND_QUEUE_METRICS_H

#include "common/handler.h"

enum queue_event { QUEUE_SENT, QUEUE_RECEIVED, QUEUE_ACKNOWLEDGED, QUEUE_REJECTED };

/* `n` of it happened now; not of a replay, which happened before. */
void queue_metrics_count(const struct request *req, struct text queue, enum queue_event event, size_t n);

/* A client asks for its messages, also when there are none: its figures may matter. */
void queue_metrics_seen(struct text queue);

void queue_metrics_open(void);

#endif
