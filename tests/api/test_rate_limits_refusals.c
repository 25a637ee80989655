/*
 * Refusals that count (`count_refused`) have the effect `applied`, and retries with the same
 * Idempotency-Key count nothing more. All other refusals change nothing, and a retry with their key
 * is decided again.
 */
#include "stage.h"
#include "test.h"

#define COUNTING "\"algorithm\":\"sliding_window\",\"limit\":2,\"window_ms\":3600000,\"count_refused\":true"
#define ONE "{\"key\":\"k\"," COUNTING "}"
#define RULE "{\"name\":\"c\",\"key\":\"k\"," COUNTING "}"
#define FULL "{\"name\":\"f\",\"key\":\"k\",\"limit\":1,\"window_ms\":3600000}"

static struct answer take(const char *body, const char *header)
{
	return header ? http(client, "POST", "/ratelimit", body, header) : http(client, "POST", "/ratelimit", body);
}

/* The running total of the log of `k`, to which each call that counts adds 1. */
static long long counted(const char *part)
{
	char command[96];

	snprintf(command, sizeof(command), "ZREVRANGE p:limit:{k}:%s:sliding_window 1 1", part);
	redisReply *latest = server_command(&redis, command);
	assert_int_equal(latest->elements, 1);
	return strtoll(latest->element[0]->str, NULL, 10);
}

static void fill(const char *body)
{
	for (int i = 0; i < 2; i++)
		assert_status(take(body, NULL), 200);
}

/* Three calls with one Idempotency-Key count once; two calls without a key count twice. */
static void assert_counts_once(const char *body, const char *part, long long before)
{
	for (int i = 0; i < 3; i++) {
		struct answer a = take(body, "Idempotency-Key: once");
		assert_problem(a, 429, "rate_limited", "applied");
		assert_true(int_at(a, "/retry_after_ms") > 0);
		assert_int_equal(header_of(a, "Idempotent-Replayed") != NULL, i > 0);
		assert_int_equal(counted(part), before + 1);
	}
	for (int i = 0; i < 2; i++)
		assert_problem(take(body, NULL), 429, "rate_limited", "applied");
	assert_int_equal(counted(part), before + 3);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(a_counted_refusal_is_applied_once)
{
	fill(ONE);
	assert_counts_once(ONE, "@", 2);
}

TEST(among_several_checks_too)
{
	static const char body[] = "{\"checks\":[" RULE "]}";

	fill(body);
	assert_counts_once(body, "@c", 2);
}

/* A check that counts refusals counts, whichever check refuses. */
TEST(when_another_check_refuses)
{
	static const char body[] = "{\"checks\":[" RULE "," FULL "]}";

	assert_status(take(body, NULL), 200);
	assert_counts_once(body, "@c", 1);
}

TEST(by_a_policy_too)
{
	static const char body[] = "{\"key\":\"k\",\"policy\":\"p\"}";

	assert_status(http(client, "PUT", "/ratelimit/policies/p", "{" COUNTING "}"), 201);
	fill(body);
	assert_counts_once(body, "p", 2);
	assert_problem(get("/ratelimit/authorize?policy=p&key=k"), 429, "rate_limited", "applied");
	assert_problem(get("/ratelimit/authorize?policy=p&key=k&deny_status=403"), 403, "rate_denied", "applied");
	assert_status(http(client, "DELETE", "/ratelimit/policies/p", NULL), 204);
}

/* A shadow grants what it would refuse; the grant counts once as well. */
TEST(a_shadow_that_counts_is_recorded)
{
	static const char body[] = "{\"key\":\"k\",\"policy\":\"p\"}";

	assert_status(http(client, "PUT", "/ratelimit/policies/p", "{\"shadow\":true," COUNTING "}"), 201);
	fill(body);
	for (int i = 0; i < 3; i++) {
		struct answer a = take(body, "Idempotency-Key: once");
		assert_status(a, 200);
		assert_false(bool_at(a, "/shadow_allowed"));
		assert_int_equal(counted("p"), 3);
	}
	assert_status(http(client, "DELETE", "/ratelimit/policies/p", NULL), 204);
}

TEST(when_waiting_cannot_help)
{
	static const char never[] = "{\"key\":\"k\"," COUNTING ",\"wait_ms\":1000}";

	fill(ONE);
	assert_counts_once(never, "@", 2);
}

TEST(what_counts_nothing_may_be_tried_again)
{
	static const char none[] = "{\"key\":\"k\",\"algorithm\":\"sliding_window\",\"limit\":2,\"window_ms\":3600000}";

	fill(none);
	assert_problem(take(none, "Idempotency-Key: again"), 429, "rate_limited", "none");
	/* A call with cost 0 counts nothing, also with `count_refused`. */
	struct answer a = take("{\"key\":\"k\"," COUNTING ",\"cost\":0}", NULL);
	assert_status(a, 200);
	assert_int_equal(counted("@"), 2);
	assert_status(http(client, "DELETE", "/ratelimit/keys/k", NULL), 204);
	assert_status(take(none, "Idempotency-Key: again"), 200);
}
