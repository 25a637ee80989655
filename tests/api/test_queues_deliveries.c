/*
 * Deliveries over HTTP: a message that is extended, rejected, past its ttl or out of deliveries.
 * (Sending and receiving: test_queues.c. Valid receipts: test_queues_receipts.c.)
 */
#include "queue_asked.h"

enum { TTL_MS = 500 };

/* The state of a message, "" when there is none. */
static const char *state_of(const char *id)
{
	struct answer a = message("GET", id, NULL);

	return a.status == 404 ? "" : text_at(a, "/state");
}

static bool is_state(const char *id, const char *state)
{
	return strcmp(state_of(id), state) == 0;
}

/* ---- Done at once ---- */

static void what_is_acknowledged_at_once_never_comes_again(void **state)
{
	static const char two[] = "{\"limit\":2,\"acknowledge\":true}";

	(void)state;
	send_body(
		"{\"messages\":[{\"body\":{\"n\":1},\"id\":\"a\"},{\"body\":2,\"id\":\"b\"},{\"body\":3,\"id\":\"c\"}]}");
	assert_problem(receive("{\"acknowledge\":true,\"visibility_ms\":1000}"), 400, "invalid_value", "none");
	assert_counts(3, 0, 0, 0);
	struct answer a = post("/receive", two, KEY "one");
	assert_ids(a, IDS("a", "b"));
	assert_int_equal(int_at(a, "/messages/0/body/n"), 1);
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	assert_true(json_is_null(json_at(a, "/messages/0/receipt")));
	assert_true(json_is_null(json_at(a, "/messages/0/visible_until_ms")));
	assert_counts(1, 0, 0, 0);
	assert_string_equal(state_of("a"), "");
	assert_true(bool_at(send_body("{\"body\":1,\"id\":\"a\"}"), "/messages/0/duplicate"));
	/* A retry gets the messages of the first attempt, and receives no more. */
	assert_string_equal(post("/receive", two, KEY "one").body, a.body);
	assert_counts(1, 0, 0, 0);
	assert_ids(receive(two), IDS("c"));
	assert_int_equal(count_in(receive(two)), 0);
	/* With false it is as usual. */
	send_body("{\"body\":4}");
	assert_status(acknowledge(receipt_in(receive("{\"acknowledge\":false,\"visibility_ms\":1000}"))), 204);
}

/* ---- Extending ---- */

static void extending_counts_from_now(void **state)
{
	static const struct {
		const char *body;
		int64_t visibility_ms;
	} rows[] = { { "{\"visibility_ms\":120000}", 120000 },
		     { "{}", 70000 },
		     { "{\"visibility_ms\":50000}", 50000 },
		     { NULL, 70000 } };

	(void)state;
	configure("{\"visibility_ms\":70000}");
	send_body("{\"body\":1,\"id\":\"a\"}");
	const char *receipt = receipt_in(receive("{\"visibility_ms\":10000}"));
	for (size_t i = 0; i < ROWS(rows); i++) {
		int64_t before_ms = redis_now_ms();
		struct answer a = extend(receipt, rows[i].body);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/id"), "a");
		assert_in_range(int_at(a, "/visible_until_ms") - rows[i].visibility_ms, before_ms, redis_now_ms());
		assert_int_equal(int_at(message("GET", "a", NULL), "/visible_until_ms"),
				 int_at(a, "/visible_until_ms"));
	}
	assert_problem(extend(receipt, "{\"visibility_ms\":0}"), 400, "out_of_range", "none");
	struct answer a = extend(receipt, "{\"visibility_ms\":40}"), again; /* earlier than before, and kept */
	wait_until((again = receive(NULL), count_in(again) == 1), SOON_MS);
	assert_true(int_at(again, "/messages/0/visible_until_ms") - 70000 >= int_at(a, "/visible_until_ms"));
	assert_int_equal(int_at(again, "/messages/0/receives"), 2);
	assert_status(acknowledge(receipt_in(again)), 204);
}

/* ---- Rejecting ---- */

