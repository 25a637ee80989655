/*
 * Clients demand more than the daemon can have under way (P12 of tests/PROMISES.md). Hundreds of
 * clients send bodies of a mebibyte while Redis is stopped, clients do not read their answers, and
 * more requests wait than allowed. The daemon's memory stays below what docs/deploy/sizing.md
 * states, and the daemon reuses the memory that malloc keeps. A request without room gets 503
 * (Retry-After, effect none). Small requests are served.
 */
#include <signal.h>
#include <sys/socket.h>

#include "../support/aside.h"
#include "../support/daemon.h"
#include "../support/exchange.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/waiter.h"
#include "test.h"

enum {
	MIB = 1024 * 1024,
	LIMIT_MIB = 32,
	SLACK_MIB = 24, /* connections, and memory that malloc keeps */
	BODY_BYTES = 1000000,
	CLIENTS = 200,
	ANSWER_MS = 10000,
	BEHIND_BYTES = 4 * MIB, /* that a listener may be behind */
};
#define LIMIT "33554432"

static struct redis_server redis;
static struct daemon patternd;
static struct raw *clients[CLIENTS];
static long most_kib;

static int set_up(void **state)
{
	server_start(&redis);
	return 0;
}

static int tear_down(void **state)
{
	proc_signal(&redis.proc, SIGCONT); /* a failed test left the server in this state */
	server_stop(&redis);
	return 0;
}

static void start(const char *timeout_ms)
{
	patternd = (struct daemon){ 0 };
	daemon_start(&patternd, "--redis", redis.url, "--redis-timeout-ms", timeout_ms, "--max-request-memory", LIMIT);
	most_kib = 0;
}

static void look_at_memory(void)
{
	long kib = daemon_resident_kib(&patternd);

	most_kib = kib > most_kib ? kib : most_kib;
}

static void assert_memory(const char *what, long before_kib, long most_mib)
{
	print_message("%s: %ld KiB before, %ld at most\n", what, before_kib, most_kib);
	if (!daemon_is_sanitized())
		assert_in_range(most_kib, 0, before_kib + most_mib * 1024);
}

static void assert_memory_back(long before_kib)
{
	if (!daemon_is_sanitized())
		wait_until(daemon_resident_kib(&patternd) < before_kib + SLACK_MIB * 1024, ANSWER_MS);
}

static void assert_refused(struct answer a, const char *option)
{
	assert_problem(a, 503, "overloaded", "none");
	assert_non_null(strstr(text_at(a, "/detail"), option)); /* the option that raises the limit */
	assert_non_null(header_of(a, "Retry-After"));
	assert_in_range(atoi(header_of(a, "Retry-After")), 1, 5);
	assert_non_null(header_of(a, "Connection"));
	assert_string_equal(header_of(a, "Connection"), "close");
}

static void close_all(void)
{
	for (int i = 0; i < CLIENTS; i++) {
		raw_close(clients[i]);
		clients[i] = NULL;
	}
}

static long health_ms(void)
{
	int64_t start_ms = monotonic_ms();

	assert_true(daemon_is_alive(&patternd));
	return (long)(monotonic_ms() - start_ms);
}

/* ---- Bodies ---- */

/* Returns a body of BODY_BYTES: `first`, then `piece` over and over, then `last`. */
static char *body_of(const char *first, const char *piece, const char *last)
{
	char *body = malloc(BODY_BYTES + 1), *at = body + sprintf(body, "%s", first);

	while ((size_t)(at - body) + strlen(piece) + strlen(last) <= BODY_BYTES)
		at += sprintf(at, "%s", piece);
	while ((size_t)(at - body) + strlen(last) < BODY_BYTES)
		*at++ = ' ';
	strcpy(at, last);
	return body;
}

static const char head[] = "POST /queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

static void send_whole(struct raw *r, const char *body)
{
	char length[64];

	snprintf(length, sizeof(length), "Content-Length: %d\r\n\r\n", BODY_BYTES);
	/* The daemon may refuse the body in the middle. */
	(void)(raw_text(r, head) && raw_text(r, length) && raw_text(r, body));
}

