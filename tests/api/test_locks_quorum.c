/*
 * Locks on a majority of three servers, while all three work. (When servers fail:
 * test_locks_quorum_faults.c.)
 */
#include <time.h>

#include "quorum.h"
#include "test.h"

enum { SOON_MS = 10000, OVERVIEW_SHARED_MS = 5000 };

static const char a_minute[] = "{\"ttl_ms\":60000}";

static struct answer acquire(const char *body)
{
	return http(quorum.c[0], "POST", "/locks/a", body);
}

static struct answer extend(const char *token, int ttl_ms)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"ttl_ms\":%d}", ttl_ms);
	return http(quorum.c[1], "POST", "/locks/a/extend", body, lock_token(token));
}

static struct answer release(const char *token)
{
	return quorum_release(quorum.c[1], "/locks/a", token);
}

static struct answer look(void)
{
	return http(quorum.c[1], "GET", "/locks/a", NULL);
}

static int64_t wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Acquiring ---- */

SUITE(.open = quorum_open, .close = quorum_close, .after = quorum_forget);

/*
 * The ttl_ms of the answer is the requested ttl minus the elapsed time and minus 1 % + 2 ms. Every
 * server has the same token and fence.
 */
TEST(a_free_lock_is_taken_everywhere_but_on_redis)
{
	int64_t start_ms = wall_ms();
	struct answer a = acquire("{\"ttl_ms\":60000,\"owner\":\"worker-7\",\"metadata\":{\"job\":1}}");
	int64_t end_ms = wall_ms();
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/name"), "a");
	assert_string_equal(text_at(a, "/owner"), "worker-7");
	assert_string_equal(text_at(a, "/mode"), "exclusive");
	assert_int_equal(int_at(a, "/holds"), 1);
	assert_int_equal(int_at(a, "/waited_ms"), 0);
	assert_string_equal(text_at(a, "/safety/mode"), "quorum");
	assert_int_equal(int_at(a, "/safety/acknowledged"), 3);
	assert_int_equal(int_at(a, "/safety/servers"), 3);
	assert_in_range(int_at(a, "/ttl_ms"), 60000 - 602 - (end_ms - start_ms) - 2, 60000 - 602 - 1);
	assert_in_range(int_at(a, "/expires_at_ms"), start_ms + int_at(a, "/ttl_ms"), end_ms + int_at(a, "/ttl_ms"));
	assert_int_equal(quorum_copies("a"), 3);
	assert_int_equal(server_keys(&quorum.main), 0);
	for (int i = 0; i < QUORUM_SERVERS; i++) {
		struct redis_server *s = &quorum.servers[i];
		assert_int_equal(atoll(server_command(s, "GET p:lock:{a}:fence")->str), int_at(a, "/fence"));
		assert_int_equal(atoll(server_command(s, "HGET p:lock:{a} fence")->str), int_at(a, "/fence"));
		assert_true(server_command(s, "PTTL p:lock:{a}")->integer > int_at(a, "/ttl_ms"));
	}
}

TEST(a_look_has_the_holder_of_a_majority)
{
	struct answer free = look();
	assert_status(free, 200);
	assert_false(bool_at(free, "/held"));
	assert_true(json_is_null(json_at(free, "/fence")));
	assert_true(json_is_null(json_at(free, "/expires_at_ms")));
	assert_int_equal(json_array_size(json_at(free, "/holders")), 0);
	struct answer taken = acquire("{\"ttl_ms\":60000,\"owner\":\"worker-7\",\"metadata\":{\"job\":1}}"), a = look();
	assert_true(bool_at(a, "/held"));
	assert_string_equal(text_at(a, "/mode"), "exclusive");
	assert_int_equal(int_at(a, "/fence"), int_at(taken, "/fence"));
	assert_int_equal(json_array_size(json_at(a, "/holders")), 1);
	assert_string_equal(text_at(a, "/holders/0/owner"), "worker-7");
	assert_int_equal(int_at(a, "/holders/0/fence"), int_at(taken, "/fence"));
	assert_int_equal(int_at(a, "/holders/0/holds"), 1);
	assert_int_equal(int_at(a, "/holders/0/ttl_ms"), int_at(a, "/ttl_ms"));
	assert_int_equal(int_at(a, "/holders/0/metadata/job"), 1);
	assert_in_range(int_at(a, "/ttl_ms"), 1, 60000);
	server_command(&quorum.servers[0], "DEL p:lock:{a}");
	assert_true(bool_at(look(), "/held"));
	server_command(&quorum.servers[1], "PEXPIRE p:lock:{a} 1000"); /* after that, only one copy is left */
	assert_in_range(int_at(look(), "/ttl_ms"), 1, 1000);
	server_command(&quorum.servers[1], "DEL p:lock:{a}");
	a = look();
	assert_false(bool_at(a, "/held"));
	assert_int_equal(int_at(a, "/fence"), int_at(taken, "/fence"));
}

