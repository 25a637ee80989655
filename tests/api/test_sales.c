/*
 * Sales over HTTP: settings, claims and their ends, one caller at a time. (Many at once:
 * test_sales_rush.c.)
 */
#include "stage.h"
#include "test.h"

enum { SOON_MS = 5000 };

static struct answer configure(const char *body)
{
	return http(client, "PUT", "/sales/s", body);
}

static struct answer patch(const char *body)
{
	return http(client, "PATCH", "/sales/s", body);
}

static struct answer claim(const char *user, int quantity, const char *key_header)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"user\":\"%s\",\"quantity\":%d}", user, quantity);
	return http(client, "POST", "/sales/s/claims", body, key_header);
}

#define NO_KEY "X-Key: none"

static struct answer confirm(const char *claim_id)
{
	char target[128];

	snprintf(target, sizeof(target), "/sales/s/claims/%s/confirm", claim_id);
	return http(client, "POST", target, NULL);
}

static struct answer release(const char *claim_id)
{
	char target[128];

	snprintf(target, sizeof(target), "/sales/s/claims/%s", claim_id);
	return http(client, "DELETE", target, NULL);
}

static struct answer claim_of(const char *claim_id)
{
	char target[128];

	snprintf(target, sizeof(target), "/sales/s/claims/%s", claim_id);
	return get(target);
}

static void assert_counts(int remaining, int held, int confirmed)
{
	struct answer a = get("/sales/s");

	assert_status(a, 200);
	assert_int_equal(int_at(a, "/remaining"), remaining);
	assert_int_equal(int_at(a, "/held"), held);
	assert_int_equal(int_at(a, "/confirmed"), confirmed);
}

/* ---- Settings ---- */

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(a_sale_is_made_looked_at_and_changed)
{
	struct answer a = configure("{\"stock\":5}");
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/name"), "s");
	assert_string_equal(text_at(a, "/state"), "open");
	assert_true(json_is_null(json_at(a, "/opens_at_ms")));
	assert_true(json_is_null(json_at(a, "/closes_at_ms")));
	assert_true(json_is_null(json_at(a, "/per_user")));
	assert_true(json_is_null(json_at(a, "/retention_ms")));
	assert_true(json_is_null(json_at(a, "/expires_at_ms")));
	assert_int_equal(int_at(a, "/hold_ms"), 300000);
	assert_int_equal(int_at(a, "/remaining"), 5);
	a = configure(
		"{\"stock\":7,\"per_user\":2,\"hold_ms\":60000,\"opens_at_ms\":1000000000000,\"closes_at_ms\":253402300799999}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/per_user"), 2);
	assert_int_equal(int_at(a, "/closes_at_ms"), 253402300799999);
	a = get("/sales/s");
	assert_int_equal(int_at(a, "/stock"), 7);
	assert_int_equal(int_at(a, "/hold_ms"), 60000);
	assert_status(configure("{\"stock\":0}"), 200);
	assert_problem(claim("u", 1, NO_KEY), 409, "sale_sold_out", "none");
	a = configure("{\"stock\":1,\"opens_at_ms\":1000000000000,\"closes_at_ms\":1000000000000}");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/closes_at_ms");
}

/* PATCH changes the given members, resets members that are null, and keeps the rest. */
TEST(a_patch_merges)
{
	assert_problem(patch("{\"stock\":1}"), 404, "not_found", "none");
	configure(
		"{\"stock\":5,\"per_user\":2,\"hold_ms\":60000,\"opens_at_ms\":1000000000007,\"closes_at_ms\":253402300799999}");
	struct answer a = patch("{\"stock\":6}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/stock"), 6);
	assert_int_equal(int_at(a, "/per_user"), 2);
	assert_int_equal(int_at(a, "/hold_ms"), 60000);
	assert_int_equal(int_at(a, "/opens_at_ms"), 1000000000007);
	assert_int_equal(int_at(a, "/closes_at_ms"), 253402300799999);
	a = patch("{\"per_user\":null,\"hold_ms\":null,\"opens_at_ms\":null}");
	assert_true(json_is_null(json_at(a, "/per_user")));
	assert_true(json_is_null(json_at(a, "/opens_at_ms")));
	assert_int_equal(int_at(a, "/hold_ms"), 300000);
	assert_int_equal(int_at(a, "/stock"), 6);
	patch("{\"opens_at_ms\":1000000000000}");
	a = patch("{\"closes_at_ms\":1000000000000}"); /* checked against the other settings of the sale */
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/closes_at_ms");
	assert_int_equal(int_at(get("/sales/s"), "/closes_at_ms"), 253402300799999);
	assert_status(claim("u", 4, NO_KEY), 201);
	a = patch("{\"stock\":3}");
	assert_problem(a, 409, "stock_below_sold", "none");
	assert_int_equal(int_at(a, "/held"), 4);
	assert_int_equal(int_at(patch("{}"), "/stock"), 6);
}

