/*
 * POST /queues/receive: messages of several queues in order of preference; a client may wait for
 * all of them at once.
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

enum { SOON_MS = 5000, SLACK_MS = 1500 };

#define LONG "\"wait_ms\":20000"

static const char target[] = "/queues/receive";

static int forget(void **state)
{
	client_forget(client);
	return stage_forget(state);
}

static struct answer receive(const char *body)
{
	return post(target, body);
}

static void send_to(const char *queue, const char *body)
{
	char path[64];

	snprintf(path, sizeof(path), "/queues/%s/messages", queue);
	assert_status(post(path, body), 201);
}

/* The answer has these messages, in this order: "queue/body queue/body", with numbers as bodies. */
static void assert_messages(struct answer a, const char *wanted)
{
	char got[512] = "";
	size_t i;
	json_t *m;

	assert_status(a, 200);
	json_array_foreach(json_at(a, "/messages"), i, m) {
		size_t len = strlen(got);
		snprintf(got + len, sizeof(got) - len, "%s%s/%d", i ? " " : "",
			 json_string_value(json_object_get(m, "queue")),
			 (int)json_integer_value(json_object_get(m, "body")));
	}
	assert_string_equal(got, wanted);
}

/* A client that waits at queues without other waiters. */
static struct raw *parked(const char *queue, const char *body)
{
	struct raw *w = waiter_at(&patternd, target, body, "");

	wait_until(subscribers_of(&redis, queue) == 1, SOON_MS);
	wait_until(all_parked(&patternd, 1), SOON_MS);
	return w;
}

/* ---- Without waiting ---- */

static void the_first_queue_goes_first(void **state)
{
	(void)state;
	send_to("a", "{\"messages\":[{\"body\":1},{\"body\":2,\"priority\":0}]}");
	send_to("b", "{\"messages\":[{\"body\":3},{\"body\":4,\"delay_ms\":60000}]}");
	send_to("c", "{\"messages\":[{\"body\":5}]}");
	assert_messages(receive("{\"queues\":[\"c\",\"a\",\"b\"]}"), "c/5");
	assert_messages(receive("{\"queues\":[\"c\",\"a\",\"b\"],\"limit\":2}"), "a/2 a/1");
	send_to("a", "{\"messages\":[{\"body\":6},{\"body\":7}]}");
	assert_messages(receive("{\"queues\":[\"b\",\"c\",\"a\"],\"limit\":100}"), "b/3 a/6 a/7");
	assert_messages(receive("{\"queues\":[\"a\",\"b\",\"c\"],\"limit\":100}"), "");
}

static void each_message_is_a_delivery_of_its_queue(void **state)
{
	char path[128];

	(void)state;
	assert_status(http(client, "PATCH", "/queues/b", "{\"visibility_ms\":5000}"), 200);
	send_to("a", "{\"body\":1,\"id\":\"m\",\"priority\":2}");
	send_to("b", "{\"body\":2,\"id\":\"m\"}");
	struct answer a = receive("{\"queues\":[\"a\",\"b\"],\"limit\":2}");
	assert_messages(a, "a/1 b/2");
	assert_string_equal(text_at(a, "/messages/0/id"), "m");
	assert_int_equal(int_at(a, "/messages/0/priority"), 2);
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	int64_t longer_ms = int_at(a, "/messages/0/visible_until_ms") - int_at(a, "/messages/1/visible_until_ms");
	/* Each queue's own visibility; in a Cluster one is called after the other. */
	assert_in_range(longer_ms, redis.cluster ? 24000 : 25000, 25000);
	snprintf(path, sizeof(path), "/queues/a/deliveries/%s", text_at(a, "/messages/1/receipt"));
	assert_problem(http(client, "DELETE", path, NULL), 400, "invalid_receipt", "none");
	assert_string_equal(text_at(get("/queues/b/messages/m"), "/state"), "in_flight");
	snprintf(path, sizeof(path), "/queues/b/deliveries/%s", text_at(a, "/messages/1/receipt"));
	assert_status(http(client, "DELETE", path, NULL), 204);
	assert_problem(get("/queues/b/messages/m"), 404, "not_found", "none");
	assert_string_equal(text_at(get("/queues/a/messages/m"), "/state"), "in_flight");
}

static void one_visibility_holds_for_all(void **state)
{
	(void)state;
	send_to("a", "{\"body\":1}");
	send_to("b", "{\"body\":2}");
	struct answer a = receive("{\"queues\":[\"a\",\"b\"],\"limit\":2,\"visibility_ms\":7000}");
	int64_t later_ms = int_at(a, "/messages/1/visible_until_ms") - int_at(a, "/messages/0/visible_until_ms");
	assert_in_range(later_ms, 0, redis.cluster ? 1000 : 0);
}

