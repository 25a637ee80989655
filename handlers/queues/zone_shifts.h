/*
 * zone_shifts: how the clocks of a time zone change, as a schedule keeps it. The scripts find the
 * instants of a schedule with it alone (lua/queues/schedules/lib_queue_recurrence.lua), so that
 * they are the same over daemons with different time zone data. The form, seconds throughout:
 *
 *	offset[ at:offset]...[;standard summer begins ends]
 *
 * That is: the offset from UTC in 2020, each later change, and the rule behind the last one: two
 * offsets, and the days on which summer time begins and ends each year, as M3.5.0/3600: the fifth
 * (the last) Sunday of March, 3600 s after the midnight of UTC; J60.0.0 counts days without 29
 * February from 1, D59.0.0 all days from 0. Of 600 zones, 570 take 60 bytes or less. Where clocks
 * follow the Moon, in Morocco and Gaza, the database lists the years up to 2087; of these, the text
 * has those before 2060, in 1.8 KiB at most.
 */
#ifndef PATTERND_ZONE_SHIFTS_H
#define PATTERND_ZONE_SHIFTS_H

#include "core/arena.h"
#include "core/tzif.h"

/* No schedule has an earlier instant; the same in all daemons, so that their texts are, too. */
#define ZONE_SHIFTS_SINCE_S INT64_C(1577836800) /* 2020-01-01 */

#define ZONE_SHIFTS_UNTIL_S INT64_C(2840140800) /* 2060-01-01 */

/* Shortens the zone (tzif_shorten). Absent without memory. */
struct text zone_shifts(struct arena *a, struct tzif *zone, int64_t since_s);

#endif
