/*
 * json_tree: JSON text from outside into a tree (RFC 8259), and a part of it back into text.
 *
 * A tree lives in the arena of its request: nothing is freed by itself, and memory that runs out is an answer, not an abort. At most
 * 32 levels deep, no key twice in an object, no NUL in a key, integers within 64 bits, strings well-formed UTF-8.
 */
#ifndef PATTERND_JSON_TREE_H
#define PATTERND_JSON_TREE_H

#include <stdint.h>

#include "core/arena.h"
#include "core/text.h"

/* 5 is an integer, 5.0 and 5e0 are reals. */
enum json_kind {
	JSON_IS_NULL,
	JSON_IS_BOOL,
	JSON_IS_INTEGER,
	JSON_IS_REAL,
	JSON_IS_TEXT,
	JSON_IS_ARRAY,
	JSON_IS_OBJECT
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

/* What is wrong with a text, for a person; `why` is NULL when memory ran out instead. */
struct json_error {
	const char *why;
	size_t line, column; /* from 1, in characters */
};

/* Reads one value with nothing but white space around it. NULL: *error says why not. */
const struct json *json_tree_read(struct arena *arena, struct text text, struct json_error *error);

/* The member of an object; NULL when it is none, or has none of that name. */
const struct json *json_tree_member(const struct json *object, const char *key);

/* The text of a member that is a string; absent when there is none. */
struct text json_tree_string(const struct json *object, const char *key);

/* A value as JSON text in the arena; absent without memory (arena->failed is set then). */
struct text json_tree_text(struct arena *arena, const struct json *value);

#endif
