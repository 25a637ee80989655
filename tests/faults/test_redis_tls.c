/*
 * Redis over TLS, where each side verifies the other. Whatever is wrong with the peer's
 * certificate, name, version or port, the daemon sends no command. The log and /readyz name the
 * cause. The test makes the certificates.
 */
#include <openssl/ssl.h>

#include "../support/certificates.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/proxy.h"
#include "../support/redis_server.h"
#include "../support/stubborn.h"
#include "../support/tls_front.h"
#include "test.h"

enum { DAY_S = 86400, NAMED_MS = 5000 };

static struct certificate ca, other_ca, server_cert, client_cert, foreign_client;
static struct redis_server redis;  /* requires no client certificate */
static struct redis_server strict; /* requires one */
static char url[64], strict_url[64];
static struct daemon patternd;

static void assert_serves(void)
{
	struct client *c = client_open(patternd.port);

	assert_true(daemon_is_ready(&patternd, NAMED_MS));
	assert_status(http(c, "POST", "/pv/tls", NULL), 200);
	client_close(c);
	daemon_stop(&patternd);
}

static bool is_named(struct client *c, const char *cause)
{
	struct answer a = http(c, "GET", "/readyz", NULL);

	assert_problem(a, 503, "not_ready", "none");
	return strstr(text_at(a, "/detail"), cause) != NULL;
}

/* /readyz, a request's answer and the log have the cause, with its remedy. */
static void assert_cause(const char *cause)
{
	struct client *c = client_open(patternd.port);

	wait_until(is_named(c, cause), NAMED_MS);
	struct answer a = http(c, "POST", "/locks/a", NULL);
	assert_problem(a, 503, "redis_unavailable", "none");
	assert_true(proc_wrote(&patternd.proc, cause));
	client_close(c);
	daemon_stop(&patternd);
}

/* ---- Valid certificates ---- */

TEST(test_good)
{
	daemon_launch(&patternd, "--redis", url, "--redis-ca-file", ca.cert_path);
	assert_serves();
}

TEST(test_name_of_the_host)
{
	char named[64];

	snprintf(named, sizeof(named), "rediss://localhost%s", strrchr(url, ':'));
	daemon_launch(&patternd, "--redis", named, "--redis-ca-file", ca.cert_path);
	assert_serves();
}

TEST(test_other_name)
{
	daemon_launch(&patternd, "--redis", url, "--redis-ca-file", ca.cert_path, "--redis-server-name", "localhost");
	assert_serves();
}

/*
 * The file of CAs has the server's certificate itself: the daemon trusts it, though no CA in the
 * file signed it.
 */
TEST(test_pinned)
{
	daemon_launch(&patternd, "--redis", url, "--redis-ca-file", server_cert.cert_path);
	assert_serves();
}

/* An environment variable of OpenSSL replaces the system's store in this test. */
TEST(test_system_store)
{
	char variable[PATH_MAX + 32];
	const char *const environment[] = { variable, NULL };

	snprintf(variable, sizeof(variable), "SSL_CERT_FILE=%s", ca.cert_path);
	patternd.proc.env = environment;
	daemon_launch(&patternd, "--redis", url);
	patternd.proc.env = NULL;
	assert_serves();
}

TEST(test_mutual)
{
	daemon_launch(&patternd, "--redis", strict_url, "--redis-ca-file", ca.cert_path, "--redis-cert-file",
		      client_cert.cert_path, "--redis-key-file", client_cert.key_path);
	assert_serves();
}

TEST(test_version)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	for (size_t i = 0; i < 2; i++) {
		struct tls_front *front =
			tls_front_open(redis.port, &server_cert, (struct tls_manner){ .only_version = versions[i] });
		daemon_launch(&patternd, "--redis", tls_front_url(front), "--redis-ca-file", ca.cert_path);
		assert_serves();
		tls_front_close(front);
	}
}

/* ---- Invalid server certificates ---- */

static void assert_refused(struct certificate_wish wish, const char *cause)
{
	struct certificate bad = certificate_make(wish);
	struct tls_front *front = tls_front_open(redis.port, &bad, (struct tls_manner){ 0 });

	daemon_launch(&patternd, "--redis", tls_front_url(front), "--redis-ca-file", ca.cert_path);
	assert_cause(cause);
	assert_int_equal(tls_front_handshakes(front), 0);
	tls_front_close(front);
}

TEST(test_expired)
{
	assert_refused(
		(struct certificate_wish){
			.name = "redis", .ip = "127.0.0.1", .by = &ca, .starts_in_s = -2 * DAY_S, .ends_in_s = -DAY_S },
		"has expired");
}

