/*
 * Dedupe ids over HTTP, with a Redis whose clock the tests move. Also BullMQ's published cases of
 * deduplication with a ttl as facts: taskforcesh/bullmq, tests/deduplication.test.ts at 0d07c9a6
 * (MIT licence). The facts are taken, not the code.
 */
#include "../support/redis_clock.h"
#include "proxy.h"
#include "queue_stage.h"

enum { DEDUPE_MS = 300000 }; /* a queue's default */

#define DIGEST_OF_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static volatile int64_t *clock_us;

static int start_by_clock(void **state)
{
	clock_us = server_start_by_clock(&redis, INT64_C(1795219450378000));
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	return 0;
}

SUITE(.open = start_by_clock, .close = stop, .after = forget_all);

/* The nodes of a Cluster go by the clock of the machine: tests end here. */
static void pass_ms(int64_t ms)
{
	if (redis.cluster)
		skip();
	*clock_us += 1000 * ms;
}

/* Whether the first message of a send is new. Its id is kept in `id`. */
static char id[256];
static bool is_new(const char *body)
{
	struct answer a = send_body(body);

	assert_in_range(a.status, 200, 201);
	bool stored = a.status == 201;
	snprintf(id, sizeof(id), "%s", text_at(a, "/messages/0/id"));
	assert_int_equal(bool_at(a, "/messages/0/duplicate"), !stored);
	assert_string_equal(text_at(a, "/messages/0/outcome"), stored ? "stored" : "kept");
	return stored;
}

#define FIRST "{\"body\":1,\"dedupe_id\":\"d\"}"

static void assert_first_is_known(const char *first)
{
	assert_false(is_new(FIRST));
	assert_string_equal(id, first);
}

/* ---- How long an id is remembered ---- */

TEST(an_id_is_remembered_from_the_send)
{
	char first[32];

	assert_true(is_new(FIRST));
	snprintf(first, sizeof(first), "%s", id);
	pass_ms(DEDUPE_MS);
	assert_first_is_known(first);
	pass_ms(1);
	assert_true(is_new(FIRST)); /* beside the first, which is still there */
	assert_string_not_equal(id, first);
	assert_counts(2, 0, 0, 0);
}

TEST(it_is_remembered_however_the_message_ended)
{
	char first[32];

	static const char *const ends[] = { "", "acknowledged", "dead", "deleted", "expired" };
	for (size_t i = 0; i < COUNT(ends); i++) {
		forget_all(NULL);
		assert_true(is_new("{\"body\":1,\"dedupe_id\":\"d\",\"ttl_ms\":1000}"));
		snprintf(first, sizeof(first), "%s", id);
		if (strcmp(ends[i], "acknowledged") == 0)
			assert_int_equal(count_in(receive("{\"acknowledge\":true}")), 1);
		else if (strcmp(ends[i], "dead") == 0)
			assert_status(reject(receipt_in(receive(NULL)), "{\"dead\":true}"), 200);
		else if (strcmp(ends[i], "deleted") == 0)
			assert_status(message("DELETE", first, NULL), 204);
		else if (strcmp(ends[i], "expired") == 0)
			pass_ms(2000);
		assert_first_is_known(first);
	}
}

TEST(a_duplicate_tells_of_the_first_message)
{
	struct answer a = send_body("{\"body\":1,\"id\":\"a\",\"dedupe_id\":\"d\",\"delay_ms\":60000}");
	assert_status(a, 201);
	int64_t due_ms = int_at(a, "/messages/0/deliver_at_ms");
	char sequence[32];
	snprintf(sequence, sizeof(sequence), "%s", text_at(a, "/messages/0/sequence"));

	a = send_body("{\"body\":1,\"id\":\"b\",\"dedupe_id\":\"d\"}");
	assert_status(a, 200);
	assert_null(header_of(a, "Location"));
	assert_string_equal(text_at(a, "/messages/0/id"), "a");
	assert_string_equal(text_at(a, "/messages/0/sequence"), sequence);
	assert_int_equal(int_at(a, "/messages/0/deliver_at_ms"), due_ms);
	pass_ms(60000);
	assert_int_equal(count_in(receive("{\"acknowledge\":true}")), 1);
	a = send_body("{\"body\":1,\"dedupe_id\":\"d\"}");
	assert_string_equal(text_at(a, "/messages/0/sequence"), sequence);
	assert_true(json_is_null(json_at(a, "/messages/0/deliver_at_ms")));
	assert_true(is_new("{\"body\":1,\"id\":\"b\"}")); /* the duplicate took no id */
}

