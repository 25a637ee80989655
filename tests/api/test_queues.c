/*
 * Queues over HTTP: messages sent and received. (The end of a delivery: test_queues_deliveries.c.
 * Messages at rest: test_queues_messages.c. Whole queues: test_queues_admin.c. Retries, crashes and
 * competing consumers: test_queues_consumers.c.)
 */
#include "queue_asked.h"

enum { BIG_BYTES = 600000 };

/* ---- Sending ---- */

static void a_message_is_sent_received_and_done(void **state)
{
	(void)state;
	int64_t before_ms = redis_now_ms();
	struct answer sent = send_body("{\"body\":{\"order\":4711}}");
	assert_status(sent, 201);
	assert_int_equal(count_in(sent), 1);
	assert_int_equal(strspn(text_at(sent, "/messages/0/id"), "0123456789"), 16);
	assert_false(bool_at(sent, "/messages/0/duplicate"));
	assert_in_range(int_at(sent, "/messages/0/deliver_at_ms"), before_ms, redis_now_ms());
	struct answer a = receive(NULL);
	assert_status(a, 200);
	assert_ids(a, IDS(text_at(sent, "/messages/0/id")));
	assert_int_equal(int_at(a, "/messages/0/body/order"), 4711);
	assert_int_equal(int_at(a, "/messages/0/priority"), 4);
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	assert_int_equal(int_at(a, "/messages/0/sent_at_ms"), int_at(sent, "/messages/0/deliver_at_ms"));
	assert_in_range(int_at(a, "/messages/0/visible_until_ms") - VISIBILITY_MS, before_ms, redis_now_ms());
	assert_int_equal(count_in(receive("{\"limit\":100}")), 0);
	for (int i = 0; i < 2; i++) { /* a repetition has the same answer */
		struct answer done = acknowledge(receipt_in(a));
		assert_status(done, 204);
		assert_int_equal(done.body_len, 0);
	}
	assert_problem(message("GET", text_at(sent, "/messages/0/id"), NULL), 404, "not_found", "none");
	assert_problem(extend(receipt_in(a), NULL), 410, "receipt_expired", "none");
	assert_problem(reject(receipt_in(a), NULL), 410, "receipt_expired", "none");
}

/* The path of a message that was sent alone, in which its id is encoded. */
static void one_that_is_stored_has_a_location(void **state)
{
	char path[64];

	(void)state;
	struct answer a = post("/messages", "{\"body\":1,\"id\":\"a/b c\"}", KEY "once");
	assert_status(a, 201);
	assert_string_equal(header_of(a, "Location"), "/queues/q/messages/a%2Fb%20c");
	a = post("/messages", "{\"body\":1,\"id\":\"a/b c\"}", KEY "once");
	assert_string_equal(header_of(a, "Location"), "/queues/q/messages/a%2Fb%20c");
	a = send_body("{\"body\":1,\"id\":\"a/b c\"}"); /* a duplicate, which made nothing */
	assert_status(a, 200);
	assert_null(header_of(a, "Location"));
	a = send_body("{\"body\":2}");
	snprintf(path, sizeof(path), "/queues/q/messages/%s", text_at(a, "/messages/0/id"));
	assert_string_equal(header_of(a, "Location"), path);
	assert_int_equal(int_at(http(client, "GET", path, NULL), "/body"), 2);
	a = send_body("{\"messages\":[{\"body\":3}]}");
	assert_status(a, 201);
	assert_null(header_of(a, "Location"));
}

static void order_is_by_priority_then_due_then_arrival(void **state)
{
	(void)state;
	struct answer a =
		send_body("{\"messages\":[{\"body\":1,\"id\":\"late\",\"delay_ms\":40},{\"body\":2,\"id\":\"first\"},"
			  "{\"body\":3,\"id\":\"second\"},{\"body\":4,\"id\":\"low\",\"priority\":9},"
			  "{\"body\":5,\"id\":\"urgent late\",\"priority\":0,\"delay_ms\":20},"
			  "{\"body\":6,\"id\":\"urgent\",\"priority\":0},{\"body\":7,\"id\":\"third\"}]}");
	assert_status(a, 201);
	assert_ids(a, IDS("late", "first", "second", "low", "urgent late", "urgent", "third"));
	assert_int_equal(int_at(a, "/messages/0/deliver_at_ms") - int_at(a, "/messages/1/deliver_at_ms"), 40);
	wait_until(count_of("/ready") == 7, SOON_MS);
	assert_ids(receive("{\"limit\":5}"), IDS("urgent", "urgent late", "first", "second", "third"));
	a = receive("{\"limit\":5}");
	assert_ids(a, IDS("late", "low"));
	assert_int_equal(int_at(a, "/messages/1/priority"), 9);
	assert_int_equal(int_at(a, "/messages/1/body"), 4);
}

