/* Sets over HTTP: members, the list with its cursor, and combining several. */
#include "stage.h"
#include "test.h"

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

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(a_member_is_put_looked_at_and_removed)
{
	static const char target[] = "/sets/likers/members/ann";

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
	assert_int_equal(put("%E5%8C%97/members/x", "y"), 404); /* not a name, but a longer path */
	assert_int_equal(put("%E5%8C%97%2F", "%E4%BA%AC%2Fa"), 201);
	assert_string_equal(text_at(get("/sets/%E5%8C%97%2F/members"), "/items/0/member"), "京/a");
}

static const char *member_at(struct answer a, size_t i)
{
	return json_string_value(json_object_get(json_array_get(json_at(a, "/items"), i), "member"));
}

TEST(a_list_is_walked_page_by_page)
{
	static const int sizes[] = { 5, 100, 400 }, limits[] = { 1, 7, 150 };
	char target[128], cursor[80];

	struct answer a = get("/sets/none/members");
	assert_status(a, 200);
	assert_int_equal(int_at(get("/sets/none"), "/size"), 0);
	a = get("/sets/none/members");
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	for (size_t s = 0; s < 3; s++) {
		fill("walked", s ? sizes[s - 1] : 0, sizes[s]);
		for (size_t l = 0; l < 3; l++) {
			bool seen[400] = { false };
			int found = 0;
			cursor[0] = '\0';
			do {
				snprintf(target, sizeof(target), "/sets/walked/members?limit=%d%s%s", limits[l],
					 *cursor ? "&cursor=" : "", cursor);
				a = get(target);
				size_t n = json_array_size(json_at(a, "/items"));
				assert_true(n <= (size_t)limits[l]);
				for (size_t i = 0; i < n; i++) {
					int at = atoi(member_at(a, i) + 1);
					assert_false(seen[at]);
					seen[at] = true;
					found++;
				}
				const char *next = json_string_value(json_at(a, "/next_cursor"));
				snprintf(cursor, sizeof(cursor), "%s", next ? next : "");
			} while (*cursor);
			assert_int_equal(found, sizes[s]);
			assert_int_equal(int_at(get("/sets/walked"), "/size"), sizes[s]);
			client_forget(client);
		}
	}
	assert_int_equal(json_array_size(json_at(get("/sets/walked/members?match=m39*&limit=1000"), "/items")), 11);
	assert_problem(get("/sets/walked/members?cursor=x"), 400, "invalid_value", "none");
}

/* True when the items are these letters, in any order. */
static bool items_are(struct answer a, const char *letters)
{
	size_t n = json_array_size(json_at(a, "/items"));

	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), n);
	for (size_t i = 0; i < n; i++)
		if (!strstr(letters, member_at(a, i)))
			return false;
	return n == strlen(letters);
}

TEST(sets_are_combined)
{
	for (const char *c = "abcd"; *c; c++)
		put("one", (char[]){ *c, '\0' });
	for (const char *c = "cdef"; *c; c++)
		put("t%2Fwo", (char[]){ *c, '\0' });
	put("three", "d");
	assert_true(items_are(get("/sets/combine?union=one&union=t%2Fwo"), "abcdef"));
	assert_true(items_are(get("/sets/combine?intersect=one&intersect=t%2Fwo"), "cd"));
	assert_true(items_are(get("/sets/combine?intersect=one&intersect=t%2Fwo&intersect=three"), "d"));
	assert_true(items_are(get("/sets/combine?subtract=one&subtract=t%2Fwo"), "ab"));
	assert_true(items_are(get("/sets/combine?subtract=t%2Fwo&subtract=one&subtract=three"), "ef"));
	assert_true(items_are(get("/sets/combine?union=three"), "d"));
	assert_true(items_are(get("/sets/combine?union=none"), ""));
	assert_true(items_are(get("/sets/combine?intersect=one&intersect=none"), ""));
}

TEST(a_way_to_combine_is_needed)
{
	char target[512] = "/sets/combine?union=s0";

	assert_problem(get("/sets/combine"), 400, "missing_field", "none");
	assert_problem(get("/sets/combine?union=a&intersect=a"), 400, "invalid_value", "none");
	struct answer a = get("/sets/combine?intersect=a&subtract=b");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "?intersect");
	assert_problem(get("/sets/combine?union="), 400, "invalid_name", "none");
	assert_problem(get("/sets/combine?union=."), 400, "reserved_name", "none");
	assert_problem(get("/sets/combine?union=combine"), 400, "reserved_name", "none");
	assert_int_equal(put("combine", "m"), 400);
	assert_problem(get("/sets/combine?Union=a"), 400, "unknown_field", "none");
	for (int i = 1; i < 10; i++)
		snprintf(target + strlen(target), sizeof(target) - strlen(target), "&union=s%d", i);
	assert_status(get(target), 200);
	strcat(target, "&union=s10");
	assert_problem(get(target), 400, "out_of_range", "none");
}

