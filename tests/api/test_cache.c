/*
 * The cache over HTTP: values and versions, conditions, fences, invalidation. (Fill tickets:
 * test_cache_fill.c.)
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "raw.h"
#include "stage.h"

#define A "/cache/a"
#define LARGEST_FENCE "9007199254740991"

enum { HEADER_BYTES = 160 };

static struct answer put(const char *body)
{
	return http(client, "PUT", A, body);
}

static struct answer delete (void)
{
	return http(client, "DELETE", A, NULL);
}

/* "Name: "version"", in a buffer that lives for a few calls. */
static const char *tagged(const char *name, const char *version)
{
	static char texts[4][HEADER_BYTES];
	static unsigned next;
	char *text = texts[next++ % 4];

	snprintf(text, HEADER_BYTES, "%s: \"%s\"", name, version);
	return text;
}

static int64_t now_ms(void)
{
	const redisReply *t = server_command(&redis, "TIME");

	return strtoll(t->element[0]->str, NULL, 10) * 1000 + strtoll(t->element[1]->str, NULL, 10) / 1000;
}

static bool is_there(const char *key)
{
	return server_command(&redis, "EXISTS %s", key)->integer == 1;
}

/* ---- Values ---- */

static void a_value_is_stored_read_and_deleted(void **state)
{
	(void)state;
	assert_problem(get(A), 404, "not_found", "none");
	assert_problem(delete (), 404, "not_found", "none");
	struct answer first = put("{\"value\":{\"name\":\"Ada\"}}");
	assert_status(first, 201);
	assert_string_equal(text_at(first, "/key"), "a");
	assert_in_range(int_at(first, "/expires_at_ms"), now_ms() + 3590000, now_ms() + 3600000);
	struct answer a = get(A);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/value/name"), "Ada");
	assert_string_equal(text_at(a, "/version"), text_at(first, "/version"));
	assert_int_equal(int_at(a, "/expires_at_ms"), int_at(first, "/expires_at_ms"));
	char tag[HEADER_BYTES];
	snprintf(tag, sizeof(tag), "\"%s\"", text_at(first, "/version"));
	assert_string_equal(header_of(first, "ETag"), tag);
	assert_string_equal(header_of(a, "ETag"), tag);
	assert_string_equal(get(A).body, a.body); /* a strong validator: byte for byte */
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

/*
 * Values only: no remaining fence, ticket or invalidation, no keys of other kinds, and none that
 * another program put below the same prefix.
 */
static void values_are_listed(void **state)
{
	(void)state;
	char *version = strdup(text_at(put("{\"value\":{\"secret\":1},\"ttl_ms\":60000}"), "/version"));
	assert_status(http(client, "PUT", "/cache/b", "{\"value\":2}"), 201);
	assert_status(http(client, "PUT", "/cache/c", "{\"value\":3}", "Fence: 7"), 201);
	assert_status(http(client, "DELETE", "/cache/c", NULL), 204);
	assert_status(http(client, "POST", "/cache/d/fill", NULL), 201);
	assert_status(http(client, "POST", "/cache/e/invalidate", NULL), 200);
	assert_status(post("/counters/f/increment", "{\"counters\":{\"value\":1}}"), 200);
	server_command(&redis, "SET p:cache:{g} text");
	assert_status(http(client, "PUT", "/keys/cache%3A%7Bb%7D/ttl", "{\"ttl_ms\":null}"), 200);
	assert_int_equal(json_array_size(json_at(get_all("/cache?limit=1"), "/items")), 2);
	assert_int_equal(json_array_size(json_at(get_all("/cache?match=b*"), "/items")), 1);
	struct answer a = get_all("/cache?match=a");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/key"), "a");
	assert_string_equal(text_at(a, "/items/0/version"), version);
	assert_in_range(int_at(a, "/items/0/expires_at_ms") - now_ms(), 1, 60000);
	assert_null(json_at(a, "/items/0/value"));
	assert_true(json_is_null(json_at(get_all("/cache?match=b"), "/items/0/expires_at_ms")));
	free(version);
}

static void any_json_comes_back_as_it_was(void **state)
{
	static const char *const values[] = {
		"null",
		"true",
		"0",
		"-9223372036854775808",
		"9223372036854775807",
		"0.25",
		"1.5e-07",
		"5.0",
		"\"\"",
		"\"{\\\"a\\\":1}\"",
		"\"\\u0000\\u0001\\\"\\\\\"",
		"\"Zürich 北京 \xf0\x9f\x94\x92\"",
		"[]",
		"{}",
		"[null,[[]],{\"\":{\"a b\":[1,2]}}]",
		"{\"version\":\"mine\",\"expires_at_ms\":1}",
	};
	char body[256], wanted[256];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		snprintf(body, sizeof(body), "{\"value\":%s}", values[i]);
		assert_in_range(put(body).status, 200, 201);
		snprintf(wanted, sizeof(wanted), "{\"key\":\"a\",\"value\":%s,\"version\":", values[i]);
		struct answer a = get(A);
		assert_status(a, 200);
		if (strncmp(a.body, wanted, strlen(wanted)) != 0)
			fail_msg("%s became %s", values[i], a.body);
	}
}

