/*
 * Wrong clocks (P23 of tests/PROMISES.md). The daemon's clock decides nothing. When Redis's clock
 * jumps, leases end earlier or later by that time. Nothing else changes: no remaining time is
 * negative, nothing is held or acquired twice, and fences rise.
 */
#include <time.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/redis_server.h"
#include "test.h"

enum { HOUR_S = 3600, SOON_MS = 8000, DELAY_MS = 400 };

static struct redis_server redis;

/* ---- The daemon's clock ---- */

static int64_t date_s(struct answer a)
{
	struct tm tm = { 0 };

	assert_non_null(strptime(header_of(a, "Date"), "%a, %d %b %Y %T", &tm));
	return timegm(&tm);
}

/* A message, a lock and a limit begin and end by Redis's clock. */
static void assert_by_the_clock_of_redis(struct client *c)
{
	struct answer sent = http(c, "POST", "/queues/q/messages", "{\"body\":1,\"delay_ms\":400}");
	assert_status(sent, 201);
	int64_t due_ms = int_at(sent, "/messages/0/deliver_at_ms");
	assert_in_range(due_ms, server_now_ms(&redis) - 5000 + DELAY_MS, server_now_ms(&redis) + DELAY_MS);
	struct answer lock = http(c, "POST", "/locks/a", "{\"ttl_ms\":60000}");
	assert_status(lock, 201);
	assert_in_range(int_at(lock, "/ttl_ms"), 59000, 60000);
	assert_in_range(int_at(lock, "/expires_at_ms"), server_now_ms(&redis) + 55000, server_now_ms(&redis) + 60000);
	assert_in_range(int_at(http(c, "GET", "/locks/a", NULL), "/ttl_ms"), 50000, 60000);
	for (int status = 200; status == 200;) {
		struct answer a = http(c, "POST", "/ratelimit", "{\"key\":\"k\",\"limit\":2,\"window_ms\":60000}");
		status = a.status;
		if (status != 200)
			assert_in_range(int_at(a, "/retry_after_ms"), 1, 60000);
	}
	struct answer got = http(c, "POST", "/queues/q/receive", "{\"wait_ms\":5000}");
	assert_in_range(server_now_ms(&redis), due_ms, due_ms + SOON_MS);
	assert_int_equal(json_array_size(json_at(got, "/messages")), 1);
}

TEST(the_daemons_decides_nothing)
{
	static const int offs[] = { HOUR_S, -HOUR_S };

	if (daemon_is_sanitized())
		skip(); /* the sanitizer must be loaded before the library that shifts the clock */
	for (size_t i = 0; i < 2; i++) {
		struct daemon d = { .proc.env = clock_off_by(offs[i]) };
		daemon_start(&d, "--redis", redis.url);
		struct client *c = client_open(d.port);
		int64_t off_s = date_s(http(c, "GET", "/healthz", NULL)) - server_now_ms(&redis) / 1000;
		assert_in_range(off_s + 2 * HOUR_S, offs[i] + 2 * HOUR_S - 5, offs[i] + 2 * HOUR_S + 5);
		assert_by_the_clock_of_redis(c);
		client_close(c);
		daemon_stop(&d);
		server_command(&redis, "FLUSHALL");
	}
}

/* ---- Redis's clock, which jumps while Redis is away ---- */

static void restart_off_by(int seconds, struct client *c)
{
	server_stop(&redis);
	redis.proc.env = seconds ? clock_off_by(seconds) : NULL;
	server_restart(&redis);
	redis.proc.env = NULL;
	wait_until(http(c, "GET", "/locks/a", NULL).status == 200, SOON_MS);
}

static const char *const limits[] = { "gcra", "sliding_window", "fixed_window" };

static struct answer wait_and_take(struct client *c, const char *algorithm, int wait_ms)
{
	char body[128];

	snprintf(body, sizeof(body),
		 "{\"key\":\"j\",\"algorithm\":\"%s\",\"limit\":2,\"window_ms\":60000,\"wait_ms\":%d}", algorithm,
		 wait_ms);
	return http(c, "POST", "/ratelimit", body);
}

static struct answer take(struct client *c, const char *algorithm)
{
	return wait_and_take(c, algorithm, 0);
}

/*
 * The limit refuses until that hour has come again, and reports that time in retry_after_ms. A
 * request with a shorter wait_ms is refused at once.
 */
