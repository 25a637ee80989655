/*
 * overview_items: the findings of GET /overview: the worst of each kind, and their total number. It
 * owns how they are ordered and written; it must not know how they are found.
 */
#ifndef PATTERND_OVERVIEW_ITEMS_H
#define PATTERND_OVERVIEW_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"
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
	OVERVIEW_GROUPS_BLOCKED,
	OVERVIEW_SCHEDULE_MISSED,
	OVERVIEW_LOCK_WAITING,
	OVERVIEW_KINDS
};

enum { OVERVIEW_NAME_BYTES = 256, OVERVIEW_DETAIL_BYTES = 320, OVERVIEW_MOST_OF_KIND = 20, OVERVIEW_MOST = 100 };

struct overview_item {
	int64_t value;                  /* -1: the item has no number */
	int64_t since_at_ms;            /* 0: unknown */
	int64_t until_ms;               /* 0: none, or unknown */
	char name[OVERVIEW_NAME_BYTES]; /* "": the daemon itself */
	char detail[OVERVIEW_DETAIL_BYTES];
};

struct overview_items {
	struct overview_item of[OVERVIEW_KINDS][OVERVIEW_MOST_OF_KIND];
	size_t count[OVERVIEW_KINDS]; /* stored items of each kind */
	int64_t found;                /* all items, stored or not */
};

/*
 * Adds an item; a long name is cut. Returns NULL if all stored items of the kind are worse. The
 * item is counted even then.
 */
struct overview_item *overview_items_add(struct overview_items *items, enum overview_kind kind, struct text name,
					 int64_t value);

void overview_items_set_detail(struct overview_item *item, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Sorts the items, and writes `finding_count` and `findings` into an open object. */
void overview_items_out(struct overview_items *items, struct json_out *o);

#endif
