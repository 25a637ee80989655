/*
 * How often the daemon calls the kernel per request, since most of its CPU time is spent there. A
 * request of one client alone needs these calls: wait, accept the event, read, send to Redis, wait,
 * read the reply, send the response. Requests at the same time share all calls but their own read
 * and send.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../programs/system_calls.h"
#include "raw.h"
#include "stage_parts.h"
#include "test.h"

enum { ANSWER_MS = 10000, WARM_UP = 20, REQUESTS = 300, CLIENTS = 32, ROUNDS = 20 };

/* System calls per request. */
static const double most_alone = 9.5, most_at_once = 3.5;

static struct system_calls *calls;

static int open_daemon(void **state)
{
	static char preload[4096], file[4096];
	static const char *const env[] = { preload, file, NULL };

	server_start(&redis);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("PATTERND_SYSTEM_CALLS"));
	snprintf(file, sizeof(file), "SYSTEM_CALLS_FILE=%s/calls", temp_dir());
	int fd = open(strchr(file, '=') + 1, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, sizeof(*calls)), 0);
	calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(calls != MAP_FAILED);
	close(fd);
	patternd.proc.env = env;
	daemon_start(&patternd, "--redis", redis.url, "--access-log", "notable");
	return 0;
}

static int close_daemon(void **state)
{
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

static void ask(struct raw *r)
{
	static const char body[] = "{\"key\":\"k\",\"limit\":1000000,\"window_ms\":60000}";
	char request[512];

	snprintf(request, sizeof(request),
		 "POST /ratelimit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		 "Content-Length: %zu\r\n\r\n%s",
		 sizeof(body) - 1, body);
	assert_true(raw_text(r, request));
}

static void take(struct raw *r)
{
	assert_int_equal(raw_answer(r, ANSWER_MS).status, 200);
	raw_forget(r);
}

static uint64_t all(void)
{
	return calls->polls + calls->reads + calls->writes + calls->others;
}

/* Calls since `before`, per request. */
static double each(const struct system_calls *before, int requests)
{
	double n = requests;

	print_message("%d requests: %.2f polls, %.2f reads, %.2f writes, %.2f others each\n", requests,
		      (double)(calls->polls - before->polls) / n, (double)(calls->reads - before->reads) / n,
		      (double)(calls->writes - before->writes) / n, (double)(calls->others - before->others) / n);
	return (double)(all() - before->polls - before->reads - before->writes - before->others) / n;
}

static struct system_calls now(void)
{
	return (struct system_calls){ calls->polls, calls->reads, calls->writes, calls->others };
}

TEST(test_one_client_alone)
{
	struct raw *r = raw_connect(patternd.port);

	for (int i = 0; i < WARM_UP; i++) {
		ask(r);
		take(r);
	}
	struct system_calls before = now();
	for (int i = 0; i < REQUESTS; i++) {
		ask(r);
		take(r);
	}
	assert_true(each(&before, REQUESTS) <= most_alone);
	raw_close(r);
}

TEST(test_several_at_once)
{
	struct raw *clients[CLIENTS];
	struct system_calls before = { 0 };

	for (int i = 0; i < CLIENTS; i++)
		clients[i] = raw_connect(patternd.port);
	for (int round = -1; round < ROUNDS; round++) {
		if (round == 0)
			before = now();
		for (int i = 0; i < CLIENTS; i++)
			ask(clients[i]);
		for (int i = 0; i < CLIENTS; i++)
			take(clients[i]);
	}
	assert_true(each(&before, CLIENTS * ROUNDS) <= most_at_once);
	for (int i = 0; i < CLIENTS; i++)
		raw_close(clients[i]);
}

/* The runtime of a sanitizer must be the first library. */
SUITE(.open = open_daemon, .close = close_daemon, .skips = daemon_is_sanitized);
