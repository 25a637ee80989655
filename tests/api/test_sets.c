/* Sets over HTTP: members, the list with its cursor, and combining several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stage.h"

static int put(const char *set, const char *member)
{
	char target[96];

	snprintf(target, sizeof(target), "/sets/%s/members/%s", set, member);
	return http(client, "PUT", target, NULL).status;
}

static void fill(const char *set, int from, int to)
{
	for (int i = from; i < to; i++)
		server_command(&redis, "SADD p:set:{%s} m%d", set, i);
}

static void a_member_is_put_looked_at_and_removed(void **state)
{
	static const char target[] = "/sets/likers/members/ann";

	(void)state;
	assert_problem(get(target), 404, "not_found", "none");
	assert_problem(http(client, "DELETE", target, NULL), 404, "not_found", "none");
	struct answer a = http(client, "PUT", target, NULL);
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/name"), "likers");
	assert_string_equal(text_at(a, "/member"), "ann");
	assert_int_equal(int_at(a, "/size"), 1);
	assert_int_equal(put("likers", "bob"), 201);
	a = http(client, "PUT", target, NULL);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), 2);
	assert_int_equal(int_at(get(target), "/size"), 2);
	assert_status(http(client, "DELETE", target, NULL), 204);
	assert_problem(http(client, "DELETE", target, NULL), 404, "not_found", "none");
	assert_problem(get(target), 404, "not_found", "none");
	assert_int_equal(put("%E5%8C%97/members/x", "y"), 404); /* not a name but a longer path */
	assert_int_equal(put("%E5%8C%97%2F", "%E4%BA%AC%2Fa"), 201);
	assert_string_equal(text_at(get("/sets/%E5%8C%97%2F"), "/items/0"), "京/a");
}

static void a_list_is_walked_page_by_page(void **state)
{
	static const int sizes[] = { 5, 100, 400 }, limits[] = { 1, 7, 150 };
	char target[128], cursor[80];

	(void)state;
	struct answer a = get("/sets/none");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), 0);
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	for (size_t s = 0; s < 3; s++) {
		fill("walked", s ? sizes[s - 1] : 0, sizes[s]);
		for (size_t l = 0; l < 3; l++) {
			bool seen[400] = { false };
			int found = 0;
			cursor[0] = '\0';
			do {
				snprintf(target, sizeof(target), "/sets/walked?limit=%d%s%s", limits[l],
					 *cursor ? "&cursor=" : "", cursor);
				a = get(target);
				assert_int_equal(int_at(a, "/size"), sizes[s]);
				size_t n = json_array_size(json_at(a, "/items"));
				assert_true(n <= (size_t)limits[l]);
				for (size_t i = 0; i < n; i++) {
					int at = atoi(json_string_value(json_array_get(json_at(a, "/items"), i)) + 1);
					assert_false(seen[at]);
					seen[at] = true;
					found++;
				}
				const char *next = json_string_value(json_at(a, "/next_cursor"));
				snprintf(cursor, sizeof(cursor), "%s", next ? next : "");
			} while (*cursor);
			assert_int_equal(found, sizes[s]);
			client_forget(client);
		}
	}
	assert_int_equal(json_array_size(json_at(get("/sets/walked?match=m39*&limit=1000"), "/items")), 11);
	assert_problem(get("/sets/walked?cursor=x"), 400, "invalid_value", "none");
}

/* True when the items are these letters, in any order. */
static bool items_are(struct answer a, const char *letters)
{
	size_t n = json_array_size(json_at(a, "/items"));

	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), n);
	for (size_t i = 0; i < n; i++)
		if (!strstr(letters, json_string_value(json_array_get(json_at(a, "/items"), i))))
			return false;
	return n == strlen(letters);
}

static void sets_are_combined(void **state)
{
	(void)state;
	for (const char *c = "abcd"; *c; c++)
		put("one", (char[]){ *c, '\0' });
	for (const char *c = "cdef"; *c; c++)
		put("t%2Fwo", (char[]){ *c, '\0' });
	put("three", "d");
	assert_true(items_are(get("/sets?union=one&union=t%2Fwo"), "abcdef"));
	assert_true(items_are(get("/sets?intersect=one&intersect=t%2Fwo"), "cd"));
	assert_true(items_are(get("/sets?intersect=one&intersect=t%2Fwo&intersect=three"), "d"));
	assert_true(items_are(get("/sets?subtract=one&subtract=t%2Fwo"), "ab"));
	assert_true(items_are(get("/sets?subtract=t%2Fwo&subtract=one&subtract=three"), "ef"));
	assert_true(items_are(get("/sets?union=three"), "d"));
	assert_true(items_are(get("/sets?union=none"), ""));
	assert_true(items_are(get("/sets?intersect=one&intersect=none"), ""));
}

static void a_way_to_combine_is_needed(void **state)
{
	char target[512] = "/sets?union=s0";

	(void)state;
	assert_problem(get("/sets"), 400, "missing_field", "none");
	assert_problem(get("/sets?union=a&intersect=a"), 400, "invalid_value", "none");
	struct answer a = get("/sets?intersect=a&subtract=b");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "?intersect");
	assert_problem(get("/sets?union="), 400, "invalid_name", "none");
	assert_problem(get("/sets?union=."), 400, "reserved_name", "none");
	assert_problem(get("/sets?Union=a"), 400, "unknown_field", "none");
	for (int i = 1; i < 16; i++)
		snprintf(target + strlen(target), sizeof(target) - strlen(target), "&union=s%d", i);
	assert_status(get(target), 200);
	strcat(target, "&union=s16");
	assert_problem(get(target), 400, "out_of_range", "none");
}

static void too_many_members_are_told(void **state)
{
	(void)state;
	fill("large", 0, 1001);
	fill("small", 0, 3);
	struct answer a = get("/sets?union=small&union=large");
	assert_problem(a, 409, "too_many_members", "none");
	assert_int_equal(int_at(a, "/members"), 1004);
	assert_int_equal(int_at(a, "/limit"), 1000);
	assert_int_equal(int_at(get("/sets?intersect=large&intersect=small"), "/size"), 3);
	assert_int_equal(int_at(get("/sets?subtract=small&subtract=large"), "/size"), 0);
	assert_problem(get("/sets?subtract=large&subtract=small"), 409, "too_many_members", "none");
	assert_status(http(client, "DELETE", "/sets/large/members/m0", NULL), 204);
	assert_int_equal(int_at(get("/sets?union=large"), "/size"), 1000);
}

static void a_foreign_key_is_told(void **state)
{
	(void)state;
	server_command(&redis, "SET p:set:{s} 5");
	assert_int_equal(put("s", "m"), 500);
	assert_problem(get("/sets/s"), 500, "foreign_key", "none");
	assert_problem(get("/sets/s/members/m"), 500, "foreign_key", "none");
	assert_problem(get("/sets?union=s"), 500, "foreign_key", "none");
	assert_problem(http(client, "DELETE", "/sets/s/members/m", NULL), 500, "foreign_key", "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_member_is_put_looked_at_and_removed, stage_forget),
		cmocka_unit_test_teardown(a_list_is_walked_page_by_page, stage_forget),
		cmocka_unit_test_teardown(sets_are_combined, stage_forget),
		cmocka_unit_test_teardown(a_way_to_combine_is_needed, stage_forget),
		cmocka_unit_test_teardown(too_many_members_are_told, stage_forget),
		cmocka_unit_test_teardown(a_foreign_key_is_told, stage_forget),
	};

	return cmocka_run_group_tests_name("sets", tests, stage_open, stage_close);
}