static void a_value_may_fill_a_body(void **state)
{
	const size_t most = 1024 * 1024;
	char *body = malloc(most + 1);

	(void)state;
	memset(body, 'x', most);
	memcpy(body, "{\"value\":\"", 10);
	memcpy(body + most - 2, "\"}", 3);
	assert_status(put(body), 201);
	struct answer a = get(A);
	assert_status(a, 200);
	assert_int_equal(json_string_length(json_at(a, "/value")), most - 12);
	free(body);
}

static void jitter_spreads_the_end(void **state)
{
	int64_t least = INT64_MAX, most = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct answer a = put("{\"value\":1,\"ttl_ms\":60000,\"jitter_ms\":1000000}");
		int64_t life = int_at(a, "/expires_at_ms") - now_ms();
		assert_in_range(life, 55000, 60000 + 1000000);
		least = life < least ? life : least;
		most = life > most ? life : most;
	}
	assert_true(least < 60000 + 250000); /* fails once in 10^12 runs */
	assert_true(most > 60000 + 750000);
	assert_int_equal(int_at(get(A), "/expires_at_ms"), server_command(&redis, "PEXPIRETIME p:cache:{a}")->integer);
}

static void a_value_ends_with_its_time(void **state)
{
	(void)state;
	assert_status(put("{\"value\":1,\"ttl_ms\":50}"), 201);
	wait_until(get(A).status == 404, 5000);
	assert_status(put("{\"value\":1,\"ttl_ms\":3155760000000,\"jitter_ms\":86400000}"), 201);
	assert_status(get(A), 200);
	server_command(&redis, "PERSIST p:cache:{a}"); /* another program removed its expiry */
	assert_true(json_is_null(json_at(get(A), "/expires_at_ms")));
}

/* ---- Conditions ---- */

#define CURRENT "@" /* replaced by the present version */

/* A header line with CURRENT replaced, "X-None: 1" for none. */
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

/* Two header lines, and the statuses of requests with them. */
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

static void conditions_are_those_of_rfc_9110(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
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

/* A version from before a deletion differs from that of a later value. */
static void an_old_version_never_matches_again(void **state)
{
	(void)state;
	struct answer old = put("{\"value\":1}");
	delete ();
	put("{\"value\":1}");
	struct answer a = http(client, "PUT", A, "{\"value\":2}", tagged("If-Match", text_at(old, "/version")));
	assert_problem(a, 412, "precondition_failed", "none");
	assert_string_equal(text_at(a, "/version"), text_at(get(A), "/version"));
}

/* ---- Several writers ---- */

enum { WRITERS = 6, STEPS = 30 };

/* Adds 1 that many times: reads, and writes only over the version that it read. */
static void *add_steps(void *arg)
{
	struct client *own = client_open(patternd.port);
	char body[64];

	(void)arg;
	for (int done = 0; done < STEPS;) {
		struct answer a = http(own, "GET", A, NULL);
		char header[HEADER_BYTES];
		snprintf(header, sizeof(header), "If-Match: %s", header_of(a, "ETag"));
		snprintf(body, sizeof(body), "{\"value\":%lld}", (long long)int_at(a, "/value") + 1);
		done += http(own, "PUT", A, body, header).status == 200;
	}
	client_close(own);
	return NULL;
}

static void no_update_is_lost(void **state)
{
	pthread_t threads[WRITERS];

	(void)state;
	put("{\"value\":0}");
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_steps, NULL), 0);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(int_at(get(A), "/value"), WRITERS * STEPS);
}

