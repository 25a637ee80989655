/*
 * Rate limits over HTTP: the five values and their headers, an exact Retry-After, looks, lists and
 * replays.
 */
#include "stage.h"
#include "test.h"

static struct answer take(const char *body)
{
	return http(client, "POST", "/ratelimit", body);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

/*
 * CL.THROTTLE k 15 30 60 of redis-cell is burst 16, limit 30, window_ms 60000: 16 calls pass, and
 * the 17th has to wait two seconds.
 */
TEST(throttle_of_redis_cell)
{
	static const char body[] = "{\"key\":\"k\",\"limit\":30,\"window_ms\":60000,\"burst\":16}";

	for (int i = 0; i < 16; i++)
		assert_status(take(body), 200);
	struct answer a = take(body);
	assert_problem(a, 429, "rate_limited", "none");
	assert_false(bool_at(a, "/allowed"));
	assert_int_equal(int_at(a, "/limit"), 30);
	assert_int_equal(int_at(a, "/capacity"), 16);
	assert_int_equal(int_at(a, "/remaining"), 0);
	assert_in_range(int_at(a, "/retry_after_ms"), 1000, 2000);
	assert_in_range(int_at(a, "/reset_after_ms"), 31000, 32000);
	assert_string_equal(header_of(a, "Retry-After"), "2");
	assert_string_equal(header_of(a, "RateLimit"), "\"default\";r=0;t=2");
}

/* ---- Every answer about a limit has its settings and its capacity ---- */

#define RULE "\"limit\":30,\"window_ms\":3600000"

/* The member `name` below `at`, a JSON pointer. */
static int64_t member(struct answer a, const char *at, const char *name)
{
	char pointer[64];

	snprintf(pointer, sizeof(pointer), "%s/%s", at, name);
	return int_at(a, pointer);
}

static void assert_rule(struct answer a, const char *at, int64_t capacity)
{
	assert_int_equal(member(a, at, "limit"), 30);
	assert_int_equal(member(a, at, "window_ms"), 3600000);
	assert_int_equal(member(a, at, "capacity"), capacity);
}

static void assert_decided(struct answer a, int status, const char *name, int64_t capacity)
{
	char text[32];

	assert_status(a, status);
	assert_string_equal(text_at(a, "/key"), "k");
	assert_rule(a, "", capacity);
	snprintf(text, sizeof(text), "\"%s\";q=30;w=3600", name);
	assert_string_equal(header_of(a, "RateLimit-Policy"), text);
	snprintf(text, sizeof(text), "%d", (int)capacity);
	assert_string_equal(header_of(a, "RateLimit-Limit"), text);
}

/*
 * `first` asks for 1, and `all` for the whole capacity. `kind` is "policy", "check" or NULL, and
 * `name` the name of the limit.
 */
static void assert_reported(const char *first, const char *all, const char *kind, const char *name,
			    const char *algorithm, int64_t capacity)
{
	char body[192], target[64];

	assert_decided(take(first), 200, name, capacity);
	struct answer a = take(all);
	assert_decided(a, 429, name, capacity);
	assert_int_equal(int_at(a, "/remaining"), capacity - 1);
	snprintf(target, sizeof(target), "/ratelimit/keys/k%s%s%s%s", kind ? "?" : "", kind ? kind : "",
		 kind ? "=" : "", kind ? name : "");
	a = get(target);
	assert_rule(a, "", capacity);
	assert_int_equal(int_at(a, "/remaining"), capacity - 1);
	a = get("/ratelimit/keys");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_rule(a, "/items/0", capacity);
	if (kind)
		snprintf(body, sizeof(body), "{\"key\":\"k\",\"%s\":\"%s\",\"algorithm\":\"%s\"}", kind, name,
			 algorithm);
	else
		snprintf(body, sizeof(body), "{\"key\":\"k\",\"algorithm\":\"%s\"}", algorithm);
	a = post("/ratelimit/refund", body);
	assert_int_equal(int_at(a, "/refunded"), 1);
	if (strcmp(algorithm, "gcra") != 0)
		assert_rule(a, "", capacity);
	stage_forget(NULL);
}

TEST(what_is_configured_is_reported)
{
	static const struct {
		const char *algorithm, *extra;
		int64_t capacity;
	} rows[] = {
		{ "gcra", "", 30 },           { "gcra", ",\"burst\":15", 15 }, { "gcra", ",\"burst\":45", 45 },
		{ "sliding_window", "", 30 }, { "fixed_window", "", 30 },
	};
	char rule[128], first[256], all[256];

	for (size_t i = 0; i < COUNT(rows); i++) {
		int capacity = (int)rows[i].capacity;
		snprintf(rule, sizeof(rule), "\"algorithm\":\"%s\"," RULE "%s", rows[i].algorithm, rows[i].extra);
		snprintf(first, sizeof(first), "{\"key\":\"k\",%s}", rule);
		snprintf(all, sizeof(all), "{\"key\":\"k\",%s,\"cost\":%d}", rule, capacity);
		assert_reported(first, all, NULL, "default", rows[i].algorithm, capacity);
		snprintf(first, sizeof(first), "{%s}", rule);
		http(client, "PUT", "/ratelimit/policies/p", first);
		snprintf(all, sizeof(all), "{\"key\":\"k\",\"policy\":\"p\",\"cost\":%d}", capacity);
		assert_reported("{\"key\":\"k\",\"policy\":\"p\"}", all, "policy", "p", rows[i].algorithm, capacity);
		snprintf(first, sizeof(first), "{\"checks\":[{\"name\":\"c\",\"key\":\"k\",%s}]}", rule);
		assert_rule(take(first), "/checks/0", capacity);
		snprintf(all, sizeof(all), "{\"checks\":[{\"name\":\"c\",\"key\":\"k\",%s,\"cost\":%d}]}", rule,
			 capacity);
		assert_rule(take(all), "/checks/0", capacity);
		stage_forget(NULL);
		assert_reported(first, all, "check", "c", rows[i].algorithm, capacity);
	}
}

static struct answer take_by(int64_t limit, int64_t window_ms, int64_t burst, const char *key)
{
	char body[160];

