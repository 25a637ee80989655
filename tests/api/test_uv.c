/*
 * Visitors and page views over HTTP: what is counted, in which day, over which range, and for how long it is kept. (Days by
 * clocks that disagree: test_uv_clock.c.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "daemon.h"
#include "http.h"
#include "redis_server.h"

enum { DAY_S = 86400, MIDNIGHT_S = 15, KEPT_DAYS = 30 };

/* 29 February and 1 March 2000, 12:00. */
#define FEB_29 "951825600000"
#define MAR_1 "951912000000"

static struct redis_server redis;
static struct daemon patternd, brief; /* as it is by default, and one that keeps for KEPT_DAYS only */
static struct client *client, *brief_client;

static int start(void **state)
{
	(void)state;
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url);
	daemon_start(&brief, "--redis", redis.url, "--uv-retention-days", "30");
	client = client_open(patternd.port);
	brief_client = client_open(brief.port);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	client_close(client);
	client_close(brief_client);
	daemon_stop(&patternd);
	daemon_stop(&brief);
	server_stop(&redis);
	return 0;
}

static int forget_all(void **state)
{
	(void)state;
	server_command(&redis, "FLUSHALL");
	return 0;
}

static struct answer get(const char *target)
{
	return http(client, "GET", target, NULL);
}

static struct answer post(const char *target, const char *body)
{
	return http(client, "POST", target, body);
}

/* Counts these visitors (JSON strings) at an instant; says what of it changed. */
static bool visit(const char *page, const char *visitors, const char *at_ms)
{
	char target[96], body[256];

	snprintf(target, sizeof(target), "/uv/%s", page);
	snprintf(body, sizeof(body), "{\"visitors\":[%s],\"at_ms\":%s}", visitors, at_ms);
	struct answer a = post(target, body);
	assert_status(a, 200);
	return bool_at(a, "/changed");
}

/* The day of Redis's clock as text. One that is about to end is waited out: a test is done within MIDNIGHT_S. */
static const char *redis_today(void)
{
	static char day[16];
	struct tm tm;
	time_t now;

	wait_until((now = (time_t)atoll(server_command(&redis, "TIME")->element[0]->str)) % DAY_S < DAY_S - MIDNIGHT_S,
		   MIDNIGHT_S * 2000);
	strftime(day, sizeof(day), "%Y-%m-%d", gmtime_r(&now, &tm));
	return day;
}

/* The answer's days as one line of text: 2000-02-29 3, 2000-03-01 0 */
static const char *days_of(struct answer a)
{
	static char line[512];
	size_t i, n = 0, count = json_array_size(json_at(a, "/days"));

	line[0] = '\0';
	for (i = 0; i < count && n < sizeof(line); i++) {
		const json_t *day = json_array_get(json_at(a, "/days"), i);
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s %lld", i ? ", " : "",
				      json_string_value(json_object_get(day, "day")),
				      (long long)json_integer_value(json_object_get(day, "count")));
	}
	return line;
}

/* ---- Counting ---- */

static void a_visitor_counts_once_a_day(void **state)
{
	(void)state;
	assert_true(visit("home", "\"u1\",\"u2\"", FEB_29));
	assert_false(visit("home", "\"u2\",\"u1\",\"u1\"", FEB_29));
	assert_true(visit("home", "\"u3\"", FEB_29));
	assert_true(visit("home", "\"u3\",\"u4\"", MAR_1));
	struct answer a = get("/uv/home?from=2000-02-28&to=2000-03-02");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/page"), "home");
	assert_string_equal(text_at(a, "/from"), "2000-02-28");
	assert_string_equal(text_at(a, "/to"), "2000-03-02");
	assert_int_equal(int_at(a, "/count"), 4); /* the union, not the sum */
	assert_string_equal(days_of(a), "2000-02-28 0, 2000-02-29 3, 2000-03-01 2, 2000-03-02 0");
	assert_true(real_at(a, "/standard_error") == 0.0081);
	assert_int_equal(int_at(get("/uv/home?from=2000-03-01&to=2000-03-01"), "/count"), 2);
	assert_string_equal(days_of(get("/uv/home?to=2000-02-29")), "2000-02-29 3"); /* no from: one day */
}

