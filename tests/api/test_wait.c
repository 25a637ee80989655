/*
 * Waiting for messages over HTTP: what ends a wait, what does not, and which messages are delivered
 * then. (Many waiters, and their cost: test_wait_many.c; several daemons: test_wait_daemons.c;
 * clients that disconnect: faults/test_wait_leaving.c.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stage.h"
#include "waiter.h"

enum { SOON_MS = 5000, SLACK_MS = 1500, MOMENT_MS = 150 };

#define ROWS(table) (sizeof(table) / sizeof(*(table)))
#define LONG "\"wait_ms\":20000"

static const char receive_q[] = "/queues/q/receive";

static int forget(void **state)
{
	client_forget(client);
	return stage_forget(state);
}

/* One more client that waits at the queue. */
static struct raw *parked(const char *body)
{
	return waiter_parked(&patternd, &redis, "q", body);
}

static size_t count_in(struct answer a)
{
	assert_status(a, 200);
	assert_true(json_is_array(json_at(a, "/messages")));
	return json_array_size(json_at(a, "/messages"));
}

/* Receives a message that is there, and returns its receipt. */
static const char *take(const char *body)
{
	struct answer a = post(receive_q, body);

	assert_int_equal(count_in(a), 1);
	return text_at(a, "/messages/0/receipt");
}

static struct answer delivery(const char *receipt, const char *verb, const char *body)
{
	char target[128];

	snprintf(target, sizeof(target), "/queues/q/deliveries/%s/%s", receipt, verb);
	return post(target, body);
}

static void configure(const char *settings)
{
	assert_in_range(http(client, "PUT", "/queues/q", settings).status, 200, 201);
}

static void send_one(const char *body)
{
	assert_status(post("/queues/q/messages", body), 201);
}

/* ---- The time to wait ---- */

static void an_empty_queue_is_waited_at_for_wait_ms(void **state)
{
	static const struct {
		const char *target, *body;
		int64_t wait_ms;
	} rows[] = {
		{ receive_q, "{}", 0 },
		{ receive_q, "{\"wait_ms\":0}", 0 },
		{ receive_q, "{\"wait_ms\":2}", 2 },
		{ receive_q, "{\"wait_ms\":200}", 200 },
		{ receive_q, "{\"wait_ms\":200,\"limit\":10,\"acknowledge\":true}", 200 },
		{ "/queues/receive", "{\"queues\":[\"q\",\"r\"],\"wait_ms\":200}", 200 },
		{ "/queues/receive", "{\"queues\":[\"q\"]}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct answer a = post(rows[i].target, rows[i].body);
		assert_int_equal(count_in(a), 0);
		int64_t least_ms = rows[i].wait_ms ? rows[i].wait_ms - 1 : 0; /* whole milliseconds are left, or none */
		assert_in_range(a.took_us, least_ms * 1000, (rows[i].wait_ms + SLACK_MS) * 1000);
	}
	assert_int_equal(waiting_at(&patternd), 0);
}

static void wait_ms_has_bounds(void **state)
{
	(void)state;
	assert_problem(post(receive_q, "{\"wait_ms\":60001}"), 400, "out_of_range", "none");
	assert_problem(post(receive_q, "{\"wait_ms\":-1}"), 400, "out_of_range", "none");
	assert_problem(post(receive_q, "{\"wait_ms\":\"1\"}"), 400, "wrong_type", "none");
	struct raw *w = parked("{\"wait_ms\":60000}");
	raw_close(w);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
}

static void what_is_there_is_not_waited_for(void **state)
{
	(void)state;
	send_one("{\"body\":1}");
	struct answer a = post(receive_q, "{\"limit\":10," LONG "}"); /* one is enough */
	assert_int_equal(count_in(a), 1);
	assert_in_range(a.took_us, 0, SLACK_MS * 1000);
}

/*
 * ---- What ends a wait: each row happens, or will happen, while a client waits, which then gets
 * the message ----
 */

static const char *receipt; /* of the message in flight, in rows that have one */

static void in_flight(void)
{
	send_one("{\"body\":1,\"id\":\"m\"}");
	receipt = take("{}");
}

static void in_flight_for_a_moment(void)
{
	configure("{\"backoff\":{\"base_ms\":0,\"max_ms\":0}}");
	send_one("{\"body\":1,\"id\":\"m\"}");
	receipt = take("{\"visibility_ms\":150}");
}

static void in_flight_without_backoff(void)
{
	configure("{\"backoff\":{\"base_ms\":0,\"max_ms\":0}}");
	in_flight();
}

/* Of which jitter leaves at least the half. */
static void in_flight_then_backoff(void)
{
	configure("{\"backoff\":{\"base_ms\":300,\"max_ms\":300}}");
	in_flight();
}

static void delayed_for_a_moment(void)
{
	send_one("{\"body\":1,\"id\":\"m\",\"delay_ms\":150}");
}

static void delayed_for_an_hour(void)
{
	send_one("{\"body\":1,\"id\":\"m\",\"delay_ms\":3600000}");
}

static void dead(void)
{
	in_flight();
	assert_status(delivery(receipt, "reject", "{\"dead\":true}"), 200);
}

static void paused(void)
{
	configure("{\"paused\":true}");
	send_one("{\"body\":1,\"id\":\"m\"}");
}

static void paused_and_delayed(void)
{
	configure("{\"paused\":true}");
	delayed_for_a_moment();
}

static void is_sent(void)
{
	send_one("{\"body\":1,\"id\":\"m\"}");
}

static void is_sent_in_a_batch(void)
{
	send_one("{\"messages\":[{\"body\":2,\"delay_ms\":3600000},{\"body\":1,\"id\":\"m\"}]}");
}

static void is_rejected(void)
{
	assert_status(delivery(receipt, "reject", "{}"), 200);
}

static void is_rejected_for_a_moment(void)
{
	assert_status(delivery(receipt, "reject", "{\"delay_ms\":150}"), 200);
}

static void is_settled(void)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"reject\":[{\"receipt\":\"%s\",\"delay_ms\":0}]}", receipt);
	assert_status(post("/queues/q/settle", body), 200);
}