	snprintf(body, sizeof(body), "{\"key\":\"%s\",\"limit\":%lld,\"window_ms\":%lld,\"burst\":%lld}", key,
		 (long long)limit, (long long)window_ms, (long long)burst);
	return take(body);
}

/*
 * A limit that cannot be counted exactly is refused before anything is done, and the refusal names
 * the largest burst that can be counted.
 */
TEST(extremes_are_exact_or_refused)
{
	static const int64_t limits[] = { 1, 2, 1000000, 999999937, 1000000000 },
			     windows_ms[] = { 1, 999999937, 31536000000, 31622399999, 31622400000 };
	int refused = 0;

	for (size_t l = 0; l < 5; l++) {
		for (size_t w = 0; w < 5; w++) {
			struct answer a = take_by(limits[l], windows_ms[w], 1000000000, "x");
			long long most = 1000000000;
			if (a.status != 200) {
				assert_problem(a, 400, "out_of_range", "none");
				const char *at = strstr(text_at(a, "/errors/0/detail"), "at most ");
				assert_int_equal(sscanf(at, "at most %lld", &most), 1);
				assert_int_equal(server_keys(&redis), 0);
				assert_status(take_by(limits[l], windows_ms[w], most + 1, "x"), 400);
				a = take_by(limits[l], windows_ms[w], most, "x");
				refused++;
			}
			assert_status(a, 200);
			assert_int_equal(int_at(a, "/remaining"), most - 1);
			assert_int_equal(int_at(a, "/reset_after_ms"), (windows_ms[w] + limits[l] - 1) / limits[l]);
			server_command(&redis, "FLUSHALL");
		}
	}
	assert_in_range(refused, 5, 15);
	assert_status(take("{\"key\":\"year\",\"limit\":1000000,\"window_ms\":31622400000}"), 200);
}

/*
 * More keys exist than fit into a page, among foreign keys: each is found, whatever the page size.
 */
TEST(list_finds_every_key)
{
	char body[128], target[128], cursor[64] = "";
	bool seen[70] = { false };
	int pages = 0, distinct = 0;

	for (int i = 0; i < 70; i++) {
		snprintf(body, sizeof(body), "{\"key\":\"many:%d\",\"limit\":5,\"window_ms\":3600000}", i);
		assert_status(take(body), 200);
		server_command(&redis, "MSET foreign:%d 1 p:other:{many:%d} 1", i, i);
	}
	take("{\"key\":\"other\",\"limit\":5,\"window_ms\":3600000}");
	do {
		snprintf(target, sizeof(target), "/ratelimit/keys?match=many:*&limit=7%s%s", *cursor ? "&cursor=" : "",
			 cursor);
		struct answer a = http(client, "GET", target, NULL);
		assert_status(a, 200);
		size_t n = json_array_size(json_at(a, "/items"));
		assert_true(n <= 7);
		for (size_t i = 0; i < n; i++) {
			const char *key =
				json_string_value(json_object_get(json_array_get(json_at(a, "/items"), i), "key"));
			int at = atoi(key + strlen("many:"));
			distinct += !seen[at];
			seen[at] = true;
		}
		snprintf(cursor, sizeof(cursor), "%s",
			 json_is_null(json_at(a, "/next_cursor")) ? "" : text_at(a, "/next_cursor"));
		assert_true(++pages < 200);
	} while (*cursor);
	assert_int_equal(distinct, 70);
	assert_problem(http(client, "GET", "/ratelimit/keys?cursor=x", NULL), 400, "invalid_value", "none");
}

/*
 * A refusal is not recorded: a retry with the same Idempotency-Key is granted once there is room.
 */
TEST(idempotency_key_of_a_refusal_may_be_tried_again)
{
	static const char body[] = "{\"key\":\"r\",\"limit\":1,\"window_ms\":100}";

	assert_status(take(body), 200);
	struct answer a = http(client, "POST", "/ratelimit", body, "Idempotency-Key: again");
	assert_problem(a, 429, "rate_limited", "none");
	nap_ms(int_at(a, "/retry_after_ms"));
	assert_status(http(client, "POST", "/ratelimit", body, "Idempotency-Key: again"), 200);
}
