/*
 * POST /queues/receive: messages of several queues in order of preference; a client may wait for
 * all of them at once.
 */
#include "stage.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 5000 };

#define LONG "\"wait_ms\":20000"

static const char target[] = "/queues/receive";

static int forget(void **state)
{
	client_forget(client);
	return stage_forget(state);
}

static struct answer receive(const char *body)
{
	return post(target, body);
}

static void send_to(const char *queue, const char *body)
{
	char path[64];

	snprintf(path, sizeof(path), "/queues/%s/messages", queue);
	assert_status(post(path, body), 201);
}

/* The answer has these messages, in this order: "queue/body queue/body", with numbers as bodies. */
static void assert_messages(struct answer a, const char *wanted)
{
	char got[512] = "";
	size_t i;
	json_t *m;

	assert_status(a, 200);
	json_array_foreach(json_at(a, "/messages"), i, m) {
		size_t len = strlen(got);
		snprintf(got + len, sizeof(got) - len, "%s%s/%d", i ? " " : "",
			 json_string_value(json_object_get(m, "queue")),
			 (int)json_integer_value(json_object_get(m, "body")));
	}
	assert_string_equal(got, wanted);
}

/* A client that waits at queues without other waiters. */
static struct raw *parked(const char *queue, const char *body)
{
	struct raw *w = waiter_at(&patternd, target, body, "");

	wait_until(subscribers_of(&redis, queue) == 1, SOON_MS);
	wait_until(all_parked(&patternd, 1), SOON_MS);
	return w;
}

/* ---- Without waiting ---- */

SUITE(.open = stage_open, .close = stage_close, .after = forget);

TEST(the_first_queue_goes_first)
{
	send_to("a", "{\"messages\":[{\"body\":1},{\"body\":2,\"priority\":0}]}");
	send_to("b", "{\"messages\":[{\"body\":3},{\"body\":4,\"delay_ms\":60000}]}");
	send_to("c", "{\"messages\":[{\"body\":5}]}");
	assert_messages(receive("{\"queues\":[\"c\",\"a\",\"b\"]}"), "c/5");
	assert_messages(receive("{\"queues\":[\"c\",\"a\",\"b\"],\"limit\":2}"), "a/2 a/1");
	send_to("a", "{\"messages\":[{\"body\":6},{\"body\":7}]}");
	assert_messages(receive("{\"queues\":[\"b\",\"c\",\"a\"],\"limit\":100}"), "b/3 a/6 a/7");
	assert_messages(receive("{\"queues\":[\"a\",\"b\",\"c\"],\"limit\":100}"), "");
}

TEST(each_message_is_a_delivery_of_its_queue)
{
	char path[128];

	assert_status(http(client, "PATCH", "/queues/b", "{\"visibility_ms\":5000}"), 200);
	send_to("a", "{\"body\":1,\"id\":\"m\",\"priority\":2}");
	send_to("b", "{\"body\":2,\"id\":\"m\"}");
	struct answer a =
		receive("{\"queues\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\","
			"\"13\",\"14\",\"a\",\"b\"],\"limit\":2}"); /* as many as fit */
	assert_messages(a, "a/1 b/2");
	assert_string_equal(text_at(a, "/messages/0/id"), "m");
	assert_int_equal(int_at(a, "/messages/0/priority"), 2);
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	int64_t longer_ms = int_at(a, "/messages/0/visible_until_ms") - int_at(a, "/messages/1/visible_until_ms");
	/*
	 * Each queue has its own visibility. In a Cluster the queues are called one after the
	 * other.
	 */
	assert_in_range(longer_ms, redis.cluster ? 24000 : 25000, 25000);
	snprintf(path, sizeof(path), "/queues/a/deliveries/%s", text_at(a, "/messages/1/receipt"));
	assert_problem(http(client, "DELETE", path, NULL), 400, "invalid_receipt", "none");
	assert_string_equal(text_at(get("/queues/b/messages/m"), "/state"), "in_flight");
	snprintf(path, sizeof(path), "/queues/b/deliveries/%s", text_at(a, "/messages/1/receipt"));
	assert_status(http(client, "DELETE", path, NULL), 204);
	assert_problem(get("/queues/b/messages/m"), 404, "not_found", "none");
	assert_string_equal(text_at(get("/queues/a/messages/m"), "/state"), "in_flight");
}

