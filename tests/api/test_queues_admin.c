/*
 * Queues over HTTP, for operators: settings and counts, many messages purged and redriven, queues
 * deleted and listed. (One message at rest, and lists of them: test_queues_messages.c.)
 */
#include "queue_asked.h"

enum { DEFAULT_DEDUPE_MS = 300000, RECEIVES = 25, BASE_MS = 1000, MAX_MS = 600000 }; /* the defaults */

#define DEFAULT_RETENTION_MS 1209600000

/* ---- Settings and counts ---- */

static void assert_settings(struct answer a, const int64_t wanted[7])
{
	assert_int_equal(int_at(a, "/settings/visibility_ms"), wanted[0]);
	assert_int_equal(int_at(a, "/settings/max_receives"), wanted[1]);
	assert_int_equal(int_at(a, "/settings/backoff/base_ms"), wanted[2]);
	assert_int_equal(int_at(a, "/settings/backoff/max_ms"), wanted[3]);
	assert_int_equal(int_at(a, "/settings/dedupe_ms"), wanted[4]);
	assert_int_equal(int_at(a, "/settings/dead_retention_ms"), wanted[5]);
	assert_int_equal(bool_at(a, "/settings/paused"), wanted[6]);
}

static void settings_are_replaced_as_a_whole(void **state)
{
	static const struct {
		const char *body;
		int64_t wanted[7];
	} rows[] = {
		{ "{\"visibility_ms\":1,\"max_receives\":1,\"backoff\":{\"base_ms\":2,\"max_ms\":2},\"dedupe_ms\":0,"
		  "\"dead_retention_ms\":1,\"paused\":true}",
		  { 1, 1, 2, 2, 0, 1, 1 } },
		{ "{\"max_receives\":1000}",
		  { VISIBILITY_MS, 1000, BASE_MS, MAX_MS, DEFAULT_DEDUPE_MS, DEFAULT_RETENTION_MS, 0 } },
		{ "{\"visibility_ms\":43200000,\"backoff\":{\"base_ms\":1,\"max_ms\":86400000},\"dedupe_ms\":31622400000,"
		  "\"dead_retention_ms\":3155760000000}",
		  { 43200000, RECEIVES, 1, 86400000, 31622400000, 3155760000000, 0 } },
		{ "{}", { VISIBILITY_MS, RECEIVES, BASE_MS, MAX_MS, DEFAULT_DEDUPE_MS, DEFAULT_RETENTION_MS, 0 } },
	};
	static const struct {
		const char *body, *code, *pointer;
	} refused[] = {
		{ "{\"visibility_ms\":0}", "out_of_range", "/visibility_ms" },
		{ "{\"max_receives\":1001}", "out_of_range", "/max_receives" },
		{ "{\"backoff\":{\"base_ms\":5}}", "missing_field", "/backoff/max_ms" },
		{ "{\"backoff\":{\"base_ms\":5,\"max_ms\":4}}", "invalid_value", "/backoff" },
		{ "{\"dedupe_ms\":-1}", "out_of_range", "/dedupe_ms" },
		{ "{\"dead_retention_ms\":0}", "out_of_range", "/dead_retention_ms" },
		{ "{\"paused\":1}", "wrong_type", "/paused" },
	};

	(void)state;
	assert_settings(queue("GET", NULL), rows[3].wanted); /* of a queue that was never used */
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct answer a = queue("PUT", rows[i].body);
		assert_status(a, i == 0 ? 201 : 200);
		assert_string_equal(text_at(a, "/name"), "q");
		assert_settings(a, rows[i].wanted);
		assert_settings(queue("GET", NULL), rows[i].wanted);
		if (i > 0)
			continue;
		for (size_t r = 0; r < ROWS(refused); r++) {
			a = queue("PUT", refused[r].body);
			assert_problem(a, 400, refused[r].code, "none");
			assert_string_equal(text_at(a, "/errors/0/pointer"), refused[r].pointer);
		}
		assert_settings(queue("GET", NULL), rows[i].wanted);
	}
}