static void send_chunked(struct raw *r, const char *body)
{
	enum { CHUNK = 50000 };
	bool ok = raw_text(r, head) && raw_text(r, "Transfer-Encoding: chunked\r\n\r\n");

	for (int at = 0; at < BODY_BYTES && ok; at += CHUNK) {
		char size[16];
		snprintf(size, sizeof(size), "%x\r\n", CHUNK);
		ok = raw_text(r, size) && raw_send(r, body + at, CHUNK) && raw_text(r, "\r\n");
	}
	(void)(ok && raw_text(r, "0\r\n\r\n"));
}

struct kind {
	const char *name, *first, *piece, *last;
	void (*send)(struct raw *r, const char *body);
};

static const struct kind kinds[] = {
	{ "text", "{\"body\":\"", "x", "\"}", send_whole },
	{ "text in chunks", "{\"body\":\"", "x", "\"}", send_chunked },
	{ "integers", "{\"body\":[", "1,", "1]}", send_whole },
	{ "objects", "{\"body\":[", "{},", "{}]}", send_whole },
};

/* Redis is stopped. Requests with room wait for it; the daemon refuses the others at once. */
static void flood_of(const struct kind *k)
{
	char *body = body_of(k->first, k->piece, k->last);
	int refused = 0, sent = 0;

	for (int i = 0; i < CLIENTS; i++)
		clients[i] = raw_connect(patternd.port);
	long before_kib = daemon_resident_kib(&patternd), slowest_ms = 0;
	most_kib = 0;
	proc_signal(&redis.proc, SIGSTOP);
	for (int i = 0; i < CLIENTS; i++) {
		k->send(clients[i], body);
		look_at_memory();
		if (i % 20 == 0) {
			long ms = health_ms();
			slowest_ms = ms > slowest_ms ? ms : slowest_ms;
		}
	}
	for (int i = 0; i < CLIENTS; i++) {
		struct answer a = raw_answer(clients[i], ANSWER_MS);
		look_at_memory();
		exchange_record("POST", "/queues/q/messages", a);
		if (a.status == 504) {
			assert_problem(a, 504, "no_answer", "unknown");
			sent++;
		} else if (strcmp(text_at(a, "/code"), "redis_unavailable") == 0) {
			assert_problem(a, 503, "redis_unavailable", "none");
		} else {
			assert_refused(a, "--max-request-memory");
			refused++;
		}
	}
	proc_signal(&redis.proc, SIGCONT);
	print_message("%s: %d refused, %d sent to Redis; health within %ld ms\n", k->name, refused, sent, slowest_ms);
	/* Bytes that Redis has not taken are in its connections' buffers, too. */
	assert_memory(k->name, before_kib, 2L * LIMIT_MIB + SLACK_MIB);
	assert_true(refused > CLIENTS / 2);
	close_all();
	assert_memory_back(before_kib);
	free(body);
}

SUITE(.open = set_up, .close = tear_down, .columns = 2);

TEST(bodies_while_redis_is_stopped)
{
	start("2000");
	for (size_t i = 0; i < COUNT(kinds); i++) {
		flood_of(&kinds[i]);
		assert_true(daemon_is_ready(&patternd, ANSWER_MS));
	}
	/* Now there is room: the daemon accepts a body of that size. */
	struct client *c = client_open(patternd.port);
	char *body = body_of("{\"body\":\"", "x", "\"}");
	wait_until(http(c, "POST", "/queues/after/messages", body).status == 201, ANSWER_MS);
	free(body);
	client_close(c);
	daemon_stop(&patternd);
}

/*
 * Bodies that were announced but do not come occupy their room. Small requests do not need that
 * room.
 */
