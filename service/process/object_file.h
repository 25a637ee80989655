/*
 * object_file: a file that an option names, with a JSON object whose members are named values:
 * --policies, --push.
 */
#ifndef PATTERND_OBJECT_FILE_H
#define PATTERND_OBJECT_FILE_H

#include "json/tree.h"

/*
 * The object, in the arena; each member is opaque, to be read by itself. NULL: `why`, of `size`
 * bytes, has the path, the place and what is wrong.
 */
const struct json *object_file_read(struct arena *arena, const char *path, char *why, size_t size);

#endif
