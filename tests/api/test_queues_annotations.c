/*
 * Annotations of a queue, and when a queue was created and changed, over HTTP.
 */
#include "queue_stage.h"

SUITE(.open = start, .close = stop, .after = forget_all);

enum { MOST = 64, MOST_BYTES = 32768, KEY_MOST = 256 };

/* The annotations in an answer, as compact JSON in the order of the answer. */
static const char *annotations_of(struct answer a)
{
	static char *text;

	free(text);
	text = json_dumps(json_at(a, "/settings/annotations"), JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	return text ? text : "absent";
}

static void assert_annotations(const char *wanted)
{
	assert_string_equal(annotations_of(queue("GET", NULL)), wanted);
}

TEST(bytes_come_back)
{
	static const char all[] =
		"{\"a\\\"\\\\/\":\"\\u0001\\t\\u007f\\\"\\\\/\",\"\\u00fc\":\"\\u20ac\\ud83d\\ude00\","
		"\"empty\":\"\",\"{}\":\"=1\"}";
	char body[512];

	assert_annotations("{}");
	snprintf(body, sizeof(body), "{\"annotations\":%s}", all);
	struct answer a = queue("PUT", body);
	assert_status(a, 201);
	static const char wanted[6] = "\1\t\x7f\"\\/";
	const json_t *value = json_object_get(json_at(a, "/settings/annotations"), "a\"\\/");
	assert_int_equal(json_string_length(value), sizeof(wanted));
	assert_memory_equal(json_string_value(value), wanted, sizeof(wanted));
	assert_string_equal(json_string_value(json_object_get(json_at(a, "/settings/annotations"), "\xc3\xbc")),
			    "\xe2\x82\xac\xf0\x9f\x98\x80");
	char *first = strdup(annotations_of(a));
	assert_annotations(first);
	/* What GET returns, PUT takes. */
	a = queue("GET", NULL);
	char *settings = json_dumps(json_at(a, "/settings"), JSON_COMPACT);
	assert_status(queue("PUT", settings), 200);
	assert_int_equal(json_object_size(json_at(queue("GET", NULL), "/settings/annotations")), 4);
	free(settings);
	free(first);
}

TEST(a_patch_sets_and_removes_single_ones)
{
	configure("{\"annotations\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}}");
	struct answer a = queue("PATCH", "{\"annotations\":{\"b\":null,\"a\":\"4\",\"d\":\"\",\"absent\":null}}");
	assert_status(a, 200);
	assert_string_equal(annotations_of(a), "{\"a\":\"4\",\"c\":\"3\",\"d\":\"\"}");
	a = queue("PATCH", "{\"max_receives\":3}");
	assert_string_equal(annotations_of(a), "{\"a\":\"4\",\"c\":\"3\",\"d\":\"\"}");
	assert_string_equal(annotations_of(queue("PATCH", "{\"annotations\":{}}")),
			    "{\"a\":\"4\",\"c\":\"3\",\"d\":\"\"}");
	assert_int_equal(int_at(queue("GET", NULL), "/settings/max_receives"), 3);
	a = http(client, "PATCH", "/queues/q", "{\"annotations\":{\"c\":null,\"e\":\"5\"}}",
		 "Content-Type: application/merge-patch+json");
	assert_string_equal(annotations_of(a), "{\"a\":\"4\",\"d\":\"\",\"e\":\"5\"}");
	/* They are not in `rules`, so such a queue stays on the plain path. */
	assert_int_equal(server_command(&redis, "HEXISTS p:queue:{q} rules")->integer, 0);
	assert_string_equal(annotations_of(queue("PATCH", "{\"annotations\":null}")), "{}");
	assert_int_equal(server_command(&redis, "HEXISTS p:queue:{q} annotations")->integer, 0);
	/* A PUT without them has none. */
	configure("{\"annotations\":{\"a\":\"1\"}}");
	assert_string_equal(annotations_of(queue("PUT", "{\"annotations\":null}")), "{}");
	assert_annotations("{}");
}

TEST(they_are_of_their_queue)
{
	configure("{\"annotations\":{\"a\":\"1\"}}");
	assert_status(send_body("{\"body\":1}"), 201);
	assert_status(post("/purge", "{}", NULL), 200);
	assert_annotations("{\"a\":\"1\"}");
	assert_null(json_at(http_all(client, "/queues"), "/items/0/annotations"));
	assert_status(queue("DELETE", NULL), 204);
	assert_annotations("{}");
	assert_status(send_body("{\"body\":1}"), 201);
	assert_annotations("{}");
}

/* ---- Bounds ---- */

/* A body with `count` annotations, of `len` bytes each with their names; the last has `more`. */
static const char *body_of(const char *begin, int count, size_t len, size_t more)
{
	static char body[2 * MOST_BYTES];
	size_t n = (size_t)snprintf(body, sizeof(body), "{\"annotations\":{");

	for (int i = 0; i < count; i++) {
		size_t all = len + (i == count - 1 ? more : 0);
		n += (size_t)snprintf(body + n, sizeof(body) - n, "%s\"%s%02d\":\"", i ? "," : "", begin, i);
		size_t named = strlen(begin) + 2;
		memset(body + n, 'x', all - named);
		n += all - named;
		n += (size_t)snprintf(body + n, sizeof(body) - n, "\"");
	}
	snprintf(body + n, sizeof(body) - n, "}}");
	return body;
}

static void assert_out_of_range(struct answer a, const char *said)
{
	assert_problem(a, 400, "out_of_range", "none");
	if (!strstr(text_at(a, "/detail"), said))
		fail_msg("%s", text_at(a, "/detail"));
}

TEST(bounds)
{
	char name[KEY_MOST + 2], body[512];

	assert_status(queue("PUT", body_of("a", MOST, MOST_BYTES / MOST, 0)), 201);
	assert_int_equal(json_object_size(json_at(queue("GET", NULL), "/settings/annotations")), MOST);
	assert_out_of_range(queue("PUT", body_of("a", MOST + 1, 9, 0)), "/annotations");
	assert_out_of_range(queue("PUT", body_of("a", MOST, MOST_BYTES / MOST, 1)), "at most 32768 bytes");
	assert_out_of_range(queue("PUT", "{\"annotations\":{\"\":\"1\"}}"), "/annotations/");
	memset(name, 'n', sizeof(name));
	snprintf(body, sizeof(body), "{\"annotations\":{\"%.*s\":\"1\"}}", KEY_MOST + 1, name);
	assert_out_of_range(queue("PUT", body), "/annotations/nnn");
	/* A PATCH adds to the annotations that the queue has. */
	assert_out_of_range(queue("PATCH", "{\"annotations\":{\"more\":\"\"}}"),
			    "would be 65 annotations with 32772 bytes");
	assert_status(queue("PATCH", "{\"annotations\":{\"a00\":null,\"more\":\"\"}}"), 200);
	assert_out_of_range(queue("PATCH", body_of("m", 1, 516, 0)), "would be 65");
	assert_status(queue("PATCH", "{\"annotations\":{\"a01\":null}}"), 200);
	assert_out_of_range(queue("PATCH", body_of("m", 1, 1021, 0)), "would be 64 annotations with 32769 bytes");
	assert_status(queue("PATCH", body_of("m", 1, 1020, 0)), 200);
	/* A refusal changes nothing else. */
	assert_out_of_range(queue("PATCH", "{\"max_receives\":3,\"annotations\":{\"z\":\"\"}}"), "would be 65");
	assert_int_equal(int_at(queue("GET", NULL), "/settings/max_receives"), 25);
	snprintf(body, sizeof(body), "{\"annotations\":{\"%.*s\":\"1\"}}", KEY_MOST, name);
	assert_status(queue("PUT", body), 200);
}

TEST(they_are_texts)
{
	static const char *const bodies[] = { "{\"annotations\":{\"a\":1}}", "{\"annotations\":{\"a\":{}}}",
					      "{\"annotations\":\"a\"}", "{\"annotations\":[\"a\"]}" };

	for (size_t i = 0; i < COUNT(bodies); i++) {
		assert_problem(queue("PUT", bodies[i]), 400, "wrong_type", "none");
		assert_problem(queue("PATCH", bodies[i]), 400, "wrong_type", "none");
	}
	assert_problem(queue("PUT", "{\"annotations\":{\"a\":\"\\u0000\"}}"), 400, "invalid_value", "none");
	/* Only a PATCH removes one. */
	assert_problem(queue("PUT", "{\"annotations\":{\"a\":null}}"), 400, "wrong_type", "none");
	assert_int_equal(server_keys(&redis), 0);
}

/* ---- Times ---- */

static int64_t created(void)
{
	return int_at(queue("GET", NULL), "/created_at_ms");
}

static int64_t changed(void)
{
	return int_at(queue("GET", NULL), "/changed_at_ms");
}

TEST(what_creates_a_queue_is_noted)
{
	static const struct {
		const char *method, *target, *body;
	} ways[] = {
		{ "PUT", "/queues/q", "{}" },
		{ "PATCH", "/queues/q", "{\"paused\":true}" },
		{ "POST", "/queues/q/messages", "{\"body\":1}" },
		{ "POST", "/queues/q/messages", "{\"body\":1,\"id\":\"a\",\"group\":\"g\",\"delay_ms\":9}" },
		{ "POST", "/queues/q/messages", "{\"body\":1,\"id\":\"a\",\"on_duplicate\":\"replace\"}" },
		{ "PUT", "/queues/q/schedules/s", "{\"every_ms\":60000,\"body\":1}" },
	};

	for (size_t i = 0; i < COUNT(ways); i++) {
		assert_true(json_is_null(json_at(queue("GET", NULL), "/created_at_ms")));
		assert_true(json_is_null(json_at(queue("GET", NULL), "/changed_at_ms")));
		int64_t before = server_now_ms(&redis);
		assert_status(http(client, ways[i].method, ways[i].target, ways[i].body), i == 1 ? 200 : 201);
		int64_t made = created();
		assert_in_range(made, before, server_now_ms(&redis));
		assert_int_equal(changed(), made);
		/* What comes later does not change it. */
		next_ms();
		assert_status(send_body("{\"body\":2}"), 201);
		assert_status(send_body("{\"body\":2,\"id\":\"b\",\"on_duplicate\":\"extend\"}"), 201);
		assert_status(http(client, "PUT", "/queues/q/schedules/t", "{\"every_ms\":60000,\"body\":1}"), 201);
		assert_int_equal(created(), made);
		assert_int_equal(changed(), made);
		assert_status(queue("DELETE", NULL), 204);
	}
}

TEST(what_writes_settings_is_noted)
{
	static const struct {
		const char *method, *tail, *body;
	} ways[] = {
		{ "PUT", "", "{}" }, { "PATCH", "", "{}" }, { "POST", "/pause", "{}" }, { "POST", "/resume", NULL }
	};

	assert_status(send_body("{\"body\":1}"), 201);
	int64_t made = created();
	for (size_t i = 0; i < COUNT(ways); i++) {
		char target[64];
		int64_t earlier = changed();
		next_ms();
		snprintf(target, sizeof(target), "/queues/q%s", ways[i].tail);
		assert_status(http(client, ways[i].method, target, ways[i].body), 200);
		assert_in_range(changed(), earlier + 1, server_now_ms(&redis));
		assert_int_equal(created(), made);
	}
}

/* A queue that an earlier version made. */
TEST(a_queue_of_before_has_no_creation)
{
	assert_status(send_body("{\"body\":1}"), 201);
	server_command(&redis, "HDEL p:queue:{q} created_at");
	assert_true(json_is_null(json_at(queue("GET", NULL), "/created_at_ms")));
	assert_true(json_is_null(json_at(queue("GET", NULL), "/changed_at_ms")));
	assert_status(send_body("{\"body\":1}"), 201);
	configure("{}");
	assert_true(json_is_null(json_at(queue("GET", NULL), "/created_at_ms")));
	assert_true(changed() > 0);
}
