/*
 * HTTPS: which clients are accepted, and certificates that change. Waiting, streaming and
 * disconnecting work over TLS as they do without it.
 */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>

#include "../support/certificates.h"
#include "../support/daemon.h"
#include "../support/events.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/waiter.h"
#include "test.h"

enum { ANSWER_MS = 5000, HANDSHAKE_MS = 1500, GRACE_MS = 1000 };

static struct redis_server redis;
static struct daemon patternd;
static struct certificate ca, own;

static struct certificate for_localhost(void)
{
	return certificate_make(
		(struct certificate_wish){ .name = "patternd", .dns = "localhost", .ip = "127.0.0.1", .by = &ca });
}

static int set_up(void **state)
{
	server_start(&redis);
	ca = certificate_make((struct certificate_wish){ .name = "a CA" });
	own = for_localhost();
	return 0;
}

static int tear_down(void **state)
{
	server_stop(&redis);
	return 0;
}

#define start(...)                                                                                            \
	daemon_start(&patternd, "--redis", redis.url, "--tls-cert", own.cert_path, "--tls-key", own.key_path, \
		     "--health-listen", "127.0.0.1:0", __VA_ARGS__)

static int start_one(void **state)
{
	patternd = (struct daemon){ 0 };
	start("--idle-timeout-ms", "60000");
	return 0;
}

static int stop_one(void **state)
{
	daemon_stop(&patternd);
	server_command(&redis, "FLUSHALL");
	return 0;
}

static struct client *client_with(const struct certificate *trusted, const struct certificate *shown)
{
	struct client *c = client_open(patternd.port);

	client_by_tls(c, trusted->cert_path, shown ? shown->cert_path : NULL, shown ? shown->key_path : NULL);
	return c;
}

static int status_with(const struct certificate *trusted, const struct certificate *shown)
{
	struct client *c = client_with(trusted, shown);
	int status = http(c, "GET", "/locks/a", NULL).status;

	client_close(c);
	return status;
}

static struct raw *connect_secured(void)
{
	struct raw *r = raw_connect(patternd.port);

	assert_true(raw_secure(r));
	return r;
}

/* ---- Which clients are accepted ---- */

SUITE(.open = set_up, .close = tear_down, .before = start_one, .after = stop_one);

TEST(test_served)
{
	struct client *c = client_with(&ca, NULL);

	for (int i = 0; i < 100; i++)
		assert_status(http(c, "POST", "/counters/n/increment", "{\"counters\":{\"a\":1}}"), 200);
	assert_int_equal(int_at(http(c, "GET", "/counters/n", NULL), "/counters/a"), 100);
	char url[64];
	snprintf(url, sizeof(url), "https://127.0.0.1:%d", patternd.port);
	assert_string_equal(text_at(http(c, "GET", "/info", NULL), "/addresses/0"), url);
	client_close(c);
}

/* Bodies and answers that need many TLS records. */
TEST(test_large)
{
	enum { BYTES = 700 * 1024 };
	struct client *c = client_with(&ca, NULL);
	char *body = malloc(BYTES + 64);

	assert_non_null(body);
	size_t len = (size_t)sprintf(body, "{\"value\":\"");
	memset(body + len, 'x', BYTES);
	sprintf(body + len + BYTES, "\"}");
	for (int i = 0; i < 3; i++)
		assert_true(http(c, "PUT", "/cache/large", body).status / 100 == 2);
	for (int i = 0; i < 3; i++) {
		struct answer a = http(c, "GET", "/cache/large", NULL);
		assert_status(a, 200);
		assert_in_range(a.body_len, BYTES, BYTES + 1024);
	}
	free(body);
	client_close(c);
}

TEST(test_wrong_ca)
{
	struct certificate other = certificate_make((struct certificate_wish){ .name = "another CA" });

	assert_int_equal(status_with(&ca, NULL), 200);
	assert_int_equal(status_with(&other, NULL), 0);
	assert_int_equal(status_with(&ca, NULL), 200);
}

TEST(test_plain_on_tls_port)
{
	struct raw *r = raw_connect(patternd.port);

	raw_text(r, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
	assert_true(raw_closed(r, ANSWER_MS));
	assert_int_equal(raw_answers_left(r), 0);
	raw_close(r);
	assert_int_equal(status_with(&ca, NULL), 200);
}

static bool speaks(int version)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	struct raw *r = raw_connect(patternd.port);

	/* With level 0 the client offers old versions, so that the daemon must refuse them. */
	SSL_CTX_set_security_level(context, 0);
	SSL_CTX_set_min_proto_version(context, version);
	SSL_CTX_set_max_proto_version(context, version);
	SSL *tls = SSL_new(context);
	SSL_set_fd(tls, raw_fd(r));
	bool ok = SSL_connect(tls) == 1;
	SSL_free(tls);
	SSL_CTX_free(context);
	raw_close(r);
	return ok;
}

