/*
 * Queues over HTTP, for operators: settings, counts, purge, redrive, delete and list. (Single
 * messages and lists of messages: test_queues_messages.c.)
 */
#include "queue_stage.h"

enum { DEFAULT_DEDUPE_MS = 300000, RECEIVES = 25, BASE_MS = 1000, MAX_MS = 600000 }; /* the defaults */

#define DEFAULT_RETENTION_MS 1209600000

/* ---- Pause and resume ---- */

/* Without a pause, `for_ms` is 0; without an end it is -1. */
static void assert_paused(struct answer a, const char *paused, const char *paused_until, int64_t for_ms)
{
	assert_status(a, 200);
	assert_int_equal(bool_at(a, paused), for_ms != 0);
	if (for_ms <= 0) {
		assert_true(json_is_null(json_at(a, paused_until)));
		return;
	}
	int64_t left_ms = int_at(a, paused_until) - server_now_ms(&redis);
	assert_in_range(left_ms, for_ms - SOON_MS, for_ms);
}

/* The answer to a pause or resume, and what the queue and the list show then. */
static void assert_pause(struct answer a, int64_t for_ms)
{
	assert_paused(a, "/paused", "/paused_until_ms", for_ms);
	assert_paused(http(client, "GET", "/queues/q", NULL), "/settings/paused", "/paused_until_ms", for_ms);
	assert_paused(http(client, "GET", "/queues", NULL), "/items/0/paused", "/items/0/paused_until_ms", for_ms);
}

static struct answer change_pause(const char *what, const char *body)
{
	char target[40];

	snprintf(target, sizeof(target), "/queues/q/%s", what);
	return http(client, "POST", target, body);
}

/* A pause is as long as the longest that was asked for, and ends at its time or by a resume. */
TEST(a_queue_is_paused_for_a_time)
{
	enum { HOUR_MS = 3600000 };

	assert_problem(change_pause("pause", "{\"for_ms\":1000}"), 404, "not_found", "none");
	assert_problem(change_pause("resume", NULL), 404, "not_found", "none");
	assert_status(send_body("{\"body\":1}"), 201);
	assert_problem(change_pause("pause", "{\"for_ms\":0}"), 400, "out_of_range", "none");
	assert_pause(change_pause("resume", NULL), 0);
	assert_pause(change_pause("pause", "{\"for_ms\":3600000}"), HOUR_MS);
	assert_pause(change_pause("pause", "{\"for_ms\":1}"), HOUR_MS);
	assert_true(bool_at(queue("PATCH", "{\"max_receives\":3}"), "/settings/paused"));
	assert_int_equal(count_in(receive("{}")), 0);
	assert_pause(change_pause("pause", NULL), -1);
	assert_pause(change_pause("pause", "{\"for_ms\":1}"), -1);
	assert_false(bool_at(queue("PATCH", "{\"paused\":false}"), "/settings/paused"));
	assert_int_equal(count_in(receive("{}")), 1);
	assert_status(send_body("{\"body\":2}"), 201);
	assert_pause(change_pause("pause", "{\"for_ms\":3600000}"), HOUR_MS);
	assert_pause(change_pause("resume", NULL), 0);
	assert_int_equal(count_in(receive("{}")), 1);
}

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

#define DEFAULTS VISIBILITY_MS, RECEIVES, BASE_MS, MAX_MS, DEFAULT_DEDUPE_MS, DEFAULT_RETENTION_MS

/*
 * PUT replaces all settings. PATCH (RFC 7396) changes the given members, resets members that are
 * null, and keeps the rest.
 */
