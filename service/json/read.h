/*
 * read: reads JSON text (RFC 8259) from outside as a tree, or only checks it. It must not know
 * fields.
 *
 * If memory runs out, reading fails. Limits: 32 levels, no name twice in an object, no NUL in a
 * name, strings of well-formed UTF-8. An opaque value keeps its bytes, and its numbers are never
 * converted.
 */
#ifndef PATTERND_JSON_READ_H
#define PATTERND_JSON_READ_H

#include "json/tree.h"

/* What is wrong with a text. `why` is NULL when memory ran out. */
struct json_error {
	const char *why;
	size_t line, column; /* from 1, in characters */
};

/*
 * A callback that returns the caller's place for a member, or for an item (without a key), of the
 * value at `parent`. It sets *opaque if the value is only to be checked.
 */
typedef const void *json_place(const void *parent, struct text key, bool *opaque);

/*
 * Reads one value, which may only have white space around it. Its place is `root`; place_of may be
 * NULL. Returns NULL if the text is invalid; *error then has the reason.
 */
const struct json *json_read(struct arena *arena, struct text text, json_place *place_of, const void *root,
			     struct json_error *error);

/*
 * Reads text that the daemon wrote itself around values from outside. It may be eight levels
 * deeper. NULL: it cannot be read.
 */
const struct json *json_read_own(struct arena *arena, struct text text, json_place *place_of, const void *root);

/*
 * Returns true if json_read accepts the text. The arena is unchanged, except that it may have
 * failed.
 */
bool json_read_is_valid(struct arena *arena, struct text text);
/* Does the same for a value that is placed `levels` levels deep in another one. */
bool json_read_is_valid_within(struct arena *arena, struct text text, unsigned levels);

#endif
