/*
 * zone_shifts: the clock changes of a time zone, in the form in which a schedule stores them.
 *
 * The scripts compute the instants of a schedule from this text alone
 * (lua/queues/schedules/lib_queue_recurrence.lua), so that daemons with different time zone data
 * agree. The text has this form, with all times in seconds:
 *
 *	offset[ at:offset]...[;standard summer begins ends]
 *
 * It has the offset from UTC in 2020, each later change, and the rule that follows the last change:
 * two offsets, and the days on which summer time begins and ends each year. M3.5.0/3600 is the
 * fifth (the last) Sunday of March, 3600 s after midnight UTC. J60.0.0 counts days from 1 without
 * 29 February, D59.0.0 counts all days from 0. For 570 of 600 zones, the text has 60 bytes or less.
 * For zones whose clocks follow the Moon (Morocco, Gaza), the database lists the changes up to
 * 2087; the text has those before 2060, in 1.8 KiB at most.
 */
#ifndef PATTERND_ZONE_SHIFTS_H
#define PATTERND_ZONE_SHIFTS_H

#include "core/arena.h"
#include "core/tzif.h"

/*
 * No schedule has an earlier instant. All daemons use the same instant, so that their texts agree.
 */
#define ZONE_SHIFTS_SINCE_S INT64_C(1577836800) /* 2020-01-01 */

#define ZONE_SHIFTS_UNTIL_S INT64_C(2840140800) /* 2060-01-01 */

/* Returns the text, and shortens the zone (tzif_shorten). Absent if memory ran out. */
struct text zone_shifts(struct arena *a, struct tzif *zone, int64_t since_s);

#endif
