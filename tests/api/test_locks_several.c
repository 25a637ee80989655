/* Several locks at once: all or nothing, one token, and no two waiters wait for each other's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/proc.h"
#include "../support/raw.h"
#include "../support/stage.h"

enum { SOON_MS = 10000, PHILOSOPHERS = 5, MEALS = 6 };

static struct answer release(const char *name, const char *token)
{
	char target[64], header[128];

	snprintf(target, sizeof(target), "/locks/%s", name);
	snprintf(header, sizeof(header), "Lock-Token: %s", token);
	return http(client, "DELETE", target, NULL, header);
}

static void ask(struct raw *r, const char *body, const char *headers)
{
	char request[1024];

	snprintf(
		request, sizeof(request),
		"POST /locks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n%s",
		strlen(body), headers, body);
	raw_text(r, request);
}

static int waiters_of(const char *name)
{
	char target[64];

	snprintf(target, sizeof(target), "/locks/%s", name);
	return (int)int_at(get(target), "/waiter_count");
}

static void all_or_nothing(void **state)
{
	(void)state;
	struct answer both = post("/locks", "{\"names\":[\"a\",\"b\"],\"owner\":\"me\"}");
	assert_status(both, 201);
	assert_string_equal(text_at(both, "/locks/1/name"), "b");
	assert_true(int_at(both, "/locks/1/fence") > 0);
	struct answer refused = post("/locks", "{\"names\":[\"c\",\"b\"]}");
	assert_problem(refused, 409, "lock_held", "none");
	assert_string_equal(text_at(refused, "/name"), "b");
	assert_string_equal(text_at(refused, "/holders/0/owner"), "me");
	assert_true(json_is_false(json_at(get("/locks/c"), "/held")));
	assert_int_equal(int_at(release("a", text_at(both, "/token")), "/holds"), 0);
	assert_true(json_is_true(json_at(get("/locks/b"), "/held")));
	assert_int_equal(int_at(release("b", text_at(both, "/token")), "/holds"), 0);
	assert_status(post("/locks", "{\"names\":[\"c\",\"b\"]}"), 201);
	assert_problem(post("/locks", "{\"names\":[\"c\",\"c\"]}"), 400, "invalid_value", "none");
}

static void a_waiter_for_several_is_not_overtaken(void **state)
{
	if (redis.cluster)
		skip(); /* over several slots a waiter is in one queue at a time: test_locks_slots.c */
	struct raw *r = raw_connect(patternd.port);

	(void)state;
	struct answer a = post("/locks/a", "{}");
	ask(r, "{\"names\":[\"a\",\"b\"],\"wait_ms\":20000}", "");
	wait_until(waiters_of("a") == 1 && waiters_of("b") == 1, SOON_MS);
	struct answer b = post("/locks/b", "{}"); /* free, but reserved for the waiter */
	assert_problem(b, 409, "lock_held", "none");
	assert_int_equal(json_array_size(json_at(b, "/holders")), 0);
	release("a", text_at(a, "/token"));
	assert_status(raw_answer(r, SOON_MS), 201);
	assert_int_equal(waiters_of("b"), 0);
	raw_close(r);
}

static void a_client_that_leaves_is_out_of_all_queues(void **state)
{
	if (redis.cluster)
		skip(); /* over several slots a waiter is in one queue at a time: test_locks_slots.c */
	struct raw *r = raw_connect(patternd.port);

	(void)state;
	post("/locks/a", "{}");
	ask(r, "{\"names\":[\"a\",\"b\"],\"wait_ms\":20000}", "");
	wait_until(waiters_of("a") == 1 && waiters_of("b") == 1, SOON_MS);
	raw_reset(r);
	wait_until(waiters_of("a") == 0 && waiters_of("b") == 0, SOON_MS);
	assert_status(post("/locks/b", "{}"), 201);
}

/* Each acquires its two forks, in an order of its own, over two daemons, again and again. */
static void philosophers_eat(void **state)
{
	struct daemon other = { 0 };
	struct raw *at[PHILOSOPHERS];
	int meals[PHILOSOPHERS] = { 0 };
	char body[PHILOSOPHERS][128];

	(void)state;
	daemon_start(&other, "--redis", redis.url);
	for (int i = 0; i < PHILOSOPHERS; i++) {
		int left = i, right = (i + 1) % PHILOSOPHERS;
		snprintf(body[i], sizeof(body[i]), "{\"names\":[\"fork-%d\",\"fork-%d\"],\"wait_ms\":30000}",
			 i % 2 ? left : right, i % 2 ? right : left);
		at[i] = raw_connect(i % 2 ? other.port : patternd.port);
		ask(at[i], body[i], "");
	}
	for (int eaten = 0; eaten < PHILOSOPHERS * MEALS;) {
		for (int i = 0; i < PHILOSOPHERS; i++) {
			if (meals[i] == MEALS)
				continue;
			struct answer a = raw_answer(at[i], 1);
			if (a.status == 0)
				continue;
			assert_status(a, 201);
			for (int k = 0; k < 2; k++)
				release(text_at(a, k ? "/locks/0/name" : "/locks/1/name"), text_at(a, "/token"));
			eaten++;
			if (++meals[i] < MEALS)
				ask(at[i], body[i], "");
		}
	}
	for (int i = 0; i < PHILOSOPHERS; i++)
		raw_close(at[i]);
	daemon_stop(&other);
}

static void a_retry_gets_the_first_answer(void **state)
{
	static const char two[] = "{\"names\":[\"a\",\"b\"],\"ttl_ms\":300,\"wait_ms\":20000}";
	if (redis.cluster)
		skip(); /* over several slots nothing is recorded: test_locks_slots.c */
	struct raw *r = raw_connect(patternd.port);

	(void)state;
	struct answer held = post("/locks/a", "{}");
	ask(r, two, "Idempotency-Key: k\r\n");
	wait_until(waiters_of("b") == 1, SOON_MS);
	assert_problem(http(client, "POST", "/locks", two, "Idempotency-Key: k"), 409, "request_in_progress", "none");
	release("a", text_at(held, "/token"));
	struct answer won = raw_answer(r, SOON_MS), again = http(client, "POST", "/locks", two, "Idempotency-Key: k");
	assert_status(won, 201);
	if (again.status == 201)
		assert_string_equal(text_at(again, "/token"), text_at(won, "/token"));
	wait_until(http(client, "POST", "/locks", two, "Idempotency-Key: k").status == 409, SOON_MS);
	again = http(client, "POST", "/locks", two, "Idempotency-Key: k");
	assert_problem(again, 409, "not_holder", "applied");
	raw_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(all_or_nothing, stage_forget),
		cmocka_unit_test_teardown(a_waiter_for_several_is_not_overtaken, stage_forget),
		cmocka_unit_test_teardown(a_client_that_leaves_is_out_of_all_queues, stage_forget),
		cmocka_unit_test_teardown(philosophers_eat, stage_forget),
		cmocka_unit_test_teardown(a_retry_gets_the_first_answer, stage_forget),
	};

	return cmocka_run_group_tests_name("several locks", tests, stage_open, stage_close);
}