TEST(a_refusal_has_the_holder_and_keeps_nothing)
{
	struct answer taken = acquire("{\"ttl_ms\":60000,\"owner\":\"worker-7\"}"),
		      a = http(quorum.c[1], "POST", "/locks/a", "{\"ttl_ms\":5000}");
	assert_problem(a, 409, "lock_held", "none");
	assert_string_equal(text_at(a, "/holders/0/owner"), "worker-7");
	assert_int_equal(int_at(a, "/holders/0/fence"), int_at(taken, "/fence"));
	assert_int_equal(atoi(header_of(a, "Retry-After")), (int_at(a, "/holders/0/ttl_ms") + 999) / 1000);
	assert_in_range(int_at(a, "/holders/0/ttl_ms"), 50000, 60000);
	assert_int_equal(int_at(look(), "/fence"), int_at(taken, "/fence"));
	assert_status(release(text_at(taken, "/token")), 200);
	assert_status(acquire(a_minute), 201);
}

/*
 * Two of three servers have the lock for different holders, so no client holds it. A client that
 * tries to acquire it keeps no copy either.
 */
TEST(a_lock_without_a_majority_has_no_holder)
{
	static const char *const place = "HSET p:lock:{a} fence %d owner %s mode exclusive metadata %s t:%d 1";

	for (int i = 0; i < 2; i++) {
		server_command(&quorum.servers[i], place, 7 + i, "old", "", 7 + i);
		server_command(&quorum.servers[i], "PEXPIRE p:lock:{a} 60000");
	}
	struct answer a = acquire(a_minute);
	assert_problem(a, 409, "lock_held", "none");
	assert_int_equal(json_array_size(json_at(a, "/holders")), 0);
	assert_int_equal(int_at(a, "/retry_after_ms"), 1);
	assert_string_equal(header_of(a, "Retry-After"), "1");
	assert_false(bool_at(look(), "/held"));
	wait_until(quorum_copies("a") == 2, SOON_MS); /* only the two old copies are left */
	assert_int_equal(server_command(&quorum.servers[2], "EXISTS p:lock:{a}")->integer, 0);
}

/*
 * A copy is left from a client that never had a majority, or has lost it. The copy does not block
 * other clients, and the next fence is higher than its fence.
 */
TEST(an_old_lock_of_a_minority_blocks_no_client)
{
	server_command(&quorum.servers[1], "HSET p:lock:{a} fence 7 owner old mode exclusive metadata %s t:7 1", "");
	server_command(&quorum.servers[1], "PEXPIRE p:lock:{a} 60000");
	server_command(&quorum.servers[1], "SET p:lock:{a}:fence 8000000000000000");
	struct answer a = acquire(a_minute);
	assert_status(a, 201);
	assert_int_equal(int_at(a, "/safety/acknowledged"), 2);
	assert_int_equal(int_at(a, "/safety/servers"), 3);
	assert_string_equal(server_command(&quorum.servers[1], "HGET p:lock:{a} owner")->str, "old");
	struct answer e = extend(text_at(a, "/token"), 30000);
	assert_status(e, 200);
	assert_int_equal(int_at(e, "/fence"), int_at(a, "/fence"));
	assert_int_equal(int_at(release(text_at(a, "/token")), "/holds"), 0);
	assert_int_equal(quorum_copies("a"), 1);
}

/* ---- Extending, releasing ---- */

TEST(extend_starts_again_and_revives_nothing)
{
	struct answer taken = acquire("{\"ttl_ms\":60000}");
	const char *token = text_at(taken, "/token");
	struct answer a = extend(token, 10000);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/fence"), int_at(taken, "/fence"));
	assert_int_equal(int_at(a, "/holds"), 1);
	assert_in_range(int_at(a, "/ttl_ms"), 5000, 10000 - 102 - 1);
	assert_string_equal(text_at(a, "/safety/mode"), "quorum");
	assert_int_equal(int_at(a, "/safety/acknowledged"), 3);
	for (int i = 0; i < QUORUM_SERVERS; i++)
		assert_in_range(server_command(&quorum.servers[i], "PTTL p:lock:{a}")->integer, 1, 10000);
	assert_problem(extend("nonsense", 10000), 409, "not_holder", "none");
	server_command(&quorum.servers[2], "DEL p:lock:{a}"); /* a server that lost its data gets no new copy */
	a = extend(token, 10000);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/safety/acknowledged"), 2);
	assert_int_equal(quorum_copies("a"), 2);
	server_command(&quorum.servers[1], "DEL p:lock:{a}");
	assert_problem(extend(token, 10000), 409, "not_holder", "none");
	wait_until(quorum_copies("a") == 0, SOON_MS); /* the remaining copy is removed */
	assert_problem(extend(token, 10000), 409, "not_holder", "none");
	assert_int_equal(quorum_copies("a"), 0);
}

