/* Check-ins over HTTP: the figures of random ranges, and which clock defines today. */
#include <time.h>

#include "stage.h"
#include "test.h"

enum { DAY_S = 86400, MIDNIGHT_S = 15, TEXT = 32 };

/* Converts a day, counted from 1970, to a date by the C library's calendar. */
static const char *day_text(int64_t day)
{
	static char texts[4][TEXT];
	static unsigned turn;
	char *text = texts[turn++ % 4];
	time_t seconds = (time_t)(day * DAY_S);
	struct tm tm;

	strftime(text, TEXT, "%Y-%m-%d", gmtime_r(&seconds, &tm));
	return text;
}

/*
 * Returns Redis's day. If less than MIDNIGHT_S of the day are left, waits for the next day first:
 * no test takes longer than MIDNIGHT_S.
 */
static int64_t redis_today(void)
{
	int64_t now = 0;

	wait_until((now = server_now_ms(&redis) / 1000) % DAY_S < DAY_S - MIDNIGHT_S, MIDNIGHT_S * 2000);
	return now / DAY_S;
}

static struct answer check(const char *method, const char *user, const char *day)
{
	char target[96];

	snprintf(target, sizeof(target), "/checkins/%s/days/%s", user, day);
	return http(client, method, target, NULL);
}

static void check_in(const char *user, const char *day)
{
	assert_int_equal(check("PUT", user, day).status / 100, 2);
}

static struct answer look(const char *user, const char *from, const char *to)
{
	char target[128];

	snprintf(target, sizeof(target), "/checkins/%s?from=%s&to=%s", user, from, to);
	struct answer a = get(target);
	assert_status(a, 200);
	return a;
}

static const char *date_at(struct answer a, size_t i)
{
	return json_string_value(json_object_get(json_array_get(json_at(a, "/days"), i), "date"));
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

struct story {
	const char *days[10]; /* ends with NULL */
	const char *from, *to;
	int count, current, longest;
	const char *first; /* NULL: no day */
};

/*
 * Checks every figure of random ranges against a plain table of random days. The days cover four
 * years, one of them a leap year.
 */
TEST(figures_match_a_plain_table)
{
	enum { DAYS = 1461, FIRST = 19723 - 366 * 2 }; /* from 2021-12-30 to 2025-12-29, with 2024-02-29 */
	static bool noted[DAYS];
	unsigned seed = 3;

	for (int at = 0; at < DAYS; at++) {
		noted[at] = rand_r(&seed) % 8 > 0;
		if (noted[at])
			check_in("u", day_text(FIRST + at));
	}
	for (int i = 0; i < 40; i++) {
		int from = rand_r(&seed) % DAYS, to = from + rand_r(&seed) % (DAYS - from);
		int count = 0, longest = 0, current = 0, end = noted[to] ? to : to - 1;
		struct answer a = look("u", day_text(FIRST + from), day_text(FIRST + to));
		for (int at = from; at <= to; at++) {
			int run = 0;
			while (at + run <= to && noted[at + run])
				run++;
			longest = run > longest ? run : longest;
			if (noted[at])
				assert_string_equal(date_at(a, (size_t)count++), day_text(FIRST + at));
		}
		while (end - current >= from && noted[end - current])
			current++;
		assert_int_equal(int_at(a, "/count"), count);
		assert_int_equal(json_array_size(json_at(a, "/days")), count);
		assert_int_equal(int_at(a, "/longest_streak"), longest);
		assert_int_equal(int_at(a, "/current_streak"), current);
	}
}

TEST(today_is_redis_s)
{
	int64_t today = redis_today();
	for (int64_t day = today - 2; day <= today; day++)
		check_in("u", day_text(day));
	struct answer a = get("/checkins/u");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/to"), day_text(today));
	assert_string_equal(text_at(a, "/from"), day_text(today - 365));
	assert_int_equal(int_at(a, "/current_streak"), 3);
	check("DELETE", "u", day_text(today));
	assert_int_equal(int_at(get("/checkins/u"), "/current_streak"), 2); /* today may still be marked */
	check("DELETE", "u", day_text(today - 1));
	assert_int_equal(int_at(get("/checkins/u"), "/current_streak"), 0);
	assert_int_equal(int_at(get("/checkins/u"), "/longest_streak"), 1);
}
