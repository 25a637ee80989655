/*
 * The circuit breaker between requests and a Redis that is stopped (SIGSTOP) or gone (P1 and P7 of
 * tests/PROMISES.md). It is closed while answers arrive. It opens when the first answer is overdue;
 * then every request fails at once. It is half open during the handshake of a connection, which is
 * the probe. A caller waits in vain only once, however many connections the pool has.
 */
#include <signal.h>

#include "../support/aside.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/loopback.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/waiter.h"
#include "test.h"

enum {
	TIMEOUT_MS = 500,
	SLACK_MS = 400,
	MARGIN_MS = 100, /* what the test allows beyond the deadline */
	FAST_US = 100000,
	CLOSES_MS = 2500,
	PATIENCE_MS = 30000,
	DAEMONS = 10,
	LINKS = 3,
	CROWD = 64,
	STORM_DAEMONS = 50
};

static struct redis_server redis;

static int set_up(void **state)
{
	server_start(&redis);
	return 0;
}

static int tear_down(void **state)
{
	proc_signal(&redis.proc, SIGCONT); /* a failed test left the server in this state */
	server_stop(&redis);
	return 0;
}

static int by_duration(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Sends a request; the time it took excludes the time that a busy machine kept the daemon waiting.
 */
static struct answer timed(const struct daemon *d, struct client *c, const char *target)
{
	int64_t kept_us = daemon_kept_waiting_us(d);
	struct answer a = http(c, "POST", target, NULL);

	kept_us = daemon_kept_waiting_us(d) - kept_us;
	a.took_us = a.took_us > kept_us ? a.took_us - kept_us : 0;
	return a;
}

enum { TRIES = 200, POOLS = 3 };

/* A daemon with one caller, and how long the daemon's refusals took. */
struct pool {
	const char *size;
	struct daemon d;
	struct client *c;
	int64_t took[TRIES];
};

static void open_pool(struct pool *p)
{
	daemon_start(&p->d, "--redis", redis.url, "--redis-timeout-ms", "500", "--pool-size", p->size);
	wait_until(metric_value(&p->d, "redis_connections") == atoi(p->size), CLOSES_MS);
	p->c = client_open(p->d.port);
	for (int i = 0; i < 20; i++)
		assert_status(http(p->c, "POST", "/pv/circuit", NULL), 200);
}

static void the_first_waits(struct pool *p)
{
	int64_t start_ms = monotonic_ms();
	struct answer first = timed(&p->d, p->c, "/pv/circuit");

	assert_problem(first, 504, "no_answer", "unknown");
	assert_true(monotonic_ms() - start_ms >= TIMEOUT_MS - 50);
	assert_in_range(first.took_us, 0, (TIMEOUT_MS + SLACK_MS) * 1000);
}

static void the_next_does_not_wait(struct pool *p, int i)
{
	struct answer a = timed(&p->d, p->c, "/pv/circuit");

	assert_problem(a, 503, "redis_unavailable", "none");
	assert_string_equal(header_of(a, "Retry-After"), "1");
	assert_in_range(a.took_us, 0, FAST_US);
	p->took[i] = a.took_us;
}

static void must_have_waited_once(struct pool *p)
{
	assert_true(metric_value(&p->d, "redis_up") == 0);
	assert_true(metric_value(&p->d, "redis_timeouts_total") == 1);
	qsort(p->took, TRIES, sizeof(p->took[0]), by_duration);
	print_message("pool of %s: open, the median answer takes %lld us\n", p->size, (long long)p->took[TRIES / 2]);
	assert_in_range(p->took[TRIES / 2], 0, 5000);
}

static void close_pool(struct pool *p)
{
	wait_until(http(p->c, "POST", "/pv/circuit", NULL).status == 200, CLOSES_MS);
	wait_until(metric_value(&p->d, "redis_up") == 1, CLOSES_MS);
	client_close(p->c);
	daemon_stop(&p->d);
}

SUITE(.open = set_up, .close = tear_down, .columns = 2);

/*
 * One caller sends one request after the other. It waits in vain once, not once for each connection
 * of the pool.
 */
TEST(one_caller_waits_once)
{
	static struct pool pools[POOLS] = { { .size = "1" }, { .size = "2" }, { .size = "8" } };

	for (int k = 0; k < POOLS; k++)
		open_pool(&pools[k]);
	proc_signal(&redis.proc, SIGSTOP);
	for (int k = 0; k < POOLS; k++)
		the_first_waits(&pools[k]);
	for (int i = 0; i < TRIES; i++, nap_ms(5)) /* over several probes */
		for (int k = 0; k < POOLS; k++)
			the_next_does_not_wait(&pools[k], i);
	for (int k = 0; k < POOLS; k++)
		must_have_waited_once(&pools[k]);
	proc_signal(&redis.proc, SIGCONT);
	for (int k = 0; k < POOLS; k++)
		close_pool(&pools[k]);
}

/*
 * Many callers send at once. Each request under way waits until its timeout, no longer. Later
 * requests do not wait.
 */
TEST(a_crowd_waits_once)
{
	static const char ask[] = "POST /pv/crowd HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct raw *callers[CROWD];
	struct daemon d = { 0 };
	int lost = 0;

	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "500");
	for (int i = 0; i < CROWD; i++) {
		callers[i] = raw_connect(d.port);
		raw_text(callers[i], ask);
		assert_status(raw_answer(callers[i], CLOSES_MS), 200);
	}
	proc_signal(&redis.proc, SIGSTOP);
	int64_t start_ms = monotonic_ms(), kept_us = daemon_kept_waiting_us(&d);
	for (int i = 0; i < CROWD; i++)
		raw_text(callers[i], ask);
	for (int i = 0; i < CROWD; i++)
		lost += raw_answer(callers[i], CLOSES_MS).status == 504;
	int64_t took_ms = monotonic_ms() - start_ms;
	assert_true(took_ms >= TIMEOUT_MS - 50);
	assert_true(took_ms - (daemon_kept_waiting_us(&d) - kept_us) / 1000 <= TIMEOUT_MS + SLACK_MS);
	assert_in_range(lost, 1, CROWD);
	for (int round = 0; round < 5; round++) {
		start_ms = monotonic_ms();
		kept_us = daemon_kept_waiting_us(&d);
		for (int i = 0; i < CROWD; i++)
			raw_text(callers[i], ask);
		for (int i = 0; i < CROWD; i++)
			assert_status(raw_answer(callers[i], CLOSES_MS), 503);
		took_ms = monotonic_ms() - start_ms;
		assert_true(took_ms - (daemon_kept_waiting_us(&d) - kept_us) / 1000 <= TIMEOUT_MS / 2);
	}
	proc_signal(&redis.proc, SIGCONT);
	assert_true(daemon_is_ready(&d, CLOSES_MS));
	for (int i = 0; i < CROWD; i++)
		raw_close(callers[i]);
	daemon_stop(&d);
}

