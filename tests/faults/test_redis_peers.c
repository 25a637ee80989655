/*
 * A closed port, a name that does not resolve, a server of another kind, or a flood is in the place
 * of Redis. The daemon lives, and its loop runs. It returns 503 with effect none, retries slowly,
 * and does not grow. It works as soon as there is a Redis.
 */
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <unistd.h>

#include "../support/aside.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/redis_server.h"
#include "../support/stubborn.h"
#include "test.h"

enum { RECOVER_MS = 10000, QUICK_US = 200000, GROWTH_KIB = 64 * 1024, WATCHED_MS = 300 };

static struct daemon patternd;

/* While there is no Redis, the daemon refuses quickly, with effect none. */
static void assert_refused_as(const char *code)
{
	struct client *c = client_open(patternd.port);

	for (int i = 0; i < 5; i++) {
		struct answer alive = http(c, "GET", "/healthz", NULL);
		assert_status(alive, 200);
		assert_in_range(alive.took_us, 0, QUICK_US);
		struct answer a = http(c, "POST", "/locks/a", NULL);
		assert_problem(a, 503, code, "none");
		assert_in_range(a.took_us, 0, QUICK_US);
		assert_problem(http(c, "GET", "/locks/a", NULL), 503, code, "none");
	}
	assert_problem(http(c, "GET", "/readyz", NULL), 503, "not_ready", "none");
	assert_status(http(c, "GET", "/metrics", NULL), 200);
	assert_status(http(c, "GET", "/info", NULL), 200);
	client_close(c);
}

static void assert_without_redis(void)
{
	assert_refused_as("redis_unavailable");
}

static void assert_with_redis(void)
{
	struct client *c = client_open(patternd.port);

	assert_true(daemon_is_ready(&patternd, RECOVER_MS));
	wait_until(http(c, "POST", "/pv/a", NULL).status == 200, RECOVER_MS);
	client_close(c);
}

/* ---- 22: Redis is not there ---- */

TEST(test_refused)
{
	struct redis_server redis = { .port = free_port() };
	char url[64];

	snprintf(url, sizeof(url), "redis://127.0.0.1:%d", redis.port);
	daemon_launch(&patternd, "--redis", url);
	assert_without_redis();
	server_start(&redis);
	assert_with_redis();
	server_kill(&redis);
	struct client *c = client_open(patternd.port);
	wait_until(http(c, "GET", "/locks/a", NULL).status == 503, 2000);
	/*
	 * After the first connection the daemon stays ready: a restart of Redis must not take every
	 * pod out of service.
	 */
	assert_status(http(c, "GET", "/readyz", NULL), 200);
	server_restart(&redis);
	wait_until(http(c, "GET", "/locks/a", NULL).status == 200, RECOVER_MS);
	client_close(c);
	daemon_stop(&patternd);
	server_stop(&redis);
}

TEST(test_ready_follows_redis)
{
	struct redis_server redis = { 0 };

	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--ready-follows-redis");
	server_kill(&redis);
	wait_until(!daemon_is_ready(&patternd, 0), 3000);
	server_restart(&redis);
	assert_true(daemon_is_ready(&patternd, RECOVER_MS));
	daemon_stop(&patternd);
	server_stop(&redis);
}

/* .invalid never exists (RFC 6761). The time that a resolver takes for it must not matter. */
TEST(test_no_such_name)
{
	daemon_launch(&patternd, "--redis", "redis://no-such-host.invalid:6379");
	assert_without_redis();
	nap_ms(300);
	assert_without_redis();
	daemon_stop(&patternd);
}

TEST(test_name)
{
	struct redis_server redis = { 0 };
	char url[64];

	struct addrinfo *found;

	if (getaddrinfo("localhost", NULL, NULL, &found) != 0)
		skip(); /* a bare root has no /etc/hosts */
	freeaddrinfo(found);
	server_start(&redis);
	snprintf(url, sizeof(url), "redis://localhost:%d/0", redis.port);
	daemon_start(&patternd, "--redis", url);
	assert_with_redis();
	daemon_stop(&patternd);
	server_stop(&redis);
}

