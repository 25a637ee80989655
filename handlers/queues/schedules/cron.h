/*
 * cron: the five fields of crontab(5), as Debian's cron reads them: minute, hour, day of month,
 * month, day of week; and its names, such as @daily. The day fields also have L, W, # and ?, which
 * Quartz introduced, as the Open Cron Pattern Specification 1.3 describes them
 * (https://github.com/open-source-cron/ocps). Pure: it must not know a clock or a time zone.
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
 *
 * If a day field has L, W or #, more follows: 31 days counted from the last of the month (L is the
 * first, L-1 the second); 31 days of the month of which the nearest day from Monday to Friday
 * matches (W), and 31 counted from the last (LW, L-1W); and for each of 7 days of the week its
 * first to fifth in the month (#) and its last (L).
 */
enum {
	CRON_MINUTES = 60,
	CRON_HOURS = 24,
	CRON_DAYS = 31,
	CRON_MONTHS = 12,
	CRON_WEEKDAYS = 7,
	CRON_MASK_LEN = CRON_MINUTES + CRON_HOURS + CRON_DAYS + CRON_MONTHS + CRON_WEEKDAYS + 2,
	CRON_OF_WEEKDAY = 6,
	CRON_MASK_MOST = CRON_MASK_LEN + 3 * CRON_DAYS + CRON_WEEKDAYS * CRON_OF_WEEKDAY,
	CRON_WHY_BYTES = 200,
};

/*
 * Returns false if the expression is invalid or matches no day of any year; `why` is then the
 * detail of the problem, without its subject.
 */
bool cron_parse(struct text expression, char mask[CRON_MASK_MOST + 1], char why[CRON_WHY_BYTES]);

#endif
