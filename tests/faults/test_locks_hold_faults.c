/*
 * Locks held by a connection when their daemon dies or stops, and when Redis is away. A lock that
 * another client may have is never reported as held, and a loss is reported. (test_locks_hold.c
 * tests a hold itself.)
 */
#include <signal.h>

#include "../support/aside.h"
#include "../support/events.h"
#include "../support/lock_line.h"
#include "../support/proxy.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 5000, SLACK_MS = 300 };

#define HOLD LOCK_A "/hold"

static struct events *hold_at(const struct daemon *d, const char *body)
{
	struct events *e = events_open(waiter_at(d, HOLD, body, ""), HOLD);

	assert_string_equal(events_next(e, SOON_MS).name, "acquired");
	return e;
}

static bool redis_has_it(void)
{
	return server_command(&pair.redis, "EXISTS p:lock:{a}")->integer == 1;
}

/* Returns how many "kept" events came in that time. No other event may come. */
static unsigned kept_for(struct events *e, int ms)
{
	int64_t until_ms = monotonic_ms() + ms;
	unsigned kept = 0;

	for (int64_t left_ms; (left_ms = until_ms - monotonic_ms()) > 0;) {
		struct event v = events_next(e, (int)left_ms);
		assert_true(!v.name || !*v.name);
		kept += !v.name;
	}
	return kept;
}

static void is_lost(struct events *e, int within_ms, const char *reason)
{
	struct event v = events_next_named(e, within_ms);

	assert_string_equal(v.name, "lost");
	assert_string_equal(json_string_value(json_object_get(v.json, "reason")), reason);
	assert_true(json_string_length(json_object_get(v.json, "detail")) > 0);
	assert_true(events_ended(e, SOON_MS));
}

/* ---- The daemon of a hold ---- */

SUITE(.open = pair_open, .close = pair_close, .after = pair_forget, .columns = 3);

TEST(a_dead_daemons_hold_runs_out)
{
	struct events *e = hold_at(&pair.d[1], "{\"ttl_ms\":700}");
	struct raw *next = line_join(0);
	assert_null(events_next(e, SOON_MS).name); /* renewed */
	daemon_kill(&pair.d[1]);
	int64_t start_ms = monotonic_ms();
	line_served(next);
	assert_in_range(monotonic_ms() - start_ms, 700 / 3, 700 + SLACK_MS);
	events_close(e);
}

/*
 * The daemon is stopped for longer than the lease. Another client has the lock when the daemon
 * continues, and the daemon reports the loss.
 */
TEST(a_stopped_daemons_hold_is_lost)
{
	struct events *e = hold_at(&pair.d[1], "{\"ttl_ms\":400}");
	struct raw *next = line_join(0);
	proc_signal(&pair.d[1].proc, SIGSTOP);
	line_served(next);
	int64_t fence = pair_number(LOCK_A, "/fence");
	proc_signal(&pair.d[1].proc, SIGCONT);
	is_lost(e, 1000, "expired");
	events_close(e);
	assert_int_equal(pair_number(LOCK_A, "/fence"), fence);
	assert_int_equal(pair_number(LOCK_A, "/holders/0/holds"), 1);
}

/* ---- Redis ---- */

TEST(redis_away_too_long_is_reported_in_time)
{
	enum { TTL_MS = 900 };

	for (int killed = 0; killed < 2; killed++) {
		struct events *e = hold_at(&pair.d[0], "{\"ttl_ms\":900}");
		if (killed)
			server_kill(&pair.redis);
		else
			proc_signal(&pair.redis.proc, SIGSTOP);
		int64_t start_ms = monotonic_ms(), kept_us = daemon_kept_waiting_us(&pair.d[0]);
		is_lost(e, SOON_MS, "expired");
		int64_t took_ms = monotonic_ms() - start_ms;
		/* The time that a busy machine kept the daemon waiting. */
		kept_us = daemon_kept_waiting_us(&pair.d[0]) - kept_us;
		events_close(e);
		if (killed)
			server_restart(&pair.redis);
		else
			proc_signal(&pair.redis.proc, SIGCONT);
		assert_true(took_ms >= TTL_MS / 2 && took_ms - kept_us / 1000 <= TTL_MS + 50);
		wait_until(pair_reaches_redis(), SOON_MS);
		wait_until(!redis_has_it(), TTL_MS + SLACK_MS);
	}
}

TEST(redis_back_in_time_is_not_reported)
{
	struct events *e = hold_at(&pair.d[0], "{\"ttl_ms\":3000}");
	int64_t fence = pair_number(LOCK_A, "/fence");
	proc_signal(&pair.redis.proc, SIGSTOP);
	assert_int_equal(kept_for(e, 1200), 0); /* the daemon loses a renewal, and closes the connections of the pool */
	proc_signal(&pair.redis.proc, SIGCONT);
	assert_true(kept_for(e, 1500) > 0);
	wait_until(pair_reaches_redis(), SOON_MS);
	assert_int_equal(pair_number(LOCK_A, "/fence"), fence);
	assert_in_range(pair_number(LOCK_A, "/ttl_ms"), 1500, 3000);
	events_close(e);
	wait_until(!redis_has_it(), SOON_MS);
}

/* The client leaves, and the lock expires; the daemon continues. */
TEST(a_client_may_leave_while_redis_is_away)
{
	struct events *leaves = hold_at(&pair.d[0], "{\"ttl_ms\":60000}");
	struct events *ends =
		events_open(waiter_at(&pair.d[0], "/locks/b/hold", "{\"ttl_ms\":60000,\"max_hold_ms\":300}", ""),
			    "/locks/b/hold");
	assert_string_equal(events_next(ends, SOON_MS).name, "acquired");
	server_kill(&pair.redis);
	wait_until(http(pair.c[0], "GET", LOCK_A, NULL).status == 503, SOON_MS);
	events_close(leaves);
	is_lost(ends, SOON_MS, "max_hold_ms"); /* the daemon could not release it */
	events_close(ends);
	wait_until(metric_of(&pair.d[0], "http_requests_in_progress") == 1, SOON_MS);
	assert_true(daemon_is_alive(&pair.d[0]));
	server_restart(&pair.redis);
}

/*
 * Each way takes so long that the daemon sends renewals before it has the answers to earlier ones.
 * Then nothing reaches Redis any more. The lease counts from when the last successful renewal was
 * sent, so the hold is lost before the lock expires in Redis.
 */
TEST(slow_answers_count_from_when_they_were_asked_for)
{
	enum { EACH_WAY_MS = 120 };
	struct daemon d = { 0 };

	struct proxy *proxy = proxy_open(pair.redis.port);
	daemon_start(&d, "--redis", proxy_url(proxy));
	struct events *e = hold_at(&d, "{\"ttl_ms\":600}");
	assert_true(kept_for(e, 300) >= 1); /* the first use of a script is two commands */
	proxy_set(proxy, (struct proxy_fault){ .delay_ms = EACH_WAY_MS });
	assert_true(kept_for(e, 1100) >= 3);
	proxy_set(proxy, (struct proxy_fault){ .delay_ms = EACH_WAY_MS, .drop_up = true });
	struct event v;
	while (!(v = events_next(e, SOON_MS)).name)
		continue;
	bool was_held = redis_has_it();
	assert_string_equal(v.name, "lost");
	assert_true(was_held);
	events_close(e);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	daemon_stop(&d);
	proxy_close(proxy);
}