static void is_extended_to_a_moment(void)
{
	assert_status(delivery(receipt, "extend", "{\"visibility_ms\":150}"), 200);
}

static void is_patched(void)
{
	assert_status(http(client, "PATCH", "/queues/q/messages/m", "{\"delay_ms\":0}"), 200);
}

static void is_patched_to_a_moment(void)
{
	assert_status(http(client, "PATCH", "/queues/q/messages/m", "{\"delay_ms\":150}"), 200);
}

static void is_redriven(void)
{
	assert_status(post("/queues/q/redrive", "{}"), 200);
}

static void goes_on(void)
{
	configure("{\"paused\":false}");
}

static void is_put_off(void)
{
	is_patched_to_a_moment();
	assert_status(http(client, "PATCH", "/queues/q/messages/m", "{\"delay_ms\":300}"), 200);
}

static void nothing_more(void)
{
}

static const struct event {
	const char *name;
	void (*before)(void), (*then)(void);
	int64_t due_ms; /* since `before` began; checked where nothing happens at once */
	int receives;
} events[] = {
	{ "sent", nothing_more, is_sent, 0, 1 },
	{ "sent in a batch", nothing_more, is_sent_in_a_batch, 0, 1 },
	{ "sent with a delay", nothing_more, delayed_for_a_moment, MOMENT_MS, 1 },
	{ "delayed already", delayed_for_a_moment, nothing_more, MOMENT_MS, 1 },
	{ "rejected", in_flight_without_backoff, is_rejected, 0, 2 },
	{ "rejected with a delay", in_flight, is_rejected_for_a_moment, MOMENT_MS, 2 },
	{ "rejected with backoff", in_flight_then_backoff, is_rejected, MOMENT_MS, 2 },
	{ "rejected by settle", in_flight, is_settled, 0, 2 },
	{ "not visible any more", in_flight_for_a_moment, nothing_more, MOMENT_MS, 2 },
	{ "extended to a shorter time", in_flight_without_backoff, is_extended_to_a_moment, MOMENT_MS, 2 },
	{ "due now", delayed_for_an_hour, is_patched, 0, 1 },
	{ "due sooner", delayed_for_an_hour, is_patched_to_a_moment, MOMENT_MS, 1 },
	{ "due later", delayed_for_an_hour, is_put_off, 2 * MOMENT_MS, 1 },
	{ "redriven", dead, is_redriven, 0, 1 },
	{ "a dead letter due now", dead, is_patched, 0, 1 },
	{ "no longer paused", paused, goes_on, 0, 1 },
	{ "no longer paused, and delayed", paused_and_delayed, goes_on, MOMENT_MS, 1 },
};

