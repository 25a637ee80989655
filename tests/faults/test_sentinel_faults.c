/*
 * A master that Sentinels watch dies under load, is swapped, or comes back as it was; Sentinels are
 * away, or report a wrong master. The daemon writes nothing to a replica and reports an unknown
 * effect as unknown. A second after Redis takes writes again, so does the daemon.
 */
#include <signal.h>

#include "../support/aside.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/load.h"
#include "../support/redis_sentinel.h"
#include "../support/stubborn.h"
#include "../support/vigil.h"
#include "../support/waiter.h"
#include "test.h"

enum {
	TIMEOUT_MS = 500,
	MARGIN_MS = 400,
	SOON_MS = 8000,
	FAILOVER_MS = 30000,
	AGAIN_MS = 1000,
	WAKE_MS = 2000,
	CALLERS = 4,
	ANY_NUMBER = 1000000
};

static struct redis_sentinel redis;
static struct daemon patternd;
static struct client *client;
static const char *const names[] = { "a", "b" };

static int set_up(void **state)
{
	redis = (struct redis_sentinel){ 0 };
	sentinel_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--redis-timeout-ms", "500");
	client = client_open(patternd.port);
	return 0;
}

static int tear_down(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	sentinel_stop(&redis);
	return 0;
}

static struct load *put_under_load(void)
{
	struct load *l = load_start(
		(struct load_plan){ .port = patternd.port, .names = names, .count = 2, .timeout_ms = TIMEOUT_MS });

	load_wait_served(l, SOON_MS);
	return l;
}

static struct answer count(void)
{
	return http(client, "POST", "/counters/n/increment", "{\"counters\":{\"n\":1}}");
}

static bool works(void)
{
	return count().status == 200;
}

/*
 * Returns the server to which the daemon writes, as /info reports it; -1: no server of this test.
 */
static int server_in_use(struct client *of)
{
	struct answer a = http(of, "GET", "/info", NULL);
	char address[32];

	for (int i = 0; i < SENTINEL_SERVERS; i++) {
		snprintf(address, sizeof(address), "127.0.0.1:%d", redis.servers[i].port);
		if (strcmp(text_at(a, "/redis/address"), address) == 0)
			return i;
	}
	return -1;
}

static void assert_failed_in_time(struct answer a)
{
	assert_problem(a, a.status == 504 ? 504 : 503, NULL, a.status == 504 ? "unknown" : "none");
	assert_in_range(a.took_us, 0, (TIMEOUT_MS + MARGIN_MS) * (daemon_is_sanitized() ? 3000 : 1000));
}

/*
 * True when all Sentinels name this server. The Sentinel that led the failover names it first, and
 * informs the others.
 */
static bool is_named_by_all(int server)
{
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		if (!sentinel_names(&redis, i, server))
			return false;
	return true;
}

/* A master exists and the Sentinels name it, so requests must succeed within a bound. */
static void must_be_served_soon(const struct load *l)
{
	int64_t from_us = monotonic_us();

	wait_until(load_served_us(l, "a") > from_us, FAILOVER_MS);
	assert_in_range(monotonic_us() - from_us, 0, AGAIN_MS * 1000);
}

/* ---- The master changes ---- */

/* A daemon that has waiters in this time, and no other requests. */
static struct daemon idle;
static struct vigil vigil;

static void begin_vigil(void)
{
	idle = (struct daemon){ 0 };
	daemon_start(&idle, "--redis", redis.url);
	vigil_begin(&vigil, &idle, client, "v");
}

static void must_end_vigil(void)
{
	vigil_must_wake(&vigil, WAKE_MS);
	daemon_stop(&idle);
}

SUITE(.before = set_up, .after = tear_down, .columns = 3);

TEST(the_master_dies_under_load)
{
	begin_vigil();
	struct load *l = put_under_load();

	int master = sentinel_wait_master(&redis, sentinel_kill_master(&redis));
	must_be_served_soon(l);
	must_end_vigil();
	assert_true(load_failures(l) > 0);
	assert_int_equal(server_in_use(client), master);
	assert_true(metric_of(&patternd, "redis_failovers_total") > 0);
	assert_null(json_item(http(client, "GET", "/info", NULL), "/findings", "kind", "redis_emptied"));
	load_stop(l, CALLERS); /* a failover may lose the last write of each caller */
}

