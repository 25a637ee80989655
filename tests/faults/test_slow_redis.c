/*
 * A Redis that is slow, or not ours for a while: others are served meanwhile, and the pool becomes whole again.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/raw.h"
#include "../support/stage.h"

enum { PIPELINED = 100 };

/* What one client waits for must not hold up what another has sent already. */
static void waiting_holds_up_nobody(void **state)
{
	(void)state;
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
	assert_in_range(took_ms, 0, 2000); /* Redis would have been waited for 4 s */
	assert_status(raw_answer(waits, 5000), 200);
	raw_close(waits);
	raw_close(asks);
	daemon_stop(&slow);
}

static bool pool_is_whole(void)
{
	return strstr(get("/metrics").body, "\npatternd_redis_connections 2\n") != NULL;
}

/* A link that was idle when the server became a replica is made anew, like the one that was told so. */
static void idle_links_leave_too(void **state)
{
	(void)state;
	wait_until(pool_is_whole(), 3000);
	server_command(&redis, "REPLICAOF 127.0.0.1 1");
	assert_problem(post("/locks/r", "{}"), 503, "redis_unavailable", "none");
	server_command(&redis, "REPLICAOF NO ONE");
	wait_until(pool_is_whole(), 8000);
	assert_status(post("/locks/r", "{}"), 201);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(waiting_holds_up_nobody, stage_forget),
		cmocka_unit_test_teardown(idle_links_leave_too, stage_forget),
	};

	return cmocka_run_group_tests_name("slow Redis", tests, stage_open, stage_close);
}
