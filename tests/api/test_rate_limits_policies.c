/*
 * Policies over HTTP: how they are stored, listed, used, and changed while another daemon uses
 * them; and shadow policies. (Policies of a file: test_rate_limits_file.c; without Redis:
 * faults/test_rate_limits_away.c.)
 */
#include "raw.h"
#include "stage.h"
#include "stride.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 5000 };

static struct answer put(const char *policy, const char *body)
{
	char target[128];

	snprintf(target, sizeof(target), "/ratelimit/policies/%s", policy);
	return http(client, "PUT", target, body);
}

static struct answer take(const char *body)
{
	return http(client, "POST", "/ratelimit", body);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(stored_and_returned)
{
	assert_problem(get("/ratelimit/policies/p"), 404, "not_found", "none");
	struct answer a =
		put("p", "{\"limit\":30,\"window_ms\":60000,\"burst\":15,\"on_error\":\"open\",\"shadow\":true,"
			 "\"key_header\":\"X-Real-IP\"}");
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/source"), "redis");
	a = get("/ratelimit/policies/p");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "p");
	assert_string_equal(text_at(a, "/algorithm"), "gcra");
	assert_int_equal(int_at(a, "/limit"), 30);
	assert_int_equal(int_at(a, "/window_ms"), 60000);
	assert_int_equal(int_at(a, "/burst"), 15);
	assert_string_equal(text_at(a, "/on_error"), "open");
	assert_true(bool_at(a, "/shadow"));
	assert_string_equal(text_at(a, "/key_header"), "X-Real-IP");
	/* PUT replaces the whole policy: members that the body omits get their defaults. */
	assert_status(put("p",
			  "{\"limit\":5,\"window_ms\":1000,\"algorithm\":\"sliding_window\",\"count_refused\":true}"),
		      200);
	a = get("/ratelimit/policies/p");
	assert_string_equal(text_at(a, "/algorithm"), "sliding_window");
	assert_true(json_is_null(json_at(a, "/burst")));
	assert_true(json_is_null(json_at(a, "/key_header")));
	assert_true(bool_at(a, "/count_refused"));
	assert_string_equal(text_at(a, "/on_error"), "closed");
	assert_false(bool_at(a, "/shadow"));
	assert_status(http(client, "DELETE", "/ratelimit/policies/p", NULL), 204);
	assert_problem(http(client, "DELETE", "/ratelimit/policies/p", NULL), 404, "not_found", "none");
	assert_problem(get("/ratelimit/policies/p"), 404, "not_found", "none");
	assert_int_equal(server_keys(&redis), 0);
}

/* ---- PATCH ---- */

static const char policy_m[] = "/ratelimit/policies/m";

static struct answer patch(const char *body)
{
	return http(client, "PATCH", policy_m, body);
}

TEST(patched_member_by_member)
{
	assert_problem(patch("{\"limit\":5}"), 404, "not_found", "none");
	assert_int_equal(server_keys(&redis), 0); /* PATCH creates none */
	put("m", "{\"limit\":30,\"window_ms\":60000,\"burst\":15,\"on_error\":\"open\",\"shadow\":true,"
		 "\"key_header\":\"X-Real-IP\"}");
	take("{\"key\":\"k\",\"policy\":\"m\"}"); /* the daemon has the policy in its cache now */
	struct answer a = patch("{\"burst\":20,\"shadow\":false}");
	assert_status(a, 200);
	assert_string_equal(a.body, get(policy_m).body);
	assert_string_equal(a.body,
			    "{\"name\":\"m\",\"algorithm\":\"gcra\",\"limit\":30,\"window_ms\":60000,\"burst\":20,"
			    "\"count_refused\":false,\"on_error\":\"open\",\"shadow\":false,"
			    "\"key_header\":\"X-Real-IP\",\"address\":null,\"source\":\"redis\"}\n");
	assert_int_equal(int_at(take("{\"key\":\"k\",\"policy\":\"m\"}"), "/capacity"), 20);
	assert_string_equal(patch("{}").body, a.body);
	assert_string_equal(patch("{\"burst\":null,\"limit\":7,\"on_error\":null,\"key_header\":null}").body,
			    "{\"name\":\"m\",\"algorithm\":\"gcra\",\"limit\":7,\"window_ms\":60000,\"burst\":7,"
			    "\"count_refused\":false,\"on_error\":\"closed\",\"shadow\":false,\"key_header\":null,"
			    "\"address\":null,\"source\":\"redis\"}\n");
	/* No burst was set, so it follows the limit. */
	assert_int_equal(int_at(patch("{\"limit\":8}"), "/burst"), 8);
	assert_status(patch("{\"algorithm\":\"sliding_window\",\"count_refused\":true}"), 200);
	a = patch("{\"algorithm\":null,\"count_refused\":null,\"window_ms\":1000}");
	assert_string_equal(text_at(a, "/algorithm"), "gcra");
	assert_false(bool_at(a, "/count_refused"));
	assert_int_equal(int_at(a, "/window_ms"), 1000);
}