TEST(small_requests_are_still_served)
{
	enum { ANNOUNCED = LIMIT_MIB / 2 + 4 };
	char *body = body_of("{\"body\":\"", "x", "\"}");
	int refused = 0;

	start("2000");
	struct client *c = client_open(patternd.port);
	for (int i = 0; i < ANNOUNCED; i++) {
		clients[i] = raw_connect(patternd.port);
		raw_text(clients[i], head);
		raw_text(clients[i], "Expect: 100-continue\r\nContent-Length: 1000000\r\n\r\n");
		struct answer a = raw_answer(clients[i], ANSWER_MS);
		if (a.status != 100) {
			assert_refused(a, "--max-request-memory");
			refused++;
		}
	}
	assert_in_range(refused, 1, 8);
	assert_refused(http(c, "POST", "/queues/never/messages", body, "Expect: 100-continue"), "--max-request-memory");
	for (int i = 0; i < 100; i++)
		assert_status(http(c, "POST", "/pv/small", "{\"by\":1}"), 200);
	assert_int_equal(int_at(http(c, "GET", "/queues/never", NULL), "/ready"), 0);
	close_all();
	wait_until(http(c, "POST", "/queues/never/messages", body).status == 201, ANSWER_MS);
	free(body);
	client_close(c);
	daemon_stop(&patternd);
}

/* ---- Answers ---- */

/* Returns a client that receives almost nothing. */
static struct raw *slow_reader(void)
{
	struct raw *r = raw_connect(patternd.port);
	int least = 2048;

	setsockopt(raw_fd(r), SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	raw_text(r, "GET /bitmaps/big HTTP/1.1\r\nHost: localhost\r\n\r\n");
	return r;
}

TEST(answers_that_are_not_read)
{
	int refused = 0, served = 0, late = 0;

	start("8000");
	struct client *c = client_open(patternd.port);
	assert_status(http(c, "PUT", "/bitmaps/big/bits/8000000", "{\"value\":1}"), 200);
	long before_kib = daemon_resident_kib(&patternd);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = slow_reader();
		look_at_memory();
	}
	for (int i = 0; i < CLIENTS; i++) {
		struct answer a = raw_head(clients[i], ANSWER_MS);
		look_at_memory();
		served += a.status == 200;
		refused += a.status == 503;
		late += a.status == 504; /* a slow machine may be late */
		if (a.status == 503)
			assert_string_equal(header_of(a, "Retry-After"), "1");
	}
	print_message("%d answers of a mebibyte under way, %d refused\n", served, refused);
	assert_int_equal(served + refused + late, CLIENTS);
	assert_true(served > 4 && served < CLIENTS / 4 && refused > 0);
	wait_until(metric_of(&patternd, "redis_up") == 1, ANSWER_MS); /* late answers make redis_up 0 for a moment */
	assert_refused(http(c, "GET", "/bitmaps/big", NULL), "--max-request-memory");
	assert_status(http(c, "POST", "/pv/small", "{\"by\":1}"), 200);
	/*
	 * Until a request is answered, Redis's reply is in memory a second time, once per
	 * connection.
	 */
	assert_memory("slow readers", before_kib, LIMIT_MIB + SLACK_MIB);
	close_all();
	wait_until(http(c, "GET", "/bitmaps/big", NULL).status == 200, ANSWER_MS);
	client_forget(c);
	assert_memory_back(before_kib);
	client_close(c);
	daemon_stop(&patternd);
}

static struct raw *listener(void)
{
	struct raw *r = raw_connect(patternd.port);
	int least = 2048;

	setsockopt(raw_fd(r), SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	raw_text(r, "GET /topics/stream?name=m* HTTP/1.1\r\nHost: localhost\r\n\r\n");
	return r;
}

static struct answer post_text(struct client *c, const char *target, size_t len)
{
	char *body = malloc(len + 32);
	int n = sprintf(body, "{\"body\":\"");

