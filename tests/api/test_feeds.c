/* Feeds over HTTP: any JSON in order, what is kept, pages, replays. */
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
	struct answer a = get("/feeds/home");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), 0);
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_offset")));
	a = post("/feeds/home", "{\"items\":[{\"post\":7},\"text \\\"\xc3\xa9\\\"\",null]}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "home");
	assert_int_equal(int_at(a, "/size"), 3);
	post("/feeds/home", "{\"items\":[[1,2.0,true,12345678901234567]]}");
	a = get("/feeds/home");
	assert_non_null(
		strstr(a.body,
		       "\"items\":[[1,2.0,true,12345678901234567],null,\"text \\\"\xc3\xa9\\\"\",{\"post\":7}]"));
	assert_int_equal(int_at(a, "/size"), 4);
	assert_true(json_is_null(json_at(a, "/next_offset")));
}

static void pages_lead_to_the_end(void **state)
{
	(void)state;
	char body[4096] = "{\"items\":[", target[64];
	int64_t offset = 0;
	int seen = 0;

	for (int i = 0; i < 250; i++)
		snprintf(body + strlen(body), sizeof(body) - strlen(body), "%s%d", i ? "," : "", i);
	strcat(body, "]}");
	assert_int_equal(int_at(post("/feeds/home", body), "/size"), 250);
	assert_int_equal(json_array_size(json_at(get("/feeds/home"), "/items")), 100);
	for (;;) {
		snprintf(target, sizeof(target), "/feeds/home?offset=%d&limit=7", (int)offset);
		struct answer a = get(target);
		for (size_t i = 0; i < json_array_size(json_at(a, "/items")); i++)
			assert_int_equal(json_integer_value(json_array_get(json_at(a, "/items"), i)), 249 - seen++);
		if (json_is_null(json_at(a, "/next_offset")))
			break;
		offset = int_at(a, "/next_offset");
		assert_int_equal(offset, seen);
	}
	assert_int_equal(seen, 250);
	struct answer a = get("/feeds/home?offset=250");
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_offset")));
	assert_problem(get("/feeds/home?offset=-1"), 400, "out_of_range", "none");
	assert_problem(get("/feeds/home?limit=1001"), 400, "out_of_range", "none");
}

static void only_the_newest_are_kept(void **state)
{
	(void)state;
	assert_int_equal(int_at(post("/feeds/home", "{\"items\":[1,2,3,4],\"keep\":3}"), "/size"), 3);
	assert_int_equal(int_at(post("/feeds/home", "{\"items\":[5],\"keep\":3}"), "/size"), 3);
	assert_non_null(strstr(get("/feeds/home").body, "\"items\":[5,4,3]"));
	assert_int_equal(int_at(post("/feeds/home", "{\"items\":[6],\"keep\":1}"), "/size"), 1);
	assert_problem(post("/feeds/home", "{\"items\":[6],\"keep\":0}"), 400, "out_of_range", "none");
	assert_problem(post("/feeds/home", "{\"items\":[]}"), 400, "out_of_range", "none");
}

/* Far more than one call drops. */
static void much_is_dropped_at_once(void **state)
{
	(void)state;
	for (int i = 0; i < 3500; i++)
		server_command(&redis, "LPUSH p:feed:{home} %d", i);
	struct answer a = http(client, "POST", "/feeds/home", "{\"items\":[\"x\"],\"keep\":10}", "Idempotency-Key: k");
	assert_int_equal(int_at(a, "/size"), 10);
	assert_int_equal(server_command(&redis, "LLEN p:feed:{home}")->integer, 10);
	assert_status(post("/feeds/home", "{\"items\":[\"y\"],\"keep\":20}"), 200);
	a = http(client, "POST", "/feeds/home", "{\"items\":[\"x\"],\"keep\":10}", "Idempotency-Key: k");
	assert_int_equal(int_at(a, "/size"), 10);
	assert_non_null(strstr(get("/feeds/home").body, "\"items\":[\"y\",\"x\",3499"));
}

static void large_items_make_short_pages(void **state)
{
	(void)state;
	static char body[70000];

	strcpy(body, "{\"items\":[0,\"");
	memset(body + strlen(body), 'x', 65534);
	strcat(body, "\"]}");
	assert_status(post("/feeds/home", body), 200); /* 65536 bytes with the quotes */
	strcpy(body, "{\"items\":[0,\"");
	memset(body + strlen(body), 'x', 65535);
	strcpy(body + strlen("{\"items\":[0,\"") + 65535, "\"]}");
	struct answer a = post("/feeds/home", body);
	assert_problem(a, 400, "out_of_range", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/items/1");
	strcpy(body, "{\"items\":[\"");
	memset(body + strlen(body), 'x', 60000);
	strcpy(body + strlen("{\"items\":[\"") + 60000, "\"]}");
	for (int i = 0; i < 9; i++)
		assert_status(post("/feeds/home", body), 200);
	a = get("/feeds/home?limit=1000");
	assert_int_equal(json_array_size(json_at(a, "/items")), 4);
	assert_int_equal(int_at(a, "/size"), 11);
	assert_int_equal(int_at(a, "/next_offset"), 4);
	a = get("/feeds/home?limit=1000&offset=8");
	assert_int_equal(json_array_size(json_at(a, "/items")), 3);
	assert_true(json_is_null(json_at(a, "/next_offset")));
}

static void a_retried_push_is_one(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct answer a = http(client, "POST", "/feeds/home", "{\"items\":[1]}", "Idempotency-Key: k");
		assert_int_equal(int_at(a, "/size"), 1);
		post("/feeds/home", "{\"items\":[2]}");
	}
	assert_problem(http(client, "POST", "/feeds/home", "{\"items\":[2]}", "Idempotency-Key: k"), 422,
		       "idempotency_key_reused", "none");
	assert_int_equal(int_at(get("/feeds/home"), "/size"), 4);
}

static void a_foreign_key_is_told(void **state)
{
	(void)state;
	server_command(&redis, "SET p:feed:{home} 5");
	assert_problem(get("/feeds/home"), 500, "foreign_key", "none");
	assert_problem(post("/feeds/home", "{\"items\":[1]}"), 500, "foreign_key", "none");
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
		cmocka_unit_test_teardown(a_foreign_key_is_told, stage_forget),
	};

	return cmocka_run_group_tests_name("feeds", tests, stage_open, stage_close);
}
