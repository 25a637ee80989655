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

/* ---- Delay and life of messages that are sent without one ---- */

enum { DELAY_MS = 60000, TTL_MS = 3600000 };

#define BOTH "\"delay_ms\":60000,\"ttl_ms\":3600000"

/* The only message of the queue has these times after it was sent; a ttl of 0 means none. */
static void assert_times(int64_t delay_ms, int64_t ttl_ms)
{
	struct answer a = list(delay_ms ? "?state=delayed" : "");

	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	int64_t sent_ms = int_at(a, "/items/0/sent_at_ms");
	assert_in_range(int_at(a, "/items/0/deliver_at_ms"), sent_ms + delay_ms, sent_ms + delay_ms);
	if (ttl_ms)
		assert_int_equal(int_at(a, "/items/0/expires_at_ms"), sent_ms + ttl_ms);
	else
		assert_true(json_is_null(json_at(a, "/items/0/expires_at_ms")));
}

static const struct {
	const char *body;
	int64_t delay_ms, ttl_ms;
} sends[] = {
	{ "{\"body\":1}", DELAY_MS, TTL_MS },
	{ "{\"body\":1,\"id\":\"a\"}", DELAY_MS, TTL_MS },
	{ "{\"messages\":[{\"body\":1}]," MUST "}", DELAY_MS, TTL_MS },
	{ "{\"body\":1,\"group\":\"g\",\"max_receives\":3}", DELAY_MS, TTL_MS },
	{ "{\"body\":1,\"delay_ms\":null,\"ttl_ms\":null}", DELAY_MS, TTL_MS },
	{ "{\"body\":1,\"delay_ms\":0}", 0, TTL_MS },
	{ "{\"body\":1,\"delay_ms\":5000}", 5000, TTL_MS },
	{ "{\"body\":1,\"deliver_at_ms\":1000000000000}", 0, TTL_MS },
	{ "{\"body\":1,\"ttl_ms\":0}", DELAY_MS, 0 },
	{ "{\"body\":1,\"ttl_ms\":7200000}", DELAY_MS, 7200000 },
	{ "{\"body\":1,\"delay_ms\":0,\"ttl_ms\":0}", 0, 0 },
	{ "{\"body\":1,\"delay_ms\":7200000,\"ttl_ms\":0}", 7200000, 0 },
	{ "{\"body\":1,\"id\":\"b\",\"on_duplicate\":\"replace\"}", DELAY_MS, TTL_MS },
	{ "{\"body\":1,\"id\":\"c\",\"on_duplicate\":\"extend\",\"delay_ms\":0,\"ttl_ms\":0}", 0, 0 },
	{ "{\"body\":1,\"id\":\"d\",\"on_duplicate\":\"after\",\"ttl_ms\":0}", DELAY_MS, 0 },
	{ "{\"messages\":[{\"body\":1,\"id\":\"e\",\"on_duplicate\":\"extend\",\"delay_ms\":5000}]}", 5000, TTL_MS },
};

TEST(a_message_without_times_has_the_ones_of_its_queue)
{
	configure("{" BOTH "}");
	for (size_t i = 0; i < COUNT(sends); i++) {
		assert_status(send_body(sends[i].body), 201);
		assert_times(sends[i].delay_ms, sends[i].ttl_ms);
		assert_status(post("/purge", NULL, NULL), 200);
	}
}

TEST(times_of_a_queue_are_set_and_removed)
{
	struct answer a = queue("PATCH", "{}");
	assert_int_equal(int_at(a, "/settings/delay_ms"), 0);
	assert_true(json_is_null(json_at(a, "/settings/ttl_ms")));
	assert_int_equal(server_command(&redis, "HEXISTS p:queue:{q} rules")->integer, 0);
	a = queue("PATCH", "{" BOTH "}");
	assert_int_equal(int_at(a, "/settings/delay_ms"), DELAY_MS);
	a = queue("PATCH", "{\"order\":\"strict\"}");
	assert_int_equal(int_at(a, "/settings/delay_ms"), DELAY_MS);
	assert_int_equal(int_at(a, "/settings/ttl_ms"), TTL_MS);
	a = queue("PATCH", "{\"delay_ms\":null}");
	assert_int_equal(int_at(a, "/settings/delay_ms"), 0);
	assert_int_equal(int_at(a, "/settings/ttl_ms"), TTL_MS);
	send_body("{\"body\":1}");
	assert_times(0, TTL_MS);
	a = queue("PUT", "{\"delay_ms\":5}");
	assert_true(json_is_null(json_at(a, "/settings/ttl_ms")));
	assert_int_equal(int_at(queue("GET", NULL), "/settings/delay_ms"), 5);
	configure("{\"delay_ms\":0,\"ttl_ms\":null}");
	assert_status(post("/purge", NULL, NULL), 200);
	send_body("{\"body\":1}");
	assert_times(0, 0);
}