TEST(what_patch_would_break_is_refused)
{
	static const char *const rows[][3] = {
		{ "{\"algorithm\":\"fixed_window\"}", "invalid_value", "/burst" },
		{ "{\"algorithm\":\"sliding_window\",\"count_refused\":true}", "invalid_value", "/burst" },
		{ "{\"count_refused\":true}", "invalid_value", "/count_refused" },
		{ "{\"limit\":999999937,\"window_ms\":31622400000}", "out_of_range", "/burst" },
	};

	put("m", "{\"limit\":200000,\"window_ms\":60000,\"burst\":150000}");
	char *before = strdup(get(policy_m).body);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = patch(rows[i][0]);
		assert_problem(a, 400, rows[i][1], "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i][2]);
	}
	assert_string_equal(get(policy_m).body, before);
	free(before);
}

/* Two daemons read the policy before either writes: both changes take effect. */
TEST(changes_at_once_all_take_effect)
{
	struct daemon other = { 0 };
	struct daemon *const daemons[] = { &patternd, &other };
	static const char *const bodies[] = { "{\"limit\":31}", "{\"burst\":16}" };
	struct raw *asked[2];

	daemon_start(&other, "--redis", redis.url, "--redis-timeout-ms", "10000");
	put("m", "{\"limit\":30,\"window_ms\":60000,\"burst\":15}");
	server_command(&redis, "CLIENT PAUSE 10000 WRITE");
	for (int i = 0; i < 2; i++) {
		long commands = metric_of(daemons[i], "redis_commands_total");
		char request[256];
		snprintf(request, sizeof(request),
			 "PATCH %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
			 "Content-Length: %zu\r\n\r\n%s",
			 policy_m, strlen(bodies[i]), bodies[i]);
		asked[i] = raw_connect(daemons[i]->port);
		raw_text(asked[i], request);
		wait_until(metric_of(daemons[i], "redis_commands_total") >= commands + 2, SOON_MS);
	}
	server_command(&redis, "CLIENT UNPAUSE");
	for (int i = 0; i < 2; i++) {
		assert_status(raw_answer(asked[i], SOON_MS), 200);
		raw_close(asked[i]);
	}
	struct answer a = get(policy_m);
	assert_int_equal(int_at(a, "/limit"), 31);
	assert_int_equal(int_at(a, "/burst"), 16);
	daemon_stop(&other);
}

