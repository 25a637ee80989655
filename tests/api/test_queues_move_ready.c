/*
 * Over HTTP: a redrive with `state` ready, which moves messages of a queue for dead letters, `d`,
 * back into the queues in which they died, or into another one.
 */
#include "queue_stage.h"

static struct answer ask(const char *method, const char *queue, const char *tail, const char *body)
{
	char target[256];

	snprintf(target, sizeof(target), "/queues/%s%s", queue, tail);
	return http(client, method, target, body);
}

static int64_t ready_in(const char *queue)
{
	struct answer a = ask("GET", queue, "", NULL);

	return a.status == 200 ? int_at(a, "/ready") : 0;
}

/* In another slot a letter is in both queues for a moment. */
static bool has_moved(const char *queue, int64_t ready)
{
	return ready_in("d") == ready && server_command(&redis, "ZCARD p:queue:{%s}:dead", queue)->integer == 0;
}

/* A message dies in the queue, and moves into `d` by itself. */
static void die(const char *queue, const char *id)
{
	int64_t before = ready_in("d");
	char text[256];

	assert_in_range(ask("PATCH", "d", "", "{}").status, 200, 201);
	assert_in_range(ask("PUT", queue, "", "{\"dead_letter_queue\":\"d\"}").status, 200, 201);
	snprintf(text, sizeof(text), "{\"body\":1,\"id\":\"%s\",\"headers\":{\"tenant\":\"acme\"}}", id);
	assert_status(ask("POST", queue, "/messages", text), 201);
	struct answer a = ask("POST", queue, "/receive", NULL);
	snprintf(text, sizeof(text), "%s", receipt_in(a));
	assert_status(delivery(queue, text, "/reject", "{\"dead\":true}"), 200);
	wait_until(has_moved(queue, before + 1), SOON_MS);
}

static void assert_redriven(const char *body, int64_t redriven, int64_t duplicates)
{
	struct answer a = ask("POST", "d", "/redrive", body);

	assert_status(a, 200);
	assert_int_equal(int_at(a, "/redriven"), redriven);
	assert_int_equal(int_at(a, "/duplicates"), duplicates);
}

#define BACK "{\"state\":\"ready\",\"to_source\":true}"

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(each_message_returns_to_its_source)
{
	die("q", "a");
	die("other", "b");
	die("q", "c");
	assert_status(ask("POST", "d", "/messages", "{\"body\":2,\"id\":\"own\"}"), 201);
	assert_redriven(BACK, 3, 0);
	struct answer a = receive("{\"limit\":9}");
	assert_ids(a, IDS("a", "c"));
	assert_null(json_at(a, "/messages/0/dead_from"));
	assert_string_equal(text_at(a, "/messages/0/headers/tenant"), "acme");
	assert_int_equal(int_at(a, "/messages/0/body"), 1);
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	assert_int_equal(ready_in("other"), 1);
	a = ask("GET", "d", "/messages/own", NULL); /* as if it had not been received */
	assert_string_equal(text_at(a, "/state"), "ready");
	assert_int_equal(int_at(a, "/receives"), 0);
	assert_status(ask("GET", "d", "/messages/a", NULL), 404);
	assert_redriven(BACK, 0, 0);
}

/* There and back, any number of times. */
TEST(a_message_may_die_again)
{
	for (int i = 0; i < 3; i++) {
		if (i == 0) {
			die("q", "a");
		} else {
			assert_status(reject(receipt_in(receive(NULL)), "{\"dead\":true}"), 200);
			wait_until(has_moved("q", 1), SOON_MS);
		}
		assert_string_equal(text_at(ask("GET", "d", "/messages/a", NULL), "/dead_from"), "q");
		assert_redriven(BACK, 1, 0);
		assert_int_equal(ready_in("q"), 1);
	}
}

