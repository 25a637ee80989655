/*
 * Leaderboards over HTTP: order, ranks, pages, neighbours, and members that are added, changed and
 * removed. (Merges: test_leaderboards_merge.c.)
 */
#include "stage.h"
#include "test.h"

#define MEMBERS "/leaderboards/b/members"
#define MEDALS "{\"dimensions\":[\"gold\",\"silver\",\"bronze\"]}"

static struct answer put(const char *member, const char *scores)
{
	char target[160], body[256];

	snprintf(target, sizeof(target), "/leaderboards/b/members/%s", member);
	snprintf(body, sizeof(body), "{\"scores\":{%s}}", scores);
	return http(client, "PUT", target, body);
}

static struct answer add(const char *member, const char *scores)
{
	char target[160], body[256];

	snprintf(target, sizeof(target), "/leaderboards/b/members/%s/increment", member);
	snprintf(body, sizeof(body), "{\"scores\":{%s}}", scores);
	return post(target, body);
}

/* The page has the members `wanted`, in this order ("b c a"), with ranks from `first_rank` on. */
static void assert_page(const char *target, int first_rank, const char *wanted)
{
	struct answer a = get(target);
	char got[400] = "";
	const json_t *item;
	size_t i;

	assert_status(a, 200);
	json_array_foreach(json_at(a, "/items"), i, item) {
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "",
			 json_string_value(json_object_get(item, "member")));
		assert_int_equal(json_integer_value(json_object_get(item, "rank")), first_rank + (int)i);
	}
	assert_string_equal(got, wanted);
}

/* ---- Order ---- */

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(dimensions_count_one_after_the_other)
{
	struct answer a = http(client, "PUT", "/leaderboards/b", MEDALS);
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/name"), "b");
	assert_string_equal(text_at(a, "/dimensions/2"), "bronze");
	assert_int_equal(int_at(a, "/size"), 0);
	a = put("many", "\"gold\":5,\"silver\":15");
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/member"), "many");
	assert_int_equal(int_at(a, "/rank"), 1);
	assert_int_equal(int_at(a, "/scores/silver"), 15);
	assert_int_equal(int_at(a, "/scores/bronze"), 0);
	assert_int_equal(int_at(put("few", "\"silver\":1,\"gold\":50"), "/rank"), 1);
	assert_int_equal(int_at(get("/leaderboards/b/members/many"), "/rank"), 2);
	assert_page(MEMBERS, 1, "few many");
	assert_page(MEMBERS "?order=asc", 1, "many few");
}

TEST(scores_are_exact_to_the_last_bit)
{
	static const char all[] = "\"a\":4294967295,\"b\":4294967295,\"c\":4294967295,\"d\":%s";
	char scores[128];

	http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"a\",\"b\",\"c\",\"d\"]}");
	snprintf(scores, sizeof(scores), all, "4294967294");
	assert_status(put("second", scores), 201);
	snprintf(scores, sizeof(scores), all, "4294967295");
	assert_int_equal(int_at(put("first", scores), "/rank"), 1);
	assert_int_equal(int_at(get("/leaderboards/b/members/first"), "/scores/d"), 4294967295);
	assert_int_equal(int_at(get("/leaderboards/b/members/second"), "/scores/d"), 4294967294);
	assert_page(MEMBERS, 1, "first second");
	assert_int_equal(int_at(add("second", "\"d\":1"), "/rank"), 2); /* equal from now on */
	struct answer a = add("second", "\"a\":-1,\"d\":1");
	assert_problem(a, 409, "score_out_of_range", "none");
	assert_string_equal(text_at(a, "/detail"),
			    "'d' of 'second' is 4294967295, and adding 1 leaves the range of 0 to 4294967295");
	assert_int_equal(int_at(get("/leaderboards/b/members/second"), "/scores/a"), 4294967295);
	assert_problem(add("nobody", "\"a\":-1"), 409, "score_out_of_range", "none");
	assert_problem(get("/leaderboards/b/members/nobody"), 404, "not_found", "none");
}

