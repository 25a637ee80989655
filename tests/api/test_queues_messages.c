/*
 * Single messages of a queue over HTTP: GET, PATCH, DELETE and lists. (Many messages at once, and
 * whole queues: test_queues_admin.c.)
 */
#include "queue_stage.h"

/* ---- One message ---- */

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(a_look_has_all_members)
{
	static const struct {
		const char *id, *reason;
		int body, priority, receives;
	} rows[] = { { "ready", NULL, 4, 4, 0 },
		     { "delayed", NULL, 3, 4, 0 },
		     { "in_flight", NULL, 2, 4, 1 },
		     { "dead", "why", 1, 4, 1 } };

	send_each_state();
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = message("GET", rows[i].id, NULL);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/id"), rows[i].id);
		assert_string_equal(text_at(a, "/state"), rows[i].id);
		assert_int_equal(int_at(a, "/body"), rows[i].body);
		assert_int_equal(int_at(a, "/priority"), rows[i].priority);
		assert_int_equal(int_at(a, "/receives"), rows[i].receives);
		assert_int_equal(json_is_null(json_at(a, "/deliver_at_ms")), i > 1); /* by state */
		assert_int_equal(json_is_null(json_at(a, "/visible_until_ms")), i != 2);
		assert_int_equal(json_is_null(json_at(a, "/died_at_ms")), i != 3);
		assert_true(json_is_null(json_at(a, "/expires_at_ms")));
		if (rows[i].reason)
			assert_string_equal(text_at(a, "/reason"), rows[i].reason);
		else
			assert_true(json_is_null(json_at(a, "/reason")));
	}
	struct answer a = message("GET", "urgent", NULL);
	assert_int_equal(int_at(a, "/priority"), 0);
	assert_int_equal(int_at(a, "/expires_at_ms"), int_at(a, "/sent_at_ms") + 60000);
	assert_int_equal(int_at(a, "/deliver_at_ms"), int_at(a, "/sent_at_ms"));
	a = message("GET", "delayed", NULL);
	assert_int_equal(int_at(a, "/deliver_at_ms"), int_at(a, "/sent_at_ms") + 60000);
	assert_counts(2, 1, 1, 1); /* reads receive nothing */
	assert_problem(message("GET", "none", NULL), 404, "not_found", "none");
}

static void assert_worker(const char *state, const char *wanted)
{
	struct answer a = message("GET", "a", NULL);

	assert_string_equal(text_at(a, "/state"), state);
	if (wanted)
		assert_string_equal(text_at(a, "/worker"), wanted);
	else
		assert_true(json_is_null(json_at(a, "/worker")));
	char query[64];
	snprintf(query, sizeof(query), "?state=%s", state);
	assert_true(json_equal(json_at(list(query), "/items/0"), a.json));
}

/*
 * The worker's name is kept as the receive sent it, whatever state the delivery leaves the message
 * in.
 */
TEST(a_message_names_its_worker)
{
	char longest[201] = "", body[256], receipt[128];

	configure("{" AT_ONCE "}");
	send_body("{\"body\":1,\"id\":\"a\"}");
	assert_worker("ready", NULL);
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(receive("{\"worker\":\"h\\u00f6st\\t{%41} /7\"}")));
	assert_worker("in_flight", "h\xc3\xb6st\t{%41} /7");
	assert_status(reject(receipt, "{\"reason\":\"why\"}"), 200);
	assert_worker("ready", "h\xc3\xb6st\t{%41} /7");

	memset(longest, 'w', sizeof(longest) - 1); /* a receive from several queues, too */
	snprintf(body, sizeof(body), "{\"queues\":[\"other\",\"q\"],\"worker\":\"%s\"}", longest);
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(http(client, "POST", "/queues/receive", body)));
	assert_worker("in_flight", longest);
	assert_status(reject(receipt, "{\"dead\":true}"), 200);
	assert_worker("dead", longest);
	assert_status(post("/redrive", NULL, NULL), 200);
	assert_worker("ready", NULL);

	assert_int_equal(count_in(receive("{\"worker\":\"w\",\"must_exist\":true}")), 1);
	assert_worker("in_flight", "w");
	assert_problem(receive("{\"worker\":\"\"}"), 400, "out_of_range", "none");
	assert_problem(receive("{\"worker\":\"a\\u0000\"}"), 400, "invalid_value", "none");
	memset(longest, 'w', sizeof(longest) - 1);
	snprintf(body, sizeof(body), "{\"worker\":\"%sx\"}", longest);
	assert_problem(receive(body), 400, "out_of_range", "none");
}

/* `retry_after_ms` is the time until the delivery ends. */
static void assert_in_flight(struct answer a)
{
	int64_t left_ms = int_at(message("GET", "in_flight", NULL), "/visible_until_ms") - server_now_ms(&redis);

	assert_problem(a, 409, "message_in_flight", "none");
	assert_in_range(int_at(a, "/retry_after_ms"), left_ms, left_ms + SOON_MS);
	assert_int_equal(atoi(header_of(a, "Retry-After")), (int_at(a, "/retry_after_ms") + 999) / 1000);
}

