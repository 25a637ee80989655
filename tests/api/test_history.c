/*
 * GET /info/history: each sample has the figures of its interval, waits are not a part of
 * durations, and the number of samples is bounded.
 */
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/leap.h"
#include "../support/redis_cluster.h"
#include "../support/waiter.h"
#include "test.h"

enum { INTERVAL_S = 2, SOON_MS = 8000 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;
static int64_t started_at_ms;

static struct answer history(int64_t after_at_ms)
{
	char target[64];

	snprintf(target, sizeof(target), "/info/history?after_at_ms=%lld", (long long)after_at_ms);
	struct answer a = http(client, "GET", target, NULL);
	assert_status(a, 200);
	assert_true(int_at(a, "/started_at_ms") == started_at_ms);
	return a;
}

static size_t samples_of(struct answer a)
{
	return json_array_size(json_at(a, "/samples"));
}

static const json_t *member(struct answer a, size_t i, const char *name)
{
	return json_object_get(json_array_get(json_at(a, "/samples"), i), name);
}

/* The end of the latest sample; 0 if there is none. */
static int64_t latest(void)
{
	struct answer a = history(0);
	size_t n = samples_of(a);

	return n ? json_integer_value(member(a, n - 1, "at_ms")) : 0;
}

/* Waits until the daemon has taken a sample. Returns the end of the sample before it. */
static int64_t next_sample(void)
{
	int64_t before = latest();

	leap(&patternd, INTERVAL_S);
	wait_until(latest() > before, SOON_MS);
	return before;
}

/* Sums a rate times the length of its interval, over all samples after an instant. */
static double total(int64_t after_at_ms, const char *rate)
{
	struct answer a = history(after_at_ms);
	double sum = 0;
	int64_t before = after_at_ms;

	for (size_t i = 0; i < samples_of(a); i++) {
		int64_t at = json_integer_value(member(a, i, "at_ms"));
		sum += json_number_value(member(a, i, rate)) * (double)(at - before) / 1000;
		before = at;
	}
	client_forget(client);
	return sum;
}

static bool is_about(double value, double wanted)
{
	return value > wanted * 0.9 && value < wanted * 1.1;
}

TEST(rates_are_of_what_happened)
{
	enum { REFUSED = 50 };

	next_sample();
	for (int i = 0; i <= REFUSED; i++)
		http(client, "POST", "/ratelimit", "{\"key\":\"k\",\"limit\":1,\"window_ms\":600000}");
	int64_t before = next_sample();
	wait_until(is_about(total(before, "refusals_per_second"), REFUSED), SOON_MS);
	assert_true(total(before, "requests_per_second") >= REFUSED);
	assert_true(total(before, "errors_per_second") == 0);
	server_kill(&redis);
	for (int i = 0; i < 20; i++)
		assert_status(http(client, "GET", "/locks/a", NULL), 503);
	before = next_sample();
	wait_until(is_about(total(before, "errors_per_second"), 20), SOON_MS);
	server_restart(&redis);
	wait_until(http(client, "GET", "/locks/a", NULL).status == 200, SOON_MS);
}

/* The longest request since the start, as GET /info returns it. */
static double longest_ms(void)
{
	return real_at(http(client, "GET", "/info", NULL), "/activity/requests/longest_ms");
}

/* A request that waits for three seconds does not make the daemon slow. */
TEST(waits_are_not_in_durations)
{
	struct raw *w = waiter_parked(&patternd, &redis, "empty", "{\"wait_ms\":3000}");
	leap(&patternd, 3);
	assert_status(waiter_answer(w, "/queues/empty/receive", SOON_MS), 200);
	raw_close(w);
	int64_t before = next_sample();
	struct answer a = history(before);
	for (size_t i = 0; i < samples_of(a); i++)
		if (json_is_number(member(a, i, "p99_ms")))
			assert_true(json_number_value(member(a, i, "p99_ms")) < 2500);
	assert_true(longest_ms() < 2500);
}

TEST(percentiles_are_ordered)
{
	struct answer a = history(0);
	double longest = longest_ms();
	size_t seen = 0;

	for (size_t i = 0; i < samples_of(a); i++) {
		double requests = json_number_value(member(a, i, "requests_per_second"));
		const json_t *p50 = member(a, i, "p50_ms"), *p99 = member(a, i, "p99_ms");
		assert_true(json_is_number(p50) == (requests > 0) && json_is_number(p99) == (requests > 0));
		if (requests > 0)
			assert_true(json_number_value(p50) <= json_number_value(p99) &&
				    json_number_value(p99) <= longest + 0.001);
		assert_true(json_integer_value(member(a, i, "resident_bytes")) > 1024 * 1024);
		seen += requests > 0;
	}
	assert_true(seen > 0);
}

TEST(only_later_samples_are_returned)
{
	next_sample();
	next_sample();
	int64_t first = json_integer_value(member(history(0), 0, "at_ms"));
	struct answer all = history(0), rest = history(first);
	assert_true(samples_of(rest) >= samples_of(all) - 1);
	assert_true(json_integer_value(member(rest, 0, "at_ms")) > first);
	assert_int_equal(samples_of(history(INT64_C(9007199254740991))), 0);
	assert_problem(http(client, "GET", "/info/history?after_at_ms=x", NULL), 400, "wrong_type", "none");
}

static int set_up(void **state)
{
	server_start(&redis);
	may_leap(&patternd);
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	started_at_ms = int_at(http(client, "GET", "/info", NULL), "/started_at_ms");
	return 0;
}

static int tear_down(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down);
