/*
 * Locks that are held for as long as a connection is open, with two daemons on one Redis: the
 * events, renewals, and each way in which a hold ends. (When Redis or a daemon fails:
 * test_locks_faults.c.)
 */
#include <signal.h>

#include "events.h"
#include "lock_line.h"
#include "stride.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 5000, AT_ONCE_MS = 700 };

#define HOLD LOCK_A "/hold"

static struct events *hold(int i, const char *body)
{
	return events_open(pair_ask(i, HOLD, body, ""), HOLD);
}

/* Reads the first event, and stores the token in line_token. */
static struct event acquired(struct events *e)
{
	struct event v = events_next(e, SOON_MS);

	assert_string_equal(v.name, "acquired");
	snprintf(line_token, sizeof(line_token), "%s", json_string_value(json_object_get(v.json, "token")));
	return v;
}

static int64_t number_of(struct event v, const char *member)
{
	const json_t *value = json_object_get(v.json, member);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static bool is_held(void)
{
	return bool_at(http(pair.c[0], "GET", LOCK_A, NULL), "/held");
}

/* The last event has this name and reason, and then the stream ends. */
static void ends(struct events *e, const char *name, const char *reason)
{
	struct event v = events_next_named(e, SOON_MS);

	assert_string_equal(v.name, name);
	if (reason)
		assert_string_equal(json_string_value(json_object_get(v.json, "reason")), reason);
	assert_true(events_ended(e, SOON_MS));
}

/* ---- Held ---- */

SUITE(.open = pair_open, .close = pair_close, .after = pair_forget);

TEST(acquired_has_the_members_of_a_lock)
{
	struct events *e = hold(0, "{\"ttl_ms\":60000,\"owner\":\"backup\"}");
	struct event v = acquired(e);
	assert_string_equal(json_string_value(json_object_get(v.json, "name")), "a");
	assert_string_equal(json_string_value(json_object_get(v.json, "owner")), "backup");
	assert_int_equal(strspn(line_token, "0123456789abcdef"), 32);
	assert_int_equal(number_of(v, "waited_ms"), 0);
	assert_in_range(number_of(v, "ttl_ms"), 59000, 60000);
	assert_non_null(json_object_get(v.json, "safety"));
	struct answer a = http(pair.c[1], "GET", LOCK_A, NULL);
	assert_int_equal(int_at(a, "/fence"), number_of(v, "fence"));
	assert_int_equal(int_at(a, "/expires_at_ms"), number_of(v, "expires_at_ms"));
	assert_string_equal(text_at(a, "/holders/0/owner"), "backup");
	assert_string_equal(text_at(a, "/mode"), "exclusive");
	assert_problem(line_take(1, NULL), 409, "lock_held", "none");
	struct answer plain = http(pair.c[1], "POST", "/locks/other", "{}");
	const char *member;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)json_at(plain, ""), member, value)
		assert_int_equal(json_typeof(json_object_get(v.json, member)),
				 strcmp(member, "owner") ? json_typeof(value) : JSON_STRING);
	assert_int_equal(json_object_size(v.json), json_object_size(json_at(plain, "")));
	assert_int_equal(number_of(v, "holds"), 1);
	events_close(e);
}

/* The lock is kept for several times its ttl, with a renewal every third of the ttl. */
TEST(it_is_kept)
{
	enum { TTL_MS = 600, RENEWALS = 5 };

	struct events *e = hold(0, "{\"ttl_ms\":600}");
	int64_t fence = number_of(acquired(e), "fence"), start_ms = monotonic_ms();
	for (int i = 1; i <= RENEWALS; i++) {
		struct event v = events_next(e, SOON_MS);
		assert_null(v.name);
		assert_string_equal(v.data, "kept");
		assert_true(monotonic_ms() - start_ms >= i * TTL_MS / 3 - 20); /* a later renewal would lose the lock */
		struct answer a = http(pair.c[1], "GET", LOCK_A, NULL);
		assert_int_equal(int_at(a, "/fence"), fence);
		assert_in_range(int_at(a, "/ttl_ms"), 1, TTL_MS);
		assert_int_equal(int_at(a, "/holders/0/holds"), 1);
	}
	events_close(e);
}

TEST(its_token_is_good_for_all_that_a_token_is)
{
	static const char body[] = "{\"ttl_ms\":5000}";

	struct events *e = hold(0, "{\"ttl_ms\":600}");
	acquired(e);
	assert_status(http(pair.c[1], "POST", LOCK_A "/extend", body, lock_token(line_token)), 200);
	struct answer again = http(pair.c[1], "POST", LOCK_A, body, lock_token(line_token));
	assert_status(again, 200);
	assert_int_equal(int_at(again, "/holds"), 2);
	line_release(1); /* the token of the hold */
	ends(e, "lost", "released");
	events_close(e);
	assert_int_equal(pair_number(LOCK_A, "/holders/0/holds"), 1); /* the other token still holds the lock */
	snprintf(line_token, sizeof(line_token), "%s", text_at(again, "/token"));
	line_release(0);
}