TEST(test_versions)
{
	assert_false(speaks(TLS1_VERSION));
	assert_false(speaks(TLS1_1_VERSION));
	assert_true(speaks(TLS1_2_VERSION));
	assert_true(speaks(TLS1_3_VERSION));
}

/* The alert that a client with this certificate gets; 0 if it is served. */
static int alert_for(const struct certificate *shown, int version)
{
	static const char request[] = "GET /locks/a HTTP/1.1\r\nHost: localhost\r\n\r\n";
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	struct raw *r = raw_connect(patternd.port);
	char byte;

	SSL_CTX_set_max_proto_version(context, version);
	if (shown) {
		assert_int_equal(SSL_CTX_use_certificate_file(context, shown->cert_path, SSL_FILETYPE_PEM), 1);
		assert_int_equal(SSL_CTX_use_PrivateKey_file(context, shown->key_path, SSL_FILETYPE_PEM), 1);
	}
	SSL *tls = SSL_new(context);
	SSL_set_fd(tls, raw_fd(r));
	ERR_clear_error();
	/*
	 * A TLS 1.3 client gets the alert when it reads, since its own handshake has ended by then.
	 */
	bool ok = SSL_connect(tls) == 1 && SSL_write(tls, request, sizeof(request) - 1) > 0 &&
		  SSL_read(tls, &byte, 1) == 1;
	int reason = ERR_GET_REASON(ERR_peek_error());
	SSL_free(tls);
	SSL_CTX_free(context);
	raw_close(r);
	return ok ? 0 : reason - SSL_AD_REASON_OFFSET;
}

TEST(test_refusals_are_seen, .before = no_fixture)
{
	struct certificate others = certificate_make((struct certificate_wish){ .name = "another CA" });
	struct certificate good = certificate_make((struct certificate_wish){ .name = "a client", .by = &ca });
	struct certificate old = certificate_make(
		(struct certificate_wish){ .name = "late", .by = &ca, .starts_in_s = -7200, .ends_in_s = -3600 });
	struct certificate foreign = certificate_make((struct certificate_wish){ .name = "a client", .by = &others });
	const struct {
		const struct certificate *shown;
		int version;
		int alert;
	} rows[] = {
		{ &good, TLS1_3_VERSION, 0 },
		{ &good, TLS1_2_VERSION, 0 },
		{ NULL, TLS1_3_VERSION, SSL_AD_CERTIFICATE_REQUIRED },
		{ NULL, TLS1_2_VERSION, SSL_AD_HANDSHAKE_FAILURE },
		{ &foreign, TLS1_3_VERSION, SSL_AD_UNKNOWN_CA },
		{ &foreign, TLS1_2_VERSION, SSL_AD_UNKNOWN_CA },
		{ &old, TLS1_3_VERSION, SSL_AD_CERTIFICATE_EXPIRED },
		{ &old, TLS1_2_VERSION, SSL_AD_CERTIFICATE_EXPIRED },
	};
	long refused = 0;

	patternd = (struct daemon){ 0 };
	start("--tls-client-ca", ca.cert_path);
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(alert_for(rows[i].shown, rows[i].version), rows[i].alert);
		refused += rows[i].alert != 0;
		assert_int_equal(metric_of(&patternd, "tls_clients_refused_total"), refused);
	}
	assert_true(proc_wrote(&patternd.proc, "tls_client_refused"));
	assert_true(proc_wrote(&patternd.proc, "the client has no certificate"));
	assert_true(daemon_is_alive(&patternd)); /* health needs no certificate */
}

/* ---- Certificates that change ---- */

static int stop_replaced(void **state)
{
	own = for_localhost();
	return stop_one(state);
}

