/* Feeds over HTTP: any JSON in order, retention, pages, deleted items, replays. */
#include "stage.h"
#include "test.h"

static const char *id_at(struct answer a, size_t i)
{
	return json_string_value(json_object_get(json_array_get(json_at(a, "/items"), i), "id"));
}

/* The answer has exactly these items. `wanted` has them as JSON, separated by commas. */
static void items_are(struct answer a, const char *wanted)
{
	char got[4096] = "";

	assert_status(a, 200);
	for (const char *at = a.body; (at = strstr(at, "\"item\":")); at++) {
		const char *value = at + strlen("\"item\":"), *end = strstr(value, ",\"pushed_at_ms\":");
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%.*s", *got ? "," : "", (int)(end - value),
			 value);
	}
	assert_string_equal(got, wanted);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(the_newest_comes_first)
{
	struct answer a = get("/feeds/home/items");
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	int64_t before_ms = server_now_ms(&redis);
	a = post("/feeds/home/items", "{\"items\":[{\"post\":7},\"text \\\"\xc3\xa9\\\"\",null]}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "home");
	assert_int_equal(int_at(a, "/size"), 3);
	assert_int_equal(json_array_size(json_at(a, "/items")), 3);
	struct answer list = get("/feeds/home/items");
	for (size_t i = 0; i < 3; i++) /* in the order of the request */
		assert_string_equal(id_at(a, i), id_at(list, 2 - i));
	assert_in_range(int_at(list, "/items/0/pushed_at_ms"), before_ms, server_now_ms(&redis));
	post("/feeds/home/items", "{\"items\":[[1,2.0,true,12345678901234567]]}");
	a = get("/feeds/home/items");
	items_are(a, "[1,2.0,true,12345678901234567],null,\"text \\\"\xc3\xa9\\\"\",{\"post\":7}");
	assert_true(json_is_null(json_at(a, "/next_cursor")));
}

TEST(pages_lead_to_the_end)
{
	static const char *const wrong[] = { "0",
					     "1",
					     "-1",
					     "1-",
					     "-",
					     "0-0",
					     "01-1",
					     "1-01",
					     "1-1x",
					     "1-1-1",
					     "x-1",
					     "%201-1",
					     "1-%2B1",
					     "+-+",
					     "(1-1",
					     "18446744073709551616-0",
					     "99999999999999999999-1" };
	char body[4096] = "{\"items\":[", target[64];

	for (int i = 0; i < 250; i++)
		snprintf(body + strlen(body), sizeof(body) - strlen(body), "%s%d", i ? "," : "", i);
	strcat(body, "]}");
	assert_int_equal(int_at(post("/feeds/home/items", body), "/size"), 250);
	assert_int_equal(json_array_size(json_at(get("/feeds/home/items"), "/items")), 100);
	struct answer a = get_all("/feeds/home/items?limit=7");
	assert_int_equal(json_array_size(json_at(a, "/items")), 250);
	for (size_t i = 0; i < 250; i++)
		assert_int_equal(json_integer_value(json_object_get(json_array_get(json_at(a, "/items"), i), "item")),
				 249 - i);
	a = get("/feeds/home/items?cursor=1-1"); /* older than all of them */
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	for (size_t i = 0; i < COUNT(wrong); i++) {
		snprintf(target, sizeof(target), "/feeds/home/items?cursor=%s", wrong[i]);
		assert_problem(get(target), 400, "invalid_value", "none");
	}
}

TEST(an_item_is_deleted_by_its_id)
{
	static const char *const none[] = {
		"x", "1", "0-0", "1-1", "1-1-1", "%2B1-1", "18446744073709551615-0", "99999999999999999999999-1"
	};
	char target[96];

	struct answer pushed = post("/feeds/home/items", "{\"items\":[1,2,3],\"max_items\":5}");
	snprintf(target, sizeof(target), "/feeds/home/items/%s", id_at(pushed, 1));
	assert_status(http(client, "DELETE", target, NULL), 204);
	assert_problem(http(client, "DELETE", target, NULL), 404, "not_found", "none");
	items_are(get("/feeds/home/items"), "3,1");
	assert_int_equal(int_at(get("/feeds/home"), "/size"), 2);
	for (size_t i = 0; i < COUNT(none); i++) {
		snprintf(target, sizeof(target), "/feeds/home/items/%s", none[i]);
		assert_problem(http(client, "DELETE", target, NULL), 404, "not_found", "none");
	}
	assert_problem(http(client, "DELETE", "/feeds/none/items/1-1", NULL), 404, "not_found", "none");
	for (size_t i = 0; i < 3; i += 2) {
		snprintf(target, sizeof(target), "/feeds/home/items/%s", id_at(pushed, i));
		assert_status(http(client, "DELETE", target, NULL), 204);
	}
	assert_int_equal(int_at(get("/feeds/home"), "/max_items"), 5); /* the empty feed still exists */
	assert_int_equal(json_array_size(json_at(get_all("/feeds"), "/items")), 1);
}

/* An interrupted push has left more old items than one call drops: the delete drops them first. */
TEST(a_delete_drops_what_a_push_left)
{
	char body[8192] = "{\"items\":[", target[96];

	for (int i = 0; i < 1000; i++)
		snprintf(body + strlen(body), sizeof(body) - strlen(body), "%s%d", i ? "," : "", i);
	strcat(body, "]}");
	struct answer pushed = post("/feeds/home/items", body);
	server_command(&redis, "HSET p:feed:{home}:meta limit 100 excess 900");
	snprintf(target, sizeof(target), "/feeds/home/items/%s", id_at(pushed, 0));
	assert_problem(http(client, "DELETE", target, NULL), 404, "not_found", "none");
	assert_int_equal(int_at(get("/feeds/home"), "/size"), 100);
	snprintf(target, sizeof(target), "/feeds/home/items/%s", id_at(pushed, 950));
	assert_status(http(client, "DELETE", target, NULL), 204);
	assert_int_equal(int_at(get("/feeds/home"), "/size"), 99);
}

/* The schema of an arbitrary JSON value has no maximum length: the daemon checks it. */
TEST(an_item_has_64_kib)
{
	char *body = NULL;

	for (int more = 0; more < 2; more++) {
		assert_true(asprintf(&body, "{\"items\":[0,\"%0*d\"]}", 65534 + more, 0) > 0); /* plus the two quotes */
		struct answer a = post("/feeds/home/items", body);
		free(body);
		if (more) {
			assert_problem(a, 400, "out_of_range", "none");
			assert_string_equal(text_at(a, "/errors/0/pointer"), "/items/1");
		} else {
			assert_int_equal(int_at(a, "/size"), 2);
		}
	}
}

/* The push has far more items to drop than one call drops. */
TEST(much_is_dropped_at_once)
{
	for (int i = 0; i < 3500; i++)
		server_command(&redis, "XADD p:feed:{home} 1-* item %d", i);
	struct answer a =
		http(client, "POST", "/feeds/home/items", "{\"items\":[\"x\"],\"max_items\":10}", "Idempotency-Key: k");
	assert_int_equal(int_at(a, "/size"), 10);
	char id[64];
	snprintf(id, sizeof(id), "%s", id_at(a, 0));
	assert_int_equal(server_command(&redis, "XLEN p:feed:{home}")->integer, 10);
	assert_status(post("/feeds/home/items", "{\"items\":[\"y\"],\"max_items\":20}"), 200);
	a = http(client, "POST", "/feeds/home/items", "{\"items\":[\"x\"],\"max_items\":10}", "Idempotency-Key: k");
	assert_int_equal(int_at(a, "/size"), 10);
	assert_string_equal(id_at(a, 0), id);
	items_are(get("/feeds/home/items?limit=3"), "\"y\",\"x\",3499");
}

/*
 * Items that an interrupted push has yet to drop are not counted in the size that the next push
 * returns.
 */
TEST(a_size_is_without_what_is_still_dropped)
{
	for (int i = 0; i < 600; i++)
		server_command(&redis, "XADD p:feed:{home} 1-* item %d", i);
	server_command(&redis, "HSET p:feed:{home}:meta limit 5 excess 595");
	assert_int_equal(int_at(post("/feeds/home/items", "{\"items\":[\"x\"],\"max_items\":10000}"), "/size"), 6);
	assert_int_equal(int_at(get("/feeds/home"), "/size"), 6);
}
