/*
 * Rate limits while Redis is away, slow or faulty. Fail-open limits grant requests and report that;
 * fail-closed limits refuse them. The cached policy decides which applies. Afterwards the daemon
 * counts everything again.
 */
#include "../support/raw.h"
#include "../support/stride.h"
#include "../support/waiter.h"
#include "test.h"
#include "through_proxy.h"

enum { RECOVER_MS = 8000 };

static struct answer take(const char *policy)
{
	char body[96];

	snprintf(body, sizeof(body), "{\"key\":\"k\",\"policy\":\"%s\"}", policy);
	return http(client, "POST", "/ratelimit", body);
}

static struct answer authorize(const char *policy)
{
	char target[96];

	snprintf(target, sizeof(target), "/ratelimit/authorize?policy=%s&key=k", policy);
	return http(client, "GET", target, NULL);
}

static bool counts(void)
{
	struct answer a = take("open");

	return a.status == 200 && !bool_at(a, "/degraded");
}

static void put(const char *policy, const char *more)
{
	char target[64], body[128];

	snprintf(target, sizeof(target), "/ratelimit/policies/%s", policy);
	snprintf(body, sizeof(body), "{\"limit\":1000000,\"window_ms\":1000%s}", more);
	struct answer a = http(client, "PUT", target, body);
	assert_in_range(a.status, 200, 201);
}

static void must_grant(struct answer a)
{
	assert_status(a, 200);
	assert_true(bool_at(a, "/allowed"));
	assert_true(bool_at(a, "/degraded"));
	assert_int_equal(int_at(a, "/limit"), 1000000);
	assert_int_equal(int_at(a, "/window_ms"), 1000);
	assert_int_equal(int_at(a, "/remaining"), int_at(a, "/capacity"));
}

/* This holds also when the cached policy has expired. */
TEST(away)
{
	proxy_set(proxy, (struct proxy_fault){ .refuse = true, .reset = true });
	wait_until(take("closed").status == 503, RECOVER_MS);
	long before = metric_of(&patternd, "answers_degraded_total");
	for (int i = 0; i < 2; i++) {
		must_grant(take("open"));
		must_grant(take("shadow"));
		must_grant(authorize("open"));
		struct answer a = http(client, "GET", "/ratelimit/authorize/keyed/shop", NULL, "X-User: ann");
		must_grant(a);
		assert_string_equal(text_at(a, "/key"), "ann"); /* by the cached policy */
		assert_problem(take("closed"), 503, "redis_unavailable", "none");
		assert_problem(authorize("closed"), 503, "redis_unavailable", "none");
		assert_problem(take("never-known"), 503, "redis_unavailable", "none");
		assert_problem(http(client, "POST", "/ratelimit", "{\"key\":\"k\",\"limit\":1,\"window_ms\":1}"), 503,
			       "redis_unavailable", "none");
		assert_problem(http(client, "POST", "/ratelimit/refund", "{\"key\":\"k\",\"policy\":\"open\"}"), 503,
			       "redis_unavailable", "none");
		nap_ms(i ? 0 : 1100);
	}
	assert_int_equal(metric_of(&patternd, "answers_degraded_total") - before, 8);
}

/* The key is an address also by the policy that was known last. */
TEST(addresses_by_the_last_known_policy)
{
	static const char ask[] = "{\"key\":\"%s\",\"policy\":\"clients\"}";
	char body[96];

	put("clients", ",\"on_error\":\"open\",\"address\":{}");
	proxy_set(proxy, (struct proxy_fault){ .refuse = true, .reset = true });
	wait_until(take("closed").status == 503, RECOVER_MS);
	nap_ms(1100);
	snprintf(body, sizeof(body), ask, "2001:DB8::1");
	struct answer a = http(client, "POST", "/ratelimit", body);
	must_grant(a);
	assert_string_equal(text_at(a, "/key"), "2001:db8::/64");
	snprintf(body, sizeof(body), ask, "ann");
	assert_problem(http(client, "POST", "/ratelimit", body), 400, "invalid_value", "none");
}

static struct answer take_both(const char *one, const char *other)
{
	char body[160];

	snprintf(body, sizeof(body), "{\"checks\":[{\"key\":\"k\",\"policy\":\"%s\"},{\"key\":\"k\",%s}]}", one, other);
	return http(client, "POST", "/ratelimit", body);
}

TEST(several_are_as_closed_as_any)
{
	proxy_set(proxy, (struct proxy_fault){ .refuse = true, .reset = true });
	wait_until(take("closed").status == 503, RECOVER_MS);
	struct answer a = take_both("open", "\"policy\":\"shadow\"");
	must_grant(a);
	assert_int_equal(json_array_size(json_at(a, "/checks")), 2);
	assert_problem(take_both("open", "\"policy\":\"closed\""), 503, "redis_unavailable", "none");
	assert_problem(take_both("open", "\"limit\":5,\"window_ms\":1000"), 503, "redis_unavailable", "none");
}

