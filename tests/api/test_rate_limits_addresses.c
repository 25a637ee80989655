/*
 * Policies whose keys are network addresses: all spellings of an address share one limit, and so
 * do the addresses of one IPv6 network. (Which texts are addresses: unit/test_ip.c.)
 */
#include "stage.h"
#include "test.h"

#define ADDRESSES "\"limit\":1000,\"window_ms\":3600000,\"address\":"

static void put(const char *policy, const char *body)
{
	char target[96];

	snprintf(target, sizeof(target), "/ratelimit/policies/%s", policy);
	assert_in_range(http(client, "PUT", target, body).status, 200, 201);
}

static struct answer patch(const char *body)
{
	return http(client, "PATCH", "/ratelimit/policies/a", body);
}

static struct answer take_by(struct client *by, const char *key)
{
	char body[512];

	snprintf(body, sizeof(body), "{\"key\":\"%s\",\"policy\":\"a\"}", key);
	return http(by, "POST", "/ratelimit", body);
}

static struct answer take(const char *key)
{
	return take_by(client, key);
}

/* How much was counted for a key by then. */
static int64_t taken(const char *key)
{
	return 1000 - int_at(take(key), "/remaining");
}

static void refused_as_other(struct answer a, const char *pointer, const char *key)
{
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), pointer);
	if (!strstr(text_at(a, "/errors/0/detail"), key))
		fail_msg("%s does not name %s", text_at(a, "/errors/0/detail"), key);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

/* ---- The policy ---- */

static void address_must_be(struct answer a, int ipv6, int ipv4, const char *other, int from_right)
{
	assert_int_equal(int_at(a, "/address/ipv6_prefix"), ipv6);
	assert_int_equal(int_at(a, "/address/ipv4_prefix"), ipv4);
	assert_string_equal(text_at(a, "/address/other"), other);
	if (from_right)
		assert_int_equal(int_at(a, "/address/from_right"), from_right);
	else
		assert_true(json_is_null(json_at(a, "/address/from_right")));
}

TEST(stored_and_returned)
{
	put("a", "{" ADDRESSES "{}}");
	address_must_be(get("/ratelimit/policies/a"), 64, 32, "refuse", 0);
	put("a", "{" ADDRESSES "{\"ipv6_prefix\":48,\"ipv4_prefix\":24,\"other\":\"keep\",\"from_right\":2}}");
	struct answer a = get("/ratelimit/policies/a");
	address_must_be(a, 48, 24, "keep", 2);
	assert_string_equal(text_at(a, "/algorithm"), "gcra");
	address_must_be((struct answer){ .json = json_at(get("/ratelimit/policies"), "/items/0") }, 48, 24, "keep", 2);
	put("a", "{" ADDRESSES "null}");
	assert_true(json_is_null(json_at(get("/ratelimit/policies/a"), "/address")));
	/* Without addresses it is stored as by daemons that know none. */
	assert_string_equal(server_command(&redis, "HGET p:policy:{a} algorithm")->str, "gcra");
}

TEST(patched_member_by_member)
{
	put("a", "{\"limit\":1000,\"window_ms\":3600000}");
	address_must_be(patch("{\"address\":{\"ipv6_prefix\":56}}"), 56, 32, "refuse", 0);
	address_must_be(patch("{\"address\":{\"other\":\"keep\",\"from_right\":1}}"), 56, 32, "keep", 1);
	address_must_be(patch("{\"limit\":999}"), 56, 32, "keep", 1);
	address_must_be(patch("{\"address\":{\"ipv4_prefix\":16,\"other\":null}}"), 56, 16, "refuse", 1);
	address_must_be(patch("{\"address\":{\"ipv6_prefix\":null,\"ipv4_prefix\":null,\"from_right\":null}}"), 64, 32,
			"refuse", 0);
	assert_true(json_is_null(json_at(patch("{\"address\":null}"), "/address")));
	address_must_be(patch("{\"address\":{}}"), 64, 32, "refuse", 0);
}