static void they_may_be_acknowledged_at_once(void **state)
{
	(void)state;
	send_to("a", "{\"body\":1,\"id\":\"m\"}");
	send_to("b", "{\"body\":2,\"id\":\"m\"}");
	struct answer a = receive("{\"queues\":[\"a\",\"b\"],\"limit\":2,\"acknowledge\":true}");
	assert_messages(a, "a/1 b/2");
	assert_true(json_is_null(json_at(a, "/messages/1/receipt")));
	assert_true(json_is_null(json_at(a, "/messages/1/visible_until_ms")));
	assert_problem(get("/queues/a/messages/m"), 404, "not_found", "none");
	assert_problem(get("/queues/b/messages/m"), 404, "not_found", "none");
	assert_true(bool_at(post("/queues/b/messages", "{\"body\":2,\"id\":\"m\"}"), "/messages/0/duplicate"));
	assert_problem(receive("{\"queues\":[\"a\"],\"acknowledge\":true,\"visibility_ms\":5}"), 400, "invalid_value",
		       "none");
}

static void a_paused_queue_is_passed_over(void **state)
{
	(void)state;
	send_to("a", "{\"body\":1}");
	send_to("b", "{\"body\":2}");
	assert_status(http(client, "PATCH", "/queues/a", "{\"paused\":true}"), 200);
	assert_messages(receive("{\"queues\":[\"a\",\"b\"],\"limit\":2}"), "b/2");
	assert_status(http(client, "PATCH", "/queues/a", "{\"paused\":false}"), 200);
	assert_messages(receive("{\"queues\":[\"a\",\"b\"],\"limit\":2}"), "a/1");
}

/* Whichever of the queues it is: nothing is received from the others. */
static void a_foreign_key_spares_the_others(void **state)
{
	(void)state;
	send_to("a", "{\"body\":1}");
	server_command(&redis, "SET p:queue:{b}:dead foreign");
	if (redis.cluster) { /* one call each: the message of a is returned */
		assert_messages(receive("{\"queues\":[\"a\",\"b\"],\"limit\":2}"), "a/1");
		return;
	}
	assert_problem(receive("{\"queues\":[\"a\",\"b\"],\"limit\":2}"), 500, "foreign_key", "none");
	assert_int_equal(int_at(get("/queues/a"), "/ready"), 1);
}