/* A time in milliseconds fits into a score. The newest member is first. */
TEST(one_dimension_has_53_bits)
{
	assert_int_equal(int_at(put("old", "\"at_ms\":1795392250378"), "/scores/at_ms"), 1795392250378);
	assert_int_equal(int_at(put("new", "\"at_ms\":1795392250379"), "/rank"), 1);
	assert_int_equal(int_at(put("most", "\"at_ms\":9007199254740991"), "/rank"), 1);
	assert_page(MEMBERS, 1, "most new old");
	assert_page(MEMBERS "?order=asc", 1, "old new most");
	assert_true(int_at(get(MEMBERS "/most"), "/scores/at_ms") == 9007199254740991);
	struct answer a = add("most", "\"at_ms\":9007199254740991");
	assert_problem(a, 409, "score_out_of_range", "none");
	assert_string_equal(text_at(a, "/detail"), "'at_ms' of 'most' is 9007199254740991, and adding 9007199254740991 "
						   "leaves the range of 0 to 9007199254740991");
	assert_int_equal(int_at(add("most", "\"at_ms\":-9007199254740991"), "/scores/at_ms"), 0);
	assert_problem(put("more", "\"at_ms\":9007199254740992"), 400, "out_of_range", "none");
}

/*
 * If another program has stored elements that are not members, a read reports them as a foreign
 * key.
 */
TEST(foreign_elements_are_reported)
{
	static const char *const foreign[] = { "short", "\x7f-eight-or-more-bytes" };

	for (size_t i = 0; i < 2; i++) {
		put("m", "\"p\":1");
		server_command(&redis, "ZADD p:board:{b}:ranks 0 %s", foreign[i]);
		assert_problem(get(MEMBERS), 500, "foreign_key", "none");
		assert_problem(get(MEMBERS "/m/around?order=asc"), 500, "foreign_key", "none");
		http(client, "DELETE", "/leaderboards/b", NULL);
	}
}

TEST(first_come_is_ahead_of_equals)
{
	http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"points\"]}");
	put("z", "\"points\":7");
	put("a", "\"points\":7");
	put("m", "\"points\":7");
	assert_page(MEMBERS, 1, "z a m");
	assert_page(MEMBERS "?order=asc", 1, "z a m");
	assert_int_equal(int_at(put("z", "\"points\":7"), "/rank"), 1); /* the same score keeps the rank */
	assert_int_equal(int_at(add("z", "\"points\":0"), "/rank"), 1);
	add("z", "\"points\":1");
	assert_int_equal(int_at(add("z", "\"points\":-1"), "/rank"), 3); /* a changed score loses the rank */
	assert_page(MEMBERS, 1, "a m z");
	assert_page(MEMBERS "?order=asc&cursor=1&limit=1", 2, "m");
}

/* ---- Pages and neighbours ---- */

TEST(pages_and_neighbours)
{
	http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"p\"]}");
	for (char c = 'a'; c <= 'j'; c++) {
		char scores[16];
		snprintf(scores, sizeof(scores), "\"p\":%d", 10 * ('k' - c));
		put((char[]){ c, '\0' }, scores);
	}
	assert_page(MEMBERS "?limit=3", 1, "a b c");
	assert_page(MEMBERS "?cursor=8&limit=3", 9, "i j");
	assert_page(MEMBERS "?cursor=10", 11, "");
	assert_page(MEMBERS "?cursor=900719925474099&limit=1000", 1, "");
	assert_page(MEMBERS "?cursor=1&limit=2&order=asc", 2, "i h");
	assert_page(MEMBERS "/e/around?limit=5", 3, "c d e f g");
	assert_page(MEMBERS "/e/around?limit=4", 4, "d e f g");
	assert_page(MEMBERS "/e/around?limit=1", 5, "e");
	assert_page(MEMBERS "/a/around?limit=3", 1, "a b c");
	assert_page(MEMBERS "/j/around?limit=3", 8, "h i j");
	assert_page(MEMBERS "/j/around", 1, "a b c d e f g h i j");
	assert_page(MEMBERS "/i/around?limit=3&order=asc", 1, "j i h");
	assert_int_equal(int_at(get("/leaderboards/b/members/i?order=asc"), "/rank"), 2);
	assert_problem(get(MEMBERS "?limit=1001"), 400, "out_of_range", "none");
	assert_problem(get(MEMBERS "?limit=0"), 400, "out_of_range", "none");
	assert_problem(get(MEMBERS "?cursor=-1"), 400, "invalid_value", "none");
	assert_problem(get(MEMBERS "?cursor=9007199254740992"), 400, "invalid_value", "none");
	assert_problem(get(MEMBERS "/e/around?cursor=e"), 400, "invalid_value", "none");
	assert_problem(get(MEMBERS "?order=up"), 400, "invalid_value", "none");
	assert_problem(get(MEMBERS "/e/around?limit=1001"), 400, "out_of_range", "none");
}

