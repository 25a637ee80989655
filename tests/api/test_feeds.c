/* Feeds over HTTP: any JSON in order, retention, pages, replays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stage.h"

static void the_newest_comes_first(void **state)
{
	(void)state;
	struct answer a = get("/feeds/home/items");
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	a = post("/feeds/home/items", "{\"items\":[{\"post\":7},\"text \\\"\xc3\xa9\\\"\",null]}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "home");
	assert_int_equal(int_at(a, "/size"), 3);
	post("/feeds/home/items", "{\"items\":[[1,2.0,true,12345678901234567]]}");
	a = get("/feeds/home/items");
	assert_non_null(
		strstr(a.body,
		       "\"items\":[[1,2.0,true,12345678901234567],null,\"text \\\"\xc3\xa9\\\"\",{\"post\":7}]"));
	assert_true(json_is_null(json_at(a, "/next_cursor")));
}

static void pages_lead_to_the_end(void **state)
{
	(void)state;
	static const char *const wrong[] = { "0", "-1", "01", "1x", "x", "9007199254740992", "99999999999999999999" };
	char body[4096] = "{\"items\":[", target[64];

	for (int i = 0; i < 250; i++)
		snprintf(body + strlen(body), sizeof(body) - strlen(body), "%s%d", i ? "," : "", i);
	strcat(body, "]}");
	assert_int_equal(int_at(post("/feeds/home/items", body), "/size"), 250);
	assert_int_equal(json_array_size(json_at(get("/feeds/home/items"), "/items")), 100);
	struct answer a = get_all("/feeds/home/items?limit=7");
	assert_int_equal(json_array_size(json_at(a, "/items")), 250);
	for (size_t i = 0; i < 250; i++)
		assert_int_equal(json_integer_value(json_array_get(json_at(a, "/items"), i)), 249 - i);
	a = get("/feeds/home/items?cursor=9007199254740991"); /* further back than the present items */
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(target, sizeof(target), "/feeds/home/items?cursor=%s", wrong[i]);
		assert_problem(get(target), 400, "invalid_value", "none");
	}
	assert_problem(get("/feeds/home/items?limit=1001"), 400, "out_of_range", "none");
}

static void only_the_newest_are_kept(void **state)
{
	(void)state;
	assert_int_equal(int_at(post("/feeds/home/items", "{\"items\":[1,2,3,4],\"max_items\":3}"), "/size"), 3);
	assert_int_equal(int_at(post("/feeds/home/items", "{\"items\":[5],\"max_items\":3}"), "/size"), 3);
	assert_non_null(strstr(get("/feeds/home/items").body, "\"items\":[5,4,3]"));
	assert_int_equal(int_at(post("/feeds/home/items", "{\"items\":[6],\"max_items\":1}"), "/size"), 1);
	assert_int_equal(int_at(get("/feeds/home"), "/max_items"), 1);
	assert_int_equal(int_at(post("/feeds/home/items", "{\"items\":[7]}"), "/size"), 1); /* as before */
	assert_int_equal(int_at(get("/feeds/home"), "/size"), 1);
	assert_problem(post("/feeds/home/items", "{\"items\":[6],\"max_items\":0}"), 400, "out_of_range", "none");
	assert_problem(post("/feeds/home/items", "{\"items\":[]}"), 400, "out_of_range", "none");
}

/* Far more than one call drops. */
static void much_is_dropped_at_once(void **state)
{
	(void)state;
	for (int i = 0; i < 3500; i++)
		server_command(&redis, "LPUSH p:feed:{home} %d", i);
	struct answer a =
		http(client, "POST", "/feeds/home/items", "{\"items\":[\"x\"],\"max_items\":10}", "Idempotency-Key: k");
	assert_int_equal(int_at(a, "/size"), 10);
	assert_int_equal(server_command(&redis, "LLEN p:feed:{home}")->integer, 10);
	assert_status(post("/feeds/home/items", "{\"items\":[\"y\"],\"max_items\":20}"), 200);
	a = http(client, "POST", "/feeds/home/items", "{\"items\":[\"x\"],\"max_items\":10}", "Idempotency-Key: k");
	assert_int_equal(int_at(a, "/size"), 10);
	assert_non_null(strstr(get("/feeds/home/items").body, "\"items\":[\"y\",\"x\",3499"));
}

static void large_items_make_short_pages(void **state)
{
	(void)state;
	static char body[70000];
	char target[64];

	strcpy(body, "{\"items\":[0,\"");
	memset(body + strlen(body), 'x', 65534);
	strcat(body, "\"]}");
	assert_status(post("/feeds/home/items", body), 200); /* 65536 bytes with the quotes */
	strcpy(body, "{\"items\":[0,\"");
	memset(body + strlen(body), 'x', 65535);
	strcpy(body + strlen("{\"items\":[0,\"") + 65535, "\"]}");
	struct answer a = post("/feeds/home/items", body);
	assert_problem(a, 400, "out_of_range", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/items/1");
	strcpy(body, "{\"items\":[\"");
	memset(body + strlen(body), 'x', 60000);
	strcpy(body + strlen("{\"items\":[\"") + 60000, "\"]}");
	for (int i = 0; i < 9; i++)
		assert_status(post("/feeds/home/items", body), 200);
	a = get("/feeds/home/items?limit=1000");
	assert_int_equal(json_array_size(json_at(a, "/items")), 4);
	snprintf(target, sizeof(target), "/feeds/home/items?limit=1000&cursor=%s", text_at(a, "/next_cursor"));
	a = get(target);
	assert_int_equal(json_array_size(json_at(a, "/items")), 4);
	snprintf(target, sizeof(target), "/feeds/home/items?limit=1000&cursor=%s", text_at(a, "/next_cursor"));
	a = get(target);
	assert_int_equal(json_array_size(json_at(a, "/items")), 3);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
}

static void a_retried_push_is_one(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct answer a = http(client, "POST", "/feeds/home/items", "{\"items\":[1]}", "Idempotency-Key: k");
		assert_int_equal(int_at(a, "/size"), 1);
		post("/feeds/home/items", "{\"items\":[2]}");
	}
	assert_problem(http(client, "POST", "/feeds/home/items", "{\"items\":[2]}", "Idempotency-Key: k"), 422,
		       "idempotency_key_reused", "none");
	assert_int_equal(int_at(get("/feeds/home"), "/size"), 4);
}

