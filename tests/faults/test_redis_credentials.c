/*
 * The credentials change while the daemon runs, and secrets never leave it (P20 of
 * tests/PROMISES.md). A rotation loses no request. When Redis refuses the credentials, requests get
 * 503. The daemon then retries slowly and rereads the file, so that it recovers by itself.
 */
#include <signal.h>
#include <sys/stat.h>

#include "../support/aside.h"
#include "../support/certificates.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/proxy.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/stride.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 8000, RECOVER_MS = 9000, LOOKUPS_MS = 500, CLIENTS = 16, ROUNDS = 12 };

static struct certificate ca, server_cert, client_cert;
static struct redis_server redis;
static char url[96], user_url[96], tls_url[96];
static char password_path[PATH_MAX];
static struct daemon patternd;
static struct client *client;

static void write_password(const char *password)
{
	FILE *f = fopen(password_path, "w");

	assert_non_null(f);
	fprintf(f, "%s\n", password);
	fclose(f);
	chmod(password_path, 0600);
}

static void acl(const char *rule)
{
	assert_int_equal(server_command(&redis, "ACL SETUSER app on ~p:* &p:* +@all %s", rule)->type,
			 REDIS_REPLY_STATUS);
}

static void end_connections(const char *user)
{
	server_command(&redis, "CLIENT KILL USER %s", user);
}

static long long refusals(void)
{
	const char *stats = server_command(&redis, "INFO commandstats")->str;
	const char *auth = strstr(stats, "cmdstat_auth:");
	const char *failed = auth ? strstr(auth, "failed_calls=") : NULL;

	return failed ? atoll(failed + strlen("failed_calls=")) : 0;
}

static bool writes(void)
{
	return http(client, "POST", "/pv/a", NULL).status == 200;
}

static bool is_refused(void)
{
	return strstr(http(client, "POST", "/pv/a", NULL).body, "\"redis_auth_failed\"") != NULL;
}

static int forget(void **state)
{
	client_close(client);
	client = NULL;
	daemon_stop(&patternd);
	server_command(&redis, "FLUSHALL");
	server_command(&redis, "CONFIG SET requirepass %s", "");
	server_command(&redis, "ACL DELUSER app");
	server_command(&redis, "CONFIG RESETSTAT");
	return 0;
}

static void open_client(void)
{
	client = client_open(patternd.port);
}

/* Waits for both connections of the pool and the subscriber's. */
static void all_connected(void)
{
	open_client();
	wait_until(metric_of(&patternd, "redis_connects_total") == 3, SOON_MS);
}

/* ---- Accepted credentials ---- */

TEST(test_user_in_the_url)
{
	acl(">good@:/word");
	char to[200];
	snprintf(to, sizeof(to), "redis://app:good%%40%%3a%%2fword@127.0.0.1:%d", redis.port);
	daemon_start(&patternd, "--redis", to);
	open_client();
	assert_true(writes());
	assert_non_null(strstr(server_command(&redis, "CLIENT LIST")->str, "user=app"));
}

TEST(test_file_goes_over_the_url)
{
	char to[200];

	acl(">right");
	write_password("right");
	snprintf(to, sizeof(to), "redis://app:wrong@127.0.0.1:%d", redis.port);
	daemon_start(&patternd, "--redis", to, "--redis-password-file", password_path);
	open_client();
	assert_true(writes());
}

/* ---- Rotation ---- */

/*
 * Requests are under way whenever `step` runs, and each of them succeeds. Returns the number of
 * requests.
 */
static long long under_load(void (*step)(int round))
{
	struct raw *clients[CLIENTS];
	long long asked = 0;

	for (int i = 0; i < CLIENTS; i++)
		clients[i] = raw_connect(patternd.port);
	for (int round = 0; round < ROUNDS * 4; round++) {
		for (int i = 0; i < CLIENTS; i++)
			raw_repeat(clients[i], "POST /pv/load HTTP/1.1\r\nHost: localhost\r\n\r\n", 10);
		if (round % 4 == 0)
			step(round / 4);
		for (int i = 0; i < CLIENTS * 10; i++, asked++)
			assert_status(raw_answer(clients[i / 10], 5000), 200);
		for (int i = 0; i < CLIENTS; i++)
			raw_forget(clients[i]);
	}
	for (int i = 0; i < CLIENTS; i++)
		raw_close(clients[i]);
	return asked;
}

static long links; /* the pool's and the subscriber's connections */

