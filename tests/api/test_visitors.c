/*
 * Visitors and page views over HTTP: counting, unions, merges, lists and replays. (Days:
 * test_visitors_days.c.)
 */
#include "stage.h"
#include "test.h"

/* 29 February and 1 March 2000, 12:00. */
#define FEB_29 "1078056000000"
#define MAR_1 "1078142400000"

/* Counts these visitors (JSON strings) at an instant; returns whether that changed anything. */
static bool visit(const char *page, const char *visitors, const char *at_ms)
{
	char target[96], body[256];

	snprintf(target, sizeof(target), "/uv/%s", page);
	snprintf(body, sizeof(body), "{\"visitors\":[%s],\"at_ms\":%s}", visitors, at_ms);
	struct answer a = post(target, body);
	assert_status(a, 200);
	return bool_at(a, "/changed");
}

/* The answer's days as one line of text: 2004-02-29 3, 2004-03-01 0 */
static const char *days_of(struct answer a)
{
	static char line[512];
	size_t i, n = 0, count = json_array_size(json_at(a, "/days"));

	line[0] = '\0';
	for (i = 0; i < count && n < sizeof(line); i++) {
		const json_t *day = json_array_get(json_at(a, "/days"), i);
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s %lld", i ? ", " : "",
				      json_string_value(json_object_get(day, "date")),
				      (long long)json_integer_value(json_object_get(day, "count")));
	}
	return line;
}

/* ---- Counting ---- */

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(a_visitor_counts_once_a_day)
{
	assert_true(visit("home", "\"u1\",\"u2\"", FEB_29));
	assert_false(visit("home", "\"u2\",\"u1\",\"u1\"", FEB_29));
	assert_true(visit("home", "\"u3\"", FEB_29));
	assert_true(visit("home", "\"u3\",\"u4\"", MAR_1));
	struct answer a = get("/uv/home?from=2004-02-28&to=2004-03-02");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "home");
	assert_string_equal(text_at(a, "/from"), "2004-02-28");
	assert_string_equal(text_at(a, "/to"), "2004-03-02");
	assert_int_equal(int_at(a, "/count"), 4); /* the union, not the sum */
	assert_string_equal(days_of(a), "2004-02-28 0, 2004-02-29 3, 2004-03-01 2, 2004-03-02 0");
	assert_true(real_at(a, "/standard_error") == 0.0081);
	assert_int_equal(int_at(get("/uv/home?from=2004-03-01&to=2004-03-01"), "/count"), 2);
	assert_string_equal(days_of(get("/uv/home?to=2004-02-29")), "2004-02-29 3"); /* without `from` it is one day */
}

TEST(a_page_never_used_has_zeros)
{
	assert_int_equal(int_at(get("/uv/nothing"), "/count"), 0);
	assert_int_equal(int_at(get("/pv/nothing"), "/count"), 0);
	struct answer a = get("/uv/combine?name=x&name=y");
	assert_int_equal(int_at(a, "/count"), 0);
	assert_int_equal(json_array_size(json_at(a, "/pages")), 2);
	assert_int_equal(server_keys(&redis), 0); /* a read creates no key */
}

/* Ten thousand visitors, counted within three standard errors. */
TEST(the_estimate_is_as_good_as_documented)
{
	char body[16384];

	for (int call = 0; call < 10; call++) {
		int n = snprintf(body, sizeof(body), "{\"at_ms\":1000000000000,\"visitors\":[");
		for (int i = 0; i < 1000; i++)
			n += snprintf(body + n, sizeof(body) - (size_t)n, "%s\"v%d\"", i ? "," : "", call * 1000 + i);
		snprintf(body + n, sizeof(body) - (size_t)n, "]}");
		assert_status(post("/uv/crowd", body), 200);
	}
	assert_in_range(int_at(get("/uv/crowd?to=2001-09-09"), "/count"), 10000 - 243, 10000 + 243);
}

TEST(visitors_are_one_to_a_thousand)
{
	char body[8192];

	int n = snprintf(body, sizeof(body), "{\"visitors\":[\"u\"");
	for (int i = 0; i < 1000; i++)
		n += snprintf(body + n, sizeof(body) - (size_t)n, ",\"u\"");
	snprintf(body + n, sizeof(body) - (size_t)n, "]}");
	assert_problem(post("/uv/a", body), 400, "out_of_range", "none");
	assert_problem(post("/uv/a", "{\"visitors\":[]}"), 400, "out_of_range", "none");
	assert_problem(post("/uv/a", "{\"visitors\":[\"\"]}"), 400, NULL, "none");
	assert_problem(post("/uv/a", "{}"), 400, "missing_field", "none");
	assert_int_equal(server_keys(&redis), 0);
}

