/*
 * schedule_out: writes a schedule as the API returns it, from the forms that scripts return
 * (lua/queues/schedules/lib_queue_schedule.lua).
 */
#ifndef PATTERND_SCHEDULE_OUT_H
#define PATTERND_SCHEDULE_OUT_H

#include "common/handler.h"

/* Writes the members of a queue_schedule, which lists have, into an open object. */
void schedule_out(struct json_out *o, const struct reply *s);

/* Answers with all members, from a queue_schedule_full. */
void schedule_answer(struct request *req, int status, const struct reply *s);

#endif
