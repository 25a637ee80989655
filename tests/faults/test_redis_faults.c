/*
 * Redis or the connection to it fails under requests, through the fault proxy. Each request ends by
 * its deadline with the right effect: none when no command was sent or the request only read,
 * unknown when a write was sent and its answer lost. The Idempotency-Key settles an unknown effect.
 * When the fault ends, the daemon works again by itself, and never returns an answer to another
 * request.
 */
#include <signal.h>

#include "../support/aside.h"
#include "../support/raw.h"
#include "../support/stride.h"
#include "../support/waiter.h"
#include "requests.h"
#include "test.h"
#include "through_proxy.h"

enum { TIMEOUT_MS = 300, SLACK_MS = 400, RECOVER_MS = 8000 };

/* A lost try may have left its lock behind. */
static bool works(void)
{
	server_command(&redis, "DEL p:lock:{works}");
	return http(client, "POST", "/locks/works", NULL).status == 201;
}

static void heal(void)
{
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(works(), RECOVER_MS);
}

/* ---- One fault, during a write and a read ---- */

struct row {
	const char *name;
	struct proxy_fault fault;
	bool is_slow;           /* the request ends at its deadline; otherwise as soon as the connection is lost */
	bool write_is_executed; /* Redis runs the write, whatever the client gets */
};

#define TEXT(text)                       \
	{                                \
		(text), sizeof(text) - 1 \
	}

static const struct row rows[] = {
	{ "30 cut after the request", { .cut = true }, false, true },
	{ "30 cut after 1 byte of the reply", { .cut = true, .cut_at = 1 }, false, true },
	{ "30 cut after 4 bytes of the reply", { .cut = true, .cut_at = 4 }, false, true },
	{ "30 cut after 20 bytes of the reply", { .cut = true, .cut_at = 20 }, false, true },
	{ "38 requests vanish", { .drop_up = true }, true, false },
	{ "38 replies vanish", { .drop_down = true }, true, true },
	{ "38 both vanish", { .drop_up = true, .drop_down = true }, true, false },
	{ "39 later than the deadline", { .delay_ms = TIMEOUT_MS }, true, true },
	{ "38 100 bytes a second", { .bytes_per_second = 100 }, true, false },
	{ "23 garbage before the reply", { .before = TEXT("garbage\r\n") }, false, true },
	{ "23 NUL before the reply", { .before = TEXT("\0") }, false, true },
};

static void assert_lost(struct answer a, const struct row *row, const char *effect)
{
	assert_problem(a, 504, "no_answer", effect);
	if (row->is_slow)
		assert_in_range(a.took_us, (TIMEOUT_MS - 50) * 1000, (TIMEOUT_MS + SLACK_MS) * 1000);
	else
		assert_in_range(a.took_us, 0, SLACK_MS * 1000);
}

static void test_row(void **state)
{
	const struct row *row = *state;
	static unsigned serial;
	char target[64], key[64];

	snprintf(target, sizeof(target), "/locks/row-%u", serial);
	snprintf(key, sizeof(key), "Idempotency-Key: row-%u", serial++);
	proxy_set(proxy, row->fault);
	assert_lost(http(client, "POST", target, "{\"owner\":\"first\"}", key), row, "unknown");
	heal();
	if (row->write_is_executed)
		wait_until(server_command(&redis, "EXISTS p:lock:{%s}", target + 7)->integer == 1, RECOVER_MS);
	/*
	 * The retry returns the effect of the first try, or has the effect itself. Either way there
	 * is one lock, and it remains the same.
	 */
	struct answer settled = http(client, "POST", target, "{\"owner\":\"first\"}", key);
	assert_status(settled, 201);
	struct answer again = http(client, "POST", target, "{\"owner\":\"first\"}", key);
	assert_status(again, 201);
	assert_string_equal(text_at(again, "/token"), text_at(settled, "/token"));
	assert_int_equal(int_at(again, "/fence"), int_at(settled, "/fence"));
	assert_problem(http(client, "POST", target, "{\"owner\":\"other\"}", key), 422, "idempotency_key_reused",
		       "none");
	proxy_set(proxy, row->fault);
	assert_lost(http(client, "GET", target, NULL), row, "none");
	heal();
	client_forget(client);
	assert_true(daemon_is_alive(&patternd));
}

TEST_ROWS(test_row, rows, name);

/* ---- Faults that no client may notice ---- */

TEST(test_slices)
{
	proxy_set(proxy, (struct proxy_fault){ .slice = 1 });
	for (int i = 0; i < 30; i++)
		assert_true(works());
	proxy_set(proxy, (struct proxy_fault){ .slice = 7, .delay_ms = 20 });
	for (int i = 0; i < 3; i++)
		assert_true(works());
}

