/*
 * load: callers that send requests to a daemon all the time, each over its own connection, and
 * record the outcomes.
 *
 *	struct load *l = load_start((struct load_plan){ .port = d.port, .names = names, ... });
 *	... harm ...
 *	load_wait_served(l, 10000);       all of it works again
 *	load_stop(l, 0);                  answers came in time, and Redis has their effects
 *
 * Each name has a counter, a queue, a lock and a rate limit, which share a slot in a Cluster. The
 * exchanges are not recorded, because there are thousands.
 */
#ifndef TEST_LOAD_H
#define TEST_LOAD_H

#include <stddef.h>
#include <stdint.h>

enum { LOAD_NAMES_MAX = 16 };

struct load_plan {
	int port;                 /* of the daemon */
	const char *const *names; /* (ref) of the resources; none may exist yet */
	size_t count;
	int timeout_ms; /* the daemon's --redis-timeout-ms */
	int pause_ms;   /* between two requests of a caller; 0: 1 ms */
};

struct load;
struct load *load_start(struct load_plan plan);

/*
 * Waits until every kind of request has been granted for each name, counting only requests that are
 * sent from now on.
 */
void load_wait_served(struct load *l, int timeout_ms);

/*
 * When the latest granted request of a kind was sent, in monotonic_us: the earliest over all kinds
 * of requests for a name, or for all names (NULL).
 */
int64_t load_served_us(const struct load *l, const char *name);

/* When the latest granted write was answered, in monotonic_us. */
int64_t load_written_us(const struct load *l);

/* How many requests were answered so far, and how many of them with 503 or 504. */
long load_answers(const struct load *l);
long load_failures(const struct load *l);

/*
 * Ends the load. Fails the test unless each request was answered by its deadline plus a margin and
 * had the effect that its answer states. Each resource must have all granted writes, and at most
 * the unknown ones besides. `lost_max` grants may be lost, where a master died before its replica
 * had them.
 */
void load_stop(struct load *l, int lost_max);

#endif
