/* listing: what is listed, and how far a list has come. It must not know how names are found. */
#ifndef PATTERND_LISTING_H
#define PATTERND_LISTING_H

#include "call/call.h"
#include "request/answer.h"

struct list_of {
	const char *kind; /* of common/key_kinds.h; NULL: every key, and a name is all that follows the prefix */
	const char *part_pattern; /* a glob for what follows the braces, with its colon; NULL: nothing follows */
	bool is_indexed;          /* names are read from their index (call/name_index.h) */
	bool is_channels;         /* the items are sharded channels with subscribers, not keys */
	/*
	 * Returns the call that reads one name; list.c sends it. NULL: an item consists of its name
	 * only. `part` is what follows the braces and the colon.
	 */
	struct call *(*look)(struct request *req, struct text name, struct text part);
	/*
	 * Writes one item, or nothing if it does not exist any more. `reply` is NULL without look.
	 */
	void (*item)(struct json_out *o, struct request *req, struct text name, struct text part,
		     const struct reply *reply);
};

struct found {
	struct text name, part;
};

/* The state of a list, in the request's arena. */
struct listing {
	const struct list_of *of;
	struct text match, glob; /* absent: all */
	size_t limit;
	int64_t until_us; /* after this time it answers what it has found */
	struct found *found;
	size_t found_count;
	struct text next; /* cursor of the next page; absent: this was the last page */
	size_t looks_owed;
	/* Called after each step: makes the next step, or answers. */
	void (*proceed)(struct request *req, struct listing *l);
	/*
	 * The place that is read next. A page may have room for fewer keys than one SCAN step
	 * found, so the keys of a step are listed in the order of a hash. The cursor is then the
	 * step's cursor and the last hash listed, so that keys that are added or removed do not
	 * hide others.
	 */
	int slot;            /* selects the node of a Cluster that is asked; else REDIS_ANYWHERE */
	struct text step;    /* the cursor of a SCAN step */
	uint64_t after;      /* only keys with a greater hash */
	const char *type;    /* only keys of this type; NULL: any type */
	struct text name;    /* only names after this one, in an index */
	int asked;           /* number of indexes in the present call */
	int unread_slots;    /* of a Cluster, whose names this page may lack */
	bool has_read;       /* a server answered */
	struct call *failed; /* a call that failed; NULL: none */
	int unreadable;      /* names of this page whose keys are foreign */
};

/*
 * Returns true if servers that cannot be asked are passed over, since another one of the Cluster
 * can be asked. The calls then may fail, and listing_has_failed takes their failures.
 */
bool listing_is_partial(void);

/*
 * Call it if a call failed. Returns true if the request was answered: the daemon itself is
 * overloaded.
 */
bool listing_has_failed(struct listing *l, struct call *failed);

/* Copies a name that was found. The listing must have room for it. */
void listing_keep(struct request *req, struct listing *l, struct found f);

#endif
