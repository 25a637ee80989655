/*
 * metrics: counters, and per operation the requests by status with histograms of their durations and of their waits.
 *
 * The text of GET /metrics is the Prometheus exposition format 0.0.4. Labels are operations and statuses only, so that
 * the number of series does not grow with names or keys.
 */
#ifndef PATTERND_METRICS_H
#define PATTERND_METRICS_H

#include <stdint.h>

#include "contract/input.h"

struct json_out;
struct request;

enum metric {
#define COUNTER(name, help) METRIC_##name,
#include "process/metrics.def"
#undef COUNTER
	METRIC_COUNT
};

/* Allocates the table of operations; false without memory. */
bool metrics_open(void);
void metrics_close(void);

void metrics_count(enum metric m);

/* Something that is read when /metrics is asked for: patternd_<name>. The texts are static. At most 16. */
void metrics_gauge(const char *name, const char *help, double (*read)(void));

/* A request has ended, `waited_us` of `duration_us` after parking or streaming. `op` is NULL when no operation matched. */
void metrics_request(const struct operation *op, int status, int64_t duration_us, int64_t waited_us);

/* All requests that have ended, whatever the operation: how many, and by how long they took without waiting. */
enum { METRICS_BUCKETS = 15 };
struct metrics_durations {
	uint64_t count, buckets[METRICS_BUCKETS];
	int64_t longest_us; /* since metrics_interval */
};
struct metrics_durations metrics_durations(void);
/* An interval begins: metrics_durations is to return the `before` of what metrics_quantile_ms is asked next. */
void metrics_interval(void);
/*
 * What `part` of the requests between both took at most, in ms, as near as the buckets tell, and never more than the longest took. There
 * must have been one.
 */
double metrics_quantile_ms(const struct metrics_durations *before, const struct metrics_durations *now, double part);

/* Writes counters and gauges as two objects of numbers, into an open object; the keys are the names in /metrics,
 * without `patternd_` and `_total`. */
void metrics_out(struct json_out *o);
uint64_t metrics_resident_bytes(void);

/* The whole exposition, in the request's arena. */
struct text metrics_text(struct request *req);

/* Milliseconds since start, and the start as Unix milliseconds. */
int64_t metrics_uptime_ms(void);
int64_t metrics_started_at_ms(void);

#endif
