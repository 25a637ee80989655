/*
 * Days over HTTP: the day of a visit or view, ranges of days, how long they are kept, and that
 * Redis's clock alone defines today. (Counting: test_visitors.c.)
 */
#include <glob.h>
#include <time.h>

#include "stage.h"
#include "test.h"

enum { DAY_S = 86400, MIDNIGHT_S = 15, KEPT_DAYS = 30 };

#define FEB_29 "1078056000000" /* 2004-02-29, 12:00 */

/*
 * The day of Redis's clock, `days_on` days later, as text. If the day is about to end, this waits
 * for its end, since a test takes less than MIDNIGHT_S.
 */
static const char *redis_today(int days_on)
{
	static char day[16];
	struct tm tm;
	time_t now;

	wait_until((now = (time_t)atoll(server_command(&redis, "TIME")->element[0]->str)) % DAY_S < DAY_S - MIDNIGHT_S,
		   MIDNIGHT_S * 2000);
	now += (time_t)days_on * DAY_S;
	strftime(day, sizeof(day), "%Y-%m-%d", gmtime_r(&now, &tm));
	return day;
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(days_are_kept_for_the_retention_only)
{
	static const char *const keys[] = { "p:uv:{a}:2004-02-29", "p:pv:{a}:2004-02-29", "p:uv:{site}:2004-02-29" };
	struct daemon brief = { 0 };
	static const int kept_s[] = { 400 * DAY_S, KEPT_DAYS * DAY_S };

	daemon_start(&brief, "--redis", redis.url, "--uv-retention-days", "30");
	struct client *const clients[] = { client, client_open(brief.port) };
	for (size_t i = 0; i < 2; i++) {
		http(clients[i], "POST", "/uv/a", "{\"visitors\":[\"u\"],\"at_ms\":" FEB_29 "}");
		http(clients[i], "POST", "/pv/a", "{\"at_ms\":" FEB_29 "}");
		http(clients[i], "POST", "/uv/site/merge", "{\"sources\":[\"a\"],\"to\":\"2004-02-29\"}");
		for (size_t k = 0; k < 3; k++)
			assert_in_range(server_command(&redis, "TTL %s", keys[k])->integer, kept_s[i] - 60, kept_s[i]);
	}
	client_close(clients[1]);
	daemon_stop(&brief);
}

/* ---- Clocks ---- */

/*
 * The library that gives a process another clock; NULL when it is missing, or a sanitizer does not
 * allow it.
 */
static const char *fake_clock(void)
{
	static char path[256];
	static const char *const places[] = { "/usr/lib/*/faketime/libfaketime.so.1",
					      "/usr/lib/faketime/libfaketime.so.1" };
	glob_t found = { 0 };

#ifdef __SANITIZE_ADDRESS__
	print_message("skipped: AddressSanitizer must be the first library loaded\n");
	return NULL;
#endif
	for (size_t i = 0; i < 2 && !*path; i++)
		if (glob(places[i], 0, NULL, &found) == 0) {
			snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
			globfree(&found);
		}
	if (!*path) {
		print_message("skipped: there is no libfaketime (package faketime)\n");
		return NULL;
	}
	return path;
}

/*
 * The day in an answer's Date header, which is by the daemon's clock: "Sat, 21 Nov 2026 ..."
 * becomes 2026-11-21.
 */
static const char *daemons_day(struct answer a)
{
	static char day[16];
	struct tm tm = { 0 };

	assert_non_null(strptime(header_of(a, "Date"), "%a, %d %b %Y", &tm));
	strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	return day;
}

/* Whatever the daemon's clock shows, today is Redis's day, for counting, looking and merging. */
static void count_by(const char *preload, const char *offset, int days_off)
{
	char library[300], clock[64], target[96];
	const char *const env[] = { library, clock, "FAKETIME_DONT_FAKE_MONOTONIC=1", NULL };
	struct daemon wrong = { .proc.env = env };

	snprintf(library, sizeof(library), "LD_PRELOAD=%s", preload);
	snprintf(clock, sizeof(clock), "FAKETIME=%s", offset);
	daemon_start(&wrong, "--redis", redis.url);
	struct client *c = client_open(wrong.port);
	assert_string_equal(daemons_day(http(c, "GET", "/healthz", NULL)), redis_today(days_off));
	const char *today = redis_today(0);
	assert_string_equal(text_at(http(c, "POST", "/uv/a", "{\"visitors\":[\"u\"]}"), "/date"), today);
	assert_string_equal(text_at(http(c, "POST", "/pv/a", NULL), "/date"), today);
	assert_string_equal(text_at(http(c, "POST", "/uv/b/merge", "{\"sources\":[\"a\"]}"), "/to"), today);
	static const char *const looks[] = { "/uv/a", "/uv/b", "/pv/a", "/uv/combine?name=a&name=b" };
	for (size_t i = 0; i < 4; i++)
		for (int ranged = 0; ranged < 2; ranged++) {
			snprintf(target, sizeof(target), "%s%sfrom=%s", looks[i], strchr(looks[i], '?') ? "&" : "?",
				 today);
			struct answer a = http(c, "GET", ranged ? target : looks[i], NULL);
			assert_status(a, 200);
			assert_string_equal(text_at(a, "/from"), today);
			assert_string_equal(text_at(a, "/to"), today);
			assert_int_equal(int_at(a, "/count"), 1);
		}
	snprintf(target, sizeof(target), "/uv/a?from=%s", redis_today(1)); /* future by Redis's clock */
	assert_problem(http(c, "GET", target, NULL), 400, "out_of_range", "none");
	client_close(c);
	daemon_stop(&wrong);
	stage_forget(NULL);
}

TEST(today_is_by_the_clock_of_redis)
{
	const char *preload = fake_clock();

	if (!preload)
		skip();
	count_by(preload, "+0", 0);
	count_by(preload, "+3d", 3);
	count_by(preload, "-40d", -40);
}