static int64_t counted(const char *range)
{
	char target[128];

	snprintf(target, sizeof(target), "/leaderboards/b/count%s", range);
	struct answer a = get(target);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "b");
	return int_at(a, "/count");
}

/* A range applies to the first dimension. Ranks count the whole board. */
TEST(scores_have_ranges)
{
	assert_problem(get("/leaderboards/b/count"), 404, "not_found", "none");
	http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"p\",\"q\"]}");
	assert_int_equal(counted(""), 0);
	for (char c = 'a'; c <= 'f'; c++) {
		char scores[32];
		snprintf(scores, sizeof(scores), "\"p\":%d,\"q\":%d", 10 * ('f' - c) / 20, c);
		put((char[]){ c, '\0' }, scores);
	}
	assert_page(MEMBERS, 1, "b a d c f e"); /* p is 2, 2, 1, 1, 0, 0 */
	assert_page(MEMBERS "?min_score=1&max_score=1", 3, "d c");
	assert_page(MEMBERS "?min_score=1&max_score=1&order=asc", 3, "c d");
	assert_page(MEMBERS "?max_score=1&limit=3", 3, "d c f");
	assert_page(MEMBERS "?min_score=1&order=asc&limit=3&cursor=1", 4, "d a b");
	assert_page(MEMBERS "?min_score=3", 1, "");
	assert_page(MEMBERS "?min_score=4294967296", 1, "");
	assert_page(MEMBERS "?max_score=9007199254740991&limit=1", 1, "b");
	assert_int_equal(counted(""), 6);
	assert_int_equal(counted("?min_score=1"), 4);
	assert_int_equal(counted("?min_score=1&max_score=1"), 2);
	assert_int_equal(counted("?max_score=0"), 2);
	struct answer a = get(MEMBERS "?min_score=2&max_score=1");
	assert_problem(a, 400, "out_of_range", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "?min_score");
	assert_problem(get("/leaderboards/b/count?min_score=2&max_score=1"), 400, "out_of_range", "none");
	assert_problem(get("/leaderboards/b/count?min_score=-1"), 400, "out_of_range", "none");
	assert_problem(get("/leaderboards/b/count?max_score=9007199254740992"), 400, "out_of_range", "none");
}

/* Follows next_cursor. The members of all pages must be `wanted`, and no page may be empty. */
static void assert_pages(const char *target, const char *wanted)
{
	char got[64] = "", next[160];
	const json_t *item, *cursor;
	size_t i;

	snprintf(next, sizeof(next), "%s", target);
	do {
		struct answer a = get(next);
		assert_status(a, 200);
		assert_true(json_array_size(json_at(a, "/items")) > 0);
		json_array_foreach(json_at(a, "/items"), i, item)
			strcat(got, json_string_value(json_object_get(item, "member")));
		cursor = json_at(a, "/next_cursor");
		if (json_is_string(cursor))
			snprintf(next, sizeof(next), "%s&cursor=%s", target, json_string_value(cursor));
	} while (json_is_string(cursor));
	assert_true(json_is_null(cursor));
	assert_string_equal(got, wanted);
}

