/*
 * Recovery from failovers (P6 of tests/PROMISES.md). The master of three Sentinels is killed again
 * and again, as soon as the previous master is back as a replica. Each time, the daemon must write
 * again within a second from when a server reports itself as master and a Sentinel names it.
 * Sentinels name a server up to a second after it takes writes; the test prints that time, too.
 */
#include "../support/daemon.h"
#include "../support/load.h"
#include "../support/redis_sentinel.h"
#include "../support/rows.h"
#include "test.h"

enum { ROUNDS = 2, ROUNDS_IN_FULL = 100, LONGEST_MS = 300000, AN_HOUR = 300 };
enum { AGAIN_MS = 1000, FAILOVER_MS = 30000, SOON_MS = 8000 };

/*
 * Few requests, since each failover copies their data to a replica. Shorter tests check that each
 * request is answered in time: a busy machine does not allow that for minutes.
 */
enum { CALLERS = 4, PAUSE_MS = 10, LATEST_MS = 5000 };

static struct redis_sentinel redis;
static struct daemon patternd;
static struct load *load;
static const char *const names[] = { "a" };

/* How long one part of the failovers took. */
struct part {
	const char *what;
	int64_t times_us[ROUNDS_IN_FULL];
};
static struct part until_writable = { .what = "another takes writes after" };
static struct part until_named = { .what = "a Sentinel names it after" };
static struct part until_written = { .what = "the daemon writes to it after" };
static struct part since_writable = { .what = "from taking writes to being written to" };

static int set_up(void **state)
{
	sentinel_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--redis-timeout-ms", "500");
	load = load_start((struct load_plan){
		.port = patternd.port, .names = names, .count = 1, .timeout_ms = LATEST_MS, .pause_ms = PAUSE_MS });
	load_wait_served(load, SOON_MS);
	return 0;
}

static int tear_down(void **state)
{
	daemon_stop(&patternd);
	sentinel_stop(&redis);
	return 0;
}

/* True when one Sentinel names the server. The Sentinel that leads the failover names it first. */
static bool is_named(int server)
{
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		if (sentinel_names(&redis, i, server))
			return true;
	return false;
}

/* True when another server takes writes and a Sentinel names it. */
static bool has_failed_over(int old)
{
	int master = sentinel_promoted(&redis, old);

	return master >= 0 && is_named(master);
}

/*
 * Kills the master and returns its number. On a busy machine Sentinels may revert a failover and
 * start again: the daemon's time begins when the failover has ended for good.
 */
static int fail_over(int round)
{
	int old = sentinel_kill_master(&redis);
	int64_t killed_us = monotonic_us(), until_ms = monotonic_ms() + patience_ms(FAILOVER_MS);

	wait_until(sentinel_promoted(&redis, old) >= 0, FAILOVER_MS);
	int64_t writable_us = monotonic_us();
	wait_until(has_failed_over(old), FAILOVER_MS);
	int64_t named_us = monotonic_us(), written_us;
	while ((written_us = load_written_us(load)) <= named_us) {
		wait_step(until_ms, 0, "the daemon writes", __FILE__, __LINE__);
		if (!has_failed_over(old))
			named_us = monotonic_us();
	}
	until_writable.times_us[round] = writable_us - killed_us;
	until_named.times_us[round] = named_us - writable_us;
	until_written.times_us[round] = written_us - named_us;
	since_writable.times_us[round] = written_us - writable_us;
	return old;
}

/*
 * Restarts the server as a replica at once. Sentinels would demote it only after they have seen it
 * as a master for seconds.
 */
static void bring_back(int old)
{
	int master = sentinel_wait_master(&redis, old);

	sentinel_restart(&redis, old);
	server_command(&redis.servers[old], "REPLICAOF 127.0.0.1 %d", redis.servers[master].port);
	sentinel_wait_well(&redis);
}

static int by_size(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts the times and prints them. */
static void print_times(struct part *p, int count)
{
	qsort(p->times_us, (size_t)count, sizeof(p->times_us[0]), by_size);
	print_message("%s %lld ms, at most %lld\n", p->what, (long long)p->times_us[count / 2] / 1000,
		      (long long)p->times_us[count - 1] / 1000);
}

SUITE(.before = set_up, .after = tear_down);

TEST(the_master_is_killed_again_and_again)
{
	const int wanted = in_full() ? ROUNDS_IN_FULL : ROUNDS;
	int64_t from_ms = monotonic_ms(), took_ms = 0;
	int rounds = 0;

	for (; rounds < wanted && took_ms < LONGEST_MS; took_ms = monotonic_ms() - from_ms)
		bring_back(fail_over(rounds++));
	print_message("%d failovers, %lld per hour\n", rounds, (long long)rounds * 3600000 / took_ms);
	print_times(&until_writable, rounds);
	print_times(&until_named, rounds);
	print_times(&until_written, rounds);
	print_times(&since_writable, rounds);
	int64_t longest_us = until_written.times_us[rounds - 1];
	rows_figure("failovers", rounds);
	rows_figure("median_ms", until_written.times_us[rounds / 2] / 1000);
	rows_figure("longest_ms", longest_us / 1000);
	rows_figure("longest_since_writable_ms", since_writable.times_us[rounds - 1] / 1000);
	load_stop(load, rounds * CALLERS); /* a failover may lose the last write of each caller */
	assert_in_range(longest_us, 0, AGAIN_MS * 1000);
	assert_true(rounds == wanted || rounds * INT64_C(3600000) >= AN_HOUR * took_ms);
}
