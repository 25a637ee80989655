/*
 * Many who wait for messages at one daemon: each message goes to exactly one of them, first come, first served, and the rest
 * feel nothing of it. Duplicates of a request that waits. (The cost of waiting: test_wait_cost.c.)
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

enum { SOON_MS = 5000, CROWD = 50 };

#define LONG "\"wait_ms\":20000"

static const char receive_q[] = "/queues/q/receive";

static int forget(void **state)
{
	client_forget(client);
	return stage_forget(state);
}

static size_t count_in(struct answer a)
{
	assert_status(a, 200);
	assert_true(json_is_array(json_at(a, "/messages")));
	return json_array_size(json_at(a, "/messages"));
}

static void send_number(int number)
{
	char body[64];

	snprintf(body, sizeof(body), "{\"body\":%d}", number);
	assert_status(post("/queues/q/messages", body), 201);
}

/* The body of the only message of an answer. */
static int64_t number_in(struct answer a)
{
	assert_int_equal(count_in(a), 1);
	return int_at(a, "/messages/0/body");
}

static int64_t number_for(struct raw *r)
{
	return number_in(waiter_answer(r, receive_q, SOON_MS));
}

/*
 * The first takes what is there, the second finds nothing, then a message is sent; and the daemon hears of that before it hears what
 * became of the two. What was meant for the first, who needs it no more, is for the second. (All three are carried out in one turn of
 * Redis, which then speaks to the subscriber first.)
 */
static void a_wake_up_that_one_needs_no_more_goes_to_the_next(void **state)
{
	struct daemon d = { 0 };

	(void)state;
	daemon_start(&d, "--redis", redis.url, "--pool-size", "1");
	for (int i = 0; i < 10; i++) {
		struct raw *w = waiter_parked(&d, &redis, "q", "{" LONG "}"); /* the queue is heard from now on */
		send_number(0);
		assert_int_equal(number_for(w), 0);
		send_number(1);
		long commands = metric_of(&d, "redis_commands_total");
		server_command(&redis, "CLIENT PAUSE 10000 WRITE");
		struct raw *first = waiter(&d, "q", "{" LONG "}");
		wait_until(metric_of(&d, "redis_commands_total") == commands + 1, SOON_MS);
		struct raw *second = waiter(&d, "q", "{" LONG "}");
		wait_until(metric_of(&d, "redis_commands_total") == commands + 2, SOON_MS);
		struct raw *sender = waiter_at(&d, "/queues/q/messages", "{\"body\":2}", "");
		wait_until(metric_of(&d, "redis_commands_total") == commands + 3, SOON_MS);
		server_command(&redis, "CLIENT UNPAUSE");
		assert_int_equal(number_for(first), 1);
		assert_int_equal(number_for(second), 2);
		assert_status(raw_answer(sender, SOON_MS), 201);
		raw_close(w);
		raw_close(first);
		raw_close(second);
		raw_close(sender);
	}
	daemon_stop(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_wake_up_that_one_needs_no_more_goes_to_the_next, forget),
	};

	return cmocka_run_group_tests_name("many who wait", tests, stage_open, stage_close);
}