TEST(members_out_of_bounds)
{
	static const char *const rows[][2] = {
		{ "{\"ipv6_prefix\":0}", "/address/ipv6_prefix" }, { "{\"ipv6_prefix\":129}", "/address/ipv6_prefix" },
		{ "{\"ipv4_prefix\":0}", "/address/ipv4_prefix" }, { "{\"ipv4_prefix\":33}", "/address/ipv4_prefix" },
		{ "{\"other\":\"drop\"}", "/address/other" },      { "{\"from_right\":0}", "/address/from_right" },
		{ "{\"from_right\":17}", "/address/from_right" },  { "{\"prefix\":64}", "/address/prefix" },
	};
	char body[160];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(body, sizeof(body), "{" ADDRESSES "%s}", rows[i][0]);
		struct answer a = http(client, "PUT", "/ratelimit/policies/a", body);
		assert_status(a, 400);
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i][1]);
	}
}

/* A daemon of before knows no such algorithm, so it answers that the policy is foreign. */
TEST(older_daemons_do_not_know_the_algorithm)
{
	static const char *const odd[] = { "gcra address 0 32 refuse 0",  "gcra address 64 33 refuse 0",
					   "gcra address 64 32 drop 0",   "gcra address 64 32 keep 17",
					   "gcra address 64 32 refuse",   "gcra address 64 32 refuse 0 0",
					   "gcra addresses 64 32 keep 0", "gcra " };

	put("a", "{" ADDRESSES "{}}");
	assert_string_equal(server_command(&redis, "HGET p:policy:{a} algorithm")->str, "gcra address 64 32 refuse 0");
	for (size_t i = 0; i < COUNT(odd); i++) {
		server_command(&redis, "HSET p:policy:{a} algorithm %s", odd[i]);
		assert_problem(get("/ratelimit/policies/a"), 500, "foreign_key", "none");
	}
}

/* ---- Keys ---- */

static const char *const spellings[][2] = {
	{ "203.0.113.7", "203.0.113.7" },
	{ "203.0.113.7:8080", "203.0.113.7" },
	{ "203.0.113.7/32", "203.0.113.7" },
	{ "::ffff:203.0.113.7", "203.0.113.7" },
	{ "::FFFF:cb00:7107", "203.0.113.7" },
	{ "[::ffff:203.0.113.7]:443", "203.0.113.7" },
	{ "0:0:0:0:0:ffff:203.0.113.7", "203.0.113.7" },
	{ "64:ff9b::203.0.113.7", "203.0.113.7" },
	{ "2001:db8::1", "2001:db8::/64" },
	{ "2001:DB8::1", "2001:db8::/64" },
	{ "2001:0db8:0000:0000:ffff:ffff:ffff:ffff", "2001:db8::/64" },
	{ "[2001:db8::2]", "2001:db8::/64" },
	{ "[2001:db8::2]:443", "2001:db8::/64" },
	{ "2001:db8::3%eth0", "2001:db8::/64" },
	{ "2001:db8::/64", "2001:db8::/64" },
	{ "2001:db8:0:1::1", "2001:db8:0:1::/64" },
	{ "::1", "::/64" },
};

TEST(spellings_share_a_limit)
{
	int v4 = 0, v6 = 0;

	put("a", "{" ADDRESSES "{}}");
	for (size_t i = 0; i < COUNT(spellings); i++) {
		int *count = strcmp(spellings[i][1], "203.0.113.7") == 0     ? &v4
			     : strcmp(spellings[i][1], "2001:db8::/64") == 0 ? &v6
									     : NULL;
		struct answer a = take(spellings[i][0]);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/key"), spellings[i][1]);
		assert_int_equal(int_at(a, "/remaining"), 1000 - (count ? ++*count : 1));
	}
	assert_int_equal(v4, 8);
	assert_int_equal(v6, 7);
}