/* A sale stays until its last hold has ended, and for its retention_ms after that. */
TEST(a_sale_expires_after_its_end)
{
	char body[160];

	int64_t closes_at = server_now_ms(&redis) + 100000;
	snprintf(body, sizeof(body), "{\"stock\":5,\"hold_ms\":1000,\"closes_at_ms\":%lld,\"retention_ms\":50000}",
		 (long long)closes_at);
	struct answer a = configure(body);
	assert_int_equal(int_at(a, "/retention_ms"), 50000);
	assert_int_equal(int_at(a, "/expires_at_ms"), closes_at + 51000);
	assert_int_equal(int_at(get_all("/sales"), "/items/0/expires_at_ms"), closes_at + 51000);
	assert_true(json_is_null(json_at(patch("{\"retention_ms\":null}"), "/expires_at_ms")));
	assert_int_equal(int_at(patch("{\"retention_ms\":1}"), "/expires_at_ms"), closes_at + 1001);
	assert_true(json_is_null(json_at(patch("{\"closes_at_ms\":null}"), "/expires_at_ms")));
}

TEST(a_running_sale_is_changed)
{
	char first[64];

	configure("{\"stock\":5,\"hold_ms\":60000}");
	snprintf(first, sizeof(first), "%s", text_at(claim("u", 2, NO_KEY), "/claim"));
	assert_status(confirm(text_at(claim("v", 1, NO_KEY), "/claim")), 200);
	struct answer a = configure("{\"stock\":2}");
	assert_problem(a, 409, "stock_below_sold", "none");
	assert_int_equal(int_at(a, "/held"), 2);
	assert_int_equal(int_at(a, "/confirmed"), 1);
	assert_counts(2, 2, 1);
	/* A user with more than the new limit keeps it, and a closed sale still confirms holds. */
	assert_status(configure("{\"stock\":9,\"per_user\":1,\"closes_at_ms\":1000000000000}"), 200);
	assert_string_equal(text_at(get("/sales/s"), "/state"), "closed");
	assert_status(confirm(first), 200);
	assert_counts(6, 0, 3);
}

TEST(sales_are_listed_by_state)
{
	static const char *const states[] = { "upcoming", "open", "closed" };

	http(client, "PUT", "/sales/upcoming", "{\"stock\":1,\"opens_at_ms\":253402300799999}");
	http(client, "PUT", "/sales/open", "{\"stock\":2}");
	http(client, "PUT", "/sales/closed", "{\"stock\":3,\"closes_at_ms\":1000000000000}");
	for (size_t i = 0; i < 3; i++) {
		char target[64];
		snprintf(target, sizeof(target), "/sales?state=%s", states[i]);
		struct answer a = get_all(target);
		assert_int_equal(json_array_size(json_at(a, "/items")), 1);
		assert_string_equal(text_at(a, "/items/0/name"), states[i]);
		assert_string_equal(text_at(a, "/items/0/state"), states[i]);
		assert_int_equal(int_at(a, "/items/0/stock"), (int)i + 1);
	}
}

/* ---- Claims ---- */