TEST(a_paused_queue_is_passed_over)
{
	send_to("a", "{\"body\":1}");
	send_to("b", "{\"body\":2}");
	assert_status(http(client, "PATCH", "/queues/a", "{\"paused\":true}"), 200);
	assert_messages(receive("{\"queues\":[\"a\",\"b\"],\"limit\":2}"), "b/2");
	assert_status(http(client, "PATCH", "/queues/a", "{\"paused\":false}"), 200);
	assert_messages(receive("{\"queues\":[\"a\",\"b\"],\"limit\":2}"), "a/1");
}

/* ---- Queues that must exist ---- */

#define MUST "\"must_exist\":true"

static void assert_missing(struct answer a, const char *queue)
{
	char detail[64];

	snprintf(detail, sizeof(detail), "queue '%s' does not exist", queue);
	assert_problem(a, 404, "not_found", "none");
	assert_string_equal(text_at(a, "/detail"), detail);
	assert_int_equal(waiting_at(&patternd), 0);
}

/* The request fails at once, takes nothing and leaves no place in a wait queue. */
TEST(a_queue_that_does_not_exist_is_named)
{
	struct answer a = post("/queues/tpyo/receive", "{" MUST "," LONG "}");
	assert_missing(a, "tpyo");
	assert_true(a.took_us < 10 * 1000 * 1000);
	assert_missing(receive("{\"queues\":[\"x\",\"y\"]," MUST "," LONG "}"), "x");
	assert_int_equal(server_keys(&redis), 0);
	send_to("a", "{\"body\":1}");
	assert_missing(receive("{\"queues\":[\"a\",\"tpyo\"],\"limit\":2," MUST "," LONG "}"), "tpyo");
	assert_missing(receive("{\"queues\":[\"tpyo\",\"a\"],\"acknowledge\":true," MUST "}"), "tpyo");
	assert_int_equal(int_at(get("/queues/a"), "/ready"), 1);
	assert_messages(receive("{\"queues\":[\"a\"],\"limit\":2," MUST "}"), "a/1");
	assert_status(post("/queues/tpyo/receive", "{\"must_exist\":false}"), 200);
}

TEST(what_is_listed_exists)
{
	static const struct {
		const char *method, *path, *body;
	} makers[] = {
		{ "PUT", "/queues/q", "{}" },
		{ "PATCH", "/queues/q", "{\"paused\":true}" },
		{ "POST", "/queues/q/messages", "{\"body\":1,\"delay_ms\":60000}" },
		{ "PUT", "/queues/q/schedules/s", "{\"every_ms\":3600000,\"body\":1}" },
	};

	for (size_t i = 0; i < COUNT(makers); i++) {
		assert_missing(post("/queues/q/receive", "{" MUST "}"), "q");
		assert_int_equal(json_array_size(json_at(get("/queues"), "/items")), 0);
		assert_in_range(http(client, makers[i].method, makers[i].path, makers[i].body).status, 200, 201);
		assert_int_equal(json_array_size(json_at(get("/queues"), "/items")), 1);
		struct answer a = post("/queues/q/receive", "{" MUST ",\"wait_ms\":20}");
		assert_status(a, 200);
		assert_int_equal(json_array_size(json_at(a, "/messages")), 0);
		assert_status(http(client, "DELETE", "/queues/q", NULL), 204);
	}
}

