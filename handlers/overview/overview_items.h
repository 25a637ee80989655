/*
 * overview_items: the findings of GET /overview: the worst of each kind, and their total number. It
 * owns how they are ordered and written.
 */
#ifndef PATTERND_OVERVIEW_ITEMS_H
#define PATTERND_OVERVIEW_ITEMS_H

#include "common/finding.h"
#include "operations.h"
#include "json/tree.h"

/* The kinds of the contract, the worst first. */
enum { OVERVIEW_KINDS = OVERVIEW_GET_KIND_LOCK_WAITING, OVERVIEW_MOST_OF_KIND = 1000 };

struct overview_items {
	struct arena *arena; /* (ref) has the findings */
	struct overview_list {
		struct overview_item {
			struct finding finding;
			double weight; /* how bad it is beside others of its kind */
		} * at;                /* the worst OVERVIEW_MOST_OF_KIND, and perhaps others */
		const char *severity, *unit;
		size_t stored, room;
		double least;               /* an item of less weight is not stored */
		int64_t found;              /* all items, stored or not */
		int64_t count, since_at_ms; /* the sum, and the earliest, of all items */
	} of[OVERVIEW_KINDS];
};

/* Adds a finding, and copies its texts. */
void overview_items_add(struct overview_items *items, const struct finding *f);

/* Adds the findings of an item of a list. */
void overview_items_collect(struct overview_items *items, const struct json *item);

/*
 * Sorts the items, and writes `finding_count`, `kinds` and `findings` into an open object: at most
 * `limit` of each kind, or of the kind `only` if it is not 0.
 */
void overview_items_out(struct overview_items *items, enum overview_get_kind only, size_t limit, struct json_out *o);

#endif
