/*
 * The cache over HTTP: values and versions, conditions, fences, invalidation. (Fill tickets:
 * test_cache_fill.c.)
 */
#include "raw.h"
#include "stage.h"
#include "test.h"

#define A "/cache/a"

enum { HEADER_BYTES = 160 };

static struct answer put(const char *body)
{
	return http(client, "PUT", A, body);
}

static struct answer delete (void)
{
	return http(client, "DELETE", A, NULL);
}

/* ---- Values ---- */

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(a_value_is_stored_read_and_deleted)
{
	struct answer first = put("{\"value\":{\"name\":\"Ada\"}}");
	assert_status(first, 201);
	assert_string_equal(text_at(first, "/key"), "a");
	assert_in_range(int_at(first, "/expires_at_ms"), server_now_ms(&redis) + 3590000,
			server_now_ms(&redis) + 3600000);
	struct answer a = get(A);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/value/name"), "Ada");
	assert_string_equal(text_at(a, "/version"), text_at(first, "/version"));
	assert_int_equal(int_at(a, "/expires_at_ms"), int_at(first, "/expires_at_ms"));
	char tag[HEADER_BYTES];
	snprintf(tag, sizeof(tag), "\"%s\"", text_at(first, "/version"));
	assert_string_equal(header_of(first, "ETag"), tag);
	assert_string_equal(header_of(a, "ETag"), tag);
	assert_string_equal(get(A).body, a.body); /* a strong ETag: the bytes are equal */
	struct answer second = put("{\"value\":2}");
	assert_status(second, 200);
	assert_string_not_equal(text_at(second, "/version"), text_at(first, "/version"));
	assert_status(delete (), 204);
	assert_problem(get(A), 404, "not_found", "none");
	struct answer third = put("{\"value\":{\"name\":\"Ada\"}}");
	assert_status(third, 201);
	assert_string_not_equal(text_at(third, "/version"), text_at(first, "/version"));
	assert_int_equal(server_keys(&redis), 1);
}

/* The list has values only: no name that only has a fence, a ticket or an invalidation. */
TEST(values_are_listed)
{
	assert_status(http(client, "PUT", "/cache/b", "{\"value\":2}"), 201);
	assert_status(http(client, "PUT", "/cache/c", "{\"value\":3}", "Fence: 7"), 201);
	assert_status(http(client, "DELETE", "/cache/c", NULL), 204);
	assert_status(http(client, "POST", "/cache/d/fill", NULL), 201);
	assert_status(http(client, "POST", "/cache/e/invalidate", NULL), 200);
	assert_status(http(client, "PUT", "/keys/cache%3A%7Bb%7D/ttl", "{\"ttl_ms\":null}"), 200);
	struct answer a = get_all("/cache");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/key"), "b");
	assert_null(json_at(a, "/items/0/value"));
	assert_true(json_is_null(json_at(a, "/items/0/expires_at_ms")));
}

TEST(jitter_spreads_the_end)
{
	int64_t least = INT64_MAX, most = 0;

	for (int i = 0; i < 100; i++) {
		struct answer a = put("{\"value\":1,\"ttl_ms\":60000,\"jitter_ms\":1000000}");
		int64_t life = int_at(a, "/expires_at_ms") - server_now_ms(&redis);
		assert_in_range(life, 55000, 60000 + 1000000);
		least = life < least ? life : least;
		most = life > most ? life : most;
	}
	assert_true(least < 60000 + 250000); /* fails once in 10^12 runs */
	assert_true(most > 60000 + 750000);
	assert_int_equal(int_at(get(A), "/expires_at_ms"), server_command(&redis, "PEXPIRETIME p:cache:{a}")->integer);
}

TEST(a_value_ends_with_its_time)
{
	assert_status(put("{\"value\":1,\"ttl_ms\":50}"), 201);
	wait_until(get(A).status == 404, 5000);
	assert_status(put("{\"value\":1,\"ttl_ms\":3155760000000,\"jitter_ms\":86400000}"), 201);
	assert_status(get(A), 200);
	server_command(&redis, "PERSIST p:cache:{a}"); /* another program removed its expiry */
	assert_true(json_is_null(json_at(get(A), "/expires_at_ms")));
}