/* A member that stays is listed once, whatever members are added and removed between two pages. */
TEST(a_combination_is_walked_page_by_page)
{
	static const char target[] = "/sets/combine?union=left&union=right&limit=7";
	char next[128];
	bool seen[100] = { false };
	int found = 0, pages = 0;

	fill("left", 0, 60);
	fill("right", 40, 100);
	struct answer a = get(target);
	assert_int_equal(int_at(a, "/size"), 100);
	for (;;) {
		size_t n = json_array_size(json_at(a, "/items"));
		assert_in_range(n, 1, 7);
		for (size_t i = 0; i < n; i++) {
			const char *member = member_at(a, i);
			if (*member != 'm')
				continue;
			assert_false(seen[atoi(member + 1)]);
			seen[atoi(member + 1)] = true;
			found++;
		}
		const char *cursor = json_string_value(json_at(a, "/next_cursor"));
		if (!cursor)
			break;
		snprintf(next, sizeof(next), "%s&cursor=%s", target, cursor);
		for (int i = 0; i < 5; i++)
			server_command(&redis, "%s p:set:{right} other%d", pages % 2 ? "SREM" : "SADD", i);
		client_forget(client);
		assert_true(++pages < 50);
		a = get(next);
	}
	assert_int_equal(found, 100);
	assert_problem(get("/sets/combine?union=left&cursor=x"), 400, "invalid_value", "none");
	assert_int_equal(json_array_size(
				 json_at(get_all("/sets/combine?subtract=left&subtract=right&limit=1"), "/items")),
			 40);
}

TEST(sets_expire_when_asked)
{
	assert_problem(http(client, "PATCH", "/sets/likers", "{\"ttl_ms\":60000}"), 404, "not_found", "none");
	put("likers", "ann");
	assert_true(json_is_null(json_at(get("/sets/likers"), "/expires_at_ms")));
	struct answer a = http(client, "PATCH", "/sets/likers", "{\"ttl_ms\":60000}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "likers");
	assert_int_equal(int_at(a, "/size"), 1);
	int64_t at = int_at(a, "/expires_at_ms");
	put("likers", "bob");
	assert_status(http(client, "DELETE", "/sets/likers/members/ann", NULL), 204);
	assert_int_equal(int_at(http(client, "PATCH", "/sets/likers", "{}"), "/expires_at_ms"), at);
	assert_int_equal(int_at(get("/sets/likers"), "/expires_at_ms"), at);
	a = http(client, "PATCH", "/sets/likers", "{\"ttl_ms\":null}");
	assert_true(json_is_null(json_at(a, "/expires_at_ms")));
	assert_true(json_is_null(json_at(get("/sets/likers"), "/expires_at_ms")));
	assert_status(http(client, "PATCH", "/sets/likers", "{\"ttl_ms\":1}"), 200);
	wait_until(int_at(get("/sets/likers"), "/size") == 0, 5000);
	wait_until(server_keys(&redis) == 0, 5000);
}

TEST(sets_are_listed_and_deleted)
{
	assert_problem(http(client, "DELETE", "/sets/likers", NULL), 404, "not_found", "none");
	put("likers", "ann");
	put("other", "ann");
	server_command(&redis, "SADD p:sets:{foreign} m");
	assert_int_equal(json_array_size(json_at(get_all("/sets"), "/items")), 2);
	struct answer a = get_all("/sets?match=l*");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/name"), "likers");
	assert_int_equal(int_at(a, "/items/0/size"), 1);
	assert_true(json_is_null(json_at(a, "/items/0/expires_at_ms")));
	assert_status(http(client, "DELETE", "/sets/likers", NULL), 204);
	assert_problem(http(client, "DELETE", "/sets/likers", NULL), 404, "not_found", "none");
	assert_int_equal(json_array_size(json_at(get_all("/sets"), "/items")), 1);
	assert_int_equal(server_command(&redis, "EXISTS p:set:{likers}")->integer, 0);
}

TEST(too_many_members_are_refused)
{
	fill("large", 0, 1001);
	fill("small", 0, 3);
	struct answer a = get("/sets/combine?union=small&union=large");
	assert_problem(a, 409, "too_many_members", "none");
	assert_int_equal(int_at(a, "/members"), 1004);
	assert_int_equal(int_at(a, "/limit"), 1000);
	assert_int_equal(int_at(get("/sets/combine?intersect=large&intersect=small"), "/size"), 3);
	assert_int_equal(int_at(get("/sets/combine?subtract=small&subtract=large"), "/size"), 0);
	assert_problem(get("/sets/combine?subtract=large&subtract=small"), 409, "too_many_members", "none");
	assert_status(http(client, "DELETE", "/sets/large/members/m0", NULL), 204);
	assert_int_equal(int_at(get("/sets/combine?union=large"), "/size"), 1000);
}

TEST(a_foreign_key_is_reported)
{
	server_command(&redis, "SET p:set:{s} 5");
	assert_int_equal(put("s", "m"), 500);
	assert_problem(get("/sets/s"), 500, "foreign_key", "none");
	assert_problem(get("/sets/s/members"), 500, "foreign_key", "none");
	assert_problem(http(client, "PATCH", "/sets/s", "{\"ttl_ms\":1}"), 500, "foreign_key", "none");
	assert_problem(http(client, "DELETE", "/sets/s", NULL), 500, "foreign_key", "none");
	assert_int_equal(server_command(&redis, "EXISTS p:set:{s}")->integer, 1);
	assert_problem(get("/sets/s/members/m"), 500, "foreign_key", "none");
	assert_problem(get("/sets/combine?union=s"), 500, "foreign_key", "none");
	assert_problem(http(client, "DELETE", "/sets/s/members/m", NULL), 500, "foreign_key", "none");
}