static void renew(void)
{
	long connects = metric_of(&patternd, "redis_connects_total");

	proc_signal(&patternd.proc, SIGHUP);
	wait_until(metric_of(&patternd, "redis_connects_total") == connects + links, SOON_MS);
}

/*
 * Rotates the password: both are valid; the file gets the new one; SIGHUP; then the old one is
 * removed, which closes all connections that still use it.
 */
static void rotate(int round)
{
	char rule[64], word[32];

	snprintf(word, sizeof(word), "word-%d", round + 1);
	snprintf(rule, sizeof(rule), ">%s", word);
	acl(rule);
	write_password(word);
	renew();
	snprintf(rule, sizeof(rule), "<word-%d", round);
	acl(rule);
}

static long connections_of_app(void)
{
	long n = 0;

	for (const char *at = server_command(&redis, "CLIENT LIST")->str; (at = strstr(at, "user=app")); at++)
		n++;
	return n;
}

static void test_rotation_with_pool_of(const char *size)
{
	acl(">word-0");
	write_password("word-0");
	daemon_start(&patternd, "--redis", user_url, "--redis-password-file", password_path, "--pool-size", size,
		     "--redis-timeout-ms", "5000");
	open_client();
	links = atol(size) + 1;
	wait_until(metric_of(&patternd, "redis_connects_total") == links, SOON_MS);
	struct raw *w = waiter_parked(&patternd, &redis, "rotated", "{\"wait_ms\":30000}");
	long long asked = under_load(rotate);
	assert_int_equal(int_at(http(client, "GET", "/pv/load", NULL), "/count"), asked);
	assert_int_equal(metric_of(&patternd, "redis_connect_failures_total"), 0);
	assert_int_equal(metric_of(&patternd, "calls_unknown_total"), 0);
	wait_until(connections_of_app() == links, SOON_MS); /* no earlier connection is left */
	/* The request that waited during the rotation is woken. */
	assert_false(waiter_is_answered(w));
	wait_until(subscribers_of(&redis, "rotated") == 1, SOON_MS);
	assert_status(http(client, "POST", "/queues/rotated/messages", "{\"body\":7}"), 201);
	struct answer a = waiter_answer(w, "/queues/rotated/receive", 3000);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/messages/0/body"), 7);
	raw_close(w);
}

TEST(test_rotation)
{
	test_rotation_with_pool_of("2");
}

TEST(test_rotation_of_one)
{
	test_rotation_with_pool_of("1");
}

/*
 * The new file has a wrong password. One connection is tried and fails, the others continue, and
 * the log has the reason. The right file ends this without another signal.
 */
TEST(test_wrong_rotation)
{
	acl(">right");
	write_password("right");
	daemon_start(&patternd, "--redis", user_url, "--redis-password-file", password_path);
	all_connected();
	write_password("wrong");
	proc_signal(&patternd.proc, SIGHUP);
	wait_until(proc_wrote(&patternd.proc, "redis_not_renewed"), SOON_MS);
	assert_true(proc_wrote(&patternd.proc, "WRONGPASS"));
	for (int i = 0; i < 20; i++)
		assert_true(writes());
	assert_int_equal(metric_of(&patternd, "redis_connections"), 1); /* the daemon tried one connection only */
	proc_signal(&patternd.proc, SIGHUP);                            /* another signal changes nothing */
	wait_until(refusals() == 2, SOON_MS);
	assert_int_equal(metric_of(&patternd, "redis_connections"), 1);
	assert_int_equal(metric_of(&patternd, "redis_disconnects_total"), 0);
	long connects = metric_of(&patternd, "redis_connects_total");
	write_password("right");
	wait_until(metric_of(&patternd, "redis_connects_total") >= connects + 3, RECOVER_MS);
	assert_true(writes());
	/* The daemon also keeps its connections when the file is gone. */
	remove(password_path);
	proc_signal(&patternd.proc, SIGHUP);
	wait_until(proc_wrote(&patternd.proc, "credentials_not_read"), SOON_MS);
	assert_true(writes());
}

/*
 * One connection waits for its answers before it closes. Requests that come before that use the
 * other connection.
 */
