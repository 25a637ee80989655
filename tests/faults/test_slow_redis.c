/*
 * A Redis that is slow, or unusable for a while. Another program's script blocks Redis, and is
 * killed. Redis has no place for a connection, or connections are killed. The daemon serves other
 * requests in this time, and the pool becomes whole again.
 */
#include <signal.h>

#include "../support/load.h"
#include "../support/raw.h"
#include "../support/stage.h"
#include "../support/waiter.h"
#include "test.h"

enum { PIPELINED = 100, TIMEOUT_MS = 400, SLACK_MS = 400, SOON_MS = 8000, WATCHED_MS = 1500 };

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

/* A waiting client must not delay the requests that another has already sent. */
TEST(waiting_delays_no_other_request)
{
	struct daemon slow = { 0 };
	daemon_start(&slow, "--redis", redis.url, "--redis-timeout-ms", "4000");
	struct raw *waits = raw_connect(slow.port), *asks = raw_connect(slow.port);

	proc_signal(&redis.proc, SIGSTOP);
	raw_text(waits, "GET /locks/z HTTP/1.1\r\nHost: localhost\r\n\r\n");
	int64_t begun_ms = monotonic_ms();
	raw_repeat(asks, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", PIPELINED);
	for (int i = 0; i < PIPELINED; i++)
		assert_status(raw_answer(asks, 3000), 200);
	int64_t took_ms = monotonic_ms() - begun_ms;
	proc_signal(&redis.proc, SIGCONT);
	assert_in_range(took_ms, 0, 2000); /* the daemon would have waited for Redis for 4 s */
	assert_status(raw_answer(waits, 5000), 200);
	raw_close(waits);
	raw_close(asks);
	daemon_stop(&slow);
}

static bool pool_is_whole(void)
{
	return strstr(get("/metrics").body, "\npatternd_redis_connections 2\n") != NULL;
}

/*
 * When the server becomes a replica, the daemon replaces the idle connections, too, not only the
 * one that got READONLY.
 */
TEST(idle_links_leave_too)
{
	wait_until(pool_is_whole(), 3000);
	server_command(&redis, "REPLICAOF 127.0.0.1 1");
	assert_problem(post("/locks/r", "{}"), 503, "redis_read_only", "none");
	server_command(&redis, "REPLICAOF NO ONE");
	wait_until(pool_is_whole(), 8000);
	assert_status(post("/locks/r", "{}"), 201);
}

/* ---- Redis is blocked by a script ---- */

/* A connection on which a script loops for ever. */
static redisContext *hold_redis(void)
{
	redisContext *holder = redisConnect("127.0.0.1", redis.port);
	int done = 0;

	redisAppendCommand(holder, "EVAL %s 0", "while true do end");
	while (!done)
		assert_int_equal(redisBufferWrite(holder, &done), REDIS_OK);
	return holder;
}

/*
 * While the script runs, Redis replies BUSY; before lua-time-limit it does not reply at all. The
 * effect is none after BUSY, and unknown without a reply.
 */
TEST(a_foreign_script_blocks_redis)
{
	struct daemon d = { 0 };
	int refused = 0;

	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "400");
	server_command(&redis, "CONFIG SET lua-time-limit 50");
	struct client *c = client_open(d.port);
	assert_status(http(c, "POST", "/pv/held", NULL), 200);
	redisContext *holder = hold_redis();
	wait_until(http(c, "POST", "/pv/held", NULL).status != 200, SOON_MS); /* Redis runs the script by now */
	for (int64_t until_ms = monotonic_ms() + WATCHED_MS; monotonic_ms() < until_ms; nap_ms(10)) {
		struct answer a = http(c, "POST", "/pv/held", NULL);
		assert_problem(a, a.status == 504 ? 504 : 503, NULL, a.status == 504 ? "unknown" : "none");
		assert_in_range(a.took_us, 0, (TIMEOUT_MS + SLACK_MS) * 1000);
		refused += a.status == 503;
		assert_true(daemon_is_alive(&d));
	}
	assert_in_range(refused, 1, WATCHED_MS);
	assert_string_equal(server_command(&redis, "SCRIPT KILL")->str, "OK");
	wait_until(http(c, "POST", "/pv/held", NULL).status == 200, SOON_MS);
	redisFree(holder);
	client_close(c);
	daemon_stop(&d);
}

/* ---- Connections that Redis refuses or kills ---- */

TEST(there_is_no_place)
{
	enum { PLACES = 10 };
	struct redis_server full = { 0 };
	redisContext *others[PLACES];
	struct daemon d = { 0 };

	server_start(&full, "--maxclients", "10");
	server_command(&full, "PING"); /* takes one of the places */
	for (int i = 0; i < PLACES; i++)
		others[i] = redisConnect("127.0.0.1", full.port);
	daemon_launch(&d, "--redis", full.url);
	struct client *c = client_open(d.port);
	wait_until(metric_of(&d, "redis_connect_failures_total") > 0, SOON_MS);
	long before = metric_of(&d, "redis_connect_failures_total");
	for (int64_t until_ms = monotonic_ms() + WATCHED_MS; monotonic_ms() < until_ms; nap_ms(50))
		assert_problem(http(c, "POST", "/pv/full", NULL), 503, "redis_unavailable", "none");
	/* The daemon paused between its attempts. */
	assert_in_range(metric_of(&d, "redis_connect_failures_total") - before, 1, 30);
	assert_problem(http(c, "GET", "/readyz", NULL), 503, "not_ready", "none");
	server_command(&full, "CONFIG SET maxclients 100");
	assert_true(daemon_is_ready(&d, SOON_MS));
	wait_until(http(c, "POST", "/pv/full", NULL).status == 200, SOON_MS);
	for (int i = 0; i < PLACES; i++)
		redisFree(others[i]);
	client_close(c);
	daemon_stop(&d);
	server_stop(&full);
}

/* load_stop compares the sums: granted increments happened, increments with effect none did not. */
TEST(connections_are_killed_again_and_again)
{
	static const char *const names[] = { "killed-a", "killed-b" };
	struct daemon d = { 0 };
	long killed = 0;

	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "400");
	struct load *l =
		load_start((struct load_plan){ .port = d.port, .names = names, .count = 2, .timeout_ms = TIMEOUT_MS });
	load_wait_served(l, SOON_MS);
	for (int64_t until_ms = monotonic_ms() + WATCHED_MS; monotonic_ms() < until_ms; nap_ms(50))
		killed += server_command(&redis, "CLIENT KILL TYPE normal")->integer;
	load_wait_served(l, SOON_MS);
	assert_in_range(killed, 10, INT64_MAX);
	print_message("%ld connections killed, %ld of %ld requests failed\n", killed, load_failures(l),
		      load_answers(l));
	load_stop(l, 0);
	daemon_stop(&d);
}
