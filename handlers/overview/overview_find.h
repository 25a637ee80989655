/*
 * overview_find: what of the answers of single operations needs a person, and their sums. Knows the
 * contract of these operations, and asks nothing.
 */
#ifndef PATTERND_OVERVIEW_FIND_H
#define PATTERND_OVERVIEW_FIND_H

#include "overview/overview_items.h"
#include "json/tree.h"

struct overview_sums {
	int64_t queues, ready, blocked, delayed, in_flight, dead, paused;
	int64_t locks, waiters;
	int64_t targets, backing_off;
};

/* Each takes one item of a list, as of Redis's time `now_ms`. */
void overview_find_queue(struct overview_items *items, struct overview_sums *sums, const struct json *queue,
			 int64_t now_ms);
void overview_find_lock(struct overview_items *items, struct overview_sums *sums, const struct json *lock,
			int64_t now_ms);
void overview_find_target(struct overview_items *items, struct overview_sums *sums, const struct json *target,
			  int64_t now_ms);

/* The servers, from the answer of info_get; and the memory of requests. */
void overview_find_daemon(struct overview_items *items, const struct json *info);

/*
 * Why the messages of an OVERVIEW_GROUPS_BLOCKED wait, by a page of the queue's groups. False when
 * none of them has waited for long: it is to be removed.
 */
bool overview_find_groups(struct overview_item *item, const struct json *groups, int64_t now_ms);

#endif