static void a_rejected_message_comes_again(void **state)
{
	(void)state;
	configure("{" AT_ONCE "}");
	send_body("{\"body\":1,\"id\":\"a\"}");
	assert_true(json_is_null(json_at(message("GET", "a", NULL), "/reason")));
	/* At once. */
	int64_t before_ms = redis_now_ms();
	struct answer a = reject(receipt_in(receive(NULL)), "{\"reason\":\"gateway\\t\\u00e4\\n\"}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/id"), "a");
	assert_false(bool_at(a, "/dead"));
	assert_in_range(int_at(a, "/deliver_at_ms"), before_ms, redis_now_ms());
	a = message("GET", "a", NULL);
	assert_string_equal(text_at(a, "/state"), "ready");
	assert_string_equal(text_at(a, "/reason"), "gateway\t\u00e4\n");
	assert_int_equal(int_at(a, "/receives"), 1);
	/* Later. */
	a = reject(receipt_in(receive(NULL)), "{\"delay_ms\":40}");
	struct answer again;
	wait_until((again = receive(NULL), count_in(again) == 1), SOON_MS);
	assert_true(int_at(again, "/messages/0/visible_until_ms") - VISIBILITY_MS >= int_at(a, "/deliver_at_ms"));
	assert_int_equal(int_at(again, "/messages/0/receives"), 3);
	/* An impossible reject is refused, and the delivery goes on. */
	assert_problem(reject(receipt_in(again), "{\"dead\":true,\"delay_ms\":0}"), 400, "invalid_value", "none");
	assert_problem(reject(receipt_in(again), "{\"reason\":\"\"}"), 400, NULL, "none");
	assert_problem(reject(receipt_in(again), "{\"delay_ms\":-1}"), 400, "out_of_range", "none");
	/* Never. */
	a = reject(receipt_in(again), "{\"dead\":true,\"reason\":\"no such order\"}");
	assert_status(a, 200);
	assert_true(bool_at(a, "/dead"));
	assert_true(json_is_null(json_at(a, "/deliver_at_ms")));
	a = message("GET", "a", NULL);
	assert_string_equal(text_at(a, "/state"), "dead");
	assert_string_equal(text_at(a, "/reason"), "no such order");
	assert_int_equal(count_in(receive(NULL)), 0);
}

static void after_max_receives_a_message_is_dead(void **state)
{
	(void)state;
	configure("{\"visibility_ms\":100,\"max_receives\":2," AT_ONCE "}");
	send_body(
		"{\"messages\":[{\"body\":1,\"id\":\"its-own\",\"max_receives\":1},{\"body\":1,\"id\":\"the-queues\"},"
		"{\"body\":1,\"id\":\"more\",\"max_receives\":3}]}");
	struct answer first = receive("{\"limit\":3}");
	assert_int_equal(count_in(first), 3);
	wait_until(is_state("its-own", "dead"), SOON_MS);
	struct answer a = receive("{\"limit\":3,\"visibility_ms\":30000}");
	assert_ids(a, IDS("the-queues", "more"));
	assert_int_equal(int_at(a, "/messages/1/receives"), 2);
	struct answer rejected = reject(receipt_in(a), "{\"reason\":\"boom\",\"delay_ms\":5}");
	assert_true(bool_at(rejected, "/dead"));
	assert_true(json_is_null(json_at(rejected, "/deliver_at_ms")));
	rejected = reject(text_at(a, "/messages/1/receipt"), NULL);
	assert_false(bool_at(rejected, "/dead"));
	assert_counts(1, 0, 0, 2);
	assert_true(bool_at(reject(receipt_in(receive("{\"visibility_ms\":30000}")), NULL), "/dead"));

	a = http(client, "GET", "/queues/q/messages?state=dead", NULL);
	assert_ids_of(a, "items", IDS("its-own", "the-queues", "more"));
	assert_string_equal(text_at(a, "/items/0/reason"), "visibility expired; max_receives");
	assert_int_equal(int_at(a, "/items/0/died_at_ms"), int_at(first, "/messages/0/visible_until_ms"));
	assert_int_equal(int_at(a, "/items/0/receives"), 1);
	assert_string_equal(text_at(a, "/items/1/reason"), "boom; max_receives");
	assert_string_equal(text_at(a, "/items/2/reason"), "rejected; max_receives");
	assert_int_equal(int_at(a, "/items/2/receives"), 3);
}

static void backoff_doubles_up_to_its_ceiling(void **state)
{
	static const int64_t delays_ms[] = { 60000, 120000, 150000, 150000 };

	(void)state;
	configure("{\"max_receives\":1000,\"backoff\":{\"base_ms\":60000,\"max_ms\":150000}}");
	send_body("{\"body\":1,\"id\":\"a\"}");
	for (size_t i = 0; i < ROWS(delays_ms); i++) {
		const char *receipt = receipt_in(receive(NULL));
		int64_t before_ms = redis_now_ms();
		struct answer a = reject(receipt, NULL);
		assert_in_range(int_at(a, "/deliver_at_ms"), before_ms + delays_ms[i] / 2,
				redis_now_ms() + delays_ms[i]);
		assert_true(is_state("a", "delayed"));
		assert_status(message("PATCH", "a", "{\"delay_ms\":0}"), 200);
	}
	struct answer a = receive("{\"visibility_ms\":100}"); /* a visibility that ends counts from its end */
	wait_until(is_state("a", "delayed"), SOON_MS);
	int64_t ended_ms = int_at(a, "/messages/0/visible_until_ms");
	assert_in_range(int_at(message("GET", "a", NULL), "/deliver_at_ms"), ended_ms + 75000, ended_ms + 150000);
	assert_status(message("PATCH", "a", "{\"delay_ms\":0}"), 200);
	a = reject(receipt_in(receive(NULL)), "{\"delay_ms\":0}"); /* a given delay takes precedence */
	assert_int_equal(count_in(receive(NULL)), 1);
}

