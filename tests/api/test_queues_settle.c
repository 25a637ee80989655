/*
 * Many deliveries settled at once over HTTP: an outcome for each, refusals, and what a retry gets.
 */
#include "queue_asked.h"

static char receipts[BATCH][64];

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

static void each_has_its_reason_or_is_dead(void **state)
{
	(void)state;
	send_body("{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":1,\"id\":\"b\"},{\"body\":1,\"id\":\"c\"}]}");
	for (int i = 0; i < 3; i++)
		snprintf(receipts[i], sizeof(receipts[i]), "%s", receipt_in(receive(NULL)));
	struct answer a =
		settle("{\"reject\":[{\"receipt\":\"$1\",\"reason\":\"busy\",\"delay_ms\":60000},"
		       "{\"receipt\":\"$2\",\"reason\":\"broken\",\"dead\":true},{\"receipt\":\"$3\",\"dead\":true}]}",
		       NULL);
	for (int i = 0; i < 3; i++)
		assert_result(a, i, receipts[i], "rejected");
	static const char *const wanted[][3] = { { "a", "delayed", "busy" },
						 { "b", "dead", "broken" },
						 { "c", "dead", "rejected" } };
	for (size_t i = 0; i < ROWS(wanted); i++) {
		a = message("GET", wanted[i][0], NULL);
		assert_string_equal(text_at(a, "/state"), wanted[i][1]);
		assert_string_equal(text_at(a, "/reason"), wanted[i][2]);
	}
	assert_counts(0, 1, 0, 2);
}

static void a_hundred_fit(void **state)
{
	char body[BATCH * 64 + 128], *at = body + sprintf(body, "{\"acknowledge\":[");

	(void)state;
	deliver(BATCH);
	for (int i = 0; i < BATCH; i++)
		at += sprintf(at, "%s\"%s\"", i ? "," : "", receipts[i]);
	strcpy(at, "]}");
	struct answer a = post("/settle", body, NULL);
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/deliveries")), BATCH);
	assert_result(a, BATCH - 1, receipts[BATCH - 1], "acknowledged");
	assert_counts(0, 0, 0, 0);
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
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_gets_its_outcome_in_order, forget_all),
		cmocka_unit_test_teardown(each_has_its_reason_or_is_dead, forget_all),
		cmocka_unit_test_teardown(a_hundred_fit, forget_all),
		cmocka_unit_test_teardown(a_retry_gets_the_first_outcomes, forget_all),
	};

	return cmocka_run_group_tests_name("queue settle", tests, start, stop);
}