TEST(visitor_slots_make_one_union)
{
	visit("a", "\"u1\",\"u2\"", FEB_29);
	visit("a", "\"u3\"", MAR_1);
	visit("b", "\"u2\",\"u3\",\"u4\"", MAR_1);
	struct answer a = get("/uv/combine?name=b&name=a&name=nothing&from=2004-02-29&to=2004-03-01");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/count"), 4);
	assert_int_equal(json_array_size(json_at(a, "/pages")), 3);
	assert_string_equal(text_at(a, "/pages/0/name"), "b");
	assert_int_equal(int_at(a, "/pages/0/count"), 3);
	assert_string_equal(text_at(a, "/pages/1/name"), "a");
	assert_int_equal(int_at(a, "/pages/1/count"), 3);
	assert_int_equal(int_at(a, "/pages/2/count"), 0);
	assert_int_equal(int_at(get("/uv/combine?name=a&name=b&to=2004-03-01"), "/count"), 3);
	a = get("/uv/combine");
	assert_problem(a, 400, NULL, "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "?name");
}

TEST(merge_goes_day_by_day)
{
	static const char body[] = "{\"sources\":[\"a\",\"b\"],\"from\":\"2004-02-28\",\"to\":\"2004-03-01\"}";

	visit("a", "\"u1\",\"u2\"", FEB_29);
	visit("b", "\"u2\",\"u3\"", FEB_29);
	visit("b", "\"u4\"", MAR_1);
	visit("site", "\"u9\"", MAR_1);
	for (int i = 0; i < 2; i++) { /* the second time changes nothing */
		struct answer a = post("/uv/site/merge", body);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/name"), "site");
		assert_string_equal(text_at(a, "/from"), "2004-02-28");
		assert_string_equal(text_at(a, "/to"), "2004-03-01");
		assert_int_equal(int_at(a, "/merged_days"), 2);
		a = get("/uv/site?from=2004-02-28&to=2004-03-01");
		assert_string_equal(days_of(a), "2004-02-28 0, 2004-02-29 3, 2004-03-01 2");
		assert_int_equal(int_at(a, "/count"), 5);
	}
	assert_string_equal(days_of(get("/uv/b?from=2004-02-29&to=2004-03-01")), "2004-02-29 2, 2004-03-01 1");
	assert_int_equal(server_command(&redis, "EXISTS p:uv:{site}:2004-02-28")->integer, 0);
	assert_int_equal(int_at(post("/uv/site/merge", "{\"sources\":[\"a\"],\"to\":\"2000-01-01\"}"), "/merged_days"),
			 0);
}

/* ---- Page views ---- */

TEST(views_add_up)
{
	struct answer a = post("/pv/home", NULL);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "home");
	assert_int_equal(int_at(a, "/count"), 1);
	stage_forget(NULL);
	assert_int_equal(int_at(post("/pv/home", "{\"by\":5,\"at_ms\":" FEB_29 "}"), "/count"), 5);
	assert_int_equal(int_at(post("/pv/home", "{\"at_ms\":" FEB_29 "}"), "/count"), 6);
	assert_int_equal(int_at(post("/pv/home", "{\"by\":1000000000,\"at_ms\":" MAR_1 "}"), "/count"), 1000000000);
	a = get("/pv/home?from=2004-02-28&to=2004-03-01");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/count"), 1000000006);
	assert_string_equal(days_of(a), "2004-02-28 0, 2004-02-29 6, 2004-03-01 1000000000");
	static const char *const wrong[] = { "{\"by\":0}", "{\"by\":-1}", "{\"by\":1000000001}" };
	for (size_t i = 0; i < 3; i++)
		assert_problem(post("/pv/home", wrong[i]), 400, "out_of_range", "none");
	assert_problem(post("/pv/home", "{\"by\":1.5}"), 400, "wrong_type", "none");
}

