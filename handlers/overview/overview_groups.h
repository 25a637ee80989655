/*
 * overview_groups: finds queues whose messages wait for groups that are stuck. An item of GET
 * /queues cannot have this finding: its script reads a bounded part of a queue, which may have any
 * number of groups. This file must not know how the groups are requested.
 */
#ifndef PATTERND_OVERVIEW_GROUPS_H
#define PATTERND_OVERVIEW_GROUPS_H

#include "overview/overview_items.h"

struct overview_groups {
	struct arena *arena; /* (ref) has the queues */
	struct overview_queue {
		struct text name;
		int64_t blocked; /* messages */
		bool is_idle;    /* nothing is ready or in flight */
	} * queues;              /* with blocked messages */
	size_t count, room;
	size_t at;              /* the queue whose groups are read, or will be read next */
	struct overview_stuck { /* its groups that are stuck */
		int64_t blocked, paused, limited, backoff;
		int64_t now_ms, oldest_at_ms, until_ms; /* 0: none */
		struct text oldest;                     /* the group of the oldest message */
	} stuck;
};

/* Adds an item of GET /queues, if it has blocked messages. */
void overview_groups_note(struct overview_groups *g, const struct json *queue);

/* Call it after the last queue: idle queues come first, and then those with the most messages. */
void overview_groups_sort(struct overview_groups *g);

/* Adds a page of the groups of the present queue. */
void overview_groups_take(struct overview_groups *g, const struct json *answer, int64_t now_ms);

/*
 * Adds a finding if messages of the present queue have waited long, or if it is idle and not all of
 * its groups could be read. The next queue is then the present one.
 */
void overview_groups_end(struct overview_groups *g, struct overview_items *items, bool has_all);

#endif