/*
 * Other clients that acquire the lock, or try to, do not change the answer to a repeated release.
 */
TEST(a_release_is_repeated_under_contention)
{
	struct answer taken = acquire(a_minute);
	assert_status(release(text_at(taken, "/token")), 200);
	for (int i = 0; i < 2; i++) /* then a client gets no majority, and releases its copy */
		server_command(&quorum.servers[i], "HSET p:lock:{a} fence 1 owner x mode exclusive metadata '' t:x 1");
	assert_problem(acquire(a_minute), 409, "lock_held", "none");
	for (int i = 0; i < 2; i++)
		server_command(&quorum.servers[i], "DEL p:lock:{a}");
	wait_until(quorum_copies("a") == 0, SOON_MS);
	server_command(&quorum.servers[0], "DEL p:lock:{a}:released"); /* the other two are the majority */
	struct answer next = acquire(a_minute);
	assert_status(next, 201);
	for (int i = 0; i < 2; i++)
		assert_string_equal(release(text_at(taken, "/token")).body,
				    "{\"name\":\"a\",\"holds\":0,\"held\":true}\n");
	assert_int_equal(quorum_copies("a"), 3);
	assert_status(release(text_at(next, "/token")), 200);
}

TEST(a_release_frees_once)
{
	static const char freed[] = "{\"name\":\"a\",\"holds\":0,\"held\":false}\n";

	struct answer taken = acquire(a_minute);
	assert_problem(release("nonsense"), 409, "not_holder", "none");
	assert_int_equal(quorum_copies("a"), 3);
	struct answer a = release(text_at(taken, "/token"));
	assert_status(a, 200);
	assert_string_equal(a.body, freed);
	assert_int_equal(quorum_copies("a"), 0);
	assert_string_equal(release(text_at(taken, "/token")).body, freed); /* the same release, repeated */
	assert_problem(release("nonsense"), 409, "not_holder", "none");
	server_command(&quorum.servers[0], "DEL p:lock:{a}:released");
	assert_status(release(text_at(taken, "/token")), 200); /* a majority still knows the release */
	server_command(&quorum.servers[1], "DEL p:lock:{a}:released");
	assert_problem(release(text_at(taken, "/token")), 409, "not_holder", "none");
	struct answer next = acquire(a_minute);
	assert_true(int_at(next, "/fence") > int_at(taken, "/fence"));
	assert_int_equal(quorum_copies("a"), 3);
	a = http(quorum.c[0], "DELETE", "/locks/a?force=true", NULL);
	assert_status(a, 200);
	assert_string_equal(a.body, freed);
	assert_int_equal(quorum_copies("a"), 0);
	assert_problem(http(quorum.c[0], "DELETE", "/locks/a?force=true", NULL), 409, "not_holder", "none");
}

/* ---- Fences ---- */

/*
 * The server with the highest fence loses its data again and again. The daemon must write the
 * highest fence to a majority before it answers, or the next fence would be lower.
 */
TEST(fences_rise_though_the_highest_is_forgotten)
{
	int64_t last = 0;

	for (int i = 0; i < QUORUM_SERVERS; i++) {
		server_command(&quorum.servers[i], "SET p:lock:{a}:fence %lld",
			       4000000000000000LL + i * 1000000000000LL);
		struct answer a = acquire(a_minute);
		assert_status(a, 201);
		assert_true(int_at(a, "/fence") > last);
		assert_true(int_at(a, "/fence") > 4000000000000000LL + i * 1000000000000LL);
		last = int_at(a, "/fence");
		assert_status(release(text_at(a, "/token")), 200);
		server_kill(&quorum.servers[i]);
		quorum_wait_up(2);
		quorum_restart(i, NULL);
		quorum_wait_up(3);
		a = acquire(a_minute);
		assert_status(a, 201);
		assert_true(int_at(a, "/fence") > last);
		last = int_at(a, "/fence");
		assert_status(release(text_at(a, "/token")), 200);
	}
}

TEST(one_at_a_time_holds_it_and_fences_rise)
{
	quorum_race("{\"ttl_ms\":30000}", 120);
}

/* ---- Other operations and resources ---- */