/*
 * The old master takes itself for the master until a Sentinel looks at it. The daemon must not
 * write to it.
 */
TEST(the_old_master_comes_back)
{
	assert_true(works());
	int old = sentinel_kill_master(&redis);
	int master = sentinel_wait_master(&redis, old);
	wait_until(works(), SOON_MS);
	struct load *l = put_under_load();
	long failed = load_failures(l);
	sentinel_restart(&redis, old);
	sentinel_wait_well(&redis);
	assert_int_equal(sentinel_master(&redis), master);
	assert_int_equal(server_in_use(client), master);
	assert_int_equal(load_failures(l), failed);
	load_stop(l, 0);
}

/*
 * A failover on request: the old master is alive, and replies READONLY or closes the connection.
 * Its writes between the promotion of the new master and its own demotion are lost, since Sentinels
 * do not stop it first. So only upper bounds can be checked.
 */
TEST(masters_are_swapped_under_load)
{
	begin_vigil();
	struct load *l = put_under_load();
	int old = sentinel_master(&redis), master;

	assert_string_equal(server_command(&redis.watchers[0], "SENTINEL FAILOVER mymaster")->str, "OK");
	wait_until((master = sentinel_promoted(&redis, old)) >= 0, FAILOVER_MS);
	wait_until(is_named_by_all(master), FAILOVER_MS);
	must_be_served_soon(l);
	must_end_vigil();
	sentinel_wait_well(&redis);
	assert_int_equal(sentinel_master(&redis), master);
	load_wait_served(l, SOON_MS);
	assert_int_equal(server_in_use(client), master);
	load_stop(l, ANY_NUMBER);
}

/*
 * No Sentinel reports the change; only the server's replies show it. Then the server is the master
 * again.
 */
TEST(a_master_becomes_a_replica_unseen)
{
	assert_true(works());
	int master = sentinel_master(&redis), other = (master + 1) % SENTINEL_SERVERS;
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		server_signal(&redis.watchers[i], SIGSTOP);
	char port[16];
	snprintf(port, sizeof(port), "%d", redis.servers[other].port);
	server_command(&redis.servers[master], "REPLICAOF 127.0.0.1 %s", port);
	for (int i = 0; i < 5; i++) {
		struct answer a = count();
		assert_status(a, 503);
		assert_failed_in_time(a);
	}
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		server_signal(&redis.watchers[i], SIGCONT);
	server_command(&redis.servers[master], "REPLICAOF NO ONE");
	wait_until(works(), SOON_MS);
}

/*
 * The master freezes, but does not die: its connections stay open and nothing answers. When it
 * wakes, it takes itself for the master.
 */
TEST(a_master_freezes_and_wakes)
{
	struct load *l = put_under_load();
	int old = sentinel_master(&redis), master;

	sentinel_be_quick(&redis);
	server_signal(&redis.servers[old], SIGSTOP);
	wait_until((master = sentinel_promoted(&redis, old)) >= 0, FAILOVER_MS);
	wait_until(is_named_by_all(master), FAILOVER_MS);
	must_be_served_soon(l);
	sentinel_be_patient(&redis);
	server_signal(&redis.servers[old], SIGCONT);
	sentinel_wait_well(&redis);
	load_wait_served(l, SOON_MS);
	assert_int_equal(server_in_use(client), master);
	load_stop(l, CALLERS);
}

/* ---- Sentinels that are away, or report a wrong master ---- */

TEST(sentinels_go_and_come)
{
	assert_true(works());
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		sentinel_watcher_kill(&redis, i);
	for (int i = 0; i < 50; i++, nap_ms(10))
		assert_true(works()); /* the daemon knows the master, which serves */
	int old = 0;
	server_kill(&redis.servers[old]);
	wait_until(!works(), SOON_MS);
	struct answer a = count();
	assert_status(a, 503);
	assert_failed_in_time(a);
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		sentinel_watcher_restart(&redis, i);
	sentinel_be_quick(&redis);
	int master = sentinel_wait_master(&redis, old);
	wait_until(works(), SOON_MS);
	assert_int_equal(server_in_use(client), master);
}

