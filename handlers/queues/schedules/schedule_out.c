#include "queues/schedules/schedule_out.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/day.h"

enum { SECOND_MS = 1000, MINUTE_S = 60, HOUR_S = 3600, LOCAL_TIME_BYTES = 48 };

static void out_above_0(struct json_out *o, const char *key, const struct reply *s, size_t i)
{
	out_int_or_null(o, key, reply_int(s, i) > 0, reply_int(s, i));
}

void schedule_out(struct json_out *o, const struct reply *s)
{
	out_text(o, "id", reply_text(s, QUEUE_SCHEDULE_ID));
	out_above_0(o, "every_ms", s, QUEUE_SCHEDULE_EVERY_MS);
	out_text_or_null(o, "cron", reply_text(s, QUEUE_SCHEDULE_CRON));
	out_text(o, "time_zone", reply_text(s, QUEUE_SCHEDULE_TIME_ZONE));
	out_text_or_null(o, "time_zone_version", reply_text(s, QUEUE_SCHEDULE_TIME_ZONE_VERSION));
	out_above_0(o, "start_at_ms", s, QUEUE_SCHEDULE_START_AT_MS);
	out_above_0(o, "end_at_ms", s, QUEUE_SCHEDULE_END_AT_MS);
	out_above_0(o, "limit", s, QUEUE_SCHEDULE_LIMIT);
	out_int(o, "jitter_ms", reply_int(s, QUEUE_SCHEDULE_JITTER_MS));
	out_int(o, "priority", reply_int(s, QUEUE_SCHEDULE_PRIORITY));
	out_text_or_null(o, "group", reply_text(s, QUEUE_SCHEDULE_GROUP));
	out_text(o, "overlap", reply_text(s, QUEUE_SCHEDULE_OVERLAP));
	out_int(o, "next_at_ms", reply_int(s, QUEUE_SCHEDULE_NEXT_AT_MS));
	out_above_0(o, "last_at_ms", s, QUEUE_SCHEDULE_LAST_AT_MS);
	out_int(o, "sent", reply_int(s, QUEUE_SCHEDULE_SENT));
	out_int(o, "missed", reply_int(s, QUEUE_SCHEDULE_MISSED));
	out_int(o, "skipped", reply_int(s, QUEUE_SCHEDULE_SKIPPED));
}

/*
 * Writes RFC 3339, with milliseconds if they are not 0. The seconds of an offset are left out: no
 * zone has had them since 1972.
 */
static void out_local_time(struct json_out *o, int64_t at_ms, int offset_s)
{
	int64_t local_ms = at_ms + (int64_t)offset_s * SECOND_MS, day = day_of_ms(local_ms);
	int of_day_ms = (int)(local_ms - day * DAY_MS), of_day_s = of_day_ms / SECOND_MS;
	int minutes = abs(offset_s) / MINUTE_S;
	char date[DAY_TEXT_SIZE], fraction[8] = "", text[LOCAL_TIME_BYTES];

	day_print(day, date);
	if (of_day_ms % SECOND_MS)
		snprintf(fraction, sizeof(fraction), ".%03d", of_day_ms % SECOND_MS);
	snprintf(text, sizeof(text), "%sT%02d:%02d:%02d%s%c%02d:%02d", date, of_day_s / HOUR_S,
		 of_day_s % HOUR_S / MINUTE_S, of_day_s % MINUTE_S, fraction, offset_s < 0 ? '-' : '+',
		 minutes / MINUTE_S, minutes % MINUTE_S);
	out_string(o, "local_time", text);
}

/* Reads a list of "at_ms:offset_s", separated by blanks. */
static void out_next(struct json_out *o, struct text next)
{
	out_array(o, "next");
	while (next.len) {
		struct text one = text_cut(&next, ' ');
		char *end;
		long long at_ms = strtoll(one.at, &end, 10);
		int offset_s = *end == ':' ? (int)strtol(end + 1, NULL, 10) : 0;
		out_object(o, NULL);
		out_int(o, "at_ms", at_ms);
		out_local_time(o, at_ms, offset_s);
		out_close(o);
	}
	out_close(o);
}

void schedule_answer(struct request *req, int status, const struct reply *s)
{
	struct json_out *o = answer_begin(req, status);
	struct text body = reply_text(s, QUEUE_SCHEDULE_FULL_CONTENT), headers = text_cut(&body, '\t');

	schedule_out(o, s);
	out_raw(o, "body", body);
	if (headers.len)
		out_raw(o, "headers", arena_copy(&req->arena, headers.at, headers.len)); /* JSON is read up to a NUL */
	out_next(o, reply_text(s, QUEUE_SCHEDULE_FULL_NEXT));
	answer_end(req);
}