TEST(a_change_moves_a_message)
{
	static const struct {
		const char *id, *body, *state;
		int64_t delay_ms, deliver_at_ms, priority; /* -1: not checked */
	} rows[] = {
		{ "ready", "{\"delay_ms\":60000,\"priority\":9}", "delayed", 60000, -1, 9 },
		{ "ready", "{\"delay_ms\":0}", "ready", 0, -1, 9 },
		{ "delayed", "{\"deliver_at_ms\":253402300799999}", "delayed", -1, 253402300799999, 4 },
		{ "delayed", "{\"priority\":1}", "delayed", -1, 253402300799999, 1 },
		{ "delayed", "{\"deliver_at_ms\":1000000000000}", "ready", 0, -1, 1 }, /* past: now */
		{ "dead", "{\"priority\":2}", "ready", 0, -1, 2 },                     /* deliverable again */
	};

	send_each_state();
	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t before_ms = server_now_ms(&redis);
		struct answer a = message("PATCH", rows[i].id, rows[i].body);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/state"), rows[i].state);
		assert_int_equal(int_at(a, "/priority"), rows[i].priority);
		assert_int_equal(int_at(a, "/receives"), 0);
		assert_true(json_is_null(json_at(a, "/visible_until_ms")) && json_is_null(json_at(a, "/died_at_ms")));
		if (rows[i].delay_ms >= 0)
			assert_in_range(int_at(a, "/deliver_at_ms") - rows[i].delay_ms, before_ms,
					server_now_ms(&redis));
		else
			assert_int_equal(int_at(a, "/deliver_at_ms"), rows[i].deliver_at_ms);
		assert_true(json_equal(a.json, message("GET", rows[i].id, NULL).json));
	}
	assert_in_flight(message("PATCH", "in_flight", "{\"delay_ms\":0}"));
	assert_problem(message("PATCH", "none", "{\"delay_ms\":0}"), 404, "not_found", "none");
}

/* A change is refused, like a send, if the message would expire before it is due. */
TEST(a_change_cannot_outlive_the_ttl)
{
	char body[64];

	send_body("{\"body\":1,\"id\":\"a\",\"ttl_ms\":60000}");
	int64_t expires_ms = int_at(message("GET", "a", NULL), "/expires_at_ms");
	assert_problem(message("PATCH", "a", "{\"delay_ms\":60001}"), 400, "invalid_value", "none");
	snprintf(body, sizeof(body), "{\"deliver_at_ms\":%lld}", (long long)expires_ms);
	struct answer a = message("PATCH", "a", body);
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/deliver_at_ms");
	assert_string_equal(text_at(message("GET", "a", NULL), "/state"), "ready");
	snprintf(body, sizeof(body), "{\"deliver_at_ms\":%lld}", (long long)expires_ms - 1);
	assert_int_equal(int_at(message("PATCH", "a", body), "/deliver_at_ms"), expires_ms - 1);
}

TEST(cancel_takes_what_is_not_in_flight)
{
	send_each_state();
	assert_in_flight(message("DELETE", "in_flight", NULL));
	assert_status(message("DELETE", "ready", NULL), 204);
	assert_problem(message("DELETE", "ready", NULL), 404, "not_found", "none");
	assert_counts(1, 1, 1, 1);
}

/* A message's id may be any text; the path has it percent-encoded. */
TEST(ids_are_any_text)
{
	static const char *const rows[][2] = {
		{ "x%2Fy", "x/y" },
		{ "%E2%82%AC", "\u20ac" },
		{ "1795223759272486", "1795223759272486" }, /* looks like a sequence */
		{ "receive", "receive" },
	};
	char body[64];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(body, sizeof(body), "{\"body\":1,\"id\":\"%s\"}", rows[i][1]);
		assert_ids(send_body(body), IDS(rows[i][1]));
		assert_string_equal(text_at(message("GET", rows[i][0], NULL), "/id"), rows[i][1]);
		assert_status(message("PATCH", rows[i][0], "{\"priority\":0}"), 200);
		assert_status(message("DELETE", rows[i][0], NULL), 204);
	}
}

/* ---- Lists of messages ---- */

TEST(each_state_is_listed)
{
	char query[128];

	assert_int_equal(json_array_size(json_at(list(""), "/items")), 0);
	send_each_state();
	assert_ids_of(list(""), "items", IDS("urgent", "ready"));
	assert_ids_of(list("?state=delayed"), "items", IDS("delayed"));
	assert_ids_of(list("?state=in_flight"), "items", IDS("in_flight"));
	struct answer a = list("?state=dead");
	assert_ids_of(a, "items", IDS("dead"));
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	assert_true(json_equal(json_at(a, "/items/0"), message("GET", "dead", NULL).json));
	/*
	 * The list has pages; the cursor has a priority, an instant and a sequence, each at its
	 * largest.
	 */
	send_body("{\"body\":1,\"id\":\"last\",\"priority\":9,\"deliver_at_ms\":253402300799999}");
	static const char *const states[] = { "ready", "delayed" }, *const firsts[] = { "urgent", "delayed" },
				 *const seconds[] = { "ready", "last" };
	for (size_t i = 0; i < COUNT(states); i++) {
		snprintf(query, sizeof(query), "?state=%s&limit=1", states[i]);
		a = list(query);
		assert_ids_of(a, "items", IDS(firsts[i]));
		snprintf(query, sizeof(query), "?state=%s&limit=1&cursor=%s", states[i], text_at(a, "/next_cursor"));
		a = list(query);
		assert_ids_of(a, "items", IDS(seconds[i]));
	}
	snprintf(query, sizeof(query), "?state=delayed&limit=1&cursor=%s", text_at(a, "/next_cursor"));
	a = list(query);
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
}
