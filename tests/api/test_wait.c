/*
 * Waiting for messages over HTTP: what ends a wait, what does not, and which messages are delivered
 * then. (Many waiters, and their cost: test_wait_many.c; several daemons: test_wait_daemons.c;
 * clients that disconnect: faults/test_wait_leaving.c.)
 */
#include "stage.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 5000, SLACK_MS = 1500, MOMENT_MS = 150 };

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

TEST(an_empty_queue_is_waited_at_for_wait_ms)
{
	static const struct {
		const char *target, *body;
		int64_t wait_ms;
	} rows[] = {
		{ receive_q, "{}", 0 },
		{ receive_q, "{\"wait_ms\":0}", 0 },
		{ receive_q, "{\"wait_ms\":2}", 2 },
		{ receive_q, "{\"wait_ms\":100,\"limit\":10,\"acknowledge\":true}", 100 },
		{ "/queues/receive", "{\"queues\":[\"q\",\"r\"],\"wait_ms\":100}", 100 },
		{ "/queues/receive", "{\"queues\":[\"q\"]}", 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = post(rows[i].target, rows[i].body);
		assert_int_equal(count_in(a), 0);
		int64_t least_ms = rows[i].wait_ms ? rows[i].wait_ms - 1 : 0; /* whole milliseconds are left, or none */
		assert_in_range(a.took_us, least_ms * 1000, (rows[i].wait_ms + SLACK_MS) * 1000);
	}
	assert_int_equal(waiting_at(&patternd), 0);
}

TEST(what_is_there_is_not_waited_for)
{
	send_one("{\"body\":1}");
	struct answer a = post(receive_q, "{\"limit\":10," LONG "}"); /* one is enough */
	assert_int_equal(count_in(a), 1);
	assert_in_range(a.took_us, 0, SLACK_MS * 1000);
}

/* ---- What ends a wait: an event happens, or comes due, while a client waits ---- */

static void in_flight_for_a_moment(void)
{
	configure("{\"backoff\":{\"base_ms\":0,\"max_ms\":0}}");
	send_one("{\"body\":1,\"id\":\"m\"}");
	assert_int_equal(count_in(post(receive_q, "{\"visibility_ms\":150}")), 1);
}

static void delayed_for_a_moment(void)
{
	send_one("{\"body\":1,\"id\":\"m\",\"delay_ms\":150}");
}

static void delayed_for_an_hour(void)
{
	send_one("{\"body\":1,\"id\":\"m\",\"delay_ms\":3600000}");
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

static void is_patched(void)
{
	assert_status(http(client, "PATCH", "/queues/q/messages/m", "{\"delay_ms\":0}"), 200);
}

static void is_patched_to_a_moment(void)
{
	assert_status(http(client, "PATCH", "/queues/q/messages/m", "{\"delay_ms\":150}"), 200);
}

static void resume(void)
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
	{ "sent with a delay", nothing_more, delayed_for_a_moment, MOMENT_MS, 1 },
	{ "delayed already", delayed_for_a_moment, nothing_more, MOMENT_MS, 1 },
	{ "not visible any more", in_flight_for_a_moment, nothing_more, MOMENT_MS, 2 },
	{ "due now", delayed_for_an_hour, is_patched, 0, 1 },
	{ "due later", delayed_for_an_hour, is_put_off, 2 * MOMENT_MS, 1 },
	{ "no longer paused, and delayed", paused_and_delayed, resume, MOMENT_MS, 1 },
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

TEST_ROWS(an_event_ends_it, events, name);

/* ---- A try that fails ---- */

/* The next attempt meets a foreign key, so the wait ends with a problem and nothing hangs. */
TEST(a_try_that_fails_ends_it)
{
	delayed_for_a_moment();
	struct raw *w = parked("{" LONG "}");
	server_command(&redis, "SET p:queue:{q}:dead foreign");
	assert_problem(waiter_answer(w, receive_q, SOON_MS), 500, "foreign_key", "none");
	assert_int_equal(waiting_at(&patternd), 0);
	raw_close(w);
}

/* ---- What is delivered ---- */

TEST(what_was_asked_for_holds_for_waiters)
{
	struct raw *first = parked("{" LONG ",\"limit\":3,\"visibility_ms\":5000}");
	struct raw *second = parked("{" LONG ",\"limit\":3,\"acknowledge\":true}");
	send_one("{\"messages\":[{\"body\":5,\"priority\":9},{\"body\":3},{\"body\":4},{\"body\":1,\"priority\":0},"
		 "{\"body\":2,\"priority\":1}]}");
	struct answer a = waiter_answer(first, receive_q, SOON_MS), b = waiter_answer(second, receive_q, SOON_MS);
	assert_int_equal(count_in(a), 3);
	for (int i = 0; i < 3; i++) {
		char pointer[32];
		snprintf(pointer, sizeof(pointer), "/messages/%d/body", i);
		assert_int_equal(int_at(a, pointer), i + 1);
	}
	int64_t sent_at_ms = int_at(a, "/messages/0/sent_at_ms");
	assert_in_range(int_at(a, "/messages/0/visible_until_ms") - sent_at_ms, 5000, 5000 + SLACK_MS);
	assert_status(delivery(text_at(a, "/messages/0/receipt"), "extend", "{}"), 200);
	assert_int_equal(count_in(b), 2);
	assert_int_equal(int_at(b, "/messages/0/body"), 4);
	assert_int_equal(int_at(b, "/messages/1/body"), 5);
	assert_true(json_is_null(json_at(b, "/messages/1/receipt")));
	assert_int_equal(int_at(get("/queues/q"), "/in_flight"), 3);
	raw_close(first);
	raw_close(second);
}

/* Each of several requests on one connection may wait. */
TEST(a_worker_waits_again_and_again)
{
	char body[32];

	struct raw *w = raw_connect(patternd.port);
	for (int i = 0; i < 20; i++) {
		assert_true(waiter_ask(w, receive_q, "{" LONG "}", ""));
		wait_until(waiting_at(&patternd) == 1, SOON_MS);
		snprintf(body, sizeof(body), "{\"body\":%d}", i);
		send_one(body);
		assert_int_equal(int_at(waiter_answer(w, receive_q, SOON_MS), "/messages/0/body"), i);
	}
	/* A request that is pipelined behind a waiting one is answered after it. */
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
TEST(what_is_due_in_a_moment_is_answered_then)
{
	struct raw *w = raw_connect(patternd.port), *sender = raw_connect(patternd.port);

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
TEST(a_long_request_waits_too)
{
	static const char name[] = "%E2%82%AC%E2%82%AC%2F%20";
	char target[64 + 2 * sizeof(name)], *body = malloc(20000), headers[1200];

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

SUITE(.open = stage_open, .close = stage_close, .after = forget);
