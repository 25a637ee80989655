/*
 * The options: where they come from, which source takes precedence, and which values are refused.
 * An invalid option ends the start with exit status 2 and one line that names the option.
 */
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/leap.h"
#include "../support/proxy.h"
#include "../support/redis_server.h"
#include "../support/stride.h"
#include "../support/waiter.h"
#include "test.h"

static struct daemon patternd;

/* What the last daemon_run wrote to stdout; the caller frees it. */
static char *printed(void)
{
	char *text = file_text(patternd.proc.out_path);

	assert_non_null(text);
	return text;
}

/* All flags of options.def. */
static const char *const flags[] = {
#define OPTION_GROUP(title)
#define OPTION_TEXT(field, flag, argument, standard, help) flag,
#define OPTION_SECRET(field, flag, argument, standard, help) flag,
#define OPTION_OPTIONAL(field, flag, argument, help) flag,
#define OPTION_CHOICE(field, flag, standard, choices, help) flag,
#define OPTION_INT(field, flag, argument, standard, low, high, help) flag,
#define OPTION_FLAG(field, flag, help) flag,
#define OPTION_ONCE(flag, argument, help) flag,
#include "../../service/process/options.def"
};

/* True when a line of the help begins with this flag, and not with a longer one. */
static bool documents(const char *help, const char *flag)
{
	char begins[80];
	size_t len = (size_t)snprintf(begins, sizeof(begins), "\n  --%s", flag);

	for (const char *at = strstr(help, begins); at; at = strstr(at + 1, begins))
		if (strchr(" [\n", at[len]))
			return true;
	return false;
}

TEST(test_help)
{
	assert_int_equal(daemon_run(&patternd, "--help"), 0);
	char *help = printed();
	for (size_t i = 0; i < COUNT(flags); i++) {
		if (!documents(help, flags[i]))
			fail_msg("--help does not list --%s", flags[i]);
	}
	for (const char *line = help; *line; line += strcspn(line, "\n") + 1)
		if (strcspn(line, "\n") > 80)
			fail_msg("more than 80 columns: %.*s", (int)strcspn(line, "\n"), line);
	assert_non_null(strstr(help, "SIGTERM\n                            [5000]\n")); /* a default */
	assert_non_null(strstr(help, "\nListening\n  --listen "));                      /* and a group */
	free(help);
}

struct row {
	const char *arguments[3];
	const char *named; /* must be in the message */
};

/* Errors that test_config.c and test_redis_url.c test in detail have one row each here. */
static const struct row bad[] = {
	{ { "--no-such-option" }, "--no-such-option" },
	{ { "" }, "argument" },
	{ { "--pool-size", "0" }, "--pool-size: '0' is not a whole number from 1 to 64" },
	{ { "--log-names", "some" }, "on|off" },
	{ { "--metrics-names", "queues" }, "'queues' names nothing to match; write KIND:GLOB" },
	{ { "--metrics-names", "queues:" }, "'queues:' names nothing to match" },
	{ { "--metrics-names", "queues:a,geo:x" }, "KIND is queues, policies or locks" },
	{ { "--metrics-names", "queues:*a*b*" }, "more than 2 stars" },
	{ { "--metrics-names", ":a" }, "unknown kind ''" },
	{ { "--listen", "nonsense" }, "listen" },
	{ { "--listen", "127.0.0.1:99999" }, "listen" },
	{ { "--listen", "127.0.0.1:" }, "listen" },
	{ { "--listen", "127.0.0.1:80x" }, "listen" },
	{ { "--listen", "127.0.0.1:0," }, "listen" },
	{ { "--listen", "" }, "listen" },
	{ { "--listen", "::1:8379" }, "brackets" },
	{ { "--listen", "unix:" }, "unix:" },
	{ { "--listen", "unix:relative" }, "relative" },
	{ { "--listen", "unix:/no/such/folder/socket" }, "/no/such/folder" },
	{ { "--listen=127.0.0.1:0", "--listen-mode=rw" }, "--listen-mode" },
	{ { "--listen=127.0.0.1:0", "--listen-mode=07777" }, "--listen-mode" },
	{ { "--listen=127.0.0.1:0", "--health-listen=8380" }, "health-listen" },
	{ { "--listen=127.0.0.1:0", "--tls-cert=/no/such/file" }, "--tls-key" },
	{ { "--tls-cert=/no/such/file", "--tls-key=/no/such/key" }, "/no/such/file" },
	{ { "--listen=127.0.0.1:0", "--tls-client-ca=/no/such/file" }, "--tls-cert" },
	{ { "--redis", "http://127.0.0.1:6379" }, "the scheme" },
	{ { "--redis-password-file", "/no/such/file" }, "/no/such/file" },
	{ { "--redis-password-file", "/dev/null" }, "--redis-password-file" }, /* empty */
	{ { "--redis-ca-file", "/etc/passwd" }, "rediss://" },                 /* no TLS, though the URL suggests it */
	{ { "--redis=rediss://h", "--redis-ca-file=/no/such/file" }, "/no/such/file" },
	{ { "--redis=rediss://h", "--redis-ca-file=/etc/passwd" }, "--redis-ca-file" }, /* no PEM */
	{ { "--redis=rediss://h", "--redis-cert-file=/etc/passwd" }, "--redis-key-file" },
	{ { "--redis=rediss://h", "--redis-key-file=/etc/passwd" }, "--redis-cert-file" },
};

