/*
 * tzif: the clock changes of a time zone, from a file of the IANA time zone database (TZif, RFC
 * 9636). Pure: it must not know a folder or a clock. The file is untrusted: if it breaks a rule of
 * the format that matters here, it is refused, and nothing in it is used.
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
	struct tz_change changes[TZIF_CHANGES_MOST]; /* in ascending order */
	struct tz_rule rule;                         /* makes the changes after the last listed one */
};

/* Returns NULL, or what is wrong with the file. */
const char *tzif_read(struct tzif *zone, struct text file);

/*
 * Drops the changes before `since`, and the last changes as far as the rule makes them. So a file
 * that lists the changes up to 2037 becomes equal to one that leaves them to its rule. From `until`
 * on, only the rule applies, after a change to its standard time.
 */
void tzif_shorten(struct tzif *zone, int64_t since, int64_t until);

#endif
