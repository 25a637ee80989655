/*
 * Many deliveries settled or extended at once over HTTP: an outcome for each, and what a retry
 * gets.
 */
#include "queue_stage.h"

static char receipts[BATCH][64];

/* Sends `count` messages 1, 2, ... and receives them. */
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

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(each_gets_its_outcome_in_order)
{
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
	/*
	 * One list is enough. A repeated acknowledgement gets the same outcome; a later reject does
	 * not.
	 */
	a = settle("{\"acknowledge\":[\"$1\"]}", NULL);
	assert_result(a, 0, receipts[0], "acknowledged");
	a = settle("{\"reject\":[{\"receipt\":\"$1\"}],\"acknowledge\":[]}", NULL);
	assert_result(a, 0, receipts[0], "not_current");
}

TEST(each_has_its_reason_or_is_dead)
{
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
	for (size_t i = 0; i < COUNT(wanted); i++) {
		a = message("GET", wanted[i][0], NULL);
		assert_string_equal(text_at(a, "/state"), wanted[i][1]);
		assert_string_equal(text_at(a, "/reason"), wanted[i][2]);
	}
	assert_counts(0, 1, 0, 2);
}

/* A reject may be uncounted in a settle and in both kinds of receive. */
TEST(each_may_be_uncounted)
{
	send_body("{\"body\":1,\"id\":\"a\",\"max_receives\":1}");
	snprintf(receipts[0], sizeof(receipts[0]), "%s", receipt_in(receive(NULL)));
	assert_result(settle("{\"reject\":[{\"receipt\":\"$1\",\"counted\":false}]}", NULL), 0, receipts[0],
		      "rejected");
	struct answer a = receive(NULL);
	for (int of_several = 0; of_several < 2; of_several++) {
		char body[256];
		snprintf(body, sizeof(body), "{%s\"settle\":{\"reject\":[{%s\"receipt\":\"%s\",\"counted\":false}]}}",
			 of_several ? "\"queues\":[\"q\"]," : "", of_several ? "\"queue\":\"q\"," : "", receipt_in(a));
		a = http(client, "POST", of_several ? "/queues/receive" : "/queues/q/receive", body);
		assert_string_equal(text_at(a, "/deliveries/0/outcome"), "rejected");
		assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	}
}

static void assert_extended(struct answer a, int i, const char *outcome)
{
	char pointer[64];

	assert_result(a, i, receipts[i], outcome);
	snprintf(pointer, sizeof(pointer), "/deliveries/%d/visible_until_ms", i);
	if (strcmp(outcome, "extended") == 0)
		assert_in_range(server_now_ms(&redis) + 70000 - int_at(a, pointer), 0, SOON_MS);
	else
		assert_true(json_is_null(json_at(a, pointer)));
}

TEST(many_are_extended_at_once)
{
	char body[512];

	configure("{\"visibility_ms\":70000}");
	send_body("{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":1,\"id\":\"b\"},{\"body\":1,\"id\":\"c\"}]}");
	for (int i = 0; i < 3; i++)
		snprintf(receipts[i], sizeof(receipts[i]), "%s", receipt_in(receive("{\"visibility_ms\":20000}")));
	assert_status(extend(receipts[0], "{\"visibility_ms\":20000,\"progress\":{\"percent\":40}}"), 200);
	assert_status(acknowledge(receipts[1]), 204);
	assert_status(http(client, "DELETE", "/queues/q/messages/c?in_flight=true", NULL), 204);
	snprintf(body, sizeof(body), "{\"receipts\":[\"%s\",\"%s\",\"%s\"]}", receipts[0], receipts[1], receipts[2]);
	struct answer a = post("/extend", body, NULL);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "q");
	assert_extended(a, 0, "extended");
	assert_extended(a, 1, "not_current");
	assert_extended(a, 2, "cancelled");
	assert_int_equal(int_at(message("GET", "a", NULL), "/visible_until_ms"),
			 int_at(a, "/deliveries/0/visible_until_ms"));
	assert_int_equal(int_at(message("GET", "a", NULL), "/progress/percent"), 40);
	snprintf(body, sizeof(body), "{\"receipts\":[\"%s\"],\"visibility_ms\":1000}", receipts[0]);
	a = post("/extend", body, KEY "one");
	assert_in_range(server_now_ms(&redis) + 1000 - int_at(a, "/deliveries/0/visible_until_ms"), 0, SOON_MS);
	assert_status(acknowledge(receipts[0]), 204);
	assert_extended(post("/extend", body, KEY "one"), 0, "not_current"); /* executed again, not replayed */
}

TEST(a_hundred_fit)
{
	char body[BATCH * 64 + 128], *at = body + sprintf(body, "{\"acknowledge\":[");

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

TEST(a_retry_gets_the_first_outcomes)
{
	static const char both[] = "{\"acknowledge\":[\"$1\"],\"reject\":[{\"receipt\":\"$2\"}]}";

	configure("{" AT_ONCE "}");
	deliver(2);
	struct answer first = settle(both, KEY "one");
	assert_result(first, 1, receipts[1], "rejected");
	assert_string_equal(settle(both, KEY "one").body, first.body);
	assert_problem(settle("{\"acknowledge\":[\"$1\"]}", KEY "one"), 422, "idempotency_key_reused", "none");
	assert_result(settle(both, NULL), 1, receipts[1], "not_current");
	assert_counts(1, 0, 0, 0);
}