static void test_refused(void **state)
{
	const struct row *row = *state;
	const char *const *a = row->arguments;

	if ((row - bad) % stride() != 0)
		skip();
	int status = a[1] ? daemon_run(&patternd, a[0], a[1]) : daemon_run(&patternd, a[0]);
	char *said = file_text(patternd.proc.err_path);
	assert_non_null(said);
	if (status != 2 || !strstr(said, row->named))
		fail_msg("exit status %d, stderr: %s", status, said);
	char *newline = strchr(said, '\n');
	assert_true(newline && newline[1] == '\0'); /* one line */
	free(said);
}

TEST_ROWS(test_refused, bad, arguments[0]);

static const char *file_with(const char *text)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/patternd.conf", temp_dir());
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return path;
}

TEST(test_each_fault_of_a_file_is_named_with_its_line)
{
	const char *path = file_with("pool-size = 0\nredis = http://user:canary-4711@h\nno-such = 1\n");
	char named[300];

	assert_int_equal(daemon_run(&patternd, "--config", path), 2);
	snprintf(named, sizeof(named), "%s:1: pool-size: '0' is not a whole number", path);
	assert_true(proc_wrote(&patternd.proc, named));
	snprintf(named, sizeof(named), "%s:2: redis: the scheme", path);
	assert_true(proc_wrote(&patternd.proc, named));
	snprintf(named, sizeof(named), "%s:3: ", path);
	assert_true(proc_wrote(&patternd.proc, named));
	assert_false(proc_wrote(&patternd.proc, "canary"));
}

TEST(test_secrets_are_not_printed)
{
	static const char url[] = "redis://user:canary-4711@127.0.0.1:1/0";

	assert_int_equal(daemon_run(&patternd, "--check-config", "--redis", url), 0);
	char *text = printed();
	assert_null(strstr(text, "canary"));
	free(text);
	assert_int_equal(daemon_run(&patternd, "--redis", "http://user:canary-4711@127.0.0.1"), 2);
	assert_false(proc_wrote(&patternd.proc, "canary"));
	daemon_launch(&patternd, "--redis", url, "--log-level", "debug");
	struct client *c = client_open(patternd.port);
	static const char *const targets[] = { "/info", "/metrics", "/readyz", "/locks/a" };
	for (size_t i = 0; i < COUNT(targets); i++)
		assert_null(strstr(http(c, "GET", targets[i], NULL).body, "canary"));
	client_close(c);
	daemon_stop(&patternd);
	assert_false(proc_wrote(&patternd.proc, "canary"));
}

