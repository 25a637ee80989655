/*
 * Which requests each mode of --access-log logs. The default mode, "notable", logs failed (5xx) and
 * slow requests, and refused tokens. (The content of a line: test_daemon.c, test_log_names.c.)
 */
#include <signal.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/redis_server.h"
#include "../support/tokens.h"
#include "test.h"

enum { SOON_MS = 5000 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

static struct answer ask(const char *method, const char *target, const char *body, const char *id)
{
	char header[80];

	snprintf(header, sizeof(header), "X-Request-ID: id-%s-", id);
	return http(client, method, target, body, header, AUTHORIZATION("secret-0123456789"));
}

static bool has_line(const char *id)
{
	char text[80];

	snprintf(text, sizeof(text), "id-%s-", id);
	return proc_wrote(&patternd.proc, text);
}

/* Requests end in order: when this one is logged, the lines of all earlier requests are written. */
static void assert_refusal_is_logged(const char *id)
{
	char header[80];

	snprintf(header, sizeof(header), "X-Request-ID: id-%s-", id);
	assert_status(http(client, "GET", "/locks/a", NULL, header, AUTHORIZATION("wrong")), 401);
	wait_until(has_line(id), SOON_MS);
}

static void start(const char *mode, const char *slow_ms)
{
	const char *tokens = tokens_file("secret-0123456789", "locks:*:read queues:* ratelimit:* policies:*");

	daemon_start(&patternd, "--redis", redis.url, "--tokens", tokens, "--access-log", mode, "--slow-request-ms",
		     slow_ms, "--redis-timeout-ms", "5000");
	client = client_open(patternd.port);
}

static void stop(void)
{
	client_close(client);
	daemon_stop(&patternd);
}

TEST(notable_requests_are_logged)
{
	struct redis_server away = { 0 };

	start("notable", "1000");
	assert_status(ask("GET", "/healthz", NULL, "probe"), 200);
	assert_status(ask("GET", "/locks/a", NULL, "fine"), 200);
	assert_status(ask("GET", "/no/such", NULL, "missing"), 404);
	assert_status(ask("PUT", "/locks/a", NULL, "method"), 405);
	assert_status(ask("DELETE", "/locks/a?force=true", NULL, "scope"), 403);
	assert_status(ask("PUT", "/ratelimit/policies/p", "{\"limit\":1,\"window_ms\":60000}", "policy"), 201);
	assert_status(ask("GET", "/ratelimit/authorize?policy=p&key=k&deny_status=403", NULL, "admitted"), 200);
	assert_status(ask("GET", "/ratelimit/authorize?policy=p&key=k&deny_status=403", NULL, "limited"), 403);
	assert_refusal_is_logged("token");
	assert_true(has_line("scope"));
	static const char *const quiet[] = { "probe", "fine", "missing", "method", "admitted", "limited" };
	for (size_t i = 0; i < COUNT(quiet); i++)
		if (has_line(quiet[i]))
			fail_msg("%s should not be logged", quiet[i]);
	char *log = file_text(patternd.proc.err_path);
	char *line = strstr(log, "\"event\":\"request\"");
	assert_memory_equal(line - strlen("\"level\":\"warn\","), "\"level\":\"warn\",", strlen("\"level\":\"warn\","));
	free(log);
	stop();

	server_start(&away);
	daemon_start(&patternd, "--redis", away.url, "--access-log", "notable");
	client = client_open(patternd.port);
	server_kill(&away);
	wait_until(ask("GET", "/locks/a", NULL, "away").status == 503, SOON_MS);
	wait_until(has_line("away"), SOON_MS);
	stop();
}

TEST(slow_requests_are_logged)
{
	start("notable", "150");
	assert_status(ask("POST", "/queues/q/receive", "{\"wait_ms\":400}", "waited"), 200);
	server_command(&redis, "CLIENT PAUSE 400 ALL");
	assert_status(ask("GET", "/locks/a", NULL, "slow"), 200);
	wait_until(has_line("slow"), SOON_MS);
	assert_false(has_line("waited"));
	stop();
}

/* SIGUSR1 switches to all requests, and back. Each time an event names the new mode. */
TEST(test_switch)
{
	start("off", "1000");
	assert_status(ask("GET", "/locks/a", NULL, "before"), 200);
	proc_signal(&patternd.proc, SIGUSR1);
	wait_until(proc_wrote(&patternd.proc, "requests logged from now on: all"), SOON_MS);
	assert_status(ask("GET", "/locks/a", NULL, "between"), 200);
	assert_refusal_is_logged("marker");
	assert_true(has_line("between"));
	assert_false(has_line("before"));
	proc_signal(&patternd.proc, SIGUSR1);
	wait_until(proc_wrote(&patternd.proc, "requests logged from now on: off"), SOON_MS);
	assert_status(ask("GET", "/locks/a", NULL, "after"), 200);
	proc_signal(&patternd.proc, SIGUSR1);
	wait_until(ask("GET", "/locks/a", NULL, "end").status == 200 && has_line("end"), SOON_MS);
	assert_false(has_line("after"));
	stop();
}

TEST(all_requests_are_logged)
{
	start("all", "1000");
	assert_status(ask("GET", "/healthz", NULL, "probe"), 200);
	wait_until(has_line("probe"), SOON_MS);
	proc_signal(&patternd.proc, SIGUSR1);
	wait_until(proc_wrote(&patternd.proc, "requests logged from now on: notable"), SOON_MS);
	stop();
}

static int set_up(void **state)
{
	server_start(&redis);
	return 0;
}

static int tear_down(void **state)
{
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down);
