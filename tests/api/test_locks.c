/*
 * Locks over HTTP: acquiring, tokens and fences, looks and lists. (Retries, competitors and
 * secrecy: test_locks_replays.c.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stage.h"

enum { TTL_MS = 60000, SOON_MS = 5000 };

#define OF_20 "0123456789abcdef0123"
#define OF_200 OF_20 OF_20 OF_20 OF_20 OF_20 OF_20 OF_20 OF_20 OF_20 OF_20

static const char a_minute[] = "{\"ttl_ms\":60000}", a_moment[] = "{\"ttl_ms\":50}";

/* ---- Requests ---- */

static struct answer acquire(const char *body)
{
	return http(client, "POST", "/locks/a", body);
}

static struct answer enter(const char *token)
{
	return http(client, "POST", "/locks/a", a_minute, lock_token(token));
}

static struct answer extend(const char *token, int ttl_ms)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"ttl_ms\":%d}", ttl_ms);
	return http(client, "POST", "/locks/a/extend", body, lock_token(token));
}

static struct answer look(void)
{
	return http(client, "GET", "/locks/a", NULL);
}

static bool is_free(void)
{
	return !bool_at(look(), "/held");
}

static int64_t holds(void)
{
	return int_at(look(), "/holders/0/holds");
}

static struct answer release(const char *token)
{
	return http(client, "DELETE", "/locks/a", NULL, lock_token(token));
}

/* ---- Acquiring ---- */

static void a_free_lock_is_taken(void **state)
{
	(void)state;
	long long before_s = atoll(server_command(&redis, "TIME")->element[0]->str);
	struct answer a = acquire("{\"ttl_ms\":60000,\"owner\":\"worker-7\"}");
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/name"), "a");
	assert_int_equal(strspn(text_at(a, "/token"), "0123456789abcdef"), 32);
	assert_int_equal(strlen(text_at(a, "/token")), 32);
	assert_in_range(int_at(a, "/fence"), before_s * 1000000, (before_s + 60) * 1000000);
	assert_string_equal(text_at(a, "/owner"), "worker-7");
	assert_string_equal(text_at(a, "/mode"), "exclusive");
	assert_int_equal(int_at(a, "/holds"), 1);
	assert_int_equal(int_at(a, "/ttl_ms"), TTL_MS);
	assert_int_equal(server_command(&redis, "PEXPIRETIME p:lock:{a}")->integer, int_at(a, "/expires_at_ms"));
	assert_int_equal(int_at(a, "/waited_ms"), 0);
	assert_string_equal(text_at(a, "/safety/mode"), "single");
	assert_string_equal(header_of(a, "Cache-Control"), "no-store");
}

static void all_of_a_request_may_be_left_out(void **state)
{
	(void)state;
	struct answer a = acquire(NULL);
	assert_status(a, 201);
	assert_int_equal(int_at(a, "/ttl_ms"), 30000);
	assert_true(json_is_null(json_at(a, "/owner")));
	assert_problem(acquire("{\"ttl_ms\":0}"), 400, "out_of_range", "none");
	assert_problem(acquire("{\"ttl_ms\":86400001}"), 400, "out_of_range", "none");
	assert_problem(acquire("{\"mode\":\"both\"}"), 400, "invalid_value", "none");
}

static void a_refusal_has_the_holder_and_its_time(void **state)
{
	static const struct {
		int ttl_ms, retry_after;
	} rows[] = { { 60000, 60 }, { 30500, 31 }, { 30001, 31 }, { 900, 1 } };
	char body[96];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		stage_forget(NULL);
		snprintf(body, sizeof(body), "{\"ttl_ms\":%d%s}", rows[i].ttl_ms, i ? ",\"owner\":\"worker-7\"" : "");
		struct answer taken = acquire(body), a = acquire(a_minute);
		assert_problem(a, 409, "lock_held", "none");
		int64_t ttl_ms = int_at(a, "/holders/0/ttl_ms");
		assert_in_range(ttl_ms, 1, rows[i].ttl_ms);
		assert_int_equal(atoi(header_of(a, "Retry-After")), (ttl_ms + 999) / 1000);
		assert_in_range(atoi(header_of(a, "Retry-After")), rows[i].retry_after - 1, rows[i].retry_after);
		assert_int_equal(json_array_size(json_at(a, "/holders")), 1);
		assert_int_equal(int_at(a, "/holders/0/fence"), int_at(taken, "/fence"));
		assert_int_equal(int_at(a, "/holders/0/holds"), 1);
		assert_int_equal(int_at(a, "/holders/0/expires_at_ms"), int_at(taken, "/expires_at_ms"));
		assert_true(json_equal(json_at(a, "/holders/0/owner"), json_at(taken, "/owner")));
		assert_int_equal(int_at(a, "/retry_after_ms"), ttl_ms);
		assert_int_equal(int_at(a, "/waiter_count"), 0);
		assert_null(strstr(a.body, text_at(taken, "/token")));
	}
	nap_ms(int_at(look(), "/ttl_ms") + 1); /* of the last row: waiting that long is enough */
	assert_status(acquire(a_minute), 201);
}