TEST(a_day_of_views_ends_at_2_53)
{
	server_command(&redis, "MSET p:pv:{big}:2004-02-29 9007199254740990 p:pv:{big}:2004-03-01 9007199254740991");
	assert_int_equal(int_at(post("/pv/big", "{\"at_ms\":" FEB_29 "}"), "/count"), INT64_C(9007199254740991));
	struct answer a = post("/pv/big", "{\"at_ms\":" FEB_29 "}");
	assert_problem(a, 409, "counter_overflow", "none");
	assert_string_equal(text_at(a, "/detail"), "the views are 9007199254740991, and adding 1 exceeds 2^53 - 1");
	a = get("/pv/big?from=2004-02-29&to=2004-03-01");
	assert_int_equal(int_at(a, "/count"), INT64_C(18014398509481982));
	assert_int_equal(int_at(a, "/days/1/count"), INT64_C(9007199254740991));
}

/* ---- What is kept ---- */

TEST(a_retry_counts_once)
{
	static const struct {
		const char *target, *body, *other_body, *pointer;
	} rows[] = {
		{ "/pv/home", "{\"by\":3,\"at_ms\":1000000000000}", "{\"by\":4,\"at_ms\":1000000000000}", "/count" },
		{ "/uv/home", "{\"visitors\":[\"u\"],\"at_ms\":1000000000000}",
		  "{\"visitors\":[\"v\"],\"at_ms\":1000000000000}", "/changed" },
		{ "/uv/site/merge", "{\"sources\":[\"home\"],\"to\":\"2001-09-09\"}", "{\"sources\":[\"x\"]}",
		  "/merged_days" },
	};

	/*
	 * In a Cluster a request over several slots, such as a merge, is not recorded:
	 * test_visitors_slots.c.
	 */
	for (size_t i = 0; i < (redis.cluster ? 2 : 3); i++) {
		struct answer first = http(client, "POST", rows[i].target, rows[i].body, "Idempotency-Key: one");
		struct answer again = http(client, "POST", rows[i].target, rows[i].body, "Idempotency-Key: one");
		assert_status(first, 200);
		assert_true(json_equal(first.json, again.json));
		assert_non_null(json_at(again, rows[i].pointer));
		assert_problem(http(client, "POST", rows[i].target, rows[i].other_body, "Idempotency-Key: one"), 422,
			       "idempotency_key_reused", "none");
	}
	assert_int_equal(int_at(get("/pv/home?to=2001-09-09"), "/count"), 3);
	assert_int_equal(int_at(get(redis.cluster ? "/uv/home?to=2001-09-09" : "/uv/site?to=2001-09-09"), "/count"), 1);
}

TEST(pages_are_listed_once)
{
	char target[128], cursor[80] = "";
	bool seen[30] = { false };
	int found = 0, pages = 0;

	for (int i = 0; i < 30; i++) {
		snprintf(target, sizeof(target), "page%d", i);
		visit(target, "\"u\"", FEB_29);
		visit(target, "\"u\"", MAR_1);
	}
	post("/pv/views-only", "{\"at_ms\":" FEB_29 "}");
	post("/pv/views-only", "{\"at_ms\":" MAR_1 "}");
	struct answer a = get_all("/pv");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/name"), "views-only");
	a = get_all("/uv");
	assert_int_equal(json_array_size(json_at(a, "/items")), 30); /* a single day is not a separate item */
	assert_int_equal(json_array_size(json_at(get_all("/uv?match=page2*"), "/items")), 11);
	do {
		snprintf(target, sizeof(target), "/uv?limit=4%s%s", *cursor ? "&cursor=" : "", cursor);
		a = get(target);
		size_t n = json_array_size(json_at(a, "/items"));
		assert_true(n <= 4);
		for (size_t i = 0; i < n; i++) {
			const json_t *item = json_array_get(json_at(a, "/items"), i);
			int at = atoi(json_string_value(json_object_get(item, "name")) + strlen("page"));
			assert_false(seen[at]); /* neither once per day, nor on two pages */
			seen[at] = true;
			found++;
		}
		snprintf(cursor, sizeof(cursor), "%s",
			 json_is_null(json_at(a, "/next_cursor")) ? "" : text_at(a, "/next_cursor"));
		assert_true(++pages < 200);
	} while (*cursor);
	assert_int_equal(found, 30);
	assert_status(http(client, "DELETE", "/uv/page7", NULL), 204);
	assert_int_equal(json_array_size(json_at(get_all("/uv?match=page7"), "/items")), 0);
	post("/uv/all/merge", "{\"sources\":[\"page8\"],\"from\":\"2004-02-29\",\"to\":\"2004-03-01\"}");
	assert_int_equal(json_array_size(json_at(get_all("/uv?match=all"), "/items")), 1);
}

