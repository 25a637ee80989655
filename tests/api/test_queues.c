/*
 * Queues over HTTP: the answers to sends, receives and settles, and the requests that the handlers
 * refuse. (What a queue does: tests/scripts. Single messages: test_queues_messages.c. Whole queues:
 * test_queues_admin.c. Single values: tests/faults/test_hostile_members.c.)
 */
#include "queue_stage.h"

/* ---- Sending ---- */

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(a_message_is_sent_received_and_done)
{
	int64_t before_ms = server_now_ms(&redis);
	struct answer sent = send_body("{\"body\":{\"order\":4711}}");
	assert_status(sent, 201);
	assert_int_equal(count_in(sent), 1);
	assert_int_equal(strspn(text_at(sent, "/messages/0/id"), "0123456789"), 16);
	assert_false(bool_at(sent, "/messages/0/duplicate"));
	assert_in_range(int_at(sent, "/messages/0/deliver_at_ms"), before_ms, server_now_ms(&redis));
	struct answer a = receive(NULL);
	assert_status(a, 200);
	assert_ids(a, IDS(text_at(sent, "/messages/0/id")));
	assert_int_equal(int_at(a, "/messages/0/body/order"), 4711);
	assert_int_equal(int_at(a, "/messages/0/priority"), 4);
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	assert_int_equal(int_at(a, "/messages/0/sent_at_ms"), int_at(sent, "/messages/0/deliver_at_ms"));
	assert_in_range(int_at(a, "/messages/0/visible_until_ms") - VISIBILITY_MS, before_ms, server_now_ms(&redis));
	assert_int_equal(count_in(receive("{\"limit\":100}")), 0);
	for (int i = 0; i < 2; i++) { /* a retry gets the same answer */
		struct answer done = acknowledge(receipt_in(a));
		assert_status(done, 204);
		assert_int_equal(done.body_len, 0);
	}
}

/* The answer to a single message has its path in Location, with the id percent-encoded. */
TEST(one_that_is_stored_has_a_location)
{
	char path[64];

	struct answer a = post("/messages", "{\"body\":1,\"id\":\"a/b c\"}", KEY "once");
	assert_status(a, 201);
	assert_string_equal(header_of(a, "Location"), "/queues/q/messages/a%2Fb%20c");
	struct answer again = post("/messages", "{\"body\":1,\"id\":\"a/b c\"}", KEY "once");
	assert_string_equal(header_of(again, "Location"), "/queues/q/messages/a%2Fb%20c");
	assert_string_equal(again.body, a.body);        /* in a replay the message is not a duplicate of itself */
	a = send_body("{\"body\":1,\"id\":\"a/b c\"}"); /* a duplicate, which creates no message */
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

TEST(a_batch_has_its_own_times_and_priorities)
{
	struct answer a = send_body(
		"{\"messages\":[{\"body\":1,\"id\":\"late\",\"delay_ms\":3155760000000},"
		"{\"body\":2,\"id\":\"past\",\"deliver_at_ms\":1000000000000,\"priority\":5,\"max_receives\":1},{\"body\":3,\"id\":\"first\"},"
		"{\"body\":4,\"id\":\"end\",\"deliver_at_ms\":253402300799999}]}");
	assert_status(a, 201);
	assert_ids(a, IDS("late", "past", "first", "end"));
	int64_t sent_at_ms = int_at(a, "/messages/1/deliver_at_ms");
	assert_in_range(server_now_ms(&redis) - sent_at_ms, 0, SOON_MS);
	assert_int_equal(int_at(a, "/messages/0/deliver_at_ms"), sent_at_ms + 3155760000000);
	assert_int_equal(int_at(a, "/messages/3/deliver_at_ms"), 253402300799999); /* the calendar's end */
	assert_ids(receive("{\"limit\":1}"), IDS("first"));
	a = receive("{\"limit\":100,\"visibility_ms\":43200000}");
	assert_ids(a, IDS("past"));
	assert_int_equal(int_at(a, "/messages/0/priority"), 5);
	assert_in_range(int_at(a, "/messages/0/visible_until_ms") - 43200000, sent_at_ms, server_now_ms(&redis));
	a = reject(receipt_in(a), NULL);
	assert_true(bool_at(a, "/dead"));
}

TEST(an_id_is_sent_once)
{
	static const char twice[] = "{\"messages\":[{\"body\":2,\"id\":\"a\"},{\"body\":3,\"id\":\"b\"}]}";

	struct answer first = send_body("{\"body\":1,\"id\":\"a\",\"delay_ms\":60000}");
	struct answer a = send_body(twice);
	assert_status(a, 201); /* one of them was stored */
	assert_true(bool_at(a, "/messages/0/duplicate"));
	assert_int_equal(int_at(a, "/messages/0/deliver_at_ms"), int_at(first, "/messages/0/deliver_at_ms"));
	assert_false(bool_at(a, "/messages/1/duplicate"));
	assert_ids(receive(NULL), IDS("b"));
	a = send_body(twice);
	assert_status(a, 200);
	assert_true(bool_at(a, "/messages/1/duplicate"));
	assert_true(json_is_null(json_at(a, "/messages/1/deliver_at_ms"))); /* in flight */
}

/* ---- Receiving ---- */

/*
 * An expired message takes no place in the answer, and no more than `limit` messages leave the
 * queue.
 */
TEST(expired_messages_make_no_room_beyond_the_limit)
{
	enum { MESSAGES = 30 };

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
		assert_int_equal(count_of("/expired"), 1);
	}
}

