/*
 * json_tree: JSON text (RFC 8259) from outside as a tree, or only checked.
 *
 * A tree lives in the arena of its request. When memory runs out, reading fails. The limits: 32
 * levels, no name twice in an object, no NUL in a name, strings of well-formed UTF-8. What is
 * opaque keeps its bytes, and its numbers are never converted.
 */
#ifndef PATTERND_JSON_TREE_H
#define PATTERND_JSON_TREE_H

#include <stdint.h>

#include "core/arena.h"
#include "core/text.h"

/* 5 is an integer; 5.0, 5e0 and integers beyond 64 bits are reals. */
enum json_kind {
	JSON_IS_NULL,
	JSON_IS_BOOL,
	JSON_IS_INTEGER,
	JSON_IS_REAL,
	JSON_IS_TEXT,
	JSON_IS_ARRAY,
	JSON_IS_OBJECT,
	JSON_IS_OPAQUE /* checked; `text` is the bytes as they were sent, in the text that was read */
};

struct json {
	enum json_kind kind;
	struct text key;         /* of a member of an object */
	const struct json *next; /* item or member of the same array or object, in the order of the text */
	union {
		bool truth;
		int64_t integer;
		double real;
		struct text text;
		struct {
			const struct json *first;
			size_t count;
		};
	};
};

/* What is wrong with a text, in words; `why` is NULL when memory ran out. */
struct json_error {
	const char *why;
	size_t line, column; /* from 1, in characters */
};

/*
 * The place of a member (of an item: no key) of what is at `parent`, in the terms of the caller.
 * Sets *opaque where the value is only to be checked.
 */
typedef const void *json_place(const void *parent, struct text key, bool *opaque);

/*
 * Reads one value with nothing but white space around it; its place is `root`. place_of may be
 * NULL.
 * Returns NULL when it cannot be read: *error has the reason.
 */
const struct json *json_tree_read(struct arena *arena, struct text text, json_place *place_of, const void *root,
				  struct json_error *error);

/*
 * Whether the text is JSON that json_tree_read accepts. The arena is as before, but may have
 * failed.
 */
bool json_is_valid(struct arena *arena, struct text text);

/* The member of an object; NULL when it is none, or has none of that name. */
const struct json *json_tree_member(const struct json *object, const char *key);

/* The text of a member that is a string; absent when there is none. */
struct text json_tree_string(const struct json *object, const char *key);

#endif