TEST(a_cursor_leads_to_the_end)
{
	http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"p\"]}");
	for (char c = 'a'; c <= 'h'; c++) {
		char scores[16];
		snprintf(scores, sizeof(scores), "\"p\":%d", 10 * ('k' - c));
		put((char[]){ c, '\0' }, scores);
	}
	assert_pages(MEMBERS "?limit=3", "abcdefgh");
	assert_pages(MEMBERS "?limit=4", "abcdefgh");
	assert_pages(MEMBERS "?limit=3&order=asc", "hgfedcba");
	assert_pages(MEMBERS "?limit=2&min_score=50&max_score=90", "bcdef");
	assert_pages(MEMBERS "?limit=2&min_score=50&max_score=90&order=asc", "fedcb");
	assert_pages(MEMBERS "/d/around?limit=3", "cdefgh");
	assert_pages(MEMBERS "/d/around?limit=3&order=asc", "edcba");
}

/* ---- Members and boards ---- */

TEST(members_come_change_and_go)
{
	http(client, "PUT", "/leaderboards/b", MEDALS);
	assert_status(add("m", "\"silver\":2"), 201);
	struct answer a = add("m", "\"gold\":1,\"silver\":3");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/scores/gold"), 1);
	assert_int_equal(int_at(a, "/scores/silver"), 5);
	a = put("m", "\"bronze\":4");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/scores/silver"), 0); /* scores that PUT leaves out become 0 */
	put("n", "\"bronze\":3");
	assert_status(http(client, "DELETE", "/leaderboards/b/members/m", NULL), 204);
	assert_problem(http(client, "DELETE", "/leaderboards/b/members/m", NULL), 404, "not_found", "none");
	assert_problem(get("/leaderboards/b/members/m"), 404, "not_found", "none");
	assert_problem(get("/leaderboards/b/members/m/around"), 404, "not_found", "none");
	assert_int_equal(int_at(get("/leaderboards/b/members/n"), "/rank"), 1);
	assert_int_equal(int_at(get("/leaderboards/b"), "/size"), 1);
	assert_page(MEMBERS, 1, "n");
}

TEST(a_retried_add_counts_once)
{
	http(client, "PUT", "/leaderboards/b", MEDALS);
	for (int i = 0; i < 2; i++) {
		struct answer a = http(client, "POST", MEMBERS "/m/increment", "{\"scores\":{\"gold\":5}}",
				       "Idempotency-Key: one");
		assert_status(a, 201);
		assert_int_equal(int_at(a, "/rank"), 1);
		put("other", "\"gold\":9");
	}
	assert_int_equal(int_at(get("/leaderboards/b/members/m"), "/scores/gold"), 5);
}

/*
 * One dimension has one order, so the first write makes the board. PUT makes a board with several.
 */
TEST(a_first_score_makes_the_board)
{
	struct answer a = put("m", "\"gold\":1,\"silver\":2");
	assert_problem(a, 404, "not_found", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "create it by PUT"));
	assert_problem(add("m", "\"points\":-1"), 409, "score_out_of_range", "none");
	assert_problem(get("/leaderboards/b"), 404, "not_found", "none");
	a = put("m", "\"points\":7");
	assert_status(a, 201);
	assert_null(header_of(a, "Location")); /* the client named the path */
	assert_int_equal(int_at(a, "/scores/points"), 7);
	a = get("/leaderboards/b");
	assert_string_equal(text_at(a, "/dimensions/0"), "points");
	assert_int_equal(int_at(a, "/size"), 1);
	assert_true(json_is_null(json_at(a, "/expires_at_ms")));
	assert_problem(put("m", "\"gold\":1"), 400, "unknown_field", "none");
	assert_status(http(client, "DELETE", "/leaderboards/b", NULL), 204);
	assert_status(add("m", "\"gold\":1"), 201);
	assert_string_equal(text_at(get("/leaderboards/b"), "/dimensions/0"), "gold");
	assert_int_equal(json_array_size(json_at(get_all("/leaderboards"), "/items")), 1);
}