TEST(what_is_none_is_refused)
{
	static const char *const rows[][2] = {
		{ "{\"limit\":1,\"window_ms\":1000,\"algorithm\":\"fixed_window\",\"burst\":5}", "/burst" },
		{ "{\"limit\":1,\"window_ms\":1000,\"count_refused\":true}", "/count_refused" },
		{ "{\"limit\":999999937,\"window_ms\":31622400000}", "/limit" },
		{ "{\"limit\":1,\"window_ms\":31622400000,\"burst\":1000000000}", "/burst" },
		{ "{\"limit\":1,\"window_ms\":1000,\"key_header\":\"X User\"}", "/key_header" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = put("a", rows[i][0]);
		assert_problem(a, 400, NULL, "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i][1]);
	}
	assert_int_equal(server_keys(&redis), 0);
}

/* A foreign key is not an item, and has no effect. (Pages: test_names.c.) */
TEST(policies_are_listed)
{
	put("many.1", "{\"limit\":1,\"window_ms\":1000}");
	put("other", "{\"limit\":1,\"window_ms\":1000}");
	server_command(&redis, "SET p:policy:{many.foreign} x");
	server_command(&redis, "HSET p:policy:{many.odd} limit 5");
	assert_status(post("/names/rebuild", NULL), 200);
	struct answer a = get_all("/ratelimit/policies?match=many.*");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_true(json_equal(json_at(a, "/items/0"), get("/ratelimit/policies/many.1").json));
}

/*
 * A count belongs to a policy, an algorithm and a key. A call without a policy has its own count.
 */
TEST(used_by_name)
{
	assert_problem(take("{\"key\":\"k\",\"policy\":\"p\"}"), 404, "not_found", "none");
	put("p", "{\"limit\":2,\"window_ms\":3600000}");
	put("q", "{\"limit\":2,\"window_ms\":3600000,\"algorithm\":\"fixed_window\"}");
	struct answer a = take("{\"key\":\"k\",\"policy\":\"p\"}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/policy"), "p");
	assert_false(bool_at(a, "/degraded"));
	assert_null(json_at(a, "/shadow_allowed"));
	assert_string_equal(header_of(a, "RateLimit-Policy"), "\"p\";q=2;w=3600");
	assert_string_equal(header_of(a, "RateLimit"), "\"p\";r=1;t=1800");
	assert_status(take("{\"key\":\"k\",\"policy\":\"p\"}"), 200);
	a = take("{\"key\":\"k\",\"policy\":\"p\"}");
	assert_problem(a, 429, "rate_limited", "none");
	assert_string_equal(text_at(a, "/policy"), "p");
	assert_status(take("{\"key\":\"k\",\"policy\":\"q\",\"cost\":2}"), 200);
	assert_status(take("{\"key\":\"k\",\"limit\":2,\"window_ms\":3600000}"), 200);
	assert_int_equal(server_command(&redis, "EXISTS p:limit:{k}:p:gcra p:limit:{k}:q:fixed_window "
						"p:limit:{k}:@:gcra")
				 ->integer,
			 3);
	a = take("{\"key\":\"k\",\"policy\":\"p\",\"cost\":3}");
	assert_problem(a, 400, "cost_above_limit", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/cost");
}

static void assert_nothing_is_known(struct answer a)
{
	static const char *const numbers[] = { "/limit",     "/window_ms",      "/capacity",
					       "/remaining", "/retry_after_ms", "/reset_after_ms" };

	assert_status(a, 200);
	assert_true(bool_at(a, "/allowed"));
	for (size_t i = 0; i < COUNT(numbers); i++)
		assert_true(json_is_null(json_at(a, numbers[i])));
}

TEST(looked_at_and_forgotten_by_policy)
{
	put("p", "{\"limit\":5,\"window_ms\":3600000,\"algorithm\":\"fixed_window\"}");
	take("{\"key\":\"k\",\"policy\":\"p\",\"cost\":2}");
	struct answer a = get("/ratelimit/keys/k?policy=p");
	assert_string_equal(text_at(a, "/policy"), "p");
	assert_string_equal(text_at(a, "/algorithm"), "fixed_window");
	assert_int_equal(int_at(a, "/remaining"), 3);
	a = get("/ratelimit/keys/k");
	assert_true(json_is_null(json_at(a, "/policy")));
	assert_true(json_is_null(json_at(a, "/check")));
	assert_true(json_is_null(json_at(a, "/algorithm")));
	assert_nothing_is_known(a);
	a = get("/ratelimit/keys/k?policy=never-stored");
	assert_true(json_is_null(json_at(a, "/algorithm")));
	assert_nothing_is_known(a);
	a = get("/ratelimit/keys?match=k");
	assert_string_equal(text_at(a, "/items/0/policy"), "p");
	assert_string_equal(text_at(a, "/items/0/algorithm"), "fixed_window");
	assert_true(bool_at(a, "/items/0/allowed"));
	assert_int_equal(int_at(a, "/items/0/limit"), 5);
	assert_int_equal(int_at(a, "/items/0/window_ms"), 3600000);
	assert_int_equal(int_at(a, "/items/0/capacity"), 5);
	assert_int_equal(int_at(a, "/items/0/remaining"), 3);
	assert_true(json_is_null(json_at(a, "/items/0/retry_after_ms")));
	assert_in_range(int_at(a, "/items/0/reset_after_ms"), 1, 3600000);
	take("{\"key\":\"k\",\"policy\":\"p\",\"cost\":3}");
	a = get("/ratelimit/keys?match=k");
	assert_false(bool_at(a, "/items/0/allowed"));
	assert_int_equal(int_at(a, "/items/0/remaining"), 0);
	assert_in_range(int_at(a, "/items/0/retry_after_ms"), 1, 3600000);
	assert_problem(http(client, "DELETE", "/ratelimit/keys/k", NULL), 404, "not_found", "none");
	assert_status(http(client, "DELETE", "/ratelimit/keys/k?policy=p", NULL), 204);
	assert_int_equal(int_at(take("{\"key\":\"k\",\"policy\":\"p\"}"), "/remaining"), 4);
}

TEST(refunded_by_policy)
{
	put("p", "{\"limit\":5,\"window_ms\":3600000,\"algorithm\":\"fixed_window\"}");
	take("{\"key\":\"k\",\"policy\":\"p\",\"cost\":3}");
	struct answer a = post("/ratelimit/refund", "{\"key\":\"k\",\"policy\":\"p\",\"cost\":2}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/refunded"), 2);
	assert_string_equal(text_at(a, "/algorithm"), "fixed_window");
	assert_int_equal(int_at(a, "/remaining"), 4);
	/* With the algorithm in its body, a refund needs no policy. */
	assert_status(http(client, "DELETE", "/ratelimit/policies/p", NULL), 204);
	assert_problem(post("/ratelimit/refund", "{\"key\":\"k\",\"policy\":\"p\"}"), 404, "not_found", "none");
	a = post("/ratelimit/refund", "{\"key\":\"k\",\"policy\":\"p\",\"algorithm\":\"fixed_window\",\"cost\":9}");
	assert_int_equal(int_at(a, "/refunded"), 1);
	assert_int_equal(int_at(a, "/remaining"), 5);
}

TEST(refunded_without_policy)
{
	take("{\"key\":\"k\",\"limit\":10,\"window_ms\":3600000,\"cost\":4}");
	struct answer a = http(client, "POST", "/ratelimit/refund", "{\"key\":\"k\"}", "Idempotency-Key: once");
	assert_int_equal(int_at(a, "/refunded"), 1);
	assert_int_equal(int_at(a, "/remaining"), 7);
	a = http(client, "POST", "/ratelimit/refund", "{\"key\":\"k\"}", "Idempotency-Key: once");
	assert_int_equal(int_at(a, "/refunded"), 1);
	a = get("/ratelimit/keys/k");
	assert_int_equal(int_at(a, "/remaining"), 7);
	a = post("/ratelimit/refund", "{\"key\":\"never\"}");
	assert_int_equal(int_at(a, "/refunded"), 0);
	assert_nothing_is_known(a);
}

/*
 * A replay reports the policy by which the decision was made, also if the policy has changed since.
 */
TEST(replay_has_the_policy_of_then)
{
	static const char body[] = "{\"key\":\"k\",\"policy\":\"p\"}";
	put("p", "{\"limit\":10,\"window_ms\":3600000,\"burst\":4}");
	assert_status(http(client, "POST", "/ratelimit", body, "Idempotency-Key: then"), 200);
	put("p", "{\"limit\":20,\"window_ms\":60000,\"burst\":8}");
	struct answer a = http(client, "POST", "/ratelimit", body, "Idempotency-Key: then");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/limit"), 10);
	assert_int_equal(int_at(a, "/window_ms"), 3600000);
	assert_int_equal(int_at(a, "/capacity"), 4);
	assert_string_equal(header_of(a, "RateLimit-Policy"), "\"p\";q=10;w=3600");
}

TEST(shadow_reports_and_grants)
{
	put("s", "{\"limit\":1,\"window_ms\":3600000,\"shadow\":true}");
	struct answer a = take("{\"key\":\"k\",\"policy\":\"s\"}");
	assert_status(a, 200);
	assert_true(bool_at(a, "/shadow_allowed"));
	for (int i = 0; i < 2; i++) {
		a = take("{\"key\":\"k\",\"policy\":\"s\"}");
		assert_status(a, 200);
		assert_true(bool_at(a, "/allowed"));
		assert_false(bool_at(a, "/shadow_allowed"));
		assert_int_equal(int_at(a, "/remaining"), 0);
		assert_true(json_is_null(json_at(a, "/retry_after_ms")));
		assert_null(header_of(a, "Retry-After"));
	}
}

/* ---- The cache of policies ---- */

TEST(known_policy_costs_no_command)
{
	const int takes = 300 / stride();

	put("p", "{\"limit\":1000000,\"window_ms\":1000}");
	take("{\"key\":\"k\",\"policy\":\"p\"}");
	long long before = server_scripts_run(&redis);
	int64_t begun_ms = monotonic_ms();
	for (int i = 0; i < takes; i++)
		assert_status(take("{\"key\":\"k\",\"policy\":\"p\"}"), 200);
	long long asked = server_scripts_run(&redis) - before - takes;
	assert_in_range(asked, 0, (monotonic_ms() - begun_ms) / 500 + 1);
}

static struct answer look_by(struct client *c, const char *policy)
{
	char body[64];

	snprintf(body, sizeof(body), "{\"key\":\"k\",\"policy\":\"%s\",\"cost\":0}", policy);
	return http(c, "POST", "/ratelimit", body);
}

/*
 * A daemon uses a policy that Redis held less than a second ago, whether clients use the policy
 * often or rarely. A daemon that changes a policy uses the new one at once.
 */
TEST(others_follow_within_a_second)
{
	static const struct {
		const char *policy;
		int64_t every_ms;
	} rows[] = { { "often", 5 }, { "rarely", 300 } };
	enum { ROWS = COUNT(rows), LOOK_MS = 1300 };
	int64_t changed_ms[ROWS], asked_ms[ROWS], old_ms[ROWS];
	struct daemon other = { 0 };

	daemon_start(&other, "--redis", redis.url);
	struct client *c = client_open(other.port);
	put("gone", "{\"limit\":10,\"window_ms\":1000}");
	assert_status(look_by(c, "gone"), 200);
	assert_status(http(client, "DELETE", "/ratelimit/policies/gone", NULL), 204);
	assert_problem(look_by(client, "gone"), 404, "not_found", "none");
	for (size_t i = 0; i < ROWS; i++) {
		put(rows[i].policy, "{\"limit\":10,\"window_ms\":1000}");
		assert_int_equal(int_at(look_by(c, rows[i].policy), "/limit"), 10);
		assert_status(put(rows[i].policy, "{\"limit\":20,\"window_ms\":1000}"), 200);
		changed_ms[i] = old_ms[i] = monotonic_ms();
		asked_ms[i] = 0;
		assert_int_equal(int_at(look_by(client, rows[i].policy), "/limit"), 20);
	}
	while (monotonic_ms() < changed_ms[ROWS - 1] + LOOK_MS) {
		for (size_t i = 0; i < ROWS; i++) {
			if (monotonic_ms() < asked_ms[i] + rows[i].every_ms)
				continue;
			asked_ms[i] = monotonic_ms();
			if (int_at(look_by(c, rows[i].policy), "/limit") != 20)
				old_ms[i] = asked_ms[i];
			client_forget(c);
		}
		nap_ms(1);
	}
	for (size_t i = 0; i < ROWS; i++)
		assert_in_range(old_ms[i] - changed_ms[i], 0, 999);
	assert_problem(look_by(c, "gone"), 404, "not_found", "none");
	client_close(c);
	daemon_stop(&other);
}

/* With more policies than a daemon caches, each call still uses its own policy. */
TEST(more_policies_than_are_kept)
{
	enum { KNOWN = 4200 }; /* of which 4096 are kept */
	char body[96];

	for (int i = 1; i <= KNOWN; i++)
		server_command(&redis,
			       "HSET p:policy:{n%d} algorithm gcra limit %d window_ms 1000 burst 0 count_refused 0 "
			       "on_error closed shadow 0 key_header %s",
			       i, i, "");
	for (int i = 1; i <= KNOWN; i++) {
		snprintf(body, sizeof(body), "{\"key\":\"k\",\"policy\":\"n%d\",\"cost\":0}", i);
		struct answer a = take(body);
		assert_int_equal(int_at(a, "/limit"), i);
		if (i % 100 == 0)
			client_forget(client);
	}
	assert_int_equal(int_at(take("{\"key\":\"k\",\"policy\":\"n1\",\"cost\":0}"), "/limit"), 1);
}

TEST(foreign_policy_is_reported)
{
	static const char *const odd[] = { "limit 5",
					   "algorithm gcra limit x window_ms 5",
					   "algorithm gcra limit 5",
					   "algorithm odd limit 5 window_ms 5",
					   "algorithm gcra limit 5 window_ms 99999999999999",
					   "algorithm gcra limit 5 window_ms 5 burst -1",
					   "algorithm gcra limit 999999937 window_ms 31622400000 burst 1000000" };

	server_command(&redis, "SET p:policy:{f} x");
	assert_problem(get("/ratelimit/policies/f"), 500, "foreign_key", "none");
	assert_problem(put("f", "{\"limit\":1,\"window_ms\":1}"), 500, "foreign_key", "none");
	assert_problem(http(client, "PATCH", "/ratelimit/policies/f", "{}"), 500, "foreign_key", "none");
	assert_problem(http(client, "DELETE", "/ratelimit/policies/f", NULL), 500, "foreign_key", "none");
	assert_problem(take("{\"key\":\"k\",\"policy\":\"f\"}"), 500, "foreign_key", "none");
	for (size_t i = 0; i < COUNT(odd); i++) {
		server_command(&redis, "FLUSHALL");
		char fields[128], *save, *argv[16];
		int n = 0;
		snprintf(fields, sizeof(fields), "%s", odd[i]);
		for (char *word = strtok_r(fields, " ", &save); word; word = strtok_r(NULL, " ", &save))
			argv[n++] = word;
		for (int k = 0; k < n; k += 2)
			server_command(&redis, "HSET p:policy:{f} %s %s", argv[k], argv[k + 1]);
		assert_problem(get("/ratelimit/policies/f"), 500, "foreign_key", "none");
		assert_problem(http(client, "PATCH", "/ratelimit/policies/f", "{\"limit\":1}"), 500, "foreign_key",
			       "none");
		assert_problem(take("{\"key\":\"k\",\"policy\":\"f\"}"), 500, "foreign_key", "none");
	}
}
