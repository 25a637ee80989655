/*
 * Over HTTP: a send whose message id is in use, a cancelled delivery, and dead letters that move to
 * another queue, with the answers and their effects. (Every state of a message:
 * test_queues_duplicates_scripts.c, test_queues_cancel_scripts.c, test_queues_redrive_scripts.c.)
 */
#include "queue_stage.h"

static char receipt[128];

static void take(void)
{
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(receive(NULL)));
}

static void assert_sent(struct answer a, int status, const char *outcome)
{
	assert_status(a, status);
	assert_string_equal(text_at(a, "/messages/0/outcome"), outcome);
	assert_int_equal(bool_at(a, "/messages/0/duplicate"), strcmp(outcome, "stored") != 0);
}

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(each_outcome_is_in_the_answer)
{
	assert_sent(send_body("{\"body\":1,\"id\":\"a\",\"delay_ms\":60000,\"on_duplicate\":\"replace\"}"), 201,
		    "stored");
	struct answer a = send_body("{\"body\":2,\"id\":\"a\",\"delay_ms\":60000,\"on_duplicate\":\"extend\","
				    "\"max_extend_ms\":61000}");
	assert_sent(a, 200, "extended");
	assert_true(int_at(a, "/messages/0/deliver_at_ms") > server_now_ms(&redis));
	assert_sent(send_body("{\"body\":3,\"id\":\"a\",\"on_duplicate\":\"keep\"}"), 200, "kept");
	assert_sent(send_body("{\"body\":4,\"id\":\"a\",\"on_duplicate\":\"replace\"}"), 200, "replaced");
	assert_int_equal(int_at(message("GET", "a", NULL), "/body"), 4);
	take();
	a = send_body("{\"body\":5,\"id\":\"a\",\"on_duplicate\":\"after\"}");
	assert_sent(a, 200, "after");
	assert_true(json_is_null(json_at(a, "/messages/0/deliver_at_ms")));
	assert_status(acknowledge(receipt), 204);
	a = receive(NULL);
	assert_int_equal(int_at(a, "/messages/0/body"), 5);
	assert_int_equal(count_of("/sent"), 3);
}

/* The newest message sets the headers and the trace. A batch has an outcome per message. */
TEST(a_batch_has_each_outcome)
{
	struct answer a =
		send_body("{\"messages\":[{\"body\":1,\"id\":\"a\",\"delay_ms\":60000,\"headers\":{\"n\":\"1\"}},"
			  "{\"body\":2,\"id\":\"a\",\"on_duplicate\":\"extend\",\"headers\":{\"n\":\"2\"}},"
			  "{\"body\":3}]}");
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/messages/0/outcome"), "stored");
	assert_string_equal(text_at(a, "/messages/1/outcome"), "extended");
	assert_string_equal(text_at(a, "/messages/2/outcome"), "stored");
	a = receive("{\"limit\":9}");
	assert_int_equal(count_in(a), 2);
	assert_int_equal(int_at(a, "/messages/0/body"), 2);
	assert_string_equal(text_at(a, "/messages/0/headers/n"), "2");
}

/* A message of a group that returns uncounted comes again before those that were sent later. */
TEST(a_returned_message_keeps_its_place)
{
	char target[256];

	assert_status(send_body("{\"messages\":[{\"body\":1,\"group\":\"g\"},{\"body\":2,\"group\":\"g\"}]}"), 201);
	snprintf(target, sizeof(target), "/deliveries/%s/reject", text_at(receive(NULL), "/messages/0/receipt"));
	assert_status(post(target, "{\"counted\":false}", NULL), 200);
	struct answer a = receive("{\"limit\":2}");
	assert_int_equal(int_at(a, "/messages/0/body"), 1);
	assert_int_equal(int_at(a, "/messages/1/body"), 2);
}

TEST(a_retry_gets_the_first_outcome)
{
	static const char *const body = "{\"body\":2,\"id\":\"a\",\"on_duplicate\":\"replace\"}";

	send_body("{\"body\":1,\"id\":\"a\"}");
	assert_sent(post("/messages", body, KEY "k"), 200, "replaced");
	take();
	assert_status(acknowledge(receipt), 204);
	assert_sent(post("/messages", body, KEY "k"), 200, "replaced");
	assert_counts(0, 0, 0, 0);
}

TEST(a_message_has_its_own_backoff)
{
	send_body("{\"body\":1,\"id\":\"a\",\"backoff_base_ms\":60000}");
	take();
	int64_t before_ms = server_now_ms(&redis);
	struct answer a = reject(receipt, NULL);
	assert_in_range(int_at(a, "/deliver_at_ms"), before_ms + 30000, server_now_ms(&redis) + 60000);
	assert_status(message("PATCH", "a", "{\"delay_ms\":0}"), 200);
	take();
	before_ms = server_now_ms(&redis);
	a = reject(receipt, NULL);
	assert_in_range(int_at(a, "/deliver_at_ms"), before_ms + 60000, server_now_ms(&redis) + 120000);
}

