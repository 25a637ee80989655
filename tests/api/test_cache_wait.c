/*
 * Clients wait for a cached value at two daemons. When a value is stored, each daemon answers its
 * waiters with one script, or a few for hundreds of waiters. When no value is stored, one waiter
 * gets the ticket to make it.
 */
#include <signal.h>

#include "stage.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 5000, CROWD = 10, SIDES = 2, OFFER_MS = 1000 };

#define A "/cache/a"
#define FILL A "/fill"
#define VALUE "{\"value\":{\"of\":[1,2,3]}}"
#define LONG "{\"wait_ms\":20000,\"fill_ms\":60000}"
#define KEY "Idempotency-Key: one"

static struct daemon other; /* beside patternd, on the same Redis */
static struct raw *crowd[SIDES * CROWD];

static int open_both(void **state)
{
	stage_open(state);
	daemon_start(&other, "--redis", redis.url);
	return 0;
}

static int close_both(void **state)
{
	daemon_stop(&other);
	return stage_close(state);
}

static long tickets(void)
{
	return tickets_at(&redis, "p:cache:{a}");
}

/* Adds a waiter at the end of the wait queue. */
static struct raw *waits_at(const struct daemon *d, const char *body, const char *headers)
{
	long before = tickets();

	struct raw *w = waiter_at(d, FILL, body, headers);
	wait_until(tickets() == before + 1, SOON_MS);
	return w;
}

/* Adds `count` waiters at each of `sides` daemons, in turn. */
static void gather(int count, int sides)
{
	for (int i = 0; i < sides * count; i++)
		crowd[i] = waits_at(i % sides ? &other : &patternd, LONG, "");
	wait_until(subscribers_at(&redis, "p:cache:{a}") == sides, SOON_MS);
	wait_until(all_parked(&patternd, count) && all_parked(&other, sides == SIDES ? count : 0), SOON_MS);
}

static void close_all(int count)
{
	for (int i = 0; i < count; i++)
		raw_close(crowd[i]);
	wait_until(waiting_at(&patternd) == 0 && waiting_at(&other) == 0, SOON_MS);
}

/* All waiters that are left get what GET returns. */
static void all_get_the_value(int from, int count)
{
	char *expected = strdup(get(A).body);

	for (int i = from; i < count; i++) {
		if (!crowd[i])
			continue;
		struct answer a = waiter_answer(crowd[i], FILL, SOON_MS);
		assert_status(a, 200);
		assert_string_equal(a.body, expected);
		assert_non_null(header_of(a, "ETag"));
	}
	free(expected);
}

static int answered(int count)
{
	int n = 0;

	for (int i = 0; i < count; i++)
		n += crowd[i] && waiter_is_answered(crowd[i]);
	return n;
}

/* ---- A value is stored ---- */

SUITE(.open = open_both, .close = close_both, .after = stage_forget);

/* With one or with CROWD waiters per daemon, Redis runs the PUT and one script per daemon. */
TEST(a_value_costs_a_script_a_daemon)
{
	static const int counts[] = { 1, CROWD };

	if (redis.cluster)
		skip(); /* scripts are counted at one server */
	for (int sides = 1; sides <= SIDES; sides++)
		for (int i = 0; i < 2; i++) {
			const char *ticket = fill_ticket(post(FILL, LONG));
			gather(counts[i], sides);
			long long scripts = server_scripts_run(&redis), commands = server_commands_run(&redis);
			nap_ms(50); /* the daemons send nothing in this time */
			assert_int_equal(server_commands_run(&redis), commands);
			assert_status(http(client, "PUT", A, VALUE, ticket), 201);
			wait_until(answered(sides * counts[i]) == sides * counts[i], SOON_MS);
			assert_int_equal(server_scripts_run(&redis) - scripts, 1 + sides);
			assert_int_equal(tickets(), 0);
			all_get_the_value(0, sides * counts[i]);
			close_all(sides * counts[i]);
			assert_int_equal(server_scripts_run(&redis) - scripts, 1 + sides + 1); /* PUT, sides, GET */
			stage_forget(NULL);
		}
}

/*
 * The daemon answers the waiters in several parts, so that it can serve other clients in between.
 */
TEST(a_herd_is_answered_in_parts)
{
	enum { HERD = 600, MOST_SCRIPTS = 1 + 3 + 1 };
	static struct raw *herd[HERD];
	long stalls = metric_of(&patternd, "loop_stalls_total");

	if (redis.cluster)
		skip(); /* scripts are counted at one server */
	const char *ticket = fill_ticket(post(FILL, LONG));
	for (int i = 0; i < HERD; i++)
		herd[i] = waiter_at(&patternd, FILL, LONG, "");
	wait_until(tickets() == HERD && all_parked(&patternd, HERD), SOON_MS);
	long long scripts = server_scripts_run(&redis);
	assert_status(http(client, "PUT", A, VALUE, ticket), 201);
	for (int i = 0; i < HERD; i++) {
		assert_status(waiter_answer(herd[i], FILL, SOON_MS), 200);
		raw_close(herd[i]);
	}
	assert_in_range(server_scripts_run(&redis) - scripts, 1 + 3, MOST_SCRIPTS);
	print_message("%ld stalls of the loop\n", metric_of(&patternd, "loop_stalls_total") - stalls);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
}