	memset(body + n, 'x', len);
	strcpy(body + n + len, "\"}");
	struct answer a = http(c, "POST", target, body);
	free(body);
	return a;
}

/*
 * A message counts once for all its listeners, so idle listeners do not use up the memory of
 * others. If a listener exceeds its bound, the daemon drops what it keeps for it.
 */
TEST(listeners_that_do_not_read)
{
	start("8000");
	struct client *c = client_open(patternd.port);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = listener();
		assert_status(raw_head(clients[i], ANSWER_MS), 200);
	}
	long before = metric_of(&patternd, "request_memory_bytes");
	for (int behind = 0; behind <= BEHIND_BYTES - BODY_BYTES; behind += BODY_BYTES) {
		assert_status(post_text(c, "/topics/m1", BODY_BYTES), 200);
		/* `before` may count requests that had just been answered. */
		long held = metric_of(&patternd, "request_memory_bytes") - before;
		assert_true(held > behind - MIB && held <= behind + 4 * MIB);
		assert_status(post_text(c, "/queues/q/messages", 20000), 201);
	}
	assert_status(post_text(c, "/topics/m1", BODY_BYTES), 200);
	wait_until(metric_of(&patternd, "request_memory_bytes") - before < MIB, ANSWER_MS);
	client_close(c);
	close_all();
	daemon_stop(&patternd);
}

/* ---- All of it at once ---- */

/*
 * Thousands of connections to one daemon. Some do not read answers of a mebibyte, some send bodies
 * of a megabyte, and all others send small requests repeatedly. Redis is stopped, for a minute in a
 * full run.
 */
struct trial {
	int crowd, away_ms, timeout_ms, most_in_flight;
	const char *timeout_text, *most_in_flight_text;
};

static const struct trial in_short = { 600, 2500, 2000, 100, "2000", "100" };
static const struct trial full = { 10000, 60000, 20000, 2000, "20000", "2000" };

enum {
	CROWD_MOST = 10000,
	CROWD_FILES = 10300,
	READERS = 10,
	SENDERS = 100,
	AT_ONCE = 100,
	CONNECTION_KIB = 16,
	ITERATION_MS = 1000, /* CPU time of a loop iteration, also when all clients leave at once */
	TRIAL_LIMIT_MIB = 64,
};
#define TRIAL_LIMIT "67108864"

static struct raw *crowd[CROWD_MOST];

struct tally {
	int served, in_vain, refused, unavailable;
	long slowest_health_ms;
};

static void account(struct tally *t, struct answer a)
{
	if (a.status == 200 || a.status == 201) {
		t->served++;
	} else if (a.status == 504) {
		assert_problem(a, 504, "no_answer", "unknown");
		t->in_vain++;
	} else if (strcmp(text_at(a, "/code"), "redis_unavailable") == 0) {
		assert_problem(a, 503, "redis_unavailable", "none");
		t->unavailable++;
	} else {
		assert_refused(a, "--max-");
		t->refused++;
	}
}

/* Reads an answer. Drops the connection after "Connection: close". */
static void read_answer(struct raw **r, struct tally *t, int timeout_ms)
{
	struct answer a = raw_answer(*r, timeout_ms);
	const char *connection = header_of(a, "Connection");

	account(t, a);
	if (connection && strcmp(connection, "close") == 0) {
		assert_true(raw_closed(*r, ANSWER_MS));
		raw_close(*r);
		*r = NULL;
	} else {
		raw_forget(*r);
	}
}

static void ask_small(struct raw **r)
{
	if (!*r)
		*r = raw_connect(patternd.port);
	assert_true(raw_text(*r, "POST /pv/small HTTP/1.1\r\nHost: localhost\r\n\r\n"));
}

/* Sends a small request from each client between `from` and `to` at once, and reads the answers. */
static void ask_all(int from, int to, int timeout_ms, struct tally *t)
{
	for (int i = from; i < to; i++)
		ask_small(&crowd[i]);
	for (int i = from; i < to; i++) {
		if (i % 1000 == 0) {
			long ms = health_ms();
			t->slowest_health_ms = ms > t->slowest_health_ms ? ms : t->slowest_health_ms;
		}
		read_answer(&crowd[i], t, timeout_ms);
	}
}

static void crowd_comes(int count)
{
	for (int i = 0; i < READERS; i++)
		crowd[i] = slow_reader();
	for (int i = READERS; i < count; i++)
		crowd[i] = raw_connect(patternd.port);
	for (int i = 0; i < READERS; i++) {
		int status = raw_head(crowd[i], ANSWER_MS).status;
		assert_true(status == 200 || status == 503);
	}
	wait_until(metric_of(&patternd, "http_connections") > count, ANSWER_MS);
}