TEST(test_not_yet_valid)
{
	assert_refused(
		(struct certificate_wish){
			.name = "redis", .ip = "127.0.0.1", .by = &ca, .starts_in_s = DAY_S, .ends_in_s = 2 * DAY_S },
		"not valid yet");
}

TEST(test_wrong_name)
{
	/*
	 * A DNS name does not match an address, even if it looks the same. A certificate for
	 * another address does not match either.
	 */
	assert_refused((struct certificate_wish){ .name = "127.0.0.1", .dns = "127.0.0.1", .by = &ca },
		       "not for '127.0.0.1'");
	assert_refused((struct certificate_wish){ .name = "redis", .ip = "127.0.0.2", .by = &ca },
		       "not for '127.0.0.1'");
	daemon_launch(&patternd, "--redis", url, "--redis-ca-file", ca.cert_path, "--redis-server-name",
		      "redis.example");
	assert_cause("not for 'redis.example' (--redis-server-name");
	daemon_launch(&patternd, "--redis", url, "--redis-ca-file", ca.cert_path, "--redis-server-name", "127.0.0.9");
	assert_cause("not for '127.0.0.9'");
}

TEST(test_unknown_ca)
{
	daemon_launch(&patternd, "--redis", url, "--redis-ca-file", other_ca.cert_path);
	assert_cause("not signed by a CA that is known here (--redis-ca-file");
	daemon_launch(&patternd, "--redis", url); /* trusts only what the system trusts */
	assert_cause("not signed by a CA that is known here (--redis-ca-file");
	assert_refused((struct certificate_wish){ .name = "redis", .ip = "127.0.0.1" }, "not signed by a CA");
}

TEST(test_old_version)
{
	struct tls_front *front =
		tls_front_open(redis.port, &server_cert, (struct tls_manner){ .only_version = TLS1_1_VERSION });

	daemon_launch(&patternd, "--redis", tls_front_url(front), "--redis-ca-file", ca.cert_path);
	assert_cause("1.2 or later is needed");
	assert_int_equal(tls_front_handshakes(front), 0);
	tls_front_close(front);
}

/* ---- The client's certificate ---- */

TEST(test_certificate_missing)
{
	daemon_launch(&patternd, "--redis", strict_url, "--redis-ca-file", ca.cert_path);
	assert_cause("requires a client certificate (--redis-cert-file");
	/* With TLS 1.2 the refusal comes within the handshake, with another text. */
	server_command(&strict, "CONFIG SET tls-protocols TLSv1.2");
	daemon_launch(&patternd, "--redis", strict_url, "--redis-ca-file", ca.cert_path);
	assert_cause("requires a client certificate (--redis-cert-file");
	server_command(&strict, "CONFIG SET tls-protocols %s", "");
}

TEST(test_certificate_refused)
{
	daemon_launch(&patternd, "--redis", strict_url, "--redis-ca-file", ca.cert_path, "--redis-cert-file",
		      foreign_client.cert_path, "--redis-key-file", foreign_client.key_path);
	assert_cause("does not accept the client certificate");
}

/* The daemon does not start when its files are wrong. */
TEST(test_key_of_another)
{
	assert_int_equal(daemon_run(&patternd, "--redis", strict_url, "--redis-cert-file", client_cert.cert_path,
				    "--redis-key-file", foreign_client.key_path),
			 2);
	assert_true(proc_wrote(&patternd.proc, "--redis-key-file"));
}

/* ---- The wrong port ---- */

TEST(test_plain_port)
{
	char plain[64];

	snprintf(plain, sizeof(plain), "rediss://127.0.0.1:%d", redis.port);
	daemon_launch(&patternd, "--redis", plain, "--redis-ca-file", ca.cert_path, "--redis-timeout-ms", "300");
	assert_cause("redis:// is for a port without TLS");
}

/* Redis does not answer what it does not understand; other servers do. */
TEST(test_other_servers)
{
	static const struct stubborn_manner manners[] = {
		{ "silence", NULL, NULL, 0 },
		{ "HTTP", NULL, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 0 },
		{ "SSH", "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", NULL, 0 },
		{ "a flood", NULL, "\x16\x03\x03\x40\x00", SIZE_MAX },
	};
	static const char *const causes[] = { "no handshake in time", "does not speak TLS", "does not speak TLS",
					      "TLS: " };
	char to[64];

	for (size_t i = 0; i < COUNT(manners); i++) {
		struct stubborn *peer = stubborn_open(&manners[i]);
		snprintf(to, sizeof(to), "rediss://127.0.0.1:%d", stubborn_port(peer));
		daemon_launch(&patternd, "--redis", to, "--redis-timeout-ms", "300");
		assert_cause(causes[i]);
		stubborn_close(peer);
	}
}