static void assert_an_hour_more(struct client *c, const char *algorithm)
{
	struct answer a = take(c, algorithm);

	assert_problem(a, 429, "rate_limited", "none");
	assert_in_range(int_at(a, "/retry_after_ms"), (HOUR_S - 60) * 1000, HOUR_S * 1000 + 60000);
	assert_in_range(int_at(a, "/reset_after_ms"), int_at(a, "/retry_after_ms"), HOUR_S * 1000 + 60000);
	assert_status(wait_and_take(c, algorithm, 1), 429); /* compiles the script in the restarted Redis */
	long long scripts = server_scripts_run(&redis);
	assert_status(wait_and_take(c, algorithm, 60000), 429);
	assert_int_equal(server_scripts_run(&redis), scripts + 1);
}

/*
 * Leaves used-up limits, a held lock, and messages: one is due, one is not, one is received.
 * Returns the fence of the lock.
 */
static int64_t leave_something(struct client *c)
{
	for (size_t i = 0; i < 3; i++)
		while (take(c, limits[i]).status == 200)
			continue;
	assert_status(http(c, "POST", "/queues/j/messages", "{\"body\":1,\"id\":\"taken\"}"), 201);
	assert_int_equal(json_array_size(json_at(http(c, "POST", "/queues/j/receive", "{}"), "/messages")), 1);
	assert_status(http(c, "POST", "/queues/j/messages", "{\"body\":2,\"id\":\"due\"}"), 201);
	assert_status(http(c, "POST", "/queues/j/messages", "{\"body\":3,\"id\":\"later\",\"delay_ms\":1800000}"), 201);
	return int_at(http(c, "POST", "/locks/j", "{\"ttl_ms\":1800000}"), "/fence");
}

static size_t receive_all(struct client *c)
{
	return json_array_size(json_at(http(c, "POST", "/queues/j/receive", "{\"limit\":10}"), "/messages"));
}

/* When the clock jumps an hour forward, everything that lasts half an hour has expired. */
TEST(an_hour_forward)
{
	struct daemon d = { 0 };

	daemon_start(&d, "--redis", redis.url);
	struct client *c = client_open(d.port);
	int64_t fence = leave_something(c);
	restart_off_by(HOUR_S, c);
	struct answer again = http(c, "POST", "/locks/j", NULL);
	assert_status(again, 201);
	assert_true(int_at(again, "/fence") > fence);
	for (size_t i = 0; i < 3; i++)
		assert_status(take(c, limits[i]), 200);
	assert_int_equal(receive_all(c), 3);
	client_close(c);
	daemon_stop(&d);
	server_command(&redis, "FLUSHALL");
}

/*
 * When the clock jumps an hour back, existing leases last at most an hour longer. New leases last
 * as long as usual.
 */
TEST(an_hour_back)
{
	struct daemon d = { 0 };

	daemon_start(&d, "--redis", redis.url);
	struct client *c = client_open(d.port);
	restart_off_by(HOUR_S, c);
	int64_t fence = leave_something(c);
	restart_off_by(0, c);
	assert_problem(http(c, "POST", "/locks/j", NULL), 409, "lock_held", "none");
	assert_in_range(int_at(http(c, "GET", "/locks/j", NULL), "/ttl_ms"), 1, (HOUR_S + 1800) * 1000);
	assert_status(http(c, "DELETE", "/locks/j?force=true", NULL), 200);
	struct answer again = http(c, "POST", "/locks/j", "{\"ttl_ms\":60000}");
	assert_true(int_at(again, "/fence") > fence);
	assert_in_range(int_at(again, "/ttl_ms"), 59000, 60000);
	for (size_t i = 0; i < 3; i++)
		assert_an_hour_more(c, limits[i]);
	assert_int_equal(receive_all(c), 1); /* the message that was ready stays ready */
	assert_status(http(c, "POST", "/queues/j/messages", "{\"body\":4}"), 201);
	assert_int_equal(receive_all(c), 1);
	client_close(c);
	daemon_stop(&d);
	server_command(&redis, "FLUSHALL");
}

static int set_up(void **state)
{
	server_start(&redis, "--appendonly", "yes", "--appendfsync", "always"); /* the test kills it */
	return 0;
}

static int tear_down(void **state)
{
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down);
