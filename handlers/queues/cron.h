/*
 * cron: the five fields of crontab(5), as Debian's cron reads them: minute, hour, day of month,
 * month, day of week; and its names, such as @daily. Pure: it must not know a clock or a time zone.
 * lua/queues/schedules/lib_queue_recurrence.lua finds the instants that match.
 */
#ifndef PATTERND_CRON_H
#define PATTERND_CRON_H

#include <stdbool.h>

#include "core/text.h"

/*
 * A mask has '1' for each value that matches, '0' for the others: 60 minutes, 24 hours, 31 days of
 * the month from 1, 12 months from 1, 7 days of the week from Sunday. Then follows '1' if a day
 * matches by either of the day fields, '0' if it must match both; and '1' if the minute or the hour
 * is `*` or has a step. In the last case, a time that occurs twice when clocks are set back is due
 * both times.
 */
enum {
	CRON_MINUTES = 60,
	CRON_HOURS = 24,
	CRON_DAYS = 31,
	CRON_MONTHS = 12,
	CRON_WEEKDAYS = 7,
	CRON_MASK_LEN = CRON_MINUTES + CRON_HOURS + CRON_DAYS + CRON_MONTHS + CRON_WEEKDAYS + 2,
	CRON_WHY_BYTES = 160,
};

/*
 * Returns false if the expression is invalid or matches no day of any year; `why` is then the
 * detail of the problem, without its subject.
 */
bool cron_parse(struct text expression, char mask[CRON_MASK_LEN + 1], char why[CRON_WHY_BYTES]);

#endif