TEST(every_algorithm)
{
	static const char *const algorithms[] = { "gcra", "sliding_window", "fixed_window" };
	char body[160];

	for (size_t i = 0; i < COUNT(algorithms); i++) {
		snprintf(body, sizeof(body),
			 "{\"limit\":1,\"window_ms\":3600000,\"algorithm\":\"%s\",\"address\":{\"ipv4_prefix\":24}}",
			 algorithms[i]);
		put("a", body);
		assert_status(take("2001:db8::1"), 200);
		assert_problem(take("2001:db8::ffff"), 429, "rate_limited", "none");
		assert_status(take("2001:db8:0:1::1"), 200);
		assert_string_equal(text_at(take("203.0.113.1"), "/key"), "203.0.113.0/24");
		assert_problem(take("203.0.113.2"), 429, "rate_limited", "none");
		assert_status(take("203.0.112.1"), 200);
	}
}

TEST(other_keys)
{
	put("a", "{" ADDRESSES "{}}");
	refused_as_other(take("ann"), "/key", "'ann'");
	refused_as_other(take("203.0.113.7, 203.0.113.8"), "/key", "from_right");
	refused_as_other(take("2001:db8::/63"), "/key", "2001:db8::/63");
	refused_as_other(post("/ratelimit", "{\"checks\":[{\"key\":\"::1\",\"policy\":\"a\"},"
					    "{\"key\":\"bob\",\"name\":\"b\",\"policy\":\"a\"}]}"),
			 "/checks/1/key", "'bob'");
	assert_int_equal(json_array_size(json_at(get("/ratelimit/keys"), "/items")), 0);
	patch("{\"address\":{\"other\":\"keep\"}}");
	assert_int_equal(taken("ann"), 1);
	assert_int_equal(taken("ann"), 2);
	assert_int_equal(taken("ANN"), 1);
	assert_int_equal(taken("::FFFF:1.2.3.4"), 1);
	assert_int_equal(taken("1.2.3.4"), 2);
}

/* A policy without `address`, and a limit in the request, take keys as they are. */
TEST(other_limits_take_any_key)
{
	put("a", "{\"limit\":1000,\"window_ms\":3600000}");
	assert_string_equal(text_at(take("::FFFF:1.2.3.4"), "/key"), "::FFFF:1.2.3.4");
	assert_int_equal(taken("1.2.3.4"), 1);
	put("a", "{" ADDRESSES "{}}");
	struct answer a = post("/ratelimit", "{\"key\":\"2001:DB8::1\",\"limit\":1,\"window_ms\":1000}");
	assert_string_equal(text_at(a, "/key"), "2001:DB8::1");
}

TEST(several_checks)
{
	put("a", "{" ADDRESSES "{}}");
	put("user", "{\"limit\":1000,\"window_ms\":3600000}");
	struct answer a = post("/ratelimit", "{\"checks\":[{\"key\":\"2001:DB8::1\",\"policy\":\"a\"},"
					     "{\"key\":\"2001:DB8::1\",\"policy\":\"user\"},"
					     "{\"key\":\"::ffff:1.2.3.4\",\"name\":\"c\",\"policy\":\"a\"}]}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/checks/0/key"), "2001:db8::/64");
	assert_string_equal(text_at(a, "/checks/1/key"), "2001:DB8::1");
	assert_string_equal(text_at(a, "/checks/2/key"), "1.2.3.4");
	a = post("/ratelimit", "{\"checks\":[{\"key\":\"2001:db8::1\",\"policy\":\"a\"},"
			       "{\"key\":\"2001:db8::2\",\"name\":\"b\",\"policy\":\"a\"}]}");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/checks/1");
	assert_int_equal(taken("2001:db8::3"), 2);
	assert_int_equal(taken("1.2.3.4:5"), 2);
}