/*
 * Sends one request of each caller and counts the answers by status. Returns how long this took,
 * without the time that a busy machine kept the daemon waiting.
 */
static int64_t crowd_asks(const struct daemon *d, struct raw *callers[CROWD], int counts[600])
{
	int64_t start_us = monotonic_us(), kept_us = daemon_kept_waiting_us(d);

	for (int i = 0; i < CROWD; i++)
		raw_text(callers[i], "POST /pv/crowd HTTP/1.1\r\nHost: localhost\r\n\r\n");
	for (int i = 0; i < CROWD; i++) {
		struct answer a = raw_answer(callers[i], PATIENCE_MS);
		assert_in_range(a.status, 200, 599);
		counts[a.status]++;
		raw_forget(callers[i]);
	}
	return monotonic_us() - start_us - (daemon_kept_waiting_us(d) - kept_us);
}

/*
 * Redis is stopped and continued repeatedly under twenty thousand requests. Each request must be
 * answered in time.
 */
TEST(twenty_thousand_are_answered_in_time)
{
	enum { ROUNDS = 320, SPELL = 32 };
	struct raw *callers[CROWD];
	struct daemon d = { 0 };
	int64_t slowest_us = 0;
	int counts[600] = { 0 };

	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "500");
	for (int i = 0; i < CROWD; i++)
		callers[i] = raw_connect(d.port);
	for (int round = 0; round < ROUNDS; round++) {
		if (round % SPELL == 0) {
			proc_signal(&redis.proc, round / SPELL % 2 ? SIGSTOP : SIGCONT);
			assert_true(round / SPELL % 2 || daemon_is_ready(&d, PATIENCE_MS));
		}
		int64_t took_us = crowd_asks(&d, callers, counts);
		slowest_us = took_us > slowest_us ? took_us : slowest_us;
	}
	proc_signal(&redis.proc, SIGCONT);
	print_message("%d served, %d refused, %d lost; the slowest took %lld us\n", counts[200], counts[503],
		      counts[504], (long long)slowest_us);
	assert_int_equal(counts[200] + counts[503] + counts[504], ROUNDS * CROWD);
	assert_true(counts[200] > 0 && counts[503] > 0 && counts[504] > 0);
	assert_in_range(slowest_us, (TIMEOUT_MS - 50) * 1000,
			(TIMEOUT_MS + MARGIN_MS) * (daemon_is_sanitized() ? 3000 : 1000));
	assert_true(daemon_is_ready(&d, PATIENCE_MS));
	wait_until(metric_value(&d, "redis_calls_in_flight") == 0, CLOSES_MS);
	wait_until(metric_value(&d, "http_requests_in_progress") == 1, CLOSES_MS); /* the request that reads it */
	for (int i = 0; i < CROWD; i++)
		raw_close(callers[i]);
	daemon_stop(&d);
}

