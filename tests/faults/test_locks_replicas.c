/*
 * Locks that a number of replicas must acknowledge (`min_replicas`), on one master and two
 * replicas. Some replicas are stopped or gone. A lock that too few replicas acknowledged is
 * released.
 */
#include <signal.h>

#include "../support/aside.h"
#include "../support/redis_cluster_slots.h"
#include "../support/redis_sentinel.h"
#include "../support/stage.h"
#include "../support/waiter.h"
#include "test.h"

enum { REPLICAS = 2, SOON_MS = 10000, WAIT_MS = 500 }; /* WAIT_MS: half of --redis-timeout-ms */

#define KEY "Idempotency-Key: "

static struct redis_server replicas[REPLICAS];
static char master_port[16];

static const char two[] = "{\"ttl_ms\":60000,\"min_replicas\":2}", one[] = "{\"ttl_ms\":60000,\"min_replicas\":1}";

/*
 * True when `count` replicas acknowledge a write. A replica that just finished its copy
 * acknowledges a second later.
 */
static bool are_in_sync(int count)
{
	if (server_command(&redis, "ROLE")->element[2]->elements != (size_t)count)
		return false;
	server_command(&redis, "SET sync 1");
	server_command(&redis, "DEL sync");
	return server_command(&redis, "WAIT %d 50", count)->integer == count;
}

static int open_all(void **state)
{
	server_start(&redis, "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1");
	snprintf(master_port, sizeof(master_port), "127.0.0.1 %d", redis.port);
	for (int i = 0; i < REPLICAS; i++)
		server_start(&replicas[i], "--replicaof", master_port);
	wait_until(are_in_sync(REPLICAS), SOON_MS);
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	return 0;
}

static int close_all(void **state)
{
	for (int i = 0; i < REPLICAS; i++)
		server_stop(&replicas[i]);
	return stage_close(state);
}

static int forget_all(void **state)
{
	for (int i = 0; i < REPLICAS; i++)
		proc_signal(&replicas[i].proc, SIGCONT);
	stage_forget(state);
	wait_until(are_in_sync(REPLICAS), SOON_MS);
	return 0;
}

static struct answer acquire(const char *body)
{
	return http(client, "POST", "/locks/a", body);
}

static struct answer release(const char *token)
{
	char header[128];

	snprintf(header, sizeof(header), "Lock-Token: %s", token);
	return http(client, "DELETE", "/locks/a", NULL, header);
}

static void assert_replicated(struct answer a, int status, int acked)
{
	assert_status(a, status);
	assert_string_equal(text_at(a, "/safety/mode"), "replicated");
	assert_int_equal(int_at(a, "/safety/acknowledged"), acked);
	assert_int_equal(int_at(a, "/safety/servers"), 1 + REPLICAS);
}

static bool is_free(void)
{
	return server_command(&redis, "EXISTS p:lock:{a}")->integer == 0;
}

static long long calls_of(const char *lead)
{
	const char *at = strstr(server_command(&redis, "INFO commandstats")->str, lead);

	return at ? atoll(at + strlen(lead)) : 0;
}

/* ---- One lock ---- */

SUITE(.open = open_all, .close = close_all, .after = forget_all, .columns = 2);

TEST(what_replicas_have_is_reported)
{
	struct answer a = acquire(two);
	assert_replicated(a, 201, 3);
	for (int i = 0; i < REPLICAS; i++)
		assert_int_equal(server_command(&replicas[i], "EXISTS p:lock:{a}")->integer, 1);
	assert_in_range(int_at(a, "/ttl_ms"), 60000 - WAIT_MS, 60000);
	assert_status(release(text_at(a, "/token")), 200);
	a = acquire("{\"min_replicas\":0}"); /* the request does not ask for replicas */
	assert_string_equal(text_at(a, "/safety/mode"), "single");
	assert_int_equal(int_at(a, "/safety/acknowledged"), 1);
	assert_int_equal(int_at(a, "/safety/servers"), 1);
	assert_problem(acquire("{\"min_replicas\":17}"), 400, "out_of_range", "none");
	assert_problem(acquire("{\"min_replicas\":-1}"), 400, "out_of_range", "none");
}

