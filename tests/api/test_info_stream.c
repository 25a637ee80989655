/* GET /info/stream: figures at once and each second, the same to all who listen; the last word when the daemon leaves. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/events.h"
#include "../support/proc.h"
#include "../support/stage.h"

enum { SOON_MS = 5000, REQUESTS = 20 };

static const json_t *figures(struct events *e)
{
	struct event v = events_next_named(e, SOON_MS);

	assert_string_equal(v.name, "figures");
	assert_non_null(v.json);
	return v.json;
}

static const json_t *member(const json_t *of, const char *name)
{
	const json_t *m = json_object_get(of, name);

	if (!m)
		fail_msg("%s is missing", name);
	return m;
}

static json_int_t number(const json_t *of, const char *name)
{
	return json_integer_value(member(of, name));
}

/* Not of more: of what was in the event before, *uptime_ms is told. */
static void must_tell_of_the_time_since(const json_t *f, json_int_t *uptime_ms)
{
	json_int_t now_ms = number(f, "uptime_ms"), interval_ms = number(f, "interval_ms");

	assert_in_range(interval_ms, 900, SOON_MS);
	assert_in_range(now_ms - *uptime_ms, interval_ms - 1, interval_ms + 1);
	*uptime_ms = now_ms;
}

static void at_once_and_each_second(void **state)
{
	struct events *e = events_get(patternd.port, "/info/stream");
	const json_t *f = figures(e);

	(void)state;
	assert_int_equal(number(f, "interval_ms"), 0);
	assert_true(json_is_null(member(f, "requests_per_second")));
	assert_true(json_is_null(member(f, "p50_ms")));
	assert_string_equal(json_string_value(member(f, "redis_mode")), "single");
	assert_true(json_is_null(member(f, "redis_trouble")));
	assert_int_equal(number(f, "streams"), 1);
	assert_int_equal(number(member(f, "gauges"), "redis_up"), 1);
	json_int_t requests = number(f, "requests"), commands = number(member(f, "counters"), "redis_commands");
	json_int_t uptime_ms = number(f, "uptime_ms");
	for (int i = 0; i < REQUESTS; i++)
		assert_status(post("/counters/x", "{\"a\":1}"), 200);
	json_int_t counted = 0;
	while (counted < REQUESTS) { /* an event may fall between these requests */
		f = figures(e);
		must_tell_of_the_time_since(f, &uptime_ms);
		counted = number(f, "requests") - requests;
		if (json_is_null(member(f, "p50_ms")))
			continue;
		double p50 = json_number_value(member(f, "p50_ms")), p99 = json_number_value(member(f, "p99_ms"));
		assert_true(p50 > 0 && p50 <= p99);
		assert_true(json_number_value(member(f, "requests_per_second")) > 0);
		assert_true(json_number_value(member(f, "redis_ms")) >= 0);
	}
	assert_int_equal(counted, REQUESTS);
	assert_int_equal(number(member(f, "counters"), "redis_commands") - commands, REQUESTS);
	assert_true(number(f, "resident_bytes") > 0);
	f = figures(e); /* nothing happened */
	must_tell_of_the_time_since(f, &uptime_ms);
	assert_true(json_is_null(member(f, "p50_ms")) && json_is_null(member(f, "redis_ms")));
	assert_true(json_number_value(member(f, "requests_per_second")) == 0);
	events_close(e);
}

/* Who comes later gets the first event at once, and all get the next together. */
static void several_listen(void **state)
{
	struct events *first = events_get(patternd.port, "/info/stream");

	(void)state;
	figures(first);
	struct events *second = events_get(patternd.port, "/info/stream");
	assert_int_equal(number(figures(second), "interval_ms"), 0);
	json_int_t at_ms = number(figures(second), "at_ms");
	while (number(figures(first), "at_ms") != at_ms)
		;
	events_close(first);
	assert_true(number(figures(second), "at_ms") > at_ms);
	events_reset(second);
	wait_until(strstr(get("/metrics").body, "patternd_http_requests_in_progress 1\n") != NULL, SOON_MS);
	struct events *again = events_get(patternd.port, "/info/stream");
	assert_int_equal(number(figures(again), "streams"), 1);
	assert_in_range(number(figures(again), "interval_ms"), 900, SOON_MS);
	events_close(again);
}

static void it_says_what_is_wrong_with_redis(void **state)
{
	struct events *e = events_get(patternd.port, "/info/stream");
	const json_t *f;

	(void)state;
	server_kill(&redis);
	do
		f = figures(e);
	while (number(member(f, "gauges"), "redis_up"));
	assert_non_null(json_string_value(member(f, "redis_trouble")));
	server_restart(&redis);
	do
		f = figures(e);
	while (!number(member(f, "gauges"), "redis_up"));
	assert_true(json_is_null(member(f, "redis_trouble")));
	events_close(e);
}

static void there_is_a_limit(void **state)
{
	struct daemon other = { 0 };

	(void)state;
	daemon_start(&other, "--redis", redis.url, "--max-parked", "1");
	struct client *c = client_open(other.port);
	struct events *e = events_get(other.port, "/info/stream");
	figures(e);
	assert_problem(http(c, "GET", "/info/stream", NULL), 503, "overloaded", "none");
	client_close(c);
	events_close(e);
	daemon_stop(&other);
}

static void a_drain_ends_it_in_order(void **state)
{
	struct daemon other = { 0 };

	(void)state;
	daemon_start(&other, "--redis", redis.url);
	struct events *e = events_get(other.port, "/info/stream");
	figures(e);
	kill(other.proc.pid, SIGTERM);
	struct event last;
	do
		last = events_next_named(e, SOON_MS);
	while (strcmp(last.name, "figures") == 0);
	assert_string_equal(last.name, "closing");
	assert_string_equal(json_string_value(member(last.json, "reason")), "drain");
	assert_true(events_ended(e, SOON_MS));
	events_close(e);
	daemon_stop(&other);
}

/* Asked for before the drain, and begun in it. */
static void one_that_begins_in_the_drain_ends_in_order(void **state)
{
	struct daemon other = { 0 };
	bool closing = false;

	(void)state;
	daemon_start(&other, "--redis", redis.url);
	struct raw *r = raw_connect(other.port);
	raw_text(r, "GET /info/stream HTTP/1.1\r\nHo");
	assert_true(daemon_is_alive(&other)); /* it has read that */
	kill(other.proc.pid, SIGTERM);
	wait_until(!raw_listens(other.port), SOON_MS);
	raw_text(r, "st: localhost\r\n\r\n");
	assert_status(raw_head(r, SOON_MS), 200);
	char *chunk = raw_chunk(r, SOON_MS);
	while (chunk && *chunk) {
		closing = closing || strstr(chunk, "event: closing");
		free(chunk);
		chunk = raw_chunk(r, SOON_MS);
	}
	free(chunk);
	assert_true(closing);
	assert_true(raw_closed(r, SOON_MS));
	raw_close(r);
	daemon_stop(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(at_once_and_each_second, stage_forget),
		cmocka_unit_test_teardown(several_listen, stage_forget),
		cmocka_unit_test_teardown(it_says_what_is_wrong_with_redis, stage_forget),
		cmocka_unit_test(there_is_a_limit),
		cmocka_unit_test(a_drain_ends_it_in_order),
		cmocka_unit_test(one_that_begins_in_the_drain_ends_in_order),
	};

	return cmocka_run_group_tests_name("info_stream", tests, stage_open, stage_close);
}
