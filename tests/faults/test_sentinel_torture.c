/*
 * Torture of the code that finds the master. All Sentinels and the master close their connections.
 * While the daemon reconnects, the n-th allocation, socket, connect, epoll_ctl, read or write
 * fails. Afterwards the daemon serves, and is subscribed at each Sentinel once.
 */
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/redis_sentinel.h"
#include "../support/torture.h"
#include "test.h"

enum { SOON_MS = 8000, FAILING_MS = 15 /* a reconnect takes 5 ms */ };

static struct redis_sentinel redis;
static struct daemon patternd;
static struct client *client;

static int listeners(struct redis_server *watcher)
{
	const char *at = server_command(watcher, "CLIENT LIST TYPE pubsub")->str;
	int count = 0;

	for (; (at = strstr(at, "name=patternd")); at++)
		count++;
	return count;
}

static bool is_whole(void)
{
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		if (listeners(&redis.watchers[i]) != 1)
			return false;
	return http(client, "POST", "/counters/n/increment", "{\"counters\":{\"n\":1}}").status == 200;
}

static bool try_point(enum torture_kind kind, uint64_t n)
{
	torture_arm(kind, n, 1);
	for (int i = 0; i < SENTINEL_WATCHERS; i++) {
		server_command(&redis.watchers[i], "CLIENT KILL TYPE pubsub SKIPME yes");
		server_command(&redis.watchers[i], "CLIENT KILL TYPE normal SKIPME yes");
	}
	server_command(&redis.servers[0], "CLIENT KILL TYPE normal SKIPME yes");
	nap_ms(FAILING_MS);
	bool reached = torture_disarm();
	wait_until(is_whole(), SOON_MS);
	client_forget(client);
	return reached;
}

/* its allocator is not glibc's */
SUITE(.skips = daemon_is_sanitized);

TEST(it_finds_them_again)
{
	static const enum torture_kind kinds[] = { TORTURE_MEMORY, TORTURE_SOCKET, TORTURE_CONNECT,
						   TORTURE_EPOLL,  TORTURE_READ,   TORTURE_WRITE };

	sentinel_start(&redis);
	torture_open();
	patternd.proc.env = torture_env();
	daemon_start(&patternd, "--redis", redis.url, "--pool-size", "1", "--redis-timeout-ms", "300");
	client = client_open(patternd.port);
	wait_until(is_whole(), SOON_MS);
	for (size_t k = 0; k < COUNT(kinds); k++) {
		uint64_t n = 1;
		while (try_point(kinds[k], n))
			n++;
		print_message("%s: %d points\n", torture_kind_name(kinds[k]), (int)n - 1);
		assert_true(n > 1);
	}
	client_close(client);
	daemon_stop(&patternd);
	sentinel_stop(&redis);
}