TEST(a_claim_is_held_and_confirmed_or_released)
{
	char one[64], two[64], target[128];

	configure("{\"stock\":5,\"hold_ms\":60000}");
	struct answer a = claim("u", 2, NO_KEY);
	assert_status(a, 201);
	snprintf(target, sizeof(target), "/sales/s/claims/%s", text_at(a, "/claim"));
	assert_string_equal(header_of(a, "Location"), target);
	assert_string_equal(text_at(a, "/name"), "s");
	assert_string_equal(text_at(a, "/user"), "u");
	assert_string_equal(text_at(a, "/state"), "held");
	assert_int_equal(int_at(a, "/quantity"), 2);
	assert_int_equal(int_at(a, "/remaining"), 3);
	assert_int_equal(int_at(a, "/ttl_ms"), 60000);
	assert_in_range(int_at(a, "/expires_at_ms"), server_now_ms(&redis) + 50000, server_now_ms(&redis) + 60000);
	snprintf(one, sizeof(one), "%s", text_at(a, "/claim"));
	struct answer there = get(target);
	assert_status(there, 200);
	assert_string_equal(text_at(there, "/name"), "s");
	assert_string_equal(text_at(there, "/claim"), one);
	assert_string_equal(text_at(there, "/state"), "held");
	assert_string_equal(text_at(there, "/user"), "u");
	assert_int_equal(int_at(there, "/quantity"), 2);
	assert_int_equal(int_at(there, "/expires_at_ms"), int_at(a, "/expires_at_ms"));
	snprintf(two, sizeof(two), "%s", text_at(claim("v", 1, NO_KEY), "/claim"));
	assert_counts(2, 3, 0);
	snprintf(target, sizeof(target), "/sales/s/claims/%s/confirm", one);
	assert_problem(http(client, "POST", target, "{}"), 400, "unexpected_body", "none");
	for (int i = 0; i < 2; i++) { /* a repetition changes nothing */
		a = confirm(one);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/user"), "u");
		assert_int_equal(int_at(a, "/quantity"), 2);
		assert_string_equal(text_at(a, "/state"), "confirmed");
		assert_counts(2, 1, 2);
	}
	assert_string_equal(text_at(claim_of(one), "/state"), "confirmed");
	assert_true(json_is_null(json_at(claim_of(one), "/expires_at_ms")));
	assert_problem(release(one), 409, "claim_confirmed", "none");
	assert_status(release(two), 204);
	assert_problem(claim_of(two), 410, "claim_expired", "none");
	assert_problem(claim_of("x"), 404, "not_found", "none");
	assert_problem(get("/sales/none/claims/x"), 404, "not_found", "none");
	assert_status(release(two), 204); /* a repetition changes nothing */
	assert_problem(confirm(two), 410, "claim_expired", "none");
	assert_problem(release("x"), 404, "not_found", "none");
	assert_counts(3, 0, 2);
	assert_problem(http(client, "POST", "/sales/none/claims", "{\"user\":\"u\"}"), 404, "not_found", "none");
	assert_problem(http(client, "POST", "/sales/none/claims/1.a/confirm", NULL), 404, "not_found", "none");
	assert_problem(http(client, "DELETE", "/sales/none/claims/1.a", NULL), 404, "not_found", "none");
}

TEST(claims_are_listed)
{
	enum { MANY = 60 };
	char ids[MANY][64], seen[MANY] = { 0 };
	size_t at;
	const json_t *item;

	assert_problem(get("/sales/s/claims"), 404, "not_found", "none");
	configure("{\"stock\":100,\"hold_ms\":60000}");
	assert_int_equal(json_array_size(json_at(get("/sales/s/claims"), "/items")), 0);
	for (int i = 0; i < MANY; i++)
		snprintf(ids[i], sizeof(ids[i]), "%s", text_at(claim(i ? "v w" : "u", 1, NO_KEY), "/claim"));
	assert_status(confirm(ids[0]), 200);
	assert_status(release(ids[1]), 204); /* the daemon remembers it, but it is not a claim any more */
	struct answer a = get_all("/sales/s/claims?limit=7");
	assert_int_equal(json_array_size(json_at(a, "/items")), MANY - 1);
	json_array_foreach(json_at(a, "/items"), at, item) {
		const char *id = json_string_value(json_object_get(item, "claim"));
		int i = 0;
		while (i < MANY && strcmp(ids[i], id) != 0)
			i++;
		assert_true(i < MANY && i != 1 && !seen[i]);
		seen[i] = 1;
		assert_string_equal(json_string_value(json_object_get(item, "state")), i ? "held" : "confirmed");
		assert_string_equal(json_string_value(json_object_get(item, "user")), i ? "v w" : "u");
		assert_int_equal(json_integer_value(json_object_get(item, "quantity")), 1);
		assert_int_equal(json_is_null(json_object_get(item, "expires_at_ms")), i == 0);
	}
	assert_problem(get("/sales/s/claims?cursor=x"), 400, "invalid_value", "none");
}

