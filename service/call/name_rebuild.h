/*
 * name_rebuild: rebuilds the indexes of names (name_index.h) from the keys that exist. It must not
 * know kinds.
 */
#ifndef PATTERND_NAME_REBUILD_H
#define PATTERND_NAME_REBUILD_H

#include <stdint.h>

struct request;

/* What a rebuild has found so far. */
struct name_rebuild {
	int64_t names, added;
};

/*
 * Reads all keys, by SCAN of 500, and adds the names of these kinds that the indexes do not have;
 * NULL ends `kinds`. It has no time limit, and other requests are served at the same time. It ends
 * when the client disconnects. `done` answers.
 */
void name_rebuild_start(struct request *req, const char *const *kinds,
			void (*done)(struct request *req, const struct name_rebuild *found));

#endif