/*
 * The script ends a call after a thousand expired messages; the next call finds the message behind
 * them.
 */
TEST(many_expired_messages_hide_none)
{
	enum { EXPIRED = 1100 };

	send_many(EXPIRED, ",\"ttl_ms\":1");
	next_ms();
	next_ms();
	send_body("{\"body\":1,\"id\":\"waits\"}");
	assert_ids(receive(NULL), IDS("waits"));
	assert_int_equal(count_of("/expired"), EXPIRED);
}

TEST(what_is_acknowledged_at_once_never_comes_again)
{
	static const char two[] = "{\"limit\":2,\"acknowledge\":true}";

	send_body("{\"messages\":[{\"body\":{\"n\":1},\"id\":\"a\"},{\"body\":2,\"id\":\"b\"},{\"body\":3}]}");
	struct answer a = post("/receive", two, KEY "one");
	assert_ids(a, IDS("a", "b"));
	assert_int_equal(int_at(a, "/messages/0/body/n"), 1);
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	assert_true(json_is_null(json_at(a, "/messages/0/receipt")));
	assert_true(json_is_null(json_at(a, "/messages/0/visible_until_ms")));
	/* A retry gets the messages of the first attempt, and receives no more. */
	assert_string_equal(post("/receive", two, KEY "one").body, a.body);
	assert_counts(1, 0, 0, 0);
	/* With `acknowledge` false the answer has a receipt, as usual. */
	assert_status(acknowledge(receipt_in(receive("{\"acknowledge\":false,\"visibility_ms\":1000}"))), 204);
}

/* ---- Extending and rejecting ---- */

TEST(extending_counts_from_now)
{
	static const struct {
		const char *body;
		int64_t visibility_ms;
	} rows[] = { { "{\"visibility_ms\":120000}", 120000 }, { "{}", 70000 }, { NULL, 70000 } };

	configure("{\"visibility_ms\":70000}");
	send_body("{\"body\":1,\"id\":\"a\"}");
	const char *receipt = receipt_in(receive("{\"visibility_ms\":10000}"));
	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t before_ms = server_now_ms(&redis);
		struct answer a = extend(receipt, rows[i].body);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/id"), "a");
		assert_in_range(int_at(a, "/visible_until_ms") - rows[i].visibility_ms, before_ms,
				server_now_ms(&redis));
		assert_int_equal(int_at(message("GET", "a", NULL), "/visible_until_ms"),
				 int_at(a, "/visible_until_ms"));
	}
}

/* A replay reports the current visibility, and does not change it. */
TEST(a_retried_extend_extends_once)
{
	char tail[128];

	send_body("{\"body\":1,\"id\":\"a\"}");
	snprintf(tail, sizeof(tail), "/deliveries/%s/extend", receipt_in(receive(NULL)));
	assert_status(post(tail, "{\"visibility_ms\":60000}", KEY "one"), 200);
	struct answer longer = post(tail, "{\"visibility_ms\":90000}", KEY "two");
	assert_string_equal(post(tail, "{\"visibility_ms\":60000}", KEY "one").body, longer.body);
	assert_int_equal(int_at(message("GET", "a", NULL), "/visible_until_ms"), int_at(longer, "/visible_until_ms"));
}