static void what_is_wrong_with_a_message_stores_none(void **state)
{
	static const struct {
		const char *body, *code, *pointer;
	} rows[] = {
		{ "{}", "missing_field", "/body" },
		{ "{\"body\":1,\"body_\":1}", "unknown_field", "/body_" },
		{ "{\"body\":1,\"delay_ms\":-1}", "out_of_range", "/delay_ms" },
		{ "{\"body\":1,\"delay_ms\":3155760000001}", "out_of_range", "/delay_ms" },
		{ "{\"body\":1,\"deliver_at_ms\":253402300800000}", "out_of_range", "/deliver_at_ms" },
		{ "{\"body\":1,\"priority\":10}", "out_of_range", "/priority" },
		{ "{\"body\":1,\"max_receives\":0}", "out_of_range", "/max_receives" },
		{ "{\"body\":1,\"id\":\"a\\u0000\"}", "invalid_name", "/id" },
		{ "{\"body\":1,\"id\":\"..\"}", "reserved_name", "/id" },
		{ "{\"body\":1,\"delay_ms\":1,\"deliver_at_ms\":1}", "invalid_value", "/deliver_at_ms" },
		{ "{\"body\":1,\"delay_ms\":5,\"ttl_ms\":5}", "invalid_value", "/ttl_ms" },
		{ "{\"messages\":[]}", "out_of_range", "/messages" },
		{ "{\"messages\":[{\"body\":1}],\"body\":1}", "invalid_value", "/body" },
		{ "{\"messages\":[{\"body\":1}],\"priority\":1}", "invalid_value", "/priority" },
		{ "{\"messages\":[{\"body\":1},{}]}", "missing_field", "/messages/1/body" },
		{ "{\"messages\":[{\"body\":1},{\"body\":1,\"ttl_ms\":0}]}", "out_of_range", "/messages/1/ttl_ms" },
		{ "{\"messages\":[{\"body\":1},{\"body\":1,\"delay_ms\":1,\"deliver_at_ms\":1}]}", "invalid_value",
		  "/messages/1/deliver_at_ms" },
		{ "{\"messages\":[{\"body\":1},{\"body\":1,\"delay_ms\":6,\"ttl_ms\":5}]}", "invalid_value",
		  "/messages/1/ttl_ms" },
	};
	char batch[2000] = "{\"messages\":[{\"body\":0}";

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct answer a = send_body(rows[i].body);
		assert_problem(a, 400, rows[i].code, "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
	}
	for (int i = 1; i < 100; i++)
		strcat(batch, ",{\"body\":0}");
	size_t len = strlen(batch);
	strcpy(batch + len, ",{\"body\":0}]}");
	assert_problem(send_body(batch), 400, "out_of_range", "none");
	assert_problem(http(client, "POST", "/queues/receive/messages", "{\"body\":1}"), 400, "reserved_name", "none");
	assert_int_equal(server_keys(&redis), 0);
	strcpy(batch + len, "]}");
	assert_int_equal(count_in(send_body(batch)), 100);
	assert_int_equal(count_in(receive("{\"limit\":100}")), 100);
}

static void a_message_comes_when_it_is_due(void **state)
{
	char body[96];
	struct answer sent, a;

	(void)state;
	for (int i = 0; i < 2; i++) {
		int64_t at_ms = redis_now_ms() + 150;
		snprintf(body, sizeof(body),
			 i ? "{\"body\":1,\"deliver_at_ms\":%lld}" : "{\"body\":1,\"delay_ms\":150}", (long long)at_ms);
		sent = send_body(body);
		int64_t due_ms = int_at(sent, "/messages/0/deliver_at_ms");
		if (i)
			assert_int_equal(due_ms, at_ms);
		else
			assert_in_range(due_ms, at_ms, redis_now_ms() + 150);
		wait_until((a = receive(NULL), count_in(a) == 1), SOON_MS);
		assert_string_equal(text_at(a, "/messages/0/id"), text_at(sent, "/messages/0/id"));
		assert_true(int_at(a, "/messages/0/visible_until_ms") - VISIBILITY_MS >= due_ms);
		assert_true(int_at(a, "/messages/0/sent_at_ms") < due_ms);
	}
	sent = send_body("{\"body\":1,\"deliver_at_ms\":0}"); /* past: at once */
	a = receive(NULL);
	assert_int_equal(count_in(a), 1);
	assert_int_equal(int_at(sent, "/messages/0/deliver_at_ms"), int_at(a, "/messages/0/sent_at_ms"));
	sent = send_body("{\"body\":1,\"deliver_at_ms\":253402300799999}"); /* the calendar's end */
	assert_int_equal(int_at(sent, "/messages/0/deliver_at_ms"), 253402300799999);
	assert_status(send_body("{\"body\":1,\"delay_ms\":3155760000000}"), 201);
	assert_int_equal(count_in(receive(NULL)), 0);
	assert_int_equal(count_of("/delayed"), 2);
}