/* A message that would end before it is due is refused, whichever of its times is the queue's. */
TEST(no_message_ends_before_it_is_due)
{
	struct answer a;

	configure("{" BOTH "}");
	assert_problem(send_body("{\"body\":1,\"ttl_ms\":60000}"), 400, "invalid_value", "none");
	a = send_body("{\"messages\":[{\"body\":1},{\"body\":1,\"delay_ms\":3600000}]}");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/messages/1/delay_ms");
	a = send_body("{\"body\":1,\"id\":\"a\",\"on_duplicate\":\"extend\",\"deliver_at_ms\":253402300799999}");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/deliver_at_ms");
	a = send_body("{\"body\":1,\"id\":\"a\",\"on_duplicate\":\"extend\",\"ttl_ms\":60000}");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/ttl_ms");
	a = queue("PATCH", "{\"ttl_ms\":60000}");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/ttl_ms");
	assert_problem(queue("PATCH", "{\"delay_ms\":3600000}"), 400, "invalid_value", "none");
	assert_problem(queue("PUT", "{\"delay_ms\":2,\"ttl_ms\":2}"), 400, "invalid_value", "none");
	assert_int_equal(count_of("/settings/ttl_ms"), TTL_MS);
	assert_int_equal(count_of("/sent"), 0);
	assert_status(queue("PATCH", "{\"ttl_ms\":60001}"), 200);
}

TEST(a_burst_is_merged_by_the_delay_of_the_queue)
{
	configure("{\"delay_ms\":60000}");
	send_body("{\"body\":1,\"id\":\"a\",\"on_duplicate\":\"extend\",\"delay_ms\":1000}");
	struct answer a = send_body("{\"body\":2,\"id\":\"a\",\"on_duplicate\":\"extend\"}");
	assert_string_equal(text_at(a, "/messages/0/outcome"), "extended");
	int64_t due_ms = int_at(a, "/messages/0/deliver_at_ms");
	assert_in_range(due_ms, server_now_ms(&redis) + 50000, server_now_ms(&redis) + 60000);
}

TEST(a_message_of_a_schedule_has_the_times_too)
{
	configure("{" BOTH "}");
	assert_status(http(client, "PUT", "/queues/q/schedules/s", "{\"every_ms\":3600000,\"body\":1}"), 201);
	assert_status(http(client, "POST", "/queues/q/schedules/s/run", NULL), 200);
	assert_times(DELAY_MS, TTL_MS);
}

/* What is redriven is not sent: it is due at once, or by interval_ms, without an end. */
TEST(a_redrive_does_not_delay)
{
	configure("{}");
	send_body("{\"body\":1,\"id\":\"a\"}");
	assert_status(reject(receipt_in(receive(NULL)), "{\"dead\":true}"), 200);
	assert_in_range(http(client, "PUT", "/queues/r", "{" BOTH "}").status, 200, 201);
	struct answer a = post("/redrive", "{\"to\":\"r\"}", NULL);
	if (a.status == 200) { /* in a Cluster the two may be in different slots */
		a = http(client, "GET", "/queues/r/messages", NULL);
		assert_ids_of(a, "items", IDS("a"));
		assert_true(json_is_null(json_at(a, "/items/0/expires_at_ms")));
	}
}

/* ---- Waiting of receives that are sent without wait_ms ---- */

#define RECEIVE "/queues/q/receive"

static struct raw *waiting_receive(const char *body)
{
	struct raw *w = waiter_at(&patternd, RECEIVE, body, "");

	wait_until(all_parked(&patternd, 1), SOON_MS);
	return w;
}

TEST(a_receive_waits_as_its_queue_is_set)
{
	static const char *const receives[] = { "{}", "{\"wait_ms\":null}", "{\"limit\":9,\"must_exist\":true}",
						"{\"acknowledge\":true}", "{\"settle\":{\"acknowledge\":[]}}" };

	configure("{\"wait_ms\":20000}");
	for (size_t i = 0; i < COUNT(receives); i++) {
		struct raw *w = waiting_receive(receives[i]);
		send_body("{\"body\":1}");
		struct answer a = waiter_answer(w, RECEIVE, SOON_MS);
		assert_status(a, 200);
		assert_int_equal(count_in(a), 1);
		raw_close(w);
		assert_int_equal(waiting_at(&patternd), 0);
	}
}

