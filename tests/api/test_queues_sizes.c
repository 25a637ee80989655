/* Over HTTP: the setting max_message_bytes, and what counts as a message's size. */
#include "queue_stage.h"

SUITE(.open = start, .close = stop, .after = forget_all);

static void assert_too_large(const char *body, const char *pointer, int size, int most)
{
	char detail[128];

	snprintf(detail, sizeof(detail), "has %d bytes with the headers; queue 'q' allows %d (max_message_bytes)", size,
		 most);
	struct answer a = send_body(body);
	assert_problem(a, 400, "message_too_large", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), pointer);
	assert_string_equal(text_at(a, "/errors/0/detail"), detail);
}

TEST(the_text_of_a_body_counts)
{
	static const struct {
		const char *body;
		int size;
	} cases[] = {
		{ "\"1234567890\"", 10 },
		{ "\"12345678901\"", 11 },
		{ "\"\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\"", 10 },
		{ "\"\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9.\"", 11 },
		{ "\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\"", 10 },
		{ "\"\\ud83d\\ude00\\ud83d\\ude00..\"", 10 },
		{ "\"\\n\\\"\\\\\\/\\t\\t\\t\\t\\t\\t\"", 10 },
		{ "\"\\n\\\"\\\\\\/\\t\\t\\t\\t\\t\\t\\t\"", 11 },
		{ "{\"a\":1234}", 10 },
		{ "{\"a\": 1234}", 11 }, /* its bytes as they were sent */
		{ "1234567890", 10 },
		{ "12345678901", 11 },
		{ "\"\"", 0 },
	};

	configure("{\"max_message_bytes\":10}");
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[256];
		snprintf(text, sizeof(text), "{\"body\":%s}", cases[i].body);
		if (cases[i].size > 10)
			assert_too_large(text, "/body", cases[i].size, 10);
		else
			assert_status(send_body(text), 201);
	}
}

TEST(headers_count)
{
	configure("{\"max_message_bytes\":10}");
	assert_status(send_body("{\"body\":\"1234\",\"headers\":{\"ab\":\"12\",\"c\":\"\\\"\"}}"), 201);
	assert_too_large("{\"body\":\"1234\",\"headers\":{\"ab\":\"12\",\"c\":\"1\xc3\xa9\"}}", "/body", 12, 10);
	/* what is stored beside them does not */
	struct answer a = http(client, "POST", "/queues/q/messages",
			       "{\"body\":\"1234567890\",\"dedupe_id\":\"of some bytes\",\"id\":\"with an id\"}",
			       "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
	assert_status(a, 201);
}

/* The first that is too long is named, and none is stored. */
TEST(a_batch_is_refused_whole)
{
	configure("{\"max_message_bytes\":4}");
	assert_too_large("{\"messages\":[{\"body\":\"1234\"},{\"body\":\"12345\"},{\"body\":123456}]}",
			 "/messages/1/body", 5, 4);
	assert_too_large("{\"messages\":[{\"body\":1},{\"body\":12345,\"id\":\"a\",\"on_duplicate\":\"replace\"}]}",
			 "/messages/1/body", 5, 4);
	assert_counts(0, 0, 0, 0);
	assert_status(send_body("{\"messages\":[{\"body\":\"1234\"},{\"body\":\"\\u0041234\"}]}"), 201);
	assert_counts(2, 0, 0, 0);
}

/* A message that fits is sent by a second call, with all other options of the send. */
TEST(other_options_still_hold)
{
	configure("{\"max_message_bytes\":4,\"result_ms\":60000,\"max_messages\":3}");
	assert_status(send_body("{\"body\":\"1234\",\"must_exist\":true}"), 201);
	struct answer a = send_body("{\"body\":\"1234\",\"must_exist\":true,\"wait_result_ms\":1}");
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/messages/0/state"), "ready");
	assert_status(send_body("{\"body\":\"1234\",\"id\":\"a\",\"on_duplicate\":\"after\",\"wait_room_ms\":1}"), 201);
	assert_problem(send_body("{\"body\":\"1234\",\"must_exist\":true,\"wait_room_ms\":1}"), 409, "queue_full",
		       "none");
	assert_status(send_body("{\"body\":\"1234\",\"id\":\"a\",\"dedupe_id\":\"d\"}"), 200);
	assert_too_large("{\"body\":\"12345\",\"must_exist\":true,\"wait_room_ms\":1}", "/body", 5, 4);
}

TEST(a_retry_gets_the_first_answer)
{
	configure("{\"max_message_bytes\":4}");
	assert_problem(post("/messages", "{\"body\":\"12345\"}", KEY "k"), 400, "message_too_large", "none");
	assert_status(queue("PATCH", "{\"max_message_bytes\":5}"), 200);
	assert_status(post("/messages", "{\"body\":\"12345\"}", KEY "k"), 201);
	assert_status(queue("PATCH", "{\"max_message_bytes\":4}"), 200);
	assert_status(post("/messages", "{\"body\":\"12345\"}", KEY "k"), 201); /* what was stored, stays */
	assert_counts(1, 0, 0, 0);
}

TEST(the_limit_is_shown_and_removed)
{
	assert_status(queue("PATCH", "{\"max_message_bytes\":1}"), 200);
	assert_int_equal(int_at(queue("GET", NULL), "/settings/max_message_bytes"), 1);
	assert_too_large("{\"body\":12}", "/body", 2, 1);
	assert_status(queue("PATCH", "{\"visibility_ms\":1000}"), 200);
	assert_too_large("{\"body\":12}", "/body", 2, 1);
	assert_status(queue("PATCH", "{\"max_message_bytes\":null}"), 200);
	assert_true(json_is_null(json_at(queue("GET", NULL), "/settings/max_message_bytes")));
	assert_status(send_body("{\"body\":12}"), 201);
	configure("{\"max_message_bytes\":67108864}");
	assert_problem(queue("PUT", "{\"max_message_bytes\":67108865}"), 400, "out_of_range", "none");
	assert_problem(queue("PUT", "{\"max_message_bytes\":0}"), 400, "out_of_range", "none");
	configure("{}");
	assert_true(json_is_null(json_at(queue("GET", NULL), "/settings/max_message_bytes")));
}

/* A schedule sends what was allowed when it was made. */
TEST(schedules_are_not_limited)
{
	configure("{\"max_message_bytes\":1}");
	assert_status(http(client, "PUT", "/queues/q/schedules/s", "{\"every_ms\":3600000,\"body\":12345}"), 201);
	assert_status(http(client, "POST", "/queues/q/schedules/s/run", NULL), 200);
	assert_counts(1, 0, 0, 0);
}