/* All clients leave between two iterations of the daemon's loop. */
static void crowd_goes(int count)
{
	proc_signal(&patternd.proc, SIGSTOP);
	for (int i = 0; i < count; i++) {
		raw_close(crowd[i]);
		crowd[i] = NULL;
	}
	proc_signal(&patternd.proc, SIGCONT);
	wait_until(metric_of(&patternd, "http_connections") == 1, ANSWER_MS); /* the connection that asks */
}

static void print_tally(const char *when, const struct tally *t)
{
	print_message("%s: %d served, %d refused, %d unavailable, %d in vain; health within %ld ms\n", when, t->served,
		      t->refused, t->unavailable, t->in_vain, t->slowest_health_ms);
	print_message("... %ld KiB, %ld at most, %ld ms of processor so far\n", daemon_resident_kib(&patternd),
		      daemon_most_resident_kib(&patternd), daemon_cpu_ms(&patternd));
}

/*
 * Redis is away. As many requests as allowed are under way, and wait in vain. The daemon refuses
 * all others at once, and all later requests too.
 */
static void crowd_while_redis_is_away(const struct trial *of)
{
	struct tally first = { 0 }, later = { 0 };
	char *body = body_of("{\"body\":\"", "x", "\"}");
	const int senders_end = READERS + SENDERS;
	int64_t back_ms = monotonic_ms() + of->away_ms;

	proc_signal(&redis.proc, SIGSTOP);
	for (int i = READERS; i < senders_end; i++)
		send_whole(crowd[i], body);
	free(body);
	ask_all(senders_end, of->crowd, of->timeout_ms + ANSWER_MS, &first);
	for (int i = READERS; i < senders_end; i++)
		read_answer(&crowd[i], &first, of->timeout_ms + ANSWER_MS);
	print_tally("Redis is stopped", &first);
	assert_int_equal(first.in_vain + first.unavailable + first.refused, of->crowd - READERS);
	assert_in_range(first.in_vain, 1, of->most_in_flight);
	assert_true(first.refused > of->crowd / 2);
	do
		ask_all(READERS, of->crowd, ANSWER_MS, &later);
	while (monotonic_ms() < back_ms);
	print_tally("it still does", &later);
	assert_int_equal(later.served + later.in_vain + later.refused, 0);
	proc_signal(&redis.proc, SIGCONT);
}

/* The daemon serves each client; at most AT_ONCE clients ask at once. */
static void all_are_served(const struct trial *of)
{
	struct tally t = { 0 };

	assert_true(daemon_is_ready(&patternd, ANSWER_MS));
	wait_until(metric_of(&patternd, "redis_up") == 1, ANSWER_MS);
	for (int i = READERS; i < of->crowd; i += AT_ONCE)
		ask_all(i, i + AT_ONCE < of->crowd ? i + AT_ONCE : of->crowd, ANSWER_MS, &t);
	print_tally("Redis is back", &t);
	assert_int_equal(t.served, of->crowd - READERS);
}

static double longest_iteration_ms(void)
{
	return metric_value(&patternd, "loop_longest_iteration_cpu_seconds") * 1e3;
}

/*
 * The daemon's memory must be below what docs/deploy/sizing.md states, if Redis has taken no more
 * than requests may hold. A later crowd uses again what malloc kept of the first.
 */
static void assert_crowd_memory(const struct trial *of, long before_kib, bool is_first)
{
	long most_kib_may = (10 + 2 * TRIAL_LIMIT_MIB) * 1024 + CONNECTION_KIB * of->crowd;
	long most_kib_seen = daemon_most_resident_kib(&patternd), after_kib = daemon_resident_kib(&patternd);

	print_message("%d connections: %ld KiB before, %ld at most, %ld afterwards\n", of->crowd, before_kib,
		      most_kib_seen, after_kib);
	if (daemon_is_sanitized())
		return;
	assert_in_range(most_kib_seen, 0, most_kib_may);
	if (!is_first)
		assert_in_range(after_kib, 0, before_kib * 3 / 2); /* the first crowd doubled the memory */
}