TEST(any_client_may_ask)
{
	static const char *const accepts[] = { "Accept: application/json\r\n", "Accept: text/event-stream\r\n",
					       "Accept: */*\r\n", "" };
	struct raw *r;

	for (size_t i = 0; i < COUNT(accepts); i++) {
		struct events *e = events_open(pair_ask(0, HOLD, "{\"wait_ms\":5000}", accepts[i]), HOLD);
		acquired(e);
		events_close(e);
	}
	r = pair_ask(0, HOLD, "{}", "Accept: image/png\r\n");
	assert_problem(pair_answer(r, HOLD), 406, "not_acceptable", "none");
	raw_close(r);
}

/* As in README.md: a shell holds a lock for as long as curl runs. */
TEST(curl_holds_a_lock)
{
	struct proc curl = { 0 };
	char url[96];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d" HOLD, pair.d[0].port);
	proc_start(&curl, (const char *const[]){ "curl", "-sN", "--json", "{\"ttl_ms\":30000}", url, NULL });
	char *said = NULL;
	wait_until((free(said), said = file_text(curl.out_path)) && strstr(said, "event: acquired\ndata: {"), SOON_MS);
	free(said);
	assert_true(is_held());
	proc_kill(&curl);
	wait_until(!is_held(), AT_ONCE_MS);
}

/* ---- Its client ---- */

static void finish(struct events *e)
{
	events_close(e);
}

static void reset(struct events *e)
{
	events_reset(e);
}

static void half_close(struct events *e)
{
	raw_half_close(events_connection(e));
	assert_true(raw_closed(events_connection(e), SOON_MS));
	events_close(e);
}

TEST(it_is_free_as_soon_as_the_client_leaves)
{
	static void (*const ways[])(struct events * e) = { finish, reset, half_close };

	for (size_t i = 0; i < 2 * COUNT(ways); i++) {
		struct events *e = hold(0, "{\"ttl_ms\":60000}");
		acquired(e);
		struct raw *next = line_join(i % 2);
		assert_true(pair_waits(next));
		int64_t start_ms = monotonic_ms();
		ways[i / 2](e);
		line_served(next);
		assert_in_range(monotonic_ms() - start_ms, 0, AT_ONCE_MS);
		line_release(0);
	}
}

TEST(it_waits_in_line)
{
	line_hold("{\"ttl_ms\":60000}");
	int64_t fence = pair_number(LOCK_A, "/fence");
	struct raw *first = line_join(0), *second = pair_ask(1, HOLD, "{\"wait_ms\":20000}", "");
	wait_until(line_waiters() == 2, SOON_MS);
	struct raw *third = line_join(0);
	line_release(0);
	line_served(first);
	assert_true(pair_waits(second));
	line_release(0);
	struct events *e = events_open(second, HOLD);
	struct event v = acquired(e);
	assert_true(number_of(v, "waited_ms") > 0);
	assert_true(number_of(v, "fence") > fence);
	assert_true(pair_waits(third));
	events_close(e);
	line_served(third);
}

TEST(it_is_refused_as_a_lock_is)
{
	line_hold("{\"ttl_ms\":60000,\"owner\":\"worker-7\"}");
	for (int i = 0; i < 2; i++) {
		struct answer a = http(pair.c[i], "POST", HOLD, i ? "{\"wait_ms\":100}" : NULL);
		assert_problem(a, 409, "lock_held", "none");
		assert_string_equal(text_at(a, "/holders/0/owner"), "worker-7");
		assert_int_equal(int_at(a, "/waiter_count"), 0);
		assert_in_range(a.took_us, i * 99000, 1000000);
	}
	struct raw *leaves = pair_ask(1, HOLD, "{\"wait_ms\":20000}", "");
	wait_until(line_waiters() == 1, SOON_MS);
	raw_close(leaves);
	wait_until(line_waiters() == 0, AT_ONCE_MS);
}

/*
 * A stream has no replay, so the key has no effect: neither while the client waits, nor when it
 * disconnects.
 */
TEST(an_idempotency_key_means_nothing)
{
	static const char key[] = "Idempotency-Key: one\r\n", body[] = "{\"wait_ms\":20000,\"ttl_ms\":60000}";

	line_hold("{\"ttl_ms\":60000}");
	struct raw *r[2];
	for (int i = 0; i < 2; i++) {
		r[i] = pair_ask(0, HOLD, body, key);
		wait_until(line_waiters() == i + 1, SOON_MS);
	}
	line_release(0);
	struct events *e = events_open(r[0], HOLD);
	acquired(e);
	assert_true(pair_waits(r[1]));
	events_close(e);
	e = events_open(r[1], HOLD);
	acquired(e);
	events_close(e);
	wait_until(!is_held(), AT_ONCE_MS);
}