TEST(a_rejected_message_is_due_again_or_dead)
{
	configure("{" AT_ONCE "}");
	send_body("{\"body\":1,\"id\":\"a\",\"priority\":2,\"max_receives\":3,\"ttl_ms\":3600000}");
	struct answer a = message("GET", "a", NULL);
	assert_int_equal(int_at(a, "/priority"), 2);
	assert_int_equal(int_at(a, "/expires_at_ms"), int_at(a, "/sent_at_ms") + 3600000);
	int64_t before_ms = server_now_ms(&redis);
	a = reject(receipt_in(receive(NULL)), "{\"reason\":\"gateway\\t\\u00e4\\n\"}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/id"), "a");
	assert_false(bool_at(a, "/dead"));
	assert_in_range(int_at(a, "/deliver_at_ms"), before_ms, server_now_ms(&redis));
	assert_string_equal(text_at(message("GET", "a", NULL), "/reason"), "gateway\t\u00e4\n");
	before_ms = server_now_ms(&redis);
	a = reject(receipt_in(receive(NULL)), "{\"delay_ms\":60000}");
	assert_in_range(int_at(a, "/deliver_at_ms") - 60000, before_ms, server_now_ms(&redis));
	assert_status(message("PATCH", "a", "{\"delay_ms\":0}"), 200);
	a = reject(receipt_in(receive(NULL)), NULL); /* the third of three receives */
	assert_true(bool_at(a, "/dead"));
	assert_true(json_is_null(json_at(a, "/deliver_at_ms")));
	assert_status(message("PATCH", "a", "{\"priority\":1}"), 200); /* deliverable again */
	a = reject(receipt_in(receive(NULL)), "{\"dead\":true,\"reason\":\"no such order\"}");
	assert_true(bool_at(a, "/dead"));
	assert_true(json_is_null(json_at(a, "/deliver_at_ms")));
	assert_string_equal(text_at(message("GET", "a", NULL), "/reason"), "no such order");
}

/* A reject that is not counted is not a failure: it uses up no attempt, and no backoff follows. */
TEST(an_uncounted_reject_is_not_an_attempt)
{
	send_body("{\"body\":1,\"id\":\"a\",\"max_receives\":1}");
	for (int i = 0; i < 3; i++) {
		struct answer a = receive("{\"worker\":\"w\"}");
		assert_int_equal(int_at(a, "/messages/0/receives"), 1);
		a = reject(receipt_in(a), "{\"counted\":false,\"reason\":\"busy\"}");
		assert_status(a, 200);
		assert_false(bool_at(a, "/dead"));
		assert_int_equal(int_at(a, "/deliver_at_ms"), int_at(message("GET", "a", NULL), "/sent_at_ms"));
		a = message("GET", "a", NULL);
		assert_string_equal(text_at(a, "/state"), "ready");
		assert_int_equal(int_at(a, "/receives"), 0);
		assert_true(json_is_null(json_at(a, "/reason")));
		assert_true(json_is_null(json_at(a, "/worker")));
	}
	int64_t before_ms = server_now_ms(&redis);
	struct answer a = reject(receipt_in(receive(NULL)), "{\"counted\":false,\"delay_ms\":60000}");
	assert_in_range(int_at(a, "/deliver_at_ms") - 60000, before_ms, server_now_ms(&redis));
	assert_status(message("PATCH", "a", "{\"delay_ms\":0}"), 200);
	assert_true(bool_at(reject(receipt_in(receive(NULL)), "{\"counted\":true}"), "/dead"));
}

/* A message past its ttl is gone: it is neither dead nor due again. */
TEST(what_is_rejected_past_its_ttl_is_neither)
{
	struct answer a;

	do { /* on a very slow machine it expires before it is received */
		send_body("{\"body\":1,\"ttl_ms\":60}");
		a = receive(NULL);
	} while (count_in(a) == 0);
	wait_until(server_now_ms(&redis) >= int_at(a, "/messages/0/sent_at_ms") + 60, SOON_MS);
	a = reject(receipt_in(a), "{\"delay_ms\":60000}");
	assert_status(a, 200);
	assert_false(bool_at(a, "/dead"));
	assert_true(json_is_null(json_at(a, "/deliver_at_ms")));
}

/* ---- Rules that no schema has ---- */

#define MESSAGES "/queues/q/messages"
#define SCHEDULE "/queues/q/schedules/s"

