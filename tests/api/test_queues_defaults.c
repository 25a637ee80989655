/*
 * Settings of a queue that are the defaults of sends and receives, over HTTP, and sends that need
 * the queue to exist.
 */
#include "queue_stage.h"
#include "waiter.h"

SUITE(.open = start, .close = stop, .after = forget_all);

#define MUST "\"must_exist\":true"

static void assert_absent(struct answer a)
{
	assert_problem(a, 404, "not_found", "none");
	assert_string_equal(text_at(a, "/detail"), "queue 'q' does not exist");
	assert_int_equal(server_keys(&redis), 0);
}

/* ---- Queues that must exist ---- */

TEST(a_send_creates_no_queue_that_must_exist)
{
	static const char *const sends[] = {
		"{\"body\":1," MUST "}",
		"{\"body\":1,\"id\":\"a\",\"delay_ms\":60000," MUST "}",
		"{\"body\":1,\"id\":\"a\",\"on_duplicate\":\"replace\"," MUST "}",
		"{\"messages\":[{\"body\":1},{\"body\":2,\"group\":\"g\"}]," MUST "}",
		"{\"messages\":[{\"body\":1},{\"body\":2,\"id\":\"a\",\"on_duplicate\":\"extend\"}]," MUST "}",
		"{\"body\":1,\"wait_result_ms\":20000," MUST "}",
		"{\"body\":1,\"wait_room_ms\":20000," MUST "}",
		"{\"body\":1,\"id\":\"a\",\"on_duplicate\":\"after\",\"wait_room_ms\":20000," MUST "}",
	};

	for (size_t i = 0; i < COUNT(sends); i++) {
		assert_absent(send_body(sends[i]));
		assert_int_equal(waiting_at(&patternd), 0);
	}
	assert_absent(post("/messages", sends[0], KEY "again"));
	assert_status(send_body("{\"body\":1,\"must_exist\":false}"), 201);
	/* A refusal is not what a repeated request gets. */
	assert_status(post("/messages", sends[0], KEY "again"), 201);
	assert_counts(2, 0, 0, 0);
}

TEST(a_queue_that_exists_takes_such_sends)
{
	configure("{\"result_ms\":60000,\"max_messages\":6}"); /* it has no message yet */
	assert_status(send_body("{\"body\":1," MUST "}"), 201);
	assert_status(send_body("{\"messages\":[{\"body\":2},{\"body\":3,\"group\":\"g\"}]," MUST "}"), 201);
	assert_status(send_body("{\"body\":4,\"id\":\"a\",\"on_duplicate\":\"replace\"," MUST "}"), 201);
	assert_status(send_body("{\"body\":5,\"id\":\"b\",\"wait_result_ms\":1," MUST "}"), 201);
	assert_status(send_body("{\"body\":6,\"wait_room_ms\":20000," MUST "}"), 201);
	assert_problem(send_body("{\"body\":7,\"wait_room_ms\":1," MUST "}"), 409, "queue_full", "none");
	assert_counts(6, 0, 0, 0);
}

/* A batch has its messages alone: the option is not taken for one of them. */
TEST(plain_batches_are_stored_whole)
{
	assert_status(send_body("{\"body\":1}"), 201);
	struct answer a = send_body("{\"messages\":[{\"body\":2},{\"body\":3},{\"body\":4}]," MUST "}");
	assert_status(a, 201);
	assert_int_equal(count_in(a), 3);
	a = receive("{\"limit\":10," MUST "}");
	assert_int_equal(count_in(a), 4);
	for (int i = 0; i < 4; i++) {
		char pointer[32];
		snprintf(pointer, sizeof(pointer), "/messages/%d/body", i);
		assert_int_equal(int_at(a, pointer), i + 1);
	}
	assert_int_equal(count_of("/sent"), 4);
}

/* The queue is deleted while a sender waits for room in it. */
TEST(a_sender_that_waits_does_not_make_the_queue_again)
{
	configure("{\"max_messages\":1}");
	assert_status(send_body("{\"body\":1}"), 201);
	struct raw *w = waiter_at(&patternd, "/queues/q/messages", "{\"body\":2,\"wait_room_ms\":20000," MUST "}", "");
	wait_until(all_parked(&patternd, 1), SOON_MS);
	assert_status(queue("DELETE", NULL), 204);
	assert_absent(waiter_answer(w, "/queues/q/messages", SOON_MS));
	raw_close(w);
}

/* ---- Messages that are never dead ---- */

/* Receives the message, and rejects it. Returns how often it was received. */
static int64_t fail_once(void)
{
	struct answer a = receive(NULL);
	int64_t receives = count_in(a) == 1 ? int_at(a, "/messages/0/receives") : -1;

	if (receives > 0)
		assert_status(reject(receipt_in(a), NULL), 200);
	return receives;
}

