/* GET /queues/{name}/workers, and what it costs to know them. */
#include <string.h>

#include "proc.h"
#include "queue_stage.h"

static struct answer workers(const char *queue)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s/workers", queue);
	struct answer a = http(client, "GET", target, NULL);
	assert_status(a, 200);
	return a;
}

/* A worker is noted beside its receive, so perhaps after it was answered. */
static bool has_workers(struct answer *a, const char *queue, size_t count)
{
	*a = workers(queue);
	return json_array_size(json_at(*a, "/workers")) == count;
}

static const json_t *worker(struct answer a, const char *name)
{
	const json_t *list = json_at(a, "/workers"), *w;

	for (size_t i = 0; i < json_array_size(list); i++) {
		w = json_array_get(list, i);
		const char *its_name = json_string_value(json_object_get(w, "worker"));
		if (name ? its_name && strcmp(its_name, name) == 0 : !its_name)
			return w;
	}
	fail_msg("no worker %s", name ? name : "without a name");
	return NULL;
}

static int64_t number(const json_t *w, const char *member)
{
	return json_integer_value(json_object_get(w, member));
}

TEST(workers_are_listed_with_what_they_have_in_flight)
{
	struct answer a;

	for (int i = 0; i < 4; i++)
		send_body("{\"body\":1}");
	receive("{\"limit\":2,\"worker\":\"host 1/7\\t%\"}");
	acknowledge(receipt_in(receive("{\"limit\":1,\"worker\":\"b\"}")));
	receive("{}");
	wait_until(has_workers(&a, "q", 3), SOON_MS);
	assert_true(json_is_true(json_at(a, "/is_complete")));
	const json_t *w = worker(a, "host 1/7\t%");
	assert_int_equal(number(w, "in_flight"), 2);
	/* The note may run before the receive, whose script Redis may have to load. */
	assert_in_range(number(w, "last_receive_at_ms") - number(w, "oldest_received_at_ms") + SOON_MS, 1, 2 * SOON_MS);
	assert_int_equal(number(w, "first_receive_at_ms"), number(w, "last_receive_at_ms"));
	assert_int_equal(number(worker(a, "b"), "in_flight"), 0);
	assert_true(json_is_null(json_object_get(worker(a, "b"), "oldest_received_at_ms")));
	assert_int_equal(number(worker(a, NULL), "in_flight"), 1);
}

TEST(a_worker_that_waits_is_listed_although_the_queue_does_not_exist)
{
	struct answer a;

	assert_true(has_workers(&a, "later", 0));
	http(client, "POST", "/queues/later/receive", "{\"worker\":\"early\"}");
	wait_until(has_workers(&a, "later", 1), SOON_MS);
	assert_int_equal(server_command(&redis, "EXISTS p:queue:{later}")->integer, 0);
	a = http(client, "GET", "/queues", NULL);
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
}

TEST(a_delivery_whose_worker_was_not_seen_for_long_is_listed)
{
	struct answer a;

	send_body("{\"body\":1}");
	receive("{\"worker\":\"a\"}");
	wait_until(has_workers(&a, "q", 1), SOON_MS);
	server_command(&redis, "DEL p:queue:{q}:workers");
	a = workers("q");
	assert_int_equal(number(worker(a, "a"), "in_flight"), 1);
	assert_true(json_is_null(json_object_get(worker(a, "a"), "last_receive_at_ms")));
}

TEST(a_worker_is_noted_once_in_a_second)
{
	struct answer a;
	int64_t began_ms = monotonic_ms();
	long long before = server_scripts_run(&redis);

	for (int i = 0; i < 200; i++)
		receive("{\"worker\":\"busy\"}");
	wait_until(has_workers(&a, "q", 1), SOON_MS);
	int64_t notes = server_scripts_run(&redis) - before - 200;
	assert_in_range(notes, 1, 2 + (monotonic_ms() - began_ms) / 1000 + 1); /* and the last GETs */
}

SUITE(.open = start, .close = stop, .after = forget_all);
