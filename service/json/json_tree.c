/* json_tree: looking into a tree; see json_tree.h. The reader is json_read.c. */
#include "json/json_tree.h"

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
