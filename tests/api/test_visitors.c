/* Visitors and page views over HTTP: a walk over the list. */
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

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

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