/* DELETE removes all days of one kind, visitors or views. The other kind and other pages stay. */
TEST(a_page_is_deleted_whole)
{
	static const char *const ends[] = { "1000000000000", FEB_29, "1795310461802", "4102444800000" };
	static const char *const kinds[][2] = { { "/uv/home", "/pv/home" }, { "/pv/home", "/uv/home" } };
	char body[64];

	for (size_t k = 0; k < 2; k++) {
		visit("other", "\"u\"", FEB_29);
		for (size_t i = 0; i < 4; i++) {
			visit("home", "\"u\"", ends[i]);
			snprintf(body, sizeof(body), "{\"at_ms\":%s}", ends[i]);
			assert_status(post("/pv/home", body), 200);
		}
		assert_int_equal(server_keys(&redis), 12);
		assert_status(http(client, "DELETE", kinds[k][0], NULL), 204);
		assert_int_equal(server_keys(&redis), 7);
		assert_problem(http(client, "DELETE", kinds[k][0], NULL), 404, "not_found", "none");
		assert_status(http(client, "DELETE", kinds[k][1], NULL), 204);
		assert_int_equal(int_at(get("/uv/other?to=2004-02-29"), "/count"), 1);
		stage_forget(NULL);
	}
}

/* ---- Totals ---- */

static void assert_total(const char *target, int64_t total)
{
	struct answer a = get(target);

	assert_status(a, 200);
	if (total < 0)
		assert_true(json_is_null(json_at(a, "/total_count")));
	else
		assert_int_equal(int_at(a, "/total_count"), total);
}

static struct answer patch(const char *target, const char *body)
{
	return http(client, "PATCH", target, body);
}

