/* tree: see json/tree.h. read.c makes trees. */
#include "json/tree.h"

#include <xxhash.h>

enum { FEW_MEMBERS = 12 }; /* up to this number, each is compared with each */

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

int64_t json_tree_int(const struct json *object, const char *key, int64_t absent)
{
	const struct json *m = json_tree_member(object, key);

	return m && m->kind == JSON_IS_INTEGER ? m->integer : absent;
}

bool json_tree_is_true(const struct json *object, const char *key)
{
	const struct json *m = json_tree_member(object, key);

	return m && m->kind == JSON_IS_BOOL && m->truth;
}

static bool has_duplicate_key(const struct json *object)
{
	for (const struct json *a = object->first; a; a = a->next)
		for (const struct json *b = a->next; b; b = b->next)
			if (text_equal(a->key, b->key))
				return true;
	return false;
}

/*
 * For objects with many members. `places` is a power of two, or the search might not reach an empty
 * place. The seed keeps clients from choosing keys that collide.
 */
static bool has_duplicate_key_hashed(const struct json **table, size_t places, const struct json *object)
{
	uint64_t seed = (uint64_t)(uintptr_t)&table ^ (uint64_t)(uintptr_t)table;

	for (const struct json *m = object->first; m; m = m->next) {
		size_t at = XXH64(m->key.at, m->key.len, seed) & (places - 1);
		for (; table[at]; at = (at + 1) & (places - 1))
			if (text_equal(table[at]->key, m->key))
				return true;
		table[at] = m;
	}
	return false;
}

int json_tree_has_duplicate(struct arena *arena, const struct json *object)
{
	size_t places = 1;

	if (object->count <= FEW_MEMBERS)
		return has_duplicate_key(object);
	while (places < 2 * object->count)
		places *= 2;
	struct arena_mark before = arena_mark(arena);
	const struct json **table = arena_alloc(arena, places * sizeof(*table));
	if (!table)
		return -1;
	bool has_duplicate = has_duplicate_key_hashed(table, places, object);
	arena_rewind(arena, before);
	return has_duplicate;
}
