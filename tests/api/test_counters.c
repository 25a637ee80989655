/* Counters over HTTP: a body that is a map, the range, replays. */
#include "stage.h"
#include "test.h"

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(counters_are_added_to_and_read)
{
	struct answer a = get("/counters/post");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "post");
	assert_int_equal(json_object_size(json_at(a, "/counters")), 0);
	a = post("/counters/post/increment", "{\"counters\":{\"likes\":1,\"stock\":-2,\"name\":0}}");
	assert_status(a, 200);
	assert_int_equal(json_object_size(json_at(a, "/counters")), 3);
	a = post("/counters/post/increment", "{\"counters\":{\"likes\":2.0}}");
	assert_int_equal(json_object_size(json_at(a, "/counters")), 1); /* only the members of the request */
	assert_int_equal(int_at(a, "/counters/likes"), 3);
	a = get("/counters/post");
	assert_int_equal(json_object_size(json_at(a, "/counters")), 3);
	assert_int_equal(int_at(a, "/counters/likes"), 3);
	assert_int_equal(int_at(a, "/counters/stock"), -2);
	assert_int_equal(int_at(a, "/counters/name"), 0);
}

TEST(names_are_data)
{
	struct answer a = post("/counters/p%2Fq/increment",
			       "{\"counters\":{\"a/b\":1,\"\xc3\xa9\":2,\"\\u00e9x\":3,\"a b\":4,\"\\\"\":5,\"*\":6}}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "p/q");
	a = get("/counters/p%2Fq");
	assert_int_equal(json_integer_value(json_object_get(json_at(a, "/counters"), "a/b")), 1);
	assert_int_equal(int_at(a, "/counters/\xc3\xa9"), 2);
	assert_int_equal(int_at(a, "/counters/\xc3\xa9x"), 3);
	assert_int_equal(int_at(a, "/counters/a b"), 4);
	assert_int_equal(int_at(a, "/counters/\""), 5);
	assert_int_equal(int_at(a, "/counters/*"), 6);
	assert_int_equal(json_object_size(json_at(a, "/counters")), 6);
}

TEST(what_does_not_fit_is_named)
{
	static const char *const rows[][3] = {
		{ "{}", "missing_field", "/counters" },
		{ "", "missing_field", "" },
		{ "{\"counters\":{}}", "out_of_range", "/counters" },
		{ "{\"likes\":1}", "unknown_field", "/likes" },
		{ "{\"counters\":{\"a\":1,\"\":1}}", "invalid_name", "/counters/" },
		{ "{\"counters\":{\"a\":1,\".\":1}}", "reserved_name", "/counters/." },
		{ "{\"counters\":{\"a\":1,\"x{\":1}}", "invalid_name", "/counters/x{" },
		{ "{\"counters\":{\"a/b\":\"x\"}}", "wrong_type", "/counters/a~1b" },
		{ "{\"counters\":{\"a\":1.5}}", "wrong_type", "/counters/a" },
		{ "{\"counters\":{\"a\":null}}", "wrong_type", "/counters/a" },
		{ "{\"counters\":{\"a\":{}}}", "wrong_type", "/counters/a" },
		{ "{\"counters\":{\"a\":\"1\"}}", "wrong_type", "/counters/a" },
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = post("/counters/post/increment", rows[i][0]);
		assert_problem(a, 400, rows[i][1], "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i][2]);
	}
	assert_problem(post("/counters/post/increment", "{\"counters\":{\"a\":1,\"a\":2}}"), 400, "malformed_json",
		       "none");
	assert_int_equal(server_keys(&redis), 0);
}

TEST(a_call_names_a_hundred_a_name_has_five_hundred)
{
	char body[4096];

	for (int first = 0; first < 500; first += 100) {
		size_t n = 0;
		for (int i = first; i < first + 100; i++)
			n += (size_t)snprintf(body + n, sizeof(body) - n, "%s\"c%d\":%d",
					      i > first ? "," : "{\"counters\":{", i, i);
		snprintf(body + n, sizeof(body) - n, "}}");
		assert_status(post("/counters/many/increment", body), 200);
	}
	assert_problem(post("/counters/many/increment", "{\"counters\":{\"c0\":1,\"one more\":1}}"), 409,
		       "too_many_counters", "none");
	struct answer a = get("/counters/many");
	assert_int_equal(json_object_size(json_at(a, "/counters")), 500);
	assert_int_equal(int_at(a, "/counters/c0"), 0);
	assert_int_equal(int_at(a, "/counters/c499"), 499);
	body[strlen(body) - 2] = '\0';
	strcat(body, ",\"x\":1}}");
	a = post("/counters/many/increment", body);
	assert_problem(a, 400, "out_of_range", "none");
	assert_string_equal(text_at(a, "/detail"), "/counters must have 1 to 100 members, not 101");
}

#define MOST "9007199254740991"

TEST(the_range_ends_where_json_readers_are_exact)
{
	server_command(&redis, "HSET p:counter:{wide} up 9007199254740000 down -9007199254740000");
	struct answer a = post("/counters/wide/increment", "{\"counters\":{\"up\":991,\"down\":-991}}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/counters/up"), INT64_C(9007199254740991));
	assert_int_equal(int_at(a, "/counters/down"), INT64_C(-9007199254740991));
	assert_problem(post("/counters/wide/increment", "{\"counters\":{\"new\":1,\"up\":1}}"), 409, "counter_overflow",
		       "none");
	a = post("/counters/wide/increment", "{\"counters\":{\"down\":-1,\"new\":1}}");
	assert_problem(a, 409, "counter_overflow", "none");
	assert_string_equal(text_at(a, "/detail"),
			    "'down' is -" MOST ", and adding -1 leaves the range of -(2^53 - 1) to 2^53 - 1");
	a = get("/counters/wide");
	assert_int_equal(json_object_size(json_at(a, "/counters")), 2);
	assert_int_equal(int_at(a, "/counters/up"), INT64_C(9007199254740991));
	assert_status(post("/counters/other/increment", "{\"counters\":{\"a\":" MOST ",\"b\":-" MOST "}}"), 200);
	a = post("/counters/other/increment", "{\"counters\":{\"a\":-" MOST ",\"b\":" MOST "}}");
	assert_int_equal(int_at(a, "/counters/a"), 0);
	assert_int_equal(int_at(a, "/counters/b"), 0);
	assert_problem(post("/counters/other/increment", "{\"counters\":{\"a\":9007199254740992}}"), 400,
		       "out_of_range", "none");
	assert_problem(post("/counters/other/increment", "{\"counters\":{\"a\":-9007199254740992}}"), 400,
		       "out_of_range", "none");
}

TEST(a_retried_add_counts_once)
{
	for (int i = 0; i < 3; i++) {
		struct answer a = http(client, "POST", "/counters/post/increment", "{\"counters\":{\"likes\":1}}",
				       "Idempotency-Key: k");
		assert_int_equal(int_at(a, "/counters/likes"), 1);
		assert_status(post("/counters/post/increment", "{\"counters\":{\"likes\":10}}"), 200);
	}
	assert_problem(http(client, "POST", "/counters/post/increment", "{\"counters\":{\"likes\":2}}",
			    "Idempotency-Key: k"),
		       422, "idempotency_key_reused", "none");
	assert_int_equal(int_at(get("/counters/post"), "/counters/likes"), 31);
}

TEST(a_foreign_key_is_reported)
{
	server_command(&redis, "SET p:counter:{post} 5");
	assert_problem(get("/counters/post"), 500, "foreign_key", "none");
	assert_problem(post("/counters/post/increment", "{\"counters\":{\"likes\":1}}"), 500, "foreign_key", "none");
}

TEST(counters_expire_when_asked)
{
	assert_problem(http(client, "PATCH", "/counters/post", "{\"ttl_ms\":60000}"), 404, "not_found", "none");
	assert_status(post("/counters/post/increment", "{\"counters\":{\"likes\":1}}"), 200);
	assert_true(json_is_null(json_at(get("/counters/post"), "/expires_at_ms")));
	struct answer a = http(client, "PATCH", "/counters/post", "{\"ttl_ms\":60000}");
	assert_status(a, 200);
	int64_t at = int_at(a, "/expires_at_ms");
	assert_int_equal(int_at(a, "/counters/likes"), 1);
	assert_status(post("/counters/post/increment", "{\"counters\":{\"likes\":1,\"plays\":1}}"), 200);
	assert_int_equal(int_at(http(client, "PATCH", "/counters/post", "{}"), "/expires_at_ms"), at);
	assert_int_equal(int_at(get("/counters/post"), "/expires_at_ms"), at);
	a = http(client, "PATCH", "/counters/post", "{\"ttl_ms\":null}");
	assert_true(json_is_null(json_at(a, "/expires_at_ms")));
	assert_true(json_is_null(json_at(get("/counters/post"), "/expires_at_ms")));
	assert_problem(http(client, "PATCH", "/counters/post", NULL), 400, "missing_field", "none");
	assert_problem(http(client, "PATCH", "/counters/post", "{\"ttl_ms\":0}"), 400, "out_of_range", "none");
	assert_status(http(client, "PATCH", "/counters/post", "{\"ttl_ms\":1}"), 200);
	wait_until(json_object_size(json_at(get("/counters/post"), "/counters")) == 0, 5000);
	wait_until(server_keys(&redis) == 0, 5000);
}

/* ---- One counter: as HGET, HSET and HDEL have it ---- */

/* The value that Redis has for the field; NULL if it has none. */
static const char *hget(const char *field)
{
	redisReply *reply = server_command(&redis, "HGET p:counter:{post} %s", field);

	return reply->type == REDIS_REPLY_NIL ? NULL : reply->str;
}

TEST(one_counter_is_set_read_and_deleted)
{
	struct answer a = get("/counters/post/fields/likes");
	assert_problem(a, 404, "not_found", "none");
	assert_string_equal(text_at(a, "/detail"), "there is no counter 'likes' under 'post'");
	assert_problem(http(client, "DELETE", "/counters/post/fields/likes", NULL), 404, "not_found", "none");
	assert_int_equal(server_keys(&redis), 0);
	a = http(client, "PUT", "/counters/post/fields/likes", "{\"value\":7}");
	assert_status(a, 201);
	assert_string_equal(a.body, "{\"name\":\"post\",\"field\":\"likes\",\"value\":7}\n");
	assert_string_equal(hget("likes"), "7");
	a = http(client, "PUT", "/counters/post/fields/likes", "{\"value\":0}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/value"), 0);
	assert_string_equal(hget("likes"), "0");
	assert_status(post("/counters/post/increment", "{\"counters\":{\"likes\":-2,\"plays\":1}}"), 200);
	a = get("/counters/post/fields/likes");
	assert_status(a, 200);
	assert_string_equal(a.body, "{\"name\":\"post\",\"field\":\"likes\",\"value\":-2}\n");
	assert_status(http(client, "DELETE", "/counters/post/fields/likes", NULL), 204);
	assert_null(hget("likes"));
	assert_problem(get("/counters/post/fields/likes"), 404, "not_found", "none");
	assert_string_equal(hget("plays"), "1"); /* other counters stay */
	assert_status(http(client, "DELETE", "/counters/post/fields/plays", NULL), 204);
	assert_int_equal(server_command(&redis, "EXISTS p:counter:{post}")->integer, 0);
	assert_int_equal(json_array_size(json_at(get_all("/counters"), "/items")), 0);
	assert_status(http(client, "PUT", "/counters/post/fields/likes", "{\"value\":1}"), 201);
	assert_int_equal(json_array_size(json_at(get_all("/counters"), "/items")), 1);
}