static void queues_are_1_to_16_each_once(void **state)
{
	static const struct {
		const char *body, *code, *pointer;
	} rows[] = {
		{ "{}", "missing_field", "/queues" },
		{ "{\"queues\":[]}", "out_of_range", "/queues" },
		{ "{\"queues\":\"a\"}", "wrong_type", "/queues" },
		{ "{\"queues\":[\"a\",\"b\",\"a\"]}", "invalid_value", "/queues/2" },
		{ "{\"queues\":[\"a\",\"\\u0061\"]}", "invalid_value", "/queues/1" },
		{ "{\"queues\":[\"a\",\"receive\"]}", "reserved_name", "/queues/1" },
		{ "{\"queues\":[\"settle\"]}", "reserved_name", "/queues/0" },
		{ "{\"queues\":[\"\"]}", "invalid_name", "/queues/0" },
		{ "{\"queues\":[\"a\",7]}", "wrong_type", "/queues/1" },
		{ "{\"queues\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\",\"14\",\"15\","
		  "\"16\",\"17\"]}",
		  "out_of_range", "/queues" },
		{ "{\"queues\":[\"a\"],\"limit\":101}", "out_of_range", "/limit" },
		{ "{\"queues\":[\"a\"],\"wait_ms\":60001}", "out_of_range", "/wait_ms" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer a = receive(rows[i].body);
		assert_problem(a, 400, rows[i].code, "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
	}
	assert_problem(http(client, "POST", "/queues/receive/receive", "{}"), 400, "reserved_name", "none");
	assert_problem(http(client, "PUT", "/queues/settle", "{}"), 400, "reserved_name", "none");
	assert_status(
		receive("{\"queues\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\","
			"\"14\",\"15\",\"16\"]}"),
		200);
}

/* ---- Queues that must exist ---- */

#define MUST "\"must_exist\":true"

static void assert_missing(struct answer a, const char *queue)
{
	char detail[64];

	snprintf(detail, sizeof(detail), "queue '%s' does not exist", queue);
	assert_problem(a, 404, "not_found", "none");
	assert_string_equal(text_at(a, "/detail"), detail);
	assert_int_equal(waiting_at(&patternd), 0);
}

/* At once, with nothing taken and no place in a wait queue left behind. */
static void a_queue_that_does_not_exist_is_named(void **state)
{
	(void)state;
	struct answer a = post("/queues/tpyo/receive", "{" MUST "," LONG "}");
	assert_missing(a, "tpyo");
	assert_true(a.took_us < 10 * 1000 * 1000);
	assert_missing(receive("{\"queues\":[\"x\",\"y\"]," MUST "," LONG "}"), "x");
	assert_int_equal(server_keys(&redis), 0);
	send_to("a", "{\"body\":1}");
	assert_missing(receive("{\"queues\":[\"a\",\"tpyo\"],\"limit\":2," MUST "," LONG "}"), "tpyo");
	assert_missing(receive("{\"queues\":[\"tpyo\",\"a\"],\"acknowledge\":true," MUST "}"), "tpyo");
	assert_int_equal(int_at(get("/queues/a"), "/ready"), 1);
	assert_messages(receive("{\"queues\":[\"a\"],\"limit\":2," MUST "}"), "a/1");
	assert_status(post("/queues/tpyo/receive", "{\"must_exist\":false}"), 200);
}

static void what_is_listed_exists(void **state)
{
	static const struct {
		const char *method, *path, *body;
	} makers[] = {
		{ "PUT", "/queues/q", "{}" },
		{ "PATCH", "/queues/q", "{\"paused\":true}" },
		{ "POST", "/queues/q/messages", "{\"body\":1,\"delay_ms\":60000}" },
		{ "PUT", "/queues/q/schedules/s", "{\"every_ms\":3600000,\"body\":1}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		assert_missing(post("/queues/q/receive", "{" MUST "}"), "q");
		assert_int_equal(json_array_size(json_at(get("/queues"), "/items")), 0);
		assert_in_range(http(client, makers[i].method, makers[i].path, makers[i].body).status, 200, 201);
		assert_int_equal(json_array_size(json_at(get("/queues"), "/items")), 1);
		struct answer a = post("/queues/q/receive", "{" MUST ",\"wait_ms\":20}");
		assert_status(a, 200);
		assert_int_equal(json_array_size(json_at(a, "/messages")), 0);
		assert_status(http(client, "DELETE", "/queues/q", NULL), 204);
	}
}

/* The 404 changed nothing, so the same key may be used again. */
static void a_missing_queue_leaves_no_record(void **state)
{
	static const char body[] = "{" MUST "}", key[] = "Idempotency-Key: must";

	(void)state;
	assert_missing(http(client, "POST", "/queues/q/receive", body, key), "q");
	send_to("q", "{\"body\":1}");
	struct answer a = http(client, "POST", "/queues/q/receive", body, key);
	assert_status(a, 200);
	const char *receipt = text_at(a, "/messages/0/receipt");
	struct answer again = http(client, "POST", "/queues/q/receive", body, key);
	assert_string_equal(header_of(again, "Idempotent-Replayed"), "true");
	assert_string_equal(text_at(again, "/messages/0/receipt"), receipt);
	assert_status(http(client, "DELETE", "/queues/q", NULL), 204);
	again = http(client, "POST", "/queues/q/receive", body, key);
	assert_status(again, 200); /* the first response, without what has ended */
	assert_int_equal(json_array_size(json_at(again, "/messages")), 0);
	assert_problem(http(client, "POST", "/queues/q/receive", "{}", key), 422, "idempotency_key_reused", "none");
}

/* They are looked at when the request comes, and not again. */
static void a_queue_may_be_deleted_while_it_is_waited_at(void **state)
{
	(void)state;
	assert_status(http(client, "PUT", "/queues/a", "{}"), 201);
	assert_status(http(client, "PUT", "/queues/b", "{}"), 201);
	struct raw *w = parked("b", "{\"queues\":[\"a\",\"b\"]," MUST "," LONG "}");
	assert_status(http(client, "DELETE", "/queues/a", NULL), 204);
	send_to("b", "{\"body\":1}");
	assert_messages(waiter_answer(w, target, SOON_MS), "b/1");
	raw_close(w);
}

/* ---- Waiting ---- */

static void all_are_waited_at_at_once(void **state)
{
	static const char *const queues[] = { "a", "b", "c" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		char body[64], wanted[16];
		struct raw *w = parked("c", "{\"queues\":[\"a\",\"b\",\"c\"]," LONG "}");
		snprintf(body, sizeof(body), "{\"body\":%d,\"delay_ms\":%d}", i, i % 2 * 100);
		send_to(queues[i], body);
		struct answer a = waiter_answer(w, target, SOON_MS);
		snprintf(wanted, sizeof(wanted), "%s/%d", queues[i], i);
		assert_messages(a, wanted);
		assert_int_equal(waiting_at(&patternd), 0);
		raw_close(w);
	}
}

/* A client that waits at several queues has a place in the order of each. */
static void the_line_of_each_queue_holds(void **state)
{
	(void)state;
	struct raw *first = parked("b", "{\"queues\":[\"a\",\"b\"]," LONG "}");
	struct raw *second = waiter_at(&patternd, "/queues/b/receive", "{" LONG "}", "");
	wait_until(all_parked(&patternd, 2), SOON_MS);
	struct raw *third = waiter_at(&patternd, target, "{\"queues\":[\"b\",\"c\"]," LONG "}", "");
	wait_until(subscribers_of(&redis, "c") == 1 && all_parked(&patternd, 3), SOON_MS);
	send_to("b", "{\"body\":1}");
	assert_messages(waiter_answer(first, target, SOON_MS), "b/1");
	send_to("b", "{\"body\":2}");
	assert_int_equal(int_at(waiter_answer(second, "/queues/b/receive", SOON_MS), "/messages/0/body"), 2);
	send_to("a", "{\"body\":3}"); /* without waiters */
	send_to("b", "{\"body\":4}");
	assert_messages(waiter_answer(third, target, SOON_MS), "b/4");
	raw_close(first);
	raw_close(second);
	raw_close(third);
}

static void waiting_has_an_end(void **state)
{
	(void)state;
	struct answer a = receive("{\"queues\":[\"a\",\"b\"],\"wait_ms\":200,\"acknowledge\":true}");
	assert_messages(a, "");
	assert_in_range(a.took_us, 199 * 1000, (200 + SLACK_MS) * 1000);
	assert_int_equal(waiting_at(&patternd), 0);
}

static void waiting_may_acknowledge(void **state)
{
	(void)state;
	struct raw *w = parked("b", "{\"queues\":[\"a\",\"b\"],\"acknowledge\":true,\"limit\":5," LONG "}");
	send_to("b", "{\"messages\":[{\"body\":1,\"id\":\"m\"},{\"body\":2}]}");
	assert_messages(waiter_answer(w, target, SOON_MS), "b/1 b/2");
	assert_problem(get("/queues/b/messages/m"), 404, "not_found", "none");
	raw_close(w);
}

/* Queues that become due one after the other have one timer each. */
static void the_soonest_of_all_ends_it(void **state)
{
	(void)state;
	send_to("a", "{\"body\":1,\"delay_ms\":60000}");
	send_to("b", "{\"body\":2,\"delay_ms\":300}");
	send_to("c", "{\"body\":3,\"delay_ms\":150}");
	struct raw *w = parked("c", "{\"queues\":[\"a\",\"b\",\"c\"]," LONG "}");
	assert_messages(waiter_answer(w, target, SOON_MS), "c/3");
	assert_true(waiter_ask(w, target, "{\"queues\":[\"a\",\"b\",\"c\"]," LONG "}", ""));
	assert_messages(waiter_answer(w, target, SOON_MS), "b/2");
	raw_close(w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_first_queue_goes_first, forget),
		cmocka_unit_test_teardown(each_message_is_a_delivery_of_its_queue, forget),
		cmocka_unit_test_teardown(one_visibility_holds_for_all, forget),
		cmocka_unit_test_teardown(they_may_be_acknowledged_at_once, forget),
		cmocka_unit_test_teardown(a_paused_queue_is_passed_over, forget),
		cmocka_unit_test_teardown(a_foreign_key_spares_the_others, forget),
		cmocka_unit_test_teardown(queues_are_1_to_16_each_once, forget),
		cmocka_unit_test_teardown(a_queue_that_does_not_exist_is_named, forget),
		cmocka_unit_test_teardown(what_is_listed_exists, forget),
		cmocka_unit_test_teardown(a_missing_queue_leaves_no_record, forget),
		cmocka_unit_test_teardown(a_queue_may_be_deleted_while_it_is_waited_at, forget),
		cmocka_unit_test_teardown(all_are_waited_at_at_once, forget),
		cmocka_unit_test_teardown(the_line_of_each_queue_holds, forget),
		cmocka_unit_test_teardown(waiting_has_an_end, forget),
		cmocka_unit_test_teardown(waiting_may_acknowledge, forget),
		cmocka_unit_test_teardown(the_soonest_of_all_ends_it, forget),
	};

	return cmocka_run_group_tests_name("waiting at several queues", tests, stage_open, stage_close);
}