/* ---- Out of time ---- */

static void a_message_past_its_ttl_is_dropped_and_counted(void **state)
{
	char body[256];

	(void)state;
	struct answer a = send_body("{\"messages\":[{\"body\":1,\"id\":\"stays\",\"delay_ms\":60000},"
				    "{\"body\":1,\"id\":\"waits\",\"ttl_ms\":15}]}");
	assert_status(a, 201);
	wait_until(is_state("waits", ""), SOON_MS);
	assert_true(redis_now_ms() >= int_at(a, "/messages/1/deliver_at_ms") + 15);
	assert_int_equal(count_in(receive(NULL)), 0);
	assert_counts(0, 1, 0, 0);
	assert_int_equal(count_of("/expired"), 1);
	assert_false(bool_at(send_body("{\"body\":1,\"id\":\"waits\",\"delay_ms\":60000}"), "/messages/0/duplicate"));

	/* Not while it is in flight: afterwards it is done, or dead, or dropped. */
	snprintf(body, sizeof(body),
		 "{\"messages\":[{\"body\":1,\"id\":\"done\",\"ttl_ms\":%d},{\"body\":1,\"id\":\"dead\",\"ttl_ms\":%d},"
		 "{\"body\":1,\"id\":\"back\",\"ttl_ms\":%d},{\"body\":1,\"id\":\"out\",\"ttl_ms\":%d}]}",
		 TTL_MS, TTL_MS, TTL_MS, TTL_MS);
	send_body(body);
	a = receive("{\"limit\":10}");
	assert_ids(a, IDS("done", "dead", "back", "out"));
	int64_t expires_at_ms = int_at(a, "/messages/0/sent_at_ms") + TTL_MS;
	assert_int_equal(int_at(message("GET", "done", NULL), "/expires_at_ms"), expires_at_ms);
	wait_until(redis_now_ms() >= expires_at_ms, SOON_MS);
	assert_counts(0, 2, 4, 0);
	assert_true(is_state("back", "in_flight"));
	assert_status(acknowledge(text_at(a, "/messages/0/receipt")), 204);
	struct answer rejected = reject(text_at(a, "/messages/1/receipt"), "{\"dead\":true}");
	assert_true(bool_at(rejected, "/dead"));
	assert_true(json_is_null(json_at(message("GET", "dead", NULL), "/expires_at_ms")));
	rejected = reject(text_at(a, "/messages/2/receipt"), "{\"delay_ms\":60000}");
	assert_false(bool_at(rejected, "/dead"));
	assert_true(json_is_null(json_at(rejected, "/deliver_at_ms")));
	assert_true(is_state("back", ""));
	assert_status(extend(text_at(a, "/messages/3/receipt"), "{\"visibility_ms\":1}"), 200);
	wait_until(is_state("out", ""), SOON_MS);
	assert_int_equal(count_in(receive(NULL)), 0);
	assert_counts(0, 2, 0, 1);
	assert_int_equal(count_of("/expired"), 3);
}

static void a_dead_letter_is_kept_for_its_retention(void **state)
{
	static const char die[] = "{\"dead\":true}";

	(void)state;
	send_body("{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":1,\"id\":\"b\"}]}");
	for (int i = 0; i < 2; i++)
		assert_status(reject(receipt_in(receive(NULL)), die), 200);
	assert_true(is_state("a", "dead"));
	configure("{\"dead_retention_ms\":1}");
	wait_until(is_state("a", "") && is_state("b", ""), SOON_MS);
	assert_counts(0, 0, 0, 0);
	struct answer a = http(client, "GET", "/queues/q/messages?state=dead", NULL);
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_int_equal(int_at(post("/redrive", NULL, NULL), "/redriven"), 0);
	assert_problem(message("DELETE", "a", NULL), 404, "not_found", "none");
	assert_false(bool_at(send_body("{\"body\":1,\"id\":\"a\"}"), "/messages/0/duplicate"));
	assert_int_equal(count_of("/expired"), 0);
	receive(NULL); /* the next step of the queue removes expired messages */
	assert_int_equal(server_command(&redis, "ZCARD p:queue:{q}:dead")->integer, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_is_acknowledged_at_once_never_comes_again, forget_all),
		cmocka_unit_test_teardown(extending_counts_from_now, forget_all),
		cmocka_unit_test_teardown(a_rejected_message_comes_again, forget_all),
		cmocka_unit_test_teardown(after_max_receives_a_message_is_dead, forget_all),
		cmocka_unit_test_teardown(backoff_doubles_up_to_its_ceiling, forget_all),
		cmocka_unit_test_teardown(a_message_past_its_ttl_is_dropped_and_counted, forget_all),
		cmocka_unit_test_teardown(a_dead_letter_is_kept_for_its_retention, forget_all),
	};

	return cmocka_run_group_tests_name("queue deliveries", tests, start, stop);
}
