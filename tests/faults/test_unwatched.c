/*
 * When epoll_ctl fails, the daemon cannot watch the socket of a connection to Redis. It must close
 * that connection at once. Otherwise it would poll in a busy loop until the connection times out.
 */
#include "../support/daemon.h"
#include "../support/redis_server.h"
#include "../support/torture.h"
#include "../support/waiter.h"
#include "test.h"

enum { OVERDUE_MS = 400, RECOVER_MS = 5000, LINKS = 2 /* one for commands, one for subscriptions */ };

/* its allocator is not glibc's */
SUITE(.skips = daemon_is_sanitized);

TEST(it_is_given_up_at_once)
{
	struct redis_server redis = { 0 };
	struct daemon patternd = { 0 };
	bool reached = true;

	server_start(&redis);
	torture_open();
	patternd.proc.env = torture_env();
	daemon_start(&patternd, "--redis", redis.url, "--pool-size", "1", "--redis-timeout-ms", "400");
	for (uint64_t n = 1; reached; n++) {
		long connects = metric_of(&patternd, "redis_connects_total"), cpu_ms = daemon_cpu_ms(&patternd);
		torture_arm(TORTURE_EPOLL, n, 1);
		server_command(&redis, "CLIENT KILL TYPE normal SKIPME yes");
		wait_until(metric_of(&patternd, "redis_connects_total") >= connects + LINKS, RECOVER_MS);
		reached = torture_disarm();
		assert_in_range(daemon_cpu_ms(&patternd) - cpu_ms, 0, OVERDUE_MS / 2);
	}
	daemon_stop(&patternd);
	server_stop(&redis);
}
