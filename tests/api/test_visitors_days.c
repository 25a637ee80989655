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

TEST(the_day_is_by_at_ms)
{
	static const struct {
		const char *at_ms, *day; /* NULL: out of range */
	} rows[] = {
		{ "1000000000000", "2001-09-09" },
		{ "1000079999999", "2001-09-09" },
		{ "1000080000000", "2001-09-10" },
		{ "1078012799999", "2004-02-28" },
		{ "1078012800000", "2004-02-29" },
		{ "1078099200000", "2004-03-01" },
		{ "4102444800000", "2100-01-01" },
		{ "-1", NULL },
		{ "0", NULL },
		{ "1795219450", NULL }, /* seconds */
		{ "999999999999", NULL },
		{ "4102444800001", NULL },
	};
	char body[96], key[64];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(body, sizeof(body), "{\"visitors\":[\"u\"],\"at_ms\":%s}", rows[i].at_ms);
		struct answer visited = post("/uv/d", body);
		snprintf(body, sizeof(body), "{\"at_ms\":%s}", rows[i].at_ms);
		struct answer viewed = post("/pv/d", body);
		if (!rows[i].day) {
			assert_problem(visited, 400, "out_of_range", "none");
			assert_problem(viewed, 400, "out_of_range", "none");
			continue;
		}
		assert_string_equal(text_at(visited, "/date"), rows[i].day);
		assert_string_equal(text_at(viewed, "/date"), rows[i].day);
		snprintf(key, sizeof(key), "p:uv:{d}:%s", rows[i].day);
		assert_int_equal(server_command(&redis, "EXISTS %s", key)->integer, 1);
	}
	const char *today = redis_today(0);
	assert_string_equal(text_at(post("/uv/d", "{\"visitors\":[\"u\"]}"), "/date"), today);
	assert_string_equal(text_at(post("/pv/d", NULL), "/date"), today);
	assert_int_equal(int_at(get("/uv/d"), "/count"), 1);
	assert_int_equal(int_at(get("/pv/d"), "/count"), 1);
}

TEST(the_day_is_by_date)
{
	static const struct {
		const char *date, *code; /* NULL: it is counted */
	} rows[] = {
		{ "1970-01-01", NULL },
		{ "2000-02-29", NULL },
		{ "2100-01-01", NULL },
		{ "1969-12-31", "out_of_range" },
		{ "2100-01-02", "out_of_range" },
		{ "0001-01-01", "out_of_range" },
		{ "2001-02-29", "invalid_value" },
		{ "2001-2-9", "out_of_range" },
	};
	char body[96], target[64];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(body, sizeof(body), "{\"visitors\":[\"u\"],\"date\":\"%s\"}", rows[i].date);
		struct answer visited = post("/uv/d", body);
		snprintf(body, sizeof(body), "{\"date\":\"%s\",\"by\":3}", rows[i].date);
		struct answer viewed = post("/pv/d", body);
		if (rows[i].code) {
			assert_problem(visited, 400, rows[i].code, "none");
			assert_problem(viewed, 400, rows[i].code, "none");
			assert_string_equal(text_at(viewed, "/errors/0/pointer"), "/date");
			continue;
		}
		assert_string_equal(text_at(visited, "/date"), rows[i].date);
		assert_string_equal(text_at(viewed, "/date"), rows[i].date);
		snprintf(target, sizeof(target), "/uv/d?to=%s", rows[i].date);
		assert_int_equal(int_at(get(target), "/count"), 1);
		snprintf(target, sizeof(target), "/pv/d?to=%s", rows[i].date);
		assert_int_equal(int_at(get(target), "/count"), 3);
	}
	struct answer a = post("/uv/d", "{\"visitors\":[\"u\"],\"at_ms\":1000000000000,\"date\":\"2000-01-01\"}");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/date");
	assert_problem(post("/pv/d", "{\"at_ms\":1000000000000,\"date\":\"2000-01-01\"}"), 400, "invalid_value",
		       "none");
	/* DELETE finds the last of these days. */
	assert_status(http(client, "DELETE", "/uv/d", NULL), 204);
	assert_status(http(client, "DELETE", "/pv/d", NULL), 204);
	assert_int_equal(server_keys(&redis), 0);
}