TEST(state_refund_deletion_and_list)
{
	put("a", "{" ADDRESSES "{}}");
	take("2001:DB8::1");
	take("[2001:db8::2]:443");
	struct answer a = get("/ratelimit/keys/2001:0db8::9?policy=a");
	assert_string_equal(text_at(a, "/key"), "2001:db8::/64");
	assert_int_equal(int_at(a, "/remaining"), 998);
	assert_int_equal(int_at(get("/ratelimit/keys/2001:db8::%2F64?policy=a"), "/remaining"), 998);
	a = get("/ratelimit/keys");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/key"), "2001:db8::/64");
	a = post("/ratelimit/refund", "{\"key\":\"2001:db8::3\",\"policy\":\"a\"}");
	assert_int_equal(int_at(a, "/refunded"), 1);
	assert_string_equal(text_at(a, "/key"), "2001:db8::/64");
	a = post("/ratelimit/refund", "{\"key\":\"2001:db8::4\",\"policy\":\"a\",\"algorithm\":\"gcra\"}");
	assert_int_equal(int_at(a, "/refunded"), 1);
	take("2001:db8::5");
	assert_status(http(client, "DELETE", "/ratelimit/keys/2001:DB8::6?policy=a", NULL), 204);
	assert_problem(http(client, "DELETE", "/ratelimit/keys/2001:DB8::6?policy=a", NULL), 404, "not_found", "none");
	assert_int_equal(taken("2001:db8::1"), 1);
	refused_as_other(get("/ratelimit/keys/ann?policy=a"), "{key}", "'ann'");
	refused_as_other(http(client, "DELETE", "/ratelimit/keys/ann?policy=a", NULL), "{key}", "'ann'");
	refused_as_other(post("/ratelimit/refund", "{\"key\":\"ann\",\"policy\":\"a\"}"), "/key", "'ann'");
}

/* State outlives its policy, and is then found by the key that the list has. */
TEST(policy_that_is_gone)
{
	put("a", "{" ADDRESSES "{}}");
	take("2001:DB8::1");
	assert_status(http(client, "DELETE", "/ratelimit/policies/a", NULL), 204);
	assert_int_equal(int_at(get("/ratelimit/keys/2001:db8::%2F64?policy=a"), "/remaining"), 999);
	assert_int_equal(int_at(post("/ratelimit/refund",
				     "{\"key\":\"2001:db8::/64\",\"policy\":\"a\",\"algorithm\":\"gcra\"}"),
				"/refunded"),
			 1);
	assert_problem(post("/ratelimit/refund", "{\"key\":\"2001:db8::/64\",\"policy\":\"a\"}"), 404, "not_found",
		       "none");
}

/* The other spelling is another body, so the key is refused; nothing is decided twice. */
TEST(repeated_with_another_spelling)
{
	put("a", "{" ADDRESSES "{}}");
	struct answer a =
		http(client, "POST", "/ratelimit", "{\"key\":\"2001:db8::1\",\"policy\":\"a\"}", "Idempotency-Key: x");
	assert_status(a, 200);
	a = http(client, "POST", "/ratelimit", "{\"key\":\"2001:DB8::1\",\"policy\":\"a\"}", "Idempotency-Key: x");
	assert_problem(a, 422, "idempotency_key_reused", "none");
	assert_int_equal(taken("2001:db8::1"), 2);
}

/* A waiter of one spelling proceeds when the limit of another has room. */
TEST(waits_for_the_limit_of_its_network)
{
	put("a", "{\"limit\":1,\"window_ms\":300,\"address\":{}}");
	take("2001:db8::1");
	int64_t begun_ms = monotonic_ms();
	struct answer a = post("/ratelimit", "{\"key\":\"2001:DB8::2\",\"policy\":\"a\",\"wait_ms\":10000}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/key"), "2001:db8::/64");
	assert_in_range(monotonic_ms() - begun_ms, 200, 5000);
}

/* ---- Reverse proxies ---- */

struct ask {
	const char *header, *key; /* key NULL: 400 */
};