/*
 * A server that accepts the connection and stays silent delays nothing else. The daemon does not
 * try it too often.
 */
TEST(test_silence_costs_nothing)
{
	static const struct stubborn_manner silence = { "silence", NULL, NULL, 0 };
	struct stubborn *peer = stubborn_open(&silence);
	char to[64];

	snprintf(to, sizeof(to), "rediss://127.0.0.1:%d", stubborn_port(peer));
	daemon_launch(&patternd, "--redis", to, "--redis-timeout-ms", "200");
	wait_until(stubborn_connections(peer) >= 3, NAMED_MS);
	uint64_t before = stubborn_connections(peer);
	long cpu_ms = daemon_cpu_ms(&patternd);
	nap_ms(500);
	assert_in_range(stubborn_connections(peer) - before, 0, 12);
	assert_in_range(daemon_cpu_ms(&patternd) - cpu_ms, 0, 150);
	assert_true(daemon_is_alive(&patternd));
	daemon_stop(&patternd);
	stubborn_close(peer);
}

TEST(test_tls_port)
{
	char plain[64];

	snprintf(plain, sizeof(plain), "redis://127.0.0.1%s", strrchr(url, ':'));
	daemon_launch(&patternd, "--redis", plain);
	assert_cause("rediss://");
	static const struct stubborn_manner alert = { "an alert", NULL, "\x15\x03\x01\x02\x02\x16", 0 };
	struct stubborn *peer = stubborn_open(&alert);
	daemon_launch(&patternd, "--redis", stubborn_url(peer));
	assert_cause("this port speaks TLS: use rediss://");
	stubborn_close(peer);
}

/* ---- After a failure ---- */

/* The server gets the right certificate; the daemon recovers by itself. */
TEST(test_recovers)
{
	struct certificate bad = certificate_make((struct certificate_wish){ .name = "redis", .ip = "127.0.0.1" });
	struct tls_front *front = tls_front_open(redis.port, &bad, (struct tls_manner){ 0 });
	struct proxy *proxy = proxy_open(tls_front_port(front));
	char to[64];

	snprintf(to, sizeof(to), "rediss://127.0.0.1:%d", proxy_port(proxy));
	daemon_launch(&patternd, "--redis", to, "--redis-ca-file", ca.cert_path);
	wait_until(proc_wrote(&patternd.proc, "not signed by a CA"), NAMED_MS);
	uint64_t connections = proxy_count(proxy).connections;
	nap_ms(1000);
	/* The daemon does not repeat the handshake at once. */
	assert_in_range(proxy_count(proxy).connections - connections, 0, 3);
	/* The daemon rereads the file of CAs before the next attempt. */
	FILE *from = fopen(bad.cert_path, "r"), *both = fopen(ca.cert_path, "a");
	for (int c; from && both && (c = fgetc(from)) != EOF;)
		fputc(c, both);
	fclose(from);
	fclose(both);
	assert_true(daemon_is_ready(&patternd, 8000));
	assert_serves();
	proxy_close(proxy);
	tls_front_close(front);
}

static void start_server(struct redis_server *r, const char *asks, char *to)
{
	char port[16];

	snprintf(port, sizeof(port), "%d", free_port());
	server_start(r, "--tls-port", port, "--tls-cert-file", server_cert.cert_path, "--tls-key-file",
		     server_cert.key_path, "--tls-ca-cert-file", ca.cert_path, "--tls-auth-clients", asks);
	snprintf(to, 64, "rediss://127.0.0.1:%s", port);
}

static int set_up(void **state)
{
	ca = certificate_make((struct certificate_wish){ .name = "the CA" });
	other_ca = certificate_make((struct certificate_wish){ .name = "another CA" });
	server_cert = certificate_make(
		(struct certificate_wish){ .name = "redis", .dns = "localhost", .ip = "127.0.0.1", .by = &ca });
	client_cert = certificate_make((struct certificate_wish){ .name = "patternd", .by = &ca });
	foreign_client = certificate_make((struct certificate_wish){ .name = "somebody", .by = &other_ca });
	start_server(&redis, "no", url);
	start_server(&strict, "yes", strict_url);
	return 0;
}

static int tear_down(void **state)
{
	server_stop(&redis);
	server_stop(&strict);
	return 0;
}

SUITE(.open = set_up, .close = tear_down);
