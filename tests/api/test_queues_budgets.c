/*
 * A queue with a policy hands out as many messages as the policy admits, and spends nothing for
 * messages that stay. A queue with max_messages refuses or delays messages for which it has no
 * room.
 */
#include "queue_stage.h"
#include "waiter.h"

#define SEND "/queues/q/messages"
#define RECEIVE "/queues/q/receive"

static void put_policy(const char *body)
{
	assert_in_range(http(client, "PUT", "/ratelimit/policies/p", body).status, 200, 201);
}

static struct answer take(int cost)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"policy\":\"p\",\"key\":\"k\",\"cost\":%d}", cost);
	return http(client, "POST", "/ratelimit", body);
}

static int64_t remaining(void)
{
	return int_at(take(0), "/remaining");
}

/* ---- policy ---- */

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(a_policy_must_exist)
{
	assert_problem(queue("PUT", "{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}"), 404, "not_found", "none");
	assert_problem(queue("PATCH", "{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}"), 404, "not_found", "none");
	assert_problem(queue("PUT", "{\"policy\":{\"name\":\"p\"}}"), 400, "missing_field", "none");
	put_policy("{\"limit\":2,\"window_ms\":60000}");
	configure("{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}");
	struct answer a = queue("GET", NULL);
	assert_string_equal(text_at(a, "/settings/policy/name"), "p");
	assert_string_equal(text_at(a, "/settings/policy/key"), "k");
	assert_true(json_is_null(json_at(queue("PATCH", "{\"policy\":null}"), "/settings/policy")));

	configure("{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}");
	assert_status(send_body("{\"id\":\"a\",\"body\":1}"), 201);
	assert_status(http(client, "DELETE", "/ratelimit/policies/p", NULL), 204);
	wait_until(http(client, "POST", RECEIVE, "{}").status == 404, SOON_MS); /* policies are cached for a second */
	configure("{}");
	struct answer back = receive(NULL);
	assert_int_equal(int_at(back, "/messages/0/receives"), 1); /* the failed receive did not count */
}

TEST(what_is_handed_out_is_paid)
{
	put_policy("{\"limit\":3,\"window_ms\":60000}");
	configure("{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}");
	assert_ids(receive("{\"limit\":10}"), IDS(NULL));
	assert_int_equal(remaining(), 3); /* an empty queue spends nothing */
	assert_status(take(1), 200);
	send_many(5, "");
	assert_int_equal(count_in(receive("{\"limit\":10}")), 2);
	assert_int_equal(remaining(), 0);
	assert_counts(3, 0, 2, 0);
	assert_int_equal(count_in(receive("{\"limit\":10}")), 0);
	assert_counts(3, 0, 2, 0);
	put_policy("{\"limit\":100,\"window_ms\":60000}");
	configure("{}"); /* a change of the settings ends the hold */
	struct answer a = receive("{\"limit\":10}");
	assert_int_equal(count_in(a), 3);
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
}

TEST(a_waiter_looks_when_there_is_room)
{
	put_policy("{\"limit\":1,\"window_ms\":600,\"burst\":1}");
	configure("{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}");
	assert_status(take(1), 200);
	int64_t began_ms = server_now_ms(&redis);
	send_many(2, "");
	double before = metric_value(&patternd, "wait_retries_total");
	for (int i = 0; i < 2; i++)
		assert_int_equal(count_in(receive("{\"wait_ms\":20000}")), 1);
	assert_in_range(server_now_ms(&redis) - began_ms, 1000, SOON_MS);
	assert_in_range((int64_t)(metric_value(&patternd, "wait_retries_total") - before), 2, 6);
}

/*
 * Every algorithm limits the queue. A policy that counts refusals must not hold the queue for ever.
 */
TEST(every_algorithm_pays)
{
	static const char *const policies[] = {
		"{\"algorithm\":\"gcra\",\"limit\":4,\"window_ms\":60000,\"burst\":2}",
		"{\"algorithm\":\"sliding_window\",\"limit\":2,\"window_ms\":60000}",
		"{\"algorithm\":\"sliding_window\",\"limit\":2,\"window_ms\":60000,\"count_refused\":true}",
		"{\"algorithm\":\"fixed_window\",\"limit\":2,\"window_ms\":60000}",
	};

	for (size_t i = 0; i < COUNT(policies); i++) {
		put_policy(policies[i]);
		configure("{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}");
		send_many(5, "");
		assert_int_equal(count_in(receive("{\"limit\":10,\"acknowledge\":true}")), 2);
		assert_int_equal(remaining(), 0);
		assert_counts(3, 0, 0, 0);
		forget_all(state);
	}
}