/* ---- Fences ---- */

/* The purpose of fences: the first holder of a lock slept past its time. */
static void a_writer_that_lost_its_lock_is_refused(void **state)
{
	char first[HEADER_BYTES], second[HEADER_BYTES];

	(void)state;
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
	assert_status(put("{\"value\":3}"), 201); /* without a fence it is not checked */
}

static void what_is_no_input_is_refused(void **state)
{
	static const struct {
		const char *body, *header, *code, *pointer;
	} rows[] = {
		{ "{}", "X-A: 1", "missing_field", "/value" },
		{ "{\"value\":1,\"ttl_ms\":0}", "X-A: 1", "out_of_range", "/ttl_ms" },
		{ "{\"value\":1,\"ttl\":1000}", "X-A: 1", "unknown_field", "/ttl" },
		{ "{\"value\":1,\"jitter_ms\":-1}", "X-A: 1", "out_of_range", "/jitter_ms" },
		{ "{\"value\":1}", "Fence: x", "wrong_type", "Fence:" },
		{ "{\"value\":1}", "Fence: 1.5", "wrong_type", "Fence:" },
		{ "{\"value\":1}", "Fence: 1, 2", "wrong_type", "Fence:" },
		{ "{\"value\":1}", "Fence: -1", "out_of_range", "Fence:" },
		{ "{\"value\":1}", "Fence: 9007199254740992", "out_of_range", "Fence:" },
		{ "{\"value\":1}", "Fence;", "wrong_type", "Fence:" },
		{ "{\"value\":1}", "Fill-Ticket;", "out_of_range", "Fill-Ticket:" },
		{ "{\"value\":1}", "If-Match: abc", "invalid_value", "If-Match:" },
		{ "{\"value\":1}", "If-Match;", "invalid_value", "If-Match:" },
		{ "{\"value\":1}", "If-None-Match: \"a", "invalid_value", "If-None-Match:" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct answer a = http(client, "PUT", A, rows[i].body, rows[i].header);
		print_message("%s %s\n", rows[i].body, rows[i].header);
		assert_problem(a, 400, rows[i].code, "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
	}
	assert_problem(http(client, "PUT", A, "{\"value\":1}", "Fence: 1", "Fence: 2"), 400, "malformed_request",
		       "none");
	assert_int_equal(server_keys(&redis), 0);
	assert_status(http(client, "PUT", A, "{\"value\":1}", "Fence: " LARGEST_FENCE), 201);
	assert_problem(http(client, "PUT", A, "{\"value\":1}", "Fence: 0"), 409, "stale_fence", "none");
}

/* ---- Invalidation ---- */

static void an_invalidation_deletes_now_and_caps_what_comes(void **state)
{
	(void)state;
	put("{\"value\":\"old\"}");
	struct answer a = post(A "/invalidate", "{\"again_after_ms\":800}");
	assert_status(a, 200);
	assert_true(json_is_true(json_at(a, "/deleted")));
	int64_t again_at_ms = int_at(a, "/again_at_ms");
	assert_in_range(again_at_ms, now_ms(), now_ms() + 800);
	assert_problem(get(A), 404, "not_found", "none");
	a = put("{\"value\":\"old again\"}");
	assert_int_equal(int_at(a, "/expires_at_ms"), again_at_ms);
	a = put("{\"value\":\"and again\",\"ttl_ms\":3155760000000}");
	assert_int_equal(int_at(a, "/expires_at_ms"), again_at_ms);
	wait_until(get(A).status == 404, 5000);
	assert_true(now_ms() >= again_at_ms);
	a = put("{\"value\":\"new\"}");
	assert_in_range(int_at(a, "/expires_at_ms"), now_ms() + 3590000, now_ms() + 3600000);
	a = post(A "/invalidate", NULL);
	assert_in_range(int_at(a, "/again_at_ms"), now_ms(), now_ms() + 1000);
	assert_false(json_is_true(json_at(post(A "/invalidate", "{}"), "/deleted")));
	assert_problem(post(A "/invalidate", "{\"again_after_ms\":0}"), 400, "out_of_range", "none");
	assert_problem(post(A "/invalidate", "{\"again_after_ms\":86400001}"), 400, "out_of_range", "none");
}

/*
 * The second deletion is in Redis alone: no daemon runs when it is due, and a later daemon finds it
 * done.
 */
static void the_second_deletion_needs_no_daemon(void **state)
{
	struct daemon other = { 0 };

	(void)state;
	daemon_start(&other, "--redis", redis.url);
	struct client *own = client_open(other.port);
	assert_status(http(own, "POST", A "/invalidate", "{\"again_after_ms\":1000}"), 200);
	assert_status(http(own, "PUT", A, "{\"value\":\"old\"}"), 201);
	client_close(own);
	daemon_kill(&other);
	assert_true(is_there("p:cache:{a}"));
	wait_until(!is_there("p:cache:{a}"), 5000);
	assert_problem(get(A), 404, "not_found", "none");
}

static void a_retried_invalidation_deletes_nothing_more(void **state)
{
	static const char body[] = "{\"again_after_ms\":5000}";

	(void)state;
	put("{\"value\":1}");
	struct answer first = http(client, "POST", A "/invalidate", body, "Idempotency-Key: one");
	put("{\"value\":2}");
	struct answer again = http(client, "POST", A "/invalidate", body, "Idempotency-Key: one");
	assert_string_equal(again.body, first.body);
	assert_int_equal(int_at(get(A), "/value"), 2);
	assert_problem(http(client, "POST", A "/invalidate", NULL, "Idempotency-Key: one"), 422,
		       "idempotency_key_reused", "none");
}

static void a_foreign_key_is_reported_and_kept(void **state)
{
	(void)state;
	server_command(&redis, "SET p:cache:{a} mine");
	assert_problem(get(A), 500, "foreign_key", "none");
	assert_problem(put("{\"value\":1}"), 500, "foreign_key", "none");
	assert_problem(delete (), 500, "foreign_key", "none");
	assert_problem(post(A "/invalidate", NULL), 500, "foreign_key", "none");
	assert_problem(post(A "/fill", NULL), 500, "foreign_key", "none");
	assert_string_equal(server_command(&redis, "GET p:cache:{a}")->str, "mine");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_value_is_stored_read_and_deleted, stage_forget),
		cmocka_unit_test_teardown(values_are_listed, stage_forget),
		cmocka_unit_test_teardown(any_json_comes_back_as_it_was, stage_forget),
		cmocka_unit_test_teardown(a_value_may_fill_a_body, stage_forget),
		cmocka_unit_test_teardown(jitter_spreads_the_end, stage_forget),
		cmocka_unit_test_teardown(a_value_ends_with_its_time, stage_forget),
		cmocka_unit_test_teardown(conditions_are_those_of_rfc_9110, stage_forget),
		cmocka_unit_test_teardown(an_old_version_never_matches_again, stage_forget),
		cmocka_unit_test_teardown(no_update_is_lost, stage_forget),
		cmocka_unit_test_teardown(a_writer_that_lost_its_lock_is_refused, stage_forget),
		cmocka_unit_test_teardown(what_is_no_input_is_refused, stage_forget),
		cmocka_unit_test_teardown(an_invalidation_deletes_now_and_caps_what_comes, stage_forget),
		cmocka_unit_test_teardown(the_second_deletion_needs_no_daemon, stage_forget),
		cmocka_unit_test_teardown(a_retried_invalidation_deletes_nothing_more, stage_forget),
		cmocka_unit_test_teardown(a_foreign_key_is_reported_and_kept, stage_forget),
	};

	return cmocka_run_group_tests_name("cache", tests, stage_open, stage_close);
}