static bool has_ipv6_loopback(void)
{
	struct ifaddrs *all, *one;
	bool found = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (one = all; one; one = one->ifa_next)
		if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET6 &&
		    IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)(void *)one->ifa_addr)->sin6_addr))
			found = true;
	freeifaddrs(all);
	return found;
}

TEST(test_ipv6)
{
	struct redis_server redis = { 0 };
	char url[64];

	if (!has_ipv6_loopback())
		skip();
	server_start(&redis, "--bind", "127.0.0.1", "::1");
	snprintf(url, sizeof(url), "redis://[::1]:%d", redis.port);
	daemon_start(&patternd, "--redis", url);
	assert_with_redis();
	daemon_stop(&patternd);
	server_stop(&redis);
}

TEST(test_unix_socket_removed)
{
	struct redis_server redis = { .over_unix = true };

	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url);
	assert_with_redis();
	server_kill(&redis);
	unlink(redis.socket_path);
	struct client *c = client_open(patternd.port);
	wait_until(http(c, "POST", "/locks/a", NULL).status == 503, 2000);
	server_restart(&redis);
	wait_until(http(c, "POST", "/pv/a", NULL).status == 200, RECOVER_MS);
	client_close(c);
	daemon_stop(&patternd);
	server_stop(&redis);
}

/*
 * Redis is stopped, not gone: the daemon is connected, and gets no answer. The loop continues, and
 * requests end at their deadline.
 */
TEST(test_stopped)
{
	struct redis_server redis = { 0 };

	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--redis-timeout-ms", "300");
	struct client *c = client_open(patternd.port), *probe = client_open(patternd.port);
	proc_signal(&redis.proc, SIGSTOP);
	for (int i = 0; i < 3; i++) {
		struct answer a = http(c, "POST", "/locks/a", NULL);
		assert_true(a.status == 504 || a.status == 503);
		assert_in_range(a.took_us, 0, 300000 + QUICK_US);
		assert_problem(a, a.status, NULL, a.status == 504 ? "unknown" : "none");
		a = http(probe, "GET", "/healthz", NULL);
		assert_status(a, 200);
		assert_in_range(a.took_us, 0, QUICK_US);
	}
	proc_signal(&redis.proc, SIGCONT);
	wait_until(http(c, "GET", "/locks/b", NULL).status == 200, RECOVER_MS);
	client_close(c);
	client_close(probe);
	daemon_stop(&patternd);
	server_stop(&redis);
}

/* ---- 23: another server ---- */

#define TEN(text) text text text text text text text text text text

enum { MANNER_THAT_REFUSES = 2 };

static const struct stubborn_manner manners[] = {
	{ "23 HTTP", NULL, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 0 },
	{ "23 SSH", "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", NULL, 0 },
	{ "23 POP3", "+OK POP3 server ready\r\n", "-ERR unknown command\r\n", 0 },
	{ "23 SMTP", "220 mail.example ESMTP\r\n", "500 unrecognized\r\n", 0 },
	{ "23 TLS", NULL, "\x15\x03\x01\x02\x02\x16", 0 },
	{ "23 silence", NULL, NULL, 0 },
	{ "23 a greeting as Redis has none", ":1\r\n", NULL, 0 },
	{ "23 +OK to everything", NULL, "+OK\r\n", 0 },
	{ "23 two replies a command", NULL, "+OK\r\n+OK\r\n", 0 },
	{ "23 a flood of :1", NULL, ":1\r\n", SIZE_MAX },
	{ "23 a flood of +OK before being asked", TEN(TEN("+OK\r\n")), "+OK\r\n", SIZE_MAX },
	{ "23 an array of 2147483646", NULL, "*2147483646\r\n", 0 },
	{ "23 nesting of 10^6", NULL, "*1\r\n", 1000000 },
	{ "23 a text of 1 GB, sent", NULL, "$1073741824\r\n", SIZE_MAX },
	{ "23 a line without end", NULL, "+aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", SIZE_MAX },
	{ "23 an old Redis", NULL, "$23\r\nredis_version:3.2.1\r\n\r\n\r\n", 0 },
	{ "23 max number of clients", "-ERR max number of clients reached\r\n", NULL, 0 },
	{ "23 LOADING", NULL, "-LOADING Redis is loading the dataset in memory\r\n", 0 },
	{ "23 DENIED", "-DENIED Redis is running in protected mode\r\n", NULL, 0 },
};