TEST(test_scripts_flushed)
{
	const int times = 600 / stride();

	for (int i = 0; i < times; i++) {
		if (i % 5 == 0)
			server_command(&redis, "SCRIPT FLUSH");
		assert_status(http(client, "POST", "/pv/flushed", NULL), 200);
	}
	assert_int_equal(int_at(http(client, "GET", "/pv/flushed", NULL), "/count"), times);
	client_forget(client);
}

TEST(test_script_flush_pipelined)
{
	enum { REQUESTS = 40 };
	struct raw *r = raw_connect(patternd.port);

	server_command(&redis, "SCRIPT FLUSH");
	raw_repeat(r, "POST /pv/pipelined HTTP/1.1\r\nHost: localhost\r\n\r\n", REQUESTS);
	for (int i = 0; i < REQUESTS; i++)
		assert_status(raw_answer(r, 3000), 200);
	raw_close(r);
	assert_int_equal(int_at(http(client, "GET", "/pv/pipelined", NULL), "/count"), REQUESTS);
}

/* ---- Connections lost ---- */

TEST(test_refused)
{
	proxy_set(proxy, (struct proxy_fault){ .refuse = true, .reset = true });
	wait_until(http(client, "GET", "/healthz", NULL).status == 200, 1000);
	wait_until(http(client, "GET", "/locks/a", NULL).status == 503, 1000);
	for (int i = 0; i < 10; i++) {
		struct answer a = http(client, "POST", "/locks/refused", NULL);
		assert_problem(a, 503, "redis_unavailable", "none");
		assert_in_range(a.took_us, 0, 100000);
	}
	assert_int_equal(server_command(&redis, "EXISTS p:lock:{refused}")->integer, 0);
	heal();
}

/* Repeated resets: each answer states the true effect. */
TEST(test_resets)
{
	long long sure = 0, possible = 0;

	for (int i = 0; i < 150; i++) {
		if (i % 3 == 0)
			proxy_set(proxy, (struct proxy_fault){ .reset = true });
		struct answer a = http(client, "POST", "/pv/resets", NULL);
		if (a.status == 200)
			sure++;
		else if (a.status == 504)
			possible++;
		else
			assert_problem(a, 503, NULL, "none");
		if (a.status == 503)
			nap_ms(5);
	}
	heal();
	long long counted = int_at(http(client, "GET", "/pv/resets", NULL), "/count");
	assert_in_range(counted, sure, sure + possible);
	assert_true(sure > 0);
	client_forget(client);
}

/* ---- Redis killed ---- */

TEST(test_killed_before)
{
	server_kill(&redis);
	wait_until(http(client, "GET", "/locks/a", NULL).status == 503, 2000);
	assert_problem(http(client, "POST", "/locks/a", NULL), 503, "redis_unavailable", "none");
	server_restart(&redis);
	heal(); /* the new Redis has no scripts */
}

TEST(test_killed_under_requests)
{
	enum { REQUESTS = 20 };
	struct raw *clients[REQUESTS];

	proxy_set(proxy, (struct proxy_fault){ .drop_down = true });
	for (int i = 0; i < REQUESTS; i++) {
		clients[i] = raw_connect(patternd.port);
		raw_text(clients[i], i % 2 ? "POST /pv/killed HTTP/1.1\r\nHost: localhost\r\n\r\n"
					   : "GET /pv/killed HTTP/1.1\r\nHost: localhost\r\n\r\n");
	}
	wait_until(server_scripts_run(&redis) >= REQUESTS, 2000);
	server_kill(&redis);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	for (int i = 0; i < REQUESTS; i++) {
		assert_problem(raw_answer(clients[i], TIMEOUT_MS + SLACK_MS), 504, "no_answer",
			       i % 2 ? "unknown" : "none");
		raw_close(clients[i]);
	}
	server_restart(&redis);
	heal();
}

/*
 * The proxy cuts a new connection at each of many places during its handshake and the loading of
 * its scripts.
 */
TEST(test_killed_while_loading)
{
	static const size_t places[] = { 1, 2, 5, 10, 50, 100, 300, 1000, 3000, 5000 };

	for (size_t i = 0; i < COUNT(places); i++) {
		proxy_set(proxy, (struct proxy_fault){ .reset = true, .cut = true, .cut_at = places[i] });
		struct proxy_counts before = proxy_count(proxy);
		wait_until(proxy_count(proxy).connections > before.connections, RECOVER_MS);
		assert_true(daemon_is_alive(&patternd));
		heal();
	}
}