static void ask_all(const char *target, const struct ask *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct answer a = http(client, "GET", target, NULL, rows[i].header);
		if (rows[i].key) {
			assert_status(a, 200);
			assert_string_equal(text_at(a, "/key"), rows[i].key);
		} else {
			assert_problem(a, 400, "invalid_value", "none");
			assert_string_equal(text_at(a, "/errors/0/pointer"), "X-Forwarded-For:");
		}
	}
}

#define LONG_LIST                                                                                   \
	"X-Forwarded-For: 1.1.1.1,2.2.2.2,3.3.3.3,4.4.4.4,5.5.5.5,6.6.6.6,7.7.7.7,8.8.8.8,9.9.9.9," \
	"1.1.1.1,2.2.2.2,3.3.3.3,4.4.4.4,5.5.5.5,6.6.6.6,7.7.7.7,8.8.8.8,9.9.9.9,1.1.1.1,2.2.2.2,"  \
	"3.3.3.3,4.4.4.4,5.5.5.5,6.6.6.6,2001:DB8::7, 8.8.8.8"

TEST(authorize_by_header)
{
	static const struct ask one[] = {
		{ "X-Forwarded-For: 2001:DB8::1", "2001:db8::/64" },
		{ "X-Forwarded-For: [::1]:443", "::/64" },
		{ "X-Forwarded-For: 203.0.113.7:1", "203.0.113.7" },
		{ "X-Forwarded-For: 203.0.113.7, 1.1.1.1", NULL },
		{ "X-Forwarded-For: unknown", NULL },
		{ "X-Other: 1.1.1.1", NULL },
	};
	static const struct ask second[] = {
		{ "X-Forwarded-For: 203.0.113.7, 1.1.1.1", "203.0.113.7" },
		{ "X-Forwarded-For: 9.9.9.9, 2001:DB8::1 ,1.1.1.1", "2001:db8::/64" },
		{ LONG_LIST, "2001:db8::/64" },
		{ "X-Forwarded-For: 203.0.113.7", NULL }, /* it passed fewer proxies than are trusted */
		{ "X-Forwarded-For: , 1.1.1.1", NULL },
		{ "X-Forwarded-For: 9.9.9.9, spoofed, 1.1.1.1", NULL },
		{ "X-Forwarded-For: ", NULL },
	};
	static const struct ask last[] = { { "X-Forwarded-For: spoofed, 1.2.3.4", "1.2.3.4" },
					   { "X-Forwarded-For: 1.2.3.4", "1.2.3.4" },
					   { "X-Forwarded-For: 1.2.3.4,", NULL } };

	put("a", "{" ADDRESSES "{},\"key_header\":\"X-Forwarded-For\"}");
	ask_all("/ratelimit/authorize?policy=a", one, COUNT(one));
	ask_all("/ratelimit/authorize/a/any/path", one, COUNT(one));
	patch("{\"address\":{\"from_right\":2}}");
	ask_all("/ratelimit/authorize?policy=a", second, COUNT(second));
	ask_all("/ratelimit/authorize/a/any/path", second, COUNT(second));
	ask_all("/ratelimit/authorize?policy=a&key_header=X-Forwarded-For", second, COUNT(second));
	patch("{\"address\":{\"from_right\":1}}");
	ask_all("/ratelimit/authorize?policy=a", last, COUNT(last));
}

TEST(authorize_by_query_and_with_other_keys)
{
	put("a", "{" ADDRESSES "{\"from_right\":2},\"key_header\":\"X-Forwarded-For\"}");
	struct answer a = get("/ratelimit/authorize?policy=a&key=2001:DB8::1");
	assert_string_equal(text_at(a, "/key"), "2001:db8::/64"); /* one address, not a list */
	refused_as_other(get("/ratelimit/authorize?policy=a&key=ann"), "?key", "'ann'");
	patch("{\"address\":{\"other\":\"keep\"}}");
	a = http(client, "GET", "/ratelimit/authorize?policy=a", NULL, "X-Forwarded-For: unknown");
	assert_string_equal(text_at(a, "/key"), "unknown");
	a = http(client, "GET", "/ratelimit/authorize?policy=a", NULL, "X-Forwarded-For: ");
	assert_string_equal(text_at(a, "/key"), "-");
	assert_string_equal(text_at(get("/ratelimit/authorize?policy=a&key=ann"), "/key"), "ann");
}

