/*
 * Health cannot be starved: the test sends a probe each 50 ms, and each is answered within 100 ms.
 * In this time all connections are taken or waiting, Redis is stopped, or requests have taken all
 * memory. Probes are also answered while other clients have taken the health listener's own places,
 * and while the daemon drains.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "../support/aside.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/waiter.h"
#include "requests.h"
#include "test.h"

enum {
	EACH_MS = 50,
	MOST_MS = 100,
	PATIENCE_MS = 2000, /* a probe has failed after this time */
	ANSWER_MS = 5000,
	PLACES = 150,
	TRIES = 3,
};

static struct redis_server redis;
static struct daemon patternd;

/* ---- Probes, in a separate thread ---- */

struct prober {
	pthread_t thread;
	atomic_bool stop;
	atomic_int asked, failed, late, not_ready;
	atomic_int slowest_ms;
};
static struct prober prober;

/* Probes as a kubelet does, over a new connection. Returns the status; 0: no answer in time. */
static int probe(const char *request)
{
	struct raw *r = raw_try_connect(patternd.health_port);
	int status = r && raw_text(r, request) ? raw_answer(r, PATIENCE_MS).status : 0;

	raw_close(r);
	return status;
}

/*
 * Returns how long the thread of this schedstat was ready to run and got no processor. Other
 * programs used that time, not the daemon.
 */
static int64_t kept_waiting_ms(const char *schedstat)
{
	char *text = file_text(schedstat);
	char *second = text ? strchr(text, ' ') : NULL;
	int64_t ns = second ? strtoll(second, NULL, 10) : 0;

	free(text);
	return ns / 1000000;
}

static int64_t machine_ms(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/schedstat", (long)patternd.proc.pid);
	return kept_waiting_ms(path) + kept_waiting_ms("/proc/thread-self/schedstat");
}

static void *probe_on(void *arg)
{
	static const char *const requests[] = {
		GET("/healthz") "Host: 10.0.0.7:8380\r\n" END,
		GET("/readyz") "Host: 10.0.0.7:8380\r\n" END,
		GET("/metrics") "Host: 10.0.0.7:8380\r\n" END,
	};
	struct prober *p = arg;

	while (!p->stop) {
		int64_t start_ms = monotonic_ms(), machine_before_ms = machine_ms();
		int status = probe(requests[p->asked % 3]);
		int passed_ms = (int)(monotonic_ms() - start_ms);
		int took_ms = passed_ms - (int)(machine_ms() - machine_before_ms);
		bool is_ready = p->asked % 3 == 1;
		p->failed += status != 200 && !(is_ready && status == 503);
		p->not_ready += is_ready && status == 503;
		p->late += took_ms > (daemon_is_sanitized() ? 5 * MOST_MS : MOST_MS);
		if (took_ms > p->slowest_ms)
			p->slowest_ms = took_ms;
		p->asked++;
		if (passed_ms < EACH_MS)
			nap_ms(EACH_MS - passed_ms);
	}
	return NULL;
}

static void probes_begin(void)
{
	memset(&prober, 0, sizeof(prober));
	assert_int_equal(pthread_create(&prober.thread, NULL, probe_on, &prober), 0);
}

/* Waits for the probes of `ms` more milliseconds. */
static void probes_continue(int ms)
{
	int wanted = prober.asked + ms / EACH_MS;

	wait_until(prober.asked >= wanted, 10 * ms + ANSWER_MS);
}

static void probes_end(void)
{
	prober.stop = true;
	pthread_join(prober.thread, NULL);
	print_message("of %d probes %d failed and %d were late; the slowest took %d ms\n", prober.asked, prober.failed,
		      prober.late, prober.slowest_ms);
	assert_int_equal(prober.failed, 0);
	assert_true(prober.asked > 5);
}

/* ---- What happens during the probes ---- */

static int set_up(void **state)
{
	patternd = (struct daemon){ 0 };
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--health-listen", "127.0.0.1:0", "--max-connections", "150",
		     "--drain-ms", "2500", "--redis-timeout-ms", "10000", "--max-request-memory", "8388608");
	return 0;
}