/* ---- 39: late and stray replies belong to no request ---- */

static void remember_owners(int n)
{
	char target[64], body[64];

	for (int i = 0; i < n; i++) {
		snprintf(target, sizeof(target), "/locks/owned-%d", i);
		snprintf(body, sizeof(body), "{\"owner\":\"owner-%d\"}", i);
		assert_status(http(client, "POST", target, body), 201);
	}
}

/* The owner comes from Redis, the name from the request: a reply to another request would show. */
static void assert_owners(int n)
{
	char target[64], owner[64];

	for (int i = 0; i < n; i++) {
		snprintf(target, sizeof(target), "/locks/owned-%d", i);
		snprintf(owner, sizeof(owner), "owner-%d", i);
		struct answer a = http(client, "GET", target, NULL);
		if (a.status == 200)
			assert_string_equal(text_at(a, "/holders/0/owner"), owner);
		else
			assert_true(a.status == 503 || a.status == 504);
	}
}

TEST(test_late_replies)
{
	enum { LOCKS = 30 };

	server_command(&redis, "FLUSHALL");
	remember_owners(LOCKS);
	for (int round = 0; round < 2; round++) {
		proxy_set(proxy, (struct proxy_fault){ .delay_ms = TIMEOUT_MS * 2 / 3 });
		assert_problem(http(client, "GET", "/locks/owned-0", NULL), 504, "no_answer", "none");
		/* The late reply arrives while these requests are under way. */
		proxy_set(proxy, (struct proxy_fault){ 0 });
		for (int64_t until_ms = monotonic_ms() + TIMEOUT_MS; monotonic_ms() < until_ms;)
			assert_owners(LOCKS);
	}
	heal();
	assert_owners(LOCKS);
	client_forget(client);
}

TEST(test_stray_replies)
{
	static const struct proxy_bytes stray[] = { TEXT(":1\r\n"),         TEXT("+OK\r\n"),
						    TEXT("$-1\r\n"),        TEXT("*1\r\n:1\r\n"),
						    TEXT("-ERR stray\r\n"), TEXT("*2\r\n:0\r\n:0\r\n") };
	enum { LOCKS = 10 };

	server_command(&redis, "FLUSHALL");
	remember_owners(LOCKS);
	for (size_t i = 0; i < COUNT(stray); i++) {
		struct proxy_counts before = proxy_count(proxy);
		/* No reply is pending on the idle connections: the daemon drops them. */
		proxy_inject(proxy, stray[i]);
		wait_until(proxy_count(proxy).connections > before.connections, RECOVER_MS);
		assert_owners(LOCKS);
		heal();
	}
	assert_owners(LOCKS);
	client_forget(client);
}

/* A reply of an unexpected form may belong to another call, and so may the replies behind it. */
TEST(test_stray_replies_among_others)
{
	static const struct proxy_bytes stray[] = { TEXT(":1\r\n"), TEXT("+OK\r\n"), TEXT("$-1\r\n"),
						    TEXT("*1\r\n:1\r\n"), TEXT("*2\r\n:0\r\n:-1\r\n") };
	enum { LOCKS = 10 };
	char text[128];
	struct raw *clients[LOCKS];

	server_command(&redis, "FLUSHALL");
	remember_owners(LOCKS);
	for (size_t i = 0; i < COUNT(stray); i++) {
		proxy_set(proxy, (struct proxy_fault){ .delay_ms = 50, .before = stray[i] });
		for (int k = 0; k < LOCKS; k++) {
			snprintf(text, sizeof(text), "GET /locks/owned-%d HTTP/1.1\r\nHost: localhost\r\n\r\n", k);
			clients[k] = raw_connect(patternd.port);
			raw_text(clients[k], text);
		}
		for (int k = 0; k < LOCKS; k++) {
			struct answer a = raw_answer(clients[k], RECOVER_MS);
			snprintf(text, sizeof(text), "owner-%d", k);
			assert_true(a.status == 200 || a.status == 500 || a.status == 504);
			if (a.status == 200)
				assert_string_equal(text_at(a, "/holders/0/owner"), text);
			raw_close(clients[k]);
		}
		heal();
	}
	client_forget(client);
}

struct sums {
	long long sure, possible; /* increments that happened; increments that may have happened */
};

/*
 * Reads the answer to the last increment and sends another. A client that leaves does not wait for
 * its answer.
 */