TEST(test_slow_calls)
{
	struct proxy *proxy = proxy_open(redis.port);
	char to[64];

	acl(">right");
	write_password("right");
	snprintf(to, sizeof(to), "redis://app@127.0.0.1:%d", proxy_port(proxy));
	daemon_start(&patternd, "--redis", to, "--redis-password-file", password_path, "--redis-timeout-ms", "5000");
	all_connected();
	struct raw *slow[2] = { raw_connect(patternd.port), raw_connect(patternd.port) };
	proxy_set(proxy, (struct proxy_fault){ .delay_ms = 700 });
	for (int i = 0; i < 2; i++) { /* each on a separate connection */
		uint64_t up = proxy_count(proxy).bytes_up;
		raw_text(slow[i], "POST /pv/slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
		wait_until(proxy_count(proxy).bytes_up > up, SOON_MS);
	}
	proxy_set(proxy, (struct proxy_fault){ 0 });
	proc_signal(&patternd.proc, SIGHUP);
	assert_true(writes());
	for (int i = 0; i < 2; i++) {
		assert_status(raw_answer(slow[i], 4000), 200);
		raw_close(slow[i]);
	}
	wait_until(metric_of(&patternd, "redis_connects_total") == 2 * 3, SOON_MS);
	assert_int_equal(metric_of(&patternd, "redis_disconnects_total"), 0);
	wait_until(connections_of_app() == 3, SOON_MS);
	proxy_close(proxy);
}

/*
 * The only connection of the pool closes, and its replacement is slow to connect: requests wait for
 * it.
 */
TEST(test_calls_wait_for_the_only_connection)
{
	struct proxy *proxy = proxy_open(redis.port);
	char to[64];

	acl(">right");
	write_password("right");
	snprintf(to, sizeof(to), "redis://app@127.0.0.1:%d", proxy_port(proxy));
	daemon_start(&patternd, "--redis", to, "--redis-password-file", password_path, "--pool-size", "1",
		     "--redis-timeout-ms", "5000", "--ready-follows-redis");
	open_client();
	wait_until(metric_of(&patternd, "redis_connects_total") == 2, SOON_MS);
	proxy_set(proxy, (struct proxy_fault){ .delay_ms = 150 });
	uint64_t connections = proxy_count(proxy).connections;
	proc_signal(&patternd.proc, SIGHUP);
	wait_until(proxy_count(proxy).connections > connections, SOON_MS);
	assert_status(http(client, "GET", "/readyz", NULL), 200);
	assert_int_equal(metric_of(&patternd, "redis_up"), 1);
	/* The checks above ran during the replacement. */
	assert_int_equal(metric_of(&patternd, "redis_connects_total"), 2);
	assert_true(writes());
	assert_true(metric_of(&patternd, "redis_connects_total") > 2);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(metric_of(&patternd, "redis_connects_total") == 4, SOON_MS);
	/* Requests do not wait for a connection that Redis refuses. */
	write_password("wrong");
	proc_signal(&patternd.proc, SIGHUP);
	wait_until(proc_wrote(&patternd.proc, "redis_not_renewed"), SOON_MS);
	struct answer a = http(client, "POST", "/pv/a", NULL);
	assert_problem(a, 503, "redis_auth_failed", "none");
	assert_in_range(a.took_us, 0, 1000 * 1000);
	write_password("right");
	proc_signal(&patternd.proc, SIGHUP);
	wait_until(writes(), SOON_MS);
	proxy_close(proxy);
}

/* After many signals at once, the daemon comes to rest and leaks nothing. */
TEST(test_flood_of_signals)
{
	acl(">right");
	write_password("right");
	daemon_start(&patternd, "--redis", user_url, "--redis-password-file", password_path);
	all_connected();
	assert_true(writes()); /* opens this client's connection, too */
	int files = daemon_open_files(&patternd);
	for (int i = 0; i < 200 / stride(); i++) {
		proc_signal(&patternd.proc, SIGHUP);
		assert_true(writes());
	}
	wait_until(daemon_open_files(&patternd) == files, SOON_MS);
	assert_int_equal(metric_of(&patternd, "calls_unknown_total"), 0);
	/* A renewal is under way when the daemon ends: daemon_stop detects leaks. */
	proc_signal(&patternd.proc, SIGHUP);
}

/*
 * The daemon looks up names in threads. No such thread may receive a signal: it would end the
 * process.
 */
TEST(test_signals_during_lookups)
{
	char nobody[64];
	int64_t until_ms = monotonic_ms() + LOOKUPS_MS;

	snprintf(nobody, sizeof(nobody), "redis://localhost:%d", free_port());
	daemon_launch(&patternd, "--redis", nobody, "--pool-size", "8"); /* each attempt is another look-up */
	while (monotonic_ms() < until_ms)
		proc_signal(&patternd.proc, SIGHUP);
	assert_true(daemon_is_alive(&patternd));
}

/*
 * Without any file, SIGHUP still renews the connections: the daemon asks again which commands the
 * Redis user may run.
 */
TEST(test_signal_without_files)
{
	daemon_start(&patternd, "--redis", url);
	all_connected();
	proc_signal(&patternd.proc, SIGHUP);
	for (int i = 0; i < 20; i++)
		assert_true(writes());
	wait_until(metric_of(&patternd, "redis_connects_total") == 2 * 3, SOON_MS);
	assert_int_equal(metric_of(&patternd, "calls_unknown_total"), 0);
}

/* Renews the client's certificate on disk; then Redis no longer accepts the old one. */
static void renew_certificate(int round)
{
	struct certificate fresh = certificate_make((struct certificate_wish){ .name = "patternd", .by = &ca });

	(void)round;
	certificate_replace(&client_cert, &fresh);
	renew();
}

TEST(test_certificate_rotation)
{
	daemon_start(&patternd, "--redis", tls_url, "--redis-ca-file", ca.cert_path, "--redis-cert-file",
		     client_cert.cert_path, "--redis-key-file", client_cert.key_path, "--redis-timeout-ms", "5000");
	all_connected();
	links = 3;
	long long asked = under_load(renew_certificate);
	assert_int_equal(int_at(http(client, "GET", "/pv/load", NULL), "/count"), asked);
	assert_int_equal(metric_of(&patternd, "redis_connect_failures_total"), 0);
	assert_true(metric_of(&patternd, "redis_connects_total") > ROUNDS * 2);
}

/* ---- Refused credentials ---- */

TEST(test_password_appears)
{
	write_password("canary-new");
	daemon_start(&patternd, "--redis", url, "--ready-follows-redis");
	all_connected();
	assert_true(writes());
	server_command(&redis, "CONFIG SET requirepass canary-new");
	server_command(&redis, "CLIENT KILL TYPE normal SKIPME yes");
	server_command(&redis, "CLIENT KILL TYPE pubsub");
	wait_until(is_refused(), SOON_MS);
	wait_until(strstr(text_at(http(client, "GET", "/readyz", NULL), "/detail"), "NOAUTH") != NULL, SOON_MS);
	server_command(&redis, "CONFIG SET requirepass %s", "");
	wait_until(writes(), RECOVER_MS);
}

/*
 * The server changes its password first. Redis refuses the daemon, at most once per 5 s, until the
 * file has the new password. No signal is sent.
 */
TEST(test_password_changes)
{
	acl(">old");
	write_password("old");
	daemon_start(&patternd, "--redis", user_url, "--redis-password-file", password_path, "--ready-follows-redis");
	all_connected();
	assert_true(writes());
	server_command(&redis, "ACL SETUSER app resetpass >new");
	long long before = refusals();
	end_connections("app");
	wait_until(is_refused() && !daemon_is_ready(&patternd, 0), SOON_MS);
	wait_until(strstr(text_at(http(client, "GET", "/readyz", NULL), "/detail"), "WRONGPASS") != NULL, SOON_MS);
	wait_until(refusals() - before >= 1, SOON_MS);
	/* At first each of the three connections tries; then all together try once per 5 s. */
	nap_ms(1000);
	long long at_first = refusals() - before;
	assert_in_range(at_first, 1, 3);
	nap_ms(9000);
	assert_in_range(refusals() - before - at_first, 1, 2);
	write_password("new");
	assert_true(daemon_is_ready(&patternd, RECOVER_MS));
	wait_until(writes(), SOON_MS);
	/* As soon as Redis accepts one connection, the others connect without a pause. */
	wait_until(metric_of(&patternd, "redis_connects_total") == 6, 2500);
}

/* SIGHUP ends the waiting at once. */
TEST(test_signal_after_refusal)
{
	acl(">right");
	write_password("wrong");
	daemon_launch(&patternd, "--redis", user_url, "--redis-password-file", password_path);
	open_client();
	wait_until(proc_wrote(&patternd.proc, "WRONGPASS"), SOON_MS);
	write_password("right");
	proc_signal(&patternd.proc, SIGHUP);
	assert_true(daemon_is_ready(&patternd, 2500));
}

/* ---- Secrets ---- */

static void assert_without(const char *where, const char *text, const char *secret)
{
	if (text && strstr(text, secret))
		fail_msg("'%s' is in %s: %s", secret, where, text);
}

static void assert_file_without(const char *path, const char *secret)
{
	FILE *f = fopen(path, "r");
	char text[65536];

	assert_non_null(f);
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	for (size_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	text[n] = '\0';
	assert_without(path, text, secret);
}

static void assert_nowhere(const char *secret)
{
	static const char *const targets[] = { "/info", "/metrics", "/readyz", "/healthz", "/locks/a" };
	char path[64];

	for (size_t i = 0; i < COUNT(targets); i++)
		assert_without(targets[i], http(client, "GET", targets[i], NULL).body, secret);
	assert_without("an answer", http(client, "POST", "/locks/b", NULL).body, secret);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)patternd.proc.pid);
	assert_file_without(path, secret);
	assert_file_without(patternd.proc.err_path, secret);
	assert_file_without(patternd.proc.out_path, secret);
}

