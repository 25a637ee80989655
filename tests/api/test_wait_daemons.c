/*
 * Waiting at several daemons on one Redis: a message sent through one is for whoever waits, at either; what one daemon does, or that it
 * is gone, keeps nothing from those who wait at the other.
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stage.h"
#include "waiter.h"

enum { SOON_MS = 5000, SIDES = 2, CROWD = 10, MESSAGES = 200, LEAST_SHARE = MESSAGES / 20 };

#define LONG "\"wait_ms\":20000"

static const char receive_q[] = "/queues/q/receive";

static struct daemon other;  /* beside patternd, on the same Redis */
static struct client *rival; /* of the other */

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

static int forget(void **state)
{
	client_forget(client);
	client_forget(rival);
	return stage_forget(state);
}

/* One more who waits at the daemon. */
static struct raw *parked_with(const struct daemon *d, const char *body, const char *headers)
{
	return waiter_parked_with(d, &redis, "q", body, headers);
}

/* The same where both daemons wait. */
static struct raw *parked(const struct daemon *d, const char *body)
{
	struct raw *w = parked_with(d, body, "");

	if (waiting_at(&patternd) && waiting_at(&other)) {
		wait_until(heard_by(&redis, "q") == SIDES, SOON_MS);
		wait_until(all_parked(d, waiting_at(d)), SOON_MS);
	}
	return w;
}

static void send_number(struct client *through, int number)
{
	char body[64];

	snprintf(body, sizeof(body), "{\"body\":%d}", number);
	assert_status(http(through, "POST", "/queues/q/messages", body), 201);
}

static int64_t number_in(struct answer a)
{
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/messages")), 1);
	return int_at(a, "/messages/0/body");
}

static int64_t number_for(struct raw *r)
{
	return number_in(waiter_answer(r, receive_q, SOON_MS));
}

static void a_message_through_one_wakes_who_waits_at_the_other(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		struct raw *w = parked(&other, "{" LONG "}");
		send_number(client, i);
		assert_int_equal(number_for(w), i);
		raw_close(w);
	}
}

/* Nor is the other's time unknown to it: a delay, a pause, a delivery that ends. */
static void what_becomes_due_through_one_is_due_at_the_other(void **state)
{
	char target[128];

	(void)state;
	struct raw *w = parked(&other, "{" LONG ",\"visibility_ms\":150}");
	assert_status(post("/queues/q/messages", "{\"body\":1,\"delay_ms\":100}"), 201);
	assert_int_equal(number_for(w), 1); /* who lets it lie */
	assert_true(waiter_ask(w, receive_q, "{" LONG "}", ""));
	struct answer a = waiter_answer(w, receive_q, SOON_MS);
	assert_int_equal(int_at(a, "/messages/0/receives"), 2);
	assert_true(waiter_ask(w, receive_q, "{" LONG "}", ""));
	wait_until(all_parked(&other, 1), SOON_MS);
	snprintf(target, sizeof(target), "/queues/q/deliveries/%s/reject", text_at(a, "/messages/0/receipt"));
	assert_status(post(target, "{\"delay_ms\":100}"), 200);
	assert_int_equal(number_for(w), 1);
	raw_close(w);
}

/*
 * A retry through the other daemon waits there, unknown to the first. When the first was answered it gets the same, whatever woke it:
 * and that wake-up, which it did not need, goes to the next.
 */
static void what_wakes_a_retry_goes_to_the_next(void **state)
{
	static const char key[] = "Idempotency-Key: one\r\n";

	(void)state;
	struct raw *first = parked_with(&other, "{" LONG "}", "");
	struct raw *retry = parked_with(&other, "{" LONG "}", key);
	struct raw *original = parked_with(&patternd, "{" LONG "}", key);
	wait_until(heard_by(&redis, "q") == SIDES && all_parked(&patternd, 1), SOON_MS);
	long tries = metric_of(&other, "tries_again_total");
	proc_signal(&other.proc, SIGSTOP);
	send_number(client, 1);
	assert_int_equal(number_for(original), 1);
	proc_signal(&other.proc, SIGCONT);
	wait_until(metric_of(&other, "tries_again_total") == tries + 1 && all_parked(&other, 2), SOON_MS);
	send_number(client, 2);
	assert_int_equal(number_for(first), 2);
	struct raw *next = parked_with(&other, "{" LONG "}", "");
	send_number(client, 3);
	assert_int_equal(number_for(retry), 1);
	assert_int_equal(number_for(next), 3);
	raw_close(first);
	raw_close(retry);
	raw_close(original);
	raw_close(next);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_message_through_one_wakes_who_waits_at_the_other, forget),
		cmocka_unit_test_teardown(what_becomes_due_through_one_is_due_at_the_other, forget),
		cmocka_unit_test_teardown(what_wakes_a_retry_goes_to_the_next, forget),
	};

	return cmocka_run_group_tests_name("waiting at two daemons", tests, open_both, close_both);
}