TEST(any_put_is_what_they_wait_for)
{
	const char *ticket = fill_ticket(post(FILL, LONG));
	gather(2, SIDES);
	assert_problem(http(client, "PUT", A, VALUE, "If-Match: *"), 412, "precondition_failed", "none");
	assert_int_equal(answered(4), 0);
	assert_status(http(client, "PUT", A, VALUE), 201); /* without the ticket */
	all_get_the_value(0, 4);
	assert_problem(http(client, "PUT", A, VALUE, ticket), 410, "ticket_expired", "none");
	close_all(4);
}

/* The value is stored and deleted again and again. Each waiter gets a value, or makes one. */
TEST(none_is_forgotten_when_values_come_and_go)
{
	for (int round = 0; round < 20; round++) {
		assert_status(post(FILL, LONG), 201);
		gather(3, SIDES);
		assert_status(http(client, "PUT", A, VALUE), 201);
		assert_status(http(client, "DELETE", A, NULL), 204);
		/*
		 * Waiters that saw the value are answered; one of the others makes the next value.
		 */
		int left = 6, tickets_given = 0;
		while (left > 0) {
			wait_until(answered(6) > 0, SOON_MS);
			for (int i = 0; i < 6; i++) {
				if (!crowd[i] || !waiter_is_answered(crowd[i]))
					continue;
				struct answer a = waiter_answer(crowd[i], FILL, SOON_MS);
				left--;
				if (a.status == 201) {
					tickets_given++;
					assert_status(http(client, "PUT", A, VALUE, fill_ticket(a)), 201);
				} else {
					assert_status(a, 200);
				}
				raw_close(crowd[i]);
				crowd[i] = NULL;
			}
		}
		assert_in_range(tickets_given, 0, 1);
		stage_forget(NULL);
	}
}

/* ---- No value is stored ---- */

static void the_value_is_deleted(void)
{
	assert_status(http(client, "DELETE", A, NULL), 204);
}

static void the_value_is_invalidated(void)
{
	assert_status(post(A "/invalidate", NULL), 200);
}

static void its_key_is_deleted(void)
{
	assert_status(http(client, "DELETE", "/keys/cache:%7Ba%7D:fill", NULL), 204);
}

TEST(then_one_of_them_makes_it)
{
	static void (*const ways[])(void) = { the_value_is_deleted, the_value_is_invalidated, its_key_is_deleted };

	for (size_t way = 0; way < COUNT(ways); way++) {
		fill_ticket(post(FILL, LONG));
		gather(CROWD / 2, SIDES);
		ways[way]();
		wait_until(answered(CROWD) == 1, SOON_MS);
		int first = 0;
		while (!waiter_is_answered(crowd[first]))
			first++;
		assert_true(first == 0 || ways[way] == its_key_is_deleted); /* a deleted key wakes all waiters */
		struct answer a = waiter_answer(crowd[first], FILL, SOON_MS);
		const char *ticket = fill_ticket(a);
		assert_in_range(int_at(a, "/ttl_ms"), 1, 60000);
		raw_close(crowd[first]);
		crowd[first] = NULL;
		wait_until(waiting_at(&patternd) + waiting_at(&other) == CROWD - 1, SOON_MS);
		assert_int_equal(answered(CROWD), 0);
		assert_status(http(client, "PUT", A, VALUE, ticket), 201);
		all_get_the_value(0, CROWD);
		close_all(CROWD);
		stage_forget(NULL);
	}
}

/* One waiter tries again when the ticket expires, although no message wakes it. */
TEST(when_the_ticket_expires_one_looks)
{
	int64_t begin_ms = monotonic_ms();
	assert_status(post(FILL, "{\"fill_ms\":800}"), 201);
	gather(3, SIDES);
	wait_until(answered(6) == 1, SOON_MS);
	assert_true(monotonic_ms() - begin_ms >= 799);
	assert_true(waiter_is_answered(crowd[0]));
	const char *ticket = fill_ticket(waiter_answer(crowd[0], FILL, SOON_MS));
	assert_status(http(client, "PUT", A, VALUE, ticket), 201);
	all_get_the_value(1, 6);
	close_all(6);
}