TEST(ranges_have_an_order_and_an_end)
{
	static const struct {
		const char *target, *pointer; /* NULL: 200 */
	} rows[] = {
		{ "/uv/a?from=2000-02-29&to=2001-04-03", NULL },    /* 400 days */
		{ "/uv/a?from=2000-02-29&to=2001-04-04", "?from" }, /* 401 */
		{ "/pv/a?from=2000-02-29&to=2001-04-03", NULL },
		{ "/pv/a?from=2000-02-29&to=2001-04-04", "?from" },
		{ "/uv/combine?name=a&name=b&from=2000-01-01&to=2000-07-18", NULL }, /* 2 x 200 */
		{ "/uv/combine?name=a&name=b&from=2000-01-01&to=2000-07-19", "?from" },
		{ "/uv/a?from=2000-03-01&to=2000-02-29", "?from" },
		{ "/pv/a?from=2000-03-01&to=2000-02-29", "?from" },
		{ "/uv/combine?name=a&from=2000-03-01&to=2000-02-29", "?from" },
		{ "/uv/a?from=9999-12-31", "?from" }, /* after today */
		{ "/pv/a?from=9999-12-31", "?from" },
		{ "/uv/a?from=2000-01-01", "?from" }, /* more than 400 days to today */
		{ "/uv/a?to=0001-01-01", NULL },
		{ "/uv/a?to=9999-12-31", NULL },
	};
	static const struct {
		const char *days, *pointer;
	} merges[] = {
		{ "\"from\":\"2000-01-01\",\"to\":\"2000-05-12\"", NULL }, /* 3 pages x 133 */
		{ "\"from\":\"2000-01-01\",\"to\":\"2000-05-13\"", "/from" },
		{ "\"from\":\"2000-01-02\",\"to\":\"2000-01-01\"", "/from" },
		{ "\"from\":\"9999-12-31\"", "/from" },
	};
	char body[128];

	for (size_t i = 0; i < COUNT(rows) + COUNT(merges); i++) {
		size_t m = i - COUNT(rows);
		bool is_merge = i >= COUNT(rows);
		snprintf(body, sizeof(body), "{\"sources\":[\"b\",\"c\"],%s}", is_merge ? merges[m].days : "");
		struct answer a = is_merge ? post("/uv/a/merge", body) : get(rows[i].target);
		const char *pointer = is_merge ? merges[m].pointer : rows[i].pointer;
		if (!pointer) {
			assert_status(a, 200);
			continue;
		}
		assert_problem(a, 400, "out_of_range", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), pointer);
	}
	assert_int_equal(json_array_size(json_at(get(rows[0].target), "/days")), 400);
}

TEST(a_day_must_be_one_of_the_calendar)
{
	static const char *const days[] = {
		"2026-02-30", "2025-02-29", "1900-02-29", "2026-13-01", "2026-00-01", "2026-11-00", "2026-11-31",
		"0000-01-01", "2026/11/20", "2026-11-2a", "today-0000", "+026-11-20", "2026-1-020",
	};
	static const char *const parameters[] = { "from", "to" }, *const targets[] = { "/uv/a?", "/pv/a?",
										       "/uv/combine?name=a&" };
	char target[96], body[96], pointer[16];

	for (size_t i = 0; i < COUNT(days); i++)
		for (size_t p = 0; p < 2; p++) {
			snprintf(target, sizeof(target), "%s%s=%s", targets[i % 3], parameters[p], days[i]);
			struct answer a = get(target);
			assert_problem(a, 400, "invalid_value", "none");
			snprintf(pointer, sizeof(pointer), "?%s", parameters[p]);
			assert_string_equal(text_at(a, "/errors/0/pointer"), pointer);
			snprintf(body, sizeof(body), "{\"sources\":[\"b\"],\"%s\":\"%s\"}", parameters[p], days[i]);
			a = post("/uv/a/merge", body);
			assert_problem(a, 400, "invalid_value", "none");
			assert_string_equal(text_at(a, "/errors/0/pointer") + 1, parameters[p]);
		}
	assert_problem(get("/uv/a?from=2026-1-1"), 400, NULL, "none");
	assert_status(get("/uv/a?to=2024-02-29"), 200);
}

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
