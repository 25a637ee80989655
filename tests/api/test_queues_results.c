/*
 * Results of messages, and their progress: what a worker reports, and what GET shows of it. Waiting
 * for the end is in test_queues_ends.c.
 */
#include "queue_stage.h"

#include "answer.h"

enum { RESULT_MAX = 65536 };

#define KEEP "{\"result_ms\":60000," AT_ONCE "}"

static char receipt[64];

static void keep_results(void)
{
	configure(KEEP);
}

/* Sends a message with that id and receives it; its receipt is in `receipt`. */
static void deliver(const char *id)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"id\":\"%s\",\"body\":{\"of\":\"%s\"},\"priority\":2}", id, id);
	assert_status(send_body(body), 201);
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(receive("{\"worker\":\"host 1\"}")));
}

/* `result` is JSON text of any length. */
static struct answer complete(const char *result)
{
	char *body = malloc(strlen(result) + sizeof(receipt) + 64);

	assert_non_null(body);
	sprintf(body, "{\"complete\":[{\"receipt\":\"%s\",\"result\":%s}]}", receipt, result);
	struct answer a = post("/settle", body, NULL);
	free(body);
	return a;
}

static void assert_completed(struct answer a, const char *outcome, bool is_stored)
{
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/deliveries/0/outcome"), outcome);
	assert_string_equal(text_at(a, "/deliveries/0/receipt"), receipt);
	if (strcmp(outcome, "acknowledged") == 0)
		assert_true(json_is_true(json_at(a, "/deliveries/0/result_stored")) == is_stored);
	else
		assert_null(json_at(a, "/deliveries/0/result_stored"));
}

static void assert_gone(const char *id)
{
	assert_problem(message("GET", id, NULL), 404, "not_found", "none");
}

/* ---- Results ---- */

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(a_result_is_kept_as_it_was_sent)
{
	keep_results();
	deliver("a");
	int64_t before_ms = server_now_ms(&redis);
	assert_completed(complete("{\"n\":1.10,\"e\":1e5,\"s\":\"\\u00e4\"}"), "acknowledged", true);
	struct answer a = message("GET", "a", NULL);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/state"), "done");
	assert_non_null(strstr(a.body, "\"result\":{\"n\":1.10,\"e\":1e5,\"s\":\"\\u00e4\"}"));
	assert_in_range(int_at(a, "/done_at_ms"), before_ms, server_now_ms(&redis));
	assert_in_range(int_at(a, "/sent_at_ms"), before_ms - SOON_MS, before_ms);
	assert_true(json_is_null(json_at(a, "/body")));
	assert_true(json_is_null(json_at(a, "/visible_until_ms")));
	assert_int_equal(int_at(a, "/priority"), 2);
	assert_int_equal(int_at(a, "/receives"), 1);
	assert_string_equal(text_at(a, "/worker"), "host 1");
	assert_counts(0, 0, 0, 0);
	/*
	 * A message that is done is not in the queue: it cannot be changed or removed, and its id
	 * is still a duplicate.
	 */
	assert_problem(message("PATCH", "a", "{\"priority\":1}"), 404, "not_found", "none");
	assert_problem(message("DELETE", "a", NULL), 404, "not_found", "none");
	a = send_body("{\"id\":\"a\",\"body\":2}");
	assert_status(a, 200);
	assert_true(json_is_true(json_at(a, "/messages/0/duplicate")));
}

/* The id of such a message is its sequence. The sequence of a message with an id is not an id. */
TEST(a_message_without_an_id_has_a_result)
{
	char id[32];

	keep_results();
	struct answer a = send_body("{\"body\":1}");
	snprintf(id, sizeof(id), "%s", text_at(a, "/messages/0/id"));
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(receive(NULL)));
	assert_completed(complete("[1]"), "acknowledged", true);
	assert_non_null(strstr(message("GET", id, NULL).body, "\"result\":[1]"));
	deliver("named");
	assert_completed(complete("2"), "acknowledged", true);
	snprintf(id, sizeof(id), "%.16s", receipt);
	assert_gone(id);
}