TEST(answers_have_the_name_and_the_path)
{
	static const char increment[] = "/leaderboards/b%20%2F/members/%E5%8C%97/increment";

	for (int i = 0; i < 2; i++) { /* a replay has the same answer */
		struct answer a = http(client, "POST", increment, "{\"scores\":{\"p\":1}}", "Idempotency-Key: k");
		assert_status(a, 201);
		assert_string_equal(text_at(a, "/name"), "b /");
		const char *made = header_of(a, "Location");
		assert_string_equal(made, "/leaderboards/b%20%2F/members/%E5%8C%97");
		assert_string_equal(text_at(get(made), "/name"), "b /");
	}
	struct answer a = post(increment, "{\"scores\":{\"p\":1}}");
	assert_status(a, 200);
	assert_null(header_of(a, "Location"));
	assert_string_equal(text_at(put("m", "\"p\":1"), "/name"), "b");
	assert_problem(get("/leaderboards/combine"), 400, "reserved_name", "none");
}

TEST(boards_are_made_looked_at_and_listed)
{
	static const char *const requests[][3] = {
		{ "GET", "/leaderboards/b", NULL },
		{ "PATCH", "/leaderboards/b", "{}" },
		{ "DELETE", "/leaderboards/b", NULL },
		{ "GET", MEMBERS, NULL },
		{ "PUT", MEMBERS "/m", "{\"scores\":{\"gold\":1,\"silver\":2}}" },
		{ "POST", MEMBERS "/m/increment", "{\"scores\":{\"gold\":1,\"silver\":2}}" },
		{ "GET", MEMBERS "/m", NULL },
		{ "DELETE", MEMBERS "/m", NULL },
		{ "GET", MEMBERS "/m/around", NULL },
		{ "GET", MEMBERS "/m/around?cursor=1", NULL },
	};

	for (size_t i = 0; i < COUNT(requests); i++)
		assert_problem(http(client, requests[i][0], requests[i][1], requests[i][2]), 404, "not_found", "none");
	assert_status(http(client, "PUT", "/leaderboards/b", MEDALS), 201);
	assert_status(http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"points\"]}"),
		      200); /* no members yet */
	assert_status(http(client, "PUT", "/leaderboards/b", MEDALS), 200);
	put("m", "\"gold\":1");
	struct answer a = http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"silver\",\"gold\",\"bronze\"]}");
	assert_problem(a, 409, "leaderboard_dimensions_differ", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "gold, silver, bronze"));
	assert_int_equal(int_at(http(client, "PUT", "/leaderboards/b", MEDALS), "/size"), 1);
	server_command(&redis, "SET p:board:{foreign} x");
	a = get("/leaderboards");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/name"), "b");
	assert_string_equal(text_at(a, "/items/0/dimensions/0"), "gold");
	assert_int_equal(int_at(a, "/items/0/size"), 1);
	assert_int_equal(json_array_size(json_at(get("/leaderboards?match=x*"), "/items")), 0);
	assert_problem(get("/leaderboards/foreign"), 500, "foreign_key", "none");
}

TEST(a_deleted_board_leaves_nothing)
{
	http(client, "PUT", "/leaderboards/b", MEDALS);
	http(client, "PUT", "/leaderboards/other", MEDALS);
	put("m", "\"gold\":1");
	assert_status(http(client, "DELETE", "/leaderboards/b", NULL), 204);
	assert_problem(http(client, "DELETE", "/leaderboards/b", NULL), 404, "not_found", "none");
	assert_problem(get(MEMBERS "/m"), 404, "not_found", "none");
	assert_status(get("/leaderboards/other"), 200);
	assert_int_equal(server_command(&redis, "EXISTS p:board:{b} p:board:{b}:places p:board:{b}:ranks")->integer, 0);
	server_command(&redis, "SET p:board:{foreign} x");
	assert_problem(http(client, "DELETE", "/leaderboards/foreign", NULL), 500, "foreign_key", "none");
}