static void a_page_never_used_has_zeros(void **state)
{
	(void)state;
	static const char *const targets[] = { "/uv/nothing", "/pv/nothing" };
	for (int i = 0; i < 2; i++) {
		const char *today = redis_today();
		struct answer a = get(targets[i]);
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/count"), 0);
		assert_string_equal(text_at(a, "/from"), today);
		assert_string_equal(text_at(a, "/to"), today);
		assert_int_equal(json_array_size(json_at(a, "/days")), 1);
	}
	struct answer a = get("/uv?pages=x&pages=y");
	assert_int_equal(int_at(a, "/count"), 0);
	assert_int_equal(json_array_size(json_at(a, "/pages")), 2);
	assert_int_equal(server_command(&redis, "DBSIZE")->integer, 0); /* a look leaves nothing */
}

static void the_day_is_that_of_at_ms(void **state)
{
	static const struct {
		const char *at_ms, *day; /* NULL: out of range */
	} rows[] = {
		{ "0", "1970-01-01" }, { "86399999", "1970-01-01" }, { "86400000", "1970-01-02" },
		{ "951782399999", "2000-02-28" }, { "951782400000", "2000-02-29" }, { "951868800000", "2000-03-01" },
		{ "4102444800000", "2100-01-01" }, { "-1", NULL }, { "4102444800001", NULL },
	};
	char body[96], key[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(body, sizeof(body), "{\"visitors\":[\"u\"],\"at_ms\":%s}", rows[i].at_ms);
		struct answer visited = post("/uv/d", body);
		snprintf(body, sizeof(body), "{\"at_ms\":%s}", rows[i].at_ms);
		struct answer viewed = post("/pv/d", body);
		if (!rows[i].day) {
			assert_problem(visited, 400, "out_of_range", "none");
			assert_problem(viewed, 400, "out_of_range", "none");
			continue;
		}
		assert_string_equal(text_at(visited, "/day"), rows[i].day);
		assert_string_equal(text_at(viewed, "/day"), rows[i].day);
		snprintf(key, sizeof(key), "p:uv:{d}:%s", rows[i].day);
		assert_int_equal(server_command(&redis, "EXISTS %s", key)->integer, 1);
	}
	const char *today = redis_today();
	assert_string_equal(text_at(post("/uv/d", "{\"visitors\":[\"u\"]}"), "/day"), today);
	assert_string_equal(text_at(post("/pv/d", NULL), "/day"), today);
	assert_int_equal(int_at(get("/uv/d"), "/count"), 1);
	assert_int_equal(int_at(get("/pv/d"), "/count"), 1);
}

/* Ten thousand visitors, counted within three standard errors. */
static void the_estimate_is_as_good_as_told(void **state)
{
	char body[16384];

	(void)state;
	for (int call = 0; call < 10; call++) {
		int n = snprintf(body, sizeof(body), "{\"at_ms\":0,\"visitors\":[");
		for (int i = 0; i < 1000; i++)
			n += snprintf(body + n, sizeof(body) - (size_t)n, "%s\"v%d\"", i ? "," : "", call * 1000 + i);
		snprintf(body + n, sizeof(body) - (size_t)n, "]}");
		assert_status(post("/uv/crowd", body), 200);
	}
	assert_in_range(int_at(get("/uv/crowd?to=1970-01-01"), "/count"), 10000 - 243, 10000 + 243);
}

static void visitors_are_one_to_a_thousand(void **state)
{
	char body[8192];

	(void)state;
	int n = snprintf(body, sizeof(body), "{\"visitors\":[\"u\"");
	for (int i = 0; i < 1000; i++)
		n += snprintf(body + n, sizeof(body) - (size_t)n, ",\"u\"");
	snprintf(body + n, sizeof(body) - (size_t)n, "]}");
	assert_problem(post("/uv/a", body), 400, "out_of_range", "none");
	assert_problem(post("/uv/a", "{\"visitors\":[]}"), 400, "out_of_range", "none");
	assert_problem(post("/uv/a", "{\"visitors\":[\"\"]}"), 400, NULL, "none");
	assert_problem(post("/uv/a", "{}"), 400, "missing_field", "none");
	assert_int_equal(server_command(&redis, "DBSIZE")->integer, 0);
}