/* In a path or a body, $ is replaced by the receipt of message m, which is in flight. */
static const struct refusal {
	const char *method, *target, *body, *code, *pointer;
} refusals[] = {
	{ "POST", MESSAGES, "{}", "missing_field", "/body" },
	{ "POST", MESSAGES, "{\"body\":1,\"delay_ms\":1,\"deliver_at_ms\":1000000000000}", "invalid_value",
	  "/deliver_at_ms" },
	{ "POST", MESSAGES, "{\"body\":1,\"delay_ms\":5,\"ttl_ms\":5}", "invalid_value", "/ttl_ms" },
	{ "POST", MESSAGES, "{\"messages\":[{\"body\":1},{\"body\":1,\"delay_ms\":1,\"deliver_at_ms\":1000000000000}]}",
	  "invalid_value", "/messages/1/deliver_at_ms" },
	{ "POST", MESSAGES, "{\"messages\":[{\"body\":1},{\"body\":1,\"delay_ms\":6,\"ttl_ms\":5}]}", "invalid_value",
	  "/messages/1/ttl_ms" },
	{ "POST", MESSAGES, "{\"messages\":[{\"body\":1},{}]}", "missing_field", "/messages/1/body" },
	{ "POST", MESSAGES, "{\"body\":1,\"backoff_base_ms\":5,\"backoff_max_ms\":4}", "invalid_value",
	  "/backoff_base_ms" },
	{ "POST", MESSAGES, "{\"messages\":[{\"body\":1},{\"body\":1,\"id\":\"m\",\"max_extend_ms\":5}]}",
	  "invalid_value", "/messages/1/max_extend_ms" },
	{ "POST", MESSAGES, "{\"body\":1,\"id\":\"m\",\"on_duplicate\":\"after\",\"max_extend_ms\":5}", "invalid_value",
	  "/max_extend_ms" },
	{ "POST", MESSAGES, "{\"body\":1,\"on_duplicate\":\"replace\"}", "invalid_value", "/on_duplicate" },
	{ "POST", MESSAGES, "{\"body\":1,\"id\":\"m\",\"on_duplicate\":\"drop\"}", "invalid_value", "/on_duplicate" },
	{ "POST", MESSAGES, "{\"body\":1,\"id\":\"m\",\"on_duplicate\":\"after\",\"wait_result_ms\":5}",
	  "invalid_value", "/wait_result_ms" },
	{ "POST", "/queues/q/redrive", "{\"interval_ms\":0}", "out_of_range", "/interval_ms" },
	{ "POST", "/queues/q/redrive", "{\"to\":\"receive\"}", "reserved_name", "/to" },
	{ "POST", "/queues/q/receive", "{\"acknowledge\":true,\"visibility_ms\":1000}", "invalid_value",
	  "/visibility_ms" },
	{ "POST", "/queues/receive", "{\"queues\":[\"q\"],\"acknowledge\":true,\"visibility_ms\":5}", "invalid_value",
	  "/visibility_ms" },
	{ "POST", "/queues/q/deliveries/$/reject", "{\"dead\":true,\"delay_ms\":0}", "invalid_value", "/delay_ms" },
	{ "POST", "/queues/q/deliveries/$/reject", "{\"dead\":true,\"counted\":false}", "invalid_value", "/counted" },
	{ "POST", "/queues/q/settle", "{}", "missing_field", "/acknowledge" },
	{ "POST", "/queues/q/settle", "{\"acknowledge\":[],\"reject\":[]}", "missing_field", "/acknowledge" },
	{ "POST", "/queues/q/settle", "{\"acknowledge\":[\"$\",\"$\",\"x\"]}", "invalid_receipt", "/acknowledge/2" },
	{ "POST", "/queues/q/settle", "{\"acknowledge\":[\"$\"],\"reject\":[{\"receipt\":\"$\"},{\"receipt\":\"x\"}]}",
	  "invalid_receipt", "/reject/1/receipt" },
	{ "POST", "/queues/q/settle",
	  "{\"reject\":[{\"receipt\":\"$\"},{\"receipt\":\"$\",\"dead\":true,\"delay_ms\":0}]}", "invalid_value",
	  "/reject/1/delay_ms" },
	{ "POST", "/queues/q/settle", "{\"reject\":[{\"receipt\":\"$\",\"dead\":true,\"counted\":false}]}",
	  "invalid_value", "/reject/0/counted" },
	{ "POST", "/queues/receive",
	  "{\"queues\":[\"q\"],\"settle\":{\"reject\":[{\"queue\":\"q\",\"receipt\":\"$\",\"dead\":true,"
	  "\"counted\":false}]}}",
	  "invalid_value", "/settle/reject/0/counted" },
	{ "POST", "/queues/q/extend", "{\"receipts\":[]}", "out_of_range", "/receipts" },
	{ "POST", "/queues/q/extend", "{\"receipts\":[\"$\",\"$\"]}", "invalid_value", "/receipts/1" },
	{ "POST", "/queues/q/extend", "{\"receipts\":[\"$\",\"x\"]}", "invalid_receipt", "/receipts/1" },
	{ "PATCH", MESSAGES "/ready", "{}", "missing_field", "/delay_ms" },
	{ "PATCH", MESSAGES "/ready", "{\"delay_ms\":0,\"deliver_at_ms\":1000000000000}", "invalid_value",
	  "/deliver_at_ms" },
	{ "PATCH", MESSAGES "/lives", "{\"delay_ms\":60001}", "invalid_value", "/delay_ms" },
	{ "GET", MESSAGES "?cursor=x", NULL, "invalid_value", "?cursor" },
	{ "GET", MESSAGES "?cursor=4.1.1", NULL, "invalid_value", "?cursor" },
	{ "GET", MESSAGES "?cursor=4.1.179522375927248x", NULL, "invalid_value", "?cursor" },
	{ "GET", MESSAGES "?cursor=4.1.1795223759272486.1", NULL, "invalid_value", "?cursor" },
	{ "GET", MESSAGES "?cursor=4.1795223759272486.1795223759272486", NULL, "invalid_value", "?cursor" },
	{ "PUT", "/queues/q", "{\"backoff\":{\"base_ms\":5,\"max_ms\":4}}", "invalid_value", "/backoff" },
	{ "PATCH", "/queues/q", "{\"backoff\":{\"base_ms\":5,\"max_ms\":4}}", "invalid_value", "/backoff" },
	{ "PATCH", "/queues/q", "{\"backoff\":{\"max_ms\":1}}", "invalid_value",
	  "/backoff" }, /* below the base that the queue has */
	{ "PUT", SCHEDULE, "{\"body\":1}", "missing_field", "/every_ms" },
	{ "PUT", SCHEDULE, "{\"every_ms\":100,\"cron\":\"* * * * *\",\"body\":1}", "invalid_value", "/cron" },
	{ "PUT", SCHEDULE, "{\"cron\":\"0 0 30 2 *\",\"body\":1}", "invalid_value", "/cron" },
	{ "PUT", SCHEDULE, "{\"cron\":\"@reboot\",\"body\":1}", "invalid_value", "/cron" },
	{ "PUT", SCHEDULE, "{\"cron\":\"@daily\",\"time_zone\":\"Europe/Berln\",\"body\":1}", "invalid_value",
	  "/time_zone" },
	{ "PUT", SCHEDULE, "{\"every_ms\":1000,\"time_zone\":\"right/UTC\",\"body\":1}", "invalid_value",
	  "/time_zone" },
	{ "PATCH", "/queues/q/schedules/kept", "{\"time_zone\":\"../UTC\"}", "invalid_value", "/time_zone" },
	{ "PUT", SCHEDULE, "{\"cron\":\"* * * * *\",\"end_at_ms\":1000000000000,\"body\":1}", "invalid_value",
	  "/end_at_ms" },
	{ "PATCH", "/queues/q/schedules/kept", "{\"cron\":null}", "missing_field", "/every_ms" },
	{ "PATCH", "/queues/q/schedules/kept", "{\"end_at_ms\":1000000000000}", "invalid_value", "/end_at_ms" },
};

