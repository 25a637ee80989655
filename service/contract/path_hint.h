/*
 * path_hint: finds the operation that an unknown path or method probably means. Pure.
 *
 * It compares the segments of the known paths: one segment may be misspelled, missing or
 * superfluous. A superfluous segment is the verb of an operation (POST /locks/x/acquire), or a name
 * that belongs in the query (/geo/shops/nearby).
 */
#ifndef PATTERND_PATH_HINT_H
#define PATTERND_PATH_HINT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

enum { PATH_HINT_BYTES = 1024 };

/*
 * Writes a hint such as "POST /queues/{name}/messages" to `buffer`. Returns NULL if nothing is
 * near. `exists`: only the method is wrong, so other paths count only if they have that method.
 */
const char *path_hint(const char *method, const struct text *segments, size_t count, bool exists,
		      char buffer[PATH_HINT_BYTES]);

#endif