TEST(messages_move_elsewhere)
{
	die("q", "a");
	die("q", "b");
	assert_status(ask("POST", "d", "/messages", "{\"body\":2,\"id\":\"own\"}"), 201);
	assert_redriven("{\"state\":\"ready\",\"to\":\"e\",\"limit\":1}", 1, 0);
	assert_redriven("{\"state\":\"ready\",\"to\":\"e\",\"interval_ms\":3600000}", 2, 0);
	struct answer a = ask("GET", "e", "/messages/a", NULL);
	assert_string_equal(text_at(a, "/dead_from"), "q"); /* it did not die in d */
	assert_string_equal(text_at(a, "/headers/tenant"), "acme");
	a = ask("GET", "e", "/messages/own", NULL);
	assert_null(json_at(a, "/dead_from"));
	assert_int_equal(int_at(a, "/body"), 2);
	assert_string_equal(text_at(a, "/state"), "delayed");
	assert_int_equal(ready_in("d"), 0);
	assert_status(ask("POST", "e", "/redrive", "{\"state\":\"delayed\"}"), 200);
	a = ask("POST", "e", "/redrive", BACK); /* from there, each still finds its source */
	assert_int_equal(int_at(a, "/redriven"), 2);
	assert_int_equal(ready_in("q"), 2);
	assert_int_equal(ready_in("e"), 1);
}

TEST(a_message_whose_id_is_taken_stays)
{
	die("q", "a");
	die("q", "b");
	assert_status(ask("POST", "q", "/messages", "{\"body\":2,\"id\":\"a\"}"), 201);
	assert_redriven(BACK, 1, 1);
	assert_int_equal(ready_in("q"), 2);
	assert_string_equal(text_at(ask("GET", "d", "/messages/a", NULL), "/state"), "ready");
}

TEST(a_message_of_a_worker_stays)
{
	die("q", "a");
	struct answer a = ask("POST", "d", "/receive", NULL);
	char receipt[128];
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(a));
	assert_redriven(BACK, 0, 0);
	assert_status(delivery("d", receipt, "", NULL), 204);
	assert_int_equal(ready_in("q"), 0);
}

/* More than a page, of groups that keep their order. */
TEST(groups_keep_their_order)
{
	char *body = malloc(BATCH * 64);

	assert_non_null(body);
	assert_status(ask("PUT", "d", "", "{\"order\":\"strict\"}"), 201);
	for (int i = 0; i < 3; i++) {
		char *at = body + sprintf(body, "{\"messages\":[");
		for (int k = 0; k < BATCH; k++)
			at += sprintf(at, "%s{\"body\":%d,\"group\":\"g%d\"}", k ? "," : "", i * BATCH + k, k % 10);
		strcpy(at, "]}");
		assert_status(ask("POST", "d", "/messages", body), 201);
	}
	free(body);
	assert_status(ask("PUT", "e", "", "{\"order\":\"strict\"}"), 201);
	assert_redriven("{\"state\":\"ready\",\"to\":\"e\"}", 300, 0);
	for (int last = -1, i = 0; i < 30; i++) {
		struct answer a = ask("POST", "e", "/receive", "{\"limit\":100,\"acknowledge\":true}");
		for (size_t k = 0; k < count_in(a); k++) {
			char pointer[64];
			snprintf(pointer, sizeof(pointer), "/messages/%zu/group", k);
			if (strcmp(text_at(a, pointer), "g3") != 0)
				continue;
			snprintf(pointer, sizeof(pointer), "/messages/%zu/body", k);
			assert_true(int_at(a, pointer) > last);
			last = (int)int_at(a, pointer);
		}
	}
}

TEST(what_contradicts_is_refused)
{
	static const struct {
		const char *body, *code, *pointer;
	} rows[] = {
		{ "{\"state\":\"ready\"}", "missing_field", "/to" },
		{ "{\"state\":\"ready\",\"to\":\"d\"}", "invalid_value", "/to" },
		{ "{\"state\":\"ready\",\"to\":\"e\",\"to_source\":true}", "invalid_value", "/to_source" },
		{ "{\"to_source\":true}", "invalid_value", "/to_source" },
		{ "{\"state\":\"delayed\",\"to\":\"e\"}", "invalid_value", "/to" },
		{ "{\"state\":\"delayed\",\"interval_ms\":1}", "invalid_value", "/interval_ms" },
		{ "{\"state\":\"ready\",\"to\":\"e\",\"group\":\"g\"}", "invalid_value", NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = ask("POST", "d", "/redrive", rows[i].body);
		assert_problem(a, 400, rows[i].code, "none");
		if (rows[i].pointer)
			assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
	}
	struct answer a = http(client, "POST", "/queues/d/redrive", BACK, KEY "k");
	assert_problem(a, 400, "idempotency_unavailable", "none");
}