/* ---- Other ways to a policy ---- */

/* A queue's key is its operator's choice, so it is never refused. */
TEST(queues)
{
	put("a", "{" ADDRESSES "{}}");
	assert_status(http(client, "PUT", "/queues/q", "{\"policy\":{\"name\":\"a\",\"key\":\"2001:DB8::1\"}}"), 201);
	assert_status(http(client, "PUT", "/queues/r", "{\"policy\":{\"name\":\"a\",\"key\":\"acme\"}}"), 201);
	for (int i = 0; i < 2; i++) {
		assert_status(post(i ? "/queues/r/messages" : "/queues/q/messages", "{\"body\":1}"), 201);
		struct answer a = post(i ? "/queues/r/receive" : "/queues/q/receive", "{}");
		assert_int_equal(json_array_size(json_at(a, "/messages")), 1);
	}
	assert_int_equal(taken("2001:db8::2"), 2);
	assert_int_equal(json_array_size(json_at(get("/ratelimit/keys"), "/items")), 2);
}

/* Another daemon follows a change within a second, as it follows a change of the limit. */
TEST(other_daemons_follow)
{
	struct daemon other = { 0 };

	daemon_start(&other, "--redis", redis.url);
	struct client *c = client_open(other.port);
	put("a", "{\"limit\":1000,\"window_ms\":3600000}");
	assert_string_equal(text_at(take_by(c, "2001:DB8::1"), "/key"), "2001:DB8::1");
	assert_status(patch("{\"address\":{}}"), 200);
	int64_t changed_ms = monotonic_ms(), old_ms = changed_ms;
	assert_int_equal(taken("2001:db8::1"), 1); /* the daemon that changed it follows at once */
	while (monotonic_ms() < changed_ms + 1500) {
		int64_t asked_ms = monotonic_ms();
		struct answer a = take_by(c, "2001:DB8::1");
		assert_status(a, 200);
		if (strcmp(text_at(a, "/key"), "2001:db8::/64") != 0)
			old_ms = asked_ms;
		client_forget(c);
		nap_ms(5);
	}
	assert_in_range(old_ms - changed_ms, 0, 999);
	int64_t left = int_at(take_by(c, "2001:db8::7"), "/remaining");
	assert_int_equal(int_at(take("2001:db8::8"), "/remaining"), left - 1);
	client_close(c);
	daemon_stop(&other);
}

/* Policies of a file, while Redis is away. */
TEST(without_redis)
{
	char path[256];
	struct daemon other = { 0 };

	snprintf(path, sizeof(path), "%s/policies.json", temp_dir());
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs("{\"a\":{" ADDRESSES "{},\"on_error\":\"open\",\"key_header\":\"X-Real-IP\"}}", f);
	assert_int_equal(fclose(f), 0);
	daemon_launch(&other, "--redis", "redis://127.0.0.1:1", "--policies", path);
	struct client *c = client_open(other.port);
	struct answer a = take_by(c, "2001:DB8::1");
	assert_true(bool_at(a, "/degraded"));
	assert_string_equal(text_at(a, "/key"), "2001:db8::/64");
	refused_as_other(take_by(c, "ann"), "/key", "'ann'");
	a = http(c, "GET", "/ratelimit/authorize?policy=a", NULL, "X-Real-IP: ::ffff:1.2.3.4");
	assert_true(bool_at(a, "/degraded"));
	assert_string_equal(text_at(a, "/key"), "1.2.3.4");
	client_close(c);
	daemon_stop(&other);
}
