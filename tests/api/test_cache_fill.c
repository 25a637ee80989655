/* Fill tickets over HTTP: one of many callers gets the ticket, and tickets expire. */
#include <pthread.h>

#include "stage.h"
#include "test.h"

#define A "/cache/a"
#define FILL A "/fill"
#define VALUE "{\"value\":\"made\"}"
#define KEY "Idempotency-Key: "

static struct answer put_with(const char *ticket)
{
	return http(client, "PUT", A, VALUE, ticket);
}

static bool is_there(const char *key)
{
	return server_command(&redis, "EXISTS %s", key)->integer == 1;
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

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

TEST(a_ticket_ends_with_a_repeated_invalidation)
{
	int64_t again_at_ms = int_at(post(A "/invalidate", "{\"again_after_ms\":600}"), "/again_at_ms");
	struct answer a = post(FILL, "{\"fill_ms\":60000}");
	assert_int_equal(int_at(a, "/expires_at_ms"), again_at_ms);
	wait_until(!is_there("p:cache:{a}:fill"), 5000);
	assert_problem(put_with(fill_ticket(a)), 410, "ticket_expired", "none");
}

/* ---- Retries ---- */

TEST(a_retry_that_comes_too_late_is_refused)
{
	static const char body[] = "{\"fill_ms\":20}";

	assert_status(http(client, "POST", FILL, body, KEY "one"), 201);
	wait_until(!is_there("p:cache:{a}:fill"), 5000);
	assert_problem(http(client, "POST", FILL, body, KEY "one"), 410, "ticket_expired", "applied");
}