TEST(a_set_counter_keeps_the_expiry)
{
	assert_status(http(client, "PUT", "/counters/post/fields/likes", "{\"value\":1}"), 201);
	int64_t at = int_at(http(client, "PATCH", "/counters/post", "{\"ttl_ms\":60000}"), "/expires_at_ms");
	assert_status(http(client, "PUT", "/counters/post/fields/likes", "{\"value\":2}"), 200);
	assert_status(http(client, "PUT", "/counters/post/fields/plays", "{\"value\":2}"), 201);
	assert_int_equal(int_at(get("/counters/post"), "/expires_at_ms"), at);
	assert_status(http(client, "DELETE", "/counters/post/fields/likes", NULL), 204);
	assert_int_equal(int_at(get("/counters/post"), "/expires_at_ms"), at);
}

TEST(one_counter_has_the_range_of_all)
{
	static const char *const rows[][3] = {
		{ "{\"value\":9007199254740992}", "out_of_range", "/value" },
		{ "{\"value\":-9007199254740992}", "out_of_range", "/value" },
		{ "{\"value\":1.5}", "wrong_type", "/value" },
		{ "{\"value\":\"1\"}", "wrong_type", "/value" },
		{ "{\"value\":null}", "wrong_type", "/value" },
		{ "{}", "missing_field", "/value" },
		{ "{\"value\":1,\"by\":1}", "unknown_field", "/by" },
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = http(client, "PUT", "/counters/post/fields/n", rows[i][0]);
		assert_problem(a, 400, rows[i][1], "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i][2]);
	}
	assert_problem(http(client, "PUT", "/counters/post/fields/%7B", "{\"value\":1}"), 400, "invalid_name", "none");
	assert_problem(get("/counters/post/fields/.."), 400, "reserved_name", "none");
	assert_int_equal(server_keys(&redis), 0);
	assert_status(http(client, "PUT", "/counters/post/fields/n", "{\"value\":" MOST "}"), 201);
	assert_string_equal(hget("n"), MOST);
	assert_int_equal(int_at(get("/counters/post/fields/n"), "/value"), INT64_C(9007199254740991));
	assert_status(http(client, "PUT", "/counters/post/fields/n", "{\"value\":-" MOST "}"), 200);
	assert_string_equal(hget("n"), "-" MOST);
	assert_int_equal(int_at(get("/counters/post/fields/n"), "/value"), INT64_C(-9007199254740991));
	for (int i = 0; i < 499; i++)
		server_command(&redis, "HSET p:counter:{post} c%d 1", i);
	struct answer a = http(client, "PUT", "/counters/post/fields/more", "{\"value\":1}");
	assert_problem(a, 409, "too_many_counters", "none");
	assert_string_equal(text_at(a, "/detail"), "'post' would have 501 counters; 500 are allowed");
	assert_status(http(client, "PUT", "/counters/post/fields/c0", "{\"value\":5}"), 200);
}

/* A counter's name is data, even if it is also a word of a path. */
TEST(fields_of_all_names)
{
	static const char *const names[][2] = { { "a%2Fb", "a/b" },           { "caf%C3%A9", "caf\xc3\xa9" },
						{ "a%20b", "a b" },           { "fields", "fields" },
						{ "increment", "increment" }, { "*", "*" } };
	char target[96];

	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(target, sizeof(target), "/counters/p%%2Fq/fields/%s", names[i][0]);
		struct answer a = http(client, "PUT", target, "{\"value\":5}");
		assert_status(a, 201);
		assert_string_equal(text_at(a, "/name"), "p/q");
		assert_string_equal(text_at(a, "/field"), names[i][1]);
		assert_int_equal(int_at(get(target), "/value"), 5);
	}
	struct answer a = get("/counters/p%2Fq");
	assert_int_equal(json_object_size(json_at(a, "/counters")), COUNT(names));
	assert_int_equal(json_integer_value(json_object_get(json_at(a, "/counters"), "a/b")), 5);
}

