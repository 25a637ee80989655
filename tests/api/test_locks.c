/*
 * Locks over HTTP: acquiring, tokens, fences, readers, several locks at once, GET and lists. (The
 * exact rules of a lock: the tests of its scripts. Retries and secrecy: test_locks_replays.c.)
 */
#include "stage.h"
#include "test.h"
#include "waiter.h"

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

TEST(all_of_a_request_may_be_left_out)
{
	struct answer a = acquire(NULL);
	assert_status(a, 201);
	assert_int_equal(int_at(a, "/ttl_ms"), 30000);
	assert_true(json_is_null(json_at(a, "/owner")));
}

TEST(a_refusal_has_the_holder_and_its_time)
{
	static const struct {
		int ttl_ms, retry_after;
	} rows[] = { { 60000, 60 }, { 30500, 31 }, { 30001, 31 }, { 900, 1 } };
	char body[96];

	for (size_t i = 0; i < COUNT(rows); i++) {
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
	nap_ms(int_at(look(), "/ttl_ms") + 1); /* after the last row's ttl the lock is free */
	assert_status(acquire(a_minute), 201);
}

TEST(each_entry_has_a_separate_token)
{
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
}

/* An expired or unknown token neither creates a lock nor enters one. */
TEST(a_token_that_holds_nothing_takes_nothing)
{
	const char *token = text_at(acquire(a_moment), "/token");
	wait_until(is_free(), SOON_MS);
	assert_problem(enter(token), 409, "not_holder", "none");
	assert_problem(extend(OF_200, TTL_MS), 409, "not_holder", "none");
	assert_problem(release("caf\xc3\xa9"), 409, "not_holder", "none");
	assert_true(is_free());
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

/* ---- Extending, releasing ---- */

TEST(extend_sets_what_is_left)
{
	struct answer taken = acquire(a_minute);
	const char *token = text_at(taken, "/token");
	struct answer a = extend(token, 86400000);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "a");
	assert_int_equal(int_at(a, "/ttl_ms"), 86400000);
	assert_int_equal(int_at(a, "/holds"), 1);
	assert_int_equal(int_at(a, "/fence"), int_at(taken, "/fence"));
	assert_int_equal(server_command(&redis, "PEXPIRETIME p:lock:{a}")->integer, int_at(a, "/expires_at_ms"));
}

/* A token in the query is refused, since proxies log queries. */
TEST(the_token_comes_in_the_header)
{
	char text[96];

	const char *token = text_at(acquire(a_minute), "/token");
	struct answer none = http(client, "DELETE", "/locks/a", NULL); /* without a token and without force */
	assert_problem(none, 400, "missing_field", "none");
	assert_string_equal(text_at(none, "/errors/0/pointer"), "Lock-Token:");
	snprintf(text, sizeof(text), "/locks/a?token=%s", token);
	assert_problem(http(client, "DELETE", text, NULL), 400, "unknown_field", "none");
	assert_problem(http(client, "POST", "/locks/report", "{\"ttl\":30}"), 400, "unknown_field", "none");
	assert_false(is_free());
	assert_status(release(token), 200);
	assert_true(is_free());
}

/* If the daemon ignored the header, the client would wait for the lock that it holds itself. */
TEST(the_header_is_refused_where_it_means_nothing)
{
	static const char *const rows[][2] = { { "/locks/a/hold", "{}" }, { "/locks", "{\"names\":[\"a\"]}" } };

	const char *token = text_at(acquire(a_minute), "/token");
	for (size_t i = 0; i < 2; i++) {
		struct answer a = http(client, "POST", rows[i][0], rows[i][1], lock_token(token));
		assert_problem(a, 400, "invalid_value", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), "Lock-Token:");
	}
	assert_int_equal(http(client, "GET", "/locks/a", NULL, lock_token(token)).status, 200);
	assert_int_equal(holds(), 1);
}

/*
 * A client that lost the answer to its release can repeat the release, if it was the last holder.
 */