/* A daemon starts before any Sentinel, and its first Sentinel hangs. */
TEST(the_start_waits_for_a_sentinel)
{
	struct daemon other = { 0 };

	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		sentinel_watcher_kill(&redis, i);
	daemon_launch(&other, "--redis", redis.url, "--redis-timeout-ms", "500");
	struct client *c = client_open(other.port);
	assert_problem(http(c, "GET", "/readyz", NULL), 503, "not_ready", "none");
	assert_problem(http(c, "POST", "/locks/a", NULL), 503, "redis_unavailable", "none");
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		sentinel_watcher_restart(&redis, i);
	assert_true(daemon_is_ready(&other, SOON_MS));
	client_close(c);
	daemon_stop(&other);
	server_signal(&redis.watchers[0], SIGSTOP);
	daemon_start(&other, "--redis", redis.url, "--redis-timeout-ms", "500");
	daemon_stop(&other);
	server_signal(&redis.watchers[0], SIGCONT);
}

TEST(an_unknown_master_is_reported)
{
	struct daemon other = { 0 };
	char url[160];

	snprintf(url, sizeof(url), "redis+sentinel://127.0.0.1:%d/theirmaster", redis.watchers[0].port);
	daemon_launch(&other, "--redis", url);
	wait_until(proc_wrote(&other.proc, "theirmaster"), SOON_MS);
	struct client *c = client_open(other.port);
	struct answer a = http(c, "POST", "/locks/a", NULL);
	assert_problem(a, 503, "redis_unavailable", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "theirmaster"));
	client_close(c);
	daemon_stop(&other);
}

/*
 * The Sentinel that the daemon asks first names a wrong master; the next one names the right one.
 * Ports 0 to 2 mean the servers of this test.
 */
static const struct {
	const char *name, *host;
	int port;
} lies[] = {
	{ "a replica", "127.0.0.1", 1 },
	{ "a closed port", "127.0.0.1", 9 },
	{ "no port", "127.0.0.1", 65536 },
	{ "port 0", "127.0.0.1", -1 },
	{ "a negative port", "x", -2 },
	{ "an empty host", "", 1 },
	{ "an unknown name", "no-such-host.invalid", 1 },
};

TEST(a_sentinel_lies)
{
	char port[16], reply[128], url[256];

	for (size_t i = 0; i < COUNT(lies); i++) {
		int number = lies[i].port;
		snprintf(port, sizeof(port), "%d",
			 number >= 0 && number < SENTINEL_SERVERS ? redis.servers[number].port : number + (number < 0));
		snprintf(reply, sizeof(reply), "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(lies[i].host), lies[i].host,
			 strlen(port), port);
		struct stubborn_manner manner = { .name = lies[i].name, .answer = reply, .times = 2 };
		struct stubborn *liar = stubborn_open(&manner);
		struct daemon other = { 0 };
		snprintf(url, sizeof(url), "redis+sentinel://127.0.0.1:%d,%s", stubborn_port(liar),
			 redis.url + strlen("redis+sentinel://"));
		daemon_start(&other, "--redis", url, "--redis-timeout-ms", "500");
		struct client *c = client_open(other.port);
		struct answer a = http(c, "POST", "/counters/n/increment", "{\"counters\":{\"n\":1}}");
		if (a.status != 200)
			print_error("%s\n", lies[i].name);
		assert_status(a, 200);
		wait_until(stubborn_connections(liar) > 0, 5000); /* the thread of the lying Sentinel may be late */
		client_close(c);
		daemon_stop(&other);
		stubborn_close(liar);
	}
}

