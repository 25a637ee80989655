/*
 * GET .../history of one queue, policy or lock. Samples begin with the first GET, and end five
 * minutes after the last one. Samples and names are bounded in number, and a sample is missing when
 * Redis does not answer. Without GETs and scrapes the daemon runs no scripts. (GET /info/history:
 * test_history.c.)
 */
#include <signal.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/leap.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 8000, ROUND_S = 5, LOOK_S = 301, SAMPLES = 60, NAMES = 32 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

static void pass(int seconds)
{
	leap(&patternd, seconds);
	client_reconnect(client); /* the daemon has closed the idle connection */
	wait_until(http(client, "GET", "/healthz", NULL).status == 200, SOON_MS);
}

static struct answer history_after(const char *of, int64_t after_at_ms)
{
	char target[128];

	snprintf(target, sizeof(target), "/%s/history?after_at_ms=%lld", of, (long long)after_at_ms);
	struct answer a = http(client, "GET", target, NULL);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/interval_ms"), 1000 * ROUND_S);
	return a;
}

static size_t samples_of(const char *of)
{
	return json_array_size(json_at(history_after(of, 0), "/samples"));
}

/* The latest sample; NULL if there is none. */
static const json_t *latest(const char *of)
{
	const json_t *list = json_at(history_after(of, 0), "/samples");

	return json_array_get(list, json_array_size(list) - 1);
}

static int64_t number(const char *of, const char *member)
{
	const json_t *s = latest(of);

	return s ? json_integer_value(json_object_get(s, member)) : -1;
}

/* Waits for one more sample of this name. */
static void wait_for_sample(const char *of)
{
	int64_t before = number(of, "at_ms");

	pass(ROUND_S);
	wait_until(number(of, "at_ms") > before, SOON_MS);
}

/* ---- What is sampled ---- */

TEST(a_queue_is_sampled_from_the_first_look_on)
{
	assert_status(http(client, "POST", "/queues/q/messages",
			   "{\"messages\":[{\"body\":1},{\"body\":2},{\"body\":3,\"delay_ms\":600000}]}"),
		      201);
	assert_int_equal(samples_of("queues/q"), 0);
	assert_true(int_at(history_after("queues/q", 0), "/started_at_ms") ==
		    int_at(http(client, "GET", "/info", NULL), "/started_at_ms"));
	wait_until(samples_of("queues/q") == 1, SOON_MS);
	struct answer a = http(client, "POST", "/queues/q/receive", NULL);
	char target[160];
	snprintf(target, sizeof(target), "/queues/q/deliveries/%s/reject", text_at(a, "/messages/0/receipt"));
	assert_status(http(client, "POST", target, "{\"dead\":true}"), 200);
	wait_for_sample("queues/q");
	json_t *wanted = json_pack("{s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:i, s:i, s:i, s:i, s:i}", "at_ms",
				   (json_int_t)number("queues/q", "at_ms"), "ready", 1, "blocked", 0, "delayed", 1,
				   "retrying", 0, "in_flight", 0, "dead", 1, "oldest_ready_ms",
				   (json_int_t)number("queues/q", "oldest_ready_ms"), "sent", 3, "expired", 0, "died",
				   1, "rejected", 1, "timed_out", 0);
	assert_true(json_equal((json_t *)(uintptr_t)latest("queues/q"), wanted));
	json_decref(wanted);
	assert_status(http(client, "POST", "/queues/q/purge", NULL), 200);
	wait_for_sample("queues/q");
	assert_true(json_is_null(json_object_get(latest("queues/q"), "oldest_ready_ms")));
	/* The answer has only samples after the given time. */
	int64_t first = int_at(history_after("queues/q", 0), "/samples/0/at_ms");
	assert_int_equal(json_array_size(json_at(history_after("queues/q", first), "/samples")),
			 samples_of("queues/q") - 1);
	/* A name with a history is not in /metrics: any client may have chosen it. */
	assert_null(strstr(http(client, "GET", "/metrics", NULL).body, "queue=\"q\""));
}

TEST(a_lock_has_holders_and_waiters)
{
	assert_status(http(client, "POST", "/locks/l", "{\"ttl_ms\":600000}"), 201);
	struct raw *waiting = waiter_at(&patternd, "/locks/l", "{\"ttl_ms\":1000,\"wait_ms\":60000}", "");
	wait_until(tickets_at(&redis, "p:lock:{l}") == 1, SOON_MS);
	samples_of("locks/l");
	for (int i = 0; i < 3 && number("locks/l", "waiting") != 1; i++) /* the waiter may just be retrying */
		wait_for_sample("locks/l");
	assert_int_equal(number("locks/l", "holders"), 1);
	assert_int_equal(number("locks/l", "waiting"), 1);
	raw_close(waiting);
	assert_status(http(client, "DELETE", "/locks/l?force=true", NULL), 200);
	wait_until(tickets_at(&redis, "p:lock:{l}") == 0, SOON_MS);
	wait_for_sample("locks/l");
	assert_int_equal(number("locks/l", "holders"), 0);
	assert_int_equal(number("locks/l", "waiting"), 0);
}