static const struct {
	const char *method, *body;
	int status;
	int64_t wanted[7];
} settings[] = {
	{ "PATCH", "{}", 200, { DEFAULTS, 0 } },
	{ "PUT",
	  "{\"visibility_ms\":1,\"max_receives\":1,\"backoff\":{\"base_ms\":2,\"max_ms\":2},\"dedupe_ms\":0,"
	  "\"dead_retention_ms\":1,\"paused\":true}",
	  200,
	  { 1, 1, 2, 2, 0, 1, 1 } },
	{ "PUT",
	  "{\"visibility_ms\":43200000,\"backoff\":{\"base_ms\":1,\"max_ms\":86400000},\"dedupe_ms\":31622400000,"
	  "\"dead_retention_ms\":3155760000000}",
	  200,
	  { 43200000, RECEIVES, 1, 86400000, 31622400000, 3155760000000, 0 } },
	{ "PUT", "{}", 200, { DEFAULTS, 0 } },
	{ "PATCH", "{\"paused\":true}", 200, { DEFAULTS, 1 } },
	{ "PATCH",
	  "{\"visibility_ms\":7,\"max_receives\":8,\"backoff\":{\"base_ms\":2,\"max_ms\":3},\"dedupe_ms\":0}",
	  200,
	  { 7, 8, 2, 3, 0, DEFAULT_RETENTION_MS, 1 } },
	{ "PATCH", "{\"dead_retention_ms\":9,\"visibility_ms\":null}", 200, { VISIBILITY_MS, 8, 2, 3, 0, 9, 1 } },
	{ "PATCH", "{\"paused\":false," AT_ONCE "}", 200, { VISIBILITY_MS, 8, 0, 0, 0, 9, 0 } },
	{ "PATCH",
	  "{\"backoff\":null,\"max_receives\":null,\"dedupe_ms\":null,\"dead_retention_ms\":null,\"paused\":true}",
	  200,
	  { DEFAULTS, 1 } },
	{ "PATCH", "{\"paused\":null}", 200, { DEFAULTS, 0 } },
	{ "PATCH",
	  "{\"backoff\":{\"base_ms\":1}}",
	  200,
	  { VISIBILITY_MS, RECEIVES, 1, MAX_MS, DEFAULT_DEDUPE_MS, DEFAULT_RETENTION_MS, 0 } },
	{ "PATCH",
	  "{\"backoff\":{\"base_ms\":null,\"max_ms\":2000}}",
	  200,
	  { VISIBILITY_MS, RECEIVES, BASE_MS, 2000, DEFAULT_DEDUPE_MS, DEFAULT_RETENTION_MS, 0 } },
	{ "DELETE", NULL, 204, { DEFAULTS, 0 } },
	{ "PUT",
	  "{\"max_receives\":1000}",
	  201,
	  { VISIBILITY_MS, 1000, BASE_MS, MAX_MS, DEFAULT_DEDUPE_MS, DEFAULT_RETENTION_MS, 0 } },
};

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(settings_are_replaced_and_merged)
{
	assert_settings(queue("GET", NULL), settings[0].wanted); /* of a queue that was never used */
	assert_problem(queue("DELETE", NULL), 404, "not_found", "none");
	for (size_t i = 0; i < COUNT(settings); i++) {
		struct answer a = queue(settings[i].method, settings[i].body);
		assert_status(a, settings[i].status);
		if (a.status != 204) {
			assert_string_equal(text_at(a, "/name"), "q");
			assert_settings(a, settings[i].wanted);
		}
		assert_settings(queue("GET", NULL), settings[i].wanted);
	}
	queue("DELETE", NULL);
	send_body("{\"body\":1}");
	assert_status(queue("PUT", "{}"), 200); /* it exists even without settings */
}

TEST(counts_have_every_state)
{
	assert_counts(0, 0, 0, 0);
	const json_t *none = json_at(queue("GET", NULL), "/oldest_ready_ms");
	assert_true(json_is_null(none));
	assert_int_equal(server_keys(&redis), 0); /* a read creates no queue */
	send_each_state();
	next_ms(); /* so that the oldest is ready for a while */
	assert_counts(2, 1, 1, 1);
	int64_t due_ms = int_at(message("GET", "ready", NULL), "/deliver_at_ms"), before_ms = server_now_ms(&redis);
	struct answer a = queue("GET", NULL);
	assert_in_range(int_at(a, "/oldest_ready_ms"), before_ms - due_ms, server_now_ms(&redis) - due_ms);
	assert_int_equal(int_at(a, "/expired"), 0);
	assert_string_equal(text_at(a, "/name"), "q");
}

/* ---- Many at once ---- */

TEST(purge_removes_one_state_or_all)
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

	for (size_t i = 0; i < COUNT(rows); i++) {
		send_each_state();
		struct answer a = post("/purge", rows[i].body, NULL);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/name"), "q");
		assert_int_equal(int_at(a, "/purged"), rows[i].purged);
		assert_counts(rows[i].left[0], rows[i].left[1], rows[i].left[2], rows[i].left[3]);
		assert_int_equal(int_at(post("/purge", rows[i].body, NULL), "/purged"), 0);
		queue("DELETE", NULL);
	}
}

