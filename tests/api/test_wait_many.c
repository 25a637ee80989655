/*
 * Many waiters for messages at one daemon: each message goes to exactly one of them, first come,
 * first served, and the others are not affected. Duplicates of a request that waits. (The cost of
 * waiting: test_wait_cost.c.)
 */
#include "stage.h"
#include "test.h"
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

SUITE(.open = stage_open, .close = stage_close, .after = forget);

/*
 * The first client receives a message, and the second finds none. Then a message is sent. The
 * daemon learns of that message before it gets the replies to the two receives. The first client no
 * longer needs the wake-up, so the wake-up must go to the second. (Redis executes all three
 * commands in one iteration, and then writes to the subscriber first.)
 */
TEST(a_wake_up_that_one_needs_no_more_goes_to_the_next)
{
	struct daemon d = { 0 };

	if (redis.cluster)
		skip(); /* the test counts commands, and reading the map of a Cluster is one */
	daemon_start(&d, "--redis", redis.url, "--pool-size", "1");
	for (int i = 0; i < 10; i++) {
		struct raw *w = waiter_parked(&d, &redis, "q", "{" LONG "}"); /* subscribes the daemon to the queue */
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

/* ---- Many waiters ---- */

static struct raw *crowd[CROWD];

static void gather(const char *body)
{
	for (int i = 0; i < CROWD; i++)
		crowd[i] = waiter_parked(&patternd, &redis, "q", body);
}

static void disperse(void)
{
	for (int i = 0; i < CROWD; i++)
		raw_close(crowd[i]);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
}

static int answered_in_crowd(void)
{
	int answered = 0;

	for (int i = 0; i < CROWD; i++)
		answered += waiter_is_answered(crowd[i]);
	return answered;
}

TEST(first_come_first_served)
{
	gather("{" LONG "}");
	for (int i = 0; i < CROWD; i++) {
		send_number(i);
		assert_int_equal(number_for(crowd[i]), i);
		assert_int_equal(answered_in_crowd(), 0);
	}
	assert_int_equal(waiting_at(&patternd), 0);
	disperse();
}

/* A waiter keeps its place, however many attempts fail. */
TEST(a_try_in_vain_costs_no_place)
{
	struct raw *first = waiter_parked(&patternd, &redis, "q", "{" LONG "}");
	struct raw *second = waiter_parked(&patternd, &redis, "q", "{" LONG "}");
	for (int i = 0; i < 20; i++) {
		long tries = metric_of(&patternd, "wait_retries_total");
		wake_waiters(&redis, "p:queue:{q}"); /* without a message */
		wait_until(metric_of(&patternd, "wait_retries_total") == tries + 2 && all_parked(&patternd, 2),
			   SOON_MS);
	}
	send_number(1);
	assert_int_equal(number_for(first), 1);
	assert_false(waiter_is_answered(second));
	raw_close(first);
	raw_close(second);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
}

/*
 * Messages are sent, come due or are resumed all at once. Each goes to one waiter, and no waiter is
 * left while there is a message.
 */
TEST(each_of_many_goes_to_one)
{
	static const char *const ways[] = { "", ",\"delay_ms\":100", "" };
	char *body = malloc(CROWD * 64);

	assert_non_null(body);
	for (int way = 0; way < 3; way++) {
		bool seen[CROWD] = { false };
		if (way == 2)
			assert_status(http(client, "PATCH", "/queues/q", "{\"paused\":true}"), 200);
		gather("{" LONG "}");
		char *at = body + sprintf(body, "{\"messages\":[");
		for (int i = 0; i < CROWD; i++)
			at += sprintf(at, "%s{\"body\":%d%s}", i ? "," : "", i, ways[way]);
		strcpy(at, "]}");
		assert_status(post("/queues/q/messages", body), 201);
		if (way == 2)
			assert_status(http(client, "PATCH", "/queues/q", "{\"paused\":null}"), 200);
		for (int i = 0; i < CROWD; i++) {
			int64_t number = number_for(crowd[i]);
			assert_in_range(number, 0, CROWD - 1);
			assert_false(seen[number]);
			seen[number] = true;
		}
		disperse();
	}
	free(body);
}

TEST(max_spares_the_others_the_way)
{
	struct raw *w[3];
	for (int i = 0; i < 3; i++)
		w[i] = waiter_parked(&patternd, &redis, "q", "{" LONG ",\"limit\":5}");
	long long scripts = server_scripts_run(&redis);
	assert_status(post("/queues/q/messages", "{\"messages\":[{\"body\":1},{\"body\":2},{\"body\":3},{\"body\":4},"
						 "{\"body\":5},{\"body\":6},{\"body\":7}]}"),
		      201);
	assert_int_equal(count_in(waiter_answer(w[0], receive_q, SOON_MS)), 5);
	assert_int_equal(count_in(waiter_answer(w[1], receive_q, SOON_MS)), 2);
	wait_until(all_parked(&patternd, 1), SOON_MS);
	assert_int_equal(server_scripts_run(&redis), scripts + 3);
	assert_false(waiter_is_answered(w[2]));
	for (int i = 0; i < 3; i++)
		raw_close(w[i]);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
}

/* ---- Duplicates of a request that waits ---- */

#define KEY "Idempotency-Key: one"

TEST(a_duplicate_of_a_waiter_is_refused)
{
	static const char body[] = "{" LONG ",\"visibility_ms\":60000}";

	struct raw *first = waiter_parked_with(&patternd, &redis, "q", body, KEY "\r\n");
	assert_problem(http(client, "POST", receive_q, body, KEY), 409, "request_in_progress", "none");
	assert_problem(http(client, "POST", receive_q, body, "Idempotency-Key: \"one\""), 409, "request_in_progress",
		       "none");
	assert_problem(http(client, "POST", receive_q, "{" LONG "}", KEY), 422, "idempotency_key_reused", "none");
	/* Another queue, another operation and another key are not duplicates. */
	struct raw *others[] = {
		waiter_parked_with(&patternd, &redis, "r", body, KEY "\r\n"),
		waiter_parked_with(&patternd, &redis, "q", body, "Idempotency-Key: two\r\n"),
		waiter_at(&patternd, "/queues/receive", "{\"queues\":[\"q\"]," LONG "}", KEY "\r\n"),
	};
	wait_until(all_parked(&patternd, 4), SOON_MS);
	send_number(1);
	struct answer a = waiter_answer(first, receive_q, SOON_MS);
	assert_int_equal(number_in(a), 1);
	for (int i = 0; i < 2; i++)
		assert_string_equal(http(client, "POST", receive_q, body, KEY).body, a.body);
	assert_problem(http(client, "POST", receive_q, "{" LONG "}", KEY), 422, "idempotency_key_reused", "none");
	assert_int_equal(waiting_at(&patternd), 3);
	raw_close(first);
	for (int i = 0; i < 3; i++)
		raw_close(others[i]);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
}

TEST(a_duplicate_of_many_queues_is_refused)
{
	static const char target[] = "/queues/receive", body[] = "{\"queues\":[\"q\",\"r\"]," LONG "}";

	if (redis.cluster)
		skip(); /* over several slots nothing is recorded: test_queues_slots.c */
	struct raw *first = waiter_at(&patternd, target, body, KEY "\r\n");
	wait_until(subscribers_of(&redis, "r") == 1 && all_parked(&patternd, 1), SOON_MS);
	assert_problem(http(client, "POST", target, body, KEY), 409, "request_in_progress", "none");
	assert_problem(http(client, "POST", target, "{\"queues\":[\"r\",\"q\"]," LONG "}", KEY), 422,
		       "idempotency_key_reused", "none");
	send_number(1);
	struct answer a = waiter_answer(first, target, SOON_MS);
	assert_int_equal(number_in(a), 1);
	assert_string_equal(http(client, "POST", target, body, KEY).body, a.body);
	raw_close(first);
}

/*
 * A request that received nothing is not recorded: after it disconnected or waited in vain, its key
 * is free.
 */
TEST(a_key_is_free_again)
{
	struct raw *first = waiter_parked_with(&patternd, &redis, "q", "{" LONG "}", KEY "\r\n");
	raw_close(first);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
	assert_int_equal(count_in(http(client, "POST", receive_q, "{\"wait_ms\":1}", KEY)), 0);
	assert_int_equal(count_in(http(client, "POST", receive_q, "{\"wait_ms\":2}", KEY)), 0);
	struct raw *again = waiter_parked_with(&patternd, &redis, "q", "{" LONG "}", KEY "\r\n");
	send_number(1);
	assert_int_equal(number_for(again), 1);
	raw_close(again);
}