/* ---- Conditions ---- */

#define CURRENT "@" /* replaced by the present version */

/* A header line with CURRENT replaced; "X-None: 1" if there is no pattern. */
static const char *condition(const char *pattern, const char *version)
{
	static char texts[8][4 * HEADER_BYTES];
	static unsigned next;
	char *text = texts[next++ % 8];
	const char *at = pattern ? strstr(pattern, CURRENT) : NULL;

	if (!pattern)
		return "X-None: 1";
	if (at)
		snprintf(text, sizeof(texts[0]), "%.*s%s%s", (int)(at - pattern), pattern, version, at + 1);
	else
		snprintf(text, sizeof(texts[0]), "%s", pattern);
	return text;
}

/* Two header lines, and the statuses that requests with them get. */
struct condition_row {
	const char *first, *second;
	int get, put, delete;   /* when there is a value */
	int get_none, put_none; /* without a value; a DELETE is 404 then */
};

static void read_with(const struct condition_row *row, const char *version)
{
	const char *first = condition(row->first, version), *second = condition(row->second, version);
	struct answer a = http(client, "GET", A, NULL, first, second), plain = get(A);

	assert_status(a, row->get);
	assert_int_equal(http(client, "HEAD", A, NULL, first, second).status, row->get);
	if (a.status == 200 || a.status == 304)
		assert_string_equal(header_of(a, "ETag"), header_of(plain, "ETag"));
	if (a.status == 304)
		assert_int_equal(atoi(header_of(a, "Content-Length")), plain.body_len);
	if (a.status == 412)
		assert_string_equal(text_at(a, "/version"), version);
	if (a.status == 400)
		assert_problem(a, 400, "invalid_value", "none");
}

static void write_with(const struct condition_row *row, const char *version)
{
	const char *first = condition(row->first, version), *second = condition(row->second, version);
	struct answer a = http(client, "PUT", A, "{\"value\":2}", first, second);

	assert_status(a, row->put);
	assert_int_equal(int_at(get(A), "/value"), a.status == 200 ? 2 : 1);
	if (a.status == 412)
		assert_problem(a, 412, "precondition_failed", "none");
}

static void delete_with(const struct condition_row *row, const char *version)
{
	struct answer a =
		http(client, "DELETE", A, NULL, condition(row->first, version), condition(row->second, version));

	assert_status(a, row->delete);
	assert_int_equal(get(A).status, a.status == 204 ? 404 : 200);
}

static void ask_without_a_value(const struct condition_row *row, const char *version)
{
	const char *first = condition(row->first, version), *second = condition(row->second, version);

	assert_status(http(client, "GET", A, NULL, first, second), row->get_none);
	assert_status(http(client, "DELETE", A, NULL, first, second), row->get_none);
	struct answer a = http(client, "PUT", A, "{\"value\":3}", first, second);
	assert_status(a, row->put_none);
	if (a.status == 412)
		assert_true(json_is_null(json_at(a, "/version")));
}