static const struct stubborn_manner strangers[] = {
	{ .name = "silence" },
	{ .name = "SSH", .greeting = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n" },
	{ .name = "an error to everything", .answer = "-ERR unknown command\r\n", .times = 2 },
	{ .name = "an array of nothing", .answer = "*2\r\n$-1\r\n$-1\r\n", .times = 2 },
	{ .name = "a flood of addresses", .answer = "*2\r\n$9\r\n127.0.0.1\r\n$1\r\n9\r\n", .times = SIZE_MAX },
	{ .name = "unrequested messages",
	  .answer = "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$8\r\nmymaster\r\n",
	  .times = 3 },
};

TEST(a_stranger_for_a_sentinel)
{
	char url[256];

	for (size_t i = 0; i < COUNT(strangers); i++) {
		struct stubborn *stranger = stubborn_open(&strangers[i]);
		struct daemon other = { 0 };
		snprintf(url, sizeof(url), "redis+sentinel://127.0.0.1:%d,%s", stubborn_port(stranger),
			 redis.url + strlen("redis+sentinel://"));
		daemon_start(&other, "--redis", url, "--redis-timeout-ms", "500");
		daemon_stop(&other);
		stubborn_close(stranger);
	}
}

/* Returns how many daemons are subscribed at this Sentinel. */
static int listeners(int watcher)
{
	const char *at = server_command(&redis.watchers[watcher], "CLIENT LIST TYPE pubsub")->str;
	int count = 0;

	while ((at = strstr(at, "name=patternd")))
		at++, count++;
	return count;
}

static bool all_are_listened_to(void)
{
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		if (listeners(i) != 1)
			return false;
	return true;
}

/*
 * The Sentinel that leads a failover learns of it before the others do. So the daemon must be
 * subscribed at all of them.
 */
TEST(each_sentinel_is_listened_to)
{
	wait_until(all_are_listened_to(), SOON_MS);
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		sentinel_watcher_kill(&redis, i);
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		sentinel_watcher_restart(&redis, i);
	wait_until(all_are_listened_to(), SOON_MS);
	assert_true(works());
}

/*
 * SIGHUP renews the connections to the Sentinels, too. The daemon does not wait for a dead
 * Sentinel.
 */
TEST(connections_to_sentinels_are_renewed)
{
	enum { LINKS = SENTINEL_WATCHERS - 1 + 3 };

	wait_until(all_are_listened_to(), SOON_MS);
	sentinel_watcher_kill(&redis, 0);
	long connects = metric_of(&patternd, "redis_connects_total");
	proc_signal(&patternd.proc, SIGHUP);
	do
		assert_true(works());
	while (metric_of(&patternd, "redis_connects_total") < connects + LINKS);
	assert_false(proc_wrote(&patternd.proc, "connects again"));
	sentinel_watcher_restart(&redis, 0);
	wait_until(all_are_listened_to(), SOON_MS);
}

/*
 * A Sentinel other than the one that the daemon asked reports a switch. The daemon acts on the
 * first report, but trusts it no more than an answer.
 */
TEST(a_sentinel_reports_a_switch_that_was_none)
{
	char old[16], port[16], news[128], reply[512], url[256];

	snprintf(old, sizeof(old), "%d", redis.servers[0].port);
	snprintf(port, sizeof(port), "%d", redis.servers[1].port);
	snprintf(news, sizeof(news), "mymaster 127.0.0.1 %s 127.0.0.1 %s", old, port);
	snprintf(
		reply, sizeof(reply),
		"+OK\r\n$22\r\nserver_mode:sentinel\r\n\r\n*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$%zu\r\n%s\r\n",
		strlen(news), news);
	struct stubborn_manner manner = { .name = "false news", .answer = reply };
	struct stubborn *liar = stubborn_open(&manner);
	struct daemon other = { 0 };
	snprintf(url, sizeof(url), "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/mymaster", redis.watchers[0].port,
		 stubborn_port(liar));
	daemon_start(&other, "--redis", url, "--redis-timeout-ms", "500"); /* until it knows the master */
	for (int tries = 0; metric_of(&other, "redis_failovers_total") == 0; tries++) {
		assert_in_range(tries, 0, 20); /* the liar may have answered before, and was left */
		daemon_stop(&other);
		daemon_start(&other, "--redis", url, "--redis-timeout-ms", "500");
		wait_until(stubborn_connections(liar) > 0, SOON_MS);
	}
	struct client *c = client_open(other.port);
	wait_until(http(c, "POST", "/counters/n/increment", "{\"counters\":{\"n\":1}}").status == 200, SOON_MS);
	assert_int_equal(server_in_use(c), 0);
	uint64_t tries = stubborn_connections(liar);
	nap_ms(AGAIN_MS); /* after its wrong reply the daemon does not ask it again soon */
	assert_in_range(stubborn_connections(liar) - tries, 0, 1);
	client_close(c);
	daemon_stop(&other);
	stubborn_close(liar);
}
