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
