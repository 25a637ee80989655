/*
 * measure: asks Redis for the measured cells of names (process/named.h), one name at a time, and
 * takes a sample of each.
 *
 * A round over the names begins every MEASURE_ROUND_MS, and only while /metrics is scraped or a
 * name is looked at; it asks about names of which that holds. A scrape or a look never waits for
 * it: they return what rounds before found. One call is under way at most, so a round costs Redis
 * at most one script of reads per name.
 */
#ifndef PATTERND_MEASURE_H
#define PATTERND_MEASURE_H

#include "call/call.h"
#include "process/named.h"

enum { MEASURE_ROUND_MS = 5000 };

struct measure {
	struct named_kind *kind;
	/* The call that reads one name, for measure.c to send; NULL: it only has counters. */
	struct call *(*look)(struct request *req, struct text name);
	void (*read)(double *cells, const struct request *req, const struct reply *reply);
};

/* `m` is static. Before the first request; at most 4. */
void measure_register(const struct measure *m);

/* /metrics was scraped: begins a round unless the last one is recent. */
void measure_scraped(void);

/* A name is looked at (named_look). */
void measure_looked(void);

#endif
