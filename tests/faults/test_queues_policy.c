/*
 * Two daemons get one receive request with one Idempotency-Key, from a queue with a policy. At that
 * time the first daemon has taken messages and has not yet paid for them. Both daemons answer the
 * same, and the policy is spent once. The messages of the first daemon are not lost if it is killed
 * or late.
 */
#include <signal.h>

#include "test.h"
#include "through_proxy.h"
#include "waiter.h"

enum { SOON_MS = 10000, DELAY_MS = 150, SENT = 3, ADMITTED = 2 };
#define RECEIVE "/queues/q/receive"
#define KEY "Idempotency-Key: one"

static struct daemon other; /* on the same Redis, without the proxy */
static struct client *rival;

static int open_both(void **state)
{
	start_through_proxy("30000");
	daemon_start(&other, "--redis", redis.url);
	rival = client_open(other.port);
	return 0;
}

static int close_both(void **state)
{
	client_close(rival);
	daemon_stop(&other);
	return stop_through_proxy(state);
}

static int make_queue(void **state)
{
	server_command(&redis, "FLUSHALL");
	client_forget(rival);
	assert_status(http(rival, "PUT", "/ratelimit/policies/p", "{\"limit\":2,\"window_ms\":86400000}"), 201);
	assert_status(http(rival, "PUT", "/queues/q", "{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}"), 201);
	assert_status(http(rival, "POST", "/queues/q/messages",
			   "{\"messages\":[{\"body\":1},{\"body\":2},{\"body\":3}]}"),
		      201);
	return 0;
}

/*
 * Sends the request to the first daemon. That daemon takes all messages, and is stopped before it
 * gets the reply.
 */
static struct raw *ask_first(const char *body)
{
	proxy_set(proxy, (struct proxy_fault){ .delay_ms = DELAY_MS });
	struct raw *w = waiter_at(&patternd, RECEIVE, body, KEY "\r\n");
	wait_until(server_command(&redis, "KEYS p:idem:*")->elements == 1, SOON_MS);
	proc_signal(&patternd.proc, SIGSTOP);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	return w;
}

static void assert_spent(int64_t remaining)
{
	struct answer a = http(rival, "POST", "/ratelimit", "{\"policy\":\"p\",\"key\":\"k\",\"cost\":0}");

	assert_int_equal(int_at(a, "/remaining"), remaining);
}

static void assert_got(struct answer a, size_t count)
{
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/messages")), count);
}

static void assert_left(int64_t ready, int64_t in_flight)
{
	struct answer a = http(rival, "GET", "/queues/q", NULL);

	assert_int_equal(int_at(a, "/ready"), ready);
	assert_int_equal(int_at(a, "/in_flight"), in_flight);
}

static void assert_current(struct answer a)
{
	for (int i = 0; i < ADMITTED; i++) {
		char at[32], target[128];
		snprintf(at, sizeof(at), "/messages/%d/receipt", i);
		snprintf(target, sizeof(target), "/queues/q/deliveries/%s", text_at(a, at));
		assert_status(http(rival, "DELETE", target, NULL), 204);
	}
}

/* ---- The first daemon pays ---- */

SUITE(.open = open_both, .close = close_both, .before = make_queue);

TEST(both_answer_the_same)
{
	static const char *const bodies[] = { "{\"limit\":10}", "{\"limit\":10,\"acknowledge\":true}" };

	for (size_t i = 0; i < 2; i++) {
		make_queue(state);
		struct raw *w = ask_first(bodies[i]);
		assert_problem(http(rival, "POST", RECEIVE, bodies[i], KEY), 409, "request_in_progress", "none");
		proc_signal(&patternd.proc, SIGCONT);
		struct answer first = waiter_answer(w, RECEIVE, SOON_MS);
		assert_got(first, ADMITTED);
		struct answer second = http(rival, "POST", RECEIVE, bodies[i], KEY);
		assert_string_equal(second.body, first.body);
		assert_spent(0);
		assert_left(SENT - ADMITTED, i ? 0 : ADMITTED);
		raw_close(w);
	}
}

TEST(a_waiter_gets_the_same)
{
	static const char body[] = "{\"limit\":10,\"wait_ms\":20000}";

	struct raw *w = ask_first(body), *second = waiter_at(&other, RECEIVE, body, KEY "\r\n");
	wait_until(all_parked(&other, 1), SOON_MS);
	proc_signal(&patternd.proc, SIGCONT);
	struct answer a = waiter_answer(w, RECEIVE, SOON_MS);
	assert_got(a, ADMITTED);
	assert_string_equal(waiter_answer(second, RECEIVE, SOON_MS).body, a.body);
	assert_spent(0);
	raw_close(w);
	raw_close(second);
}

/* ---- The first daemon does not pay ---- */

/* The first daemon gives the other daemon's answer, though the policy would admit more by then. */
TEST(a_late_one_answers_as_the_other_decided)
{
	static const char body[] = "{\"limit\":10,\"wait_ms\":20000}";

	struct raw *w = ask_first(body);
	struct answer a = http(rival, "POST", RECEIVE, body, KEY);
	assert_status(http(rival, "PUT", "/ratelimit/policies/p", "{\"limit\":20,\"window_ms\":86400000}"), 200);
	proc_signal(&patternd.proc, SIGCONT);
	assert_got(a, ADMITTED);
	struct answer late = waiter_answer(w, RECEIVE, SOON_MS);
	assert_string_equal(late.body, a.body);
	assert_left(SENT - ADMITTED, ADMITTED);
	assert_current(late);
	raw_close(w);
}

static void kill_first(struct raw *w)
{
	daemon_kill(&patternd);
	raw_close(w);
	daemon_start(&patternd, "--redis", proxy_url(proxy), "--redis-timeout-ms", "30000");
}

/*
 * A retry gets the messages that the killed daemon received or acknowledged. Acknowledged messages
 * are in the record alone.
 */
TEST(a_retry_gets_what_a_killed_one_took)
{
	static const char *const bodies[] = { "{\"limit\":10}", "{\"limit\":10,\"acknowledge\":true}" };
	struct answer a;

	for (size_t i = 0; i < 2; i++) {
		make_queue(state);
		kill_first(ask_first(bodies[i]));
		assert_left(0, i ? 0 : SENT);
		wait_until((a = http(rival, "POST", RECEIVE, bodies[i], KEY)).status == 200, SOON_MS);
		assert_got(a, ADMITTED);
		assert_left(SENT - ADMITTED, i ? 0 : ADMITTED);
		assert_string_equal(http(rival, "POST", RECEIVE, bodies[i], KEY).body, a.body);
		assert_spent(0);
	}
}

TEST(without_a_retry_they_come_back)
{
	kill_first(ask_first("{\"limit\":10,\"visibility_ms\":500}"));
	assert_status(http(rival, "PATCH", "/queues/q", "{\"policy\":null,\"backoff\":{\"base_ms\":0,\"max_ms\":0}}"),
		      200);
	struct answer a;
	wait_until(json_array_size(json_at(a = http(rival, "POST", RECEIVE, "{\"limit\":10}"), "/messages")) == SENT,
		   SOON_MS);
	assert_int_equal(int_at(a, "/messages/0/receives"), 2);
}
