/*
 * The way the daemon ends: on SIGTERM nobody new is let in, what is under way is answered, what never became a request is
 * no reason to stay, and there is an end to waiting. The exit status is 0.
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
#include "../support/exchange.h"
#include "../support/raw.h"
#include "../support/redis_server.h"

enum { ANSWER_MS = 5000 };

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
	server_stop(&redis);
	return 0;
}

static const char slow[] = "POST /pv/drained HTTP/1.1\r\nHost: localhost\r\n\r\n";

static bool is_open(const struct daemon *d)
{
	struct raw *r = raw_try_connect(d->port);

	raw_close(r);
	return r != NULL;
}

static void test_term_drains(void **state)
{
	struct daemon d = { 0 };

	(void)state;
	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "5000");
	struct raw *busy = raw_connect(d.port), *idle = raw_connect(d.port);
	long long before = server_scripts_run(&redis);
	server_command(&redis, "CLIENT PAUSE 400 WRITE");
	raw_text(busy, slow);
	nap_ms(50); /* it is in Redis's hands now, which does not look */
	proc_signal(&d.proc, SIGTERM);
	wait_until(!is_open(&d), ANSWER_MS); /* nobody new is let in */
	struct answer drained = raw_answer(busy, ANSWER_MS);
	assert_status(drained, 200); /* what is under way is answered */
	exchange_record("POST", "/pv/drained", drained);
	assert_true(raw_closed(busy, ANSWER_MS));
	assert_true(raw_closed(idle, ANSWER_MS));
	daemon_stop(&d);
	assert_int_equal(server_scripts_run(&redis), before + 1);
	raw_close(busy);
	raw_close(idle);
}

static void test_term_when_idle_is_quick(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct daemon d = { 0 };
		daemon_start(&d, "--redis", redis.url);
		struct raw *r = raw_connect(d.port);
		raw_text(r, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
		assert_status(raw_answer(r, ANSWER_MS), 200);
		proc_signal(&d.proc, signals[i]);
		assert_true(proc_ended(&d.proc, 2000));
		assert_int_equal(proc_exit_status(&d.proc), 0);
		raw_close(r);
	}
}

/* Requests that never became whole are no reason to stay, and leave nothing behind; whether the clients left or wait. */
static void term_with_halves(bool clients_left)
{
	static const char *const halves[] = {
		"",
		"GE",
		"GET /locks/a HTTP/1.1\r\nHo",
		"POST /pv/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		"Content-Length: 9\r\n\r\n{\"by",
		"POST /pv/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
		"GET /locks?limit=1",
	};
	enum { HALVES = sizeof(halves) / sizeof(halves[0]) };
	struct daemon d = { 0 };
	struct raw *open[HALVES];

	daemon_start(&d, "--redis", redis.url, "--drain-ms", "500");
	for (size_t i = 0; i < HALVES; i++) {
		open[i] = raw_connect(d.port);
		raw_text(open[i], halves[i]);
	}
	/* More parameters than libmicrohttpd has memory for: it stops in the middle of its own work. */
	raw_repeat(open[HALVES - 1], "&x=1", 400);
	raw_text(open[HALVES - 1], " HTTP/1.1\r\nHost: localhost\r\n\r\n");
	assert_true(daemon_is_alive(&d)); /* a turn later than all these bytes */
	for (size_t i = 0; i < HALVES && clients_left; i++)
		raw_close(open[i]);
	assert_true(daemon_is_alive(&d));
	int64_t start_ms = monotonic_ms();
	daemon_stop(&d);
	assert_in_range(monotonic_ms() - start_ms, 0, 3000);
	for (size_t i = 0; i < HALVES && !clients_left; i++)
		raw_close(open[i]);
}

static void test_term_with_halves(void **state)
{
	(void)state;
	term_with_halves(false);
}

static void test_term_with_halves_left(void **state)
{
	(void)state;
	term_with_halves(true);
}

static void test_drain_has_an_end(void **state)
{
	struct daemon d = { 0 };

	(void)state;
	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "8000", "--drain-ms", "300");
	struct raw *busy = raw_connect(d.port);
	server_command(&redis, "CLIENT PAUSE 3000 WRITE");
	raw_text(busy, slow);
	nap_ms(50);
	int64_t start_ms = monotonic_ms();
	proc_signal(&d.proc, SIGTERM);
	assert_true(proc_ended(&d.proc, 2500));
	assert_in_range(monotonic_ms() - start_ms, 250, 2000);
	assert_int_equal(proc_exit_status(&d.proc), 0);
	struct answer a = raw_answer(busy, ANSWER_MS);
	assert_true(a.status == 0 || a.status == 504 || a.status == 503);
	raw_close(busy);
	server_command(&redis, "CLIENT UNPAUSE");
}

static void test_second_term_is_immediate(void **state)
{
	struct daemon d = { 0 };

	(void)state;
	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "8000", "--drain-ms", "8000");
	struct raw *busy = raw_connect(d.port);
	server_command(&redis, "CLIENT PAUSE 3000 WRITE");
	raw_text(busy, slow);
	nap_ms(50);
	proc_signal(&d.proc, SIGTERM);
	wait_until(!is_open(&d), ANSWER_MS);
	assert_false(proc_ended(&d.proc, 0));
	proc_signal(&d.proc, SIGTERM);
	assert_true(proc_ended(&d.proc, 1000));
	raw_close(busy);
	server_command(&redis, "CLIENT UNPAUSE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_term_drains),      cmocka_unit_test(test_term_when_idle_is_quick),
		cmocka_unit_test(test_term_with_halves), cmocka_unit_test(test_term_with_halves_left),
		cmocka_unit_test(test_drain_has_an_end), cmocka_unit_test(test_second_term_is_immediate),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
