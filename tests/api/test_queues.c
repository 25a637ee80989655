/*
 * Queues over HTTP: the answers to sends, receives and settles, and the requests that the handlers
 * refuse. (What a queue does: tests/scripts. Single messages: test_queues_messages.c. Whole queues:
 * test_queues_admin.c. Single values: tests/faults/test_hostile_members.c.)
 */
#include "queue_stage.h"

/* ---- Sending ---- */

SUITE(.open = start, .close = stop, .after = forget_all);

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

/* ---- Extending and rejecting ---- */

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