TEST(what_too_few_have_is_released)
{
	struct answer before = acquire(two);
	assert_status(release(text_at(before, "/token")), 200);
	proc_signal(&replicas[0].proc, SIGSTOP);
	struct answer a = acquire(two);
	assert_problem(a, 503, "not_enough_replicas", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "1 of the 2 required replicas"));
	assert_string_equal(header_of(a, "Retry-After"), "1");
	assert_in_range(a.took_us, WAIT_MS * 900, WAIT_MS * 1000 * 2);
	assert_true(is_free()); /* the lock has been released before the answer */
	a = acquire(one);
	assert_replicated(a, 201, 2);
	assert_true(int_at(a, "/fence") > int_at(before, "/fence"));
	struct answer held = acquire(two); /* the daemon refuses at once: nothing was written */
	assert_problem(held, 409, "lock_held", "none");
	assert_in_range(held.took_us, 0, WAIT_MS * 1000 / 2);
}

TEST(no_replicas_are_too_few)
{
	for (int i = 0; i < REPLICAS; i++)
		server_command(&replicas[i], "REPLICAOF NO ONE");
	wait_until(are_in_sync(0), SOON_MS);
	struct answer a = acquire(one);
	assert_problem(a, 503, "not_enough_replicas", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "0 of the 1 required replicas"));
	assert_non_null(strstr(text_at(a, "/detail"), "and 0 are connected"));
	assert_true(is_free());
	assert_status(acquire("{}"), 201);
	for (int i = 0; i < REPLICAS; i++)
		server_command(&replicas[i], "REPLICAOF 127.0.0.1 %d", redis.port);
}

/* The second entry is released, and the lock is held as before. */
TEST(a_reentry_that_too_few_have_leaves_the_first)
{
	struct answer a = acquire(two);
	const char *held_by = lock_token(text_at(a, "/token"));
	assert_replicated(http(client, "POST", "/locks/a", two, held_by), 200, 3);
	proc_signal(&replicas[1].proc, SIGSTOP);
	assert_problem(http(client, "POST", "/locks/a", two, held_by), 503, "not_enough_replicas", "none");
	assert_int_equal(int_at(get("/locks/a"), "/holders/0/holds"), 2);
	assert_int_equal(int_at(release(text_at(a, "/token")), "/holds"), 1);
}

/* ---- Wait queues ---- */

/*
 * Too few replicas would have the first waiter's grant. The lock goes to the next waiter, which
 * asks for fewer replicas.
 */
TEST(a_waiter_is_refused_when_too_few_have_its_grant)
{
	struct answer a = acquire("{\"ttl_ms\":60000}");
	struct raw *first = waiter_at(&patternd, "/locks/a", "{\"wait_ms\":20000,\"min_replicas\":2}", "");
	wait_until(int_at(get("/locks/a"), "/waiter_count") == 1, SOON_MS);
	struct raw *second = waiter_at(&patternd, "/locks/a", "{\"wait_ms\":20000,\"min_replicas\":1}", "");
	wait_until(int_at(get("/locks/a"), "/waiter_count") == 2, SOON_MS);
	proc_signal(&replicas[0].proc, SIGSTOP);
	assert_status(release(text_at(a, "/token")), 200);
	assert_problem(waiter_answer(first, "/locks/a", SOON_MS), 503, "not_enough_replicas", "none");
	assert_replicated(waiter_answer(second, "/locks/a", SOON_MS), 201, 2);
	raw_close(first);
	raw_close(second);
}

/* ---- Retries ---- */

TEST(a_refusal_is_forgotten_with_its_key)
{
	proc_signal(&replicas[0].proc, SIGSTOP);
	assert_problem(http(client, "POST", "/locks/a", two, KEY "k"), 503, "not_enough_replicas", "none");
	assert_int_equal(server_keys(&redis), 1); /* the key of the fence */
	proc_signal(&replicas[0].proc, SIGCONT);
	wait_until(are_in_sync(REPLICAS), SOON_MS);
	struct answer a = http(client, "POST", "/locks/a", two, KEY "k");
	assert_replicated(a, 201, 3);
	assert_false(is_free());
	assert_status(release(text_at(a, "/token")), 200);
}

/*
 * The lock was granted, and the holder may know that. A replay that finds too few replicas does not
 * release it.
 */
TEST(a_replay_asks_the_replicas_again)
{
	struct answer first = http(client, "POST", "/locks/a", two, KEY "k");
	assert_replicated(first, 201, 3);
	proc_signal(&replicas[1].proc, SIGSTOP);
	assert_problem(http(client, "POST", "/locks/a", two, KEY "k"), 503, "not_enough_replicas", "applied");
	assert_false(is_free());
	proc_signal(&replicas[1].proc, SIGCONT);
	wait_until(are_in_sync(REPLICAS), SOON_MS);
	struct answer again = http(client, "POST", "/locks/a", two, KEY "k");
	assert_replicated(again, 201, 3);
	assert_string_equal(text_at(again, "/token"), text_at(first, "/token"));
	assert_int_equal(int_at(again, "/fence"), int_at(first, "/fence"));
	assert_status(release(text_at(again, "/token")), 200);
}