/* An undelivered message, dead after `most` deliveries; 0: after none of so many. */
static void assert_dies_after(int64_t most)
{
	for (int64_t i = 1; i <= (most ? most : 30); i++)
		assert_int_equal(fail_once(), i);
	assert_counts(most == 0, 0, 0, most > 0);
	assert_status(post("/purge", NULL, NULL), 200);
}

TEST(a_queue_in_which_no_message_dies)
{
	configure("{\"max_receives\":0," AT_ONCE "}");
	assert_int_equal(count_of("/settings/max_receives"), 0);
	/* Any daemon takes it for a number that no message reaches. */
	assert_string_equal(server_command(&redis, "HGET p:queue:{q} max_receives")->str, "999999999999");
	assert_int_equal(int_at(queue("PATCH", "{\"paused\":false}"), "/settings/max_receives"), 0);
	send_body("{\"body\":1}");
	assert_dies_after(0);
	send_body("{\"body\":1,\"max_receives\":2}");
	assert_dies_after(2);
	send_body("{\"body\":1}");
	struct answer a = receive(NULL);
	assert_status(reject(receipt_in(a), "{\"dead\":true}"), 200);
	assert_counts(0, 0, 0, 1);
}

/* Null and an absent member are the default in PUT and PATCH, and what the queue has in a send. */
TEST(null_does_not_mean_never)
{
	configure("{\"max_receives\":0}");
	assert_int_equal(int_at(queue("PATCH", "{\"max_receives\":null}"), "/settings/max_receives"), 25);
	assert_int_equal(int_at(queue("PATCH", "{\"max_receives\":0}"), "/settings/max_receives"), 0);
	assert_int_equal(int_at(queue("PUT", "{\"max_receives\":null}"), "/settings/max_receives"), 25);
	configure("{\"max_receives\":1," AT_ONCE "}");
	send_body("{\"body\":1,\"max_receives\":null}");
	assert_dies_after(1);
	assert_problem(queue("PATCH", "{\"max_receives\":-1}"), 400, "out_of_range", "none");
	assert_problem(send_body("{\"body\":1,\"max_receives\":1001}"), 400, "out_of_range", "none");
}

TEST(a_message_that_never_dies)
{
	static const char *const sends[] = {
		"{\"body\":1,\"max_receives\":0}",
		"{\"body\":1,\"id\":\"a\",\"max_receives\":0,\"ttl_ms\":3600000}",
		"{\"body\":1,\"group\":\"g\",\"max_receives\":0}",
		"{\"messages\":[{\"body\":1,\"max_receives\":0}]}",
		"{\"body\":1,\"id\":\"b\",\"on_duplicate\":\"replace\",\"max_receives\":0}",
	};

	configure("{\"max_receives\":1," AT_ONCE "}");
	for (size_t i = 0; i < COUNT(sends); i++) {
		assert_status(send_body(sends[i]), 201);
		assert_dies_after(0);
	}
}

TEST(a_message_is_changed_to_die_and_never_to_die)
{
	configure("{\"max_receives\":2," AT_ONCE "}");
	send_body("{\"body\":1,\"id\":\"a\"}");
	assert_status(message("PATCH", "a", "{\"max_receives\":0}"), 200);
	assert_dies_after(0);
	send_body("{\"body\":1,\"id\":\"a\",\"max_receives\":0}");
	assert_status(message("PATCH", "a", "{\"priority\":0}"), 200);
	for (int i = 1; i <= 5; i++)
		assert_int_equal(fail_once(), i);
	assert_status(message("PATCH", "a", "{\"max_receives\":7}"), 200);
	assert_int_equal(fail_once(), 6);
	assert_int_equal(fail_once(), 7);
	assert_counts(0, 0, 0, 1);
	assert_status(message("PATCH", "a", "{\"max_receives\":null}"), 200); /* it is ready again */
	assert_dies_after(2);
}

/* The backoff doubles with each delivery. 0 times infinity must not become a due time. */
TEST(a_message_that_was_received_a_thousand_times)
{
	char field[64];

	configure("{\"max_receives\":0," AT_ONCE "}");
	send_body("{\"body\":1}");
	assert_int_equal(fail_once(), 1);
	const char *seq = server_command(&redis, "HGET p:queue:{q} seq")->str;
	snprintf(field, sizeof(field), "%ss", seq);
	char *stored = strdup(server_command(&redis, "HGET p:queue:{q} %s", field)->str);
	char *receives = strstr(stored, "-1\t");
	assert_non_null(receives);
	*receives = '\0';
	server_command(&redis, "HSET p:queue:{q} %s %s-2000%s", field, stored, receives + 2);
	assert_int_equal(fail_once(), 2001);
	assert_counts(1, 0, 0, 0);
	assert_status(queue("PATCH", "{\"backoff\":{\"base_ms\":60000,\"max_ms\":120000}}"), 200);
	assert_int_equal(fail_once(), 2002);
	assert_counts(0, 1, 0, 0);
	int64_t due_ms = int_at(list("?state=delayed"), "/items/0/deliver_at_ms") - server_now_ms(&redis);
	assert_in_range(due_ms, 50000, 120000);
	free(stored);
}