static void a_foreign_key_is_reported(void **state)
{
	(void)state;
	server_command(&redis, "SET p:feed:{home} 5");
	assert_problem(get("/feeds/home/items"), 500, "foreign_key", "none");
	assert_problem(post("/feeds/home/items", "{\"items\":[1]}"), 500, "foreign_key", "none");
	assert_problem(get("/feeds/home"), 500, "foreign_key", "none");
	assert_problem(http(client, "PATCH", "/feeds/home", "{\"ttl_ms\":1}"), 500, "foreign_key", "none");
	assert_problem(http(client, "DELETE", "/feeds/home", NULL), 500, "foreign_key", "none");
	assert_int_equal(server_keys(&redis), 1);
}

/* Also the keys that a later push creates, and all of them at once. */
static void a_feed_expires_whole(void **state)
{
	(void)state;
	assert_problem(http(client, "PATCH", "/feeds/home", "{\"ttl_ms\":60000}"), 404, "not_found", "none");
	assert_status(post("/feeds/home/items", "{\"items\":[1,2],\"max_items\":5}"), 200);
	assert_true(json_is_null(json_at(get("/feeds/home"), "/expires_at_ms")));
	struct answer a = http(client, "PATCH", "/feeds/home", "{\"ttl_ms\":60000}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), 2);
	assert_int_equal(int_at(a, "/max_items"), 5);
	int64_t at = int_at(a, "/expires_at_ms");
	assert_status(post("/feeds/home/items", "{\"items\":[3,4,5,6],\"max_items\":4}"), 200);
	assert_int_equal(int_at(http(client, "PATCH", "/feeds/home", "{}"), "/expires_at_ms"), at);
	assert_int_equal(int_at(get("/feeds/home"), "/expires_at_ms"), at);
	a = http(client, "PATCH", "/feeds/home", "{\"ttl_ms\":null}");
	assert_true(json_is_null(json_at(a, "/expires_at_ms")));
	assert_true(json_is_null(json_at(get("/feeds/home"), "/expires_at_ms")));
	assert_status(http(client, "PATCH", "/feeds/home", "{\"ttl_ms\":1}"), 200);
	wait_until(int_at(get("/feeds/home"), "/size") == 0, 5000);
	wait_until(server_keys(&redis) == 0, 5000);
	assert_int_equal(int_at(get("/feeds/home"), "/max_items"), 1000);
}

static void feeds_are_listed_and_deleted(void **state)
{
	(void)state;
	assert_problem(http(client, "DELETE", "/feeds/home", NULL), 404, "not_found", "none");
	assert_status(post("/feeds/home/items", "{\"items\":[1,2],\"max_items\":5}"), 200);
	assert_status(post("/feeds/other/items", "{\"items\":[1]}"), 200);
	server_command(&redis, "LPUSH p:feeds:{foreign} 1");
	assert_int_equal(json_array_size(json_at(get_all("/feeds"), "/items")), 2);
	struct answer a = get_all("/feeds?match=h*");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/name"), "home");
	assert_int_equal(int_at(a, "/items/0/size"), 2);
	assert_int_equal(int_at(a, "/items/0/max_items"), 5);
	assert_status(http(client, "DELETE", "/feeds/home", NULL), 204);
	assert_problem(http(client, "DELETE", "/feeds/home", NULL), 404, "not_found", "none");
	assert_int_equal(json_array_size(json_at(get_all("/feeds"), "/items")), 1);
	assert_int_equal(server_command(&redis, "EXISTS p:feed:{home} p:feed:{home}:meta")->integer, 0);
	assert_int_equal(int_at(get("/feeds/home"), "/max_items"), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_newest_comes_first, stage_forget),
		cmocka_unit_test_teardown(pages_lead_to_the_end, stage_forget),
		cmocka_unit_test_teardown(only_the_newest_are_kept, stage_forget),
		cmocka_unit_test_teardown(much_is_dropped_at_once, stage_forget),
		cmocka_unit_test_teardown(large_items_make_short_pages, stage_forget),
		cmocka_unit_test_teardown(a_retried_push_is_one, stage_forget),
		cmocka_unit_test_teardown(a_foreign_key_is_reported, stage_forget),
		cmocka_unit_test_teardown(a_feed_expires_whole, stage_forget),
		cmocka_unit_test_teardown(feeds_are_listed_and_deleted, stage_forget),
	};

	return cmocka_run_group_tests_name("feeds", tests, stage_open, stage_close);
}