static const char *code_of(const struct stubborn_manner *m)
{
	if (strstr(m->name, "LOADING"))
		return "redis_loading";
	return strstr(m->name, "DENIED") ? "redis_misconfigured" : "redis_unavailable";
}

static void test_manner(void **state)
{
	const struct stubborn_manner *m = *state;
	struct stubborn *peer = stubborn_open(m);

	daemon_launch(&patternd, "--redis", stubborn_url(peer), "--redis-timeout-ms", "200");
	wait_until(stubborn_connections(peer) > 0, 5000);
	struct client *c = client_open(patternd.port);
	wait_until(strcmp(text_at(http(c, "GET", "/locks/a", NULL), "/code"), code_of(m)) == 0, 5000);
	client_close(c);
	long before_kib = daemon_resident_kib(&patternd);
	assert_refused_as(code_of(m));
	uint64_t before = stubborn_connections(peer);
	long cpu_ms = daemon_cpu_ms(&patternd);
	for (int64_t until_ms = monotonic_ms() + WATCHED_MS; monotonic_ms() < until_ms; nap_ms(100))
		assert_true(daemon_is_alive(&patternd));
	assert_in_range(stubborn_connections(peer) - before, 0, 30);
	if (m->times == 0) /* a flood costs CPU time until the daemon closes its connection */
		assert_in_range(daemon_cpu_ms(&patternd) - cpu_ms, 0, WATCHED_MS / 2);
	if (!daemon_is_sanitized())
		assert_in_range(daemon_resident_kib(&patternd), 1, before_kib + GROWTH_KIB);
	assert_refused_as(code_of(m));
	daemon_stop(&patternd);
	stubborn_close(peer);
}

TEST_ROWS(test_manner, manners, name);

/*
 * A real Redis takes the place of a peer whose connection was closed, and of a peer that refused
 * the daemon.
 */
TEST(test_recovers)
{
	for (size_t i = 0; i < 2; i++) {
		struct stubborn *peer = stubborn_open(&manners[i ? MANNER_THAT_REFUSES : 0]);
		struct redis_server redis = { .port = stubborn_port(peer) };
		daemon_launch(&patternd, "--redis", stubborn_url(peer), "--redis-timeout-ms", "200");
		wait_until(stubborn_connections(peer) > 1, 5000);
		stubborn_close(peer);
		server_start(&redis);
		assert_with_redis();
		daemon_stop(&patternd);
		server_stop(&redis);
	}
}

/*
 * The server answers every question as a Redis does, but its scripts would print instants wrongly.
 */
TEST(test_32_bits)
{
	static const struct stubborn_manner m = { .answer = "$36\r\nredis_version:7.0.15\r\narch_bits:32\r\n\r\n",
						  .times = 3 }; /* CLIENT SETNAME, INFO, ACL WHOAMI */
	struct stubborn *peer = stubborn_open(&m);
	struct client *c;

	daemon_launch(&patternd, "--redis", stubborn_url(peer));
	c = client_open(patternd.port);
	wait_until(strstr(http(c, "GET", "/readyz", NULL).body, "32-bit"), 5000);
	client_close(c);
	daemon_stop(&patternd);
	stubborn_close(peer);
}

SUITE(.columns = 3);