TEST(put_replaces_and_patch_merges_the_expiry)
{
	struct answer a = http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"p\"],\"ttl_ms\":60000}");
	assert_status(a, 201);
	int64_t expires_at = int_at(a, "/expires_at_ms");
	put("m", "\"p\":1");
	assert_int_equal(int_at(get("/leaderboards/b"), "/expires_at_ms"), expires_at);
	assert_int_equal(int_at(get("/leaderboards"), "/items/0/expires_at_ms"), expires_at);
	assert_int_equal(int_at(http(client, "PATCH", "/leaderboards/b", "{}"), "/expires_at_ms"), expires_at);
	a = http(client, "PATCH", "/leaderboards/b", "{\"ttl_ms\":120000}");
	assert_status(a, 200);
	assert_in_range(int_at(a, "/expires_at_ms"), expires_at + 60000, expires_at + 65000);
	a = http(client, "PATCH", "/leaderboards/b", "{\"ttl_ms\":null}");
	assert_true(json_is_null(json_at(a, "/expires_at_ms")));
	assert_int_equal(int_at(a, "/size"), 1);
	http(client, "PATCH", "/leaderboards/b", "{\"ttl_ms\":60000}");
	a = http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"p\"]}");
	assert_status(a, 200);
	assert_true(json_is_null(json_at(a, "/expires_at_ms"))); /* fields that PUT leaves out get their default */
	assert_problem(http(client, "PATCH", "/leaderboards/b", "{\"ttl_ms\":0}"), 400, "out_of_range", "none");
	assert_problem(http(client, "PATCH", "/leaderboards/b", NULL), 400, "missing_field", "none");
}

/*
 * If a board is full (max_members), a new member that would be last gets no rank and is not stored.
 */
TEST(a_board_may_keep_few)
{
	struct answer a = http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"p\"],\"max_members\":2}");
	assert_status(a, 201);
	assert_int_equal(int_at(a, "/max_members"), 2);
	put("a", "\"p\":5");
	put("b", "\"p\":5");
	for (int i = 0; i < 2; i++) { /* an answer without effect is not recorded */
		a = http(client, "POST", MEMBERS "/c/increment", "{\"scores\":{\"p\":5}}", "Idempotency-Key: k");
		assert_status(a, 200);
		assert_true(json_is_null(json_at(a, "/rank"))); /* the last of equals */
		assert_int_equal(int_at(a, "/scores/p"), 5);
		assert_null(header_of(a, "Location"));
	}
	a = put("c", "\"p\":4");
	assert_status(a, 200);
	assert_true(json_is_null(json_at(a, "/rank")));
	assert_problem(get(MEMBERS "/c"), 404, "not_found", "none");
	assert_status(put("c", "\"p\":6"), 201);
	assert_page(MEMBERS, 1, "c a");
	assert_int_equal(int_at(put("c", "\"p\":0"), "/rank"), 2); /* the last member stays until another is added */
	assert_page(MEMBERS, 1, "a c");
	a = http(client, "PATCH", "/leaderboards/b", "{\"max_members\":1}");
	assert_int_equal(int_at(a, "/size"), 1);
	assert_int_equal(int_at(http(client, "PATCH", "/leaderboards/b", "{}"), "/max_members"), 1);
	assert_page(MEMBERS, 1, "a");
	a = http(client, "PATCH", "/leaderboards/b", "{\"max_members\":null}");
	assert_true(json_is_null(json_at(a, "/max_members")));
	put("c", "\"p\":1");
	assert_page(MEMBERS, 1, "a c");
	assert_int_equal(int_at(http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"p\"],\"max_members\":1}"),
				"/size"),
			 1);
	assert_true(json_is_null(
		json_at(http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"p\"]}"), "/max_members")));
	assert_problem(http(client, "PATCH", "/leaderboards/b", "{\"max_members\":0}"), 400, "out_of_range", "none");
}

