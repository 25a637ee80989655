/*
 * Locks over HTTP with clients that retry, daemons that compete for one Redis, and readers of its
 * data. (What a lock is: test_locks.c.)
 */
#include "daemon.h"
#include "http.h"
#include "redis_server.h"
#include "test.h"

enum { SOON_MS = 5000 };

#define KEY "Idempotency-Key: "

static const char a_minute[] = "{\"ttl_ms\":60000}";

static struct redis_server redis;
static struct daemon patternd[2];
static struct client *client, *other_client; /* clients of the first and the second daemon */

static int start(void **state)
{
	server_start(&redis, "--rdbcompression", "no");
	for (int i = 0; i < 2; i++)
		daemon_start(&patternd[i], "--redis", redis.url, "--log-level", "debug");
	client = client_open(patternd[0].port);
	other_client = client_open(patternd[1].port);
	return 0;
}

static int stop(void **state)
{
	client_close(client);
	client_close(other_client);
	for (int i = 0; i < 2; i++)
		daemon_stop(&patternd[i]);
	server_stop(&redis);
	return 0;
}

static int forget_all(void **state)
{
	server_command(&redis, "FLUSHALL");
	return 0;
}

static struct answer acquire(const char *body, const char *key_header)
{
	return http(client, "POST", "/locks/a", body, key_header);
}

static struct answer extend(const char *token, int ttl_ms, const char *key_header)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"ttl_ms\":%d}", ttl_ms);
	return key_header ? http(client, "POST", "/locks/a/extend", body, lock_token(token), key_header)
			  : http(client, "POST", "/locks/a/extend", body, lock_token(token));
}

static struct answer release(const char *token)
{
	return http(client, "DELETE", "/locks/a", NULL, lock_token(token));
}

static struct answer enter(const char *token, const char *key_header)
{
	return http(client, "POST", "/locks/a", NULL, lock_token(token), key_header);
}

static bool is_free(void)
{
	return !bool_at(http(client, "GET", "/locks/a", NULL), "/held");
}

/* ---- Replays ---- */

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(a_retry_gets_the_first_token_and_less_time)
{
	struct client *const clients[] = { client, other_client };

	struct answer first = acquire(a_minute, KEY "one"), again;
	assert_status(first, 201);
	wait_until((again = acquire(a_minute, KEY "\"one\""), int_at(again, "/ttl_ms") < 60000), SOON_MS);
	for (int i = 0; i < 2; i++) {
		struct answer a = http(clients[i], "POST", "/locks/a", a_minute, KEY "one");
		assert_status(a, 201);
		assert_string_equal(text_at(a, "/token"), text_at(first, "/token"));
		assert_int_equal(int_at(a, "/fence"), int_at(first, "/fence"));
		assert_int_equal(int_at(a, "/expires_at_ms"), int_at(first, "/expires_at_ms"));
		assert_true(int_at(a, "/ttl_ms") <= int_at(again, "/ttl_ms"));
		assert_int_equal(int_at(a, "/holds"), 1);
	}
	assert_int_equal(int_at(http(client, "GET", "/locks/a", NULL), "/holders/0/holds"), 1);
	assert_problem(acquire("{\"ttl_ms\":60001}", KEY "one"), 422, "idempotency_key_reused", "none");
	assert_problem(acquire(a_minute, KEY "two"), 409, "lock_held", "none");
	assert_int_equal(int_at(release(text_at(again, "/token")), "/holds"), 0);
}

TEST(a_key_is_one_locks_own)
{
	struct answer a = acquire(a_minute, KEY "one"), b = http(client, "POST", "/locks/b", a_minute, KEY "one");
	assert_status(b, 201);
	assert_string_equal(text_at(b, "/name"), "b");
	assert_string_not_equal(text_at(a, "/token"), text_at(b, "/token"));
	struct answer e = extend(text_at(a, "/token"), 70000, KEY "one"); /* each operation has its own keys */
	assert_status(e, 200);
	assert_int_equal(int_at(e, "/ttl_ms"), 70000);
}

TEST(a_retried_entry_enters_once)
{
	const char *token = text_at(acquire(a_minute, KEY "one"), "/token");
	struct answer first = enter(token, KEY "two"), again = enter(token, KEY "two");
	assert_status(first, 200);
	assert_status(again, 200);
	assert_string_equal(text_at(again, "/token"), text_at(first, "/token"));
	assert_int_equal(int_at(again, "/holds"), 2);
	assert_int_equal(int_at(http(client, "GET", "/locks/a", NULL), "/holders/0/holds"), 2);
}

TEST(a_retried_extend_extends_once)
{
	const char *token = text_at(acquire(a_minute, KEY "one"), "/token");
	assert_status(extend(token, 70000, KEY "e"), 200);
	struct answer longer = extend(token, 100000, KEY "f"), again = extend(token, 70000, KEY "e");
	assert_int_equal(int_at(again, "/expires_at_ms"), int_at(longer, "/expires_at_ms")); /* the present expiry */
	assert_true(int_at(http(client, "GET", "/locks/a", NULL), "/ttl_ms") > 70000);
	assert_problem(extend(token, 70001, KEY "e"), 422, "idempotency_key_reused", "none");
	assert_status(extend(token, 1, KEY "g"), 200);
	wait_until(is_free(), SOON_MS);
	assert_problem(extend(token, 1, KEY "g"), 409, "not_holder", "applied");
}

