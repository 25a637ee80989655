/*
 * measure: asks Redis for the measured cells of names (process/named.h), one name at a time, and
 * takes a sample of each. It must not know patterns.
 *
 * A round over the names begins every MEASURE_ROUND_MS, but only while /metrics is scraped or a
 * name is looked at. It asks about the names that are scraped or looked at. A scrape or a look
 * never waits for a round: it returns what earlier rounds found. At most one call is under way, so
 * a round costs Redis at most one script of reads per name.
 */
#ifndef PATTERND_MEASURE_H
#define PATTERND_MEASURE_H

#include "call/call.h"
#include "process/named.h"

enum { MEASURE_ROUND_MS = 5000 };

struct measure {
	struct named_kind *kind;
	/*
	 * Returns the call that reads one name; measure.c sends it. NULL: there are only counters.
	 */
	struct call *(*look)(struct request *req, struct text name);
	void (*read)(double *cells, const struct request *req, const struct reply *reply);
};

/* Call it before the first request. `m` is static; at most 4. */
void measure_register(const struct measure *m);

/* /metrics was scraped: begins a round, unless the last one is recent. */
void measure_scraped(void);

/* A name is looked at (named_look): begins a round, unless the last one is recent. */
void measure_looked(void);

#endif
