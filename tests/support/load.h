/*
 * load: callers that send requests to a daemon all the time, each over its own connection, and
 * record the outcomes.
 *
 *	struct load *l = load_start((struct load_plan){ .port = d.port, .names = names, ... });
 *	... harm ...
 *	load_wait_served(l, 10000);       all of it works again
 *	load_stop(l, 0);                  answers came in time, and Redis has their effects
 *
 * By each name there are a counter, a queue, a lock and a rate limit; in a Cluster they are in one
 * slot. The exchanges are not recorded: there are thousands.
 */
#ifndef TEST_LOAD_H
#define TEST_LOAD_H

#include <stddef.h>
#include <stdint.h>

enum { LOAD_NAMES_MAX = 16 };

struct load_plan {
	int port;                 /* of the daemon */
	const char *const *names; /* (ref) of the resources; none may be there yet */
	size_t count;
	int timeout_ms; /* the daemon's --redis-timeout-ms */
	int pause_ms;   /* of each caller, between two requests; 0: one */
};

struct load;
struct load *load_start(struct load_plan plan);

/*
 * Waits until all that is asked has been granted, for each name, by requests that were sent from
 * now on.
 */
void load_wait_served(struct load *l, int timeout_ms);

/*
 * When the last request was sent that was granted; monotonic_us. One name, or all (NULL: the one
 * that has waited longest).
 */
int64_t load_served_us(const struct load *l, const char *name);

/* When the last one was answered that was granted and changed something; monotonic_us. */
int64_t load_written_us(const struct load *l);

/* How many were answered so far, and how many of them with 503 or 504. */
long load_answers(const struct load *l);
long load_failures(const struct load *l);

/*
 * Ends the load. Fails the test unless each request was answered by its deadline (and 100 ms), and
 * had the effect that its answer states. Of each thing there is at least what was granted, and at
 * most that plus what is unknown. `lost_max`: how many grants may be lost, where a master died
 * before its replica had them.
 */
void load_stop(struct load *l, int lost_max);

#endif
