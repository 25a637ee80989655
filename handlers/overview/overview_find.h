/*
 * overview_find: finds what needs an operator's attention in the answers of single operations, and
 * adds up their counts. It knows the answers of these operations, and asks nothing itself.
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

/* The groups of a queue that are stuck. */
struct overview_groups {
	long long blocked, paused, limited, backoff;
	int64_t now_ms, oldest_at_ms, until_ms; /* 0: none */
	char oldest[130];                       /* the group of the oldest message */
};

/*
 * Each function takes one item of a list. `now_ms` is Redis's time. A queue that works, but has
 * blocked messages, goes to `busy`: whether it is a finding, only its groups show.
 */
void overview_find_queue(struct overview_items *items, struct overview_items *busy, struct overview_sums *sums,
			 const struct json *queue, int64_t now_ms);
void overview_find_lock(struct overview_items *items, struct overview_sums *sums, const struct json *lock,
			int64_t now_ms);
void overview_find_target(struct overview_items *items, struct overview_sums *sums, const struct json *target,
			  int64_t now_ms);

/* Takes the answer of info_get: the servers, and the memory of requests. */
void overview_find_daemon(struct overview_items *items, const struct json *info);

/* Adds one page of a queue's groups. */
void overview_add_groups(struct overview_groups *still, const struct json *groups, int64_t now_ms);

/*
 * Writes into an OVERVIEW_GROUPS_BLOCKED item what is stuck. Returns false, and writes nothing,
 * if no message has waited long.
 */
bool overview_find_groups(struct overview_item *item, const struct overview_groups *still);

#endif