static void several_pages_make_one_union(void **state)
{
	(void)state;
	visit("a", "\"u1\",\"u2\"", FEB_29);
	visit("a", "\"u3\"", MAR_1);
	visit("b", "\"u2\",\"u3\",\"u4\"", MAR_1);
	struct answer a = get("/uv?pages=b&pages=a&pages=nothing&from=2000-02-29&to=2000-03-01");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/count"), 4);
	assert_int_equal(json_array_size(json_at(a, "/pages")), 3);
	assert_string_equal(text_at(a, "/pages/0/page"), "b");
	assert_int_equal(int_at(a, "/pages/0/count"), 3);
	assert_string_equal(text_at(a, "/pages/1/page"), "a");
	assert_int_equal(int_at(a, "/pages/1/count"), 3);
	assert_int_equal(int_at(a, "/pages/2/count"), 0);
	assert_int_equal(int_at(get("/uv?pages=a&pages=b&to=2000-03-01"), "/count"), 3);
	assert_problem(get("/uv"), 400, "missing_field", "none");
}

static void merge_goes_day_by_day(void **state)
{
	static const char body[] = "{\"sources\":[\"a\",\"b\"],\"from\":\"2000-02-28\",\"to\":\"2000-03-01\"}";

	(void)state;
	visit("a", "\"u1\",\"u2\"", FEB_29);
	visit("b", "\"u2\",\"u3\"", FEB_29);
	visit("b", "\"u4\"", MAR_1);
	visit("site", "\"u9\"", MAR_1);
	for (int i = 0; i < 2; i++) { /* the second time changes nothing */
		struct answer a = post("/uv/site/merge", body);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/page"), "site");
		assert_string_equal(text_at(a, "/from"), "2000-02-28");
		assert_string_equal(text_at(a, "/to"), "2000-03-01");
		assert_int_equal(int_at(a, "/days"), 2);
		a = get("/uv/site?from=2000-02-28&to=2000-03-01");
		assert_string_equal(days_of(a), "2000-02-28 0, 2000-02-29 3, 2000-03-01 2");
		assert_int_equal(int_at(a, "/count"), 5);
	}
	assert_string_equal(days_of(get("/uv/b?from=2000-02-29&to=2000-03-01")), "2000-02-29 2, 2000-03-01 1");
	assert_int_equal(server_command(&redis, "EXISTS p:uv:{site}:2000-02-28")->integer, 0);
	const char *today = redis_today();
	struct answer a = post("/uv/site/merge", "{\"sources\":[\"a\"]}");
	assert_int_equal(int_at(a, "/days"), 0);
	assert_string_equal(text_at(a, "/from"), today);
	assert_string_equal(text_at(a, "/to"), today);
}

/* ---- Ranges ---- */