TEST(a_shadow_admits_all)
{
	put_policy("{\"limit\":1,\"window_ms\":60000,\"shadow\":true}");
	configure("{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}");
	send_many(5, "");
	assert_int_equal(count_in(receive("{\"limit\":10}")), 5);
}

/*
 * The policy of the first queue admits nothing, or does not exist. The messages of the other queue
 * are received all the same, and the first queue spends nothing for them.
 */
TEST(a_queue_that_its_policy_holds_leaves_the_others)
{
	static const char *const bodies[] = {
		"{\"queues\":[\"q\",\"other\"],\"limit\":3}",
		"{\"queues\":[\"q\",\"other\"],\"limit\":3,\"acknowledge\":true}",
		"{\"queues\":[\"q\",\"other\"],\"limit\":3,\"wait_ms\":20000}",
		"{\"queues\":[\"q\",\"other\"],\"limit\":3}",
	};
	bool is_one_slot = !redis.cluster;

	for (int missing = 0; missing < 2; missing++)
		for (size_t i = 0; i < COUNT(bodies) - !is_one_slot; i++) {
			bool has_key = i == COUNT(bodies) - 1;
			put_policy("{\"limit\":1,\"window_ms\":600000}");
			configure("{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}");
			send_many(3, "");
			assert_status(http(client, "POST", "/queues/other/messages",
					   "{\"messages\":[{\"body\":1},{\"body\":2},{\"body\":3}]}"),
				      201);
			if (missing)
				assert_status(http(client, "DELETE", "/ratelimit/policies/p", NULL), 204);
			else
				assert_status(take(1), 200);
			struct answer a = http(client, "POST", "/queues/receive", bodies[i],
					       has_key ? "Idempotency-Key: k" : "X-None: 1");
			assert_int_equal(count_in(a), 3);
			assert_string_equal(text_at(a, "/messages/0/queue"), "other");
			assert_counts(3, 0, 0, 0);
			if (missing)
				assert_string_equal(text_at(a, "/unanswered/0/queue"), "q");
			else
				assert_null(json_object_get(a.json, "unanswered"));
			if (has_key)
				assert_string_equal(text_at(http(client, "POST", "/queues/receive", bodies[i],
								 "Idempotency-Key: k"),
							    "/messages/2/receipt"),
						    text_at(a, "/messages/2/receipt"));
			forget_all(state);
		}
}

TEST(two_queues_share_one_budget)
{
	put_policy("{\"limit\":3,\"window_ms\":60000}");
	configure("{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}");
	http(client, "PUT", "/queues/other", "{\"policy\":{\"name\":\"p\",\"key\":\"k\"}}");
	send_many(2, "");
	http(client, "POST", "/queues/other/messages", "{\"messages\":[{\"body\":1},{\"body\":2}]}");
	struct answer a = http(client, "POST", "/queues/receive", "{\"queues\":[\"other\",\"q\"],\"limit\":10}");
	assert_int_equal(count_in(a), 3);
	assert_string_equal(text_at(a, "/messages/2/queue"), "q");
	assert_counts(1, 0, 1, 0);
}

/* ---- max_messages ---- */

static long long senders_waiting(void)
{
	return server_command(&redis, "ZCOUNT p:queue:{q}:room 100000000000000 +inf")->integer;
}

TEST(a_full_queue_refuses)
{
	configure("{\"max_messages\":3}");
	assert_status(send_body("{\"messages\":[{\"id\":\"a\",\"body\":1},{\"body\":2,\"delay_ms\":60000}]}"), 201);
	assert_status(receive(NULL), 200);
	struct answer a = send_body("{\"messages\":[{\"body\":3},{\"body\":4}]}");
	assert_problem(a, 409, "queue_full", "none");
	assert_int_equal(int_at(a, "/max_messages"), 3);
	assert_int_equal(int_at(a, "/ready"), 0);
	assert_int_equal(int_at(a, "/delayed"), 1);
	assert_int_equal(int_at(a, "/in_flight"), 1);
	assert_status(send_body("{\"messages\":[{\"id\":\"a\",\"body\":1},{\"body\":3}]}"),
		      201); /* one is a duplicate */
	assert_problem(send_body("{\"body\":5}"), 409, "queue_full", "none");
	assert_status(queue("PATCH", "{\"max_messages\":null}"), 200);
	assert_status(send_body("{\"body\":5}"), 201);
}