static void each_entry_has_a_token_of_its_own(void **state)
{
	(void)state;
	struct answer first = acquire("{\"ttl_ms\":30000,\"owner\":\"worker-7\"}"),
		      again = enter(text_at(first, "/token"));
	const char *token = text_at(first, "/token"), *second = text_at(again, "/token");
	assert_status(again, 200);
	assert_string_not_equal(token, second);
	assert_int_equal(int_at(again, "/fence"), int_at(first, "/fence"));
	assert_string_equal(text_at(again, "/owner"), "worker-7");
	assert_int_equal(int_at(again, "/holds"), 2);
	assert_int_equal(int_at(again, "/ttl_ms"), TTL_MS);
	assert_int_equal(server_command(&redis, "PEXPIRETIME p:lock:{a}")->integer, int_at(again, "/expires_at_ms"));
	struct answer a = release(token);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "a");
	assert_int_equal(int_at(a, "/holds"), 1);
	assert_int_equal(int_at(release(token), "/holds"), 1); /* the same DELETE again releases nothing twice */
	assert_problem(enter(token), 409, "not_holder", "none");
	assert_int_equal(holds(), 1);
	assert_status(enter(second), 200);
	assert_int_equal(int_at(release(second), "/holds"), 1);
}

/* Neither an expired token nor an unknown one creates a lock, or enters one. */
static void a_token_that_holds_nothing_takes_nothing(void **state)
{
	(void)state;
	const char *token = text_at(acquire(a_moment), "/token");
	wait_until(is_free(), SOON_MS);
	assert_problem(enter(token), 409, "not_holder", "none");
	assert_problem(enter("00000000000000000000000000000000"), 409, "not_holder", "none");
	assert_problem(release(token), 409, "not_holder", "none");
	assert_true(is_free());
	assert_status(acquire(a_minute), 201);
	assert_problem(enter(token), 409, "not_holder", "none");
	assert_problem(extend(token, TTL_MS), 409, "not_holder", "none");
	assert_problem(release(token), 409, "not_holder", "none");
	assert_int_equal(holds(), 1);
}

static void metadata_comes_back_as_it_went(void **state)
{
	static const char *const values[] = {
		"{\"job\":\"nightly\",\"n\":[1,2.5,-3e-7,true,null,{}]}",
		"[]",
		"\"caf\\u00e9 \\\"\\n\\ud83d\\ude00\"",
		"9007199254740991",
		"0.1",
		"false",
		"0",
		"\"\"",
		"null",
	};
	char body[160];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		json_t *wanted = json_loads(values[i], JSON_DECODE_ANY, NULL);
		stage_forget(NULL);
		snprintf(body, sizeof(body), "{\"metadata\":%s}", values[i]);
		assert_status(acquire(body), 201);
		assert_true(json_equal(json_at(look(), "/holders/0/metadata"), wanted));
		json_decref(wanted);
	}
}

/* GET returns the metadata of 16 readers at once. */
static void metadata_is_bounded(void **state)
{
	enum { MOST = 65536, READERS = 16 };
	char *body = NULL;

	(void)state;
	for (int i = 0; i <= READERS; i++) {
		int size = MOST - 2 + (i == READERS); /* and the quotes */
		assert_true(asprintf(&body, "{\"mode\":\"shared\",\"metadata\":\"%0*d\"}", size, 0) > 0);
		struct answer a = acquire(body);
		free(body);
		if (i < READERS) {
			assert_status(a, 201);
			continue;
		}
		assert_problem(a, 400, "out_of_range", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), "/metadata");
	}
	struct answer seen = look();
	assert_status(seen, 200);
	assert_int_equal(strlen(text_at(seen, "/holders/15/metadata")), MOST - 2);
}