TEST(a_total_outlives_the_days)
{
	visit("home", "\"u1\",\"u2\"", FEB_29);
	assert_total("/uv/home", -1);
	struct answer a = patch("/uv/home", "{\"keep_total\":true}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "home");
	assert_true(json_is_true(json_at(a, "/keep_total")));
	assert_int_equal(int_at(a, "/total_count"), 0);
	visit("home", "\"u2\",\"u3\"", FEB_29);
	assert_status(post("/uv/home", "{\"visitors\":[\"u3\",\"u4\"],\"date\":\"1999-01-01\"}"), 200);
	assert_total("/uv/home", 3); /* u2 u3 u4 */
	/* A merge of the page into itself adds earlier days to the total. */
	assert_status(post("/uv/home/merge", "{\"sources\":[\"home\"],\"to\":\"2004-02-29\"}"), 200);
	assert_total("/uv/home", 4);
	visit("cart", "\"u9\"", FEB_29);
	assert_status(post("/uv/home/merge", "{\"sources\":[\"cart\"],\"to\":\"2004-02-29\"}"), 200);
	server_command(&redis, "DEL p:uv:{home}:2004-02-29");
	server_command(&redis, "DEL p:uv:{home}:1999-01-01");
	assert_total("/uv/home", 5);
	assert_total("/uv/cart", -1);
	/* An empty PATCH changes nothing; null and false end the total. */
	assert_int_equal(int_at(patch("/uv/home", "{}"), "/total_count"), 5);
	assert_int_equal(int_at(patch("/uv/home", "{\"keep_total\":true}"), "/total_count"), 5);
	a = patch("/uv/home", "{\"keep_total\":null}");
	assert_true(json_is_false(json_at(a, "/keep_total")));
	assert_true(json_is_null(json_at(a, "/total_count")));
	assert_total("/uv/home", -1);
	assert_int_equal(int_at(patch("/uv/home", "{\"keep_total\":true}"), "/total_count"), 0);
}

TEST(a_total_of_views_outlives_the_days)
{
	assert_status(post("/pv/home", "{\"by\":4}"), 200);
	assert_total("/pv/home", -1);
	assert_int_equal(int_at(patch("/pv/home", "{\"keep_total\":true}"), "/total_count"), 0);
	for (int i = 0; i < 2; i++)
		assert_status(http(client, "POST", "/pv/home", "{\"by\":5}", "Idempotency-Key: one"), 200);
	assert_status(post("/pv/home", "{\"date\":\"1999-01-01\"}"), 200);
	assert_total("/pv/home", 6);
	assert_total("/uv/home", -1);
	server_command(&redis, "SET p:pv:{home}:total 9007199254740991");
	assert_problem(post("/pv/home", NULL), 409, "counter_overflow", "none");
	assert_status(patch("/pv/home", "{\"keep_total\":false}"), 200);
	assert_int_equal(int_at(post("/pv/home", NULL), "/count"), 10);
	assert_total("/pv/home", -1);
}

/* A page with a total is listed even if it has no day. */
TEST(a_page_with_a_total_is_listed_and_deleted)
{
	static const char *const kinds[] = { "/uv", "/pv" };
	char target[32];

	for (size_t i = 0; i < 2; i++) {
		snprintf(target, sizeof(target), "%s/home", kinds[i]);
		assert_status(patch(target, "{}"), 200);
		assert_int_equal(server_keys(&redis), 0);
		assert_status(patch(target, "{\"keep_total\":true}"), 200);
		assert_string_equal(text_at(get_all(kinds[i]), "/items/0/name"), "home");
		assert_total(target, 0);
		assert_status(http(client, "DELETE", target, NULL), 204);
		assert_int_equal(server_keys(&redis), 0);
		assert_total(target, -1);
		assert_int_equal(json_array_size(json_at(get_all(kinds[i]), "/items")), 0);
	}
}

/* Each answer that is about one page has the page's name. */
TEST(answers_have_the_name_of_the_page)
{
	assert_string_equal(text_at(post("/uv/home", "{\"visitors\":[\"u\"]}"), "/name"), "home");
	assert_string_equal(text_at(post("/pv/home", NULL), "/name"), "home");
	assert_string_equal(text_at(get("/uv/home"), "/name"), "home");
	assert_string_equal(text_at(get("/pv/home"), "/name"), "home");
	assert_string_equal(text_at(post("/uv/all/merge", "{\"sources\":[\"home\"]}"), "/name"), "all");
}

TEST(names_of_all_kinds)
{
	static const char *const rows[][2] = {
		{ "a%2Fb", "a/b" },
		{ "caf%C3%A9", "café" },
		{ "%E9%A6%96%E9%A1%B5", "首页" },
		{ "x:2000-01-01", "x:2000-01-01" },
	};
	static const char *const reserved[][3] = {
		{ "GET", "/uv/%2E", NULL },
		{ "GET", "/uv/combine?name=a&name=combine", NULL },
		{ "POST", "/uv/../merge", "{\"sources\":[\"a\"]}" },
		{ "POST", "/uv/a/merge", "{\"sources\":[\"combine\"]}" },
		{ "POST", "/pv/combine", NULL },
		{ "GET", "/pv/combine", NULL },
		{ "DELETE", "/pv/..", NULL },
	};
	char target[96];

	for (size_t i = 0; i < COUNT(rows); i++) {
		visit(rows[i][0], "\"ü/1\"", FEB_29);
		snprintf(target, sizeof(target), "/uv/%s?to=2004-02-29", rows[i][0]);
		assert_string_equal(text_at(get(target), "/name"), rows[i][1]);
		assert_int_equal(int_at(get(target), "/count"), 1);
	}
	assert_int_equal(json_array_size(json_at(get_all("/uv"), "/items")), COUNT(rows));
	for (size_t i = 0; i < COUNT(reserved); i++)
		assert_problem(http(client, reserved[i][0], reserved[i][1], reserved[i][2]), 400, "reserved_name",
			       "none");
}

TEST(foreign_keys_are_reported_and_kept)
{
	static const char *const targets[] = { "/uv/f?to=2004-02-29", "/uv/combine?name=x&name=f&to=2004-02-29",
					       "/pv/f?to=2004-02-29" };

	server_command(&redis, "MSET p:uv:{f}:2004-02-29 mine p:pv:{f}:2004-02-29 mine");
	for (size_t i = 0; i < 3; i++)
		assert_problem(get(targets[i]), 500, "foreign_key", "none");
	assert_problem(post("/uv/f", "{\"visitors\":[\"u\"],\"at_ms\":" FEB_29 "}"), 500, "foreign_key", "none");
	assert_problem(post("/pv/f", "{\"at_ms\":" FEB_29 "}"), 500, "foreign_key", "none");
	assert_problem(http(client, "DELETE", "/uv/f", NULL), 500, "foreign_key", "none");
	assert_problem(http(client, "DELETE", "/pv/f", NULL), 500, "foreign_key", "none");
	visit("a", "\"u\"", FEB_29);
	assert_problem(post("/uv/a/merge", "{\"sources\":[\"f\"],\"to\":\"2004-02-29\"}"), 500, "foreign_key", "none");
	assert_string_equal(server_command(&redis, "GET p:uv:{f}:2004-02-29")->str, "mine");
	assert_string_equal(server_command(&redis, "GET p:pv:{f}:2004-02-29")->str, "mine");
}