TEST(what_a_quorum_cannot_do_is_refused)
{
	static const struct {
		const char *target, *body, *code, *pointer;
	} rows[] = {
		{ "/locks/a", "{\"mode\":\"shared\"}", "unsupported_with_quorum", "/mode" },
		{ "/locks/a", "{}", "unsupported_with_quorum", "Lock-Token:" },
		{ "/locks/a", "{\"min_replicas\":1}", "unsupported_with_quorum", "/min_replicas" },
		{ "/locks/a", "{\"ttl_ms\":1}", "out_of_range", "/ttl_ms" },
		{ "/locks/a", "{\"ttl_ms\":4}", "out_of_range", "/ttl_ms" },
		{ "/locks/a/hold", "{}", "unsupported_with_quorum", NULL },
		{ "/locks", "{\"names\":[\"a\"]}", "unsupported_with_quorum", NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		bool by_token = rows[i].pointer && strcmp(rows[i].pointer, "Lock-Token:") == 0;
		struct answer a =
			http(quorum.c[0], "POST", rows[i].target, rows[i].body, by_token ? lock_token("x") : NULL);
		assert_problem(a, 400, rows[i].code, "none");
		if (rows[i].pointer)
			assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
	}
	assert_problem(http(quorum.c[0], "GET", "/locks", NULL), 400, "unsupported_with_quorum", "none");
	assert_problem(http(quorum.c[0], "GET", "/locks/a/waiters", NULL), 400, "unsupported_with_quorum", "none");
	assert_problem(http(quorum.c[0], "POST", "/locks/a", "{}", "Idempotency-Key: k"), 400,
		       "idempotency_unavailable", "none");
	assert_problem(http(quorum.c[0], "POST", "/locks/a/extend", NULL, "Lock-Token: x", "Idempotency-Key: k"), 400,
		       "idempotency_unavailable", "none");
	assert_int_equal(quorum_copies("a"), 0);
	assert_status(acquire("{\"mode\":\"exclusive\",\"wait_ms\":0,\"min_replicas\":0}"), 201);
}

static bool overview_counts(int away)
{
	struct answer a = http(quorum.c[0], "GET", "/overview", NULL);

	return quorum_findings() == away && json_array_size(json_at(a, "/unknown")) == 0 &&
	       json_is_null(json_at(a, "/locks"));
}

/*
 * The overview has each server that is away. It cannot list locks, and this alone does not need a
 * person.
 */
TEST(the_overview_has_servers_that_are_away)
{
	static const char *const details[] = {
		"2 of the 3 servers of --lock-quorum can be used: ",
		"1 of the 3 servers of --lock-quorum can be used, too few for any lock: "
	};

	wait_until(overview_counts(0), 2 * OVERVIEW_SHARED_MS);
	for (int i = 0; i < 2; i++) {
		server_kill(&quorum.servers[i]);
		quorum_wait_up(2 - i);
		wait_until(overview_counts(i + 1), 2 * OVERVIEW_SHARED_MS);
		struct answer a = http(quorum.c[0], "GET", "/overview", NULL);
		assert_string_equal(text_at(a, "/findings/0/kind"), "quorum_server_away");
		assert_memory_equal(text_at(a, "/findings/0/detail"), details[i], strlen(details[i]));
		assert_true(int_at(a, "/findings/0/since_at_ms") > 0);
	}
	assert_int_equal(json_array_size(json_at(http(quorum.c[0], "GET", "/info", NULL), "/lock_quorum")), 3);
}

/* All other resources are in the main Redis. */
TEST(semaphores_and_fences_stay_on_redis)
{
	assert_status(http(quorum.c[0], "POST", "/semaphores/s/permits", "{\"limit\":1}"), 201);
	assert_status(http(quorum.c[0], "POST", "/fences/f", "{\"fence\":1}"), 200);
	assert_int_equal(server_command(&quorum.main, "EXISTS p:semaphore:{s} p:fence:{f}")->integer, 2);
	for (int i = 0; i < QUORUM_SERVERS; i++)
		assert_int_equal(server_keys(&quorum.servers[i]), 0);
}

TEST(a_list_that_makes_no_majority_stops_the_start)
{
	static const struct {
		const char *urls, *said;
	} rows[] = {
		{ "redis://127.0.0.1:1", "3 to 9" },
		{ "redis://127.0.0.1:1,redis://127.0.0.1:2", "3 to 9" },
		{ "redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:1/5",
		  "server 3: it is in the list twice" },
		{ "redis://127.0.0.1:1,redis://127.0.0.1:2,http://a:1", "server 3: " },
		{ "redis://127.0.0.1:1,,redis://127.0.0.1:2", "server 2: " },
		{ "redis://h:1,redis://h:2,redis://h:3,redis://h:4,redis://h:5,redis://h:6,redis://h:7,redis://h:8,redis://h:9,"
		  "redis://h:10",
		  "server 10: " },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct daemon d = { 0 };
		assert_int_equal(daemon_run(&d, "--redis", quorum.main.url, "--lock-quorum", rows[i].urls), 2);
		assert_true(proc_wrote(&d.proc, rows[i].said));
		assert_true(proc_wrote(&d.proc, "--lock-quorum"));
	}
}
