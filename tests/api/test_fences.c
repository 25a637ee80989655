/* Fences over HTTP: what passes, which problem a stale fence gets, and what a retry gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stage.h"

#define KEY "Idempotency-Key: "

static struct answer check(const char *name, int64_t fence)
{
	char target[64], body[64];

	snprintf(target, sizeof(target), "/fences/%s", name);
	snprintf(body, sizeof(body), "{\"fence\":%lld}", (long long)fence);
	return http(client, "POST", target, body);
}

static void assert_passes(const char *name, int64_t fence)
{
	struct answer a = check(name, fence);

	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), name);
	assert_int_equal(int_at(a, "/fence"), fence);
	assert_int_equal(int_at(a, "/highest"), fence);
}

static void assert_stale(const char *name, int64_t fence, int64_t highest)
{
	struct answer a = check(name, fence);

	assert_problem(a, 409, "stale_fence", "none");
	assert_int_equal(int_at(a, "/highest"), highest);
}

static void a_smaller_fence_is_stale(void **state)
{
	(void)state;
	assert_passes("a", 32);
	assert_passes("a", 33);
	assert_passes("a", 33); /* the same holder again */
	assert_stale("a", 32, 33);
	assert_passes("a", 34);
	assert_stale("a", 33, 34);
	assert_passes("b", 1); /* each name has its own */
	assert_passes("a", INT64_C(9007199254740991));
	assert_stale("a", INT64_C(9007199254740990), INT64_C(9007199254740991));
	assert_int_equal(server_command(&redis, "PTTL p:fence:{a}")->integer, -1);
}

/* The purpose of fences: the first holder slept past its time. */
static void the_fences_of_a_lock_are_distinguished(void **state)
{
	(void)state;
	struct answer first = post("/locks/l", "{\"ttl_ms\":60000}");
	assert_passes("r", int_at(first, "/fence"));
	server_command(&redis, "DEL p:lock:{l}"); /* as when it expires */
	struct answer second = post("/locks/l", NULL);
	assert_passes("r", int_at(second, "/fence"));
	assert_stale("r", int_at(first, "/fence"), int_at(second, "/fence"));
	assert_passes("r", int_at(second, "/fence"));
}

static void what_is_no_fence_is_refused(void **state)
{
	static const struct {
		const char *body, *code;
	} rows[] = {
		{ "{}", "missing_field" },
		{ "{\"fence\":-1}", "out_of_range" },
		{ "{\"fence\":0}", "out_of_range" },
		{ "{\"fence\":9007199254740992}", "out_of_range" },
		{ "{\"fence\":1.5}", "wrong_type" },
		{ "{\"fence\":\"1\"}", "wrong_type" },
		{ "{\"fence\":null}", "wrong_type" },
		{ "{\"fence\":1,\"name\":\"a\"}", "unknown_field" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_problem(post("/fences/a", rows[i].body), 400, rows[i].code, "none");
	assert_problem(post("/fences/..", "{\"fence\":1}"), 400, "reserved_name", "none");
	assert_int_equal(server_keys(&redis), 0);
}

/* Clients send a key with every POST. A late writer must not pass by that of its first check. */
static void a_key_makes_no_exception(void **state)
{
	static const char seven[] = "{\"fence\":7}", five[] = "{\"fence\":5}";

	(void)state;
	assert_status(http(client, "POST", "/fences/a", five, KEY "one"), 200);
	assert_status(http(client, "POST", "/fences/a", five, KEY "one"), 200);
	assert_status(http(client, "POST", "/fences/a", seven, KEY "one"), 200);
	assert_problem(http(client, "POST", "/fences/a", five, KEY "one"), 409, "stale_fence", "none");
	assert_int_equal(server_keys(&redis), 1); /* and there is no record */
}

static void the_highest_is_read_and_deleted(void **state)
{
	(void)state;
	assert_string_equal(get("/fences/a").body, "{\"name\":\"a\",\"highest\":null}\n");
	assert_problem(http(client, "DELETE", "/fences/a", NULL), 404, "not_found", "none");
	assert_passes("a", INT64_C(9007199254740991));
	assert_string_equal(get("/fences/a").body, "{\"name\":\"a\",\"highest\":9007199254740991}\n");
	assert_status(http(client, "DELETE", "/fences/a", NULL), 204);
	assert_int_equal(server_keys(&redis), 0);
	assert_true(json_is_null(json_at(get("/fences/a"), "/highest")));
	assert_problem(http(client, "DELETE", "/fences/a", NULL), 404, "not_found", "none");
	assert_passes("a", 1);
	assert_problem(http(client, "DELETE", "/fences/..", NULL), 400, "reserved_name", "none");
	assert_problem(get("/fences/.."), 400, "reserved_name", "none");
}

/* Neither the fence key of a lock nor that of a cached value is in the list. */
static void the_list_has_fences_only(void **state)
{
	(void)state;
	assert_string_equal(get("/fences").body, "{\"items\":[],\"next_cursor\":null,\"complete\":true}\n");
	assert_status(post("/locks/l", NULL), 201);
	assert_status(http(client, "PUT", "/cache/c", "{\"value\":1}", "Fence: 5"), 201);
	server_command(&redis, "SET p:fence:{foreign} mine");
	assert_passes("a", 7);
	assert_passes("b", 8);
	struct answer all = get_all("/fences"), some = get_all("/fences?match=b*");
	assert_int_equal(json_array_size(json_at(all, "/items")), 2);
	assert_int_equal(json_array_size(json_at(some, "/items")), 1);
	assert_string_equal(text_at(some, "/items/0/name"), "b");
	assert_int_equal(int_at(some, "/items/0/highest"), 8);
}

static void a_foreign_key_is_reported_and_kept(void **state)
{
	(void)state;
	server_command(&redis, "SET p:fence:{a} mine");
	assert_problem(check("a", 1), 500, "foreign_key", "none");
	assert_problem(get("/fences/a"), 500, "foreign_key", "none");
	assert_problem(http(client, "DELETE", "/fences/a", NULL), 500, "foreign_key", "none");
	assert_string_equal(server_command(&redis, "GET p:fence:{a}")->str, "mine");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_smaller_fence_is_stale, stage_forget),
		cmocka_unit_test_teardown(the_fences_of_a_lock_are_distinguished, stage_forget),
		cmocka_unit_test_teardown(what_is_no_fence_is_refused, stage_forget),
		cmocka_unit_test_teardown(a_key_makes_no_exception, stage_forget),
		cmocka_unit_test_teardown(the_highest_is_read_and_deleted, stage_forget),
		cmocka_unit_test_teardown(the_list_has_fences_only, stage_forget),
		cmocka_unit_test_teardown(a_foreign_key_is_reported_and_kept, stage_forget),
	};

	return cmocka_run_group_tests_name("fences", tests, stage_open, stage_close);
}
