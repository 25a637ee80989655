/*
 * overview_items: the findings of GET /overview: the worst of each kind, and their total number. It
 * owns how they are ordered and written; it must not know how they are found.
 */
#ifndef PATTERND_OVERVIEW_ITEMS_H
#define PATTERND_OVERVIEW_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "json/out.h"

/* The kinds in the order of the contract's enum, the worst first. */
enum overview_kind {
	OVERVIEW_REDIS_AWAY,
	OVERVIEW_SHARD_AWAY,
	OVERVIEW_QUORUM_AWAY,
	OVERVIEW_REDIS_REFUSES,
	OVERVIEW_PERMISSIONS_MISSING,
	OVERVIEW_MEMORY_FULL,
	OVERVIEW_PUSH_BACKING_OFF,
	OVERVIEW_PUSH_FAILING,
	OVERVIEW_WORK_FAILING,
	OVERVIEW_WORK_HANGING,
	OVERVIEW_DEAD_LETTERS,
	OVERVIEW_MESSAGE_FAILING,
	OVERVIEW_MESSAGES_WAITING,
	OVERVIEW_QUEUE_PAUSED,
	OVERVIEW_GROUPS_BLOCKED,
	OVERVIEW_SCHEDULE_MISSED,
	OVERVIEW_LOCK_WAITING,
	OVERVIEW_CLOCK_OFF,
	OVERVIEW_KINDS
};

enum { OVERVIEW_NAME_BYTES = 256, OVERVIEW_DETAIL_BYTES = 320, OVERVIEW_MOST_OF_KIND = 1000 };

struct overview_item {
	int64_t value;       /* -1: the item has no number */
	int64_t count;       /* of messages, deliveries or requests; 0: none */
	int64_t since_at_ms; /* 0: unknown */
	int64_t until_ms;    /* 0: none, or unknown */
	struct text name;    /* absent: the daemon itself */
	struct text message_id, detail;
	double weight; /* how bad it is beside others of its kind; set by overview_items_add */
};

struct overview_list {
	struct overview_item *at; /* the worst OVERVIEW_MOST_OF_KIND, and perhaps others */
	size_t stored, room;
	double least;               /* an item of less weight is not stored */
	int64_t found;              /* all items, stored or not */
	int64_t count, since_at_ms; /* the sum, and the earliest, of all items */
};

struct overview_items {
	struct arena *arena; /* (ref) has the items */
	struct overview_list of[OVERVIEW_KINDS];
};

/*
 * Adds an item with the `value`, `count` and `since_at_ms` of `size`; its texts are copied. Returns
 * NULL if enough items of the kind are worse, or memory ran out. The item is counted even then.
 */
struct overview_item *overview_items_add(struct overview_items *items, enum overview_kind kind, struct text name,
					 struct overview_item size);

/* A text of more than OVERVIEW_DETAIL_BYTES is cut. */
void overview_items_set_detail(const struct overview_items *items, struct overview_item *item, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Sorts the items, and writes `finding_count`, `kinds` and `findings` into an open object: at most
 * `limit` of each kind, or of `only` if it is a kind.
 */
void overview_items_out(struct overview_items *items, enum overview_kind only, size_t limit, struct json_out *o);

#endif