TEST(a_crowd_while_redis_is_away)
{
	const struct trial *of = in_full() ? &full : &in_short;

	if (!may_open_files(CROWD_FILES))
		skip();
	patternd = (struct daemon){ 0 };
	daemon_start(&patternd, "--redis", redis.url, "--redis-timeout-ms", of->timeout_text, "--max-in-flight",
		     of->most_in_flight_text, "--max-connections", "10100", "--max-request-memory", TRIAL_LIMIT,
		     "--header-timeout-ms", "60000", "--health-listen", "127.0.0.1:0");
	struct client *c = client_open(patternd.port);
	assert_status(http(c, "PUT", "/bitmaps/big/bits/8000000", "{\"value\":1}"), 200);
	client_close(c);
	for (int round = 0; round < 2; round++) {
		long before_kib = daemon_resident_kib(&patternd);
		crowd_comes(of->crowd);
		crowd_while_redis_is_away(of);
		all_are_served(of);
		crowd_goes(of->crowd);
		assert_crowd_memory(of, before_kib, round == 0);
		print_message("longest iteration %.1f ms\n", longest_iteration_ms());
		assert_true(longest_iteration_ms() < ITERATION_MS);
	}
	daemon_stop(&patternd);
}

/* ---- Requests that wait ---- */

static const char waits[] =
	"POST /queues/empty/receive HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	"Content-Length: 17\r\n\r\n{\"wait_ms\":30000}";
static const char streams[] = "GET /topics/t/stream HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(more_wait_than_may)
{
	enum { MOST = 10 };

	patternd = (struct daemon){ 0 };
	daemon_start(&patternd, "--redis", redis.url, "--max-parked", "10");
	struct client *c = client_open(patternd.port);
	for (int i = 0; i < MOST; i++) {
		clients[i] = raw_connect(patternd.port);
		raw_text(clients[i], i % 2 ? waits : streams);
		if (i % 2 == 0)
			assert_status(raw_head(clients[i], ANSWER_MS), 200);
	}
	wait_until(strstr(http(c, "GET", "/metrics", NULL).body, "patternd_requests_waiting 5\n") != NULL, ANSWER_MS);
	assert_refused(http(c, "POST", "/queues/empty/receive", "{\"wait_ms\":1000}"), "--max-parked");
	assert_refused(http(c, "POST", "/locks/free", "{\"wait_ms\":1000}"), "--max-parked");
	assert_refused(http(c, "POST", "/locks/free/hold", "{}"), "--max-parked");
	assert_refused(http(c, "GET", "/topics/t/stream", NULL), "--max-parked");
	assert_false(bool_at(http(c, "GET", "/locks/free", NULL), "/held"));
	/* A request that does not wait needs no room. */
	assert_status(http(c, "POST", "/queues/empty/receive", "{}"), 200);
	assert_status(http(c, "POST", "/locks/free", "{}"), 201);
	assert_non_null(strstr(http(c, "GET", "/metrics", NULL).body, "patternd_requests_overloaded_total 4\n"));
	raw_close(clients[1]); /* now one more waiter or listener has room */
	clients[1] = NULL;
	wait_until(http(c, "POST", "/queues/empty/receive", "{\"wait_ms\":1}").status == 200, ANSWER_MS);
	raw_close(clients[0]);
	clients[0] = NULL;
	wait_until(http(c, "POST", "/queues/empty/receive", "{\"wait_ms\":1}").status == 200, ANSWER_MS);
	close_all();
	client_close(c);
	daemon_stop(&patternd);
}

/* ---- Options ---- */

TEST(a_limit_below_a_few_bodies_is_refused)
{
	struct daemon d = { 0 };

	assert_int_equal(daemon_run(&d, "--redis", redis.url, "--max-request-memory", "4194304"), 2);
	assert_true(proc_wrote(&d.proc, "--max-request-memory"));
	assert_true(proc_wrote(&d.proc, "--max-body-bytes"));
}