/*
 * The Lock-Token header is part of the request, as the body is. With another token, or without one,
 * a used key is refused: a client never gets the answer of another holder.
 */
TEST(a_key_belongs_to_the_lock_token_it_came_with)
{
	const char *first = text_at(acquire(a_minute, KEY "one"), "/token"),
		   *second = text_at(enter(first, KEY "two"), "/token");
	const char *const others[] = { second, "x" };

	for (size_t i = 0; i < 2; i++) {
		assert_problem(enter(others[i], KEY "two"), 422, "idempotency_key_reused", "none");
		assert_problem(enter(others[i], KEY "one"), 422, "idempotency_key_reused", "none");
	}
	assert_problem(acquire(NULL, KEY "two"), 422, "idempotency_key_reused", "none");
	assert_string_equal(text_at(enter(first, KEY "two"), "/token"), second);
	assert_status(extend(first, 70000, KEY "e"), 200);
	for (size_t i = 0; i < 2; i++)
		assert_problem(extend(others[i], 70000, KEY "e"), 422, "idempotency_key_reused", "none");
	assert_status(extend(first, 70000, KEY "e"), 200);
	assert_int_equal(int_at(http(client, "GET", "/locks/a", NULL), "/holders/0/holds"), 2);
}

/* ---- What others may read ---- */

static bool holds_text(const redisReply *r, const char *text)
{
	bool found = r->str && memmem(r->str, r->len, text, strlen(text));

	for (size_t i = 0; i < r->elements && !found; i++)
		found = holds_text(r->element[i], text);
	return found;
}

/* True if the text is in a key's name, or in its value as DUMP returns it. */
static bool redis_keeps(const char *text)
{
	redisReply *keys = server_command(&redis, "KEYS *");
	redis.reply = NULL; /* keep this reply while other commands are sent */
	bool found = holds_text(keys, text);

	for (size_t i = 0; i < keys->elements && !found; i++)
		found = holds_text(server_command(&redis, "DUMP %b", keys->element[i]->str, keys->element[i]->len),
				   text);
	freeReplyObject(keys);
	return found;
}

/* No token is in Redis's data, in the commands that Redis got, or in the log. */
TEST(a_token_is_returned_to_its_holder_only)
{
	const char *tokens[3];

	server_command(&redis, "CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 10000");
	tokens[0] =
		text_at(acquire("{\"ttl_ms\":60000,\"owner\":\"me\",\"metadata\":[1]}", "X-Request-ID: r1"), "/token");
	tokens[1] = text_at(enter(tokens[0], KEY "one"), "/token");
	assert_status(enter(tokens[0], KEY "one"), 200);
	assert_status(extend(tokens[1], 60000, KEY "two"), 200);
	tokens[2] = text_at(http(client, "POST", "/locks/b", a_minute, KEY "three"), "/token");
	assert_status(http(client, "POST", "/locks/b", a_minute, KEY "three"), 201);
	assert_status(release(tokens[1]), 200);
	assert_status(http(client, "DELETE", "/locks/a", NULL, lock_token(tokens[0]), "X-Request-ID: the-last"), 200);
	wait_until(proc_wrote(&patternd[0].proc, "the-last"), SOON_MS);
	for (int i = 0; i < 3; i++) {
		assert_false(redis_keeps(tokens[i]));
		assert_false(holds_text(server_command(&redis, "SLOWLOG GET -1"), tokens[i]));
		assert_false(proc_wrote(&patternd[0].proc, tokens[i]));
	}
	/* The search itself works: it finds a token that is there. */
	server_command(&redis, "HSET control %s 1", tokens[0]);
	assert_true(redis_keeps(tokens[0]));
	assert_true(holds_text(server_command(&redis, "SLOWLOG GET -1"), tokens[0]));
	server_command(&redis, "CONFIG SET slowlog-log-slower-than -1");
}

/* A token from one daemon is valid at the other. */
TEST(a_token_is_good_at_any_daemon)
{
	const char *token = text_at(http(client, "POST", "/locks/a", a_minute), "/token"), *header = lock_token(token);
	assert_problem(http(other_client, "POST", "/locks/a", a_minute), 409, "lock_held", "none");
	assert_status(http(other_client, "POST", "/locks/a", NULL, header), 200);
	assert_status(http(other_client, "POST", "/locks/a/extend", NULL, header), 200);
	assert_int_equal(int_at(http(other_client, "DELETE", "/locks/a", NULL, header), "/holds"), 1);
	assert_int_equal(int_at(release(token), "/holds"), 1); /* the same release, repeated through the other daemon */
}
