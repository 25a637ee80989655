/*
 * Clients that send a byte now and then, to each listener, in each part of a request. The daemon
 * disconnects them at an absolute deadline. Hundreds of such clients do not delay others.
 */
#include <sys/socket.h>

#include "../support/certificates.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "requests.h"
#include "test.h"

enum {
	HEADER_MS = 500,
	BODY_MS = 1500,
	IDLE_MS = 1500,
	HEALTH_MS = 2000, /* for headers at --health-listen */
	GRACE_MS = 1000,  /* beyond a deadline */
	DRIP_MS = 25,
	ANSWER_MS = 5000,
};

static struct redis_server redis;
static struct daemon patternd;
static struct certificate ca, own;
static char path[256];

static int set_up(void **state)
{
	char listen[300];

	server_start(&redis);
	ca = certificate_make((struct certificate_wish){ .name = "a CA" });
	own = certificate_make((struct certificate_wish){ .name = "patternd", .dns = "localhost", .by = &ca });
	snprintf(path, sizeof(path), "%s/patternd.sock", temp_dir());
	snprintf(listen, sizeof(listen), "127.0.0.1:0,unix:%s", path);
	daemon_start(&patternd, "--redis", redis.url, "--listen", listen, "--tls-cert", own.cert_path, "--tls-key",
		     own.key_path, "--health-listen", "127.0.0.1:0", "--header-timeout-ms", "500", "--body-timeout-ms",
		     "1500", "--idle-timeout-ms", "1500");
	return 0;
}