static double attempts_of(const struct daemon *daemons)
{
	double sum = 0;

	for (int i = 0; i < DAEMONS; i++)
		sum += metric_value(&daemons[i], "redis_connect_failures_total");
	return sum;
}

static bool all_up(const struct daemon *daemons, int count)
{
	for (int i = 0; i < count; i++)
		if (metric_value(&daemons[i], "redis_up") == 0)
			return false;
	return true;
}

/*
 * Waits until all daemons have reconnected. The time that a busy machine took from any of them does
 * not count.
 */
static void wait_all_up(const struct daemon *daemons, int count, int64_t within_ms)
{
	int64_t kept_us[STORM_DAEMONS], most_us = 0, start_ms = monotonic_ms();

	for (int i = 0; i < count; i++)
		kept_us[i] = daemon_kept_waiting_us(&daemons[i]);
	wait_until(all_up(daemons, count), PATIENCE_MS);
	int64_t took_ms = monotonic_ms() - start_ms;
	for (int i = 0; i < count; i++) {
		int64_t us = daemon_kept_waiting_us(&daemons[i]) - kept_us[i];
		most_us = us > most_us ? us : most_us;
	}
	assert_true(took_ms - most_us / 1000 <= within_ms);
}

enum { AWAY_STOPPED, AWAY_GONE, AWAYS };

/* A Redis that is stopped or gone, and its daemons. */
struct away {
	struct redis_server redis;
	struct daemon daemons[DAEMONS];
	double before;
};

static void go_away(struct away *a, bool is_gone)
{
	struct raw *callers[DAEMONS];

	if (is_gone) {
		server_kill(&a->redis);
		return;
	}
	proc_signal(&a->redis.proc, SIGSTOP);
	for (int i = 0; i < DAEMONS; i++) {
		callers[i] = raw_connect(a->daemons[i].port);
		raw_text(callers[i], "POST /pv/polite HTTP/1.1\r\nHost: localhost\r\n\r\n");
	}
	for (int i = 0; i < DAEMONS; i++) {
		assert_problem(raw_answer(callers[i], CLOSES_MS), 504, "no_answer", "unknown");
		raw_close(callers[i]);
	}
}

static void come_back(struct away *a, bool is_gone)
{
	if (is_gone)
		server_restart(&a->redis);
	else
		proc_signal(&a->redis.proc, SIGCONT);
	wait_all_up(a->daemons, DAEMONS, CLOSES_MS);
	for (int i = 0; i < DAEMONS; i++)
		daemon_stop(&a->daemons[i]);
	server_stop(&a->redis);
}

/*
 * However long Redis is away, the daemon does not flood it: each connection makes one attempt per
 * half second or so. When Redis is back, the daemon connects within one pause.
 */
