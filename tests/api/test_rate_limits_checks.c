/*
 * Several limits as one decision, over HTTP: all or nothing, the values of each check, and the
 * values of the whole answer.
 */
#include "stage.h"
#include "test.h"

static struct answer take(const char *checks)
{
	char body[4096];

	snprintf(body, sizeof(body), "{\"checks\":[%s]}", checks);
	return http(client, "POST", "/ratelimit", body);
}

#define SECOND "{\"name\":\"second\",\"key\":\"u\",\"limit\":3,\"window_ms\":3600000}"
#define DAY "{\"name\":\"day\",\"key\":\"u\",\"algorithm\":\"fixed_window\",\"limit\":5,\"window_ms\":86400000}"
#define ALL \
	"{\"name\":\"all\",\"key\":\"everybody\",\"algorithm\":\"sliding_window\",\"limit\":9,\"window_ms\":60000,\"cost\":2}"

static int64_t remaining(const char *key, const char *check)
{
	char target[96];

	snprintf(target, sizeof(target), "/ratelimit/keys/%s?check=%s", key, check);
	return int_at(get(target), "/remaining");
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(all_are_taken)
{
	struct answer a = take(SECOND "," DAY "," ALL);
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/checks")), 3);
	assert_string_equal(text_at(a, "/checks/0/name"), "second");
	assert_int_equal(int_at(a, "/checks/0/remaining"), 2);
	assert_int_equal(int_at(a, "/checks/1/remaining"), 4);
	assert_int_equal(int_at(a, "/checks/1/reset_after_ms"), 86400000);
	assert_int_equal(int_at(a, "/checks/2/remaining"), 7);
	assert_string_equal(text_at(a, "/checks/2/check"), "all");
	/* The top level has the values of the check with the least left. */
	assert_string_equal(text_at(a, "/name"), "second");
	assert_int_equal(int_at(a, "/limit"), 3);
	assert_int_equal(int_at(a, "/remaining"), 2);
	assert_true(json_is_null(json_at(a, "/retry_after_ms")));
	assert_string_equal(header_of(a, "RateLimit-Policy"),
			    "\"second\";q=3;w=3600, \"day\";q=5;w=86400, \"all\";q=9;w=60");
	assert_string_equal(header_of(a, "RateLimit"), "\"second\";r=2;t=1200, \"day\";r=4;t=86400, \"all\";r=7;t=60");
	assert_string_equal(header_of(a, "RateLimit-Limit"), "3");
	assert_string_equal(header_of(a, "RateLimit-Remaining"), "2");
	/* A check counts under its name, whichever other checks the call has. */
	assert_int_equal(remaining("u", "second"), 2);
	assert_int_equal(remaining("u", "day"), 4);
	assert_int_equal(remaining("everybody", "all"), 7);
	a = take(SECOND);
	assert_int_equal(int_at(a, "/remaining"), 1);
	a = take(SECOND ",{\"name\":\"third\",\"key\":\"u\",\"limit\":9,\"window_ms\":3600000}");
	assert_int_equal(int_at(a, "/checks/0/remaining"), 0);
	a = post("/ratelimit", "{\"key\":\"u\",\"limit\":3,\"window_ms\":3600000}");
	assert_int_equal(int_at(a, "/remaining"), 2);
	assert_true(json_is_null(json_at(a, "/policy")));
	assert_true(json_is_null(json_at(a, "/check")));
}

/* A limit per minute and a limit per hour, for one key and one algorithm, are two limits. */
TEST(of_one_key_by_one_algorithm)
{
	static const char both[] =
		"{\"name\":\"minute\",\"key\":\"u\",\"algorithm\":\"fixed_window\",\"limit\":2,"
		"\"window_ms\":60000},{\"name\":\"hour\",\"key\":\"u\",\"algorithm\":\"fixed_window\","
		"\"limit\":3,\"window_ms\":3600000},{\"name\":\"other\",\"key\":\"v\",\"limit\":9,"
		"\"window_ms\":3600000}";

	for (int i = 0; i < 2; i++)
		assert_status(take(both), 200);
	struct answer a = take(both);
	assert_problem(a, 429, "rate_limited", "none");
	assert_string_equal(text_at(a, "/check"), "minute");
	assert_true(json_is_null(json_at(a, "/policy")));
	assert_string_equal(text_at(a, "/checks/1/check"), "hour");
	assert_string_equal(text_at(a, "/checks/2/check"), "other");
	assert_true(json_is_null(json_at(a, "/checks/2/policy")));
	assert_int_equal(int_at(a, "/checks/1/remaining"), 1);
	assert_int_equal(int_at(get("/ratelimit/keys/u?check=hour"), "/remaining"), 1);
	assert_int_equal(int_at(get("/ratelimit/keys/u?check=minute"), "/remaining"), 0);
	a = post("/ratelimit/refund", "{\"key\":\"u\",\"check\":\"minute\",\"algorithm\":\"fixed_window\"}");
	assert_int_equal(int_at(a, "/refunded"), 1);
	assert_status(take(both), 200);
}

TEST(one_refuses_and_none_is_taken)
{
	for (int i = 0; i < 3; i++)
		assert_status(take(SECOND), 200);
	for (int i = 0; i < 2; i++) {
		struct answer a = take(DAY "," SECOND "," ALL);
		assert_problem(a, 429, "rate_limited", "none");
		assert_string_equal(text_at(a, "/name"), "second");
		assert_int_equal(int_at(a, "/remaining"), 0);
		assert_true(int_at(a, "/retry_after_ms") > 1100000);
		assert_int_equal(int_at(a, "/retry_after_ms"), int_at(a, "/checks/1/retry_after_ms"));
		assert_int_equal(atoi(header_of(a, "Retry-After")), 1200);
		assert_true(bool_at(a, "/checks/0/allowed"));
		assert_true(json_is_null(json_at(a, "/checks/0/retry_after_ms")));
		assert_int_equal(int_at(a, "/checks/0/remaining"), 5);
		assert_false(bool_at(a, "/checks/1/allowed"));
		assert_int_equal(int_at(a, "/checks/2/remaining"), 9);
	}
	assert_int_equal(server_keys(&redis), 1);
}

/* If two checks refuse, the caller has to wait for the longer time. */
TEST(the_longest_wait_is_returned)
{
	static const char both[] = "{\"name\":\"short\",\"key\":\"u\",\"limit\":1,\"window_ms\":1000},"
				   "{\"name\":\"long\",\"key\":\"u\",\"limit\":1,\"window_ms\":400000},"
				   "{\"name\":\"roomy\",\"key\":\"u\",\"limit\":9,\"window_ms\":1000}";

	assert_status(take(both), 200);
	struct answer a = take(both);
	assert_problem(a, 429, "rate_limited", "none");
	assert_string_equal(text_at(a, "/name"), "long");
	assert_string_equal(text_at(a, "/check"), "long");
	assert_in_range(int_at(a, "/retry_after_ms"), 390000, 400000);
	assert_string_equal(header_of(a, "Retry-After"), "400");
}

TEST(policies_among_them)
{
	http(client, "PUT", "/ratelimit/policies/p", "{\"limit\":2,\"window_ms\":3600000}");
	http(client, "PUT", "/ratelimit/policies/s", "{\"limit\":1,\"window_ms\":3600000,\"shadow\":true}");
	static const char checks[] = "{\"key\":\"a\",\"policy\":\"p\"},{\"key\":\"a\",\"policy\":\"s\"},"
				     "{\"key\":\"a\",\"limit\":9,\"window_ms\":3600000},"
				     "{\"name\":\"again\",\"key\":\"b\",\"policy\":\"p\"}";
	struct answer a = take(checks);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "p"); /* the shadow has less left, but refuses no call */
	assert_string_equal(text_at(a, "/checks/2/name"), "default");
	assert_string_equal(text_at(a, "/checks/3/policy"), "p");
	assert_true(json_is_null(json_at(a, "/checks/3/check")));
	assert_true(bool_at(a, "/shadow_allowed"));
	assert_true(bool_at(a, "/checks/1/shadow_allowed"));
	assert_null(json_at(a, "/checks/0/shadow_allowed"));
	a = take(checks);
	assert_status(a, 200);
	assert_false(bool_at(a, "/shadow_allowed"));
	assert_true(bool_at(a, "/checks/1/allowed"));
	assert_false(bool_at(a, "/checks/1/shadow_allowed"));
	assert_true(json_is_null(json_at(a, "/checks/1/retry_after_ms")));
	a = take(checks);
	assert_problem(a, 429, "rate_limited", "none");
	assert_int_equal(int_at(get("/ratelimit/keys/a"), "/remaining"), 7);
	assert_problem(take("{\"key\":\"a\",\"policy\":\"p\"},{\"key\":\"a\",\"policy\":\"nowhere\"}"), 404,
		       "not_found", "none");
	a = take("{\"key\":\"c\",\"policy\":\"s\"}"); /* with shadows alone, the values are a shadow's */
	assert_string_equal(text_at(a, "/name"), "s");
}

