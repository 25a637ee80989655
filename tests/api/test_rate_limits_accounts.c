/*
 * A limit counts under a policy, under a check with its own limit, or under neither. None of them
 * reaches the state of another, whatever its name. A client that may only take from a key must not
 * reset what a policy counted for that key.
 */
#include "stage.h"
#include "test.h"

#define BY_POLICY "{\"key\":\"K\",\"policy\":\"web\"}"

static const char *const algorithms[] = { "gcra", "sliding_window", "fixed_window" };
enum { ALGORITHM_COUNT = 3 };

static struct answer take(const char *body)
{
	return http(client, "POST", "/ratelimit", body);
}

/* Puts the policy web, with one call per minute. */
static void put_web(const char *algorithm)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"algorithm\":\"%s\",\"limit\":1,\"window_ms\":60000}", algorithm);
	struct answer a = http(client, "PUT", "/ratelimit/policies/web", body);
	assert_in_range(a.status, 200, 201);
}

/* Takes by a check with the key and algorithm of the policy, and with its own name and limit. */
static struct answer take_check(const char *algorithm, const char *name, const char *rule)
{
	char body[256];

	snprintf(body, sizeof(body), "{\"checks\":[{%s\"key\":\"K\",\"algorithm\":\"%s\",%s}]}", name, algorithm, rule);
	return take(body);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(a_check_does_not_reset_a_policy)
{
	for (int i = 0; i < ALGORITHM_COUNT; i++) {
		put_web(algorithms[i]);
		assert_status(take(BY_POLICY), 200);
		assert_problem(take(BY_POLICY), 429, "rate_limited", "none");
		assert_status(take_check(algorithms[i], "\"name\":\"web\",", "\"limit\":9,\"window_ms\":1"), 200);
		assert_status(take_check(algorithms[i], "", "\"limit\":9,\"window_ms\":1"), 200);
		assert_problem(take(BY_POLICY), 429, "rate_limited", "none");
		http(client, "DELETE", "/ratelimit/keys/K?check=web", NULL); /* its window has mostly passed */
		assert_problem(take(BY_POLICY), 429, "rate_limited", "none");
		stage_forget(NULL);
	}
}

TEST(a_check_does_not_hold_off_a_policy)
{
	static const char most[] = "\"limit\":1000,\"window_ms\":31622400000,\"cost\":900";

	for (int i = 0; i < ALGORITHM_COUNT; i++) {
		put_web(algorithms[i]);
		assert_status(take_check(algorithms[i], "\"name\":\"web\",", most), 200);
		assert_status(take_check(algorithms[i], "", most), 200);
		struct answer a = take(BY_POLICY);
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/remaining"), 0);
		stage_forget(NULL);
	}
}

static void assert_account(struct answer a, const char *at, const char *policy, const char *check)
{
	const char *const names[] = { policy, check }, *const members[] = { "policy", "check" };
	char pointer[64];

	for (int i = 0; i < 2; i++) {
		snprintf(pointer, sizeof(pointer), "%s/%s", at, members[i]);
		if (names[i])
			assert_string_equal(text_at(a, pointer), names[i]);
		else
			assert_true(json_is_null(json_at(a, pointer)));
	}
}

static const struct account {
	const char *take, *query, *member, *policy, *check;
	int remaining;
} accounts[] = {
	{ "{\"key\":\"K\",\"policy\":\"default\"}", "?policy=default", ",\"policy\":\"default\"", "default", NULL, 4 },
	{ "{\"checks\":[{\"name\":\"default\",\"key\":\"K\",\"limit\":6,\"window_ms\":3600000}]}", "?check=default",
	  ",\"check\":\"default\"", NULL, "default", 5 },
	{ "{\"key\":\"K\",\"limit\":7,\"window_ms\":3600000}", "", "", NULL, NULL, 6 },
};
enum { ACCOUNTS = COUNT(accounts) };

static struct answer read_state(const struct account *one)
{
	char target[96];

	snprintf(target, sizeof(target), "/ratelimit/keys/K%s", one->query);
	return get(target);
}

/* Three accounts stay apart in every answer, even if all have the same name. */
TEST(each_is_addressed_by_itself)
{
	char body[96], target[96];

	assert_status(http(client, "PUT", "/ratelimit/policies/default", "{\"limit\":5,\"window_ms\":3600000}"), 201);
	for (int i = 0; i < ACCOUNTS; i++)
		assert_account(take(accounts[i].take), "", accounts[i].policy, accounts[i].check);
	assert_int_equal(json_array_size(json_at(get("/ratelimit/keys"), "/items")), ACCOUNTS);
	for (int i = 0; i < ACCOUNTS; i++) {
		const struct account *one = &accounts[i];
		struct answer a = read_state(one);
		assert_account(a, "", one->policy, one->check);
		assert_int_equal(int_at(a, "/remaining"), one->remaining);
		snprintf(body, sizeof(body), "{\"key\":\"K\"%s}", one->member);
		a = post("/ratelimit/refund", body);
		assert_int_equal(int_at(a, "/refunded"), 1);
		assert_account(a, "", one->policy, one->check);
		take(one->take);
	}
	for (int i = 0; i < ACCOUNTS; i++) {
		snprintf(target, sizeof(target), "/ratelimit/keys/K%s", accounts[i].query);
		assert_status(http(client, "DELETE", target, NULL), 204);
		assert_problem(http(client, "DELETE", target, NULL), 404, "not_found", "none");
		for (int k = i + 1; k < ACCOUNTS; k++)
			assert_int_equal(int_at(read_state(&accounts[k]), "/remaining"), accounts[k].remaining);
	}
	assert_status(http(client, "DELETE", "/ratelimit/policies/default", NULL), 204);
}

TEST(the_list_names_each)
{
	bool seen[ACCOUNTS] = { false };
	char at[32];

	assert_status(http(client, "PUT", "/ratelimit/policies/default", "{\"limit\":5,\"window_ms\":3600000}"), 201);
	for (int i = 0; i < ACCOUNTS; i++)
		take(accounts[i].take);
	struct answer a = get("/ratelimit/keys");
	assert_int_equal(json_array_size(json_at(a, "/items")), ACCOUNTS);
	for (int k = 0; k < ACCOUNTS; k++) {
		snprintf(at, sizeof(at), "/items/%d/limit", k);
		int i = (int)int_at(a, at) - 5;
		snprintf(at, sizeof(at), "/items/%d", k);
		assert_account(a, at, accounts[i].policy, accounts[i].check);
		assert_false(seen[i]);
		seen[i] = true;
	}
	assert_status(http(client, "DELETE", "/ratelimit/policies/default", NULL), 204);
}

TEST(one_of_both_is_asked_for)
{
	struct answer a = get("/ratelimit/keys/K?policy=a&check=b");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "?check");
	a = http(client, "DELETE", "/ratelimit/keys/K?policy=a&check=b", NULL);
	assert_problem(a, 400, "invalid_value", "none");
	a = post("/ratelimit/refund", "{\"key\":\"K\",\"policy\":\"a\",\"check\":\"b\"}");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/check");
	/* No name may contain @, the byte that keeps the kinds of accounts apart. */
	assert_problem(get("/ratelimit/keys/K?policy=%40web"), 400, "invalid_name", "none");
	assert_problem(get("/ratelimit/keys/K?check=%40web"), 400, "invalid_name", "none");
}