/* RFC 7396: given members change, null resets, the rest stays. */
static void settings_are_merged(void **state)
{
	static const struct {
		const char *body;
		int64_t wanted[7];
	} rows[] = {
		{ "{}", { VISIBILITY_MS, RECEIVES, BASE_MS, MAX_MS, DEFAULT_DEDUPE_MS, DEFAULT_RETENTION_MS, 0 } },
		{ "{\"paused\":true}",
		  { VISIBILITY_MS, RECEIVES, BASE_MS, MAX_MS, DEFAULT_DEDUPE_MS, DEFAULT_RETENTION_MS, 1 } },
		{ "{\"visibility_ms\":7,\"max_receives\":8,\"backoff\":{\"base_ms\":2,\"max_ms\":3},\"dedupe_ms\":0}",
		  { 7, 8, 2, 3, 0, DEFAULT_RETENTION_MS, 1 } },
		{ "{\"dead_retention_ms\":9,\"visibility_ms\":null}", { VISIBILITY_MS, 8, 2, 3, 0, 9, 1 } },
		{ "{\"paused\":false}", { VISIBILITY_MS, 8, 2, 3, 0, 9, 0 } },
		{ "{" AT_ONCE "}", { VISIBILITY_MS, 8, 0, 0, 0, 9, 0 } },
		{ "{\"backoff\":null,\"max_receives\":null,\"dedupe_ms\":null,\"dead_retention_ms\":null,\"paused\":true}",
		  { VISIBILITY_MS, RECEIVES, BASE_MS, MAX_MS, DEFAULT_DEDUPE_MS, DEFAULT_RETENTION_MS, 1 } },
		{ "{\"paused\":null}",
		  { VISIBILITY_MS, RECEIVES, BASE_MS, MAX_MS, DEFAULT_DEDUPE_MS, DEFAULT_RETENTION_MS, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct answer a = queue("PATCH", rows[i].body);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/name"), "q");
		assert_settings(a, rows[i].wanted);
		assert_settings(queue("GET", NULL), rows[i].wanted);
	}
	assert_problem(queue("PATCH", NULL), 400, "missing_field", "none");
	assert_problem(queue("PATCH", "{\"backoff\":{\"base_ms\":5,\"max_ms\":4}}"), 400, "invalid_value", "none");
	assert_problem(queue("PATCH", "{\"backoff\":{\"max_ms\":1}}"), 400, "invalid_value", "none");
	assert_settings(queue("GET", NULL), rows[0].wanted);
	/* An object is merged as well. */
	struct answer a = queue("PATCH", "{\"backoff\":{\"base_ms\":1}}");
	assert_int_equal(int_at(a, "/settings/backoff/base_ms"), 1);
	assert_int_equal(int_at(a, "/settings/backoff/max_ms"), rows[0].wanted[3]);
	a = queue("PATCH", "{\"backoff\":{\"max_ms\":null}}");
	assert_int_equal(int_at(a, "/settings/backoff/base_ms"), 1);
	assert_int_equal(int_at(a, "/settings/backoff/max_ms"), MAX_MS);
}

/* Whatever created a queue, PUT replaces it afterwards: it exists even without settings. */
static void a_put_returns_whether_it_created(void **state)
{
	(void)state;
	assert_problem(queue("PUT", NULL), 400, "missing_field", "none");
	assert_int_equal(server_keys(&redis), 0);
	assert_status(queue("PUT", "{}"), 201);
	assert_status(queue("PUT", "{}"), 200);
	assert_status(queue("DELETE", NULL), 204);
	assert_status(queue("PATCH", "{}"), 200);
	assert_int_equal(json_array_size(json_at(http(client, "GET", "/queues", NULL), "/items")), 1);
	assert_status(queue("PUT", "{}"), 200);
	assert_status(queue("DELETE", NULL), 204);
	send_body("{\"body\":1}");
	assert_status(queue("PUT", "{\"max_receives\":9}"), 200);
	assert_int_equal(count_of("/ready"), 1);
}

static void counts_have_every_state(void **state)
{
	(void)state;
	assert_counts(0, 0, 0, 0);
	const json_t *none = json_at(queue("GET", NULL), "/oldest_ready_ms");
	assert_true(json_is_null(none));
	assert_int_equal(server_keys(&redis), 0); /* a look creates no queue */
	send_each_state();
	assert_counts(2, 1, 1, 1);
	int64_t due_ms = int_at(message("GET", "ready", NULL), "/deliver_at_ms"), before_ms = redis_now_ms();
	struct answer a = queue("GET", NULL);
	assert_in_range(int_at(a, "/oldest_ready_ms"), before_ms - due_ms, redis_now_ms() - due_ms);
	assert_int_equal(int_at(a, "/expired"), 0);
	assert_string_equal(text_at(a, "/name"), "q");
	/* Ended deliveries that no call has settled count as what they are. */
	configure("{\"max_receives\":1," AT_ONCE "}");
	send_body("{\"body\":1,\"id\":\"back\",\"max_receives\":2,\"priority\":0}");
	assert_int_equal(count_in(receive("{\"limit\":3,\"visibility_ms\":100}")), 3);
	wait_until(count_of("/in_flight") == 1, SOON_MS);
	assert_counts(1, 1, 1, 3);
}

/* ---- Many at once ---- */

static void purge_removes_one_state_or_all(void **state)
{
	static const struct {
		const char *body;
		int64_t purged, left[4];
	} rows[] = {
		{ "{\"state\":\"ready\"}", 2, { 0, 1, 1, 1 } },
		{ "{\"state\":\"delayed\"}", 1, { 2, 0, 1, 1 } },
		{ "{\"state\":\"in_flight\"}", 1, { 2, 1, 0, 1 } },
		{ "{\"state\":\"dead\"}", 1, { 2, 1, 1, 0 } },
		{ "{}", 5, { 0, 0, 0, 0 } },
		{ NULL, 5, { 0, 0, 0, 0 } },
	};

	(void)state;
	assert_int_equal(int_at(post("/purge", NULL, NULL), "/purged"), 0); /* never used */
	for (size_t i = 0; i < ROWS(rows); i++) {
		configure("{\"max_receives\":7}");
		send_each_state();
		struct answer a = post("/purge", rows[i].body, NULL);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/name"), "q");
		assert_int_equal(int_at(a, "/purged"), rows[i].purged);
		assert_counts(rows[i].left[0], rows[i].left[1], rows[i].left[2], rows[i].left[3]);
		assert_int_equal(count_of("/settings/max_receives"), 7);
		assert_int_equal(int_at(post("/purge", rows[i].body, NULL), "/purged"), 0);
		/* Their ids are free. */
		static const char *const ids[] = { "ready", "delayed", "in_flight", "dead" };
		for (size_t n = 0; n < ROWS(ids); n++)
			assert_status(message("GET", ids[n], NULL), rows[i].left[n] ? 200 : 404);
		queue("DELETE", NULL);
	}
	assert_problem(post("/purge", "{\"state\":\"all\"}", NULL), 400, "invalid_value", "none");
	send_body("{\"body\":1,\"id\":\"a\"}");
	const char *receipt = receipt_in(receive(NULL));
	assert_int_equal(int_at(post("/purge", NULL, NULL), "/purged"), 1);
	assert_int_equal(server_keys(&redis), 1); /* only the queue itself remains */
	assert_problem(extend(receipt, NULL), 410, "receipt_expired", "none");
	assert_false(bool_at(send_body("{\"body\":1,\"id\":\"a\"}"), "/messages/0/duplicate"));
}

static void purge_and_redrive_go_on_until_they_have_finished(void **state)
{
	(void)state;
	configure("{\"max_receives\":1}");
	send_many(3000, "");
	struct answer none = post("/redrive", NULL, NULL);
	assert_string_equal(text_at(none, "/name"), "q");
	assert_int_equal(int_at(none, "/redriven"), 0);
	for (int i = 0; i < 30; i++)
		assert_int_equal(count_in(receive("{\"limit\":100,\"visibility_ms\":300}")), 100);
	wait_until(count_of("/in_flight") == 0, SOON_MS);
	assert_int_equal(int_at(post("/redrive", "{\"limit\":2500}", NULL), "/redriven"), 2500);
	assert_counts(2500, 0, 0, 500);
	assert_int_equal(int_at(post("/redrive", NULL, NULL), "/redriven"), 500);
	assert_counts(3000, 0, 0, 0);
	struct answer a = receive(NULL); /* again, the longest dead first */
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	assert_int_equal(int_at(post("/purge", "{\"state\":\"ready\"}", NULL), "/purged"), 2999);
	assert_counts(0, 0, 1, 0);
}

static void redrive_takes_the_longest_dead_first(void **state)
{
	static const char *const refused[] = { "{\"limit\":0}", "{\"limit\":100001}" };

	(void)state;
	send_body(
		"{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":2,\"id\":\"b\"},{\"body\":3,\"id\":\"c\",\"priority\":0}]}");
	struct answer a = receive("{\"limit\":3}");
	assert_ids(a, IDS("c", "a", "b"));
	for (int i = 2; i >= 0; i--) {
		char pointer[64];
		snprintf(pointer, sizeof(pointer), "/messages/%d/receipt", i);
		struct answer rejected = reject(text_at(a, pointer), "{\"dead\":true}");
		assert_status(rejected, 200);
		next_ms();
	}
	assert_ids_of(list("?state=dead"), "items", IDS("b", "a", "c"));
	for (size_t i = 0; i < ROWS(refused); i++)
		assert_problem(post("/redrive", refused[i], NULL), 400, "out_of_range", "none");
	assert_int_equal(int_at(post("/redrive", "{\"limit\":1}", NULL), "/redriven"), 1);
	a = message("GET", "b", NULL);
	assert_string_equal(text_at(a, "/state"), "ready");
	assert_int_equal(int_at(a, "/receives"), 0);
	assert_true(json_is_null(json_at(a, "/reason")));
	next_ms();
	assert_int_equal(int_at(post("/redrive", "{\"limit\":10}", NULL), "/redriven"), 2);
	assert_ids(receive("{\"limit\":10}"), IDS("c", "b", "a"));
}

static void chosen_letters_are_redriven(void **state)
{
	static const char *const refused[][2] = {
		{ "{\"ids\":[]}", "out_of_range" },
		{ "{\"ids\":[\"a\",\"a\"]}", "invalid_value" },
		{ "{\"ids\":[\"a\"],\"limit\":1}", "invalid_value" },
		{ "{\"ids\":\"a\"}", "wrong_type" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(refused); i++)
		assert_problem(post("/redrive", refused[i][0], NULL), 400, refused[i][1], "none");
	send_body("{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":2,\"id\":\"b\"},{\"body\":3,\"id\":\"c\"}]}");
	struct answer a = receive("{\"limit\":3}");
	for (int i = 0; i < 3; i++) {
		char pointer[64];
		snprintf(pointer, sizeof(pointer), "/messages/%d/receipt", i);
		assert_status(reject(text_at(a, pointer), "{\"dead\":true}"), 200);
	}
	const char *chosen = "{\"ids\":[\"a\",\"c\",\"none\"]}";
	assert_int_equal(int_at(post("/redrive", chosen, KEY "chosen"), "/redriven"), 2);
	assert_counts(2, 0, 0, 1);
	assert_int_equal(int_at(post("/redrive", chosen, KEY "chosen"), "/redriven"), 2); /* a replay */
	assert_int_equal(int_at(post("/redrive", chosen, NULL), "/redriven"), 0);
	assert_ids(receive("{\"limit\":10}"), IDS("a", "c"));
}

/* ---- Whole queues ---- */

static void a_deleted_queue_leaves_nothing(void **state)
{
	(void)state;
	assert_problem(queue("DELETE", NULL), 404, "not_found", "none");
	configure("{\"paused\":true}");
	assert_status(queue("DELETE", NULL), 204);
	send_each_state();
	const char *receipt = receipt_in(receive(NULL));
	assert_status(queue("DELETE", NULL), 204);
	assert_int_equal(server_keys(&redis), 0);
	assert_problem(queue("DELETE", NULL), 404, "not_found", "none");
	assert_problem(extend(receipt, NULL), 410, "receipt_expired", "none");
	assert_counts(0, 0, 0, 0);
	send_body("{\"body\":1}"); /* used again: the old receipt is not valid for it */
	receive(NULL);
	assert_problem(acknowledge(receipt), 410, "receipt_expired", "none");
	assert_counts(0, 0, 1, 0);
}

static void queues_are_listed_with_their_counts(void **state)
{
	char target[160], cursor[128] = "";
	int found[40] = { 0 }, pages = 0;

	(void)state;
	assert_int_equal(json_array_size(json_at(http(client, "GET", "/queues", NULL), "/items")), 0);
	send_each_state();
	configure("{\"paused\":true}");
	struct answer a = http(client, "GET", "/queues", NULL);
	const json_t *item = json_at(a, "/items/0");
	int64_t oldest_ms = int_at(a, "/items/0/oldest_ready_ms");
	assert_in_range(oldest_ms, 0, int_at(queue("GET", NULL), "/oldest_ready_ms"));
	json_t *wanted =
		json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:I, s:b}", "name", "q", "ready", 2, "delayed", 1,
			  "in_flight", 1, "dead", 1, "sent", 5, "oldest_ready_ms", (json_int_t)oldest_ms, "paused", 1);
	assert_true(json_equal(item, wanted));
	json_decref(wanted);
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);

	for (int i = 0; i < 40; i++) {
		snprintf(target, sizeof(target), "/queues/many:%d", i);
		assert_status(http(client, "PUT", target, "{}"), 201);
		server_command(&redis, "MSET foreign:%d 1 p:queues:{many:%d} 1 p:lock:{many:%d} 1", i, i, i);
	}
	do {
		snprintf(target, sizeof(target), "/queues?match=many:*&limit=7%s%s", *cursor ? "&cursor=" : "", cursor);
		a = http(client, "GET", target, NULL);
		assert_status(a, 200);
		for (size_t i = 0; i < json_array_size(json_at(a, "/items")); i++) {
			item = json_array_get(json_at(a, "/items"), i);
			assert_true(json_is_null(json_object_get(item, "oldest_ready_ms")));
			found[atoi(json_string_value(json_object_get(item, "name")) + strlen("many:"))] = 1;
		}
		snprintf(cursor, sizeof(cursor), "%s",
			 json_is_null(json_at(a, "/next_cursor")) ? "" : text_at(a, "/next_cursor"));
		assert_true(++pages < 200);
	} while (*cursor);
	for (int i = 0; i < 40; i++)
		assert_true(found[i]);
}

