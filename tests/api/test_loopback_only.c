/*
 * Where the daemon may listen: on the loopback without tokens, elsewhere only with tokens or with
 * --insecure. Also which Host headers it accepts there.
 */
#include <unistd.h>

#include "../support/http.h"
#include "../support/raw.h"
#include "../support/tokens.h"
#include "redis_stage.h"

enum { WAIT_MS = 5000 };

SUITE(.open = open_redis, .close = close_redis, .after = stop_daemon);

TEST(refused, .after = no_fixture)
{
	static const char *const others[] = { "0.0.0.0:0",
					      "[::]:0",
					      "0:0",
					      "10.0.0.1:0",
					      "128.0.0.1:0",
					      "[::ffff:10.0.0.1]:0",
					      "[fe80::1]:0",
					      "127.1:0",
					      "2130706433:0",
					      "some.example:0",
					      "localhost.example:0",
					      "127.0.0.1.example:0",
					      "ip6-localhost:0",
					      "[::ffff:0.0.0.0]:0",
					      "0x7f.0.0.1:0" };
	const char *const among[] = { "127.0.0.1:0,0.0.0.0:0", "unix:/tmp/none/socket,10.0.0.1:0",
				      "localhost:0,[::]:0" };
	char said[256];

	for (size_t i = 0; i < COUNT(others); i++) {
		assert_int_equal(daemon_run(&patternd, "--redis", redis.url, "--listen", others[i]), 2);
		snprintf(
			said, sizeof(said),
			"patternd: --listen: other machines can reach '%s': require tokens (--tokens FILE), or allow every "
			"request (--insecure)\n",
			others[i]);
		if (proc_wrote(&patternd.proc, said))
			continue;
		proc_print_tail(&patternd.proc);
		fail_msg("the log should contain: %s", said);
	}
	for (size_t i = 0; i < COUNT(among); i++) {
		assert_int_equal(daemon_run(&patternd, "--redis", redis.url, "--listen", among[i]), 2);
		snprintf(said, sizeof(said), "can reach '%s'", strchr(among[i], ',') + 1);
		assert_true(proc_wrote(&patternd.proc, said));
		assert_false(proc_wrote(&patternd.proc, "listening"));
	}
	/* A value that is not an address gets its own error. */
	assert_int_equal(daemon_run(&patternd, "--redis", redis.url, "--listen", "nonsense"), 2);
	assert_true(proc_wrote(&patternd.proc, "expected HOST:PORT"));
}

/* The port that the log has after "listening". */
static int port_of(struct daemon *d)
{
	char *log = file_text(d->proc.err_path), *line = log ? strstr(log, "listening") : NULL;
	char *end = line ? strpbrk(line, "\"\n") : NULL;
	int port = 0;

	for (; end && *end != '\n' && *end; end++)
		if (*end == ':' && end[1] >= '1' && end[1] <= '9')
			port = atoi(end + 1);
	free(log);
	return port;
}

/* Starts on any address; the port is in patternd.port. */
static void start_on(const char *address, const char *option, const char *value)
{
	const char *argv[] = { getenv("PATTERND_BIN"), "--redis", redis.url, "--listen", address, option, value, NULL };

	if (*patternd.proc.err_path)
		unlink(patternd.proc.err_path);
	proc_start(&patternd.proc, argv);
	wait_until((patternd.port = port_of(&patternd)) > 0 || proc_ended(&patternd.proc, 0), WAIT_MS);
	if (patternd.port == 0)
		proc_print_tail(&patternd.proc);
	assert_true(patternd.port > 0);
}

TEST(on_the_loopback, .after = no_fixture)
{
	static const char *const own[] = { "127.0.0.1:0", "127.200.3.4:0", "localhost:0", "LocalHost:0",
					   "[::ffff:127.0.0.1]:0" };

	for (size_t i = 0; i < COUNT(own); i++) {
		start_on(own[i], NULL, NULL);
		daemon_stop(&patternd);
	}
}

