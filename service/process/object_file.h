/*
 * object_file: reads a file that an option names, with a JSON object whose members are named
 * values: --policies, --push. It must not know the values.
 */
#ifndef PATTERND_OBJECT_FILE_H
#define PATTERND_OBJECT_FILE_H

#include "json/tree.h"

/*
 * Returns the object, in the arena. Each member is opaque; its reader parses it. NULL: `why`, of
 * `size` bytes, has the path, the place and the fault.
 */
const struct json *object_file_read(struct arena *arena, const char *path, char *why, size_t size);

#endif
