/*
 * Tests of calendar days: each day of ten thousand years becomes text and the same day again, and
 * texts that are not days are refused.
 */
#define _GNU_SOURCE
#include <time.h>

#include "core/day.h"
#include "stride.h"
#include "test.h"

static int64_t parsed(const char *text)
{
	int64_t day = INT64_MIN;

	if (!day_parse(text_of(text), &day))
		fail_msg("'%s' should be a day", text);
	return day;
}

TEST(known_days)
{
	assert_int_equal(parsed("1970-01-01"), 0);
	assert_int_equal(parsed("1969-12-31"), -1);
	assert_int_equal(parsed("2000-02-29"), 11016);
	assert_int_equal(parsed("2000-03-01"), 11017);
	assert_int_equal(parsed("2026-11-20"), 20777);
	assert_true(parsed("0001-01-01") == DAY_FIRST);
	assert_true(parsed("9999-12-31") == DAY_LAST);
}

/* glibc's calendar agrees, and each day's text reads back as that day. */
TEST(every_day_there_and_back)
{
	char text[DAY_TEXT_SIZE], wanted[16];

	const int64_t step = stride();

	for (int64_t day = DAY_FIRST; day <= DAY_LAST; day += day < 0 ? 17 * step : step) {
		day_print(day, text);
		int64_t back;
		if (!day_parse(text_of(text), &back) || back != day)
			fail_msg("day %lld is printed as %s", (long long)day, text);
		if (day % 13 != 0)
			continue;
		time_t seconds = (time_t)(day * 86400);
		struct tm tm;
		gmtime_r(&seconds, &tm);
		strftime(wanted, sizeof(wanted), "%m-%d", &tm);
		assert_string_equal(text + 5, wanted);
		assert_int_equal(strtol(text, NULL, 10), tm.tm_year + 1900);
	}
}

TEST(what_is_not_a_day)
{
	static const char *const wrong[] = {
		"",           "2026",       "2026-11",    "2026-11-2",  "2026-11-200", " 2026-11-20", "2026-11-20 ",
		"2026/11/20", "2026-1120-", "2026-00-01", "2026-13-01", "2026-01-00",  "2026-01-32",  "2026-04-31",
		"2026-02-29", "1900-02-29", "2100-02-29", "0000-01-01", "-001-01-01",  "+026-11-20",  "20 6-11-20",
		"2026-1a-20", "2026-11-0x", "today",
	};
	int64_t day = 7;

	for (size_t i = 0; i < COUNT(wrong); i++) {
		if (day_parse(text_of(wrong[i]), &day))
			fail_msg("'%s' should be no day", wrong[i]);
	}
	assert_false(day_parse((struct text){ "2026-11-2\0", 10 }, &day));
	assert_false(day_parse((struct text){ NULL, 0 }, &day));
	assert_int_equal(day, 7);
	assert_int_equal(parsed("2024-02-29") + 1, parsed("2024-03-01"));
}

TEST(days_of_instants)
{
	assert_int_equal(day_of_ms(0), 0);
	assert_int_equal(day_of_ms(DAY_MS - 1), 0);
	assert_int_equal(day_of_ms(DAY_MS), 1);
	assert_int_equal(day_of_ms(-1), -1);
	assert_int_equal(day_of_ms(-DAY_MS), -1);
	assert_int_equal(day_of_ms(-DAY_MS - 1), -2);
}

TEST(days_without_a_text)
{
	char text[DAY_TEXT_SIZE];

	day_print(INT64_MIN, text);
	assert_string_equal(text, "0001-01-01");
	day_print(INT64_MAX, text);
	assert_string_equal(text, "9999-12-31");
}