TEST(test_password)
{
	struct redis_server redis = { 0 };
	char url[128];

	server_start(&redis, "--requirepass", "se:cr@et/%");
	const char *file = file_with("se:cr@et/%\nnot this line\n");
	daemon_start(&patternd, "--redis", redis.url, "--redis-password-file", file);
	daemon_stop(&patternd);
	snprintf(url, sizeof(url), "redis://:se%%3Acr%%40et%%2F%%25@127.0.0.1:%d/0", redis.port);
	daemon_start(&patternd, "--redis", url);
	daemon_stop(&patternd);
	server_kill(&redis);
}

/* A first start may find no Redis: the log and /readyz give advice until a connection succeeds. */
TEST(test_no_redis)
{
	static const char advice[] =
		"; start a Redis there (apt install redis-server), name another (--redis URL), or run a private one "
		"(--embedded)";
	struct redis_server redis = { 0 };

	server_start(&redis, "--requirepass", "told-to-nobody");
	server_stop(&redis);
	daemon_launch(&patternd, "--redis", redis.url);
	wait_until(proc_wrote(&patternd.proc, "redis_missing"), 5000);
	assert_true(proc_wrote(&patternd.proc, advice));
	struct client *c = client_open(patternd.port);
	assert_problem(http(c, "GET", "/readyz", NULL), 503, "not_ready", "none");
	assert_non_null(strstr(http(c, "GET", "/readyz", NULL).body, advice));
	server_restart(&redis);
	wait_until(strstr(http(c, "GET", "/readyz", NULL).body, "NOAUTH"), 5000);
	assert_null(strstr(http(c, "GET", "/readyz", NULL).body, advice));
	client_close(c);
	daemon_stop(&patternd);
	server_stop(&redis);
}

TEST(test_database_and_prefix)
{
	struct redis_server redis = { 0 };
	char url[128];

	server_start(&redis);
	snprintf(url, sizeof(url), "redis://127.0.0.1:%d/3", redis.port);
	daemon_start(&patternd, "--redis", url, "--prefix", "mine:");
	struct client *c = client_open(patternd.port);
	assert_status(http(c, "POST", "/locks/a", NULL), 201);
	assert_int_equal(server_keys(&redis), 0);
	server_command(&redis, "SELECT 3");
	assert_int_equal(server_command(&redis, "EXISTS mine:lock:{a}")->integer, 1);
	size_t ours = server_command(&redis, "KEYS mine:*")->elements;
	assert_int_equal(server_command(&redis, "DBSIZE")->integer, ours);
	client_close(c);
	daemon_stop(&patternd);
	server_stop(&redis);
}

TEST(test_allowed_hosts)
{
	struct redis_server redis = { 0 };

	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--allowed-hosts", "patternd.local,other");
	struct client *c = client_open(patternd.port);
	assert_status(http(c, "GET", "/healthz", NULL, "Host: patternd.local"), 200);
	assert_status(http(c, "GET", "/healthz", NULL, "Host: OTHER:80"), 200);
	assert_problem(http(c, "GET", "/healthz", NULL, "Host: local"), 403, "host_not_allowed", "none");
	assert_problem(http(c, "GET", "/healthz", NULL, "Host: patternd.local.evil"), 403, "host_not_allowed", "none");
	assert_problem(http(c, "GET", "/healthz", NULL, "Host: patternd.local,other"), 403, "host_not_allowed", "none");
	client_close(c);
	daemon_stop(&patternd);
	server_stop(&redis);
}

/*
 * At start the daemon reports a server that may lose data. With --strict it does not use the
 * server: it keeps running, since the server may be repaired, and is not ready.
 */
static void assert_not_strict(const struct redis_server *r, const char *why)
{
	daemon_launch(&patternd, "--redis", r->url, "--strict");
	struct client *c = client_open(patternd.port);
	wait_until(strstr(http(c, "GET", "/readyz", NULL).body, why), 5000);
	assert_problem(http(c, "POST", "/locks/a", NULL), 503, "redis_unavailable", "none");
	wait_until(metric_of(&patternd, "redis_config_risks") > 0, 5000);
	client_close(c);
	daemon_stop(&patternd);
}