TEST(a_foreign_field_stays)
{
	server_command(&redis, "HSET p:counter:{post} bad x");
	assert_problem(get("/counters/post/fields/bad"), 500, "foreign_key", "none");
	assert_problem(http(client, "PUT", "/counters/post/fields/bad", "{\"value\":1}"), 500, "foreign_key", "none");
	assert_problem(http(client, "DELETE", "/counters/post/fields/bad", NULL), 500, "foreign_key", "none");
	assert_string_equal(hget("bad"), "x");
}

TEST(counters_are_listed_and_deleted)
{
	assert_problem(http(client, "DELETE", "/counters/post", NULL), 404, "not_found", "none");
	assert_status(post("/counters/post/increment", "{\"counters\":{\"likes\":1}}"), 200);
	assert_status(post("/counters/other/increment", "{\"counters\":{\"likes\":1}}"), 200);
	server_command(&redis, "HSET p:counters:{foreign} n 1");
	struct answer a = get_all("/counters?match=p*");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/name"), "post");
	assert_int_equal(json_array_size(json_at(get_all("/counters"), "/items")), 2);
	assert_status(http(client, "DELETE", "/counters/post", NULL), 204);
	assert_problem(http(client, "DELETE", "/counters/post", NULL), 404, "not_found", "none");
	assert_int_equal(json_array_size(json_at(get_all("/counters"), "/items")), 1);
	assert_int_equal(server_command(&redis, "EXISTS p:counter:{post}")->integer, 0);
}