/* ---- Each way to an end ---- */

TEST(a_release_by_force_is_an_event)
{
	struct events *e = hold(1, "{\"ttl_ms\":600}");
	acquired(e);
	assert_status(http(pair.c[0], "DELETE", LOCK_A "?force=true", NULL), 200);
	int64_t start_ms = monotonic_ms();
	ends(e, "lost", "released");
	assert_in_range(monotonic_ms() - start_ms, 0, 600);
	events_close(e);
	assert_status(line_take(0, NULL), 201);
}

TEST(it_ends_after_max_hold_ms)
{
	struct events *e = hold(0, "{\"ttl_ms\":60000,\"max_hold_ms\":250}");
	acquired(e);
	int64_t start_ms = monotonic_ms();
	struct raw *next = line_join(1);
	ends(e, "released", "max_hold_ms");
	assert_in_range(monotonic_ms() - start_ms, 230, 250 + AT_ONCE_MS);
	line_served(next);
	events_close(e);
}

TEST(a_daemon_that_leaves_releases_what_it_holds)
{
	struct events *e = hold(1, "{\"ttl_ms\":60000}");
	acquired(e);
	struct raw *next = line_join(0);
	proc_signal(&pair.d[1].proc, SIGTERM);
	ends(e, "closing", "drain");
	line_served(next);
	assert_true(proc_ended(&pair.d[1].proc, 2000)); /* the client need not close first */
	daemon_stop(&pair.d[1]);
	events_close(e);
}

/* ---- Many ---- */

/* Opens many holds at once, each of its own lock. */
static void hold_many(void)
{
	enum { AT_ONCE = 100 };
	struct events *open[AT_ONCE];

	for (int i = 0; i < AT_ONCE; i++) {
		char target[64];
		snprintf(target, sizeof(target), "/locks/many-%d/hold", i);
		open[i] = events_open(pair_ask(0, target, "{\"ttl_ms\":60000,\"wait_ms\":5000}", ""), target);
		acquired(open[i]);
	}
	for (int i = 0; i < AT_ONCE; i++)
		events_close(open[i]);
	wait_until(metric_of(&pair.d[0], "http_requests_in_progress") == 1, SOON_MS);
}

/*
 * An older connection stays open during the test, since libmicrohttpd only checks whether the
 * oldest connection is closed.
 */
TEST(a_thousand_leave_nothing_behind)
{
	enum { IN_A_ROW = 800 };

	assert_status(http(pair.c[0], "GET", "/healthz", NULL), 200);
	hold_many();
	wait_until(metric_of(&pair.d[0], "http_connections") == 2, SOON_MS);
	long kib = daemon_resident_kib(&pair.d[0]);
	int files = daemon_open_files(&pair.d[0]);
	for (int i = 0; i < IN_A_ROW / stride(); i++) {
		struct events *e = hold(0, "{\"wait_ms\":5000,\"ttl_ms\":60000}");
		acquired(e);
		events_close(e);
	}
	hold_many();
	wait_until(metric_of(&pair.d[0], "http_connections") == 2, SOON_MS);
	assert_true(daemon_open_files(&pair.d[0]) <= files);
	if (!daemon_is_sanitized())
		assert_in_range(daemon_resident_kib(&pair.d[0]), 1, kib + 512);
	wait_until(json_array_size(json_at(http(pair.c[1], "GET", "/locks?limit=1000", NULL), "/items")) == 0, SOON_MS);
}

/* Some reverse proxies send HTTP/1.0: the body ends with the connection. */
TEST(http_1_0_gets_a_stream_that_ends)
{
	assert_status(http(pair.c[0], "GET", "/healthz", NULL), 200); /* an older connection stays open */
	for (int i = 0; i < 3; i++) {
		struct raw *r = raw_connect(pair.d[0].port);
		raw_text(r, "POST " HOLD " HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 35\r\n\r\n"
			    "{\"max_hold_ms\":20, \"wait_ms\":5000}\n");
		struct answer a = raw_answer(r, SOON_MS);
		assert_status(a, 200);
		assert_non_null(strstr(a.body, "event: acquired\ndata: {"));
		assert_non_null(strstr(a.body, "event: released\ndata: {\"reason\":\"max_hold_ms\"}\n\n"));
		raw_close(r);
	}
	wait_until(metric_of(&pair.d[0], "http_connections") == 2, SOON_MS);
}
