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

/*
 * Writes into an open object: `requests`, the cumulative histogram of the durations of all operations; `gauges`, by their names in
 * /metrics without `patternd_`; `resident_bytes`.
 */
void metrics_out(struct json_out *o);

/* The whole exposition, in the request's arena. */
struct text metrics_text(struct request *req);

/* Milliseconds since start, and the start as Unix milliseconds. */
int64_t metrics_uptime_ms(void);
int64_t metrics_started_at_ms(void);

#endif