static const char *const operations[][3] = {
	{ "GET", "", NULL },
	{ "PUT", "", "{}" },
	{ "PATCH", "", "{}" },
	{ "DELETE", "", NULL },
	{ "POST", "/purge", NULL },
	{ "POST", "/redrive", NULL },
	{ "POST", "/messages", "{\"body\":1}" },
	{ "POST", "/receive", NULL },
	{ "GET", "/messages", NULL },
	{ "GET", "/messages/a", NULL },
	{ "PATCH", "/messages/a", "{\"priority\":1}" },
	{ "DELETE", "/messages/a", NULL },
};

static void receive_is_no_name_of_a_queue(void **state)
{
	char target[64];

	(void)state;
	for (size_t i = 0; i < ROWS(operations); i++) {
		bool is_path = *operations[i][1] == '\0'; /* of POST /queues/receive */
		snprintf(target, sizeof(target), "/queues/receive%s", operations[i][1]);
		assert_problem(http(client, operations[i][0], target, operations[i][2]), is_path ? 405 : 400,
			       is_path ? "method_not_allowed" : "reserved_name", "none");
	}
	assert_int_equal(server_keys(&redis), 0);
}

static void a_foreign_key_is_reported_and_kept(void **state)
{
	char target[64];

	(void)state;
	server_command(&redis, "SADD p:queue:{q} mine");
	for (size_t i = 0; i < ROWS(operations); i++) {
		snprintf(target, sizeof(target), "/queues/q%s", operations[i][1]);
		assert_problem(http(client, operations[i][0], target, operations[i][2]), 500, "foreign_key", "none");
	}
	assert_int_equal(server_command(&redis, "SCARD p:queue:{q}")->integer, 1);
	assert_int_equal(server_keys(&redis), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(settings_are_replaced_as_a_whole, forget_all),
		cmocka_unit_test_teardown(settings_are_merged, forget_all),
		cmocka_unit_test_teardown(a_put_returns_whether_it_created, forget_all),
		cmocka_unit_test_teardown(counts_have_every_state, forget_all),
		cmocka_unit_test_teardown(purge_removes_one_state_or_all, forget_all),
		cmocka_unit_test_teardown(purge_and_redrive_go_on_until_they_have_finished, forget_all),
		cmocka_unit_test_teardown(redrive_takes_the_longest_dead_first, forget_all),
		cmocka_unit_test_teardown(chosen_letters_are_redriven, forget_all),
		cmocka_unit_test_teardown(a_deleted_queue_leaves_nothing, forget_all),
		cmocka_unit_test_teardown(queues_are_listed_with_their_counts, forget_all),
		cmocka_unit_test_teardown(receive_is_no_name_of_a_queue, forget_all),
		cmocka_unit_test_teardown(a_foreign_key_is_reported_and_kept, forget_all),
	};

	return cmocka_run_group_tests_name("queue admin", tests, start, stop);
}
