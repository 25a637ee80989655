/*
 * Many members of a leaderboard in one request over HTTP: the daemon writes them in several steps,
 * and looks them up.
 */
#include "many.h"
#include "stage.h"
#include "test.h"

#define WRITE "/leaderboards/b/members"
#define LOOKUP "/leaderboards/b/lookup"

static void assert_counts(struct answer a, int added, int updated, int removed, int dropped, int size)
{
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "b");
	assert_int_equal(int_at(a, "/added_count"), added);
	assert_int_equal(int_at(a, "/updated_count"), updated);
	assert_int_equal(int_at(a, "/removed_count"), removed);
	assert_int_equal(int_at(a, "/dropped_count"), dropped);
	assert_int_equal(int_at(a, "/size"), size);
}

static struct answer write_many(int first, int count, const char *header)
{
	const char *body = many("{\"put\":[", "{\"member\":\"m", first, count, "\",\"scores\":{\"p\":1}}", "]}");

	return http(client, "POST", WRITE, body, header ? header : "X-None: 1");
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(members_come_and_go_at_once)
{
	http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"gold\",\"silver\"]}");
	assert_counts(
		post(WRITE,
		     "{\"put\":[{\"member\":\"CN\",\"scores\":{\"gold\":50,\"silver\":1}},"
		     "{\"member\":\"FR\",\"scores\":{\"silver\":15}},{\"member\":\"XX\",\"scores\":{\"gold\":1}}]}"),
		3, 0, 0, 0, 3);
	assert_counts(post(WRITE,
			   "{\"put\":[{\"member\":\"FR\",\"scores\":{\"gold\":5}}],\"remove\":[\"XX\",\"YY\",\"XX\"]}"),
		      0, 1, 1, 0, 2);
	struct answer a = post(LOOKUP, "{\"members\":[\"FR\",\"XX\",\"CN\",\"FR\"]}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "b");
	assert_int_equal(json_array_size(json_at(a, "/members")), 4);
	assert_string_equal(text_at(a, "/members/0/member"), "FR");
	assert_int_equal(int_at(a, "/members/0/rank"), 2);
	assert_int_equal(int_at(a, "/members/0/scores/gold"), 5);
	assert_int_equal(int_at(a, "/members/0/scores/silver"), 0); /* a score that is not given becomes 0 */
	assert_true(json_is_null(json_at(a, "/members/1")));
	assert_int_equal(int_at(a, "/members/2/rank"), 1);
	assert_int_equal(int_at(a, "/members/3/rank"), 2);
	assert_int_equal(int_at(post(LOOKUP "?order=asc", "{\"members\":[\"FR\"]}"), "/members/0/rank"), 1);
}

/* The daemon writes 1000 members in four steps, in the order of the request. */
TEST(the_most_is_written_and_found)
{
	assert_counts(write_many(0, 1000, NULL), 1000, 0, 0, 0, 1000);
	assert_counts(write_many(500, 1000, NULL), 500, 500, 0, 0, 1500);
	struct answer a = post(LOOKUP, many("{\"members\":[", "\"m", 600, 1000, "\"", "]}"));
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/members")), 1000);
	for (int i = 0; i < 1000; i += 111) {
		char at[32], member[16];
		snprintf(at, sizeof(at), "/members/%d/rank", i);
		snprintf(member, sizeof(member), "m%d", 600 + i);
		if (i >= 900) {
			at[strlen(at) - strlen("/rank")] = '\0';
			assert_true(json_is_null(json_at(a, at)));
			continue;
		}
		assert_int_equal(int_at(a, at), 601 + i);
		snprintf(at, sizeof(at), "/members/%d/member", i);
		assert_string_equal(text_at(a, at), member);
	}
	assert_counts(post(WRITE, many("{\"remove\":[", "\"m", 200, 1000, "\"", "]}")), 0, 0, 1000, 0, 500);
	assert_int_equal(int_at(get("/leaderboards/b"), "/size"), 500);
}

TEST(a_board_that_keeps_few_drops_the_rest)
{
	http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"p\"],\"max_members\":3}");
	assert_counts(write_many(0, 1000, NULL), 1000, 0, 0, 997, 3);
	struct answer a = get("/leaderboards/b/members");
	assert_int_equal(json_array_size(json_at(a, "/items")), 3);
	assert_string_equal(text_at(a, "/items/0/member"), "m0");
	assert_string_equal(text_at(a, "/items/2/member"), "m2");
}

