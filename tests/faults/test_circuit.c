/*
 * The circuit breaker between requests and a Redis that is stopped (SIGSTOP) or gone. It is closed
 * while answers come. It opens after the first that is overdue; then every request fails at once.
 * It is half open during the handshake of a connection, which is the probe. However many
 * connections the pool has, a caller waits in vain once. Promises 1 and 7 of the table of faults.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/loopback.h"
#include "../support/raw.h"
#include "../support/redis_server.h"

enum {
	TIMEOUT_MS = 500,
	SLACK_MS = 400,
	MARGIN_MS = 100, /* beyond the deadline, of promise 1 */
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
	(void)state;
	server_start(&redis);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	proc_signal(&redis.proc, SIGCONT); /* a test that failed left it so */
	server_stop(&redis);
	return 0;
}

static double metric_of(const struct daemon *d, const char *name)
{
	struct client *c = client_open(d->port);
	char wanted[96];

	snprintf(wanted, sizeof(wanted), "\npatternd_%s ", name);
	struct answer a = http(c, "GET", "/metrics", NULL);
	const char *at = strstr(a.body, wanted);
	assert_non_null(at);
	double value = strtod(at + strlen(wanted), NULL);
	client_close(c);
	return value;
}

static int by_duration(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* An answer, timed without what a busy machine took. */
static struct answer timed(const struct daemon *d, struct client *c, const char *target)
{
	int64_t kept_us = daemon_kept_waiting_us(d);
	struct answer a = http(c, "POST", target, NULL);

	kept_us = daemon_kept_waiting_us(d) - kept_us;
	a.took_us = a.took_us > kept_us ? a.took_us - kept_us : 0;
	return a;
}

/*
 * One caller, one request after the other: it waits in vain once, not once for each connection of
 * the pool.
 */
static void one_caller_waits_once(void **state)
{
	enum { TRIES = 200 };
	static const char *const pools[] = { "1", "2", "8" };
	int64_t took[TRIES];

	(void)state;
	for (size_t pool = 0; pool < sizeof(pools) / sizeof(pools[0]); pool++) {
		struct daemon d = { 0 };
		daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "500", "--pool-size", pools[pool]);
		wait_until(metric_of(&d, "redis_connections") == atoi(pools[pool]), CLOSES_MS);
		struct client *c = client_open(d.port);
		for (int i = 0; i < 20; i++)
			assert_status(http(c, "POST", "/pv/circuit", NULL), 200);
		proc_signal(&redis.proc, SIGSTOP);
		int64_t start_ms = monotonic_ms();
		struct answer first = timed(&d, c, "/pv/circuit");
		assert_problem(first, 504, "no_answer", "unknown");
		assert_true(monotonic_ms() - start_ms >= TIMEOUT_MS - 50);
		assert_in_range(first.took_us, 0, (TIMEOUT_MS + SLACK_MS) * 1000);
		for (int i = 0; i < TRIES; i++) {
			struct answer a = timed(&d, c, "/pv/circuit");
			assert_problem(a, 503, "redis_unavailable", "none");
			assert_string_equal(header_of(a, "Retry-After"), "1");
			assert_in_range(a.took_us, 0, FAST_US);
			took[i] = a.took_us;
			nap_ms(5); /* over several probes */
		}
		assert_true(metric_of(&d, "redis_up") == 0);
		assert_true(metric_of(&d, "redis_timeouts_total") == 1);
		qsort(took, TRIES, sizeof(took[0]), by_duration);
		print_message("pool of %s: open, the median answer takes %lld us\n", pools[pool],
			      (long long)took[TRIES / 2]);
		assert_in_range(took[TRIES / 2], 0, 5000);
		proc_signal(&redis.proc, SIGCONT);
		wait_until(http(c, "POST", "/pv/circuit", NULL).status == 200, CLOSES_MS);
		wait_until(metric_of(&d, "redis_up") == 1, CLOSES_MS);
		client_close(c);
		daemon_stop(&d);
	}
}

/*
 * Many at once: each request that was on its way waits until its timeout, no longer; later ones do
 * not wait.
 */
