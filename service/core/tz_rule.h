/*
 * tz_rule: how a clock changes each year, for ever, in the form of POSIX's TZ that ends a file of
 * the time zone database, such as CET-1CEST,M3.5.0,M10.5.0/3. Pure: it must not know a file or a
 * clock.
 */
#ifndef PATTERND_TZ_RULE_H
#define PATTERND_TZ_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

/* The day of a year on which a clock changes. */
struct tz_day {
	char kind;     /* 'M', 'J' or 'D' */
	int month;     /* M: 1 to 12 */
	int week;      /* M: 1 to 5; 5 is the last */
	int day;       /* M: of the week, 0 is Sunday. J: 1 to 365, without 29 February. D: 0 to 365 */
	int32_t utc_s; /* seconds after midnight UTC of that date */
};

struct tz_rule {
	bool changes;                 /* false: standard time stays */
	int32_t standard_s, summer_s; /* seconds that clocks are ahead of UTC */
	struct tz_day begins, ends;   /* days on which summer time begins and ends */
};

/* A change: from `at` on, in seconds since 1970 UTC, clocks are `offset_s` ahead of UTC. */
struct tz_change {
	int64_t at;
	int32_t offset_s;
};

/* Returns false if the text is not a rule of RFC 9636. */
bool tz_rule_read(struct tz_rule *rule, struct text text);

/*
 * For a rule with `changes`: the latest change that is not after `at`, and the first one after it.
 */
struct tz_change tz_rule_latest(const struct tz_rule *rule, int64_t at);
struct tz_change tz_rule_next(const struct tz_rule *rule, int64_t at);

#endif