/* ---- Ids ---- */

/* Sends with an id once more: it must be a duplicate, with this deliver_at_ms; 0 for null. */
static void assert_duplicate(const char *id, int64_t deliver_at_ms)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"body\":\"another\",\"id\":\"%s\"}", id);
	struct answer a = send_body(body);
	assert_status(a, 200);
	assert_ids(a, IDS(id));
	assert_true(bool_at(a, "/messages/0/duplicate"));
	assert_int_equal(json_integer_value(json_at(a, "/messages/0/deliver_at_ms")), deliver_at_ms);
	assert_int_equal(json_is_null(json_at(a, "/messages/0/deliver_at_ms")), deliver_at_ms == 0);
}

static void an_id_is_sent_once(void **state)
{
	static const char late[] = "{\"body\":\"the first\",\"id\":\"a\",\"delay_ms\":60000}";

	(void)state;
	struct answer a = send_body(late);
	assert_duplicate("a", int_at(a, "/messages/0/deliver_at_ms"));
	a = message("PATCH", "a", "{\"delay_ms\":0}");
	assert_duplicate("a", int_at(a, "/deliver_at_ms"));
	a = receive(NULL);
	assert_duplicate("a", 0);
	assert_status(reject(receipt_in(a), "{\"dead\":true}"), 200);
	assert_duplicate("a", 0);
	assert_status(http(client, "POST", "/queues/q/redrive", NULL), 200);
	a = receive("{\"limit\":10}");
	assert_ids(a, IDS("a"));
	assert_string_equal(text_at(a, "/messages/0/body"), "the first");
	assert_status(acknowledge(receipt_in(a)), 204);
	assert_duplicate("a", 0);
	assert_int_equal(count_of("/ready"), 0);
	assert_problem(message("GET", "a", NULL), 404, "not_found", "none");
	a = http(client, "POST", "/queues/other/messages", late);
	assert_false(bool_at(a, "/messages/0/duplicate"));

	a = send_body("{\"messages\":[{\"body\":1,\"id\":\"b\"},{\"body\":2,\"id\":\"b\"}]}");
	assert_false(bool_at(a, "/messages/0/duplicate"));
	assert_true(bool_at(a, "/messages/1/duplicate"));
	assert_int_equal(int_at(receive("{\"limit\":10}"), "/messages/0/body"), 1);
	a = send_body("{\"body\":1}"); /* an id that the daemon made is an id as well */
	assert_duplicate(text_at(a, "/messages/0/id"), int_at(a, "/messages/0/deliver_at_ms"));
}

static void an_id_is_free_again(void **state)
{
	static const char body[] = "{\"body\":1,\"id\":\"a\"}";

	(void)state;
	send_body(body);
	assert_status(message("DELETE", "a", NULL), 204); /* cancelled: at once */
	assert_false(bool_at(send_body(body), "/messages/0/duplicate"));
	configure("{\"dedupe_ms\":40}"); /* acknowledged: after that */
	const char *receipt = receipt_in(receive(NULL));
	int64_t before_ms = redis_now_ms();
	assert_status(acknowledge(receipt), 204);
	wait_until(!bool_at(send_body(body), "/messages/0/duplicate"), SOON_MS);
	assert_true(redis_now_ms() >= before_ms + 40);
	configure("{\"dedupe_ms\":0}"); /* or not kept at all */
	assert_status(acknowledge(receipt_in(receive(NULL))), 204);
	assert_false(bool_at(send_body(body), "/messages/0/duplicate"));
}

/* ---- Receiving ---- */