TEST(test_reload, .before = no_fixture, .after = stop_replaced)
{
	struct certificate new_ca = certificate_make((struct certificate_wish){ .name = "a new CA" });
	struct certificate fresh =
		certificate_make((struct certificate_wish){ .name = "fresh", .dns = "localhost", .by = &new_ca });

	own = for_localhost();
	start("--log-level", "info");
	struct client *before = client_with(&ca, NULL);
	assert_status(http(before, "GET", "/locks/a", NULL), 200);
	certificate_replace(&own, &fresh);
	proc_signal(&patternd.proc, SIGHUP);
	wait_until(proc_wrote(&patternd.proc, "tls_reloaded"), ANSWER_MS);
	assert_int_equal(status_with(&new_ca, NULL), 200);
	assert_int_equal(status_with(&ca, NULL), 0);
	/* Existing connections stay open. */
	assert_status(http(before, "GET", "/locks/a", NULL), 200);
	client_close(before);
	/* An unusable certificate changes nothing. */
	FILE *f = fopen(own.cert_path, "we");
	fputs("nothing of the kind\n", f);
	fclose(f);
	proc_signal(&patternd.proc, SIGHUP);
	wait_until(proc_wrote(&patternd.proc, "tls_not_reloaded"), ANSWER_MS);
	assert_int_equal(status_with(&new_ca, NULL), 200);
}

/*
 * A renewal may copy the wrong file. A valid certificate stays in use; an expired one is replaced,
 * with a warning.
 */
TEST(test_an_expired_certificate, .before = no_fixture, .after = stop_replaced)
{
	struct certificate old = certificate_make((struct certificate_wish){
		.name = "old", .dns = "localhost", .by = &ca, .starts_in_s = -7200, .ends_in_s = -3600 });
	struct daemon checks = { 0 };

	own = for_localhost();
	start("--log-level", "info");
	assert_false(proc_wrote(&patternd.proc, "tls_certificate_expired"));
	certificate_replace(&own, &old);
	proc_signal(&patternd.proc, SIGHUP);
	wait_until(proc_wrote(&patternd.proc, "tls_not_reloaded"), ANSWER_MS);
	assert_true(proc_wrote(&patternd.proc, "expired at 20"));
	assert_false(proc_wrote(&patternd.proc, "tls_reloaded"));
	assert_int_equal(status_with(&ca, NULL), 200);
	daemon_stop(&patternd);
	assert_int_equal(daemon_run(&checks, "--check-config", "--tls-cert", own.cert_path, "--tls-key", own.key_path),
			 2);
	assert_true(proc_wrote(&checks.proc, "the certificate expired at 20"));
	start("--log-level", "info");
	wait_until(proc_wrote(&patternd.proc, "tls_certificate_expired"), ANSWER_MS);
	proc_signal(&patternd.proc, SIGHUP); /* the one in use has expired, too */
	wait_until(proc_wrote(&patternd.proc, "tls_reloaded"), ANSWER_MS);
}

/* ---- Handshakes that never end ---- */

static const char hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
			    "0123456789abcdef0123456789abcdef";

/* Sends a complete ClientHello, and does not read the server's answer. */
static void send_whole_hello(const struct raw *r)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *tls = SSL_new(context);
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	char bytes[4096];

	SSL_set_bio(tls, in, out);
	assert_int_not_equal(SSL_connect(tls), 1);
	int n = BIO_read(out, bytes, sizeof(bytes));
	assert_true(n > 0 && send(raw_fd(r), bytes, (size_t)n, MSG_NOSIGNAL) == n);
	SSL_free(tls);
	SSL_CTX_free(context);
}

/* Unfinished handshakes use no CPU time, end with the timeout, and do not affect other clients. */
TEST(test_unfinished_handshakes, .before = no_fixture)
{
	enum { EACH = 30 };
	struct raw *r[2 * EACH];

	patternd = (struct daemon){ 0 };
	start("--header-timeout-ms", "1500"); /* HANDSHAKE_MS */
	assert_int_equal(status_with(&ca, NULL), 200);
	for (int i = 0; i < 2 * EACH; i++) {
		r[i] = raw_connect(patternd.port);
		if (i % 2)
			raw_send(r[i], hello, sizeof(hello) - 1);
		else
			send_whole_hello(r[i]);
	}
	assert_int_equal(status_with(&ca, NULL), 200);
	long before = daemon_cpu_ms(&patternd);
	nap_ms(500);
	assert_in_range(daemon_cpu_ms(&patternd) - before, 0, 50);
	for (int i = 0; i < 2 * EACH; i++) {
		assert_true(raw_closed(r[i], HANDSHAKE_MS + GRACE_MS));
		raw_close(r[i]);
	}
}

/* ---- Waiting, streaming, disconnecting ---- */