static void watch_for_secrets(const char *rule)
{
	char to[200];

	acl(rule);
	write_password("canary-file");
	snprintf(to, sizeof(to), "redis://app:canary-url@127.0.0.1:%d", redis.port);
	daemon_launch(&patternd, "--redis", to, "--redis-password-file", password_path, "--log-level", "debug");
	open_client();
}

TEST(test_secrets)
{
	watch_for_secrets(">canary-file");
	wait_until(writes(), SOON_MS);
	assert_nowhere("canary");
	proc_signal(&patternd.proc, SIGHUP);
	wait_until(proc_wrote(&patternd.proc, "reloaded"), SOON_MS);
	server_command(&redis, "ACL SETUSER app resetpass >other");
	end_connections("app");
	wait_until(!writes(), SOON_MS);
	assert_nowhere("canary");
	struct daemon printer = { 0 };
	assert_int_equal(daemon_run(&printer, "--redis", "rediss://app:canary-url@h", "--check-config"), 0);
	assert_file_without(printer.proc.out_path, "canary");
}

/* A server without AUTH returns the unknown command with its arguments. */
TEST(test_secret_sent_back)
{
	struct redis_server without = { 0 };
	char to[200];

	server_start(&without, "--rename-command", "AUTH", "");
	write_password("canary-file");
	snprintf(to, sizeof(to), "redis://app@127.0.0.1:%d", without.port);
	daemon_launch(&patternd, "--redis", to, "--redis-password-file", password_path, "--log-level", "debug");
	open_client();
	wait_until(proc_wrote(&patternd.proc, "unknown command"), SOON_MS);
	assert_nowhere("canary");
	server_stop(&without);
}