static void receive_takes_up_to_max(void **state)
{
	static const char *const refused[] = { "{\"limit\":0}", "{\"limit\":101}", "{\"visibility_ms\":0}",
					       "{\"visibility_ms\":43200001}" };
	char *big = malloc(BIG_BYTES + 64);

	(void)state;
	send_body("{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":1,\"id\":\"b\"},{\"body\":1,\"id\":\"c\"},"
		  "{\"body\":1,\"id\":\"d\"}]}");
	for (size_t i = 0; i < ROWS(refused); i++)
		assert_problem(receive(refused[i]), 400, "out_of_range", "none");
	assert_problem(http(client, "POST", "/queues/receive/receive", NULL), 400, "reserved_name", "none");
	assert_ids(receive("{}"), IDS("a"));
	int64_t before_ms = redis_now_ms();
	struct answer a = receive("{\"limit\":2,\"visibility_ms\":43200000}");
	assert_ids(a, IDS("b", "c"));
	assert_in_range(int_at(a, "/messages/1/visible_until_ms") - 43200000, before_ms, redis_now_ms());
	assert_ids(receive("{\"limit\":3}"), IDS("d"));
	assert_int_equal(count_of("/in_flight"), 4);

	assert_non_null(big); /* the bodies of one answer stay within 1 MiB */
	int head = sprintf(big, "{\"body\":\"");
	memset(big + head, 'x', BIG_BYTES);
	strcpy(big + head + BIG_BYTES, "\"}");
	for (int i = 0; i < 2; i++)
		assert_status(send_body(big), 201);
	free(big);
	for (int i = 0; i < 2; i++)
		assert_int_equal(count_in(receive("{\"limit\":10}")), 1);
}

static void what_is_not_acknowledged_comes_again(void **state)
{
	(void)state;
	send_body("{\"body\":[1],\"id\":\"a\"}");
	struct answer first = receive("{\"visibility_ms\":60}"), again;
	wait_until((again = receive(NULL), count_in(again) == 1), SOON_MS);
	assert_ids(again, IDS("a"));
	assert_int_equal(int_at(again, "/messages/0/receives"), 2);
	assert_int_equal(int_at(again, "/messages/0/sent_at_ms"), int_at(first, "/messages/0/sent_at_ms"));
	assert_true(int_at(again, "/messages/0/visible_until_ms") - VISIBILITY_MS >=
		    int_at(first, "/messages/0/visible_until_ms"));
	assert_true(json_equal(json_at(again, "/messages/0/body"), json_at(first, "/messages/0/body")));
	assert_string_not_equal(receipt_in(again), receipt_in(first));
	assert_problem(acknowledge(receipt_in(first)), 410, "receipt_expired", "none");
	assert_problem(extend(receipt_in(first), NULL), 410, "receipt_expired", "none");
	assert_problem(reject(receipt_in(first), NULL), 410, "receipt_expired", "none");
	assert_string_equal(text_at(message("GET", "a", NULL), "/state"), "in_flight");
	assert_status(acknowledge(receipt_in(again)), 204);
}

static void a_paused_queue_gives_nothing_out(void **state)
{
	(void)state;
	configure("{\"paused\":true}");
	assert_status(send_body("{\"body\":1,\"id\":\"a\"}"), 201);
	assert_int_equal(count_in(receive(NULL)), 0);
	assert_int_equal(count_of("/ready"), 1);
	configure("{}");
	assert_ids(receive(NULL), IDS("a"));
}

/* Expired messages leave room in the page, but use up the limit: the rest stays in the queue. */
static void expired_messages_make_no_room_beyond_the_limit(void **state)
{
	enum { MESSAGES = 30 };

	(void)state;
	for (int acknowledges = 0; acknowledges < 2; acknowledges++) {
		server_command(&redis, "FLUSHALL");
		assert_status(send_body("{\"body\":0,\"ttl_ms\":1}"), 201);
		next_ms();
		next_ms();
		send_many(MESSAGES, "");
		assert_int_equal(count_in(receive(acknowledges ? "{\"limit\":2,\"acknowledge\":true}"
							       : "{\"limit\":2}")),
				 2);
		assert_counts(MESSAGES - 2, 0, acknowledges ? 0 : 2, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_message_is_sent_received_and_done, forget_all),
		cmocka_unit_test_teardown(one_that_is_stored_has_a_location, forget_all),
		cmocka_unit_test_teardown(order_is_by_priority_then_due_then_arrival, forget_all),
		cmocka_unit_test_teardown(what_is_wrong_with_a_message_stores_none, forget_all),
		cmocka_unit_test_teardown(a_message_comes_when_it_is_due, forget_all),
		cmocka_unit_test_teardown(an_id_is_sent_once, forget_all),
		cmocka_unit_test_teardown(an_id_is_free_again, forget_all),
		cmocka_unit_test_teardown(receive_takes_up_to_max, forget_all),
		cmocka_unit_test_teardown(expired_messages_make_no_room_beyond_the_limit, forget_all),
		cmocka_unit_test_teardown(what_is_not_acknowledged_comes_again, forget_all),
		cmocka_unit_test_teardown(a_paused_queue_gives_nothing_out, forget_all),
	};

	return cmocka_run_group_tests_name("queues", tests, start, stop);
}
