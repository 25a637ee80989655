/*
 * metrics: counters, and for each operation its requests by status, with histograms of their
 * durations and of their waits. It must not know what an operation does.
 *
 * The text of GET /metrics is in the Prometheus exposition format 0.0.4. Labels are operations and
 * statuses only, so the number of series does not grow with names or keys (named.h has the names
 * that an option selects).
 */
#ifndef PATTERND_METRICS_H
#define PATTERND_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"
#include "process/histogram.h"

struct arena;
struct json_out;

enum metric {
#define COUNTER(name, help) METRIC_##name,
#include "process/metrics.def"
#undef COUNTER
	METRIC_COUNT
};

/* name(operations) is the name for requests that match no operation. False: memory ran out. */
bool metrics_open(size_t operations, const char *(*name)(size_t i));
void metrics_close(void);

void metrics_count(enum metric m);
void metrics_add(enum metric m, uint64_t n);

/*
 * Adds a gauge patternd_<name>; `read` is called for each GET /metrics. Texts are static. At most
 * 16 gauges.
 */
void metrics_gauge(const char *name, const char *help, double (*read)(void));

/*
 * Counts a request that has ended. It was parked or streamed for `waited_us` of its `duration_us`.
 */
void metrics_request(size_t operation, int status, int64_t duration_us, int64_t waited_us);

/* Counts since the start, for differences between two instants. */
struct metrics_totals {
	/* answered requests; those with status 5xx; those that a limit refused */
	uint64_t requests, errors, refusals;
	uint64_t durations[HISTOGRAM_BUCKETS + 1]; /* of all operations together, without waits */
	int64_t longest_us;                        /* since the last call of metrics_totals */
};
void metrics_totals(struct metrics_totals *out);

/*
 * Returns the duration that a share `part` of these requests did not exceed, as exactly as the
 * buckets allow.
 */
double metrics_quantile_ms(const struct metrics_totals *of, double part);

/* Returns the present value of a gauge; 0 if no gauge has that name. */
double metrics_gauge_now(const char *name);
uint64_t metrics_resident_bytes(void);

/*
 * Writes into an open object: `requests`, the cumulative histogram of durations of all operations;
 * `gauges`, by their names in /metrics without `patternd_`; `resident_bytes`.
 */
void metrics_out(struct json_out *o);

/* Returns the whole exposition, in the arena. */
struct text metrics_text(struct arena *arena);

/* Return the milliseconds since the start, and the start in Unix milliseconds. */
int64_t metrics_uptime_ms(void);
int64_t metrics_started_at_ms(void);

#endif
