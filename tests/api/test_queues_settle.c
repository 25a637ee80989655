/*
 * Many deliveries settled at once over HTTP: an outcome for each, refusals, and what a retry gets.
 */
#include "queue_asked.h"

static char receipts[BATCH + 1][64];

/* Sends that many messages 1, 2, ... and receives them. */
static void deliver(int count)
{
	char body[64], pointer[64];

	send_many(count, "");
	snprintf(body, sizeof(body), "{\"limit\":%d}", count);
	struct answer a = receive(body);
	assert_int_equal(count_in(a), count);
	for (int i = 0; i < count; i++) {
		snprintf(pointer, sizeof(pointer), "/messages/%d/receipt", i);
		snprintf(receipts[i], sizeof(receipts[i]), "%s", text_at(a, pointer));
	}
}

/* In the body, $1 is replaced by the first receipt, and so on to $5. */
static struct answer settle(const char *text, const char *key_header)
{
	char body[2048];
	size_t len = 0;

	for (; *text; text++) {
		bool is_receipt = *text == '$';
		len += (size_t)snprintf(body + len, sizeof(body) - len, "%.*s", is_receipt ? -1 : 1,
					is_receipt ? receipts[*++text - '1'] : text);
	}
	return post("/settle", body, key_header);
}

static void assert_result(struct answer a, int i, const char *receipt, const char *outcome)
{
	char pointer[64];

	snprintf(pointer, sizeof(pointer), "/deliveries/%d/receipt", i);
	assert_string_equal(text_at(a, pointer), receipt);
	snprintf(pointer, sizeof(pointer), "/deliveries/%d/outcome", i);
	assert_string_equal(text_at(a, pointer), outcome);
}

static void each_gets_its_outcome_in_order(void **state)
{
	(void)state;
	configure("{" AT_ONCE "}");
	deliver(5);
	assert_status(reject(receipts[1], "{\"delay_ms\":60000}"), 200);
	struct answer a = settle("{\"reject\":[{\"receipt\":\"$4\",\"delay_ms\":60000},{\"receipt\":\"$2\"},"
				 "{\"receipt\":\"$5\"}],\"acknowledge\":[\"$1\",\"$2\",\"$3\"]}",
				 NULL);
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/deliveries")), 6);
	assert_result(a, 0, receipts[0], "acknowledged");
	assert_result(a, 1, receipts[1], "not_current");
	assert_result(a, 2, receipts[2], "acknowledged");
	assert_result(a, 3, receipts[3], "rejected");
	assert_result(a, 4, receipts[1], "not_current");
	assert_result(a, 5, receipts[4], "rejected");
	assert_counts(1, 2, 0, 0);
	assert_problem(acknowledge(receipts[3]), 410, "receipt_expired", "none");
	assert_status(acknowledge(receipts[0]), 204);
	/* One list is enough; a delivery that this receipt acknowledged is done. */
	a = settle("{\"acknowledge\":[\"$1\"]}", NULL);
	assert_result(a, 0, receipts[0], "acknowledged");
	a = settle("{\"reject\":[{\"receipt\":\"$1\"}],\"acknowledge\":[]}", NULL);
	assert_result(a, 0, receipts[0], "not_current");
}

static void settings_hold_as_for_a_single_reject(void **state)
{
	(void)state;
	configure("{\"max_receives\":2,\"backoff\":{\"base_ms\":60000,\"max_ms\":60000}}");
	send_body("{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":1,\"id\":\"b\",\"max_receives\":1}]}");
	struct answer got = receive("{\"limit\":2}");
	snprintf(receipts[0], sizeof(receipts[0]), "%s", text_at(got, "/messages/0/receipt"));
	snprintf(receipts[1], sizeof(receipts[1]), "%s", text_at(got, "/messages/1/receipt"));
	int64_t before_ms = redis_now_ms();
	struct answer a = settle("{\"reject\":[{\"receipt\":\"$1\"},{\"receipt\":\"$2\"}]}", NULL);
	assert_result(a, 0, receipts[0], "rejected");
	assert_result(a, 1, receipts[1], "rejected");
	assert_in_range(int_at(message("GET", "a", NULL), "/deliver_at_ms"), before_ms + 30000, redis_now_ms() + 60000);
	a = message("GET", "b", NULL);
	assert_string_equal(text_at(a, "/state"), "dead");
	assert_string_equal(text_at(a, "/reason"), "rejected; max_receives");
}

static void each_has_its_reason_or_is_dead(void **state)
{
	(void)state;
	send_body("{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":1,\"id\":\"b\"},{\"body\":1,\"id\":\"c\"}]}");
	struct answer a = receive("{\"limit\":3}");
	for (int i = 0; i < 3; i++) {
		char pointer[64];
		snprintf(pointer, sizeof(pointer), "/messages/%d/receipt", i);
		snprintf(receipts[i], sizeof(receipts[i]), "%s", text_at(a, pointer));
	}
	a = settle("{\"reject\":[{\"receipt\":\"$1\",\"reason\":\"busy\",\"delay_ms\":60000},"
		   "{\"receipt\":\"$2\",\"reason\":\"broken\",\"dead\":true},{\"receipt\":\"$3\",\"dead\":true}]}",
		   NULL);
	for (int i = 0; i < 3; i++)
		assert_result(a, i, receipts[i], "rejected");
	a = message("GET", "a", NULL);
	assert_string_equal(text_at(a, "/state"), "delayed");
	assert_string_equal(text_at(a, "/reason"), "busy");
	a = message("GET", "b", NULL);
	assert_string_equal(text_at(a, "/state"), "dead");
	assert_string_equal(text_at(a, "/reason"), "broken");
	a = message("GET", "c", NULL);
	assert_string_equal(text_at(a, "/state"), "dead");
	assert_string_equal(text_at(a, "/reason"), "rejected");
	assert_counts(0, 1, 0, 2);
}

