/* workers: the workers that receive from a queue. */
#ifndef PATTERND_QUEUE_WORKERS_H
#define PATTERND_QUEUE_WORKERS_H

#include "common/handler.h"

/*
 * Notes that a worker (percent-encoded; empty: it has no name) asks for messages, unless it was
 * noted within a second. A failure is not reported.
 */
void queue_worker_note(struct request *req, struct text queue, struct text worker);

#endif