static const char *with_receipt(char out[512], const char *text, const char *receipt)
{
	size_t len = 0;

	for (; *text; text++)
		len += (size_t)(*text == '$' ? snprintf(out + len, 512 - len, "%s", receipt)
					     : snprintf(out + len, 512 - len, "%c", *text));
	return out;
}

/* Each refusal names the member, and changes nothing in Redis. */
TEST(what_the_handlers_refuse_is_named)
{
	char target[512], body[512], receipt[128];

	configure("{\"max_receives\":9}");
	send_body("{\"body\":1,\"id\":\"m\"}");
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(receive("{\"visibility_ms\":43200000}")));
	send_body("{\"messages\":[{\"body\":1,\"id\":\"ready\"},{\"body\":1,\"id\":\"lives\",\"ttl_ms\":60000}]}");
	assert_status(http(client, "PUT", "/queues/q/schedules/kept", "{\"cron\":\"0 0 1 1 *\",\"body\":1}"), 201);
	char *before = server_picture(&redis);
	for (size_t i = 0; i < COUNT(refusals); i++) {
		const struct refusal *r = &refusals[i];
		struct answer a = http(client, r->method, with_receipt(target, r->target, receipt),
				       r->body ? with_receipt(body, r->body, receipt) : NULL);
		const char *pointer = json_string_value(json_at(a, "/errors/0/pointer"));
		if (a.status != 400 || !pointer || strcmp(pointer, r->pointer) != 0)
			fail_msg("%s %s %s: %d %s", r->method, r->target, r->body ? r->body : "", a.status, a.body);
		assert_problem(a, 400, r->code, "none");
	}
	char *after = server_picture(&redis);
	assert_string_equal(before, after);
	free(before);
	free(after);
}