TEST(conditions_follow_rfc_9110)
{
	static const struct condition_row rows[] = {
		{ NULL, NULL, 200, 200, 204, 404, 201 },
		{ "If-Match: \"@\"", NULL, 200, 200, 204, 404, 412 },
		{ "If-Match: *", NULL, 200, 200, 204, 404, 412 },
		{ "If-Match: \"x\"", NULL, 412, 412, 412, 404, 412 },
		{ "If-Match: W/\"@\"", NULL, 412, 412, 412, 404, 412 },
		{ "If-Match: \"x\", \"@\", W/\"y\"", NULL, 200, 200, 204, 404, 412 },
		{ "If-Match: \"x\"", "If-Match: \"@\"", 200, 200, 204, 404, 412 },
		{ "If-Match: \"\"", NULL, 412, 412, 412, 404, 412 },
		{ "If-Match: \"*\"", NULL, 412, 412, 412, 404, 412 },
		{ "If-None-Match: *", NULL, 304, 412, 412, 404, 201 },
		{ "If-None-Match: \"@\"", NULL, 304, 412, 412, 404, 201 },
		{ "If-None-Match: W/\"@\"", NULL, 304, 412, 412, 404, 201 },
		{ "If-None-Match: \"x\",, W/\"@\" ,", NULL, 304, 412, 412, 404, 201 },
		{ "If-None-Match: \"x\"", "If-None-Match: \"@\"", 304, 412, 412, 404, 201 },
		{ "If-None-Match: \"x\"", NULL, 200, 200, 204, 404, 201 },
		{ "If-Match: \"@\"", "If-None-Match: \"@\"", 304, 412, 412, 404, 412 },
		{ "If-Match: \"x\"", "If-None-Match: \"@\"", 412, 412, 412, 404, 412 },
		{ "If-Match: \"@\"", "If-None-Match: \"x\"", 200, 200, 204, 404, 412 },
		{ "If-Match: @", NULL, 400, 400, 400, 400, 400 },
		{ "If-None-Match: @", NULL, 400, 400, 400, 400, 400 },
		{ "If-Match: \"@", NULL, 400, 400, 400, 400, 400 },
		{ "If-None-Match: *, \"@\"", NULL, 400, 400, 400, 400, 400 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		print_message("%s; %s\n", rows[i].first ? rows[i].first : "", rows[i].second ? rows[i].second : "");
		const char *version = text_at(put("{\"value\":1}"), "/version");
		read_with(&rows[i], version);
		write_with(&rows[i], version);
		delete_with(&rows[i], text_at(put("{\"value\":1}"), "/version"));
		delete ();
		ask_without_a_value(&rows[i], version);
		client_forget(client);
	}
}

/* ---- Fences ---- */

/* The purpose of fences: the first holder of a lock slept until its lock had expired. */
TEST(a_writer_that_lost_its_lock_is_refused)
{
	char first[HEADER_BYTES], second[HEADER_BYTES];

	struct answer lock = post("/locks/l", NULL);
	snprintf(first, sizeof(first), "Fence: %lld", (long long)int_at(lock, "/fence"));
	assert_status(http(client, "PUT", A, "{\"value\":1}", first), 201);
	server_command(&redis, "DEL p:lock:{l}"); /* as when it expires */
	lock = post("/locks/l", NULL);
	snprintf(second, sizeof(second), "Fence: %lld", (long long)int_at(lock, "/fence"));
	assert_status(http(client, "PUT", A, "{\"value\":2}", second), 200);
	struct answer a = http(client, "PUT", A, "{\"value\":1}", first);
	assert_problem(a, 409, "stale_fence", "none");
	assert_int_equal(int_at(a, "/highest"), int_at(lock, "/fence"));
	a = http(client, "DELETE", A, NULL, first, "If-Match: \"x\""); /* the fence is checked first */
	assert_problem(a, 409, "stale_fence", "none");
	assert_int_equal(int_at(get(A), "/value"), 2);
	assert_status(http(client, "DELETE", A, NULL, second), 204);
	assert_problem(http(client, "PUT", A, "{\"value\":1}", first), 409, "stale_fence", "none");
	assert_problem(http(client, "DELETE", A, NULL, second), 404, "not_found", "none");
	assert_status(put("{\"value\":3}"), 201); /* a PUT without a fence is not checked */
}

/* ---- Invalidation ---- */

TEST(an_invalidation_deletes_now_and_caps_what_comes)
{
	put("{\"value\":\"old\"}");
	struct answer a = post(A "/invalidate", "{\"again_after_ms\":800}");
	assert_status(a, 200);
	assert_true(json_is_true(json_at(a, "/deleted")));
	int64_t again_at_ms = int_at(a, "/again_at_ms");
	assert_in_range(again_at_ms, server_now_ms(&redis), server_now_ms(&redis) + 800);
	assert_problem(get(A), 404, "not_found", "none");
	a = put("{\"value\":\"old again\"}");
	assert_int_equal(int_at(a, "/expires_at_ms"), again_at_ms);
	delete ();
	a = post(A "/invalidate", NULL);
	assert_in_range(int_at(a, "/again_at_ms"), server_now_ms(&redis), server_now_ms(&redis) + 1000);
	assert_true(json_is_false(json_at(a, "/deleted")));
}