/* A taken id makes a message a duplicate as well; its dedupe id is then not remembered. */
TEST(an_id_counts_beside_it)
{
	assert_true(is_new("{\"body\":1,\"id\":\"a\"}"));
	assert_false(is_new("{\"body\":2,\"id\":\"a\",\"dedupe_id\":\"d\"}"));
	assert_true(is_new("{\"body\":3,\"id\":\"b\",\"dedupe_id\":\"d\"}"));
	assert_false(is_new("{\"body\":4,\"id\":\"c\",\"dedupe_id\":\"d\"}"));
	assert_string_equal(id, "b");
}

TEST(the_queue_sets_the_time)
{
	configure("{\"dedupe_ms\":1000}");
	assert_true(is_new(FIRST));
	pass_ms(1000);
	assert_false(is_new(FIRST));
	pass_ms(1);
	assert_true(is_new(FIRST));
	configure("{\"dedupe_ms\":0}");
	pass_ms(1001);
	assert_true(is_new(FIRST));
	assert_true(is_new(FIRST));
}

/* ---- Batches, daemons, retries ---- */

TEST(a_batch_has_it_twice)
{
	struct answer a = send_body("{\"messages\":[{\"body\":1,\"dedupe_id\":\"d\"},{\"body\":2},"
				    "{\"body\":3,\"id\":\"x\",\"dedupe_id\":\"d\"},{\"body\":4,\"dedupe_id\":\"e\"}]}");

	assert_status(a, 201);
	assert_string_equal(text_at(a, "/messages/2/outcome"), "kept");
	assert_string_equal(text_at(a, "/messages/2/id"), text_at(a, "/messages/0/id"));
	assert_string_equal(text_at(a, "/messages/2/sequence"), text_at(a, "/messages/0/sequence"));
	assert_int_equal(int_at(a, "/messages/2/deliver_at_ms"), int_at(a, "/messages/0/deliver_at_ms"));
	assert_string_equal(text_at(a, "/messages/3/outcome"), "stored");
	assert_counts(3, 0, 0, 0);
}

TEST(whatever_is_refused_is_not_remembered)
{
	configure("{\"max_messages\":1}");
	assert_problem(send_body("{\"messages\":[{\"body\":1,\"dedupe_id\":\"d\"},{\"body\":2}]}"), 409, "queue_full",
		       "none");
	assert_problem(send_body("{\"body\":1,\"dedupe_id\":\"d\",\"ttl_ms\":1,\"deliver_at_ms\":4000000000000}"), 400,
		       "invalid_value", "none");
	assert_true(is_new(FIRST));
	assert_false(is_new(FIRST)); /* a duplicate needs no room */
}

TEST(all_daemons_know_it)
{
	struct daemon other = { 0 };

	daemon_start(&other, "--redis", redis.url);
	struct client *there = client_open(other.port);
	assert_true(is_new(FIRST));
	struct answer a = http(there, "POST", "/queues/q/messages", FIRST);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/messages/0/id"), id);
	client_close(there);
	daemon_stop(&other);
}

TEST(a_retry_with_a_key_gets_the_first_answer)
{
	struct answer a = post("/messages", FIRST, KEY "k");

	assert_status(a, 201);
	snprintf(id, sizeof(id), "%s", text_at(a, "/messages/0/id"));
	a = post("/messages", FIRST, KEY "k");
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/messages/0/id"), id);
	assert_string_equal(text_at(a, "/messages/0/outcome"), "stored");
	assert_counts(1, 0, 0, 0);
}