TEST(test_readable_by_all)
{
	write_password("right");
	acl(">right");
	daemon_start(&patternd, "--redis", user_url, "--redis-password-file", password_path);
	assert_false(proc_wrote(&patternd.proc, "secret_readable_by_all"));
	daemon_stop(&patternd);
	chmod(password_path, 0644);
	chmod(client_cert.key_path, 0644);
	daemon_start(&patternd, "--redis", tls_url, "--redis-ca-file", ca.cert_path, "--redis-cert-file",
		     client_cert.cert_path, "--redis-key-file", client_cert.key_path);
	assert_true(proc_wrote(&patternd.proc, "secret_readable_by_all"));
	chmod(client_cert.key_path, 0600);
	daemon_stop(&patternd);
	daemon_start(&patternd, "--redis", user_url, "--redis-password-file", password_path);
	open_client();
	assert_true(proc_wrote(&patternd.proc, "secret_readable_by_all"));
}

static int set_up(void **state)
{
	static char port[16];

	ca = certificate_make((struct certificate_wish){ .name = "the CA" });
	server_cert = certificate_make((struct certificate_wish){ .name = "redis", .ip = "127.0.0.1", .by = &ca });
	client_cert = certificate_make((struct certificate_wish){ .name = "patternd", .by = &ca });
	snprintf(password_path, sizeof(password_path), "%s/password", temp_dir());
	snprintf(port, sizeof(port), "%d", free_port());
	server_start(&redis, "--tls-port", port, "--tls-cert-file", server_cert.cert_path, "--tls-key-file",
		     server_cert.key_path, "--tls-ca-cert-file", ca.cert_path);
	snprintf(url, sizeof(url), "redis://127.0.0.1:%d", redis.port);
	snprintf(user_url, sizeof(user_url), "redis://app@127.0.0.1:%d", redis.port);
	snprintf(tls_url, sizeof(tls_url), "rediss://127.0.0.1:%s", port);
	return 0;
}

static int tear_down(void **state)
{
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down, .after = forget, .columns = 3);