TEST(a_policy_has_the_decisions_since_it_is_looked_at)
{
	static const char take[] = "{\"key\":\"k\",\"policy\":\"p\"}";

	assert_status(http(client, "PUT", "/ratelimit/policies/p", "{\"limit\":1,\"window_ms\":600000}"), 201);
	assert_status(http(client, "PUT", "/ratelimit/policies/shade",
			   "{\"limit\":1,\"window_ms\":600000,\"shadow\":true}"),
		      201);
	samples_of("ratelimit/policies/p");
	samples_of("ratelimit/policies/shade");
	assert_status(http(client, "POST", "/ratelimit", take), 200);
	for (int i = 0; i < 3; i++) {
		assert_status(http(client, "POST", "/ratelimit", take), 429);
		assert_status(http(client, "POST", "/ratelimit", "{\"key\":\"k\",\"policy\":\"shade\"}"), 200);
	}
	wait_for_sample("ratelimit/policies/p");
	assert_int_equal(number("ratelimit/policies/p", "allowed"), 1);
	assert_int_equal(number("ratelimit/policies/p", "refused"), 3);
	assert_int_equal(number("ratelimit/policies/shade", "allowed"), 1);
	assert_int_equal(number("ratelimit/policies/shade", "shadow_refused"), 2);
	/* The daemon counts decisions itself, so it has samples without Redis, too. */
	server_kill(&redis);
	wait_for_sample("ratelimit/policies/p");
	server_restart(&redis);
	wait_until(http(client, "GET", "/locks/a", NULL).status == 200, SOON_MS);
}

/* ---- Bounds ---- */

/* Without an answer from Redis there is no sample, not a sample of zeros. */
TEST(what_redis_did_not_answer_is_missing)
{
	assert_status(http(client, "POST", "/queues/gap/messages", "{\"body\":1}"), 201);
	samples_of("queues/gap");
	wait_for_sample("queues/gap");
	size_t before = samples_of("queues/gap");
	server_kill(&redis);
	wait_until(metric_of(&patternd, "redis_up") == 0, SOON_MS);
	for (int i = 0; i < 3; i++)
		pass(ROUND_S);
	assert_int_equal(samples_of("queues/gap"), before);
	server_restart(&redis);
	wait_until(http(client, "GET", "/locks/a", NULL).status == 200, SOON_MS);
	wait_for_sample("queues/gap");
}

TEST(sixty_samples_are_the_most)
{
	for (int i = 0; i < SAMPLES + 5; i++)
		wait_for_sample("locks/many");
	assert_int_equal(samples_of("locks/many"), SAMPLES);
}

static void look_at(const char *name, int i)
{
	char target[64];

	snprintf(target, sizeof(target), "queues/%s-%d", name, i);
	samples_of(target);
}

/* A name beyond the bound replaces the name whose last GET was the longest ago. */
TEST(names_are_bounded)
{
	look_at("name", 0);
	wait_for_sample("queues/name-0");
	for (int i = 1; i < NAMES; i++)
		look_at("name", i);
	assert_true(samples_of("queues/name-0") > 0);
	look_at("name", NAMES); /* replaces name-1 */
	assert_true(samples_of("queues/name-0") > 0);
	long long scripts = server_scripts_run(&redis);
	wait_for_sample("queues/name-0");
	wait_until(server_scripts_run(&redis) - scripts >= NAMES, SOON_MS);
	assert_in_range(server_scripts_run(&redis) - scripts, NAMES, NAMES + 5); /* locks are sampled, too */
}

/* ---- Cost ---- */

TEST(nothing_is_asked_when_no_one_looks)
{
	look_at("last", 0);
	wait_for_sample("queues/last-0");
	pass(LOOK_S);
	pass(ROUND_S);
	wait_until(metric_of(&patternd, "redis_calls_in_flight") == 0, SOON_MS);
	long long scripts = server_scripts_run(&redis);
	for (int i = 0; i < 20; i++)
		pass(60);
	assert_int_equal(server_scripts_run(&redis) - scripts, 0);
	assert_int_equal(samples_of("queues/last-0"), 0); /* the history begins again */
	wait_until(samples_of("queues/last-0") == 1, SOON_MS);
}

/*
 * Names of --metrics-names are sampled while /metrics is scraped, even without a GET of their
 * history.
 */
TEST(what_is_scraped_is_sampled)
{
	struct daemon d = { 0 };
	struct client *usual = client;

	daemon_start(&d, "--redis", redis.url, "--metrics-names", "queues:seen");
	client = client_open(d.port);
	wait_until(strstr(http(client, "GET", "/metrics", NULL).body, "queue_messages{queue=\"seen\""), SOON_MS);
	assert_int_equal(samples_of("queues/seen"), 1);
	client_close(client);
	client = usual;
	daemon_stop(&d);
}

TEST(a_quorum_has_no_history)
{
	struct daemon d = { 0 };
	struct client *c;
	char urls[256];

	snprintf(urls, sizeof(urls), "redis://127.0.0.1:%d,redis://127.0.0.1:%d,redis://127.0.0.1:%d", free_port(),
		 free_port(), free_port());
	daemon_launch(&d, "--redis", redis.url, "--lock-quorum", urls);
	c = client_open(d.port);
	assert_problem(http(c, "GET", "/locks/a/history", NULL), 400, "unsupported_with_quorum", "none");
	client_close(c);
	daemon_stop(&d);
}

/* ---- Set-up ---- */

static int set_up(void **state)
{
	server_start(&redis);
	may_leap(&patternd);
	daemon_start(&patternd, "--redis", redis.url, "--metrics-names", "");
	client = client_open(patternd.port);
	return 0;
}

static int tear_down(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

/* the tests would take minutes */
SUITE(.open = set_up, .close = tear_down, .skips = daemon_is_sanitized);