TEST(a_lost_answer_is_repeated)
{
	if (redis.cluster)
		skip(); /* the nodes of a Cluster announce their own addresses, so the daemon would bypass the proxy */
	struct proxy *proxy = proxy_open(redis.port);
	struct daemon behind = { 0 };

	daemon_start(&behind, "--redis", proxy_url(proxy), "--pool-size", "1");
	struct client *c = client_open(behind.port);
	for (int with_key = 1; with_key >= 0; with_key--) {
		forget_all(NULL);
		proxy_set(proxy, (struct proxy_fault){ .cut = true });
		assert_problem(http(c, "POST", "/queues/q/messages", FIRST, with_key ? KEY "k" : NULL), 504,
			       "no_answer", "unknown");
		proxy_set(proxy, (struct proxy_fault){ 0 });
		wait_until(http(c, "GET", "/queues/q", NULL).status == 200, 8000);
		struct answer a = http(c, "POST", "/queues/q/messages", FIRST, with_key ? KEY "k" : NULL);
		assert_status(a, with_key ? 201 : 200); /* without a key it is a duplicate of itself */
		assert_counts(1, 0, 0, 0);
	}
	client_close(c);
	daemon_stop(&behind);
	proxy_close(proxy);
}

/* ---- What forgets it ---- */

TEST(a_purge_of_all_forgets_it)
{
	assert_true(is_new(FIRST));
	assert_status(post("/purge", "{\"state\":\"ready\"}", NULL), 200);
	assert_false(is_new(FIRST));
	assert_status(post("/purge", "{}", NULL), 200); /* the queue is empty, and remembers */
	assert_true(is_new(FIRST));
	assert_false(is_new(FIRST));
}

TEST(a_queue_made_anew_knows_none)
{
	assert_true(is_new(FIRST));
	assert_status(queue("DELETE", NULL), 204);
	assert_true(is_new("{\"body\":1}")); /* a plain message makes the queue */
	assert_true(is_new(FIRST));
	assert_false(is_new(FIRST));
	assert_status(queue("DELETE", NULL), 204);
	assert_true(is_new(FIRST));
}

/* ---- Scopes ---- */

#define OF(group) "{\"body\":1,\"dedupe_id\":\"d\",\"group\":\"" group "\"}"

TEST(the_scope_counts_at_once)
{
	configure("{\"dedupe_scope\":\"group\"}");
	assert_true(is_new(OF("g")));
	assert_true(is_new(OF("h")));
	assert_false(is_new(OF("g")));
	assert_true(is_new(FIRST));
	assert_false(is_new(FIRST));
	assert_false(is_new(OF("h")));
	configure("{\"dedupe_scope\":\"queue\"}");
	assert_false(is_new(OF("g")));
	assert_false(is_new(OF("i")));
	assert_status(queue("PATCH", "{\"dedupe_scope\":\"group\"}"), 200);
	assert_true(is_new(OF("i")));
	assert_status(queue("PATCH", "{\"dedupe_scope\":null}"), 200);
	assert_string_equal(text_at(queue("GET", NULL), "/settings/dedupe_scope"), "queue");
	assert_false(is_new(OF("j")));
}

/* What was sent in the scope of the queue is known to its group afterwards. */
TEST(a_new_scope_forgets_nothing)
{
	assert_true(is_new(OF("g")));
	configure("{\"dedupe_scope\":\"group\"}");
	assert_false(is_new(OF("g")));
	assert_true(is_new(OF("h")));
}

TEST(groups_and_ids_do_not_run_together)
{
	configure("{\"dedupe_scope\":\"group\"}");
	assert_true(is_new("{\"body\":1,\"dedupe_id\":\"bc\",\"group\":\"a\"}"));
	assert_true(is_new("{\"body\":1,\"dedupe_id\":\"c\",\"group\":\"ab\"}"));
	assert_true(is_new("{\"body\":1,\"dedupe_id\":\"c\"}"));
}

