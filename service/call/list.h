/*
 * list: `?match=&cursor=&limit=` over the keys or channels of one kind, or over all keys under the
 * prefix, as {"items": [...], "next_cursor": "..." | null, "complete": true}. It must not know a
 * kind.
 *
 *	static const struct list_of locks = { .kind = KEY_LOCK, .look = look_one, .item = item_of };
 *	list_keys(req, &locks, in->match, in->cursor, in->limit);
 *
 * Names of an index are listed once each, and in order except in a Cluster. All other lists are a
 * SCAN: an item may be listed twice. A page that is not full after 100 ms, or after a second if it
 * reads an index, is answered as it is, with a cursor and "complete": false.
 */
#ifndef PATTERND_LIST_H
#define PATTERND_LIST_H

#include "call/listing.h"

/*
 * `match` has the form of match.h, absent for all; `cursor` is absent at the start; `of` is static.
 */
void list_keys(struct request *req, const struct list_of *of, struct text match, struct text cursor, int64_t limit);

/* Does what list_keys does, for keys of this type ("zset") only, or of all types if it is NULL. */
void list_typed_keys(struct request *req, const struct list_of *of, struct text match, const char *type,
		     struct text cursor, int64_t limit);

#endif