TEST(purge_and_redrive_continue_until_they_have_finished)
{
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
	struct answer a = receive(NULL); /* a redriven one: the longest dead comes first */
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	assert_int_equal(int_at(post("/purge", "{\"state\":\"ready\"}", NULL), "/purged"), 2999);
	assert_counts(0, 0, 1, 0);
}

/* Only messages that wait for their time or for their next attempt are made due. */
TEST(delayed_messages_are_made_due)
{
	assert_status(post("/messages",
			   "{\"messages\":[{\"body\":1,\"max_receives\":2},{\"body\":2,\"delay_ms\":60000}]}", NULL),
		      201);
	struct answer a = receive(NULL);
	char target[256];
	snprintf(target, sizeof(target), "/deliveries/%s/reject", text_at(a, "/messages/0/receipt"));
	assert_status(post(target, "{\"delay_ms\":90000}", NULL), 200);
	for (int i = 0; i < 2; i++) {
		a = post("/redrive", "{\"state\":\"delayed\",\"limit\":1}", KEY "one");
		assert_int_equal(int_at(a, "/redriven"), 1);
	}
	a = http(client, "GET", "/queues/q", NULL);
	assert_int_equal(int_at(a, "/ready"), 1);
	assert_int_equal(int_at(a, "/retrying"), 1);
	assert_int_equal(int_at(post("/redrive", "{\"state\":\"delayed\"}", NULL), "/redriven"), 1);
	assert_int_equal(int_at(post("/redrive", "{\"state\":\"delayed\"}", NULL), "/redriven"), 0);
	a = receive("{\"limit\":10}");
	assert_int_equal(int_at(a, "/messages/0/body") + int_at(a, "/messages/1/body"), 3);
	/* One of them was received before. */
	assert_int_equal(int_at(a, "/messages/0/receives") + int_at(a, "/messages/1/receives"), 3);
	assert_problem(post("/redrive", "{\"state\":\"delayed\",\"interval_ms\":1}", NULL), 400, "invalid_value",
		       "none");
}

TEST(chosen_letters_are_redriven)
{
	send_body("{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":2,\"id\":\"b\"},{\"body\":3,\"id\":\"c\"}]}");
	for (int i = 0; i < 3; i++)
		assert_status(reject(receipt_in(receive(NULL)), "{\"dead\":true}"), 200);
	for (int i = 0; i < 2; i++) { /* the second is a replay */
		struct answer a = post("/redrive", "{\"ids\":[\"a\",\"c\",\"none\"]}", KEY "chosen");
		assert_int_equal(int_at(a, "/redriven"), 2);
	}
	assert_counts(2, 0, 0, 1);
	assert_ids(receive("{\"limit\":10}"), IDS("a", "c"));
}

/* ---- Whole queues ---- */

TEST(queues_are_listed_with_their_counts)
{
	send_each_state();
	configure("{\"paused\":true}");
	struct answer a = http(client, "GET", "/queues", NULL);
	int64_t oldest_ms = int_at(a, "/items/0/oldest_ready_ms");
	assert_in_range(oldest_ms, 0, int_at(queue("GET", NULL), "/oldest_ready_ms"));
	json_t *wanted = json_pack(
		"{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:{s:i, s:i}, s:I, s:{s:s, s:i, s:n, s:s}, s:n, s:n, s:[{s:s, "
		"s:s, s:s, s:i, s:s, s:i, s:n, s:s, s:n, s:n}], s:I, s:n, s:n, s:b, s:n}",
		"name", "q", "ready", 2, "blocked", 0, "delayed", 1, "retrying", 0, "in_flight", 1, "dead", 1, "sent",
		5, "recent", "acknowledged", 0, "failed", 1, "last_failed_at_ms",
		(json_int_t)int_at(a, "/items/0/last_failed_at_ms"), "last_failed", "id", "dead", "receives", 1,
		"worker", "reason", "why", "most_failed", "hanging", "findings", "kind", "dead_letters", "severity",
		"warning", "name", "q", "value", 1, "unit", "messages", "count", 1, "message_id", "detail",
		"1 dead letter waits for a redrive or a purge", "since_at_ms", "until_ms", "oldest_ready_ms",
		(json_int_t)oldest_ms, "oldest_blocked_ms", "next_schedule_at_ms", "paused", 1, "paused_until_ms");
	assert_true(json_equal(json_at(a, "/items/0"), wanted));
	json_decref(wanted);
	assert_status(post("/purge", NULL, NULL), 200);
	a = http(client, "GET", "/queues", NULL);
	assert_true(json_is_null(json_at(a, "/items/0/oldest_ready_ms")));
}
