/* name_rebuild: the indexes of names (name_index.h), made of the keys that exist. */
#ifndef PATTERND_NAME_REBUILD_H
#define PATTERND_NAME_REBUILD_H

#include <stdint.h>

struct request;

/* What it found so far. */
struct name_rebuild {
	int64_t names, added;
};

/*
 * Looks at all keys, by SCAN of 500, and adds the names of these kinds (ended by NULL) that the
 * indexes do not have. It has no time limit, and other requests are served meanwhile. It ends when
 * the client disconnects. `done` answers.
 */
void name_rebuild_start(struct request *req, const char *const *kinds,
			void (*done)(struct request *req, const struct name_rebuild *found));

#endif