static struct answer by_delete(void)
{
	return acknowledge(receipt);
}

static struct answer by_settle(void)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"acknowledge\":[\"%s\"]}", receipt);
	return post("/settle", body, NULL);
}

static struct answer by_null(void)
{
	return complete("null");
}

TEST(an_acknowledgement_is_a_result_of_null)
{
	static struct answer (*const ways[])(void) = { by_delete, by_settle, by_null };
	char id[8];

	keep_results();
	for (size_t i = 0; i < COUNT(ways); i++) {
		snprintf(id, sizeof(id), "w%zu", i);
		deliver(id);
		assert_in_range(ways[i]().status, 200, 204);
		struct answer a = message("GET", id, NULL);
		assert_string_equal(text_at(a, "/state"), "done");
		assert_true(json_is_null(json_at(a, "/result")));
	}
	assert_status(send_body("{\"id\":\"once\",\"body\":1}"), 201);
	assert_status(receive("{\"acknowledge\":true}"), 200);
	struct answer a = message("GET", "once", NULL);
	assert_string_equal(text_at(a, "/state"), "done");
	assert_int_equal(int_at(a, "/receives"), 1);
}

TEST(a_result_has_64_kib_at_most)
{
	char *result = malloc(RESULT_MAX + 2);

	assert_non_null(result);
	keep_results();
	deliver("a");
	memset(result, 'r', RESULT_MAX + 1);
	result[0] = result[RESULT_MAX] = '"';
	result[RESULT_MAX + 1] = '\0';
	struct answer a = complete(result);
	assert_problem(a, 400, "out_of_range", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/complete/0/result");
	result[RESULT_MAX - 1] = '"';
	result[RESULT_MAX] = '\0';
	assert_completed(complete(result), "acknowledged", true);
	assert_non_null(strstr(message("GET", "a", NULL).body, result));
	free(result);
}

TEST(what_is_not_json_is_refused)
{
	static const char *const hostile[] = { "{\"a\":1,\"a\":2}", "\"\\ud800\"", "01", "{", "\"\xff\"", "nul",
					       "1}],\"reject\":[{" };

	keep_results();
	deliver("a");
	for (size_t i = 0; i < COUNT(hostile); i++)
		assert_status(complete(hostile[i]), 400);
	assert_problem(post("/settle", "{\"complete\":[{\"receipt\":\"x\"}]}", NULL), 400, "missing_field", "none");
	assert_string_equal(text_at(message("GET", "a", NULL), "/state"), "in_flight");
}

TEST(only_a_current_delivery_has_a_result)
{
	char stale[64];

	keep_results();
	deliver("a");
	strcpy(stale, receipt);
	assert_status(reject(receipt, NULL), 200);
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(receive(NULL)));
	char newer[64];
	strcpy(newer, receipt);
	strcpy(receipt, stale);
	assert_completed(complete("1"), "not_current", false);
	assert_string_equal(text_at(message("GET", "a", NULL), "/state"), "in_flight");
	strcpy(receipt, newer);
	assert_completed(complete("2"), "acknowledged", true);
	/* The first result counts, also if the worker completes again with another one. */
	assert_completed(complete("3"), "acknowledged", true);
	assert_non_null(strstr(message("GET", "a", NULL).body, "\"result\":2"));
	/* A delivery that was acknowledged without a result gets none later. */
	deliver("b");
	assert_status(acknowledge(receipt), 204);
	assert_completed(complete("4"), "acknowledged", false);
	assert_true(json_is_null(json_at(message("GET", "b", NULL), "/result")));
}

TEST(a_queue_without_the_setting_keeps_none)
{
	deliver("a");
	assert_true(json_is_null(json_at(queue("GET", NULL), "/settings/result_ms")));
	assert_completed(complete("1"), "acknowledged", false);
	assert_gone("a");
	assert_completed(complete("1"), "acknowledged", false); /* as a retry of any acknowledgement */
}