/* ---- Extending, releasing ---- */

static void extend_sets_what_is_left(void **state)
{
	(void)state;
	struct answer taken = acquire(a_minute);
	const char *token = text_at(taken, "/token");
	static const int ttls[] = { 86400000, 120000, 5000, 60000 };
	for (size_t i = 0; i < sizeof(ttls) / sizeof(*ttls); i++) {
		struct answer a = extend(token, ttls[i]);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/name"), "a");
		assert_int_equal(int_at(a, "/ttl_ms"), ttls[i]);
		assert_int_equal(int_at(a, "/holds"), 1);
		assert_int_equal(int_at(a, "/fence"), int_at(taken, "/fence"));
		assert_int_equal(server_command(&redis, "PEXPIRETIME p:lock:{a}")->integer,
				 int_at(a, "/expires_at_ms"));
	}
	assert_status(extend(token, 1), 200);
	wait_until(is_free(), SOON_MS);
	assert_problem(extend(token, TTL_MS), 409, "not_holder",
		       "none"); /* no other client acquired it since: not revived all the same */
	assert_true(is_free());
}

/* Not in a query, which proxies log. */
static void the_token_comes_in_the_header(void **state)
{
	char text[96];

	(void)state;
	const char *token = text_at(acquire(a_minute), "/token");
	struct answer none[] = { http(client, "DELETE", "/locks/a", NULL),
				 http(client, "POST", "/locks/a/extend", a_minute) };
	for (size_t i = 0; i < 2; i++) {
		assert_problem(none[i], 400, "missing_field", "none");
		assert_string_equal(text_at(none[i], "/errors/0/pointer"), "Lock-Token:");
	}
	snprintf(text, sizeof(text), "/locks/a?token=%s", token);
	assert_problem(http(client, "DELETE", text, NULL), 400, "unknown_field", "none");
	snprintf(text, sizeof(text), "{\"token\":\"%s\"}", token);
	assert_problem(acquire(text), 400, "unknown_field", "none");
	assert_problem(http(client, "POST", "/locks/a/extend", text, lock_token(token)), 400, "unknown_field", "none");
	assert_problem(release("ffff"), 409, "not_holder", "none");
	assert_false(is_free());
	assert_status(release(token), 200);
	assert_true(is_free());
}

/* One value of 1 to 200 bytes of UTF-8: else 400, and nothing is acquired, extended or released. */
static void any_value_of_the_header_is_answered(void **state)
{
	static const struct {
		const char *value;
		int status; /* 409: it may be a token, but holds nothing */
		const char *code;
	} rows[] = {
		{ "x", 409, "not_holder" },
		{ "caf\xc3\xa9", 409, "not_holder" },
		{ "%2F{}\"\\, x", 409, "not_holder" },
		{ "\xff\xfe", 400, "invalid_value" },
		{ "a\x01"
		  "b",
		  400, "malformed_request" },
		{ OF_200, 409, "not_holder" },
		{ OF_200 "x", 400, "out_of_range" },
	};

	(void)state;
	struct answer taken = acquire(a_minute);
	const char *token = text_at(taken, "/token");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_problem(enter(rows[i].value), rows[i].status, rows[i].code, "none");
		assert_problem(extend(rows[i].value, 1), rows[i].status, rows[i].code, "none");
		assert_problem(release(rows[i].value), rows[i].status, rows[i].code, "none");
	}
	struct answer empty[] = { http(client, "POST", "/locks/a", NULL,
				       "Lock-Token;"), /* curl's form of an empty one */
				  http(client, "POST", "/locks/a/extend", NULL, "Lock-Token;"),
				  http(client, "DELETE", "/locks/a", NULL, "Lock-Token;") };
	for (size_t i = 0; i < 3; i++)
		assert_problem(empty[i], 400, "out_of_range", "none");
	/* Which of two counts would depend on the proxies between. */
	assert_problem(http(client, "DELETE", "/locks/a", NULL, lock_token(token), "Lock-Token: x"), 400,
		       "malformed_request", "none");
	assert_int_equal(holds(), 1);
	assert_int_equal(int_at(look(), "/expires_at_ms"), int_at(taken, "/expires_at_ms"));
}