/* The 404 changed nothing, so the same key may be used again. */
TEST(a_missing_queue_leaves_no_record)
{
	static const char body[] = "{" MUST "}", key[] = "Idempotency-Key: must";

	assert_missing(http(client, "POST", "/queues/q/receive", body, key), "q");
	send_to("q", "{\"body\":1}");
	struct answer a = http(client, "POST", "/queues/q/receive", body, key);
	assert_int_equal(int_at(a, "/messages/0/body"), 1);
	assert_string_equal(http(client, "POST", "/queues/q/receive", body, key).body, a.body);
}

TEST(the_deletion_of_the_only_queue_ends_a_wait)
{
	static const char queue[] = "/queues/a/receive";

	assert_status(http(client, "PUT", "/queues/a", "{}"), 201);
	struct raw *bound = waiter_at(&patternd, queue, "{" MUST "," LONG "}", "");
	struct raw *other = waiter_at(&patternd, queue, "{" LONG "}", "");
	wait_until(all_parked(&patternd, 2), SOON_MS);
	assert_status(http(client, "DELETE", "/queues/a", NULL), 204);
	assert_problem(waiter_answer(bound, queue, SOON_MS), 404, "not_found", "none");
	send_to("a", "{\"body\":1}");
	struct answer a = waiter_answer(other, queue, SOON_MS);
	assert_int_equal(int_at(a, "/messages/0/body"), 1);
	raw_close(bound);
	raw_close(other);
}

/* That several queues exist is checked when the request comes, and not again. */
TEST(a_queue_may_be_deleted_while_it_is_waited_at)
{
	assert_status(http(client, "PUT", "/queues/a", "{}"), 201);
	assert_status(http(client, "PUT", "/queues/b", "{}"), 201);
	struct raw *w = parked("b", "{\"queues\":[\"a\",\"b\"]," MUST "," LONG "}");
	assert_status(http(client, "DELETE", "/queues/a", NULL), 204);
	send_to("b", "{\"body\":1}");
	assert_messages(waiter_answer(w, target, SOON_MS), "b/1");
	raw_close(w);
}

/* ---- Deliveries that end first ---- */

static char receipts[2][64]; /* of queues a and b */

/* Receives one message of each queue. */
static void deliver_each(void)
{
	send_to("a", "{\"body\":1}");
	send_to("b", "{\"body\":2}");
	struct answer a = receive("{\"queues\":[\"a\",\"b\"],\"limit\":2}");
	snprintf(receipts[0], sizeof(receipts[0]), "%s", text_at(a, "/messages/0/receipt"));
	snprintf(receipts[1], sizeof(receipts[1]), "%s", text_at(a, "/messages/1/receipt"));
}

static void assert_ended(struct answer a, size_t i, const char *queue, const char *outcome)
{
	char pointer[64];

	snprintf(pointer, sizeof(pointer), "/deliveries/%zu/queue", i);
	assert_string_equal(text_at(a, pointer), queue);
	snprintf(pointer, sizeof(pointer), "/deliveries/%zu/outcome", i);
	assert_string_equal(text_at(a, pointer), outcome);
}

/* Deliveries of all queues in the list end before anything is received. */
TEST(each_delivery_ends_in_its_queue)
{
	char body[1024];

	assert_status(http(client, "PATCH", "/queues/b", "{\"backoff\":{\"base_ms\":0}}"), 200);
	deliver_each();
	snprintf(
		body, sizeof(body),
		"{\"queues\":[\"c\",\"a\",\"b\"],\"limit\":9,\"settle\":{\"reject\":[{\"queue\":\"b\",\"receipt\":\"%s\"}],"
		"\"complete\":[{\"queue\":\"a\",\"receipt\":\"%s\",\"result\":1}],"
		"\"acknowledge\":[{\"queue\":\"b\",\"receipt\":\"%s\"}]}}",
		receipts[1], receipts[0], receipts[1]);
	struct answer a = receive(body);
	assert_messages(a, "");
	assert_ended(a, 0, "b", "acknowledged");
	assert_ended(a, 1, "a", "acknowledged");
	assert_true(json_is_false(json_at(a, "/deliveries/1/result_stored")));
	assert_ended(a, 2, "b", "not_current");
	deliver_each();
	snprintf(
		body, sizeof(body),
		"{\"queues\":[\"c\",\"a\",\"b\"],\"limit\":9,\"settle\":{\"reject\":[{\"queue\":\"b\",\"receipt\":\"%s\"}]}}",
		receipts[1]);
	a = receive(body);
	assert_messages(a, "b/2"); /* it was due again when the queues were asked */
	assert_ended(a, 0, "b", "rejected");
}

