/*
 * tzif: a time zone's changes of the clock, as a file of the IANA time zone database has them
 * (TZif, RFC 9636). Pure: knows no folder and no clock. A file is input like any other: one that
 * breaks a rule of the format that matters here is refused, and nothing of it is used.
 */
#ifndef PATTERND_TZIF_H
#define PATTERND_TZIF_H

#include <stddef.h>

#include "core/tz_rule.h"

/* zic writes at most 2000 changes. */
enum { TZIF_BYTES_MOST = 65536, TZIF_CHANGES_MOST = 2000 };

struct tzif {
	int32_t first_offset_s; /* before the first change */
	size_t count;
	struct tz_change changes[TZIF_CHANGES_MOST]; /* ascending */
	struct tz_rule rule;                         /* its later changes follow the last one */
};

/* NULL, or what is wrong with the file, for people. */
const char *tzif_read(struct tzif *zone, struct text file);

/*
 * Leaves out what happened until `since`, and the last changes as far as the rule makes them. So a
 * file that lists the changes up to 2037 becomes equal to one that leaves them to its rule. From
 * `until` on, the rule alone holds, behind a change to its standard time.
 */
void tzif_shorten(struct tzif *zone, int64_t since, int64_t until);

#endif