TEST(probes_are_polite)
{
	enum { LOOK_MS = 3000 };
	static struct away aways[AWAYS];

	for (int k = 0; k < AWAYS; k++) {
		server_start(&aways[k].redis);
		for (int i = 0; i < DAEMONS; i++)
			daemon_start(&aways[k].daemons[i], "--redis", aways[k].redis.url, "--redis-timeout-ms", "500");
		wait_all_up(aways[k].daemons, DAEMONS, CLOSES_MS);
	}
	for (int k = 0; k < AWAYS; k++)
		go_away(&aways[k], k == AWAY_GONE);
	nap_ms(1500); /* the pauses have grown to their longest */
	for (int k = 0; k < AWAYS; k++)
		aways[k].before = attempts_of(aways[k].daemons);
	int64_t start_ms = monotonic_ms();
	nap_ms(LOOK_MS);
	for (int k = 0; k < AWAYS; k++) {
		double rate =
			(attempts_of(aways[k].daemons) - aways[k].before) * 1000 / (double)(monotonic_ms() - start_ms);
		print_message("%s: %.1f attempts per second of %d daemons with %d connections each\n",
			      k == AWAY_GONE ? "gone" : "stopped", rate, DAEMONS, LINKS);
		assert_true(rate <= DAEMONS * LINKS * 2.5);
	}
	for (int k = 0; k < AWAYS; k++)
		come_back(&aways[k], k == AWAY_GONE);
}

enum {
	BUCKET_MS = 500,
	GROWING = 1000 / BUCKET_MS, /* buckets of the first second, in which the pauses grow from 4 ms */
	FIRST_TRIES = 9,            /* of a connection in that second: after 4, 8 ... 512 ms at most */
	LONGEST_STORM_MS = 30000,
	MOST_BUCKETS = LONGEST_STORM_MS / BUCKET_MS,
};

/*
 * Takes the place of the server: accepts each connection, closes it at once, and counts it by its
 * time.
 */
static void count_attempts(int port, int storm_ms, int buckets[MOST_BUCKETS])
{
	int fd = loopback_listen(&port);
	int64_t start_ms = monotonic_ms();

	assert_true(fd >= 0);
	for (int64_t at_ms = 0; at_ms < storm_ms; at_ms = monotonic_ms() - start_ms) {
		int guest = loopback_accept(fd);
		if (guest < 0) {
			nap_ms(1);
			continue;
		}
		buckets[at_ms / BUCKET_MS]++;
		close(guest);
	}
	close(fd);
}

/*
 * All daemons lose their server in the same instant, for 4 s, or for 30 s in full. Jitter spreads
 * their attempts to reconnect.
 */
TEST(a_storm_of_daemons_is_spread)
{
	static struct daemon daemons[STORM_DAEMONS];
	const int storm_ms = in_full() ? LONGEST_STORM_MS : 4000, count = storm_ms / BUCKET_MS;
	int buckets[MOST_BUCKETS] = { 0 }, first = 0, later = 0, most = 0;

	for (int i = 0; i < STORM_DAEMONS; i++)
		daemon_start(&daemons[i], "--redis", redis.url);
	server_kill(&redis);
	count_attempts(redis.port, storm_ms, buckets);
	for (int i = 0; i < count; i++) {
		print_message("%d ", buckets[i]);
		*(i < GROWING ? &first : &later) += buckets[i];
		if (i >= GROWING && buckets[i] > most)
			most = buckets[i];
	}
	print_message("attempts per %d ms, of %d daemons\n", BUCKET_MS, STORM_DAEMONS);
	assert_in_range(first, STORM_DAEMONS, STORM_DAEMONS * LINKS * FIRST_TRIES);
	assert_in_range(later, STORM_DAEMONS, STORM_DAEMONS * LINKS * 5 / 2 * (storm_ms / 1000 - 1));
	assert_in_range(most, 1, 3 * later / (count - GROWING));
	server_restart(&redis);
	wait_all_up(daemons, STORM_DAEMONS, 2000);
	for (int i = 0; i < STORM_DAEMONS; i++)
		daemon_stop(&daemons[i]);
}