/* Ignored, the request would wait for its own client. */
static void the_header_is_refused_where_it_means_nothing(void **state)
{
	static const char *const rows[][2] = { { "/locks/a/hold", "{}" }, { "/locks", "{\"names\":[\"a\"]}" } };

	(void)state;
	const char *token = text_at(acquire(a_minute), "/token");
	for (size_t i = 0; i < 2; i++) {
		struct answer a = http(client, "POST", rows[i][0], rows[i][1], lock_token(token));
		assert_problem(a, 400, "invalid_value", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), "Lock-Token:");
	}
	assert_int_equal(http(client, "GET", "/locks/a", NULL, lock_token(token)).status, 200);
	assert_int_equal(holds(), 1);
}

/* Its client, which lost the answer, learns that its hold was released; no other client does. */
static void the_last_holder_may_release_again(void **state)
{
	static const char freed[] = "{\"name\":\"a\",\"holds\":0,\"held\":false}\n";

	(void)state;
	const char *token = text_at(acquire(a_minute), "/token"), *second = text_at(enter(token), "/token");
	for (int i = 0; i < 3; i++)
		assert_string_equal(release(token).body, "{\"name\":\"a\",\"holds\":1,\"held\":true}\n");
	for (int i = 0; i < 3; i++) {
		struct answer a = release(second);
		assert_status(a, 200);
		assert_string_equal(a.body, freed);
	}
	assert_in_range(server_command(&redis, "PTTL p:lock:{a}:released")->integer, 50000, 60000);
	assert_problem(release(token), 409, "not_holder", "none");
	assert_problem(http(client, "DELETE", "/locks/a?force=true", NULL), 409, "not_holder", "none");
	assert_problem(extend(second, TTL_MS), 409, "not_holder", "none");
	const char *other = text_at(acquire(a_minute), "/token");
	for (int i = 0; i < 2; i++) /* it was released, also when another client holds it by now */
		assert_string_equal(release(second).body, "{\"name\":\"a\",\"holds\":0,\"held\":true}\n");
	assert_int_equal(holds(), 1);
	assert_string_equal(release(other).body, freed);
	assert_problem(release(second), 409, "not_holder", "none"); /* the last release is another one */
	assert_string_equal(release(other).body, freed);
	server_command(&redis, "PEXPIRE p:lock:{a}:released 0"); /* the minute */
	assert_problem(release(other), 409, "not_holder", "none");
}

static void force_releases_any_hold(void **state)
{
	static const struct {
		const char *target, *header, *code;
	} refused[] = {
		{ "/locks/a?force=true", "Lock-Token: x", "invalid_value" },
		{ "/locks/a?force=false", NULL, "missing_field" },
		{ "/locks/a?force=yes", NULL, "wrong_type" },
		{ "/locks/a?force=", NULL, "wrong_type" },
	};

	(void)state;
	struct answer taken = acquire("{\"ttl_ms\":60000,\"owner\":\"worker-7\"}");
	const char *token = text_at(taken, "/token");
	assert_status(enter(token), 200);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		assert_problem(http(client, "DELETE", refused[i].target, NULL, refused[i].header), 400, refused[i].code,
			       "none");
	assert_int_equal(holds(), 2);
	struct answer a = http(client, "DELETE", "/locks/a?force=true", NULL);
	assert_status(a, 200);
	assert_string_equal(a.body, "{\"name\":\"a\",\"holds\":0,\"held\":false}\n");
	assert_true(is_free());
	assert_int_equal(int_at(look(), "/fence"), int_at(taken, "/fence"));
	assert_problem(http(client, "DELETE", "/locks/a?force=true", NULL), 409, "not_holder", "none");
	assert_problem(extend(token, TTL_MS), 409, "not_holder", "none");
	assert_problem(release(token), 409, "not_holder", "none");
	a = acquire(a_minute);
	assert_status(a, 201);
	assert_true(int_at(a, "/fence") > int_at(taken, "/fence"));
	assert_status(http(client, "DELETE", "/locks/a?force=false", NULL, "Lock-Token: none"), 409);
}

/* ---- Fences ---- */