static void what_is_malformed_settles_nothing(void **state)
{
	static const struct {
		const char *body, *code, *pointer;
	} rows[] = {
		{ "{}", "missing_field", "/acknowledge" },
		{ "{\"acknowledge\":[],\"reject\":[]}", "missing_field", "/acknowledge" },
		{ "{\"acknowledge\":[\"$1\",\"$2\",\"$3\",\"x\"]}", "invalid_receipt", "/acknowledge/3" },
		{ "{\"acknowledge\":[\"$1.\"]}", "invalid_receipt", "/acknowledge/0" },
		{ "{\"acknowledge\":[\"$1\"],\"reject\":[{\"receipt\":\"1795223759272486.2655667e4865d83\"}]}",
		  "invalid_receipt", "/reject/0/receipt" },
		{ "{\"acknowledge\":[\"$1\"],\"reject\":[{\"receipt\":\"$2\"},{\"receipt\":\" 1795223759272486.2655667e4865d83\"}]}",
		  "invalid_receipt", "/reject/1/receipt" },
		{ "{\"acknowledge\":[\"$1\",1]}", "wrong_type", "/acknowledge/1" },
		{ "{\"acknowledge\":[\"$1\"],\"reject\":[{\"delay_ms\":1}]}", "missing_field", "/reject/0/receipt" },
		{ "{\"reject\":[{\"receipt\":\"$1\",\"delay_ms\":-1}]}", "out_of_range", "/reject/0/delay_ms" },
		{ "{\"reject\":[{\"receipt\":\"$1\",\"ded\":true}]}", "unknown_field", "/reject/0/ded" },
		{ "{\"reject\":[{\"receipt\":\"$1\",\"reason\":\"\"}]}", "out_of_range", "/reject/0/reason" },
		{ "{\"reject\":[{\"receipt\":\"$1\"},{\"receipt\":\"$2\",\"dead\":true,\"delay_ms\":0}]}",
		  "invalid_value", "/reject/1/delay_ms" },
		{ "{\"done\":[\"$1\"]}", "unknown_field", "/done" },
	};

	(void)state;
	deliver(5);
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct answer a = settle(rows[i].body, NULL);
		assert_problem(a, 400, rows[i].code, "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
	}
	assert_problem(http(client, "POST", "/queues/receive/settle", "{\"acknowledge\":[\"x\"]}"), 400,
		       "reserved_name", "none");
	assert_counts(0, 0, 5, 0);
}

static void a_hundred_fit_and_one_more_does_not(void **state)
{
	char body[BATCH * 64 + 128];

	(void)state;
	deliver(BATCH);
	snprintf(receipts[BATCH], sizeof(receipts[BATCH]), "%s", receipts[0]);
	for (int count = BATCH + 1; count >= BATCH; count--) {
		char *at = body + sprintf(body, "{\"acknowledge\":[");
		for (int i = 0; i < count; i++)
			at += sprintf(at, "%s\"%s\"", i ? "," : "", receipts[i]);
		strcpy(at, "]}");
		struct answer a = post("/settle", body, NULL);
		if (count > BATCH) {
			assert_problem(a, 400, "out_of_range", "none");
			assert_counts(0, 0, BATCH, 0);
			continue;
		}
		assert_status(a, 200);
		assert_int_equal(json_array_size(json_at(a, "/deliveries")), BATCH);
		assert_result(a, BATCH - 1, receipts[BATCH - 1], "acknowledged");
		assert_counts(0, 0, 0, 0);
	}
}

static void a_retry_gets_the_first_outcomes(void **state)
{
	static const char both[] = "{\"acknowledge\":[\"$1\"],\"reject\":[{\"receipt\":\"$2\"}]}";

	(void)state;
	configure("{" AT_ONCE "}");
	deliver(2);
	struct answer first = settle(both, KEY "one");
	assert_result(first, 1, receipts[1], "rejected");
	assert_string_equal(settle(both, KEY "one").body, first.body);
	assert_problem(settle("{\"acknowledge\":[\"$1\"]}", KEY "one"), 422, "idempotency_key_reused", "none");
	assert_result(settle(both, NULL), 1, receipts[1], "not_current");
	assert_counts(1, 0, 0, 0);
	/* A result without an effect is not recorded. */
	const char *again = receipt_in(receive(NULL));
	char stale[64];
	snprintf(stale, sizeof(stale), "%s", receipts[1]);
	assert_result(settle("{\"acknowledge\":[\"$2\"]}", KEY "two"), 0, stale, "not_current");
	snprintf(receipts[1], sizeof(receipts[1]), "%s", again);
	assert_result(settle("{\"acknowledge\":[\"$2\"]}", KEY "two"), 0, again, "acknowledged");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_gets_its_outcome_in_order, forget_all),
		cmocka_unit_test_teardown(settings_hold_as_for_a_single_reject, forget_all),
		cmocka_unit_test_teardown(each_has_its_reason_or_is_dead, forget_all),
		cmocka_unit_test_teardown(what_is_malformed_settles_nothing, forget_all),
		cmocka_unit_test_teardown(a_hundred_fit_and_one_more_does_not, forget_all),
		cmocka_unit_test_teardown(a_retry_gets_the_first_outcomes, forget_all),
	};

	return cmocka_run_group_tests_name("queue settle", tests, start, stop);
}