/* A message that replaces another one needs no room. */
TEST(a_full_queue_takes_what_replaces)
{
	configure("{\"max_messages\":2}");
	send_body("{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":1,\"id\":\"b\",\"delay_ms\":60000}]}");
	assert_sent(send_body("{\"body\":2,\"id\":\"a\",\"on_duplicate\":\"replace\"}"), 200, "replaced");
	assert_sent(send_body("{\"body\":2,\"id\":\"b\",\"on_duplicate\":\"extend\",\"delay_ms\":9}"), 200, "extended");
	assert_problem(send_body("{\"body\":2,\"id\":\"c\",\"on_duplicate\":\"replace\"}"), 409, "queue_full", "none");
	assert_problem(send_body("{\"body\":2,\"id\":\"c\",\"on_duplicate\":\"after\",\"wait_room_ms\":10}"), 409,
		       "queue_full", "none");
	take();
	assert_status(reject(receipt, "{\"dead\":true}"), 200);
	assert_sent(send_body("{\"body\":2,\"id\":\"c\",\"on_duplicate\":\"after\",\"wait_room_ms\":10}"), 201,
		    "stored");
}

TEST(a_cancelled_delivery_is_gone)
{
	static const char *const verbs[] = { "", "/extend", "/reject" };
	char body[256];

	send_body("{\"body\":1,\"id\":\"a\"}");
	take();
	assert_problem(message("DELETE", "a", NULL), 409, "message_in_flight", "none");
	assert_problem(message("DELETE", "a?in_flight=false", NULL), 409, "message_in_flight", "none");
	assert_status(message("DELETE", "a?in_flight=true", NULL), 204);
	assert_problem(message("DELETE", "a?in_flight=true", NULL), 404, "not_found", "none");
	assert_problem(message("GET", "a", NULL), 404, "not_found", "none");
	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < COUNT(verbs); i++)
			assert_problem(delivery("q", receipt, verbs[i], NULL), 410, "message_cancelled", "none");
	snprintf(body, sizeof(body), "{\"acknowledge\":[\"%s\"]}", receipt);
	struct answer a = post("/settle", body, NULL);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/deliveries/0/outcome"), "cancelled");
	snprintf(body, sizeof(body), "{\"reject\":[{\"receipt\":\"%s\"}]}", receipt);
	assert_string_equal(text_at(post("/settle", body, NULL), "/deliveries/0/outcome"), "cancelled");
	assert_counts(0, 0, 0, 0);
	assert_sent(send_body("{\"body\":2,\"id\":\"a\"}"), 201, "stored");
}

static struct answer redrive(const char *body, const char *key_header)
{
	return post("/redrive", body, key_header);
}

static void make_dead(const char *const ids[])
{
	char body[128];

	for (; *ids; ids++) {
		snprintf(body, sizeof(body), "{\"body\":1,\"id\":\"%s\",\"headers\":{\"tenant\":\"acme\"}}", *ids);
		assert_status(send_body(body), 201);
		take();
		assert_status(reject(receipt, "{\"dead\":true}"), 200);
		next_ms();
	}
}

TEST(dead_letters_move)
{
	if (redis.cluster) /* the queues are in different slots: test_queues_move_slots.c */
		skip();
	make_dead(IDS("a", "b", "c"));
	assert_status(http(client, "POST", "/queues/other/messages", "{\"body\":1,\"id\":\"b\"}"), 201);
	struct answer a = redrive("{\"to\":\"other\",\"limit\":2}", KEY "k");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/redriven"), 2);
	assert_int_equal(int_at(a, "/duplicates"), 1);
	assert_counts(0, 0, 0, 1);
	a = redrive("{\"to\":\"other\",\"limit\":2}", KEY "k"); /* a retry */
	assert_int_equal(int_at(a, "/redriven"), 2);
	assert_int_equal(int_at(a, "/duplicates"), 1);
	a = http(client, "POST", "/queues/other/receive", "{\"limit\":9}");
	assert_ids(a, IDS("b", "a", "c"));
	assert_string_equal(text_at(a, "/messages/1/headers/tenant"), "acme");
	assert_int_equal(int_at(a, "/messages/1/receives"), 1);
	assert_string_equal(text_at(a, "/messages/1/dead_from"), "q");
	assert_null(json_at(a, "/messages/0/dead_from"));
	a = http(client, "GET", "/queues/other/messages/c", NULL);
	assert_string_equal(text_at(a, "/dead_from"), "q");
	assert_int_equal(int_at(a, "/body"), 1);
	a = redrive("{\"to\":\"q\",\"ids\":[\"b\"]}", NULL); /* the queue itself */
	assert_int_equal(int_at(a, "/redriven"), 1);
	assert_int_equal(int_at(a, "/duplicates"), 0);
	assert_counts(1, 0, 0, 0);
	assert_int_equal(int_at(http(client, "GET", "/queues/other", NULL), "/sent"), 3);
	a = http(client, "GET", "/queues?match=new", NULL); /* a queue that a redrive makes is listed */
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_status(post("/purge", NULL, NULL), 200);
	make_dead(IDS("d"));
	assert_int_equal(int_at(redrive("{\"to\":\"new\",\"ids\":[\"d\",\"none\"]}", NULL), "/redriven"), 1);
	a = http(client, "GET", "/queues?match=new", NULL);
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
}

TEST(dead_letters_come_one_after_the_other)
{
	make_dead(IDS("a", "b", "c"));
	assert_int_equal(int_at(redrive("{\"interval_ms\":3600000}", NULL), "/redriven"), 3);
	assert_counts(1, 2, 0, 0);
	assert_int_equal(int_at(message("GET", "c", NULL), "/deliver_at_ms"),
			 int_at(message("GET", "a", NULL), "/deliver_at_ms") + 7200000);
}
