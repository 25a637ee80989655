/*
 * Fill tickets over HTTP: one of many callers computes a missing value, and no caller stores an
 * outdated value.
 */
#include <pthread.h>

#include "stage.h"
#include "test.h"

#define A "/cache/a"
#define FILL A "/fill"
#define VALUE "{\"value\":\"made\"}"
#define KEY "Idempotency-Key: "

enum { HEADER_BYTES = 96 };

static struct answer put_with(const char *ticket)
{
	return http(client, "PUT", A, VALUE, ticket);
}

static bool is_there(const char *key)
{
	return server_command(&redis, "EXISTS %s", key)->integer == 1;
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(one_makes_it_and_others_wait)
{
	struct answer ticket = post(FILL, NULL);
	assert_status(ticket, 201);
	assert_string_equal(text_at(ticket, "/key"), "a");
	assert_in_range(int_at(ticket, "/ttl_ms"), 1, 5000);
	assert_int_equal(strlen(text_at(ticket, "/ticket")), 32);
	struct answer a = post(FILL, "{\"fill_ms\":1}");
	assert_problem(a, 409, "cache_fill_in_progress", "none");
	assert_in_range(int_at(a, "/retry_after_ms"), 1, 5000);
	assert_int_equal(atoi(header_of(a, "Retry-After")), (int_at(a, "/retry_after_ms") + 999) / 1000);
	assert_problem(get(A), 404, "not_found", "none");
	assert_status(put_with(fill_ticket(ticket)), 201);
	a = post(FILL, NULL);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/value"), "made");
	assert_string_equal(header_of(a, "ETag"), header_of(get(A), "ETag"));
	assert_string_equal(a.body, get(A).body);
	assert_problem(put_with(fill_ticket(ticket)), 410, "ticket_expired", "none"); /* it is valid for one PUT */
}

/* ---- Many callers at once ---- */

enum { CALLERS = 16 };

struct caller {
	pthread_t thread;
	pthread_barrier_t *start;
	int port;
	int status;
};

static void *call(void *arg)
{
	struct caller *me = arg;
	struct client *own = client_open(me->port);

	pthread_barrier_wait(me->start);
	me->status = http(own, "POST", FILL, "{\"fill_ms\":60000}").status;
	client_close(own);
	return NULL;
}

/*
 * All callers ask at once, over two daemons. Returns how many get `status`; the others must get
 * `other`.
 */
static int herd(int second_port, int status, int other)
{
	struct caller callers[CALLERS];
	pthread_barrier_t start;
	int n = 0;

	pthread_barrier_init(&start, NULL, CALLERS);
	for (int i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){ .start = &start, .port = i % 2 ? patternd.port : second_port };
		assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
	}
	for (int i = 0; i < CALLERS; i++) {
		pthread_join(callers[i].thread, NULL);
		n += callers[i].status == status;
		assert_true(callers[i].status == status || callers[i].status == other);
	}
	pthread_barrier_destroy(&start);
	return n;
}

TEST(of_a_herd_one_gets_the_ticket)
{
	struct daemon second = { 0 };

	daemon_start(&second, "--redis", redis.url);
	for (int i = 0; i < 10; i++) {
		stage_forget(NULL);
		assert_int_equal(herd(second.port, 201, 409), 1);
		assert_status(http(client, "PUT", A, VALUE), 201);
		assert_int_equal(herd(second.port, 200, 200), CALLERS);
	}
	daemon_stop(&second);
}

/* ---- What outdates a ticket ---- */

static void put_plainly(void)
{
	assert_status(http(client, "PUT", A, "{\"value\":\"new\"}"), 201);
}

static void delete_what_is_not_there(void)
{
	/* There is no value yet, but a DELETE also outdates the value that is being computed. */
	assert_status(http(client, "DELETE", A, NULL), 204);
	assert_problem(http(client, "DELETE", A, NULL), 404, "not_found", "none");
}

static void invalidate(void)
{
	assert_status(post(A "/invalidate", NULL), 200);
}

static void invalidate_and_fill(void)
{
	invalidate();
	fill_ticket(post(FILL, NULL));
}

static void let_it_run_out(void)
{
	server_command(&redis, "PEXPIRE p:cache:{a}:fill 1");
	wait_until(!is_there("p:cache:{a}:fill"), 5000);
}

