/*
 * path_hint: which operation was probably meant by a path or method that does not exist.
 *
 * It is found by the segments of the known paths: one segment may be misspelled, missing or
 * superfluous. A superfluous segment is the verb of an operation (POST /locks/x/acquire), or a name
 * that belongs into the query (/geo/shops/nearby).
 */
#ifndef PATTERND_PATH_HINT_H
#define PATTERND_PATH_HINT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

enum { PATH_HINT_BYTES = 1024 };

/*
 * "POST /queues/{name}/messages" in `buffer`, or NULL when nothing is near. `exists`: only the
 * method is wrong, so that other paths count if they have it.
 */
const char *path_hint(const char *method, const struct text *segments, size_t count, bool exists,
		      char buffer[PATH_HINT_BYTES]);

#endif
