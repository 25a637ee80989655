/*
 * histogram: counts durations by bucket, as Prometheus does. It must not know what is measured.
 *
 * A kind is a static table of bounds. It also has them as text, because a scrape writes thousands.
 */
#ifndef PATTERND_HISTOGRAM_H
#define PATTERND_HISTOGRAM_H

#include <stdint.h>

#include "process/exposition.h"

enum { HISTOGRAM_BUCKETS = 14 };

struct histogram_kind {
	const char *name, *help;
	int64_t bounds_us[HISTOGRAM_BUCKETS]; /* ascending; a longer duration counts as +Inf */
	const char *bounds_text[HISTOGRAM_BUCKETS];
};

struct histogram {
	uint64_t buckets[HISTOGRAM_BUCKETS + 1];
	uint64_t count;
	uint64_t sum_us;
};

/* The bounds for waits: 1 ms to a minute. */
#define HISTOGRAM_WAIT_BOUNDS                                                                                   \
	.bounds_us = { 1000,    5000,    10000,   50000,    100000,   250000,   500000,                         \
		       1000000, 2500000, 5000000, 10000000, 20000000, 30000000, 60000000 },                     \
	.bounds_text = {                                                                                        \
		"0.001", "0.005", "0.01", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "20", "30", "60" \
	}

void histogram_measure(struct histogram *h, const struct histogram_kind *kind, int64_t us);

/* Writes the series without the head. `label` is `operation="x"` or "". */
void histogram_out(struct exposition *e, const struct histogram_kind *kind, const struct histogram *h,
		   struct text label);

#endif
