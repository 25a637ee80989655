/*
 * The groups of a queue over HTTP: the list with its pages, pause and resume, purge and redrive of
 * one group.
 */
#include "queue_stage.h"

static struct answer groups(const char *query)
{
	char target[256];

	snprintf(target, sizeof(target), "/queues/q/groups%s", query);
	return http(client, "GET", target, NULL);
}

static struct answer group(const char *name, const char *verb, const char *body)
{
	char target[512];

	snprintf(target, sizeof(target), "/queues/q/groups/%s/%s", name, verb);
	return http(client, "POST", target, body);
}

/* Sends `count` messages of a group, with the ids <group>0, <group>1, ... */
static void send_to(const char *name, int count, const char *more)
{
	char body[256];

	for (int i = 0; i < count; i++) {
		snprintf(body, sizeof(body), "{\"id\":\"%s%d\",\"group\":\"%s\",\"body\":1%s}", name, i, name, more);
		assert_status(send_body(body), 201);
	}
}

/* Asserts a group in an answer; `at` is "" or "/items/0". */
static void assert_group(struct answer a, const char *at, const char *name, int64_t ready, int64_t blocked,
			 int64_t in_flight, const char *reason)
{
	char pointer[64];

	snprintf(pointer, sizeof(pointer), "%s/group", at);
	assert_string_equal(text_at(a, pointer), name);
	snprintf(pointer, sizeof(pointer), "%s/ready", at);
	assert_int_equal(int_at(a, pointer), ready);
	snprintf(pointer, sizeof(pointer), "%s/blocked", at);
	assert_int_equal(int_at(a, pointer), blocked);
	snprintf(pointer, sizeof(pointer), "%s/in_flight", at);
	assert_int_equal(int_at(a, pointer), in_flight);
	snprintf(pointer, sizeof(pointer), "%s/reason", at);
	if (reason)
		assert_string_equal(text_at(a, pointer), reason);
	else
		assert_true(json_is_null(json_at(a, pointer)));
	snprintf(pointer, sizeof(pointer), "%s/until_ms", at);
	assert_int_equal(json_is_null(json_at(a, pointer)), reason == NULL);
}

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(groups_are_listed_in_pages)
{
	char query[256];

	assert_int_equal(json_array_size(json_at(groups(""), "/items")), 0);
	configure("{\"order\":\"strict\"}");
	send_to("b", 2, "");
	send_to("a", 1, "");
	assert_status(send_body("{\"group\":\"! /x\",\"body\":1}"), 201);
	assert_int_equal(count_in(receive("{\"limit\":1}")), 1);
	struct answer a = groups("?limit=2");
	assert_int_equal(json_array_size(json_at(a, "/items")), 2);
	assert_group(a, "/items/0", "! /x", 1, 0, 0, NULL);
	assert_group(a, "/items/1", "a", 1, 0, 0, NULL);
	snprintf(query, sizeof(query), "?limit=2&cursor=%s", text_at(a, "/next_cursor"));
	a = groups(query);
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_group(a, "/items/0", "b", 0, 1, 1, "in_flight");
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	assert_problem(groups("?cursor=b1"), 400, "invalid_value", "none");
	assert_problem(groups("?cursor=g1"), 400, "invalid_value", "none");
}

TEST(the_order_stays_while_groups_have_messages)
{
	static const char fair[] = "{\"order\":\"fair\"}";

	configure("{\"order\":\"strict\"}");
	send_to("a", 2, "");
	assert_problem(queue("PUT", fair), 409, "queue_not_empty", "none");
	assert_problem(queue("PATCH", fair), 409, "queue_not_empty", "none");
}