/* ---- Of the body ---- */

static bool by_body(const char *body)
{
	char text[512];

	snprintf(text, sizeof(text), "{\"body\":%s,\"dedupe_by_body\":true}", body);
	return is_new(text);
}

TEST(the_body_can_be_the_id)
{
	configure("{\"dedupe_by_body\":true}");
	assert_true(by_body("\"abc\""));
	assert_false(by_body("\"a\\u0062c\""));
	assert_false(is_new("{\"body\":7,\"dedupe_id\":\"" DIGEST_OF_ABC "\"}"));
	assert_string_equal(text_at(receive(NULL), "/messages/0/dedupe_id"), DIGEST_OF_ABC);
	assert_true(by_body("{\"a\":1}"));
	assert_true(by_body("{\"a\": 1}")); /* other bytes */
	assert_true(by_body("\"{\\\"a\\\":2}\""));
	assert_false(by_body("{\"a\":2}")); /* a text that is the same bytes */
	assert_true(by_body("\"\""));
	assert_false(by_body("\"\""));
	assert_true(is_new("{\"body\":\"abc\"}")); /* only if the send has it */
	assert_true(is_new("{\"body\":\"abc\",\"dedupe_id\":\"x\",\"dedupe_by_body\":false}"));
}

TEST(the_queue_must_allow_it)
{
	static const char *const sends[][2] = {
		{ "{\"body\":1,\"dedupe_by_body\":true}", "/dedupe_by_body" },
		{ "{\"messages\":[{\"body\":1,\"dedupe_id\":\"d\"},{\"body\":2,\"dedupe_by_body\":true}]}",
		  "/messages/1/dedupe_by_body" },
	};

	for (size_t i = 0; i < COUNT(sends); i++) {
		assert_problem(send_body(sends[i][0]), 400, "dedupe_id_required", "none");
		configure("{\"dedupe_by_body\":true}");
		assert_status(send_body(sends[i][0]), 201);
		assert_status(queue("PATCH", "{\"dedupe_by_body\":null}"), 200);
		struct answer a = send_body(sends[i][0]);
		assert_problem(a, 400, "dedupe_id_required", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), sends[i][1]);
		assert_false(bool_at(queue("GET", NULL), "/settings/dedupe_by_body"));
	}
}

TEST(contradictions_are_refused)
{
	static const char *const sends[][2] = {
		{ "{\"body\":1,\"dedupe_id\":\"d\",\"dedupe_by_body\":true}", "/dedupe_by_body" },
		{ "{\"body\":1,\"id\":\"a\",\"dedupe_id\":\"d\",\"on_duplicate\":\"replace\"}", "/dedupe_id" },
		{ "{\"body\":1,\"id\":\"a\",\"dedupe_by_body\":true,\"on_duplicate\":\"after\"}", "/dedupe_by_body" },
		{ "{\"messages\":[{\"body\":1,\"id\":\"a\",\"on_duplicate\":\"extend\"},{\"body\":1,\"dedupe_id\":\"d\"}]}",
		  "/messages/1/dedupe_id" },
	};

	for (size_t i = 0; i < COUNT(sends); i++) {
		struct answer a = send_body(sends[i][0]);
		assert_problem(a, 400, "invalid_value", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), sends[i][1]);
	}
	assert_int_equal(server_keys(&redis), 0);
}

/* ---- Where it is shown ---- */

TEST(messages_show_it)
{
	send_body("{\"messages\":[{\"body\":1,\"id\":\"a\",\"dedupe_id\":\"\xc3\xbc \\\"x\",\"headers\":{\"h\":\"1\"}},"
		  "{\"body\":2,\"id\":\"b\"}]}");
	assert_string_equal(text_at(message("GET", "a", NULL), "/dedupe_id"), "\xc3\xbc \"x");
	assert_null(json_at(message("GET", "b", NULL), "/dedupe_id"));
	struct answer a = receive("{\"limit\":2}");
	assert_string_equal(text_at(a, "/messages/0/dedupe_id"), "\xc3\xbc \"x");
	assert_string_equal(text_at(a, "/messages/0/headers/h"), "1");
	assert_null(json_at(a, "/messages/1/dedupe_id"));
	a = http(client, "GET", "/queues/q/messages?state=in_flight", NULL);
	assert_string_equal(text_at(a, "/items/0/dedupe_id"), "\xc3\xbc \"x");
}