/*
 * The request was sent and got no answer. Whether it counted is unknown, but the caller is
 * admitted.
 */
TEST(no_answer)
{
	proxy_set(proxy, (struct proxy_fault){ .drop_down = true });
	must_grant(take("open"));
	struct answer a = take("closed");
	assert_true(a.status == 504 || a.status == 503);
	if (a.status == 504)
		assert_problem(a, 504, "no_answer", NULL);
}

TEST(out_of_order)
{
	server_command(&redis, "CONFIG SET maxmemory 1");
	must_grant(take("open"));
	assert_problem(take("closed"), 503, "redis_out_of_memory", "none");
	server_command(&redis, "CONFIG SET maxmemory 0");
	server_command(&redis, "DEL p:limit:{k}:open:gcra");
	server_command(&redis, "SADD p:limit:{k}:open:gcra x");
	must_grant(take("open"));
	server_command(&redis, "DEL p:limit:{k}:open:gcra");
	assert_true(counts());
}

/* A policy that this daemon deleted leaves its cache, whatever on_error it had. */
TEST(deleted_is_not_open)
{
	put("gone", ",\"on_error\":\"open\"");
	assert_status(take("gone"), 200);
	assert_status(http(client, "DELETE", "/ratelimit/policies/gone", NULL), 204);
	proxy_set(proxy, (struct proxy_fault){ .refuse = true, .reset = true });
	wait_until(take("closed").status == 503, RECOVER_MS);
	assert_problem(take("gone"), 503, "redis_unavailable", "none");
}

static int64_t limit_answered(struct raw *r)
{
	struct answer a = raw_answer(r, 5000);

	assert_status(a, 200);
	int64_t limit = int_at(a, "/limit");
	raw_close(r);
	return limit;
}

static struct raw *ask_for(const struct daemon *d)
{
	return waiter_at(d, "/ratelimit", "{\"key\":\"k\",\"policy\":\"slow\"}", "");
}

/*
 * One request reads the policy again before the second ends, and Redis is slow. After the second,
 * other requests do not use the cached policy.
 */
TEST(believed_for_a_second_at_most)
{
	struct daemon other = { 0 };
	struct proxy *slow = proxy_open(redis.port);

	daemon_start(&other, "--redis", proxy_url(slow), "--redis-timeout-ms", "5000");
	server_command(&redis, "HSET p:policy:{slow} algorithm gcra limit 100 window_ms 1000");
	int64_t begun_ms = monotonic_ms();
	assert_int_equal(limit_answered(ask_for(&other)), 100);
	server_command(&redis, "HSET p:policy:{slow} limit 200");
	proxy_set(slow, (struct proxy_fault){ .delay_ms = 450 });
	wait_until(monotonic_ms() >= begun_ms + 600, 1000);
	struct raw *first = ask_for(&other);
	nap_ms(50);
	struct raw *within = ask_for(&other);
	wait_until(monotonic_ms() >= begun_ms + 1050, 1000);
	struct raw *beyond = ask_for(&other);
	assert_int_equal(limit_answered(first), 200);
	assert_int_equal(limit_answered(within), 100);
	assert_int_equal(limit_answered(beyond), 200);
	daemon_stop(&other);
	proxy_close(slow);
}

/*
 * A request whose body is not read is suspended at once. Its answer may come in the loop iteration
 * in which the daemon ends the grace polls of others. libmicrohttpd must learn of the answer even
 * then.
 */
TEST(suspended_at_once_and_resumed)
{
	for (int i = 0; i < 300; i += stride()) {
		proxy_set(proxy, (struct proxy_fault){ .delay_ms = i / 100 });
		struct raw *r = raw_connect(patternd.port);
		raw_text(
			r,
			"POST /ratelimit/authorize?policy=closed&key=k HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
		assert_status(raw_answer(r, 2000), 200);
		raw_close(r);
	}
}

static int heal(void **state)
{
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(http(client, "GET", "/locks/a", NULL).status == 200, RECOVER_MS);
	put("open", ",\"on_error\":\"open\"");
	put("keyed", ",\"on_error\":\"open\",\"key_header\":\"X-User\"");
	put("closed", "");
	put("shadow", ",\"shadow\":true");
	wait_until(counts(), RECOVER_MS);
	assert_status(take("closed"), 200);
	assert_status(take("shadow"), 200);
	client_forget(client);
	return 0;
}

static int set_up(void **state)
{
	return start_through_proxy("200");
}

SUITE(.open = set_up, .close = stop_through_proxy, .before = heal);
