/*
 * zone_data: the IANA time zone database of this machine, in the folder of --zoneinfo. Reads it
 * each time, so that an update of the system counts at once; its files have some KiB and are in the
 * memory of the system. Knows no schedule.
 */
#ifndef PATTERND_ZONE_DATA_H
#define PATTERND_ZONE_DATA_H

#include "core/arena.h"
#include "core/tzif.h"

/* Such as 2025b, in the arena; absent where the database is missing or does not name one. */
struct text zone_data_version(struct arena *a);

/*
 * A zone by its name. NULL: `why` has what is wrong with the name or the database, for people, as
 * the end of a sentence that begins with the field.
 */
struct tzif *zone_data_read(struct arena *a, struct text name, struct text *why);

#endif