/* A read returns expired holds to the stock. */
TEST(what_is_not_confirmed_returns)
{
	char over[64];

	configure("{\"stock\":3,\"hold_ms\":50}");
	snprintf(over, sizeof(over), "%s", text_at(claim("u", 2, NO_KEY), "/claim"));
	wait_until(int_at(get("/sales/s"), "/remaining") == 3, SOON_MS);
	assert_counts(3, 0, 0);
	assert_problem(confirm(over), 410, "claim_expired", "none");
	assert_problem(release(over), 410, "claim_expired", "none");
	assert_problem(claim_of(over), 410, "claim_expired", "none");
}

TEST(refusals_have_their_code)
{
	char body[128];

	int64_t opens_at = server_now_ms(&redis) + 1500;
	snprintf(body, sizeof(body), "{\"stock\":3,\"per_user\":2,\"opens_at_ms\":%lld}", (long long)opens_at);
	configure(body);
	struct answer a = claim("u", 1, "Idempotency-Key: early");
	assert_problem(a, 409, "sale_not_open", "none");
	assert_string_equal(text_at(a, "/state"), "upcoming");
	assert_int_equal(int_at(a, "/opens_at_ms"), opens_at);
	assert_in_range(atoi(header_of(a, "Retry-After")), 1, 2);
	assert_in_range(int_at(a, "/retry_after_ms"), 1, 1500);
	configure("{\"stock\":3,\"per_user\":2,\"closes_at_ms\":1000000000000}");
	a = claim("u", 1, NO_KEY);
	assert_problem(a, 409, "sale_not_open", "none");
	assert_string_equal(text_at(a, "/state"), "closed");
	assert_null(header_of(a, "Retry-After"));
	assert_null(json_at(a, "/retry_after_ms"));
	configure("{\"stock\":3,\"per_user\":2}");
	/* A refused claim may be tried again under the same key. */
	assert_status(claim("u", 1, "Idempotency-Key: early"), 201);
	a = claim("u", 2, NO_KEY);
	assert_problem(a, 409, "sale_limit_reached", "none");
	assert_int_equal(int_at(a, "/claimed"), 1);
	assert_int_equal(int_at(a, "/per_user"), 2);
	assert_status(claim("v", 1, NO_KEY), 201);
	a = claim("w", 2, NO_KEY);
	assert_problem(a, 409, "sale_sold_out", "none");
	assert_int_equal(int_at(a, "/remaining"), 1);
	assert_int_equal(int_at(a, "/held"), 2);
}

/* ---- Retries ---- */

/* The claim was confirmed, and stays confirmed after its hold would have expired. */
TEST(a_retry_of_a_confirmed_claim_gets_it)
{
	configure("{\"stock\":5,\"hold_ms\":150}");
	struct answer stays = claim("v", 1, "Idempotency-Key: two");
	assert_status(confirm(text_at(stays, "/claim")), 200);
	int64_t until = int_at(stays, "/expires_at_ms");
	wait_until(server_now_ms(&redis) > until, SOON_MS);
	struct answer a = claim("v", 1, "Idempotency-Key: two");
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/claim"), text_at(stays, "/claim"));
	assert_string_equal(text_at(a, "/state"), "confirmed");
	assert_int_equal(int_at(a, "/ttl_ms"), 0);
	assert_counts(4, 0, 1);
}
