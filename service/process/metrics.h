/*
 * metrics: counters, and per operation the requests by status with histograms of their durations
 * and of their waits.
 *
 * The text of GET /metrics is the Prometheus exposition format 0.0.4. Labels are operations and
 * statuses only, so that the number of series does not grow with names or keys.
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

/* name(operations) is for requests that match no operation. False without memory. */
bool metrics_open(size_t operations, const char *(*name)(size_t i));
void metrics_close(void);

void metrics_count(enum metric m);
void metrics_add(enum metric m, uint64_t n);

/* A gauge patternd_<name> that `read` reads for each GET /metrics. Texts are static. At most 16. */
void metrics_gauge(const char *name, const char *help, double (*read)(void));

/* A request has ended, `waited_us` of `duration_us` after parking or streaming. */
void metrics_request(size_t operation, int status, int64_t duration_us, int64_t waited_us);

/* What was counted since the start, for differences between two instants. */
struct metrics_totals {
	uint64_t requests, errors, refusals;       /* answered; with a status of 5xx; by a limit */
	uint64_t durations[HISTOGRAM_BUCKETS + 1]; /* of all operations together, without waits */
	int64_t longest_us;                        /* since the last metrics_totals */
};
void metrics_totals(struct metrics_totals *out);

/* The duration that the share `part` of these requests did not exceed, as the buckets show it. */
double metrics_quantile_ms(const struct metrics_totals *of, double part);

/* The value of a gauge now; 0 when there is none of that name. */
double metrics_gauge_now(const char *name);
uint64_t metrics_resident_bytes(void);

/*
 * Writes into an open object: `requests`, the cumulative duration histogram of all operations;
 * `gauges`, by their names in /metrics without `patternd_`; `resident_bytes`.
 */
void metrics_out(struct json_out *o);

/* The whole exposition, in the arena. */
struct text metrics_text(struct arena *arena);

/* Milliseconds since start, and the start as Unix milliseconds. */
int64_t metrics_uptime_ms(void);
int64_t metrics_started_at_ms(void);

#endif