static void an_event_ends_it(void **state)
{
	const struct event *e = *state;

	int64_t start_us = monotonic_us();
	e->before();
	struct raw *w = parked("{" LONG ",\"limit\":10}");
	e->then();
	struct answer a = waiter_answer(w, receive_q, SOON_MS);
	int64_t took_ms = (monotonic_us() - start_us) / 1000;
	assert_int_equal(count_in(a), 1);
	assert_string_equal(text_at(a, "/messages/0/id"), "m");
	assert_int_equal(int_at(a, "/messages/0/receives"), e->receives);
	assert_in_range(took_ms, e->due_ms, e->due_ms + SLACK_MS);
	raw_close(w);
}

/* ---- What does not ---- */

static void pausing_hands_out_nothing(void **state)
{
	(void)state;
	struct raw *first = parked("{\"wait_ms\":300}"), *second = parked("{" LONG "}");
	configure("{\"paused\":true}");
	send_one("{\"messages\":[{\"body\":1},{\"body\":2}]}");
	assert_int_equal(count_in(waiter_answer(first, receive_q, SOON_MS)), 0);
	assert_false(waiter_is_answered(second));
	assert_int_equal(waiting_at(&patternd), 1);
	configure("{\"paused\":false}");
	assert_int_equal(count_in(waiter_answer(second, receive_q, SOON_MS)), 1);
	assert_int_equal(count_in(post(receive_q, "{\"limit\":10}")), 1);
	raw_close(first);
	raw_close(second);
}

/* Changes that free no message wake no waiter, and ended messages are not delivered. */
static void what_frees_no_message_wakes_no_waiter(void **state)
{
	(void)state;
	in_flight();
	struct raw *w = parked("{" LONG "}");
	long tries = metric_of(&patternd, "wait_retries_total");
	assert_status(delivery(receipt, "extend", "{\"visibility_ms\":60000}"), 200);
	assert_status(http(client, "DELETE", "/queues/q/deliveries/unknown", NULL), 400);
	assert_status(post("/queues/other/messages", "{\"body\":1}"), 201);
	assert_status(post("/queues/q/messages", "{\"body\":1,\"id\":\"m\"}"), 200); /* a duplicate */
	get("/queues/q");
	get("/queues/q/messages");
	assert_status(delivery(receipt, "reject", "{\"dead\":true}"), 200);
	assert_status(post("/queues/q/purge", "{}"), 200);
	assert_false(waiter_is_answered(w));
	assert_int_equal(metric_of(&patternd, "wait_retries_total"), tries);
	raw_close(w);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
}

static void a_deleted_queue_is_waited_at_like_any_other(void **state)
{
	(void)state;
	delayed_for_an_hour();
	struct raw *w = parked("{" LONG "}");
	assert_status(http(client, "DELETE", "/queues/q", NULL), 204);
	send_one("{\"body\":2}");
	struct answer a = waiter_answer(w, receive_q, SOON_MS);
	assert_int_equal(int_at(a, "/messages/0/body"), 2);
	raw_close(w);
}

