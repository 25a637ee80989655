/*
 * zone_data: the IANA time zone database of this machine, in the folder of --zoneinfo. It is read
 * each time, so that an update of the system takes effect at once; its files are small and in the
 * page cache. It must not know schedules.
 */
#ifndef PATTERND_ZONE_DATA_H
#define PATTERND_ZONE_DATA_H

#include "core/arena.h"
#include "core/tzif.h"

/*
 * Returns the version, such as 2025b, in the arena; absent if the database is missing or has none.
 */
struct text zone_data_version(struct arena *a);

/*
 * Returns the zone with this name. NULL: `why` has what is wrong with the name or the database, as
 * the end of a sentence that begins with the field.
 */
struct tzif *zone_data_read(struct arena *a, struct text name, struct text *why);

#endif