static void a_crowd_waits_once(void **state)
{
	static const char ask[] = "POST /pv/crowd HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct raw *callers[CROWD];
	struct daemon d = { 0 };
	int lost = 0;

	(void)state;
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
 * Sends one request of each caller, counts the answers by their status, and returns how long all of
 * it took, without the machine's part.
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
 * Redis is stopped and continued repeatedly under twenty thousand requests: each is answered in
 * time, and none stays unanswered.
 */
static void twenty_thousand_are_answered_in_time(void **state)
{
	enum { ROUNDS = 320, SPELL = 32 };
	struct raw *callers[CROWD];
	struct daemon d = { 0 };
	int64_t slowest_us = 0;
	int counts[600] = { 0 };

	(void)state;
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
	wait_until(metric_of(&d, "redis_calls_in_flight") == 0, CLOSES_MS);
	wait_until(metric_of(&d, "http_requests_in_progress") == 1, CLOSES_MS); /* this one */
	for (int i = 0; i < CROWD; i++)
		raw_close(callers[i]);
	daemon_stop(&d);
}

static double attempts_of(const struct daemon *daemons)
{
	double sum = 0;

	for (int i = 0; i < DAEMONS; i++)
		sum += metric_of(&daemons[i], "redis_connect_failures_total");
	return sum;
}

static bool all_up(const struct daemon *daemons, int count)
{
	for (int i = 0; i < count; i++)
		if (metric_of(&daemons[i], "redis_up") == 0)
			return false;
	return true;
}

/* All reconnect in time, without the time that a busy machine took from any of them. */
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

/*
 * However long Redis is away, the daemon does not flood it: one attempt a connection and some half
 * a second. It is connected within one pause of Redis's return.
 */
static void probes_are_polite(void **state)
{
	enum { LOOK_MS = 3000 };
	struct daemon daemons[DAEMONS] = { 0 };

	(void)state;
	for (int i = 0; i < DAEMONS; i++)
		daemon_start(&daemons[i], "--redis", redis.url, "--redis-timeout-ms", "500");
	wait_all_up(daemons, DAEMONS, CLOSES_MS);
	for (int is_gone = 0; is_gone < 2; is_gone++) {
		if (is_gone) {
			server_kill(&redis);
		} else {
			proc_signal(&redis.proc, SIGSTOP);
			for (int i = 0; i < DAEMONS; i++) {
				struct client *c = client_open(daemons[i].port);
				assert_status(http(c, "POST", "/pv/polite", NULL), 504);
				client_close(c);
			}
		}
		nap_ms(1500); /* the pauses have grown to their longest */
		double before = attempts_of(daemons);
		int64_t start_ms = monotonic_ms();
		nap_ms(LOOK_MS);
		double rate = (attempts_of(daemons) - before) * 1000 / (double)(monotonic_ms() - start_ms);
		print_message("%s: %.1f attempts a second of %d daemons with %d connections each\n",
			      is_gone ? "gone" : "stopped", rate, DAEMONS, LINKS);
		assert_true(rate <= DAEMONS * LINKS * 2.5);
		if (is_gone)
			server_restart(&redis);
		else
			proc_signal(&redis.proc, SIGCONT);
		wait_all_up(daemons, DAEMONS, CLOSES_MS);
	}
	for (int i = 0; i < DAEMONS; i++)
		daemon_stop(&daemons[i]);
}

enum {
	BUCKET_MS = 500,
	GROWING = 1000 / BUCKET_MS, /* buckets of the first second, in which the pauses grow from 4 ms */
	FIRST_TRIES = 9,            /* of a connection meanwhile: after 4, 8 ... 512 ms at most */
	LONGEST_STORM_MS = 30000,
	MOST_BUCKETS = LONGEST_STORM_MS / BUCKET_MS,
};

/* Takes the place of the server, closes each connection at once, and counts them by time. */
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
 * All lose their server in the same instant, for 4 s or the 30 of the table. Jitter spreads their
 * attempts to reconnect.
 */
static void a_storm_of_daemons_is_spread(void **state)
{
	static struct daemon daemons[STORM_DAEMONS];
	const int storm_ms = in_full() ? LONGEST_STORM_MS : 4000, count = storm_ms / BUCKET_MS;
	int buckets[MOST_BUCKETS] = { 0 }, first = 0, later = 0, most = 0;

	(void)state;
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
	print_message("attempts, each %d ms, of %d daemons\n", BUCKET_MS, STORM_DAEMONS);
	assert_in_range(first, STORM_DAEMONS, STORM_DAEMONS * LINKS * FIRST_TRIES);
	assert_in_range(later, STORM_DAEMONS, STORM_DAEMONS * LINKS * 5 / 2 * (storm_ms / 1000 - 1));
	assert_in_range(most, 1, 3 * later / (count - GROWING));
	server_restart(&redis);
	wait_all_up(daemons, STORM_DAEMONS, 2000);
	for (int i = 0; i < STORM_DAEMONS; i++)
		daemon_stop(&daemons[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_caller_waits_once),
		cmocka_unit_test(a_crowd_waits_once),
		cmocka_unit_test(twenty_thousand_are_answered_in_time),
		cmocka_unit_test(probes_are_polite),
		cmocka_unit_test(a_storm_of_daemons_is_spread),
	};

	return cmocka_run_group_tests_name("circuit", tests, set_up, tear_down);
}
