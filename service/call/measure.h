/*
 * measure: asks Redis for the measured cells of named metrics (process/named.h), one name at a
 * time.
 *
 * A round over all names begins at most every 5 s, and only while /metrics is scraped. A scrape
 * never waits for it: it returns what the round before found. One call is under way at most, so a
 * round costs Redis at most one script of reads per name.
 */
#ifndef PATTERND_MEASURE_H
#define PATTERND_MEASURE_H

#include "call/call.h"
#include "process/named.h"

struct measure {
	struct named_kind *kind;
	/* The call that reads one name, for measure.c to send. */
	struct call *(*look)(struct request *req, struct text name);
	void (*read)(double *cells, const struct request *req, const struct reply *reply);
};

/* `m` is static. Before the first request; at most 4. */
void measure_register(const struct measure *m);

/* /metrics was scraped: begins a round unless the last one is recent. */
void measure_scraped(void);

#endif