static void fill_after_it_ran_out(void)
{
	let_it_run_out();
	fill_ticket(post(FILL, NULL));
}

TEST(what_was_overtaken_is_not_stored)
{
	static void (*const overtake[])(
		void) = { put_plainly,         delete_what_is_not_there, invalidate,
			  invalidate_and_fill, let_it_run_out,           fill_after_it_ran_out };

	for (size_t i = 0; i < COUNT(overtake); i++) {
		stage_forget(NULL);
		const char *ticket = fill_ticket(post(FILL, NULL));
		overtake[i]();
		assert_problem(put_with(ticket), 410, "ticket_expired", "none");
		struct answer a = get(A);
		assert_int_equal(a.status, i == 0 ? 200 : 404);
		if (a.status == 200)
			assert_string_equal(text_at(a, "/value"), "new");
	}
}

TEST(a_refused_put_leaves_the_ticket)
{
	const char *ticket = fill_ticket(post(FILL, NULL));
	assert_status(http(client, "PUT", A, VALUE, ticket, "If-Match: *"), 412);
	assert_status(http(client, "PUT", A, "{\"value\":1,\"ttl_ms\":0}", ticket), 400);
	assert_status(http(client, "DELETE", A, NULL, "If-Match: *"), 412);
	assert_status(http(client, "PUT", A, VALUE, ticket, "If-None-Match: *"), 201);
}

TEST(nonsense_is_not_a_ticket)
{
	static const char *const nonsense[] = {
		"x", "0", "*", "null", "00000000000000000000000000000000", "9223372036854775808", "\"\"", "..", "a b"
	};
	char header[HEADER_BYTES];

	for (int out = 0; out < 2; out++) {
		for (size_t i = 0; i < COUNT(nonsense); i++) {
			snprintf(header, sizeof(header), "Fill-Ticket: %s", nonsense[i]);
			assert_problem(put_with(header), 410, "ticket_expired", "none");
		}
		assert_int_equal(server_keys(&redis), out);
		fill_ticket(post(out ? "/cache/b/fill" : FILL, NULL));
	}
	/* The ticket of another key is not valid either. */
	assert_problem(put_with(fill_ticket(post("/cache/c/fill", NULL))), 410, "ticket_expired", "none");
}

TEST(a_ticket_ends_with_a_repeated_invalidation)
{
	int64_t again_at_ms = int_at(post(A "/invalidate", "{\"again_after_ms\":600}"), "/again_at_ms");
	struct answer a = post(FILL, "{\"fill_ms\":60000}");
	assert_int_equal(int_at(a, "/expires_at_ms"), again_at_ms);
	wait_until(!is_there("p:cache:{a}:fill"), 5000);
	assert_problem(put_with(fill_ticket(a)), 410, "ticket_expired", "none");
}

/* ---- Retries ---- */

TEST(a_retry_gets_the_first_ticket)
{
	static const char body[] = "{\"fill_ms\":60000}";

	struct answer first = http(client, "POST", FILL, body, KEY "one");
	struct answer again = http(client, "POST", FILL, body, KEY "one");
	assert_status(again, 201);
	assert_string_equal(text_at(again, "/ticket"), text_at(first, "/ticket"));
	assert_int_equal(int_at(again, "/expires_at_ms"), int_at(first, "/expires_at_ms"));
	assert_true(int_at(again, "/ttl_ms") <= int_at(first, "/ttl_ms"));
	assert_problem(http(client, "POST", FILL, NULL, KEY "one"), 422, "idempotency_key_reused", "none");
	/* A 409 that asks the client to wait has no effect, and is not recorded. */
	assert_problem(http(client, "POST", FILL, body, KEY "two"), 409, "cache_fill_in_progress", "none");
	assert_status(put_with(fill_ticket(again)), 201);
	assert_status(http(client, "POST", FILL, body, KEY "two"), 200);
}

TEST(a_retry_that_comes_too_late_is_refused)
{
	static const char body[] = "{\"fill_ms\":20}";

	assert_status(http(client, "POST", FILL, body, KEY "one"), 201);
	wait_until(!is_there("p:cache:{a}:fill"), 5000);
	assert_problem(http(client, "POST", FILL, body, KEY "one"), 410, "ticket_expired", "applied");
}
