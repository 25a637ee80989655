/* json_tree: what was read, and its way back into text; see json_tree.h. The reader is json_read.c. */
#include "json/json_tree.h"

#include "json/json_out.h"

enum { FIRST_JSON_BYTES = 256 };

const struct json *json_tree_member(const struct json *object, const char *key)
{
	if (!object || object->kind != JSON_IS_OBJECT)
		return NULL;
	for (const struct json *m = object->first; m; m = m->next)
		if (text_is(m->key, key))
			return m;
	return NULL;
}

struct text json_tree_string(const struct json *object, const char *key)
{
	const struct json *m = json_tree_member(object, key);

	return m && m->kind == JSON_IS_TEXT ? m->text : (struct text){ 0 };
}

/* ---- Back into text ---- */

/* 5.0 stays a real: to some readers it is another thing than 5. */
static void write_real(struct json_out *o, double value)
{
	char buffer[TEXT_REAL];
	struct text digits = text_of_real(value, buffer);

	if (strcspn(digits.at, ".e") == digits.len) {
		memcpy(buffer + digits.len, ".0", 3);
		digits.len += 2;
	}
	out_raw(o, NULL, digits);
}

/* Numbers leave with the fewest digits that read back the same. */
static void write_json(struct json_out *o, const struct json *value)
{
	char buffer[TEXT_DIGITS];

	switch (value->kind) {
	case JSON_IS_OBJECT:
	case JSON_IS_ARRAY:
		(value->kind == JSON_IS_OBJECT ? out_object : out_array)(o, NULL);
		for (const struct json *one = value->first; one; one = one->next) {
			if (value->kind == JSON_IS_OBJECT)
				out_key(o, one->key);
			write_json(o, one);
		}
		out_close(o);
		break;
	case JSON_IS_TEXT:
		out_text(o, NULL, value->text);
		break;
	case JSON_IS_INTEGER:
		out_raw(o, NULL, text_of_int(value->integer, buffer));
		break;
	case JSON_IS_REAL:
		write_real(o, value->real);
		break;
	case JSON_IS_BOOL:
		out_bool(o, NULL, value->truth);
		break;
	case JSON_IS_NULL:
		out_null(o, NULL);
		break;
	}
}

struct text json_tree_text(struct arena *arena, const struct json *value)
{
	struct json_out o;

	out_init(&o, arena, FIRST_JSON_BYTES);
	write_json(&o, value);
	return arena->failed ? (struct text){ 0 } : out_all(&o);
}
