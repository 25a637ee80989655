/*
 * schedule_out: a schedule as the API returns it, of the shapes that the scripts return
 * (lua/queues/schedules/lib_queue_schedule.lua).
 */
#ifndef PATTERND_SCHEDULE_OUT_H
#define PATTERND_SCHEDULE_OUT_H

#include "common/handler.h"

/* Into an object: what each list shows, of a queue_schedule. */
void schedule_out(struct json_out *o, const struct reply *s);

/* All of a queue_schedule_full, as the answer. */
void schedule_answer(struct request *req, int status, const struct reply *s);

#endif
