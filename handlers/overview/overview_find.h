/*
 * overview_find: finds what needs an operator's attention in the answers of single operations, and
 * adds up their counts. It knows the members of these answers. It must not know how they are
 * requested.
 */
#ifndef PATTERND_OVERVIEW_FIND_H
#define PATTERND_OVERVIEW_FIND_H

#include "overview/overview_items.h"
#include "json/tree.h"

enum { OVERVIEW_BLOCKED_MOST = 100 };

struct overview_sums {
	int64_t queues, ready, blocked, delayed, in_flight, dead, paused;
	int64_t locks, waiters;
	int64_t targets, backing_off;
};

/*
 * The worst queues with blocked messages, in no order until overview_sort_blocked. Whether such a
 * queue is a finding is known once its groups were read.
 */
struct overview_blocked {
	struct overview_blocked_queue {
		long long count; /* of blocked messages */
		bool is_idle;    /* nothing is ready or in flight */
		char name[OVERVIEW_NAME_BYTES];
	} of[OVERVIEW_BLOCKED_MOST];
	size_t count;
	bool lacks_queues; /* there were more queues than it takes */
};

/* The groups of a queue that are stuck. */
struct overview_groups {
	long long blocked, paused, limited, backoff;
	int64_t now_ms, oldest_at_ms, until_ms; /* 0: none */
	char oldest[130];                       /* the group of the oldest message */
};

/* Each function takes one item of a list. `now_ms` is Redis's time. */
void overview_find_queue(struct overview_items *items, struct overview_blocked *blocked, struct overview_sums *sums,
			 const struct json *queue, int64_t now_ms);
void overview_find_lock(struct overview_items *items, struct overview_sums *sums, const struct json *lock,
			int64_t now_ms);
void overview_find_target(struct overview_items *items, struct overview_sums *sums, const struct json *target,
			  int64_t now_ms);

/* Idle queues first, and then those with the most blocked messages. */
void overview_sort_blocked(struct overview_blocked *blocked);

/* Adds one page of the groups of `queue`. */
void overview_add_groups(struct overview_groups *still, const struct overview_blocked_queue *queue,
			 const struct json *groups, int64_t now_ms);

/*
 * Adds a finding if messages of the queue have waited long, or if it is idle and not all of its
 * groups could be read.
 */
void overview_find_groups(struct overview_items *items, const struct overview_blocked_queue *queue,
			  const struct overview_groups *still, bool has_all);

#endif