/* ---- Many locks ---- */

TEST(many_share_a_wait)
{
	enum { MANY = 50 };
	struct raw *asked[MANY];
	char target[32];

	assert_status(acquire(one), 201); /* opens the connection */
	long long before = calls_of("cmdstat_wait:calls=");
	proc_signal(&redis.proc, SIGSTOP); /* all requests are under way when Redis continues */
	for (int i = 0; i < MANY; i++) {
		snprintf(target, sizeof(target), "/locks/many-%d", i);
		asked[i] = waiter_at(&patternd, target, two, "");
	}
	wait_until(metric_of(&patternd, "redis_calls_in_flight") == MANY, SOON_MS);
	proc_signal(&redis.proc, SIGCONT);
	for (int i = 0; i < MANY; i++) {
		assert_replicated(waiter_answer(asked[i], "/locks/many-1", SOON_MS), 201, 3);
		raw_close(asked[i]);
	}
	long long waits = calls_of("cmdstat_wait:calls=") - before;
	assert_in_range(waits, 1, MANY / 5);
}

/* WAIT blocks its own connection only; other requests use other connections. */
TEST(without_min_replicas_there_is_no_delay)
{
	proc_signal(&replicas[0].proc, SIGSTOP);
	struct raw *slow = waiter_at(&patternd, "/locks/slow", two, "");
	wait_until(server_command(&redis, "EXISTS p:lock:{slow}")->integer == 1, SOON_MS);
	for (int i = 0; i < 20; i++) {
		assert_in_range(get("/locks/a").took_us, 0, WAIT_MS * 1000 / 2);
		assert_false(waiter_is_answered(slow) && i == 0);
	}
	assert_problem(waiter_answer(slow, "/locks/slow", SOON_MS), 503, "not_enough_replicas", "none");
	raw_close(slow);
}

/*
 * Each request is judged by its own min_replicas: the same acknowledgements satisfy one request and
 * not another.
 */
TEST(each_of_a_batch_gets_its_own_outcome)
{
	assert_status(http(client, "POST", "/locks/c", one), 201);
	proc_signal(&replicas[0].proc, SIGSTOP);
	struct raw *much = waiter_at(&patternd, "/locks/a", two, ""),
		   *little = waiter_at(&patternd, "/locks/b", one, "");
	assert_replicated(waiter_answer(little, "/locks/b", SOON_MS), 201, 2);
	assert_problem(waiter_answer(much, "/locks/a", SOON_MS), 503, "not_enough_replicas", "none");
	assert_true(is_free());
	assert_int_equal(server_command(&redis, "EXISTS p:lock:{b}")->integer, 1);
	raw_close(much);
	raw_close(little);
}

/* ---- The connection ---- */

static bool kill_the_waiting_one(void)
{
	const char *list = server_command(&redis, "CLIENT LIST")->str, *wait = strstr(list, " cmd=wait ");
	long long id = 0;

	if (!wait)
		return false;
	while (wait > list && wait[-1] != '\n')
		wait--;
	return sscanf(wait, "id=%lld", &id) == 1 && server_command(&redis, "CLIENT KILL ID %lld", id)->integer == 1;
}

/*
 * Replicas must acknowledge a write on the connection that wrote it. A connection that is renewed
 * closes after its WAITs.
 */
TEST(a_renewed_connection_waits_first)
{
	enum { CALLERS = 8, EACH = 20, ROUNDS = 10, LINKS = 4 };
	struct raw *callers[CALLERS];
	char request[200];

	assert_status(acquire(one), 201); /* opens the connection */
	for (int i = 0; i < CALLERS; i++)
		callers[i] = raw_connect(patternd.port);
	long connects = metric_of(&patternd, "redis_connects_total");
	for (int n = 0; n < ROUNDS * EACH * CALLERS; n++) {
		snprintf(request, sizeof(request),
			 "POST /locks/renewed-%d HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
			 "Content-Length: %zu\r\n\r\n%s",
			 n, strlen(two), two);
		assert_true(raw_text(callers[n % CALLERS], request));
		if ((n + 1) % (EACH * CALLERS) != 0)
			continue;
		proc_signal(&patternd.proc, SIGHUP);
		for (int i = 0; i < EACH * CALLERS; i++)
			assert_replicated(raw_answer(callers[i % CALLERS], SOON_MS), 201, 3);
	}
	for (int i = 0; i < CALLERS; i++)
		raw_close(callers[i]);
	wait_until(metric_of(&patternd, "redis_connects_total") >= connects + LINKS, SOON_MS);
	assert_int_equal(metric_of(&patternd, "redis_disconnects_total"), 0);
	assert_int_equal(metric_of(&patternd, "calls_unknown_total"), 0);
}

