/*
 * Tests of metrics_quantile_ms: a percentile lies within the bucket of its request, grows with the
 * percentage, and is never above the longest request.
 */
#include "process/metrics.h"
#include "test.h"

enum { ROUNDS = 5000, MOST = 20 };

static const int64_t bounds_us[HISTOGRAM_BUCKETS] = { 250,   500,    1000,   2500,   5000,    10000,   25000,
						      50000, 100000, 250000, 500000, 1000000, 2500000, 10000000 };

static size_t bucket_of(int64_t us)
{
	size_t b = 0;

	while (b < HISTOGRAM_BUCKETS && us > bounds_us[b])
		b++;
	return b;
}

static int by_size(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void holds(const struct metrics_totals *t, const int64_t *sorted, double part)
{
	double exact = part * (double)t->requests;
	size_t rank = (size_t)exact + ((double)(size_t)exact < exact);
	size_t b = bucket_of(sorted[rank - 1]);
	double us = metrics_quantile_ms(t, part) * 1000;

	assert_true(us >= (b ? (double)bounds_us[b - 1] : 0) - 0.001);
	assert_true(us <= (b < HISTOGRAM_BUCKETS ? (double)bounds_us[b] : (double)t->longest_us) + 0.001);
	assert_true(us <= (double)t->longest_us + 0.001);
}

TEST(percentiles_lie_in_their_bucket)
{
	int64_t us[MOST];

	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		struct metrics_totals t = { .requests = 1 + (uint64_t)rand() % MOST };
		for (size_t i = 0; i < t.requests; i++) {
			us[i] = 1 + rand() % (1 << round % 25);
			t.durations[bucket_of(us[i])]++;
		}
		qsort(us, t.requests, sizeof(us[0]), by_size);
		t.longest_us = us[t.requests - 1];
		holds(&t, us, 0.5);
		holds(&t, us, 0.99);
		assert_true(metrics_quantile_ms(&t, 0.5) <= metrics_quantile_ms(&t, 0.99));
	}
}
