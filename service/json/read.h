/*
 * read: JSON text (RFC 8259) from outside as a tree, or only checked.
 *
 * When memory runs out, reading fails. The limits: 32 levels, no name twice in an object, no NUL in
 * a name, strings of well-formed UTF-8. What is opaque keeps its bytes, and its numbers are never
 * converted.
 */
#ifndef PATTERND_JSON_READ_H
#define PATTERND_JSON_READ_H

#include "json/tree.h"

/* What is wrong with a text, in words; `why` is NULL when memory ran out. */
struct json_error {
	const char *why;
	size_t line, column; /* from 1, in characters */
};

/*
 * Returns the caller's place of a member, or of an item (without a key), of the value at `parent`.
 * Sets *opaque if the value is only to be checked.
 */
typedef const void *json_place(const void *parent, struct text key, bool *opaque);

/*
 * Reads one value with nothing but white space around it; its place is `root`. place_of may be
 * NULL.
 * Returns NULL when it cannot be read: *error has the reason.
 */
const struct json *json_read(struct arena *arena, struct text text, json_place *place_of, const void *root,
			     struct json_error *error);

/*
 * Reads what the daemon wrote itself, around values from outside: it may be eight levels deeper.
 * NULL: it cannot be read.
 */
const struct json *json_read_own(struct arena *arena, struct text text, json_place *place_of, const void *root);

/*
 * Whether the text is JSON that json_read accepts. The arena is as before, but may have
 * failed.
 */
bool json_read_is_valid(struct arena *arena, struct text text);
/* And still is within so many levels of others. */
bool json_read_is_valid_within(struct arena *arena, struct text text, unsigned levels);

#endif