TEST(the_setting_is_put_and_reset)
{
	assert_status(queue("PATCH", "{\"result_ms\":60000}"), 200);
	assert_int_equal(int_at(queue("GET", NULL), "/settings/result_ms"), 60000);
	assert_int_equal(int_at(queue("PATCH", "{\"paused\":false}"), "/settings/result_ms"), 60000);
	assert_true(json_is_null(json_at(queue("PATCH", "{\"result_ms\":null}"), "/settings/result_ms")));
	assert_status(queue("PATCH", "{\"result_ms\":60000}"), 200);
	assert_true(json_is_null(json_at(queue("PUT", "{}"), "/settings/result_ms")));
	assert_problem(queue("PATCH", "{\"result_ms\":999}"), 400, "out_of_range", "none");
	deliver("a");
	assert_completed(complete("1"), "acknowledged", false);
}

/* A queue stores results whatever other rules it has, and in whichever order these are set. */
TEST(results_go_with_other_rules)
{
	for (int first = 0; first < 2; first++) {
		assert_status(queue("PATCH", first ? KEEP : "{\"max_messages\":100}"), 200);
		assert_status(queue("PATCH", first ? "{\"max_messages\":100}" : KEEP), 200);
		deliver("a");
		assert_completed(complete("1"), "acknowledged", true);
		assert_int_equal(int_at(message("GET", "a", NULL), "/result"), 1);
		assert_status(queue("PATCH", "{\"max_messages\":null}"), 200);
		assert_int_equal(int_at(queue("GET", NULL), "/settings/result_ms"), 60000);
		deliver("b");
		assert_status(acknowledge(receipt), 204);
		assert_string_equal(text_at(message("GET", "b", NULL), "/state"), "done");
		forget_all(NULL);
	}
}

/*
 * Redis expires the result, and receives remove the rest. The id is free once dedupe_ms has also
 * passed.
 */
TEST(a_result_expires)
{
	configure("{\"result_ms\":1000,\"dedupe_ms\":0}");
	deliver("a");
	assert_completed(complete("1"), "acknowledged", true);
	wait_until(message("GET", "a", NULL).status == 404, SOON_MS);
	struct answer a = send_body("{\"id\":\"a\",\"body\":{\"new\":1}}");
	assert_status(a, 201);
	a = message("GET", "a", NULL);
	assert_string_equal(text_at(a, "/state"), "ready");
	assert_int_equal(int_at(a, "/body/new"), 1);
	receipt[16] = '\0'; /* the sequence */
	wait_until(server_command(&redis, "EXISTS p:queue:{q}:result:%s", receipt)->integer == 0, SOON_MS);
}

TEST(what_is_done_is_purged_and_deleted)
{
	keep_results();
	deliver("a");
	assert_completed(complete("1"), "acknowledged", true);
	assert_status(post("/purge", "{\"state\":\"ready\"}", NULL), 200);
	assert_string_equal(text_at(message("GET", "a", NULL), "/state"), "done");
	assert_status(post("/purge", NULL, NULL), 200);
	assert_gone("a");
	deliver("b");
	assert_completed(complete("1"), "acknowledged", true);
	assert_status(queue("DELETE", NULL), 204);
	assert_gone("b");
}

TEST(without_memory_it_is_acknowledged_without)
{
	keep_results();
	deliver("a");
	server_command(&redis, "CONFIG SET maxmemory 1");
	struct answer a = complete("{\"large\":true}");
	server_command(&redis, "CONFIG SET maxmemory 0");
	assert_completed(a, "acknowledged", false);
	a = message("GET", "a", NULL);
	assert_string_equal(text_at(a, "/state"), "done");
	assert_null(json_at(a, "/result"));
	assert_completed(complete("1"), "acknowledged", false);
}

