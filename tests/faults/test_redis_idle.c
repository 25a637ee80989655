/*
 * Connections to Redis without traffic: gateways must not forget them, and one that was forgotten
 * is replaced before a request needs it.
 */
#include <unistd.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/proxy.h"
#include "../support/redis_server.h"
#include "../support/waiter.h"
#include "test.h"

enum { RECOVER_MS = 8000, KEEPALIVE_S = 7, TIMER_OF_KEEPALIVE = 2, ESTABLISHED = 1 };

static struct redis_server redis;
static struct proxy *proxy;
static struct daemon patternd;

static int start(void **state)
{
	server_start(&redis);
	proxy = proxy_open(redis.port);
	return 0;
}

static int stop(void **state)
{
	proxy_close(proxy);
	server_stop(&redis);
	return 0;
}

SUITE(.open = start, .close = stop);

/* Returns how many connections to a port the kernel probes within so many seconds. */
static int probed(int port, long within_s)
{
	FILE *table = fopen("/proc/net/tcp", "re");
	char line[256];
	int count = 0;

	assert_non_null(table);
	while (fgets(line, sizeof(line), table)) {
		unsigned to, state, timer, ticks;
		if (sscanf(line, " %*d: %*[^ ] %*8s:%x %x %*[^ ] %x:%x", &to, &state, &timer, &ticks) == 4)
			count += to == (unsigned)port && state == ESTABLISHED && timer == TIMER_OF_KEEPALIVE &&
				 (long)ticks <= within_s * sysconf(_SC_CLK_TCK);
	}
	fclose(table);
	return count;
}

TEST(the_kernel_probes_them)
{
	daemon_start(&patternd, "--redis", redis.url, "--redis-keepalive-ms", "7000");
	wait_until(probed(redis.port, KEEPALIVE_S) == 3, RECOVER_MS); /* two for calls, one for messages */
	daemon_stop(&patternd);
}

/* The link is half open: bytes vanish both ways. No request is made until it is replaced. */
TEST(a_forgotten_one_is_replaced_before_a_request)
{
	daemon_start(&patternd, "--redis", proxy_url(proxy), "--redis-keepalive-ms", "1000", "--redis-timeout-ms",
		     "300");
	struct client *client = client_open(patternd.port);
	assert_status(http(client, "GET", "/counters/a", NULL), 200);
	proxy_set(proxy, (struct proxy_fault){ .drop_up = true, .drop_down = true });
	wait_until(metric_of(&patternd, "redis_disconnects_total") >= 2, RECOVER_MS);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(metric_of(&patternd, "redis_connections") == 2, RECOVER_MS);
	assert_status(http(client, "GET", "/counters/a", NULL), 200);
	client_close(client);
	daemon_stop(&patternd);
}

/* Idle connections are probed once per interval, and stay. */
TEST(an_idle_one_stays)
{
	daemon_start(&patternd, "--redis", redis.url, "--redis-keepalive-ms", "1000");
	long sent = metric_of(&patternd, "redis_commands_total");
	wait_until(metric_of(&patternd, "redis_commands_total") >= sent + 4, RECOVER_MS);
	assert_int_equal(metric_of(&patternd, "redis_disconnects_total"), 0);
	daemon_stop(&patternd);
}