TEST(test_long_poll)
{
	struct raw *r = connect_secured();
	struct client *c = client_with(&ca, NULL);

	assert_true(waiter_ask(r, "/queues/q/receive", "{\"wait_ms\":20000}", ""));
	wait_until(metric_of(&patternd, "requests_waiting") == 1, ANSWER_MS);
	assert_false(waiter_is_answered(r));
	long before = daemon_cpu_ms(&patternd);
	nap_ms(300);
	assert_in_range(daemon_cpu_ms(&patternd) - before, 0, 30);
	assert_status(http(c, "POST", "/queues/q/messages", "{\"body\":1}"), 201);
	struct answer a = waiter_answer(r, "/queues/q/receive", ANSWER_MS);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/messages/0/body"), 1);
	/* A second wait on the same connection. */
	assert_true(waiter_ask(r, "/queues/q/receive", "{\"wait_ms\":50}", ""));
	assert_status(waiter_answer(r, "/queues/q/receive", ANSWER_MS), 200);
	raw_close(r);
	client_close(c);
}

TEST(test_leaving)
{
	for (int way = 0; way < 3; way++) {
		struct raw *r = connect_secured();
		assert_true(waiter_ask(r, "/queues/q/receive", "{\"wait_ms\":20000}", ""));
		wait_until(metric_of(&patternd, "requests_waiting") == 1, ANSWER_MS);
		if (way == 0)
			raw_close(r); /* close_notify, then FIN */
		else if (way == 1)
			raw_reset(r);
		else
			raw_half_close(r); /* FIN alone */
		wait_until(metric_of(&patternd, "requests_waiting") == 0, ANSWER_MS);
		if (way == 2)
			raw_close(r);
	}
	/* No message is delivered to a client that left. */
	struct client *c = client_with(&ca, NULL);
	assert_status(http(c, "POST", "/queues/q/messages", "{\"body\":1}"), 201);
	assert_int_equal(int_at(http(c, "GET", "/queues/q", NULL), "/ready"), 1);
	client_close(c);
}

TEST(test_stream)
{
	struct client *c = client_with(&ca, NULL);
	struct raw *r = connect_secured();

	assert_true(waiter_ask(r, "/locks/a/hold", "{\"ttl_ms\":300}", ""));
	struct events *e = events_open(r, "/locks/a/hold");
	assert_string_equal(events_next_named(e, ANSWER_MS).name, "acquired");
	for (int i = 0; i < 3; i++)
		assert_string_equal(events_next(e, ANSWER_MS).data, "kept");
	assert_true(bool_at(http(c, "GET", "/locks/a", NULL), "/held"));
	events_close(e);
	wait_until(!bool_at(http(c, "GET", "/locks/a", NULL), "/held"), ANSWER_MS);
	client_close(c);
}

TEST(test_drain)
{
	struct raw *idle = connect_secured(), *busy = connect_secured(), *half = raw_connect(patternd.port),
		   *held = connect_secured();

	raw_send(half, hello, sizeof(hello) - 1);
	assert_true(waiter_ask(busy, "/queues/q/receive", "{\"wait_ms\":20000}", ""));
	assert_true(waiter_ask(held, "/locks/a/hold", "{}", ""));
	struct events *e = events_open(held, "/locks/a/hold");
	assert_string_equal(events_next_named(e, ANSWER_MS).name, "acquired");
	wait_until(metric_of(&patternd, "requests_waiting") == 1, ANSWER_MS);
	proc_signal(&patternd.proc, SIGTERM);
	struct answer a = waiter_answer(busy, "/queues/q/receive", ANSWER_MS);
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/messages")), 0);
	assert_string_equal(events_next_named(e, ANSWER_MS).name, "closing");
	assert_true(raw_closed(idle, ANSWER_MS));
	assert_true(raw_closed(half, ANSWER_MS));
	assert_true(proc_ended(&patternd.proc, ANSWER_MS));
	assert_int_equal(proc_exit_status(&patternd.proc), 0);
	events_close(e);
	raw_close(idle);
	raw_close(half);
	raw_close(busy);
	patternd.port = 0;
}

/* A second SIGTERM ends the daemon at once, even when connections are suspended. */
TEST(test_leaves_at_once)
{
	struct raw *busy = connect_secured(), *half = raw_connect(patternd.port);

	raw_send(half, hello, sizeof(hello) - 1);
	assert_true(waiter_ask(busy, "/queues/q/receive", "{\"wait_ms\":20000}", ""));
	wait_until(metric_of(&patternd, "requests_waiting") == 1, ANSWER_MS);
	proc_signal(&patternd.proc, SIGTERM);
	proc_signal(&patternd.proc, SIGINT);
	assert_true(proc_ended(&patternd.proc, ANSWER_MS));
	assert_int_equal(proc_exit_status(&patternd.proc), 0);
	raw_close(busy);
	raw_close(half);
	patternd.port = 0;
}
