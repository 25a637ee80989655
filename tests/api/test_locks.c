/*
 * Locks over HTTP: a token and its fence, many readers, waiters for several, lists. (The exact
 * rules of a lock: the tests of its scripts. Retries and secrecy: test_locks_replays.c.)
 */
#include "stage.h"
#include "test.h"
#include "waiter.h"

enum { TTL_MS = 60000, SOON_MS = 5000 };

static const char a_minute[] = "{\"ttl_ms\":60000}";

/* ---- Requests ---- */

static struct answer acquire(const char *body)
{
	return http(client, "POST", "/locks/a", body);
}

static struct answer enter(const char *token)
{
	return http(client, "POST", "/locks/a", a_minute, lock_token(token));
}

static struct answer look(void)
{
	return http(client, "GET", "/locks/a", NULL);
}

static struct answer release_of(const char *target, const char *token)
{
	return http(client, "DELETE", target, NULL, lock_token(token));
}

static struct answer release(const char *token)
{
	return release_of("/locks/a", token);
}

/* ---- Acquiring ---- */

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(a_free_lock_is_taken)
{
	int64_t before_us = server_now_us(&redis);
	struct answer a = acquire("{\"ttl_ms\":60000,\"owner\":\"worker-7\"}");
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/name"), "a");
	assert_int_equal(strspn(text_at(a, "/token"), "0123456789abcdef"), 32);
	assert_int_equal(strlen(text_at(a, "/token")), 32);
	assert_in_range(int_at(a, "/fence"), before_us, before_us + 60000000);
	assert_string_equal(text_at(a, "/owner"), "worker-7");
	assert_string_equal(text_at(a, "/mode"), "exclusive");
	assert_int_equal(int_at(a, "/holds"), 1);
	assert_int_equal(int_at(a, "/ttl_ms"), TTL_MS);
	assert_int_equal(server_command(&redis, "PEXPIRETIME p:lock:{a}")->integer, int_at(a, "/expires_at_ms"));
	assert_int_equal(int_at(a, "/waited_ms"), 0);
	assert_string_equal(text_at(a, "/safety/mode"), "single");
	assert_string_equal(header_of(a, "Cache-Control"), "no-store");
}