static int tear_down(void **state)
{
	proc_signal(&redis.proc, SIGCONT);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

static struct raw *crowd[2 * PLACES];

/* Opens more connections than there are places. The clients wait, send slowly, or are idle. */
static void crowd_comes(bool all_wait)
{
	for (int i = 0; i < 2 * PLACES; i++) {
		crowd[i] = raw_connect(patternd.port);
		if (all_wait || i % 3 == 0)
			waiter_ask(crowd[i], "/queues/q/receive", "{\"wait_ms\":30000}", "");
		else if (i % 3 == 1)
			raw_text(crowd[i], GET("/locks/a") "X-Slow: ");
	}
}

static void crowd_goes(void)
{
	for (int i = 0; i < 2 * PLACES; i++)
		raw_close(crowd[i]);
}

static void all_places_taken(void)
{
	probes_begin();
	crowd_comes(false);
	probes_continue(1000);
	crowd_goes();
	probes_continue(200);
	probes_end();
}

static void all_wait(void)
{
	probes_begin();
	crowd_comes(true);
	probes_continue(1000);
	crowd_goes();
	probes_end();
	assert_int_equal(prober.not_ready, 0);
}

/* Redis is stopped, and all requests are pending. */
static void redis_stopped(void)
{
	proc_signal(&redis.proc, SIGSTOP);
	probes_begin();
	for (int i = 0; i < 2 * PLACES; i++) {
		crowd[i] = raw_connect(patternd.port);
		raw_text(crowd[i], TAKE "Content-Length: 38\r\n" END BODY);
	}
	probes_continue(1500);
	proc_signal(&redis.proc, SIGCONT);
	probes_continue(500);
	crowd_goes();
	probes_end();
}

static void put_zeros(struct raw *r, int i, int zeros)
{
	raw_text(r, "PUT /cache/");
	raw_text(r, i % 2 ? "a" : "b");
	raw_text(r, " HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n" END "b\r\n{\"value\":[0\r\n");
	for (int left = zeros; left > 0; left -= 8)
		raw_text(r, "10\r\n,0,0,0,0,0,0,0,0\r\n");
	raw_text(r, "2\r\n]}\r\n0\r\n" END);
}

/*
 * Requests have taken all memory that bodies may have. That is half of the limit; /metrics has the
 * other half.
 */
static void memory_taken(void)
{
	enum { SHARE_OF_BODIES = 8388608 / 2 };
	long most = 0;

	proc_signal(&redis.proc, SIGSTOP);
	probes_begin();
	for (int i = 0; i < PLACES; i++) {
		crowd[i] = raw_connect(patternd.port);
		put_zeros(crowd[i], i, 64000 >> (i / 25));
		long taken = metric_of(&patternd, "request_memory_bytes");
		assert_true(taken > 0);
		most = taken > most ? taken : most;
	}
	probes_continue(500);
	proc_signal(&redis.proc, SIGCONT);
	probes_continue(200);
	for (int i = 0; i < PLACES; i++)
		raw_close(crowd[i]);
	probes_end();
	print_message("requests took %ld bytes of memory\n", most);
	assert_true(most > SHARE_OF_BODIES / 16 * 15); /* the rest is less than a body asks for at once */
}

/* Idle and slow clients have taken the places of the health listener. */
static void own_places_taken(void)
{
	probes_begin();
	for (int i = 0; i < 2 * PLACES; i++) {
		crowd[i] = raw_connect(patternd.health_port);
		if (i % 2)
			raw_text(crowd[i], GET("/healthz") "X-Slow: ");
	}
	probes_continue(1000);
	crowd_goes();
	probes_end();
}

static void draining(void)
{
	struct raw *owed = raw_connect(patternd.port);

	proc_signal(&redis.proc, SIGSTOP);
	raw_text(owed, TAKE "Content-Length: 38\r\n" END BODY);
	wait_until(metric_of(&patternd, "redis_calls_in_flight") > 0, ANSWER_MS);
	probes_begin();
	probes_continue(200);
	assert_int_equal(prober.not_ready, 0);
	proc_signal(&patternd.proc, SIGTERM);
	wait_until(prober.not_ready > 0, ANSWER_MS);
	probes_continue(1000);
	assert_null(raw_try_connect(patternd.port)); /* the main listener is closed, and the daemon still drains */
	probes_end();
	proc_signal(&redis.proc, SIGCONT);
	assert_true(proc_ended(&patternd.proc, ANSWER_MS));
	assert_int_equal(proc_exit_status(&patternd.proc), 0);
	patternd.port = 0;
	raw_close(owed);
}

struct attempt {
	const char *name;
	void (*run)(void);
};

static const struct attempt tries[] = {
	{ "all places taken", all_places_taken }, { "all wait", all_wait },
	{ "Redis stopped", redis_stopped },       { "memory taken", memory_taken },
	{ "own places taken", own_places_taken }, { "draining", draining },
};

/* A busy machine may make a probe late, but not in each of a few tries. */
static void none_is_late(void **state)
{
	const struct attempt *try = *state;

	for (int i = 0; i < TRIES; i++) {
		set_up(NULL);
		try->run();
		tear_down(NULL);
		if (prober.late == 0)
			return;
	}
	fail_msg("probes were late in each of %d tries", TRIES);
}

TEST_ROWS(none_is_late, tries, name);

SUITE(.columns = 2);