/* The next attempt meets a foreign key: it ends with a problem, and nothing hangs. */
static void a_try_that_fails_ends_it(void **state)
{
	(void)state;
	delayed_for_a_moment();
	struct raw *w = parked("{" LONG "}");
	server_command(&redis, "SET p:queue:{q}:dead foreign");
	assert_problem(waiter_answer(w, receive_q, SOON_MS), 500, "foreign_key", "none");
	assert_int_equal(waiting_at(&patternd), 0);
	raw_close(w);
}

/* ---- What is delivered ---- */

static void limit_and_priority_count_for_waiters(void **state)
{
	(void)state;
	struct raw *first = parked("{" LONG ",\"limit\":3}");
	struct raw *second = parked("{" LONG ",\"limit\":3}");
	send_one("{\"messages\":[{\"body\":5,\"priority\":9},{\"body\":3},{\"body\":4},{\"body\":1,\"priority\":0},"
		 "{\"body\":2,\"priority\":1}]}");
	struct answer a = waiter_answer(first, receive_q, SOON_MS), b = waiter_answer(second, receive_q, SOON_MS);
	assert_int_equal(count_in(a), 3);
	for (int i = 0; i < 3; i++) {
		char pointer[32];
		snprintf(pointer, sizeof(pointer), "/messages/%d/body", i);
		assert_int_equal(int_at(a, pointer), i + 1);
	}
	assert_int_equal(count_in(b), 2);
	assert_int_equal(int_at(b, "/messages/0/body"), 4);
	assert_int_equal(int_at(b, "/messages/1/body"), 5);
	raw_close(first);
	raw_close(second);
}

static void what_was_waited_for_is_a_delivery_like_any_other(void **state)
{
	(void)state;
	struct raw *w = parked("{" LONG ",\"visibility_ms\":5000}");
	send_one("{\"body\":{\"n\":1},\"id\":\"m\"}");
	struct answer a = waiter_answer(w, receive_q, SOON_MS);
	int64_t sent_at_ms = int_at(a, "/messages/0/sent_at_ms"), until_ms = int_at(a, "/messages/0/visible_until_ms");
	assert_in_range(until_ms - sent_at_ms, 5000, 5000 + SLACK_MS);
	assert_int_equal(int_at(a, "/messages/0/body/n"), 1);
	assert_status(delivery(text_at(a, "/messages/0/receipt"), "extend", "{}"), 200);
	char target[128];
	snprintf(target, sizeof(target), "/queues/q/deliveries/%s", text_at(a, "/messages/0/receipt"));
	assert_status(http(client, "DELETE", target, NULL), 204);
	assert_problem(get("/queues/q/messages/m"), 404, "not_found", "none");
	raw_close(w);
}

static void waiting_may_acknowledge(void **state)
{
	(void)state;
	struct raw *w = parked("{" LONG ",\"acknowledge\":true}");
	send_one("{\"body\":1,\"id\":\"m\"}");
	struct answer a = waiter_answer(w, receive_q, SOON_MS);
	assert_int_equal(count_in(a), 1);
	assert_true(json_is_null(json_at(a, "/messages/0/receipt")));
	assert_problem(get("/queues/q/messages/m"), 404, "not_found", "none");
	assert_true(bool_at(post("/queues/q/messages", "{\"body\":1,\"id\":\"m\"}"), "/messages/0/duplicate"));
	raw_close(w);
}

/* One connection, request after request: each may wait. */
static void a_worker_waits_again_and_again(void **state)
{
	char body[32];

	(void)state;
	struct raw *w = raw_connect(patternd.port);
	for (int i = 0; i < 20; i++) {
		assert_true(waiter_ask(w, receive_q, "{" LONG "}", ""));
		wait_until(waiting_at(&patternd) == 1, SOON_MS);
		snprintf(body, sizeof(body), "{\"body\":%d}", i);
		send_one(body);
		assert_int_equal(int_at(waiter_answer(w, receive_q, SOON_MS), "/messages/0/body"), i);
	}
	/* Pipelined behind one that waits: answered in order, when it is their turn. */
	assert_true(waiter_ask(w, receive_q, "{\"wait_ms\":100}", ""));
	assert_true(waiter_ask(w, receive_q, "{" LONG "}", ""));
	assert_int_equal(count_in(waiter_answer(w, receive_q, SOON_MS)), 0);
	send_one("{\"body\":20}");
	assert_int_equal(int_at(waiter_answer(w, receive_q, SOON_MS), "/messages/0/body"), 20);
	raw_close(w);
}

