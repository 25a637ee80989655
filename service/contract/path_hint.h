/*
 * path_hint: finds the operation that an unknown path, a wrong method or an empty name probably
 * means. Pure.
 *
 * For an unknown path it compares the segments of the known paths: one segment may be misspelled,
 * missing or superfluous. A superfluous segment is the verb of an operation (POST
 * /locks/x/acquire), a name that belongs in the query (/geo/shops/nearby), or a name that belongs
 * in the body (/ratelimit/user:7). A word that other systems use for a segment (x-synonyms) counts
 * as a misspelling.
 */
#ifndef PATTERND_PATH_HINT_H
#define PATTERND_PATH_HINT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

struct operation;

enum { PATH_HINT_BYTES = 1024 };

/*
 * Writes a hint such as "POST /queues/{name}/messages" to `buffer`. Returns NULL if nothing is
 * near.
 */
const char *path_hint(const char *method, const struct text *segments, size_t count, char buffer[PATH_HINT_BYTES]);

/*
 * Suggests another path for a path that exists, but not with this method. `found` has the
 * operations of the path, at least one, and `last` is the last segment as given. The method is the
 * likeliest mistake, so only a path that differs little counts: its last segment is near, it has
 * one parameter more or less, or one word more after a name.
 */
const char *path_hint_method(const char *method, const struct operation *const *found, size_t found_count,
			     struct text last, char buffer[PATH_HINT_BYTES]);

/*
 * Suggests the path without the last parameter, whose value is empty because the path ends with a
 * slash. Returns NULL if the path does not end with a parameter, or if the shorter path does not
 * have the method.
 */
const char *path_hint_shorter(const struct operation *op, char buffer[PATH_HINT_BYTES]);

#endif