TEST(a_wait_that_ends_is_answered_as_without)
{
	fill_ticket(post(FILL, LONG));
	int64_t begin_ms = monotonic_ms();
	struct answer a = post(FILL, "{\"wait_ms\":300}");
	assert_problem(a, 409, "cache_fill_in_progress", "none");
	assert_true(monotonic_ms() - begin_ms >= 299);
	assert_in_range(int_at(a, "/retry_after_ms"), 50000, 60000);
	assert_int_equal(tickets(), 0);
	assert_problem(post(FILL, "{\"wait_ms\":60001}"), 400, "out_of_range", "none");
	assert_problem(post(FILL, "{\"wait_ms\":-1}"), 400, "out_of_range", "none");
	assert_problem(post(FILL, "{\"wait_ms\":\"1\"}"), 400, "wrong_type", "none");
}

/* ---- Clients and daemons that leave ---- */

TEST(a_client_that_leaves_is_not_chosen)
{
	fill_ticket(post(FILL, LONG));
	gather(2, SIDES);
	raw_close(crowd[0]);
	wait_until(tickets() == 3, SOON_MS);
	assert_status(http(client, "DELETE", A, NULL), 204);
	wait_until(waiter_is_answered(crowd[1]), SOON_MS);
	assert_status(waiter_answer(crowd[1], FILL, SOON_MS), 201);
	crowd[0] = NULL;
	close_all(4);
}

/* The client that got the ticket has disconnected: the next waiter may make the value. */
TEST(a_ticket_got_in_vain_goes_to_the_next)
{
	if (redis.cluster)
		skip(); /* one server is paused, and commands are counted */
	long commands = metric_of(&patternd, "redis_commands_total");
	server_command(&redis, "CLIENT PAUSE 10000 WRITE");
	struct raw *first = waiter_at(&patternd, FILL, LONG, "");
	wait_until(metric_of(&patternd, "redis_commands_total") == commands + 1, SOON_MS);
	nap_ms(10); /* its grace polls have ended: it is suspended */
	struct raw *second = waiter_at(&patternd, FILL, LONG, "");
	wait_until(metric_of(&patternd, "redis_commands_total") == commands + 2, SOON_MS);
	raw_close(first);
	server_command(&redis, "CLIENT UNPAUSE");
	assert_status(waiter_answer(second, FILL, SOON_MS), 201);
	raw_close(second);
}

TEST(a_daemon_that_dies_delays_by_a_second)
{
	fill_ticket(post(FILL, LONG));
	struct raw *dies = waits_at(&other, LONG, ""), *lives = waits_at(&patternd, LONG, "");
	wait_until(subscribers_at(&redis, "p:cache:{a}") == 2 && all_parked(&other, 1) && all_parked(&patternd, 1),
		   SOON_MS);
	proc_signal(&other.proc, SIGSTOP); /* it gets the offer, and does not answer */
	assert_status(http(client, "DELETE", A, NULL), 204);
	assert_status(waiter_answer(lives, FILL, OFFER_MS + SOON_MS), 201);
	daemon_kill(&other);
	raw_close(dies);
	raw_close(lives);
	daemon_start(&other, "--redis", redis.url);
}

/* ---- Retries ---- */

TEST(a_retry_gets_what_the_waiter_got)
{
	fill_ticket(post(FILL, LONG));
	struct raw *w = waits_at(&patternd, LONG, KEY "\r\n");
	wait_until(all_parked(&patternd, 1), SOON_MS);
	assert_problem(http(client, "POST", FILL, LONG, KEY), 409, "request_in_progress", "none");
	assert_problem(http(client, "POST", FILL, "{\"wait_ms\":1}", KEY), 422, "idempotency_key_reused", "none");
	assert_status(http(client, "DELETE", A, NULL), 204);
	struct answer a = waiter_answer(w, FILL, SOON_MS), again = http(client, "POST", FILL, LONG, KEY);
	assert_status(again, 201);
	assert_string_equal(text_at(again, "/ticket"), text_at(a, "/ticket"));
	assert_int_equal(int_at(again, "/expires_at_ms"), int_at(a, "/expires_at_ms"));
	assert_status(http(client, "PUT", A, VALUE, fill_ticket(again)), 201);
	assert_problem(http(client, "POST", FILL, LONG, KEY), 410, "ticket_expired", "applied");
	raw_close(w);
}

/*
 * An answer with a value has no effect, and is not recorded. A wait that the client gave up is not
 * recorded either.
 */
TEST(what_had_no_effect_is_not_recorded)
{
	fill_ticket(post(FILL, LONG));
	struct raw *w = waits_at(&patternd, LONG, KEY "\r\n");
	raw_close(w);
	wait_until(tickets() == 0 && waiting_at(&patternd) == 0, SOON_MS);
	w = waits_at(&patternd, LONG, KEY "\r\n");
	assert_status(http(client, "PUT", A, VALUE), 201);
	assert_status(waiter_answer(w, FILL, SOON_MS), 200);
	assert_status(http(client, "PUT", A, "{\"value\":2}"), 200);
	assert_int_equal(int_at(http(client, "POST", FILL, LONG, KEY), "/value"), 2);
	raw_close(w);
}