/*
 * Answers are sent in the same iteration, whatever else that iteration has to do (the grace polls
 * of some requests end in it).
 */
static void what_is_due_in_a_moment_is_answered_then(void **state)
{
	struct raw *w = raw_connect(patternd.port), *sender = raw_connect(patternd.port);

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_true(waiter_ask(w, receive_q, "{" LONG "}", ""));
		assert_true(waiter_ask(sender, "/queues/q/messages", "{\"body\":1,\"delay_ms\":2}", ""));
		assert_status(raw_answer(sender, SOON_MS), 201);
		assert_int_equal(count_in(raw_answer(w, SOON_MS)), 1);
	}
	raw_close(w);
	raw_close(sender);
}

/* A request of any size is kept while it waits, and is complete at each attempt. */
static void a_long_request_waits_too(void **state)
{
	static const char name[] = "%E2%82%AC%E2%82%AC%2F%20";
	char target[64 + 2 * sizeof(name)], *body = malloc(20000), headers[1200];

	(void)state;
	assert_non_null(body);
	snprintf(target, sizeof(target), "/queues/%s/receive", name);
	snprintf(body, 20000, "{%16000s" LONG ",\"limit\":7%3000s}", "", "");
	snprintf(headers, sizeof(headers), "X-Request-ID: kept\r\nX-Much: %01000d\r\n", 0);
	struct raw *w = waiter_at(&patternd, target, body, headers);
	wait_until(all_parked(&patternd, 1), SOON_MS);
	snprintf(target, sizeof(target), "/queues/%s/messages", name);
	assert_status(post(target, "{\"messages\":[{\"body\":1},{\"body\":2}]}"), 201);
	struct answer a = raw_answer(w, SOON_MS);
	assert_int_equal(count_in(a), 2);
	assert_string_equal(header_of(a, "X-Request-ID"), "kept");
	raw_close(w);
	free(body);
}

int main(void)
{
	static const struct CMUnitTest others[] = {
		cmocka_unit_test_teardown(an_empty_queue_is_waited_at_for_wait_ms, forget),
		cmocka_unit_test_teardown(wait_ms_has_bounds, forget),
		cmocka_unit_test_teardown(what_is_there_is_not_waited_for, forget),
		cmocka_unit_test_teardown(pausing_hands_out_nothing, forget),
		cmocka_unit_test_teardown(what_frees_no_message_wakes_no_waiter, forget),
		cmocka_unit_test_teardown(a_deleted_queue_is_waited_at_like_any_other, forget),
		cmocka_unit_test_teardown(a_try_that_fails_ends_it, forget),
		cmocka_unit_test_teardown(limit_and_priority_count_for_waiters, forget),
		cmocka_unit_test_teardown(what_was_waited_for_is_a_delivery_like_any_other, forget),
		cmocka_unit_test_teardown(waiting_may_acknowledge, forget),
		cmocka_unit_test_teardown(a_worker_waits_again_and_again, forget),
		cmocka_unit_test_teardown(what_is_due_in_a_moment_is_answered_then, forget),
		cmocka_unit_test_teardown(a_long_request_waits_too, forget),
	};
	static struct CMUnitTest tests[ROWS(others) + ROWS(events)];

	memcpy(tests, others, sizeof(others));
	for (size_t i = 0; i < ROWS(events); i++)
		tests[ROWS(others) + i] = (struct CMUnitTest){ .name = events[i].name,
							       .test_func = an_event_ends_it,
							       .teardown_func = forget,
							       .initial_state = (void *)(uintptr_t)&events[i] };
	return cmocka_run_group_tests_name("wait", tests, stage_open, stage_close);
}