TEST(the_last_holder_may_release_again)
{
	static const char freed[] = "{\"name\":\"a\",\"holds\":0,\"held\":false}\n";

	const char *token = text_at(acquire(a_minute), "/token"), *second = text_at(enter(token), "/token");
	for (int i = 0; i < 3; i++)
		assert_string_equal(release(token).body, "{\"name\":\"a\",\"holds\":1,\"held\":true}\n");
	for (int i = 0; i < 3; i++) {
		struct answer a = release(second);
		assert_status(a, 200);
		assert_string_equal(a.body, freed);
	}
	assert_problem(release(token), 409, "not_holder", "none");
	assert_problem(http(client, "DELETE", "/locks/a?force=true", NULL), 409, "not_holder", "none");
	assert_problem(extend(second, TTL_MS), 409, "not_holder", "none");
	const char *other = text_at(acquire(a_minute), "/token");
	for (int i = 0; i < 2; i++) /* the token's hold was released, although another client holds the lock now */
		assert_string_equal(release(second).body, "{\"name\":\"a\",\"holds\":0,\"held\":true}\n");
	assert_int_equal(holds(), 1);
	assert_string_equal(release(other).body, freed);
	assert_problem(release(second), 409, "not_holder", "none"); /* only the last release is remembered */
	assert_string_equal(release(other).body, freed);
	server_command(&redis, "PEXPIRE p:lock:{a}:released 0"); /* as after a minute */
	assert_problem(release(other), 409, "not_holder", "none");
}

TEST(force_releases_any_hold)
{
	static const struct {
		const char *target, *header, *code;
	} refused[] = {
		{ "/locks/a?force=true", "Lock-Token: x", "invalid_value" },
		{ "/locks/a?force=false", NULL, "missing_field" },
	};

	struct answer taken = acquire("{\"ttl_ms\":60000,\"owner\":\"worker-7\"}");
	const char *token = text_at(taken, "/token");
	assert_status(enter(token), 200);
	for (size_t i = 0; i < COUNT(refused); i++)
		assert_problem(http(client, "DELETE", refused[i].target, NULL, refused[i].header), 400, refused[i].code,
			       "none");
	assert_int_equal(holds(), 2);
	struct answer a = http(client, "DELETE", "/locks/a?force=true", NULL);
	assert_status(a, 200);
	assert_string_equal(a.body, "{\"name\":\"a\",\"holds\":0,\"held\":false}\n");
	assert_true(is_free());
	assert_int_equal(int_at(look(), "/fence"), int_at(taken, "/fence"));
	assert_problem(http(client, "DELETE", "/locks/a?force=true", NULL), 409, "not_holder", "none");
	assert_status(http(client, "DELETE", "/locks/a?force=false", NULL, "Lock-Token: none"), 409);
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

TEST(a_token_enters_in_its_mode_only)
{
	static const char shared[] = "{\"mode\":\"shared\"}", exclusive[] = "{\"mode\":\"exclusive\"}";

	const char *token = text_at(acquire(shared), "/token");
	struct answer again = enter(token);
	assert_status(again, 200);
	assert_int_equal(int_at(again, "/holds"), 2);
	assert_problem(http(client, "POST", "/locks/a", exclusive, lock_token(token)), 409, "lock_mode_conflict",
		       "none");
	assert_status(http(client, "POST", "/locks/a", shared, lock_token(token)), 200);
	stage_forget(NULL);
	token = text_at(acquire(exclusive), "/token");
	assert_problem(http(client, "POST", "/locks/a", shared, lock_token(token)), 409, "lock_mode_conflict", "none");
}

/* ---- Several ---- */

TEST(all_or_nothing)
{
	struct answer both = post("/locks", "{\"names\":[\"a\",\"b\"],\"owner\":\"me\"}");
	assert_status(both, 201);
	assert_string_equal(text_at(both, "/locks/1/name"), "b");
	assert_true(int_at(both, "/locks/1/fence") > 0);
	struct answer refused = post("/locks", "{\"names\":[\"c\",\"b\"]}");
	assert_problem(refused, 409, "lock_held", "none");
	assert_string_equal(text_at(refused, "/name"), "b");
	assert_string_equal(text_at(refused, "/holders/0/owner"), "me");
	assert_false(bool_at(get("/locks/c"), "/held"));
	assert_int_equal(int_at(release(text_at(both, "/token")), "/holds"), 0);
	assert_true(bool_at(get("/locks/b"), "/held"));
	assert_int_equal(int_at(release_of("/locks/b", text_at(both, "/token")), "/holds"), 0);
	assert_status(post("/locks", "{\"names\":[\"c\",\"b\"]}"), 201);
}

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

TEST(look_at_a_lock_free_and_held)
{
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
