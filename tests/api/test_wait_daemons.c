/*
 * Waiting at several daemons on one Redis: a message that is sent through one daemon goes to a
 * waiter at any of them. Whatever one daemon does, even if it is killed, the waiters at the other
 * are served.
 */
#include <poll.h>
#include <signal.h>

#include "stage.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 5000, SIDES = 2, CROWD = 10, MESSAGES = 200, LEAST_SHARE = MESSAGES / 20, MOST_TAKEN = 3 };

#define LONG "\"wait_ms\":20000"

static struct daemon other;  /* beside patternd, on the same Redis */
static struct client *rival; /* of the other daemon */
static char queue[16];       /* each test has its own: no daemon is subscribed to it before the first waiter */
static char queue_target[64], receive_target[64], messages_target[64];

static int open_both(void **state)
{
	stage_open(state);
	daemon_start(&other, "--redis", redis.url);
	rival = client_open(other.port);
	return 0;
}

static int close_both(void **state)
{
	client_close(rival);
	daemon_stop(&other);
	return stage_close(state);
}

static int new_queue(void **state)
{
	static int serial;

	snprintf(queue, sizeof(queue), "q%d", serial++);
	snprintf(queue_target, sizeof(queue_target), "/queues/%s", queue);
	snprintf(receive_target, sizeof(receive_target), "/queues/%s/receive", queue);
	snprintf(messages_target, sizeof(messages_target), "/queues/%s/messages", queue);
	return 0;
}

static int forget(void **state)
{
	client_forget(client);
	client_forget(rival);
	return stage_forget(state);
}

/* A delivery that ends is due again at once. */
static void without_backoff(void)
{
	assert_status(http(client, "PATCH", queue_target, "{\"backoff\":{\"base_ms\":0,\"max_ms\":0}}"), 200);
}

static struct raw *ask(const struct daemon *d, const char *body, const char *headers)
{
	return waiter_at(d, receive_target, body, headers);
}

/* Waits until as many clients wait at each daemon, and as many daemons are subscribed, as given. */
static void settle(long at_patternd, long at_other, long daemons)
{
	wait_until(subscribers_of(&redis, queue) == daemons, SOON_MS);
	wait_until(all_parked(&patternd, at_patternd) && all_parked(&other, at_other), SOON_MS);
}

static void send_number(struct client *through, int number)
{
	char body[64];

	snprintf(body, sizeof(body), "{\"body\":%d}", number);
	assert_status(http(through, "POST", messages_target, body), 201);
}

static int64_t number_in(struct answer a)
{
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/messages")), 1);
	return int_at(a, "/messages/0/body");
}

static int64_t number_for(struct raw *r)
{
	return number_in(waiter_answer(r, receive_target, SOON_MS));
}

SUITE(.open = open_both, .close = close_both, .before = new_queue, .after = forget);

/*
 * A daemon learns the instants that another daemon set: for a delay, for the end of a delivery, and
 * for a rejected delivery.
 */
TEST(what_becomes_due_through_one_is_due_at_the_other)
{
	char target[128];

	without_backoff();
	struct raw *w = ask(&other, "{" LONG ",\"visibility_ms\":150}", "");
	settle(0, 1, 1);
	assert_status(post(messages_target, "{\"body\":1,\"delay_ms\":100}"), 201);
	assert_int_equal(number_for(w), 1); /* the worker receives it and does nothing */
	assert_true(waiter_ask(w, receive_target, "{" LONG "}", ""));
	struct answer a = waiter_answer(w, receive_target, SOON_MS);
	assert_int_equal(int_at(a, "/messages/0/receives"), 2);
	assert_true(waiter_ask(w, receive_target, "{" LONG "}", ""));
	settle(0, 1, 1);
	snprintf(target, sizeof(target), "/queues/%s/deliveries/%s/reject", queue, text_at(a, "/messages/0/receipt"));
	assert_status(post(target, "{\"delay_ms\":100}"), 200);
	assert_int_equal(number_for(w), 1);
	raw_close(w);
}

/*
 * A retry through the other daemon waits there, unknown to the first daemon. After the original is
 * answered, the retry gets the same answer when it is woken, and the message that it did not need
 * goes to the next waiter.
 */
TEST(what_wakes_a_retry_goes_to_the_next)
{
	static const char key[] = "Idempotency-Key: one\r\n";

	struct raw *original = ask(&patternd, "{" LONG "}", key);
	settle(1, 0, 1);
	struct raw *retry = ask(&other, "{" LONG "}", key);
	settle(1, 1, 2);
	send_number(client, 1);
	assert_int_equal(number_for(original), 1);
	struct raw *next = ask(&other, "{" LONG "}", "");
	settle(0, 2, 2);
	send_number(client, 2);
	assert_int_equal(number_for(retry), 1);
	assert_int_equal(number_for(next), 2);
	raw_close(retry);
	raw_close(original);
	raw_close(next);
}

/* ---- Both at once ---- */

/* CROWD waiters at each daemon; a served client asks again. */
static struct raw *crowd[SIDES][CROWD];

static void gather(void)
{
	const struct daemon *sides[SIDES] = { &patternd, &other };

	for (int s = 0; s < SIDES; s++)
		for (int i = 0; i < CROWD; i++)
			crowd[s][i] = ask(sides[s], "{" LONG "}", "");
	settle(CROWD, CROWD, SIDES);
}

static void disperse(void)
{
	for (int s = 0; s < SIDES; s++)
		for (int i = 0; i < CROWD; i++)
			raw_close(crowd[s][i]);
	wait_until(waiting_at(&patternd) == 0 && waiting_at(&other) == 0, SOON_MS);
}

