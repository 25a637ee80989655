/*
 * tree: a JSON value as a tree, in the arena of its request. read.h makes it from text. It must not
 * know fields.
 */
#ifndef PATTERND_JSON_TREE_H
#define PATTERND_JSON_TREE_H

#include <stdint.h>

#include "core/arena.h"
#include "core/text.h"

/* 5 is an integer. 5.0, 5e0 and integers beyond 64 bits are reals. */
enum json_kind {
	JSON_IS_NULL,
	JSON_IS_BOOL,
	JSON_IS_INTEGER,
	JSON_IS_REAL,
	JSON_IS_TEXT,
	JSON_IS_ARRAY,
	JSON_IS_OBJECT,
	JSON_IS_OPAQUE /* checked only; `text` points to its bytes in the text that was read */
};

struct json {
	enum json_kind kind;
	struct text key;         /* the name of a member of an object */
	const struct json *next; /* the next item or member, in the order of the text */
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

/*
 * Returns the member of an object. NULL: the value is not an object, or has no member of that name.
 */
const struct json *json_tree_member(const struct json *object, const char *key);

/* Returns the text of a member that is a string; absent if it is not one. */
struct text json_tree_string(const struct json *object, const char *key);

/* Returns the integer of a member, or `absent` if it is not one. */
int64_t json_tree_int(const struct json *object, const char *key, int64_t absent);

/* Returns true if the member is true. */
bool json_tree_is_true(const struct json *object, const char *key);

/*
 * Returns 1 if two members of an object have the same name, else 0; -1 if memory to compare many
 * ran out.
 */
int json_tree_has_duplicate(struct arena *arena, const struct json *object);

#endif
