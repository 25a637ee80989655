/*
 * Tests of rules by which clocks change each year: which are read, when the clocks change, and
 * which are refused.
 */
#include "core/day.h"
#include "core/tz_rule.h"
#include "test.h"

enum { HOUR_S = 3600, DAY_S = 86400 };

static struct tz_rule rule_of(const char *text)
{
	struct tz_rule rule;

	if (!tz_rule_read(&rule, text_of(text)))
		fail_msg("'%s' is no rule", text);
	return rule;
}

/* The rule makes the changes that zdump prints. */
TEST(changes_follow_the_rule)
{
	static const struct {
		const char *text;
		int year, month, day, hour, offset_s; /* in UTC, of the first change */
		int next_month, next_day, next_hour;
	} rows[] = {
		{ "CET-1CEST,M3.5.0,M10.5.0/3", 2026, 3, 29, 1, 7200, 10, 25, 1 },
		{ "EST5EDT,M3.2.0,M11.1.0", 2027, 3, 14, 7, -14400, 11, 7, 6 },
		{ "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 2026, 4, 4, 15, 37800, 10, 3, 15 },
		{ "IST-1GMT0,M10.5.0,M3.5.0/1", 2026, 3, 29, 1, 3600, 10, 25, 1 },
		{ "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2026, 3, 29, 1, -3600, 10, 25, 1 },
		{ "XXX0YYY,J60/0,J300/1", 2028, 3, 1, 0, 3600, 10, 27, 0 }, /* not 29 February */
		{ "XXX0YYY,59/0,299/1", 2028, 2, 29, 0, 3600, 10, 26, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct tz_rule rule = rule_of(rows[i].text);
		struct tz_change first = tz_rule_next(&rule, day_of_date(rows[i].year, 1, 2) * DAY_S);
		struct tz_change next = tz_rule_next(&rule, first.at);
		int64_t half = strncmp(rows[i].text, "<+1030>", 7) == 0 ? HOUR_S / 2 : 0; /* Lord Howe */
		assert_int_equal(first.at,
				 day_of_date(rows[i].year, rows[i].month, rows[i].day) * DAY_S + rows[i].hour * HOUR_S);
		assert_int_equal(first.offset_s, rows[i].offset_s);
		assert_int_equal(next.at, day_of_date(rows[i].year, rows[i].next_month, rows[i].next_day) * DAY_S +
						  rows[i].next_hour * HOUR_S + half);
		assert_int_equal(tz_rule_latest(&rule, next.at - 1).at, first.at);
		assert_int_equal(tz_rule_latest(&rule, next.at).at, next.at);
	}
}

/*
 * RFC 9636 writes summer time that never ends as summer time that begins at the moment it ended.
 */
TEST(what_never_changes_is_known)
{
	static const struct {
		const char *text;
		int offset_s;
	} rows[] = {
		{ "UTC0", 0 },
		{ "<+0545>-5:45", 20700 },
		{ "EST5EDT,0/0,J365/25", -14400 },
		{ "<-04>4<-03>3,0/0,J365/25", -10800 },
		{ "AAA3BBB3,M3.1.0,M10.1.0", -10800 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct tz_rule rule = rule_of(rows[i].text);
		assert_false(rule.changes);
		assert_int_equal(rule.standard_s, rows[i].offset_s);
	}
}

TEST(what_is_not_a_rule_is_refused)
{
	static const char *const texts[] = {
		"",
		"CET",
		"-1",
		"CE-1",
		"CET-1CEST",
		"CET-1CEST,M3.5.0",
		"CET-1CEST,M3.5.0,",
		"CET-1CEST,M3.5.0,M10.5.0/3x",
		"CET-1CEST,M0.5.0,M10.5.0/3",
		"CET-1CEST,M13.5.0,M10.5.0/3",
		"CET-1CEST,M3.6.0,M10.5.0/3",
		"CET-1CEST,M3.5.7,M10.5.0/3",
		"CET-1CEST,J0,M10.5.0/3",
		"CET-1CEST,J366,M10.5.0/3",
		"CET-1CEST,366,M10.5.0/3",
		"CET-1CEST,M3.5.0/168,M10.5.0/3",
		"CET-1CEST,M3.5.0/2:60,M10.5.0/3",
		"CET-25",
		"<CET-1",
		"<C T>-1",
		"CET-1CEST-,M3.5.0,M10.5.0/3",
		"CET-1 CEST,M3.5.0,M10.5.0/3",
		"CET-00001",
		"CET1:",
	};
	struct tz_rule rule;

	for (size_t i = 0; i < COUNT(texts); i++)
		if (tz_rule_read(&rule, text_of(texts[i])))
			fail_msg("'%s' was taken", texts[i]);
}
