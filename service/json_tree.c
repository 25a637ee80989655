/* json_tree: jansson's parser on a request's memory, and our writer for what it read; see json_tree.h. */
#include "json_tree.h"

#include <stdio.h>
#include <stdlib.h>

#include "budget.h"
#include "json_out.h"

enum { MAX_DEPTH = 32, FIRST_JSON_BYTES = 256, BYTES_A_BYTE = 3 };

/* What is known of a text before anything is built, so that a bomb costs no more than its bytes. */
struct outline {
	bool too_deep;
	size_t tree_bytes; /* about as much as jansson will take */
};

/* What jansson 2.14 takes for a piece of text, by the byte that begins it; tables that grew are not given back to an arena. */
static size_t cost_of(char c)
{
	switch (c) {
	case '{':
		return 224;
	case '[':
		return 112;
	case ':':
		return 112;
	case ',':
		return 48;
	default:
		return 0;
	}
}

static struct outline outline_of(struct text body)
{
	struct outline o = { .tree_bytes = BYTES_A_BYTE * body.len };
	size_t depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < body.len && !o.too_deep; i++) {
		char c = body.at[i];
		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
			continue;
		}
		o.tree_bytes += cost_of(c);
		if (c == '"')
			in_string = true;
		else if (c == '[' || c == '{')
			o.too_deep = ++depth > MAX_DEPTH;
		else if ((c == ']' || c == '}') && depth)
			depth--;
	}
	return o;
}

/* jansson's memory while it parses: the request's arena, so that a tree costs no malloc and no free of its own. */
static struct arena *parse_arena;

static void *parse_alloc(size_t size)
{
	return arena_grow(parse_arena, NULL, 0, size);
}

static void parse_free(void *memory)
{
	(void)memory;
}

/*
 * jansson 2.14 does not survive an allocation that fails (it goes on in the middle of the text, and asserts). So while it parses the
 * budget may not say no; it is asked before, by what the tree will take, and afterwards, by what it took.
 */
static json_t *parse(struct arena *arena, struct text body, size_t tree_bytes, json_error_t *error)
{
	struct arena_mark before = arena_mark(arena);
	bool bounded = arena->bounded;

	if (bounded && !budget_has_room(tree_bytes)) {
		arena->failed = true;
		return NULL;
	}
	parse_arena = arena;
	arena->bounded = false;
	json_set_alloc_funcs(parse_alloc, parse_free);
	json_t *root = json_loadb(body.at, body.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, error);
	json_set_alloc_funcs(malloc, free);
	arena->bounded = bounded;
	if (!bounded || !budget_is_full())
		return root;
	arena_rewind(arena, before);
	arena->failed = true;
	return NULL;
}

json_t *json_tree_parse(struct arena *arena, struct text body, char *why, size_t why_size)
{
	json_error_t error;
	struct outline outline = outline_of(body);

	if (outline.too_deep) {
		snprintf(why, why_size, "the body is nested more than %d levels deep", MAX_DEPTH);
		return NULL;
	}
	json_t *root = parse(arena, body, outline.tree_bytes, &error);
	if (!root) {
		snprintf(why, why_size, "the body is not valid JSON: %s (line %d, column %d)", error.text, error.line,
			 error.column);
	} else if (!json_is_object(root)) {
		snprintf(why, why_size, "the body must be a JSON object");
		root = NULL;
	}
	return root;
}

/* 5.0 stays a real: to some readers it is another thing than 5. */
static void write_real(struct json_out *o, double value)
{
	char buffer[TEXT_REAL];
	struct text digits = text_of_real(value, buffer);

	if (!strpbrk(digits.at, ".e")) {
		memcpy(buffer + digits.len, ".0", 3);
		digits.len += 2;
	}
	out_raw(o, NULL, digits);
}

/* Depth is bounded by outline_of. Numbers leave with the fewest digits that read back the same. */
static void write_json(struct json_out *o, json_t *value)
{
	char buffer[TEXT_DIGITS];
	const char *key;
	json_t *member;
	size_t i;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		out_object(o, NULL);
		json_object_foreach(value, key, member) {
			out_key(o, text_of(key));
			write_json(o, member);
		}
		out_close(o);
		break;
	case JSON_ARRAY:
		out_array(o, NULL);
		json_array_foreach(value, i, member)
			write_json(o, member);
		out_close(o);
		break;
	case JSON_STRING:
		out_text(o, NULL, (struct text){ json_string_value(value), json_string_length(value) });
		break;
	case JSON_INTEGER:
		out_raw(o, NULL, text_of_int(json_integer_value(value), buffer));
		break;
	case JSON_REAL:
		write_real(o, json_real_value(value));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		out_bool(o, NULL, json_is_true(value));
		break;
	case JSON_NULL:
		out_null(o, NULL);
		break;
	}
}

struct text json_tree_text(struct arena *arena, json_t *value)
{
	struct json_out o;

	out_init(&o, arena, FIRST_JSON_BYTES);
	write_json(&o, value);
	return arena->failed ? (struct text){ 0 } : (struct text){ o.at, o.len };
}
