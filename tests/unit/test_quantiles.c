/* Quantiles of durations: within the bucket that they fall into, growing, and never above the longest duration of their interval. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../service/core/loop.h"
#include "../../service/process/metrics.h"

static struct metrics_durations begin(void)
{
	struct metrics_durations before = metrics_durations();

	metrics_interval();
	return before;
}

static void never_above_the_longest(void **state)
{
	static const double parts[] = { 0, 0.01, 0.5, 0.9, 0.99, 1 };
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct metrics_durations before = begin();
		int64_t longest = 0, most = (int64_t)1 << (4 + round % 22); /* from 16 us to 33 s */
		for (int i = rand_r(&seed) % 20; i >= 0; i--) {
			int64_t us = rand_r(&seed) % most;
			metrics_request(NULL, 200, us, 0);
			longest = us > longest ? us : longest;
		}
		struct metrics_durations now = metrics_durations();
		double last = 0;
		for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
			double ms = metrics_quantile_ms(&before, &now, parts[p]);
			assert_true(ms >= last && ms * 1000 <= (double)longest + 0.001);
			last = ms;
		}
		assert_true(last * 1000 >= (double)longest - 0.001); /* all took no longer than the longest */
	}
}

static void without_the_wait(void **state)
{
	struct metrics_durations before = begin();

	(void)state;
	metrics_request(NULL, 200, 30000000, 29999900);
	struct metrics_durations now = metrics_durations();
	assert_int_equal(now.count - before.count, 1);
	assert_true(metrics_quantile_ms(&before, &now, 1) <= 0.1);
}

static int set_up(void **state)
{
	(void)state;
	return loop_open() && metrics_open() ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	metrics_close();
	loop_close();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_above_the_longest),
		cmocka_unit_test(without_the_wait),
	};

	return cmocka_run_group_tests_name("quantiles", tests, set_up, tear_down);
}