static void count_answer(struct raw **r, struct sums *sums, bool leaves)
{
	if (*r && leaves) {
		raw_reset(*r);
		*r = NULL;
		sums->possible++;
	}
	if (*r) {
		struct answer a = raw_answer(*r, 2000);
		sums->sure += a.status == 200;
		sums->possible += a.status == 504;
		if (a.status != 200)
			assert_problem(a, a.status == 503 ? 503 : 504, NULL, a.status == 503 ? "none" : "unknown");
	} else {
		*r = raw_connect(patternd.port);
	}
	raw_text(*r, "POST /pv/sum HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

/*
 * Many clients send increments during a new fault twelve times per second. In the end the sums must
 * agree.
 */
TEST(test_all_at_once)
{
	enum { CLIENTS = 16, ROUNDS = 28, ROUND_MS = 80 };
	static const struct proxy_fault faults[] = { { .reset = true },
						     { .cut = true },
						     { .cut = true, .cut_at = 30 },
						     { .delay_ms = 30 },
						     { .slice = 3 },
						     { .drop_down = true },
						     { 0 } };
	struct raw *clients[CLIENTS] = { NULL };
	struct sums sums = { 0 };

	server_command(&redis, "FLUSHALL");
	for (int round = 0; round < ROUNDS; round++) {
		proxy_set(proxy, faults[round % 7]);
		for (int64_t until_ms = monotonic_ms() + ROUND_MS; monotonic_ms() < until_ms; nap_ms(2))
			for (int i = 0; i < CLIENTS; i++)
				count_answer(&clients[i], &sums, (round + i) % CLIENTS == 0);
	}
	heal();
	for (int i = 0; i < CLIENTS; i++) { /* the last answers */
		struct answer a = raw_answer(clients[i], 2000);
		sums.sure += a.status == 200;
		sums.possible += a.status == 504;
		raw_close(clients[i]);
	}
	assert_in_range(int_at(http(client, "GET", "/pv/sum", NULL), "/count"), sums.sure, sums.sure + sums.possible);
	assert_in_range(sums.sure, 100, INT64_MAX); /* so that the test does not consist of faults alone */
	assert_in_range(sums.possible, 10, INT64_MAX);
	assert_true(daemon_is_alive(&patternd));
}

/* Removes what the test before left behind, whether it failed or not. */
static int heal_first(void **state)
{
	heal();
	return 0;
}

static int set_up(void **state)
{
	return start_through_proxy("300");
}

/*
 * A script is sent at its first use. If each call of a burst sent it, Redis would get megabytes
 * after a failover.
 */
TEST(test_a_burst_sends_its_script_once)
{
	enum { BURST = 30 };
	struct raw *burst[BURST];
	const char *stats;

	server_command(&redis, "SCRIPT FLUSH");
	server_command(&redis, "CONFIG RESETSTAT");
	proc_signal(&redis.proc, SIGSTOP);
	for (int i = 0; i < BURST; i++) {
		burst[i] = raw_connect(patternd.port);
		raw_text(burst[i], GET("/counters/burst") HOST END);
	}
	wait_until(metric_of(&patternd, "redis_calls_in_flight") >= BURST, RECOVER_MS);
	proc_signal(&redis.proc, SIGCONT);
	for (int i = 0; i < BURST; i++) {
		assert_int_equal(raw_answer(burst[i], RECOVER_MS).status, 200);
		raw_close(burst[i]);
	}
	stats = strstr(server_command(&redis, "INFO commandstats")->str, "cmdstat_eval:calls=");
	assert_non_null(stats);
	assert_in_range(atoi(stats + strlen("cmdstat_eval:calls=")), 1, BURST / 3); /* replies may come in some reads */
}

/*
 * The connection that asks about the permissions is lost before it has the answers. The
 * connections that wait for the answers are not used, and one of them asks.
 */
TEST(the_next_connection_asks_about_permissions)
{
	enum { SEVERAL_TIMES = 200 };
	struct daemon other = { 0 };
	long long asked = server_calls(&redis, "acl|dryrun");

	proxy_set(proxy, (struct proxy_fault){ .cut = true, .cut_on = PROXY_BYTES("DRYRUN"), .cut_percent = 100 });
	daemon_launch(&other, "--redis", proxy_url(proxy), "--pool-size", "3");
	struct client *c = client_open(other.port);
	wait_until(server_calls(&redis, "acl|dryrun") > asked + SEVERAL_TIMES, RECOVER_MS);
	assert_int_equal(metric_of(&other, "redis_connections"), 0);
	assert_problem(http(c, "GET", "/readyz", NULL), 503, "not_ready", "none");
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(metric_of(&other, "redis_connections") == 3, RECOVER_MS);
	assert_status(http(c, "GET", "/readyz", NULL), 200);
	client_close(c);
	daemon_stop(&other);
}

SUITE(.open = set_up, .close = stop_through_proxy, .before = heal_first, .columns = 2);