static void ranges_have_an_order_and_an_end(void **state)
{
	static const struct {
		const char *target, *pointer; /* NULL: 200 */
	} rows[] = {
		{ "/uv/a?from=2000-02-29&to=2001-04-03", NULL },                        /* 400 days */
		{ "/uv/a?from=2000-02-29&to=2001-04-04", "?from" },                     /* 401 */
		{ "/pv/a?from=2000-02-29&to=2001-04-03", NULL },
		{ "/pv/a?from=2000-02-29&to=2001-04-04", "?from" },
		{ "/uv?pages=a&pages=b&from=2000-01-01&to=2000-07-18", NULL },          /* 2 x 200 */
		{ "/uv?pages=a&pages=b&from=2000-01-01&to=2000-07-19", "?from" },
		{ "/uv/a?from=2000-03-01&to=2000-02-29", "?from" },
		{ "/pv/a?from=2000-03-01&to=2000-02-29", "?from" },
		{ "/uv?pages=a&from=2000-03-01&to=2000-02-29", "?from" },
		{ "/uv/a?from=9999-12-31", "?from" },                                   /* after today */
		{ "/pv/a?from=9999-12-31", "?from" },
		{ "/uv/a?from=2000-01-01", "?from" },                                   /* more than 400 days to today */
		{ "/uv/a?to=0001-01-01", NULL },
		{ "/uv/a?to=9999-12-31", NULL },
	};
	static const struct {
		const char *days, *pointer;
	} merges[] = {
		{ "\"from\":\"2000-01-01\",\"to\":\"2000-05-12\"", NULL },              /* 3 pages x 133 */
		{ "\"from\":\"2000-01-01\",\"to\":\"2000-05-13\"", "/from" },
		{ "\"from\":\"2000-01-02\",\"to\":\"2000-01-01\"", "/from" },
		{ "\"from\":\"9999-12-31\"", "/from" },
	};
	char body[128];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) + sizeof(merges) / sizeof(*merges); i++) {
		size_t m = i - sizeof(rows) / sizeof(*rows);
		bool is_merge = i >= sizeof(rows) / sizeof(*rows);
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

static void a_day_must_be_one_of_the_calendar(void **state)
{
	static const char *const days[] = {
		"2026-02-30", "2025-02-29", "1900-02-29", "2026-13-01", "2026-00-01", "2026-11-00", "2026-11-31", "0000-01-01",
		"2026/11/20", "2026-11-2a", "today-0000", "+026-11-20", "2026-1-020",
	};
	static const char *const parameters[] = { "from", "to" }, *const targets[] = { "/uv/a?", "/pv/a?", "/uv?pages=a&" };
	char target[96], body[96], pointer[16];

	(void)state;
	for (size_t i = 0; i < sizeof(days) / sizeof(*days); i++)
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

/* ---- Page views ---- */

static void views_add_up(void **state)
{
	(void)state;
	struct answer a = post("/pv/home", NULL);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/page"), "home");
	assert_int_equal(int_at(a, "/count"), 1);
	forget_all(NULL);
	assert_int_equal(int_at(post("/pv/home", "{\"by\":5,\"at_ms\":" FEB_29 "}"), "/count"), 5);
	assert_int_equal(int_at(post("/pv/home", "{\"at_ms\":" FEB_29 "}"), "/count"), 6);
	assert_int_equal(int_at(post("/pv/home", "{\"by\":1000000000,\"at_ms\":" MAR_1 "}"), "/count"), 1000000000);
	a = get("/pv/home?from=2000-02-28&to=2000-03-01");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/count"), 1000000006);
	assert_string_equal(days_of(a), "2000-02-28 0, 2000-02-29 6, 2000-03-01 1000000000");
	static const char *const wrong[] = { "{\"by\":0}", "{\"by\":-1}", "{\"by\":1000000001}" };
	for (size_t i = 0; i < 3; i++)
		assert_problem(post("/pv/home", wrong[i]), 400, "out_of_range", "none");
	assert_problem(post("/pv/home", "{\"by\":1.5}"), 400, "wrong_type", "none");
}

static void views_past_2_53_leave_as_text(void **state)
{
	(void)state;
	server_command(&redis, "MSET p:pv:{big}:2000-02-29 9007199254740992 p:pv:{big}:2000-03-01 9007199254740993");
	struct answer a = get("/pv/big?from=2000-02-29&to=2000-03-01");
	assert_string_equal(text_at(a, "/count"), "18014398509481985");
	assert_string_equal(text_at(a, "/days/1/count"), "9007199254740993");
	assert_string_equal(text_at(post("/pv/big", "{\"at_ms\":" MAR_1 "}"), "/count"), "9007199254740994");
}

/* ---- What is kept ---- */

static void a_retry_counts_once(void **state)
{
	static const struct {
		const char *target, *body, *other_body, *pointer;
	} rows[] = {
		{ "/pv/home", "{\"by\":3,\"at_ms\":0}", "{\"by\":4,\"at_ms\":0}", "/count" },
		{ "/uv/home", "{\"visitors\":[\"u\"],\"at_ms\":0}", "{\"visitors\":[\"v\"],\"at_ms\":0}", "/changed" },
		{ "/uv/site/merge", "{\"sources\":[\"home\"],\"to\":\"1970-01-01\"}", "{\"sources\":[\"x\"]}", "/days" },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct answer first = http(client, "POST", rows[i].target, rows[i].body, "Idempotency-Key: one");
		struct answer again = http(client, "POST", rows[i].target, rows[i].body, "Idempotency-Key: one");
		assert_status(first, 200);
		assert_true(json_equal(first.json, again.json));
		assert_non_null(json_at(again, rows[i].pointer));
		assert_problem(http(client, "POST", rows[i].target, rows[i].other_body, "Idempotency-Key: one"), 422,
			       "idempotency_key_reused", "none");
	}
	assert_int_equal(int_at(get("/pv/home?to=1970-01-01"), "/count"), 3);
	assert_int_equal(int_at(get("/uv/site?to=1970-01-01"), "/count"), 1);
}

static void days_are_kept_for_the_retention_only(void **state)
{
	static const char *const keys[] = { "p:uv:{a}:2000-02-29", "p:pv:{a}:2000-02-29", "p:uv:{site}:2000-02-29" };
	struct client *const clients[] = { client, brief_client };
	static const int kept_s[] = { 400 * DAY_S, KEPT_DAYS * DAY_S };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		http(clients[i], "POST", "/uv/a", "{\"visitors\":[\"u\"],\"at_ms\":" FEB_29 "}");
		http(clients[i], "POST", "/pv/a", "{\"at_ms\":" FEB_29 "}");
		http(clients[i], "POST", "/uv/site/merge", "{\"sources\":[\"a\"],\"to\":\"2000-02-29\"}");
		for (size_t k = 0; k < 3; k++)
			assert_in_range(server_command(&redis, "TTL %s", keys[k])->integer, kept_s[i] - 60, kept_s[i]);
	}
}

static void pages_are_listed_once(void **state)
{
	char target[64], cursor[80] = "";
	bool seen[30] = { false };
	int distinct = 0, pages = 0;

	(void)state;
	for (int i = 0; i < 30; i++) {
		snprintf(target, sizeof(target), "page%d", i);
		visit(target, "\"u\"", FEB_29);
		visit(target, "\"u\"", MAR_1);
	}
	post("/pv/views-only", NULL);
	struct answer a = get("/uv/pages");
	assert_int_equal(json_array_size(json_at(a, "/items")), 30); /* a day each is no item of its own */
	assert_true(json_is_null(json_at(a, "/cursor")));
	assert_int_equal(json_array_size(json_at(get("/uv/pages?match=page2*"), "/items")), 11);
	do {
		snprintf(target, sizeof(target), "/uv/pages?limit=4%s%s", *cursor ? "&cursor=" : "", cursor);
		a = get(target);
		size_t n = json_array_size(json_at(a, "/items"));
		assert_true(n <= 4);
		for (size_t i = 0; i < n; i++) {
			const json_t *item = json_array_get(json_at(a, "/items"), i);
			int at = atoi(json_string_value(json_object_get(item, "page")) + strlen("page"));
			distinct += !seen[at];
			seen[at] = true;
		}
		snprintf(cursor, sizeof(cursor), "%s", json_is_null(json_at(a, "/cursor")) ? "" : text_at(a, "/cursor"));
		assert_true(++pages < 200);
	} while (*cursor);
	assert_int_equal(distinct, 30);
}

static void names_of_all_kinds(void **state)
{
	static const char *const rows[][2] = {
		{ "a%2Fb", "a/b" }, { "caf%C3%A9", "café" }, { "%E9%A6%96%E9%A1%B5", "首页" }, { "x:2000-01-01", "x:2000-01-01" },
	};
	static const char *const reserved[][3] = {
		{ "POST", "/uv/pages", "{\"visitors\":[\"u\"]}" }, { "GET", "/uv/%2E", NULL },
		{ "GET", "/uv?pages=a&pages=pages", NULL }, { "POST", "/uv/..//merge" + 0, NULL },
	};
	char target[96];

	(void)state;
	(void)reserved;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		visit(rows[i][0], "\"ü/1\"", FEB_29);
		snprintf(target, sizeof(target), "/uv/%s?to=2000-02-29", rows[i][0]);
		assert_string_equal(text_at(get(target), "/page"), rows[i][1]);
		assert_int_equal(int_at(get(target), "/count"), 1);
	}
	assert_int_equal(json_array_size(json_at(get("/uv/pages"), "/items")), sizeof(rows) / sizeof(*rows));
}