/* Two checks of a call must not be the same limit. (Mistakes in one check: test_rate_limits.c.) */
TEST(each_is_another_limit)
{
	static const char *const rows[] = {
		SECOND "," SECOND,
		"{\"key\":\"a\",\"limit\":1,\"window_ms\":1},{\"key\":\"b\",\"limit\":1,\"window_ms\":1}",
		"{\"key\":\"a\",\"policy\":\"p\"},{\"name\":\"p2\",\"key\":\"a\",\"policy\":\"p\"}",
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = take(rows[i]);
		assert_problem(a, 400, "invalid_value", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), "/checks/1");
	}
	assert_int_equal(server_keys(&redis), 0);
}

TEST(sixteen_fit)
{
	char checks[4096] = "", one[160];

	for (int i = 0; i < 16; i++) {
		snprintf(
			one, sizeof(one),
			"%s{\"name\":\"a.very.long.name.for.a.check.that.a.header.has.to.carry.%d\",\"key\":\"k\",\"limit\":%d,"
			"\"window_ms\":31622400000,\"burst\":%d}",
			i ? "," : "", i, 1000 - i, 1000 + i);
		strcat(checks, one);
	}
	struct answer a = take(checks);
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/checks")), 16);
	assert_string_equal(text_at(a, "/name"), "a.very.long.name.for.a.check.that.a.header.has.to.carry.0");
}