/*
 * Reads `count` answers; each message must come once. Adds to `shares` how many messages each
 * daemon delivered.
 */
static void serve(int count, bool seen[], int shares[SIDES])
{
	int64_t until_ms = monotonic_ms() + SOON_MS;

	while (count > 0) {
		struct pollfd fds[SIDES * CROWD];
		for (int i = 0; i < SIDES * CROWD; i++)
			fds[i] = (struct pollfd){ .fd = raw_fd(crowd[i / CROWD][i % CROWD]), .events = POLLIN };
		poll(fds, SIDES * CROWD, 100);
		for (int i = 0; i < SIDES * CROWD; i++) {
			struct raw *w = crowd[i / CROWD][i % CROWD];
			if (!fds[i].revents)
				continue;
			int64_t number = number_for(w);
			assert_in_range(number, 0, MESSAGES - 1);
			assert_false(seen[number]);
			seen[number] = true;
			shares[i / CROWD]++;
			count--;
			assert_true(waiter_ask(w, receive_target, "{" LONG "}", ""));
		}
		if (monotonic_ms() > until_ms)
			fail_msg("%d messages reached no waiter", count);
	}
}

TEST(neither_starves)
{
	for (int burst = 1; burst <= 25; burst += 24) {
		bool seen[MESSAGES] = { false };
		int shares[SIDES] = { 0 };
		new_queue(state);
		gather();
		for (int i = 0; i < MESSAGES; i++) {
			send_number(i / burst % 2 ? rival : client, i);
			if (i % burst == burst - 1)
				serve(burst, seen, shares);
		}
		print_message("%d messages, %d at a time: %d and %d\n", MESSAGES, burst, shares[0], shares[1]);
		assert_true(shares[0] >= LEAST_SHARE && shares[1] >= LEAST_SHARE);
		disperse();
		forget(state);
	}
}

/* ---- One is gone ---- */

TEST(waiters_at_the_other_get_all)
{
	struct daemon doomed = { 0 };
	struct raw *victims[CROWD], *w[CROWD];

	daemon_start(&doomed, "--redis", redis.url);
	for (int i = 0; i < CROWD; i++) {
		victims[i] = ask(&doomed, "{" LONG "}", "");
		w[i] = ask(&patternd, "{" LONG "}", "");
		settle(i + 1, 0, 2); /* in this order */
	}
	wait_until(all_parked(&doomed, CROWD), SOON_MS);
	daemon_kill(&doomed);
	for (int i = 0; i < CROWD; i++) {
		send_number(i % 2 ? rival : client, i);
		assert_int_equal(number_for(w[i]), i);
		assert_true(raw_closed(victims[i], SOON_MS));
		raw_close(victims[i]);
		raw_close(w[i]);
	}
}

/*
 * One round of a worker that waits, receives and acknowledges. Returns how many messages it
 * received, and adds to `twice` how many of them had been delivered before.
 */
static int work(struct raw *w, const char *body, bool seen[], int *twice)
{
	char target[128];
	size_t i;
	json_t *m;

	assert_true(waiter_ask(w, receive_target, body, ""));
	struct answer a = waiter_answer(w, receive_target, SOON_MS);
	assert_status(a, 200);
	json_array_foreach(json_at(a, "/messages"), i, m) {
		int64_t number = json_integer_value(json_object_get(m, "body"));
		assert_in_range(number, 0, MESSAGES - 1);
		assert_false(seen[number]);
		seen[number] = true;
		*twice += json_integer_value(json_object_get(m, "receives")) > 1;
		snprintf(target, sizeof(target), "/queues/%s/deliveries/%s", queue,
			 json_string_value(json_object_get(m, "receipt")));
		assert_status(http(client, "DELETE", target, NULL), 204);
	}
	return (int)json_array_size(json_at(a, "/messages"));
}

/*
 * A daemon is killed under load. The messages that it had received come back when their deliveries
 * end, and no other message is delivered twice.
 */
TEST(what_a_killed_one_had_taken_comes_back)
{
	static const char body[] = "{" LONG ",\"visibility_ms\":1000,\"limit\":3}";
	struct daemon doomed = { 0 };
	struct raw *victims[CROWD];
	bool seen[MESSAGES] = { false };
	int twice = 0;

	without_backoff();
	daemon_start(&doomed, "--redis", redis.url);
	for (int i = 0; i < CROWD; i++)
		victims[i] = ask(&doomed, body, "");
	wait_until(subscribers_of(&redis, queue) == 1 && all_parked(&doomed, CROWD), SOON_MS);
	struct raw *sender = raw_connect(patternd.port), *w = raw_connect(patternd.port);
	for (int i = 0; i < MESSAGES; i++) {
		char message[32];
		snprintf(message, sizeof(message), "{\"body\":%d}", i);
		assert_true(waiter_ask(sender, messages_target, message, ""));
		if (i == CROWD) {
			wait_until(int_at(get(queue_target), "/in_flight") > 0, SOON_MS);
			daemon_kill(&doomed);
		}
	}
	for (int done = 0; done < MESSAGES;)
		done += work(w, body, seen, &twice);
	print_message("%d messages, %d of them received before by the killed daemon\n", MESSAGES, twice);
	assert_in_range(twice, 1, MOST_TAKEN * CROWD);
	for (int i = 0; i < CROWD; i++)
		raw_close(victims[i]);
	raw_close(w);
	raw_close(sender);
}