TEST(the_wait_of_a_queue_ends)
{
	configure("{\"wait_ms\":300}");
	struct answer a = receive(NULL);
	assert_int_equal(count_in(a), 0);
	assert_in_range(a.took_us, 290 * 1000, 5 * 1000 * 1000);
	a = post("/receive", NULL, KEY "waits");
	assert_int_equal(count_in(a), 0);
	assert_in_range(a.took_us, 290 * 1000, 5 * 1000 * 1000);
	assert_int_equal(server_command(&redis, "EXISTS p:queue:{q}:waiters")->integer, 0);
	assert_status(queue("PATCH", "{\"paused\":true}"), 200);
	send_body("{\"body\":1}");
	a = receive(NULL); /* a paused queue has nothing to hand out */
	assert_int_equal(count_in(a), 0);
	assert_true(a.took_us >= 290 * 1000);
}

TEST(a_receive_with_wait_ms_has_its_own)
{
	configure("{\"wait_ms\":20000}");
	struct answer a = receive("{\"wait_ms\":0}");
	assert_int_equal(count_in(a), 0);
	assert_true(a.took_us < 10 * 1000 * 1000);
	a = receive("{\"wait_ms\":200}");
	assert_int_equal(count_in(a), 0);
	assert_in_range(a.took_us, 190 * 1000, 10 * 1000 * 1000);
	send_body("{\"body\":1}");
	a = receive(NULL); /* a message that is ready is taken at once */
	assert_int_equal(count_in(a), 1);
	assert_true(a.took_us < 10 * 1000 * 1000);
	assert_int_equal(int_at(queue("PATCH", "{\"wait_ms\":null}"), "/settings/wait_ms"), 0);
	a = receive(NULL);
	assert_true(a.took_us < 10 * 1000 * 1000);
	assert_problem(queue("PATCH", "{\"wait_ms\":60001}"), 400, "out_of_range", "none");
}

/* The settled deliveries end before the request waits. */
TEST(a_turn_waits_as_its_queue_is_set)
{
	char body[256];

	configure("{\"wait_ms\":20000}");
	send_body("{\"body\":1}");
	snprintf(body, sizeof(body), "{\"settle\":{\"acknowledge\":[\"%s\"]}}", receipt_in(receive(NULL)));
	struct raw *w = waiting_receive(body);
	assert_counts(0, 0, 0, 0);
	send_body("{\"body\":2}");
	struct answer a = waiter_answer(w, RECEIVE, SOON_MS);
	assert_int_equal(int_at(a, "/messages/0/body"), 2);
	assert_string_equal(text_at(a, "/deliveries/0/outcome"), "acknowledged");
	raw_close(w);
}

/* Of several queues, also in several slots, the longest wait counts. */
TEST(several_queues_wait_as_the_most_patient)
{
	static const char body[] = "{\"queues\":[\"p\",\"q\",\"r\"]}";

	assert_status(http(client, "PUT", "/queues/p", "{\"wait_ms\":1}"), 201);
	configure("{\"wait_ms\":20000}");
	struct raw *w = waiter_at(&patternd, "/queues/receive", body, "");
	wait_until(all_parked(&patternd, 1), SOON_MS);
	assert_status(http(client, "POST", "/queues/r/messages", "{\"body\":1}"), 201);
	struct answer a = waiter_answer(w, "/queues/receive", SOON_MS);
	assert_string_equal(text_at(a, "/messages/0/queue"), "r");
	raw_close(w);
	a = http(client, "POST", "/queues/receive", "{\"queues\":[\"p\",\"r\"]}");
	assert_int_equal(count_in(a), 0);
	assert_true(a.took_us < 10 * 1000 * 1000);
}

/* A body that may not wait is answered at once, since it did not ask for the wait. */
TEST(a_large_body_does_not_wait)
{
	enum { SIZE = 65 * 1024 };
	char *body = malloc(SIZE + 3);

	memset(body, ' ', SIZE);
	memcpy(body, "{", 1);
	strcpy(body + SIZE, "}");
	configure("{\"wait_ms\":20000}");
	struct answer a = receive(body);
	assert_status(a, 200);
	assert_int_equal(count_in(a), 0);
	assert_true(a.took_us < 10 * 1000 * 1000);
	free(body);
}
