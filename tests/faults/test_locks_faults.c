/*
 * The wait queue of a lock when daemons die, stop and leave, and when Redis is lost, away or full.
 * The waiters that are left are served in order, one at a time. (test_locks_line.c tests the wait
 * queue itself.)
 */
#include <signal.h>

#include "../support/lock_line.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 5000, OFFER_MS = 1000, UNHEARD_MS = 200 };

/* ---- Waiters whose daemon is gone ---- */

SUITE(.open = pair_open, .close = pair_close, .after = pair_forget);

TEST(all_of_a_daemon_that_hangs_are_skipped_with_one_offer)
{
	struct raw *dead[3];

	line_hold("{\"ttl_ms\":60000}");
	for (int i = 0; i < 3; i++)
		dead[i] = line_join(1);
	struct raw *alive = line_join(0);
	proc_signal(&pair.d[1].proc, SIGSTOP);
	int64_t start_ms = monotonic_ms();
	line_release(0);
	struct answer a = line_take(0, NULL);
	assert_problem(a, 409, "lock_held", "none");
	assert_int_equal(json_array_size(json_at(a, "/holders")), 0); /* the lock is free, but offered to a waiter */
	assert_int_equal(int_at(a, "/waiter_count"), 4);
	assert_string_equal(header_of(a, "Retry-After"), "1");
	line_served(alive);
	assert_in_range(monotonic_ms() - start_ms, OFFER_MS - 10, OFFER_MS + 700);
	assert_int_equal(line_waiters(), 0);
	proc_signal(&pair.d[1].proc, SIGCONT);
	for (int i = 0; i < 3; i++)
		raw_close(dead[i]);
}

/* A wake-up that is published to the waiter's dead daemon reaches no connection. */
TEST(a_dead_waiter_delays_by_a_brief_offer)
{
	line_hold("{\"ttl_ms\":60000}");
	struct raw *dead = line_join(1);
	daemon_kill(&pair.d[1]);
	line_release(0);
	int64_t start_ms = monotonic_ms();
	struct answer a;
	wait_until((client_forget(pair.c[0]), a = line_take(0, NULL)).status == 201, SOON_MS);
	assert_in_range(monotonic_ms() - start_ms, 0, UNHEARD_MS + 500);
	raw_close(dead);
}

/*
 * The daemon is stopped for longer than an offer lasts. All of its waiters lose their places, join
 * again when it continues, and are served.
 */
TEST(waiters_of_a_stopped_daemon_come_again)
{
	struct raw *stopped[3];

	line_hold("{\"ttl_ms\":60000}");
	for (int i = 0; i < 3; i++)
		stopped[i] = line_join(1);
	struct raw *alive = line_join(0);
	proc_signal(&pair.d[1].proc, SIGSTOP);
	line_release(0);
	line_served(alive);
	assert_int_equal(line_waiters(), 0);
	proc_signal(&pair.d[1].proc, SIGCONT);
	wait_until(line_waiters() == 3, SOON_MS);
	struct raw *last = line_join(0);
	for (int i = 0; i < 3; i++) {
		line_release(0);
		line_served(stopped[i]);
		for (int k = i + 1; k < 3; k++)
			assert_true(pair_waits(stopped[k]));
		assert_true(pair_waits(last));
		assert_int_equal(pair_number(LOCK_A, "/holders/0/holds"), 1);
	}
	line_release(1);
	line_served(last);
}

/* The daemon is stopped for less than an offer lasts: its waiter keeps its turn. */
TEST(a_short_stop_costs_no_place)
{
	line_hold("{\"ttl_ms\":60000}");
	struct raw *stopped = line_join(1), *alive = line_join(0);
	proc_signal(&pair.d[1].proc, SIGSTOP);
	line_release(0);
	assert_problem(line_take(0, NULL), 409, "lock_held", "none");
	assert_true(pair_waits(alive));
	proc_signal(&pair.d[1].proc, SIGCONT);
	line_served(stopped);
	assert_true(pair_waits(alive));
	line_release(0);
	line_served(alive);
}

/*
 * The daemon is stopped for longer than its waiters' wait_ms. An offer to them goes to the next
 * waiter, and they are refused.
 */
TEST(a_stop_longer_than_the_wait_ends_it)
{
	line_hold("{\"ttl_ms\":60000}");
	struct raw *stopped = line_join_with(1, "{\"wait_ms\":400}");
	struct raw *alive = line_join(0);
	proc_signal(&pair.d[1].proc, SIGSTOP);
	line_release(0);
	line_served(alive);
	proc_signal(&pair.d[1].proc, SIGCONT);
	assert_problem(pair_answer(stopped, LOCK_A), 409, "lock_held", "none");
	assert_int_equal(line_waiters(), 0);
	raw_close(stopped);
}

