/*
 * Waiting for a lock on a majority of three servers: the daemon tries again and again, and keeps no
 * copy between two tries.
 */
#include <signal.h>

#include "quorum.h"
#include "raw.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 10000 };

#define LONG "{\"ttl_ms\":60000,\"wait_ms\":20000}"

static const char target[] = "/locks/a";

static struct answer acquire(const char *body)
{
	return http(quorum.c[0], "POST", target, body);
}

/* Adds a waiter at the second daemon, and returns when it has tried more than once. */
static struct raw *waits(const char *body)
{
	long tries = metric_of(&quorum.d[1], "wait_retries_total");
	struct raw *w = waiter_at(&quorum.d[1], target, body, "");

	wait_until(metric_of(&quorum.d[1], "wait_retries_total") > tries + 2, SOON_MS);
	assert_int_equal(waiting_at(&quorum.d[1]), 1);
	return w;
}

static long long scripts_run(void)
{
	long long n = 0;

	for (int i = 0; i < QUORUM_SERVERS; i++)
		n += server_scripts_run(&quorum.servers[i]);
	return n;
}

SUITE(.open = quorum_open, .close = quorum_close, .after = quorum_forget);

TEST(a_waiter_gets_it_after_its_release)
{
	struct answer first = acquire("{\"ttl_ms\":60000}");
	int64_t begin_ms = monotonic_ms();
	struct raw *w = waits(LONG);
	assert_false(waiter_is_answered(w));
	assert_status(quorum_release(quorum.c[0], target, text_at(first, "/token")), 200);
	struct answer a = waiter_answer(w, target, SOON_MS);
	assert_status(a, 201);
	assert_in_range(int_at(a, "/waited_ms"), 1, monotonic_ms() - begin_ms);
	assert_true(int_at(a, "/fence") > int_at(first, "/fence"));
	assert_int_equal(int_at(a, "/safety/acknowledged"), 3);
	assert_true(int_at(a, "/ttl_ms") > 55000); /* the ttl begins with the last try, not the first */
	assert_int_equal(quorum_copies("a"), 3);
	assert_int_equal(waiting_at(&quorum.d[1]), 0);
	assert_status(quorum_release(quorum.c[1], target, text_at(a, "/token")), 200);
	assert_int_equal(quorum_copies("a"), 0);
	raw_close(w);
}

TEST(it_is_free_when_its_time_has_passed)
{
	assert_status(acquire("{\"ttl_ms\":1000}"), 201);
	struct raw *w = waits(LONG);
	assert_status(waiter_answer(w, target, SOON_MS), 201);
	raw_close(w);
}

TEST(a_wait_that_ends_is_answered_as_without)
{
	assert_status(acquire("{\"ttl_ms\":60000,\"owner\":\"first\"}"), 201);
	int64_t begin_ms = monotonic_ms();
	struct answer a = http(quorum.c[1], "POST", target, "{\"wait_ms\":600}");
	assert_problem(a, 409, "lock_held", "none");
	assert_true(monotonic_ms() - begin_ms >= 599);
	assert_string_equal(text_at(a, "/holders/0/owner"), "first");
	assert_problem(http(quorum.c[1], "POST", target, "{\"wait_ms\":60001}"), 400, "out_of_range", "none");
}

/*
 * One server has lost the lock. Each try acquires a copy there, and must release it before the next
 * try.
 */
TEST(nothing_stays_at_a_minority)
{
	enum { FREE_SEEN = 20 };
	struct redis_server *s = &quorum.servers[1];
	const char *fence = "GET p:lock:{a}:fence";
	char last[32] = "";

	assert_status(acquire("{\"ttl_ms\":60000}"), 201);
	server_command(s, "DEL p:lock:{a}");
	struct raw *w = waits(LONG);
	int64_t until_ms = monotonic_ms() + SOON_MS;
	for (int free_seen = 0, tries = 0; free_seen < FREE_SEEN || tries < 3;) {
		assert_true(monotonic_ms() < until_ms);
		free_seen += server_command(s, "EXISTS p:lock:{a}")->integer == 0;
		const char *now = server_command(s, fence)->str; /* each try there gets a new fence */
		tries += strcmp(now, last) != 0;
		snprintf(last, sizeof(last), "%s", now);
	}
	assert_true(bool_at(http(quorum.c[0], "GET", target, NULL), "/held")); /* a majority held it all the time */
	raw_close(w);
	wait_until(waiting_at(&quorum.d[1]) == 0, SOON_MS);
	wait_until(quorum_copies("a") == 2, SOON_MS);
}

TEST(a_client_that_leaves_ends_it)
{
	struct answer a = acquire("{\"ttl_ms\":60000}");
	struct raw *w = waits(LONG);
	raw_close(w);
	wait_until(all_parked(&quorum.d[1], 0), SOON_MS);
	long long scripts = scripts_run();
	nap_ms(500); /* longer than two pauses between tries */
	assert_int_equal(scripts_run(), scripts);
	assert_status(quorum_release(quorum.c[0], target, text_at(a, "/token")), 200);
	assert_int_equal(quorum_copies("a"), 0);
}

TEST(a_daemon_that_leaves_lets_none_wait)
{
	struct daemon d = { 0 };

	assert_status(acquire("{\"ttl_ms\":60000}"), 201);
	daemon_start(&d, "--redis", quorum.main.url, "--lock-quorum", quorum.urls, "--drain-ms", "8000");
	struct raw *w = waiter_at(&d, target, LONG, "");
	wait_until(metric_of(&d, "wait_retries_total") > 2, SOON_MS);
	proc_signal(&d.proc, SIGTERM);
	assert_problem(waiter_answer(w, target, 3000), 409, "lock_held", "none");
	raw_close(w);
	daemon_stop(&d);
}

/* ---- Many ---- */

TEST(all_that_wait_get_it_one_at_a_time)
{
	assert_int_equal(quorum_race("{\"ttl_ms\":30000,\"wait_ms\":60000}", 90), 0);
}