/* GET returns the metadata of 16 readers at once. */
TEST(metadata_is_bounded)
{
	enum { MOST = 65536, READERS = 16 };
	char *body = NULL;

	for (int i = 0; i <= READERS; i++) {
		int size = MOST - 2 + (i == READERS); /* plus the two quotes */
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

/* ---- Readers ---- */

TEST(readers_are_beside_each_other)
{
	struct answer a = acquire("{\"mode\":\"shared\",\"owner\":\"a\",\"ttl_ms\":60000}"),
		      b = acquire("{\"mode\":\"shared\",\"owner\":\"b\"}");
	assert_status(a, 201);
	assert_status(b, 201);
	assert_string_equal(text_at(b, "/mode"), "shared");
	assert_true(int_at(b, "/fence") > int_at(a, "/fence"));
	assert_string_not_equal(text_at(a, "/token"), text_at(b, "/token"));
	struct answer both = look();
	assert_int_equal(json_array_size(json_at(both, "/holders")), 2);
	assert_int_equal(int_at(both, "/holders/0/holds"), 1);
	assert_int_equal(int_at(both, "/expires_at_ms"), int_at(both, "/holders/1/expires_at_ms"));
	assert_string_equal(text_at(both, "/holders/0/owner"), "b"); /* the first to expire */
	assert_in_range(int_at(both, "/holders/1/ttl_ms"), 50000, 60000);
	struct answer writer = acquire("{}");
	assert_problem(writer, 409, "lock_held", "none");
	assert_string_equal(text_at(writer, "/holders/1/owner"), "a");
	assert_string_equal(text_at(get("/locks"), "/items/0/mode"), "shared");
	for (int i = 0; i < 2; i++) /* `holds` counts the caller's holds only */
		assert_string_equal(release(text_at(a, "/token")).body, "{\"name\":\"a\",\"holds\":0,\"held\":true}\n");
	for (int i = 0; i < 2; i++)
		assert_string_equal(release(text_at(b, "/token")).body,
				    "{\"name\":\"a\",\"holds\":0,\"held\":false}\n");
	assert_problem(release(text_at(a, "/token")), 409, "not_holder", "none");
	assert_status(acquire("{\"mode\":\"shared\"}"), 201);
	assert_string_equal(release(text_at(b, "/token")).body, "{\"name\":\"a\",\"holds\":0,\"held\":true}\n");
}

TEST(readers_beyond_the_list_are_counted)
{
	enum { READERS = 20, LISTED = 16 };

	for (int i = 1; i < READERS; i++)
		assert_status(acquire("{\"mode\":\"shared\",\"ttl_ms\":60000}"), 201);
	struct answer last = acquire("{\"mode\":\"shared\",\"ttl_ms\":80000}");
	assert_status(http(client, "POST", "/locks/a", "{\"ttl_ms\":80000}", lock_token(text_at(last, "/token"))), 200);
	struct answer state_of = look(), list = get("/locks"), refused = acquire("{}");
	assert_int_equal(int_at(state_of, "/holder_count"), READERS);
	assert_int_equal(json_array_size(json_at(state_of, "/holders")), LISTED);
	assert_int_equal(int_at(list, "/items/0/holder_count"), READERS);
	assert_problem(refused, 409, "lock_held", "none");
	assert_int_equal(int_at(refused, "/holder_count"), READERS);
	assert_int_equal(json_array_size(json_at(refused, "/holders")), LISTED);
	assert_in_range(int_at(refused, "/retry_after_ms"), 60001, 80000); /* until the last one expires */
	assert_non_null(strstr(text_at(refused, "/detail"), "'a' is shared by 20 clients for another "));
}

/* ---- Several ---- */

static bool wait_for_both(int count)
{
	return int_at(look(), "/waiter_count") == count && int_at(get("/locks/b"), "/waiter_count") == count;
}

/* The waiter is in both queues. A free lock is reserved for it until it leaves. */
TEST(a_waiter_for_several_is_in_each_queue)
{
	if (redis.cluster)
		skip(); /* over several slots a waiter is in one queue at a time: test_locks_slots.c */
	for (int leaves = 0; leaves < 2; leaves++) {
		struct answer a = acquire("{}");
		struct raw *r = waiter_at(&patternd, "/locks", "{\"names\":[\"a\",\"b\"],\"wait_ms\":20000}", "");
		wait_until(wait_for_both(1), SOON_MS);
		struct answer b = post("/locks/b", "{}");
		assert_problem(b, 409, "lock_held", "none");
		assert_int_equal(json_array_size(json_at(b, "/holders")), 0);
		if (leaves) {
			raw_reset(r);
		} else {
			release(text_at(a, "/token"));
			assert_status(raw_answer(r, SOON_MS), 201);
			raw_close(r);
		}
		wait_until(wait_for_both(0), SOON_MS);
		assert_int_equal(bool_at(get("/locks/b"), "/held"), !leaves);
		stage_forget(NULL);
	}
}

/* One row per operation that waits. (Other effects of a key on waiters: test_wait_many.c.) */
TEST(a_duplicate_of_a_waiter_is_refused)
{
	static const char key[] = "Idempotency-Key: k";
	static const struct {
		const char *target, *held, *state, *wait, *other;
	} rows[] = {
		{ "/locks/a", "{}", "/locks/a", "{\"wait_ms\":20000}", "{}" },
		{ "/locks", "{\"names\":[\"a\"]}", "/locks/a", "{\"names\":[\"a\"],\"wait_ms\":20000}",
		  "{\"names\":[\"a\"]}" },
		{ "/semaphores/s/permits", "{\"limit\":1}", "/semaphores/s", "{\"limit\":1,\"wait_ms\":20000}",
		  "{\"limit\":1}" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_status(post(rows[i].target, rows[i].held), 201);
		struct raw *r = waiter_at(&patternd, rows[i].target, rows[i].wait, "Idempotency-Key: k\r\n");
		wait_until(int_at(get(rows[i].state), "/waiter_count") == 1, SOON_MS);
		assert_problem(http(client, "POST", rows[i].target, rows[i].wait, key), 409, "request_in_progress",
			       "none");
		assert_problem(http(client, "POST", rows[i].target, rows[i].other, key), 422, "idempotency_key_reused",
			       "none");
		raw_reset(r);
		wait_until(int_at(get(rows[i].state), "/waiter_count") == 0, SOON_MS);
		stage_forget(NULL);
	}
}

/* ---- GET and lists ---- */

TEST(list_shows_what_is_held)
{
	struct answer taken = acquire("{\"ttl_ms\":60000,\"owner\":\"worker-7\"}");
	enter(text_at(taken, "/token"));
	struct answer gone = http(client, "POST", "/locks/b", a_minute); /* after its release, only its fence remains */
	assert_status(http(client, "DELETE", "/locks/b", NULL, lock_token(text_at(gone, "/token"))), 200);
	struct answer a = http(client, "GET", "/locks", NULL);
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/holders/0/owner"), "worker-7");
	assert_int_equal(int_at(a, "/items/0/holders/0/holds"), 2);
	assert_null(strstr(a.body, text_at(taken, "/token")));
}