/*
 * A worker's turn completes one delivery and receives the next message. Without memory it stores no
 * result and receives nothing.
 */
TEST(a_turn_completes_too)
{
	char body[160];

	keep_results();
	for (int is_full = 0; is_full < 2; is_full++) {
		const char *id = is_full ? "b" : "a";
		deliver(id);
		send_body("{\"id\":\"next\",\"body\":1}");
		snprintf(body, sizeof(body), "{\"settle\":{\"complete\":[{\"receipt\":\"%s\",\"result\":[1.0]}]}}",
			 receipt);
		server_command(&redis, "CONFIG SET maxmemory %s", is_full ? "1" : "0");
		struct answer a = receive(body);
		server_command(&redis, "CONFIG SET maxmemory 0");
		assert_completed(a, "acknowledged", !is_full);
		assert_int_equal(count_in(a), !is_full);
		a = message("GET", id, NULL);
		assert_string_equal(text_at(a, "/state"), "done");
		assert_int_equal(strstr(a.body, "\"result\":[1.0]") == NULL, is_full);
	}
}

/* ---- Progress ---- */

static void assert_progress(int percent, const char *note)
{
	struct answer a = message("GET", "a", NULL);

	assert_int_equal(int_at(a, "/progress/percent"), percent);
	if (note)
		assert_string_equal(text_at(a, "/progress/note"), note);
	else
		assert_true(json_is_null(json_at(a, "/progress/note")));
	assert_int_equal(int_at(list("?state=in_flight"), "/items/0/progress/percent"), percent);
}

TEST(progress_is_shown_until_the_delivery_ends)
{
	keep_results();
	deliver("a");
	assert_true(json_is_null(json_at(message("GET", "a", NULL), "/progress")));
	assert_status(extend(receipt, "{\"progress\":{\"percent\":0}}"), 200);
	assert_progress(0, NULL);
	assert_status(extend(receipt, "{\"progress\":{\"percent\":40,\"note\":\"page 4\\tof 10 \\u00e4%\"}}"), 200);
	assert_progress(40, "page 4\tof 10 \u00e4%");
	assert_status(extend(receipt, "{\"visibility_ms\":60000}"), 200);
	assert_progress(40, "page 4\tof 10 \u00e4%");
	assert_string_equal(text_at(message("GET", "a", NULL), "/worker"), "host 1");
	assert_status(reject(receipt, NULL), 200);
	assert_true(json_is_null(json_at(message("GET", "a", NULL), "/progress")));
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(receive(NULL)));
	assert_true(json_is_null(json_at(message("GET", "a", NULL), "/progress")));
	assert_status(extend(receipt, "{\"progress\":{\"percent\":100}}"), 200);
	assert_completed(complete("1"), "acknowledged", true);
	assert_int_equal(int_at(message("GET", "a", NULL), "/progress/percent"), 100);
}

TEST(progress_has_its_bounds)
{
	static const char *const wrong[] = { "{\"percent\":101}",
					     "{\"percent\":-1}",
					     "{\"percent\":1.5}",
					     "{}",
					     "{\"percent\":1,\"note\":\"\"}",
					     "{\"percent\":1,\"more\":1}",
					     "7" };
	char body[512], note[202];

	deliver("a");
	for (size_t i = 0; i < COUNT(wrong); i++) {
		snprintf(body, sizeof(body), "{\"progress\":%s}", wrong[i]);
		assert_status(extend(receipt, body), 400);
	}
	memset(note, '%', 201);
	note[201] = '\0';
	snprintf(body, sizeof(body), "{\"progress\":{\"percent\":1,\"note\":\"%s\"}}", note);
	assert_status(extend(receipt, body), 400);
	snprintf(body, sizeof(body), "{\"progress\":{\"percent\":1,\"note\":\"%s\"}}", note + 1);
	assert_status(extend(receipt, body), 200);
	assert_progress(1, note + 1);
}