TEST(a_delivery_names_one_of_the_queues)
{
	static const char *const queues[] = { "b", "c" }; /* one of the list, and one that is not in it */
	static const char *const codes[] = { "invalid_receipt", "invalid_value" };
	char body[512];

	deliver_each();
	for (size_t i = 0; i < 2; i++) {
		snprintf(body, sizeof(body),
			 "{\"queues\":[\"a\",\"b\"],\"settle\":{\"acknowledge\":[{\"queue\":\"b\",\"receipt\":\"%s\"},"
			 "{\"queue\":\"%s\",\"receipt\":\"%s\"}]}}",
			 receipts[1], queues[i], receipts[0]);
		struct answer a = receive(body);
		assert_problem(a, 400, codes[i], "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"),
				    i ? "/settle/acknowledge/1/queue" : "/settle/acknowledge/1/receipt");
		assert_int_equal(int_at(get("/queues/b"), "/in_flight"), 1);
	}
}

/* The outcomes of each queue are one part of the record, and the received messages another. */
TEST(a_key_replays_all_parts)
{
	static const char key[] = "Idempotency-Key: turn";
	char body[512];

	if (redis.cluster)
		skip(); /* queues in several slots have no common record */
	deliver_each();
	send_to("a", "{\"body\":3}");
	snprintf(
		body, sizeof(body),
		"{\"queues\":[\"a\",\"b\"],\"settle\":{\"reject\":[{\"queue\":\"a\",\"receipt\":\"%s\",\"delay_ms\":60000},"
		"{\"queue\":\"b\",\"receipt\":\"%s\",\"delay_ms\":60000}]}}",
		receipts[0], receipts[1]);
	struct answer a = http(client, "POST", target, body, key);
	assert_messages(a, "a/3");
	assert_ended(a, 0, "a", "rejected");
	assert_ended(a, 1, "b", "rejected");
	assert_string_equal(http(client, "POST", target, body, key).body, a.body);
	assert_int_equal(int_at(get("/queues/a"), "/in_flight"), 1);
}

/* ---- Waiting ---- */

TEST(all_are_waited_at_at_once)
{
	static const char *const queues[] = { "a", "b", "c" };

	for (int i = 0; i < 3; i++) {
		char body[64], wanted[16];
		struct raw *w = parked("c", "{\"queues\":[\"a\",\"b\",\"c\"]," LONG "}");
		snprintf(body, sizeof(body), "{\"body\":%d,\"delay_ms\":%d}", i, i % 2 * 100);
		send_to(queues[i], body);
		struct answer a = waiter_answer(w, target, SOON_MS);
		snprintf(wanted, sizeof(wanted), "%s/%d", queues[i], i);
		assert_messages(a, wanted);
		assert_int_equal(waiting_at(&patternd), 0);
		raw_close(w);
	}
}

TEST(waiting_may_acknowledge)
{
	struct raw *w = parked("b", "{\"queues\":[\"a\",\"b\"],\"acknowledge\":true,\"limit\":5," LONG "}");
	send_to("b", "{\"messages\":[{\"body\":1,\"id\":\"m\"},{\"body\":2}]}");
	struct answer a = waiter_answer(w, target, SOON_MS);
	assert_messages(a, "b/1 b/2");
	assert_true(json_is_null(json_at(a, "/messages/1/receipt")));
	assert_true(json_is_null(json_at(a, "/messages/1/visible_until_ms")));
	assert_problem(get("/queues/b/messages/m"), 404, "not_found", "none");
	raw_close(w);
}
