/*
 * list: `?match=&cursor=&limit=` over the keys or channels of one kind, or over all of our keys, as
 * {"items": [...], "next_cursor": "..." | null}.
 *
 *	static const struct list_of locks = { .kind = KEY_LOCK, .look = look_one, .item = item_of };
 *	list_keys(req, &locks, in->match, in->cursor, in->limit);
 *
 * It is a SCAN: a page may be short or empty and still have a cursor, and an item may come twice.
 * An empty page goes on scanning for a while, so that few names among many keys are found in few
 * requests.
 */
#ifndef PATTERND_LIST_H
#define PATTERND_LIST_H

#include "call/script.h"
#include "request/answer.h"

struct list_of {
	const char *kind;         /* of handlers/kinds.h; NULL: every key, a name is all that follows the prefix */
	const char *part_pattern; /* glob of what follows the braces, with its colon; NULL: nothing does */
	bool once_a_name;         /* keys that differ in what follows the braces are one item */
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

/* `match` as in match.h, absent for all; `cursor` absent at the start; `of` is static. */
void list_keys(struct request *req, const struct list_of *of, struct text match, struct text cursor, int64_t limit);

/* The same, of keys that have this type only ("zset"); NULL for all. */
void list_typed_keys(struct request *req, const struct list_of *of, struct text match, const char *type,
		     struct text cursor, int64_t limit);

#endif