/* The sender of a duplicate waits for the first message, also if that has another id, or ended. */
TEST(a_duplicate_waits_for_the_first_result)
{
	configure("{\"result_ms\":60000}");
	assert_true(is_new("{\"body\":1,\"dedupe_id\":\"d\"}"));
	char first[32];
	snprintf(first, sizeof(first), "%s", id);
	struct answer a = send_body("{\"body\":1,\"id\":\"b\",\"dedupe_id\":\"d\",\"wait_result_ms\":1}");
	assert_string_equal(text_at(a, "/messages/0/id"), first);
	assert_string_equal(text_at(a, "/messages/0/state"), "ready");
	char body[256];
	snprintf(body, sizeof(body), "{\"complete\":[{\"receipt\":\"%s\",\"result\":42}]}", receipt_in(receive(NULL)));
	assert_status(post("/settle", body, NULL), 200);
	a = send_body("{\"body\":1,\"id\":\"b\",\"dedupe_id\":\"d\",\"wait_result_ms\":20000}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/messages/0/id"), first);
	assert_string_equal(text_at(a, "/messages/0/state"), "done");
	assert_int_equal(int_at(a, "/messages/0/result"), 42);
}

/* It does not wait for another message that has the id of the first one now. */
TEST(a_duplicate_waits_for_no_other_message)
{
	configure("{\"result_ms\":60000}");
	assert_true(is_new("{\"body\":1,\"id\":\"a\",\"dedupe_id\":\"d\"}"));
	assert_status(message("DELETE", "a", NULL), 204);
	assert_true(is_new("{\"body\":2,\"id\":\"a\"}"));
	struct answer a = send_body("{\"body\":1,\"dedupe_id\":\"d\",\"wait_result_ms\":1}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/messages/0/id"), "a");
	assert_true(json_is_null(json_at(a, "/messages/0/state")));
}

/* ---- Facts of BullMQ ---- */

/* k: an add; +n: n ms pass; >: a worker gets a job, of all that were added */
TEST(a_ttl_counts_as_in_bullmq)
{
	static const struct {
		const char *name, *ttl, *steps;
		int duplicates, left;
	} cases[] = {
		{ "uses a fixed time period and emits deduplicated event", "2000", "k +1000 k k +1100 k k k", 4, 2 },
		{ "when job id is not present inside deduplication key: should not stop deduplication", "100",
		  "k > +105 k >", 0, 2 },
		/* the job is gone, but the window of its ttl is not over */
		{ "does not clear an existing ttl window when the next add omits ttl", "5000", "k x k", 1, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char settings[64], steps[64], *rest = NULL;
		int duplicates = 0;
		forget_all(NULL);
		snprintf(settings, sizeof(settings), "{\"dedupe_ms\":%s}", cases[i].ttl);
		configure(settings);
		snprintf(steps, sizeof(steps), "%s", cases[i].steps);
		for (char *step = strtok_r(steps, " ", &rest); step; step = strtok_r(NULL, " ", &rest)) {
			if (*step == 'k')
				duplicates += !is_new("{\"body\":1,\"dedupe_id\":\"a1\"}");
			else if (*step == '+')
				pass_ms(atoi(step + 1));
			else if (*step == 'x')
				assert_status(message("DELETE", id, NULL), 204);
			else
				assert_int_equal(count_in(receive(NULL)), 1);
		}
		if (duplicates != cases[i].duplicates)
			fail_msg("%s: %d duplicates", cases[i].name, duplicates);
		assert_int_equal(count_of("/ready") + count_of("/in_flight"), cases[i].left);
	}
}