/* The daemon cannot learn which replicas have the lock. */
TEST(a_wait_whose_connection_is_lost_grants_nothing)
{
	proc_signal(&replicas[0].proc, SIGSTOP);
	struct raw *r = waiter_at(&patternd, "/locks/a", two, "");
	wait_until(kill_the_waiting_one(), SOON_MS);
	assert_problem(waiter_answer(r, "/locks/a", SOON_MS), 503, "not_enough_replicas", "none");
	assert_true(is_free());
	raw_close(r);
	assert_replicated(acquire(one), 201, 2); /* the connection is back */
}

/* Redis dies before the outcome is known. If it granted the lock, the lock expires. */
TEST(redis_that_dies_during_the_wait_is_reported_as_unknown)
{
	for (int i = 0; i < REPLICAS; i++)
		proc_signal(&replicas[i].proc, SIGSTOP);
	struct raw *r = waiter_at(&patternd, "/locks/a", two, "");
	wait_until(strstr(server_command(&redis, "CLIENT LIST")->str, " cmd=wait "), SOON_MS);
	server_kill(&redis);
	assert_problem(waiter_answer(r, "/locks/a", SOON_MS), 503, "not_enough_replicas", "unknown");
	raw_close(r);
	for (int i = 0; i < REPLICAS; i++)
		proc_signal(&replicas[i].proc, SIGCONT);
	server_restart(&redis);
	wait_until(metric_of(&patternd, "redis_up") == 1, SOON_MS);
}

/* ---- Other topologies ---- */

/* Each node has its own connection for WAIT, and its own replicas. */
TEST(every_master_of_a_cluster_asks_its_own, .after = no_fixture)
{
	struct redis_cluster cluster = { .with_replicas = true };
	struct daemon d = { 0 };
	char target[32];

	cluster_start(&cluster);
	daemon_start(&d, "--redis", cluster.url);
	struct client *c = client_open(d.port);
	for (int i = 0; i < 12; i++) {
		snprintf(target, sizeof(target), "/locks/%d", i);
		struct answer a;
		wait_until((a = http(c, "POST", target, one, KEY "k")).status == 201, SOON_MS);
		assert_int_equal(int_at(a, "/safety/acknowledged"), 2);
		assert_int_equal(int_at(a, "/safety/servers"), 2);
	}
	assert_problem(http(c, "POST", "/locks/a", two, KEY "k"), 503, "not_enough_replicas", "none");
	assert_int_equal(cluster_command(&cluster, "p:lock:{a}", "EXISTS %s", "p:lock:{a}")->integer, 0);
	client_close(c);
	daemon_stop(&d);
	cluster_stop(&cluster);
}

/* The new master had the lock, and has one replica less than before. */
TEST(a_failover_keeps_what_all_replicas_had, .after = no_fixture)
{
	struct redis_sentinel s = { 0 };
	struct daemon d = { 0 };

	sentinel_start(&s);
	daemon_start(&d, "--redis", s.url);
	struct client *c = client_open(d.port);
	struct answer a; /* the replicas are in sync, but may not have acknowledged it yet */
	wait_until((a = http(c, "POST", "/locks/a", two)).status == 201, SOON_MS);
	assert_replicated(a, 201, 3);
	int old = sentinel_kill_master(&s);
	sentinel_wait_master(&s, old);
	struct answer seen;
	wait_until((seen = http(c, "GET", "/locks/a", NULL)).status == 200, SOON_MS);
	assert_true(bool_at(seen, "/held"));
	assert_int_equal(int_at(seen, "/fence"), int_at(a, "/fence"));
	struct answer b;
	wait_until((b = http(c, "POST", "/locks/b", one)).status == 201, SOON_MS);
	assert_string_equal(text_at(b, "/safety/mode"), "replicated");
	assert_int_equal(int_at(b, "/safety/acknowledged"), 2);
	assert_true(int_at(b, "/fence") > int_at(a, "/fence"));
	client_close(c);
	daemon_stop(&d);
	sentinel_stop(&s);
}
