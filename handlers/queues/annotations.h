/*
 * annotations: the texts that clients keep about a queue, in requests and answers. It must not know
 * other settings.
 */
#ifndef PATTERND_QUEUE_ANNOTATIONS_H
#define PATTERND_QUEUE_ANNOTATIONS_H

#include "call/call.h"
#include "json/out.h"

/* Adds the last arguments of lua/queues/queue_put.lua. A value that is absent removes its name. */
enum annotations_change { ANNOTATIONS_STAY, ANNOTATIONS_REPLACED, ANNOTATIONS_MERGED };
void annotations_call(struct request *req, struct call *c, enum annotations_change change, struct text_pairs given);

/* Writes the annotations, which begin at item `at` and are the last items. */
void annotations_out(struct json_out *o, const struct reply *r, size_t at);

#endif