TEST(a_retry_gets_the_first_answer)
{
	for (int i = 0; i < 2; i++) {
		assert_counts(write_many(0, 600, "Idempotency-Key: one"), 600, 0, 0, 0, 600);
		http(client, "PUT", WRITE "/m1", "{\"scores\":{\"p\":7}}");
		http(client, "DELETE", WRITE "/m2", NULL);
	}
	assert_int_equal(int_at(get(WRITE "/m1"), "/scores/p"), 7);
	assert_problem(get(WRITE "/m2"), 404, "not_found", "none");
	assert_problem(write_many(1, 600, "Idempotency-Key: one"), 422, "idempotency_key_reused", "none");
}

TEST(mistakes_are_named)
{
	static const struct {
		const char *body, *code, *pointer;
	} rows[] = {
		{ "{}", "out_of_range", "/put" },
		{ "{\"put\":[],\"remove\":[]}", "out_of_range", "/put" },
		{ "{\"put\":[{\"member\":\"m\",\"scores\":{\"gold\":1,\"iron\":2}}]}", "unknown_field",
		  "/put/0/scores/iron" },
		{ "{\"put\":[{\"member\":\"m\",\"scores\":{\"gold\":1}},"
		  "{\"member\":\"n\",\"scores\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1}}]}",
		  "unknown_field", "/put/1/scores/a" },
		{ "{\"put\":[{\"member\":\"m\",\"scores\":{\"gold\":4294967296}}]}", "out_of_range",
		  "/put/0/scores/gold" },
		{ "{\"put\":[{\"member\":\"m\",\"scores\":{}}]}", "out_of_range", "/put/0/scores" },
		{ "{\"put\":[{\"member\":\"m\",\"scores\":{\"gold\":1}},{\"member\":\"m\",\"scores\":{\"gold\":1}}]}",
		  "invalid_value", "/put" },
		{ "{\"put\":[{\"member\":\"m\",\"scores\":{\"gold\":1}}],\"remove\":[\"n\",\"m\"]}", "invalid_value",
		  "/remove/1" },
		{ "{\"put\":[{\"member\":\"\",\"scores\":{\"gold\":1}}]}", "invalid_name", "/put/0/member" },
	};

	struct answer a = post(WRITE, "{\"put\":[{\"member\":\"m\",\"scores\":{\"gold\":1,\"silver\":1}}]}");
	assert_problem(a, 404, "not_found", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "create it by PUT"));
	assert_problem(post(WRITE, "{\"remove\":[\"m\"]}"), 404, "not_found", "none");
	assert_problem(post(LOOKUP, "{\"members\":[\"m\"]}"), 404, "not_found", "none");
	http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"gold\",\"silver\"]}");
	for (size_t i = 0; i < COUNT(rows); i++) {
		a = post(WRITE, rows[i].body);
		assert_problem(a, 400, rows[i].code, "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
	}
	assert_problem(post(LOOKUP, "{\"members\":[]}"), 400, "out_of_range", "none");
	const char *body =
		many("{\"remove\":[\"x\"],\"put\":[", "{\"member\":\"m", 0, 1000, "\",\"scores\":{\"gold\":1}}", "]}");
	assert_problem(post(WRITE, body), 400, "out_of_range", "none");
	assert_int_equal(int_at(get("/leaderboards/b"), "/size"), 0);
}
