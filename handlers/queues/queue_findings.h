/*
 * queue_findings: how the deliveries of a queue have ended recently, and what needs a person. It
 * must not know settings.
 */
#ifndef PATTERND_QUEUE_FINDINGS_H
#define PATTERND_QUEUE_FINDINGS_H

#include "common/handler.h"

/*
 * Returns how many deliveries failed, or messages wait for another try, if the work of the queue
 * fails, and not only one message; otherwise 0. `r` is as below.
 */
int64_t queue_findings_failing(const struct reply *r);

/* Writes the members from `recent` to `findings`. `r` is a reply of lua/queues/queue_get.lua. */
void queue_findings_out(struct json_out *o, const struct request *req, struct text name, const struct reply *r);

#endif
