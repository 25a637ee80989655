#include "process/object_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "json/read.h"

enum { MAX_FILE_BYTES = 1024 * 1024 };

/* Returns the whole file; absent if it cannot be read. */
static struct text read_file(struct arena *arena, const char *path, char *why, size_t size)
{
	FILE *f = fopen(path, "re");
	char *bytes = arena_grow(arena, NULL, 0, MAX_FILE_BYTES + 1);
	size_t len = f && bytes ? fread(bytes, 1, MAX_FILE_BYTES, f) : 0;
	bool is_whole = f && bytes && feof(f);

	if (!bytes)
		snprintf(why, size, "there is no memory for %s", path);
	else if (!f || ferror(f))
		snprintf(why, size, "%s: %s", path, strerror(errno));
	else if (!is_whole)
		snprintf(why, size, "%s: has more than %d bytes", path, MAX_FILE_BYTES);
	if (f)
		fclose(f);
	if (!is_whole)
		return (struct text){ 0 };
	bytes[len] = '\0';
	return (struct text){ bytes, len };
}

static const void *place_of_member(const void *parent, struct text key, bool *opaque)
{
	(void)parent;
	(void)key;
	*opaque = true;
	return NULL;
}

const struct json *object_file_read(struct arena *arena, const char *path, char *why, size_t size)
{
	struct text file = read_file(arena, path, why, size);
	struct json_error error;

	if (!file.at)
		return NULL;
	const struct json *root = json_read(arena, file, place_of_member, NULL, &error);
	if (!root)
		snprintf(why, size, "%s:%zu:%zu: %s", path, error.line, error.column,
			 error.why ? error.why : "there is no memory for it");
	else if (root->kind != JSON_IS_OBJECT)
		snprintf(why, size, "%s: must be a JSON object, with a member for each name", path);
	return root && root->kind == JSON_IS_OBJECT ? root : NULL;
}