TEST(a_paused_group_delivers_nothing_until_then)
{
	assert_problem(group("a", "pause", "{\"for_ms\":1000}"), 404, "not_found", "none");
	assert_problem(group("a", "resume", NULL), 404, "not_found", "none");
	send_to("a", 2, "");
	send_to("b", 1, "");
	assert_problem(group("a", "pause", "{}"), 400, "missing_field", "none");
	struct answer a = group("a", "pause", "{\"for_ms\":60000}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "q");
	assert_group(a, "", "a", 0, 2, 0, "paused");
	assert_ids(receive("{\"limit\":10}"), IDS("b0"));
	assert_status(send_body("{\"id\":\"later\",\"group\":\"a\",\"body\":1}"), 201);
	assert_ids(receive("{\"limit\":10}"), IDS(NULL));
	assert_group(group("a", "resume", NULL), "", "a", 1, 2, 0, NULL);
	assert_ids(receive("{\"limit\":10}"), IDS("a0", "a1", "later"));
	assert_group(group("a", "resume", NULL), "", "a", 0, 0, 3, NULL); /* a second resume changes nothing */
}

TEST(a_pause_ends_by_itself)
{
	send_to("a", 1, "");
	int64_t asked_ms = server_now_ms(&redis);
	assert_status(group("a", "pause", "{\"for_ms\":200}"), 200);
	assert_ids(receive("{\"limit\":10,\"wait_ms\":20000}"), IDS("a0"));
	assert_in_range(server_now_ms(&redis) - asked_ms, 200, SOON_MS);
}

TEST(a_group_without_messages_can_be_paused)
{
	configure("{}");
	assert_group(group("none", "resume", NULL), "", "none", 0, 0, 0, NULL);
	assert_group(group("none", "pause", "{\"for_ms\":60000}"), "", "none", 0, 0, 0, "paused");
	send_to("none", 1, "");
	assert_ids(receive(NULL), IDS(NULL));
	assert_group(groups(""), "/items/0", "none", 0, 1, 0, "paused");
}

/* Gives groups a and b two blocked messages each, and one message in each other state. */
static void fill(void)
{
	configure("{\"max_receives\":1," AT_ONCE "}");
	for (const char *name = "a"; name; name = *name == 'a' ? "b" : NULL) {
		send_to(name, 1, "");
		assert_status(reject(receipt_in(receive(NULL)), "{\"dead\":true}"), 200);
		char body[128];
		snprintf(body, sizeof(body), "{\"group\":\"%s\",\"body\":1,\"delay_ms\":60000}", name);
		assert_status(send_body(body), 201);
		snprintf(body, sizeof(body), "{\"group\":\"%s\",\"body\":1}", name);
		assert_status(send_body(body), 201);
		assert_int_equal(count_in(receive("{\"visibility_ms\":60000}")), 1);
		for (int i = 0; i < 3; i++)
			assert_status(send_body(body), 201);
		/* While group a is paused, the receive for group b gets no message of a. */
		struct answer paused = group(name, "pause", "{\"for_ms\":60000}");
		assert_group(paused, "", name, 0, 3, 1, "paused");
	}
	group("a", "resume", NULL);
	group("b", "resume", NULL);
}

TEST(a_group_is_purged)
{
	static const struct {
		const char *body;
		int purged, counts[5]; /* of the queue: ready, blocked, delayed, in flight, dead */
	} rows[] = {
		{ "{\"group\":\"a\"}", 6, { 1, 2, 1, 1, 1 } },
		{ "{\"group\":\"a\",\"state\":\"blocked\"}", 2, { 2, 2, 2, 2, 2 } },
		{ "{\"group\":\"a\",\"state\":\"ready\"}", 1, { 2, 3, 2, 2, 2 } }, /* the next becomes ready */
		{ "{\"group\":\"a\",\"state\":\"delayed\"}", 1, { 2, 4, 1, 2, 2 } },
		{ "{\"group\":\"a\",\"state\":\"in_flight\"}", 1, { 2, 4, 2, 1, 2 } },
		{ "{\"group\":\"a\",\"state\":\"dead\"}", 1, { 2, 4, 2, 2, 1 } },
		{ "{\"group\":\"none\"}", 0, { 2, 4, 2, 2, 2 } },
	};
	static const char *const states[] = { "/ready", "/blocked", "/delayed", "/in_flight", "/dead" };

	for (size_t i = 0; i < COUNT(rows); i++) {
		fill();
		struct answer a = post("/purge", rows[i].body, NULL);
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/purged"), rows[i].purged);
		a = queue("GET", NULL);
		for (size_t k = 0; k < COUNT(states); k++)
			if (int_at(a, states[k]) != rows[i].counts[k])
				fail_msg("%s leaves %d at %s, not %d", rows[i].body, (int)int_at(a, states[k]),
					 states[k], rows[i].counts[k]);
		forget_all(state);
	}
}

static int listed(const char *state)
{
	char query[768];
	int count = 0;

	snprintf(query, sizeof(query), "?state=%s&limit=1", state);
	for (int pages = 0; pages < 20; pages++) {
		struct answer a = list(query);
		assert_status(a, 200);
		count += (int)json_array_size(json_at(a, "/items"));
		if (json_is_null(json_at(a, "/next_cursor")))
			return count;
		snprintf(query, sizeof(query), "?state=%s&limit=1&cursor=%s", state, text_at(a, "/next_cursor"));
	}
	fail_msg("the pages of %s do not end", state);
	return -1;
}

TEST(their_messages_are_listed_in_pages)
{
	send_to("a", 3, "");
	send_to("b", 3, "");
	send_to("c", 3, ",\"priority\":9");
	assert_int_equal(listed("ready"), 3);
	assert_int_equal(listed("blocked"), 6);
}

/* Purges a group whose only message is ready, in flight or in its backoff. */
TEST(a_group_of_one_is_purged)
{
	static const char *const orders[] = { "{\"order\":\"strict\"}", "{}" };
	static const char *const states[] = { "\"ready\"", "\"in_flight\"", "\"delayed\"" };
	char body[64];

	for (size_t i = 0; i < 4 * COUNT(states); i++) {
		size_t of = i / 2 % COUNT(states);
		configure(orders[i % 2]);
		send_to("a", 1, "");
		const char *receipt = of > 0 ? receipt_in(receive(NULL)) : NULL;
		if (of > 1)
			assert_status(reject(receipt, "{\"delay_ms\":60000}"), 200);
		snprintf(body, sizeof(body), "{\"group\":\"a\"%s%s}", i < 2 * COUNT(states) ? ",\"state\":" : "",
			 i < 2 * COUNT(states) ? states[of] : "");
		assert_int_equal(int_at(post("/purge", body, NULL), "/purged"), 1);
		assert_counts(0, 0, 0, 0);
		send_to("a", 1, "");
		assert_ids(receive(NULL), IDS("a0"));
		forget_all(state);
	}
}

/*
 * After a change of the rate, what a group has spent counts by the new rate, and the old rate holds
 * no group back.
 */
TEST(a_changed_group_rate_holds_at_once)
{
	static const struct {
		const char *rate;
		size_t received;
	} rows[] = {
		{ "null", 3 },
		{ "{\"limit\":1,\"window_ms\":100}", 1 },
		{ "{\"limit\":50,\"window_ms\":60000,\"burst\":50}", 0 },
	};
	char body[128];

	for (size_t i = 0; i < COUNT(rows); i++) {
		configure("{\"group_rate\":{\"limit\":1,\"window_ms\":86400000}}");
		send_to("a", 4, "");
		assert_ids(receive("{\"limit\":10,\"acknowledge\":true}"), IDS("a0"));
		assert_group(groups(""), "/items/0", "a", 0, 3, 0, "limited");
		snprintf(body, sizeof(body), "{\"group_rate\":%s}", rows[i].rate);
		assert_status(queue("PATCH", body), 200);
		if (rows[i].received == 0) { /* due in 1200 ms, not tomorrow */
			assert_ids(receive("{\"limit\":10}"), IDS(NULL));
			assert_in_range(int_at(groups(""), "/items/0/until_ms") - server_now_ms(&redis), 0, SOON_MS);
		} else {
			assert_int_equal(count_in(receive("{\"limit\":10,\"wait_ms\":20000}")), rows[i].received);
		}
		forget_all(state);
	}
}

/*
 * Between the messages of the group are other messages of the same instant, so that a step of the
 * purge ends among them.
 */
TEST(a_group_is_found_among_many)
{
	for (int i = 0; i < 60; i++) {
		send_many(BATCH, ",\"group\":\"others\",\"deliver_at_ms\":4102444800000");
		assert_status(send_body("{\"group\":\"a\",\"body\":1,\"deliver_at_ms\":4102444800000}"), 201);
	}
	for (int i = 0; i < 2; i++) /* the second is a replay */
		assert_int_equal(int_at(post("/purge", "{\"group\":\"a\"}", KEY "purge"), "/purged"), 60);
	assert_int_equal(count_of("/delayed"), 60 * BATCH);
}

TEST(a_group_is_redriven)
{
	configure("{\"max_receives\":1," AT_ONCE "}");
	send_to("a", 3, "");
	send_to("b", 3, "");
	for (int i = 0; i < 6; i++)
		assert_status(reject(receipt_in(receive(NULL)), "{\"dead\":true}"), 200);
	assert_int_equal(int_at(post("/redrive", "{\"group\":\"a\",\"limit\":2}", NULL), "/redriven"), 2);
	assert_int_equal(count_of("/dead"), 4);
	assert_int_equal(int_at(post("/redrive", "{\"group\":\"a\"}", NULL), "/redriven"), 1);
	assert_int_equal(int_at(post("/redrive", "{\"group\":\"a\"}", NULL), "/redriven"), 0);
	assert_ids(receive("{\"limit\":10}"), IDS("a0", "a1", "a2"));
	assert_problem(post("/redrive", "{\"group\":\"a\",\"ids\":[\"b0\"]}", NULL), 400, "invalid_value", "none");
}