/* After SIGTERM, the waiters at that daemon are refused and leave the wait queue. */
TEST(a_daemon_that_leaves_takes_its_waiters_out)
{
	line_hold("{\"ttl_ms\":60000}");
	struct raw *leaving = line_join(1), *alive = line_join(0);
	proc_signal(&pair.d[1].proc, SIGTERM);
	assert_problem(pair_answer(leaving, LOCK_A), 409, "lock_held", "none");
	raw_close(leaving);
	daemon_stop(&pair.d[1]);
	assert_int_equal(line_waiters(), 1);
	int64_t start_ms = monotonic_ms();
	line_release(0);
	line_served(alive);
	assert_in_range(monotonic_ms() - start_ms, 0, 500);
}

/* ---- Redis ---- */

/*
 * True when that many waiters wait at each daemon, both daemons are subscribed, and a fault of
 * Redis cannot hit an attempt under way.
 */
static bool all_are_parked(long at_0, long at_1)
{
	return subscribers_at(&pair.redis, "p:lock:{a}") == 2 && all_parked(&pair.d[0], at_0) &&
	       all_parked(&pair.d[1], at_1);
}

/* Removes the one connection that has an answer from `line` and returns it. */
static struct raw *answered(struct raw *line[], int count)
{
	struct raw *in = NULL;

	for (int i = 0; i < count; i++) {
		if (!line[i] || pair_waits(line[i]))
			continue;
		assert_null(in);
		in = line[i];
		line[i] = NULL;
	}
	return in;
}

/*
 * Redis has lost everything. All waiters join the wait queue again, and the lock is free for the
 * first of them.
 */
TEST(waiters_rejoin_after_redis_lost_its_data)
{
	enum { WAITERS = 6 };
	struct raw *line[WAITERS];
	unsigned served = 0;

	line_hold("{\"ttl_ms\":60000}");
	for (int i = 0; i < WAITERS; i++)
		line[i] = line_join(i % 2);
	wait_until(all_are_parked(WAITERS / 2, WAITERS / 2), SOON_MS);
	server_kill(&pair.redis);
	server_restart(&pair.redis);
	wait_until(pair_reaches_redis(), SOON_MS);
	while (served < WAITERS) {
		struct raw *in;
		wait_until(line_waiters() == WAITERS - 1 - served, SOON_MS);
		/* Redis grants the lock before the daemon has answered. */
		wait_until((in = answered(line, WAITERS)) != NULL, SOON_MS);
		line_served(in);
		line_release(0);
		served++;
		wait_until(served == WAITERS || bool_at(http(pair.c[0], "GET", LOCK_A, NULL), "/held"), SOON_MS);
	}
}

/*
 * The daemon loses only the subscription: a wake-up that was published in this time is not lost for
 * ever.
 */
TEST(a_lost_subscription_costs_no_waiter_its_turn)
{
	line_hold("{\"ttl_ms\":60000}");
	for (int i = 0; i < 6; i++) {
		struct raw *first = line_join(i % 2), *second = line_join(1 - i % 2);
		assert_true(server_command(&pair.redis, "CLIENT KILL TYPE pubsub")->integer > 0);
		line_release(0);
		int64_t start_ms = monotonic_ms();
		line_served(first);
		assert_in_range(monotonic_ms() - start_ms, 0, OFFER_MS + 700);
		assert_true(pair_waits(second));
		line_release(0);
		line_served(second);
	}
}

TEST(a_wait_that_ends_while_redis_is_away_is_answered)
{
	line_hold("{\"ttl_ms\":60000}");
	struct raw *brief = line_join_with(0, "{\"wait_ms\":500}"), *patient = line_join(1);
	wait_until(all_are_parked(1, 1), SOON_MS);
	server_kill(&pair.redis);
	int64_t start_ms = monotonic_ms();
	struct answer a = pair_answer(brief, LOCK_A);
	assert_problem(a, 503, "redis_unavailable", "none");
	assert_in_range(monotonic_ms() - start_ms, 0, 1500);
	raw_close(brief);
	assert_true(pair_waits(patient));
	server_restart(&pair.redis);
	line_served(patient);
}

/* Redis does not answer for longer than the daemons wait. */
TEST(a_stall_of_redis_is_outlasted)
{
	line_hold("{\"ttl_ms\":60000}");
	struct raw *first = line_join(0), *second = line_join(1);
	wait_until(all_are_parked(1, 1), SOON_MS);
	proc_signal(&pair.redis.proc, SIGSTOP);
	struct answer a = line_take(0, NULL); /* no answer arrives for --redis-timeout-ms */
	assert_problem(a, 504, "no_answer", "unknown");
	proc_signal(&pair.redis.proc, SIGCONT);
	wait_until(pair_reaches_redis(), SOON_MS);
	line_release(1);
	line_served(first);
	assert_true(pair_waits(second));
	line_release(0);
	line_served(second);
}