static void fence_rises_whatever_became_of_the_last(void **state)
{
	(void)state;
	struct answer a = acquire(a_minute);
	int64_t last = int_at(a, "/fence");
	release(text_at(a, "/token"));

	a = acquire(a_moment);
	assert_true(int_at(a, "/fence") > last);
	last = int_at(a, "/fence");
	wait_until(is_free(), SOON_MS); /* expired */
	assert_int_equal(int_at(look(), "/fence"), last);

	a = acquire(a_minute);
	assert_true(int_at(a, "/fence") > last);
	last = int_at(a, "/fence");
	const char *token = text_at(a, "/token");
	daemon_kill(&patternd);
	daemon_start(&patternd, "--redis", redis.url);
	struct client *before = client;
	client = client_open(patternd.port);
	assert_problem(acquire(a_minute), 409, "lock_held", "none"); /* a crash of the daemon releases nothing */
	assert_status(release(token), 200);                          /* and takes no token from its holder */
	client_close(before);
	a = acquire(a_minute);
	assert_true(int_at(a, "/fence") > last);
	last = int_at(a, "/fence");

	server_command(&redis, "DEL p:lock:{a} p:lock:{a}:fence"); /* as a failover may lose both */
	assert_true(int_at(acquire(a_minute), "/fence") > last);

	server_command(&redis, "DEL p:lock:{a}");
	server_command(&redis, "SET p:lock:{a}:fence 9007199254740000"); /* as after a clock that was ahead */
	assert_int_equal(int_at(acquire(a_minute), "/fence"), INT64_C(9007199254740001));
}

/* ---- Looks ---- */

static void look_at_a_lock_free_and_held(void **state)
{
	(void)state;
	struct answer a = look();
	assert_status(a, 200);
	assert_string_equal(a.body, "{\"name\":\"a\",\"held\":false,\"mode\":null,\"fence\":null,\"ttl_ms\":null,"
				    "\"expires_at_ms\":null,\"waiter_count\":0,\"holder_count\":0,\"holders\":[]}\n");
	struct answer taken = acquire("{\"ttl_ms\":60000,\"owner\":\"worker-7\",\"metadata\":{\"job\":1}}");
	a = look();
	assert_true(bool_at(a, "/held"));
	assert_string_equal(text_at(a, "/mode"), "exclusive");
	assert_int_equal(json_array_size(json_at(a, "/holders")), 1);
	assert_string_equal(text_at(a, "/holders/0/owner"), "worker-7");
	for (int i = 0; i < 2; i++) {
		const char *const of[] = { "", "/holders/0" };
		char pointer[2][64];
		snprintf(pointer[0], sizeof(pointer[0]), "%s/fence", of[i]);
		snprintf(pointer[1], sizeof(pointer[1]), "%s/expires_at_ms", of[i]);
		assert_int_equal(int_at(a, pointer[0]), int_at(taken, "/fence"));
		assert_int_equal(int_at(a, pointer[1]), int_at(taken, "/expires_at_ms"));
	}
	assert_in_range(int_at(a, "/ttl_ms"), 1, TTL_MS);
	assert_int_equal(int_at(a, "/holders/0/ttl_ms"), int_at(a, "/ttl_ms"));
	assert_int_equal(int_at(a, "/holders/0/metadata/job"), 1);
	assert_null(strstr(a.body, text_at(taken, "/token")));
	assert_int_equal(http(client, "HEAD", "/locks/a", NULL).status, 200);
}

static void list_shows_what_is_held(void **state)
{
	(void)state;
	assert_string_equal(http(client, "GET", "/locks", NULL).body,
			    "{\"items\":[],\"next_cursor\":null,\"complete\":true}\n");
	struct answer taken = acquire("{\"ttl_ms\":60000,\"owner\":\"worker-7\"}");
	enter(text_at(taken, "/token"));
	struct answer gone = http(client, "POST", "/locks/b", a_minute); /* released: its fence stays, and is no lock */
	assert_status(http(client, "DELETE", "/locks/b", NULL, lock_token(text_at(gone, "/token"))), 200);
	struct answer a = http(client, "GET", "/locks", NULL);
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	assert_string_equal(text_at(a, "/items/0/name"), "a");
	assert_string_equal(text_at(a, "/items/0/holders/0/owner"), "worker-7");
	assert_int_equal(int_at(a, "/items/0/holders/0/holds"), 2);
	assert_int_equal(int_at(a, "/items/0/fence"), int_at(taken, "/fence"));
	assert_in_range(int_at(a, "/items/0/ttl_ms"), 1, TTL_MS);
	assert_int_equal(int_at(a, "/items/0/waiter_count"), 0);
	assert_null(strstr(a.body, text_at(taken, "/token")));
	assert_int_equal(json_array_size(json_at(http(client, "GET", "/locks?match=b*", NULL), "/items")), 0);
}