TEST(test_strict)
{
	struct redis_server redis = { 0 }, safe = { 0 };

	server_start(&redis, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru");
	daemon_start(&patternd, "--redis", redis.url);
	assert_true(proc_wrote(&patternd.proc, "maxmemory-policy"));
	assert_true(proc_wrote(&patternd.proc, "appendonly"));
	assert_true(metric_of(&patternd, "redis_config_unsafe_total") >= 2);
	daemon_stop(&patternd);
	patternd.proc.env = NULL;
	assert_not_strict(&redis, "--strict: maxmemory-policy is allkeys-lru");
	server_command(&redis, "CONFIG SET maxmemory-policy noeviction");
	assert_not_strict(&redis, "--strict: appendonly is off");
	server_start(&safe, "--appendonly", "yes");
	daemon_start(&patternd, "--redis", safe.url, "--strict");
	assert_int_equal(metric_of(&patternd, "redis_config_unsafe_total"), 0);
	daemon_stop(&patternd);
	server_stop(&safe);
	server_stop(&redis);
}

/* The gauge follows the settings of Redis, also while the daemon gets no requests. */
TEST(test_risks_that_end)
{
	struct redis_server redis = { 0 };

	if (daemon_is_sanitized())
		skip(); /* it would wait for a minute */
	server_start(&redis, "--maxmemory-policy", "allkeys-lru");
	may_leap(&patternd);
	daemon_start(&patternd, "--redis", redis.url);
	assert_int_equal(metric_of(&patternd, "redis_config_risks"), 2);
	server_command(&redis, "CONFIG SET maxmemory-policy noeviction");
	server_command(&redis, "CONFIG SET appendonly yes");
	assert_int_equal(metric_of(&patternd, "redis_config_risks"), 2);
	leap(&patternd, 62);
	wait_until(metric_of(&patternd, "redis_config_risks") == 0, 5000);
	daemon_stop(&patternd);
	patternd.proc.env = NULL;
	server_stop(&redis);
}

/* The daemon notices a changed setting after a minute, also while it gets no requests. */
TEST(test_strict_while_it_lasts)
{
	struct redis_server redis = { 0 };

	if (daemon_is_sanitized())
		skip(); /* it would wait for a minute */
	server_start(&redis, "--appendonly", "yes");
	may_leap(&patternd);
	daemon_start(&patternd, "--redis", redis.url, "--strict");
	server_command(&redis, "CONFIG SET maxmemory-policy allkeys-lru");
	struct client *c = client_open(patternd.port);
	assert_status(http(c, "POST", "/locks/a", NULL), 201);
	assert_int_equal(metric_of(&patternd, "redis_config_unsafe_total"), 0);
	client_close(c);

	leap(&patternd, 62);
	c = client_open(patternd.port);
	wait_until(metric_of(&patternd, "redis_config_unsafe_total") > 0, 5000);
	leap(&patternd, 10); /* the daemon asks a rejected server again after this time */
	wait_until(metric_of(&patternd, "redis_connect_failures_total") > 0, 5000); /* a handshake was rejected */
	leap(&patternd, 10);
	wait_until(strstr(http(c, "POST", "/locks/c", NULL).body, "--strict: maxmemory-policy is allkeys-lru"), 5000);
	assert_problem(http(c, "POST", "/locks/c", NULL), 503, "redis_unavailable", "none");
	client_close(c);
	daemon_stop(&patternd);
	patternd.proc.env = NULL;
	server_stop(&redis);
}

static bool is_refused(struct client *c, const char *why)
{
	struct answer a = http(c, "POST", "/locks/a", NULL);

	return a.status == 503 && strstr(a.body, why);
}

/* One connection asks, and what it learns counts for all, though none of them is ever idle. */
TEST(test_a_check_is_for_the_whole_pool)
{
	static const char *const pool[] = { "--pool-size", "16", "--redis-keepalive-ms", "3600000" };
	struct redis_server redis = { 0 };

	if (daemon_is_sanitized())
		skip(); /* it would wait for a minute */
	server_start(&redis, "--maxmemory-policy", "allkeys-lru", "--appendonly", "yes");
	may_leap(&patternd);
	daemon_start(&patternd, "--redis", redis.url, pool[0], pool[1], pool[2], pool[3]);
	struct client *c = client_open(patternd.port);
	assert_int_equal(metric_of(&patternd, "redis_config_risks"), 1);
	server_command(&redis, "CONFIG SET maxmemory-policy noeviction");
	leap(&patternd, 62);
	assert_status(http(c, "POST", "/locks/risky", NULL), 201);
	wait_until(metric_of(&patternd, "redis_config_risks") == 0, 5000);
	client_close(c);
	daemon_stop(&patternd);

	daemon_start(&patternd, "--redis", redis.url, "--strict", pool[0], pool[1], pool[2], pool[3]);
	c = client_open(patternd.port);
	server_command(&redis, "CONFIG SET maxmemory-policy allkeys-lru");
	leap(&patternd, 62);
	wait_until(is_refused(c, "--strict: maxmemory-policy is allkeys-lru"), 5000);
	client_close(c);
	daemon_stop(&patternd);
	patternd.proc.env = NULL;
	server_stop(&redis);
}

/* A server of another kind than configured is not used, and callers get the reason. */
static void assert_not_used(const struct redis_server *r, const char *scheme, const char *why, const char *code)
{
	char url[64];

	snprintf(url, sizeof(url), "%s://127.0.0.1:%d", scheme, r->port);
	daemon_launch(&patternd, "--redis", url);
	struct client *c = client_open(patternd.port);
	wait_until(strstr(http(c, "GET", "/readyz", NULL).body, why), 5000);
	assert_problem(http(c, "GET", "/readyz", NULL), 503, "not_ready", "none");
	assert_problem(http(c, "POST", "/locks/a", NULL), 503, code, "none");
	assert_true(proc_wrote(&patternd.proc, why));
	client_close(c);
	daemon_stop(&patternd);
}

TEST(test_servers_of_another_kind)
{
	struct redis_server alone = { 0 }, node = { 0 };

	server_start(&node, "--cluster-enabled", "yes");
	assert_not_used(&node, "redis", "it is a Cluster node; use redis+cluster://", "redis_unavailable");
	server_stop(&node);
	server_start(&alone);
	assert_not_used(&alone, "redis+cluster", "it is not a Cluster node; use redis:// for a single server",
			"redis_unavailable");
	server_command(&alone, "REPLICAOF 127.0.0.1 1");
	assert_not_used(&alone, "redis", "it is a replica; patternd needs the master", "redis_read_only");
	server_stop(&alone);
}

/* Only the run id shows that two addresses lead to one server. */
TEST(test_one_server_under_two_names)
{
	struct redis_server servers[2] = { 0 };
	char urls[160], names[2][32];

	for (int i = 0; i < 2; i++)
		server_start(&servers[i]);
	struct proxy *proxy = proxy_open(servers[0].port);
	snprintf(urls, sizeof(urls), "%s,%s,%s", servers[0].url, servers[1].url, proxy_url(proxy));
	snprintf(names[0], sizeof(names[0]), "127.0.0.1:%d", servers[0].port);
	snprintf(names[1], sizeof(names[1]), "127.0.0.1:%d", proxy_port(proxy));
	daemon_launch(&patternd, "--redis", servers[1].url, "--lock-quorum", urls);
	struct client *c = client_open(patternd.port);
	wait_until(strstr(http(c, "GET", "/readyz", NULL).body, "are one server"), 5000);
	struct answer a = http(c, "GET", "/readyz", NULL);
	assert_problem(a, 503, "not_ready", "none");
	for (int i = 0; i < 2; i++) {
		assert_non_null(strstr(text_at(a, "/detail"), names[i]));
		assert_true(proc_wrote(&patternd.proc, names[i]));
	}
	wait_until(metric_of(&patternd, "lock_quorum_members_up") == 2, 5000);
	client_close(c);
	daemon_stop(&patternd);
	proxy_close(proxy);
	for (int i = 0; i < 2; i++)
		server_stop(&servers[i]);
}
