#include "queues/schedules/zone_shifts.h"

#include <inttypes.h>
#include <stdio.h>

enum { CHANGE_BYTES = 32, RULE_BYTES = 128 };

static size_t put_day(char *at, size_t room, const struct tz_day *d)
{
	bool is_month = d->kind == 'M';

	return (size_t)snprintf(at, room, " %c%d.%d.%d/%" PRId32, d->kind, is_month ? d->month : d->day, d->week,
				is_month ? d->day : 0, d->utc_s);
}

struct text zone_shifts(struct arena *a, struct tzif *zone, int64_t since_s)
{
	tzif_shorten(zone, since_s, ZONE_SHIFTS_UNTIL_S);
	size_t room = CHANGE_BYTES * (zone->count + 1) + RULE_BYTES, len = 0;
	char *text = arena_alloc(a, room);

	if (!text)
		return (struct text){ 0 };
	len += (size_t)snprintf(text, room, "%" PRId32, zone->first_offset_s);
	for (size_t i = 0; i < zone->count; i++)
		len += (size_t)snprintf(text + len, room - len, " %" PRId64 ":%" PRId32, zone->changes[i].at,
					zone->changes[i].offset_s);
	if (zone->rule.changes) {
		len += (size_t)snprintf(text + len, room - len, ";%" PRId32 " %" PRId32, zone->rule.standard_s,
					zone->rule.summer_s);
		len += put_day(text + len, room - len, &zone->rule.begins);
		len += put_day(text + len, room - len, &zone->rule.ends);
	}
	return (struct text){ text, len };
}