/* Copies `text` with the receipt in place of $. */
static void with_receipt(const char *text, const char *receipt, char to[256])
{
	const char *at = text ? strchr(text, '$') : NULL;

	if (at)
		snprintf(to, 256, "%.*s%s%s", (int)(at - text), text, receipt, at + 1);
	else
		snprintf(to, 256, "%s", text ? text : "");
}

/* Each row makes room for a sender that waits. */
TEST(whatever_ends_a_message_wakes_a_sender)
{
	static const struct {
		const char *method, *target, *body;
		bool is_cancelled;
	} rows[] = {
		{ "DELETE", "/queues/q/deliveries/$", NULL, true },
		{ "POST", "/queues/q/deliveries/$/extend", NULL, true },
		{ "POST", "/queues/q/deliveries/$/reject", NULL, true },
		{ "POST", "/queues/q/settle", "{\"acknowledge\":[\"$\"]}", true },
		{ "DELETE", "/queues/q/deliveries/$", NULL, false },
		{ "POST", "/queues/q/settle", "{\"acknowledge\":[\"$\"]}", false },
		{ "POST", "/queues/q/settle", "{\"reject\":[{\"receipt\":\"$\",\"dead\":true}]}", false },
		{ "POST", "/queues/q/deliveries/$/reject", "{\"dead\":true}", false },
		{ "POST", "/queues/q/purge", "{}", false },
		{ "PATCH", "/queues/q", "{\"max_messages\":2}", false },
		{ "PATCH", "/queues/q", "{\"max_messages\":null}", false },
		{ "DELETE", "/queues/q", NULL, false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char target[256], body[256];
		configure("{\"max_messages\":1}");
		assert_status(send_body("{\"id\":\"m\",\"body\":1}"), 201);
		struct answer taken = receive(NULL);
		with_receipt(rows[i].target, receipt_in(taken), target);
		with_receipt(rows[i].body, receipt_in(taken), body);
		struct raw *w = waiter_at(&patternd, SEND, "{\"body\":2,\"wait_room_ms\":20000}", "");
		wait_until(all_parked(&patternd, 1), SOON_MS);
		wait_until(senders_waiting() == 1, SOON_MS);
		if (rows[i].is_cancelled)
			assert_status(http(client, "DELETE", "/queues/q/messages/m?in_flight=true", NULL), 204);
		int status = http(client, rows[i].method, target, rows[i].body ? body : NULL).status;
		assert_true(status / 100 == 2 || (rows[i].is_cancelled && status == 410));
		struct answer a = waiter_answer(w, SEND, SOON_MS);
		if (a.status != 201)
			fail_msg("%s %s %s wakes no sender", rows[i].method, rows[i].target, body);
		raw_close(w);
		forget_all(state);
	}
}

/* What ends by time makes room, though no receive has come. */
TEST(time_wakes_a_sender)
{
	static const char *const messages[] = { "{\"body\":1,\"max_receives\":1}", "{\"body\":1,\"ttl_ms\":300}" };

	for (int i = 0; i < 2; i++) {
		configure("{\"max_messages\":1,\"visibility_ms\":300}");
		assert_status(send_body(messages[i]), 201);
		if (i == 0)
			assert_int_equal(count_in(receive(NULL)), 1);
		struct raw *w = waiter_at(&patternd, SEND, "{\"body\":2,\"wait_room_ms\":60000}", "");
		assert_status(waiter_answer(w, SEND, SOON_MS), 201);
		assert_int_equal(count_of("/ready"), 1);
		raw_close(w);
		forget_all(state);
	}
}

/* A message that takes the place of one that does not count needs room. */
TEST(what_is_replaced_may_need_room)
{
	static const char *const ends[] = { "{\"acknowledge\":[\"$\"]}",
					    "{\"reject\":[{\"receipt\":\"$\",\"dead\":true}]}" };
	char body[256];

	for (int i = 0; i < 2; i++) {
		configure("{\"max_messages\":1,\"result_ms\":60000}");
		assert_status(send_body("{\"id\":\"a\",\"body\":1}"), 201);
		with_receipt(ends[i], receipt_in(receive(NULL)), body);
		assert_status(post("/settle", body, NULL), 200);
		assert_status(send_body("{\"id\":\"b\",\"body\":1}"), 201);
		assert_problem(send_body("{\"id\":\"a\",\"body\":2,\"on_duplicate\":\"replace\"}"), 409, "queue_full",
			       "none");
		assert_status(send_body("{\"id\":\"b\",\"body\":2,\"on_duplicate\":\"replace\"}"), 200);
		struct answer a = send_body("{\"messages\":[{\"id\":\"a\",\"body\":2},"
					    "{\"id\":\"b\",\"body\":3,\"on_duplicate\":\"replace\"}]}");
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/messages/0/outcome"), i == 0 ? "kept" : "kept_dead");
		assert_counts(1, 0, 0, i);
		forget_all(state);
	}
}

TEST(a_receive_makes_room)
{
	configure("{\"max_messages\":1}");
	assert_status(send_body("{\"body\":1}"), 201);
	struct raw *w = waiter_at(&patternd, SEND, "{\"body\":2,\"wait_room_ms\":20000}", "");
	wait_until(all_parked(&patternd, 1), SOON_MS);
	assert_int_equal(count_in(receive("{\"acknowledge\":true}")), 1);
	assert_status(waiter_answer(w, SEND, SOON_MS), 201);
	raw_close(w);
}

TEST(senders_wait_in_order)
{
	struct raw *senders[3];
	char body[64];

	configure("{\"max_messages\":1}");
	assert_status(send_body("{\"id\":\"0\",\"body\":1}"), 201);
	for (int i = 0; i < 3; i++) {
		snprintf(body, sizeof(body), "{\"id\":\"%d\",\"body\":1,\"wait_room_ms\":20000}", i + 1);
		senders[i] = waiter_at(&patternd, SEND, body, "");
		wait_until(all_parked(&patternd, i + 1), SOON_MS);
	}
	for (int i = 0; i < 3; i++) {
		char id[2] = { (char)('0' + i), 0 };
		assert_ids(receive("{\"acknowledge\":true,\"wait_ms\":5000}"), IDS(id));
		assert_status(waiter_answer(senders[i], SEND, SOON_MS), 201);
		raw_close(senders[i]);
	}
}

TEST(a_sender_that_leaves_passes_its_turn_on)
{
	configure("{\"max_messages\":1}");
	assert_status(send_body("{\"body\":1}"), 201);
	struct raw *first = waiter_at(&patternd, SEND, "{\"body\":2,\"wait_room_ms\":20000}", "");
	wait_until(all_parked(&patternd, 1), SOON_MS);
	struct raw *second = waiter_at(&patternd, SEND, "{\"body\":3,\"wait_room_ms\":20000}", "");
	wait_until(all_parked(&patternd, 2), SOON_MS);
	raw_reset(first);
	wait_until(senders_waiting() == 1, SOON_MS);
	assert_int_equal(count_in(receive("{\"acknowledge\":true}")), 1);
	assert_status(waiter_answer(second, SEND, SOON_MS), 201);
	raw_close(second);
}

TEST(waiting_for_room_ends)
{
	configure("{\"max_messages\":1}");
	assert_status(send_body("{\"body\":1}"), 201);
	struct answer a = send_body("{\"body\":2,\"wait_room_ms\":100}");
	assert_problem(a, 409, "queue_full", "none");
	assert_true(a.took_us >= 100000);
	assert_problem(send_body("{\"messages\":[{\"body\":1},{\"body\":2}],\"wait_room_ms\":20000}"), 409,
		       "queue_full", "none"); /* refused at once, since two never fit */
	assert_int_equal(senders_waiting(), 0);
}

TEST(a_raised_rate_holds_at_once)
{
	configure("{\"rate\":{\"limit\":1,\"window_ms\":86400000}}");
	send_many(3, "");
	assert_int_equal(count_in(receive("{\"limit\":10}")), 1);
	assert_int_equal(count_in(receive("{\"limit\":10}")), 0);
	assert_status(queue("PATCH", "{\"rate\":{\"limit\":1,\"window_ms\":100}}"), 200);
	int64_t began_ms = server_now_ms(&redis);
	for (int i = 0; i < 2; i++) /* the bucket was full */
		assert_int_equal(count_in(receive("{\"limit\":10,\"wait_ms\":20000}")), 1);
	assert_in_range(server_now_ms(&redis) - began_ms, 150, SOON_MS);
}
