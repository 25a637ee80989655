/* listing: what is listed, and how far a list has come. */
#ifndef PATTERND_LISTING_H
#define PATTERND_LISTING_H

#include "call/call.h"
#include "request/answer.h"

struct list_of {
	const char *kind;         /* of common/kinds.h; NULL: every key, a name is all that follows the prefix */
	const char *part_pattern; /* glob of what follows the braces, with its colon; NULL: nothing does */
	bool is_indexed;          /* its names are found by their index (call/name_index.h) */
	bool is_channels;         /* no keys: sharded channels that are subscribed now */
	/*
	 * Returns the call that reads one name, for list to send; NULL: an item has nothing but its
	 * name. `part` is what follows the braces and the colon.
	 */
	struct call *(*look)(struct request *req, struct text name, struct text part);
	/* Writes one item, nothing when it no longer exists. `reply` is NULL without look. */
	void (*item)(struct json_out *o, struct request *req, struct text name, struct text part,
		     const struct reply *reply);
};

struct found {
	struct text name, part;
};

/* In the request's arena. */
struct listing {
	const struct list_of *of;
	struct text match, glob; /* absent: all */
	size_t limit;
	int64_t until_us; /* then it answers what it has */
	struct found *found;
	size_t found_count;
	struct text next; /* the next page's cursor; absent: this was the last */
	size_t looks_owed;
	/* Called after each step: takes the next one, or answers. */
	void (*go_on)(struct request *req, struct listing *l);
	/*
	 * The place that is read next. A page may have fewer keys than one SCAN step found. The
	 * keys of a step are listed in the order of a hash. The cursor is then the step's cursor
	 * with the last listed hash, so that keys that appear or vanish do not hide others.
	 */
	int slot;         /* of the Cluster's node that is asked; REDIS_ANYWHERE without one */
	struct text step; /* of a scan */
	uint64_t after;   /* only keys whose hash is greater */
	const char *type; /* and that have it; NULL: any */
	struct text name; /* of an index: only names after this one */
	int asked;        /* indexes of the call under way */
	bool has_gap;     /* an index could not be read */
};

/* Copies what was found. There must be room for it. */
void listing_keep(struct request *req, struct listing *l, struct found f);

#endif