/* The daemon drops the members in several steps, and answers when at most max_members are left. */
TEST(a_large_board_becomes_small)
{
	static const char source[] =
		"for i = 1, 2600 do "
		"  local name = 'm' .. string.format('%d', i) local place = struct.pack('>I8I8', 9007199254740991 - i, i) "
		"  redis.call('HSET', KEYS[1], name, place) redis.call('ZADD', KEYS[2], 0, place .. name) "
		"end return 0";

	for (int puts = 0; puts < 2; puts++) {
		http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"p\"]}");
		server_command(&redis, "EVAL %s 2 p:board:{b}:places p:board:{b}:ranks", source);
		assert_int_equal(int_at(get("/leaderboards/b"), "/size"), 2600);
		struct answer a =
			puts ? http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"p\"],\"max_members\":3}")
			     : http(client, "PATCH", "/leaderboards/b", "{\"max_members\":3}");
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/size"), 3);
		assert_page(MEMBERS, 1, "m2600 m2599 m2598");
		http(client, "DELETE", "/leaderboards/b", NULL);
	}
}

TEST(mistakes_are_named)
{
	static const struct {
		const char *body, *code, *pointer;
	} rows[] = {
		{ "{\"scores\":{\"gold\":4294967296}}", "out_of_range", "/scores/gold" }, /* of several dimensions */
		{ "{\"scores\":{\"gold\":9007199254740992}}", "out_of_range", "/scores/gold" },
		{ "{\"scores\":{\"gold\":-1}}", "out_of_range", "/scores/gold" },
		{ "{\"scores\":{\"gold\":1.5}}", "wrong_type", "/scores/gold" },
		{ "{\"scores\":{\"gold\":\"5\"}}", "wrong_type", "/scores/gold" },
		{ "{\"scores\":{}}", "out_of_range", "/scores" },
		{ "{\"scores\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1}}", "out_of_range", "/scores" },
		{ "{\"scores\":[1]}", "wrong_type", "/scores" },
		{ "{\"scores\":{\"gold\":1,\"gold\":2}}", "malformed_json", NULL },
		{ "{\"scores\":{\"gold\":1,\"iron/lead\":2}}", "unknown_field", "/scores/iron~1lead" },
		{ "{\"scores\":{\"\":2}}", "invalid_name", "/scores/" },
		{ "{}", "missing_field", "/scores" },
	};

	http(client, "PUT", "/leaderboards/b", MEDALS);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = http(client, "PUT", "/leaderboards/b/members/m", rows[i].body);
		assert_problem(a, 400, rows[i].code, "none");
		if (rows[i].pointer)
			assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
	}
	assert_status(http(client, "PUT", "/leaderboards/b/members/m", "{\"scores\":{\"gold\":4294967295.0}}"), 201);
	struct answer a = http(client, "PUT", "/leaderboards/c", "{\"dimensions\":[\"x\",\"y\",\"x\"]}");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/dimensions/2");
	assert_problem(http(client, "PUT", "/leaderboards/c", "{\"dimensions\":[]}"), 400, "out_of_range", "none");
	assert_problem(http(client, "PUT", "/leaderboards/c", "{\"dimensions\":[\"1\",\"2\",\"3\",\"4\",\"5\"]}"), 400,
		       "out_of_range", "none");
}

TEST(names_of_all_kinds)
{
	static const char *const rows[][2] = {
		{ "a%2Fb", "a/b" }, { "%E5%8C%97%E4%BA%AC", "北京" }, { "%22%5C", "\"\\" }, { "%FF", NULL },
		{ "%7B", NULL },
	};

	http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"金\",\"a b\"]}");
	for (size_t i = 0; i < COUNT(rows); i++) {
		char target[96];
		struct answer a = put(rows[i][0], "\"金\":3");
		if (!rows[i][1]) {
			assert_problem(a, 400, "invalid_name", "none");
			continue;
		}
		assert_status(a, 201);
		assert_int_equal(int_at(a, "/scores/金"), 3);
		snprintf(target, sizeof(target), "/leaderboards/b/members/%s", rows[i][0]);
		assert_string_equal(text_at(get(target), "/member"), rows[i][1]);
	}
}