static int tear_down(void **state)
{
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

/* ---- Ways to be slow ---- */

enum door { BY_UNIX, BY_TLS, BY_HEALTH };

struct way {
	const char *name;
	enum door door;
	const char *first; /* sent at once; NULL: nothing, not even a handshake */
	const char *drip;  /* sent next, byte by byte, over and over; NULL: nothing more */
	bool answered;     /* the slow part begins after the answer to `first` */
	int deadline_ms;
};

#define HELLO "\x16\x03\x01\x3f\xff\x01" /* the beginning of a handshake record of 16 KiB */
#define HEADERS "X-A: a\r\n"
#define CHUNKED TAKE "Transfer-Encoding: chunked\r\n" END
#define LONG_BODY TAKE "Content-Length: 2000\r\n" END

static const struct way ways[] = {
	{ "unix: silence", BY_UNIX, "", NULL, false, HEADER_MS },
	{ "unix: request line", BY_UNIX, "", "GET ", false, HEADER_MS },
	{ "unix: headers", BY_UNIX, GET("/healthz"), HEADERS, false, HEADER_MS },
	{ "unix: body", BY_UNIX, LONG_BODY, " ", false, BODY_MS },
	{ "unix: chunks", BY_UNIX, CHUNKED, "1\r\n \r\n", false, BODY_MS },
	{ "unix: a chunk that never ends", BY_UNIX, CHUNKED "7ff\r\n", " ", false, BODY_MS },
	{ "unix: between requests", BY_UNIX, SMUGGLED, NULL, true, IDLE_MS },
	{ "tls: silence", BY_TLS, NULL, NULL, false, HEADER_MS },
	{ "tls: hello", BY_TLS, NULL, HELLO, false, HEADER_MS },
	{ "tls: silence after the handshake", BY_TLS, "", NULL, false, HEADER_MS },
	{ "tls: request line", BY_TLS, "", "GET ", false, HEADER_MS },
	{ "tls: headers", BY_TLS, GET("/healthz"), HEADERS, false, HEADER_MS },
	{ "tls: body", BY_TLS, LONG_BODY, " ", false, BODY_MS },
	{ "tls: a chunk that never ends", BY_TLS, CHUNKED "7ff\r\n", " ", false, BODY_MS },
	{ "tls: between requests", BY_TLS, SMUGGLED, NULL, true, IDLE_MS },
	{ "health: silence", BY_HEALTH, "", NULL, false, HEALTH_MS },
	{ "health: headers", BY_HEALTH, GET("/healthz"), HEADERS, false, HEALTH_MS },
};
enum { WAYS = COUNT(ways) };

struct slow {
	const struct way *way;
	struct raw *r;
	const char *at; /* points into way->drip */
	int64_t began_ms, ended_ms;
};

static struct raw *connect_by(enum door door)
{
	if (door == BY_UNIX)
		return raw_connect_unix(path);
	return raw_connect(door == BY_TLS ? patternd.port : patternd.health_port);
}

static void begin(struct slow *s, const struct way *way)
{
	*s = (struct slow){ .way = way, .r = connect_by(way->door), .at = way->drip, .began_ms = monotonic_ms() };
	if (!way->first)
		return;
	if (way->door == BY_TLS)
		assert_true(raw_secure(s->r));
	raw_text(s->r, way->first);
	if (way->answered)
		assert_status(raw_answer(s->r, ANSWER_MS), 200);
	s->began_ms = monotonic_ms();
}

/* Sends the next byte, and records when the connection has ended. */
static void proceed(struct slow *s)
{
	if (s->ended_ms)
		return;
	if (s->at) {
		raw_send(s->r, s->at, 1);
		s->at = s->at[1] ? s->at + 1 : s->way->drip;
	}
	if (raw_closed(s->r, 0))
		s->ended_ms = monotonic_ms();
}

static void drip_all(struct slow *all, size_t count, int max_ms)
{
	size_t open = count;

	for (int64_t until_ms = monotonic_ms() + max_ms; open && monotonic_ms() < until_ms; nap_ms(DRIP_MS)) {
		open = 0;
		for (size_t i = 0; i < count; i++) {
			proceed(&all[i]);
			open += all[i].ended_ms == 0;
		}
	}
}

SUITE(.open = set_up, .close = tear_down);

TEST(test_deadlines)
{
	struct slow all[WAYS];

	for (size_t i = 0; i < WAYS; i++)
		begin(&all[i], &ways[i]);
	drip_all(all, WAYS, HEALTH_MS + GRACE_MS);
	for (size_t i = 0; i < WAYS; i++) {
		int64_t took_ms = all[i].ended_ms ? all[i].ended_ms - all[i].began_ms : -1;
		if (took_ms < ways[i].deadline_ms / 2 || took_ms > ways[i].deadline_ms + GRACE_MS)
			fail_msg("%s: closed after %lld ms, not %d", ways[i].name, (long long)took_ms,
				 ways[i].deadline_ms);
		raw_close(all[i].r);
	}
	assert_true(daemon_is_alive(&patternd));
}

/*
 * Five hundred clients of all kinds reconnect whenever the daemon disconnects them. Other clients
 * are served as well as before.
 */
TEST(test_many)
{
	enum { MANY = 500, MAX_MS = 20000 };
	static struct slow slow[MANY];
	struct client *by_unix = client_open(1), *by_tls = client_open(patternd.port);
	int64_t slowest_us = 0, until_ms = monotonic_ms() + MAX_MS;
	int cut = 0, served = 0;

	client_by_unix(by_unix, path);
	client_by_tls(by_tls, ca.cert_path, NULL, NULL);
	for (int i = 0; i < MANY; i++)
		begin(&slow[i], &ways[i % (WAYS - 2)]);
	while (cut < MANY && monotonic_ms() < until_ms) {
		for (int i = 0; i < MANY; i++) {
			proceed(&slow[i]);
			if (!slow[i].ended_ms)
				continue;
			cut++;
			raw_close(slow[i].r);
			begin(&slow[i], slow[i].way);
		}
		struct answer a = http(served++ % 2 ? by_unix : by_tls, "POST", "/counters/n/increment",
				       "{\"counters\":{\"a\":1}}");
		assert_status(a, 200);
		slowest_us = a.took_us > slowest_us ? a.took_us : slowest_us;
	}
	for (int i = 0; i < MANY; i++)
		raw_close(slow[i].r);
	print_message("%d slow clients were disconnected; the slowest request of %d took %lld us\n", cut, served,
		      (long long)slowest_us);
	assert_true(cut >= MANY);
	assert_in_range(slowest_us, 0, 250000);
	client_close(by_unix);
	client_close(by_tls);
}