/* The status that a request with these headers gets. */
static int ask(const char *headers)
{
	struct raw *r = raw_connect(patternd.port);
	char text[512];

	snprintf(text, sizeof(text), "GET /locks/a HTTP/1.1\r\n%sConnection: close\r\n\r\n", headers);
	raw_text(r, text);
	int status = raw_answer(r, WAIT_MS).status;
	raw_close(r);
	return status;
}

/*
 * The rules for browsers apply at every address, since a page can make its own name resolve to any
 * of them.
 */
static void browsers_everywhere(void)
{
	static const struct {
		const char *headers;
		int status;
	} rows[] = {
		{ "Host: 10.1.2.3:8379\r\n", 200 },
		{ "Host: patternd.example\r\n", 403 },
		{ "Host: evil.example:8379\r\n", 403 },
		{ "Host: localhost:65536\r\n", 403 },
		{ "Host: user@127.0.0.1\r\n", 403 },
		{ "Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n", 400 },
		{ "Host: 10.1.2.3:8379\r\nOrigin: http://10.1.2.3:8379\r\n", 200 },
		{ "Host: 10.1.2.3:8379\r\nOrigin: http://10.1.2.3\r\n", 403 },
		{ "Host: 10.1.2.3:8379\r\nOrigin: ftp://10.1.2.3:8379\r\n", 403 },
		{ "Host: 10.1.2.3:8379\r\nSec-Fetch-Site: cross-site\r\n", 403 },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (ask(rows[i].headers) != rows[i].status)
			fail_msg("'%s' should be %d", rows[i].headers, rows[i].status);
}

TEST(insecure)
{
	start_on("0.0.0.0:0", "--insecure", NULL);
	wait_until(daemon_is_ready(&patternd, 100), WAIT_MS);
	browsers_everywhere();
}

TEST(with_tokens)
{
	start_on("0.0.0.0:0", "--tokens", tokens_file("secret", "locks:*"));
	wait_until(daemon_is_ready(&patternd, 100), WAIT_MS);
	assert_int_equal(ask("Host: 127.0.0.1\r\n"), 401); /* the loopback needs tokens, too */
	assert_int_equal(ask("Host: 127.0.0.1\r\n" AUTHORIZATION("secret") "\r\n"), 200);
	assert_int_equal(ask("Host: evil.example\r\n" AUTHORIZATION("secret") "\r\n"), 403);
}

static int port_behind(const char *event)
{
	char *log = file_text(patternd.proc.err_path), *line = log ? strstr(log, event) : NULL;
	char *at = line ? strstr(line, "0.0.0.0:") : NULL;
	int port = at ? atoi(at + strlen("0.0.0.0:")) : 0;

	free(log);
	return port;
}

/* Any client may query the health, which changes nothing. Metrics need a token. */
TEST(health)
{
	daemon_start(&patternd, "--redis", redis.url, "--health-listen", "0.0.0.0:0", "--tokens",
		     tokens_file("secret", "locks:*", "prometheus", "metrics:read"));
	wait_until(port_behind("health_listening") > 0, WAIT_MS);
	struct client *c = client_open(port_behind("health_listening"));
	assert_status(http(c, "GET", "/healthz", NULL), 200);
	assert_status(http(c, "GET", "/readyz", NULL), 200);
	assert_status(http(c, "GET", "/metrics", NULL), 401);
	assert_status(http(c, "GET", "/metrics", NULL, AUTHORIZATION("secret")), 403);
	assert_status(http(c, "GET", "/metrics", NULL, AUTHORIZATION("prometheus")), 200);
	assert_status(http(c, "GET", "/locks/a", NULL, AUTHORIZATION("secret")), 404);
	client_close(c);
	daemon_stop(&patternd);
	daemon_start(&patternd, "--redis", redis.url, "--health-listen", "0.0.0.0:0");
}
