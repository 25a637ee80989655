/* Tests of backoff: the range of each wait. Each row is drawn often enough to see both ends. */
#include "core/backoff.h"
#include "test.h"

enum { DRAWS = 4000 };

TEST(ranges)
{
	static const struct {
		unsigned failures;
		int64_t first_ms, max_ms, min_ms, low, high;
	} rows[] = {
		{ 0, 4, 1000, 0, 2, 4 },          { 3, 4, 1000, 0, 16, 32 },
		{ 20, 4, 1000, 0, 500, 1000 },    { 4000000000, 4, 1000, 0, 500, 1000 },
		{ 0, 100, 10000, 100, 100, 150 }, { 1, 100, 10000, 100, 100, 200 },
		{ 2, 100, 10000, 100, 200, 400 }, { 0, 4, 1000, 5000, 5000, 7500 },
		{ 9, 4, 1000, 5000, 5000, 7500 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t least = INT64_MAX, most = 0, slack = (rows[i].high - rows[i].low) / 10;
		for (int n = 0; n < DRAWS; n++) {
			int64_t ms = backoff_ms(rows[i].failures, rows[i].first_ms, rows[i].max_ms, rows[i].min_ms);
			least = ms < least ? ms : least;
			most = ms > most ? ms : most;
		}
		assert_in_range(least, rows[i].low, rows[i].low + slack);
		assert_in_range(most, rows[i].high - slack, rows[i].high);
	}
}
