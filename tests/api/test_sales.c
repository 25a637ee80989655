/* Sales over HTTP, as time passes, and the list of many claims. Many callers: test_sales_rush.c. */
#include "stage.h"
#include "test.h"

enum { SOON_MS = 5000 };

static struct answer configure(const char *body)
{
	return http(client, "PUT", "/sales/s", body);
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

/* ---- Claims ---- */

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

/* An id has the instant at which its hold ends: an id of a past instant may have been a claim. */
TEST(claims_that_never_were)
{
	static const struct {
		const char *id, *code;
		int status;
	} rows[] = { { "1.a", "claim_expired", 410 },
		     { "99999999999999.a", "claim_expired", 410 },
		     { "x", "not_found", 404 } };

	configure("{\"stock\":5}");
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_problem(confirm(rows[i].id), rows[i].status, rows[i].code, "none");
		assert_problem(release(rows[i].id), rows[i].status, rows[i].code, "none");
	}
}
