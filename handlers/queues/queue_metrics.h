/*
 * queue_metrics: the counts and figures of single queues, which --metrics-names queues:GLOB
 * selects. It is on by default.
 */
#ifndef PATTERND_QUEUE_METRICS_H
#define PATTERND_QUEUE_METRICS_H

#include "common/handler.h"

enum queue_event { QUEUE_SENT, QUEUE_RECEIVED, QUEUE_ACKNOWLEDGED, QUEUE_REJECTED, QUEUE_DUPLICATE };

/* Counts `n` events. A replay is not counted, since its events happened before. */
void queue_metrics_count(const struct request *req, struct text queue, enum queue_event event, size_t n);

/*
 * Call it when a client asks for messages of the queue. The figures of the queue are measured from
 * then on, even if it is empty.
 */
void queue_metrics_seen(struct text queue);

void queue_metrics_open(void);

#endif