static void names_of_all_kinds(void **state)
{
	static const char *const rows[][2] = {
		{ "a%2Fb", "a/b" },
		{ "caf%C3%A9", "café" },
		{ "%E9%94%81%20%F0%9F%94%92", "锁 🔒" },
		{ "a:fence", "a:fence" },
		{ "...", "..." },
		{ "%25", "%" },
		{ "*", "*" },
	};
	static const char *const reserved[][3] = {
		{ "POST", "/locks/.", NULL },
		{ "GET", "/locks/%2E%2E", NULL },
		{ "DELETE", "/locks/..?force=true", NULL },
		{ "POST", "/locks/%2e/extend", NULL },
		{ "POST", "/locks/acquire", NULL },
		{ "POST", "/locks", "{\"names\":[\"a\",\"acquire\"]}" },
	};
	char target[96];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(target, sizeof(target), "/locks/%s", rows[i][0]);
		assert_string_equal(text_at(http(client, "POST", target, a_minute), "/name"), rows[i][1]);
		assert_problem(http(client, "POST", target, a_minute), 409, "lock_held", "none");
		assert_true(bool_at(http(client, "GET", target, NULL), "/held"));
	}
	assert_true(is_free());
	struct answer a = http_all(client, "/locks");
	assert_int_equal(json_array_size(json_at(a, "/items")), sizeof(rows) / sizeof(*rows));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_non_null(strstr(a.body, rows[i][1]));
	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		assert_problem(http(client, reserved[i][0], reserved[i][1], reserved[i][2]), 400, "reserved_name",
			       "none");
}

static void foreign_keys_are_reported_and_kept(void **state)
{
	(void)state;
	server_command(&redis, "SET p:lock:{a} mine");
	assert_problem(acquire(NULL), 500, "foreign_key", "none");
	assert_problem(look(), 500, "foreign_key", "none");
	assert_problem(release("x"), 500, "foreign_key", "none");
	assert_string_equal(server_command(&redis, "GET p:lock:{a}")->str, "mine");
	server_command(&redis, "DEL p:lock:{a}");
	server_command(&redis, "HSET p:lock:{a}:fence mine 1");
	assert_problem(acquire(NULL), 500, "foreign_key", "none");
	assert_int_equal(server_command(&redis, "EXISTS p:lock:{a}")->integer, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_free_lock_is_taken, stage_forget),
		cmocka_unit_test_teardown(all_of_a_request_may_be_left_out, stage_forget),
		cmocka_unit_test_teardown(a_refusal_has_the_holder_and_its_time, stage_forget),
		cmocka_unit_test_teardown(each_entry_has_a_token_of_its_own, stage_forget),
		cmocka_unit_test_teardown(a_token_that_holds_nothing_takes_nothing, stage_forget),
		cmocka_unit_test_teardown(metadata_comes_back_as_it_went, stage_forget),
		cmocka_unit_test_teardown(metadata_is_bounded, stage_forget),
		cmocka_unit_test_teardown(extend_sets_what_is_left, stage_forget),
		cmocka_unit_test_teardown(the_token_comes_in_the_header, stage_forget),
		cmocka_unit_test_teardown(any_value_of_the_header_is_answered, stage_forget),
		cmocka_unit_test_teardown(the_header_is_refused_where_it_means_nothing, stage_forget),
		cmocka_unit_test_teardown(the_last_holder_may_release_again, stage_forget),
		cmocka_unit_test_teardown(force_releases_any_hold, stage_forget),
		cmocka_unit_test_teardown(fence_rises_whatever_became_of_the_last, stage_forget),
		cmocka_unit_test_teardown(look_at_a_lock_free_and_held, stage_forget),
		cmocka_unit_test_teardown(list_shows_what_is_held, stage_forget),
		cmocka_unit_test_teardown(names_of_all_kinds, stage_forget),
		cmocka_unit_test_teardown(foreign_keys_are_reported_and_kept, stage_forget),
	};

	return cmocka_run_group_tests_name("locks", tests, stage_open, stage_close);
}
