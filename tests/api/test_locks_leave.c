/*
 * Clients disconnect while they are in the wait queue, with two daemons on one Redis. They leave
 * the queue at once, and the daemon releases a lock that it acquired for such a client.
 */
#include "lock_line.h"
#include "stride.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 5000, AT_ONCE_MS = 700, READ_MS = 2000 };

static void (*const ways[])(struct raw *r) = { raw_close, raw_reset, raw_half_close };
enum { WAYS = COUNT(ways), HALF_CLOSE = 2 };

SUITE(.open = pair_open, .close = pair_close, .after = pair_forget);

TEST(a_client_that_leaves_is_out_of_the_queue)
{
	line_hold("{\"ttl_ms\":60000}");
	for (int i = 0; i < 2 * WAYS; i++) {
		struct raw *before = line_join(0), *leaves = line_join(i % 2), *after = line_join(1);
		ways[i / 2](leaves);
		wait_until(line_waiters() == 2, AT_ONCE_MS);
		if (i / 2 == HALF_CLOSE) { /* the client gets no answer, and the connection ends */
			assert_true(raw_closed(leaves, SOON_MS));
			assert_int_equal(raw_answers_left(leaves), 0);
			raw_close(leaves);
		}
		line_release(0);
		line_served(before);
		line_release(0);
		line_served(after);
	}
}

/*
 * When the waiter with the offer leaves, the next waiter gets the offer at once, not after the
 * second that an offer lasts.
 */
TEST(a_client_that_leaves_with_the_offer_makes_way)
{
	for (int i = 0; i < 2 * WAYS; i++) {
		line_hold("{\"ttl_ms\":60000}");
		struct raw *leaves = line_join(i % 2), *next = line_join(1 - i % 2);
		int64_t start_ms = monotonic_ms();
		ways[i / 2](leaves);
		line_release(0);
		line_served(next);
		assert_in_range(monotonic_ms() - start_ms, 0, AT_ONCE_MS);
		line_release(0);
		if (i / 2 == HALF_CLOSE)
			raw_close(leaves);
	}
}

TEST(many_leave_at_once)
{
	enum { MANY = 200 };
	struct raw *many[MANY];

	line_hold("{\"ttl_ms\":60000}");
	for (int i = 0; i < MANY; i++)
		many[i] = pair_ask(i % 2, LOCK_A, "{\"wait_ms\":20000}", "");
	wait_until(line_waiters() == MANY, SOON_MS);
	struct raw *last = line_join(0);
	for (int i = 0; i < MANY; i++)
		ways[i % 2](many[i]);
	wait_until(line_waiters() == 1, SOON_MS);
	line_release(0);
	line_served(last);
	wait_until(metric_of(&pair.d[1], "http_connections") <= 2, SOON_MS);
}

/* ---- Disconnecting during the release ---- */

enum { ROUNDS = 400, STEP_US = 20, STEPS = 80 };

/* The status of a request in the log of daemon `i`; 0 if it is not logged yet. */
static int logged_status(int i, const char *request_id)
{
	char id[64];
	char *log = file_text(pair.d[i].proc.err_path);

	snprintf(id, sizeof(id), "\"request_id\":\"%s\"", request_id);
	char *line = log ? strstr(log, id) : NULL;
	char *status = line ? strstr(line, "\"status\":") : NULL;
	int number = status ? atoi(status + strlen("\"status\":")) : 0;
	free(log);
	return number;
}

/*
 * Sends the release, and lets the leaver disconnect `leave_after_us` later (if negative, earlier).
 * Neither waits for the other.
 */
static void at_the_same_time(struct raw *releaser, struct raw *leaver, void (*leave)(struct raw *r),
			     int64_t leave_after_us)
{
	char release[192];

	snprintf(release, sizeof(release), "DELETE " LOCK_A " HTTP/1.1\r\nHost: localhost\r\nLock-Token: %s\r\n\r\n",
		 line_token);
	if (leave_after_us < 0)
		leave(leaver);
	else
		raw_text(releaser, release);
	int64_t until_us = monotonic_us() + llabs(leave_after_us);
	while (monotonic_us() < until_us)
		continue;
	if (leave_after_us < 0)
		raw_text(releaser, release);
	else
		leave(leaver);
}

/*
 * The client disconnects at the moment in which the lock is released to it. If the daemon answered
 * it before, the client holds the lock. Otherwise the next waiter gets the lock at once: a lock
 * that no client knows of must not stay held until its ttl ends. The daemon's log shows which of
 * the two happened; after a half close, so does the answer.
 */
TEST(a_client_that_leaves_in_that_moment_keeps_nothing)
{
	unsigned answered = 0, taken_back = 0;
	struct raw *releaser = raw_connect(pair.d[0].port);

	line_hold("{\"ttl_ms\":60000}");
	for (int i = 0; i < ROUNDS / stride(); i++) {
		char id[32], header[64];
		snprintf(id, sizeof(id), "leaver-%d", i);
		snprintf(header, sizeof(header), "X-Request-ID: %s\r\n", id);
		struct raw *leaver = pair_ask(i / 2 % 2, LOCK_A, "{\"wait_ms\":20000,\"ttl_ms\":60000}", header);
		wait_until(line_waiters() == 1, SOON_MS);
		struct raw *next = line_join(i % 2);
		at_the_same_time(releaser, leaver, ways[i % WAYS], (i % STEPS - STEPS / 4) * STEP_US);
		assert_status(raw_answer(releaser, SOON_MS), 200);
		wait_until(logged_status(i / 2 % 2, id) != 0, SOON_MS);
		bool has_it = logged_status(i / 2 % 2, id) == 201;
		if (i % WAYS == HALF_CLOSE) {
			struct answer a = raw_answer(leaver, SOON_MS);
			assert_int_equal(a.status, has_it ? 201 : 0);
			raw_close(leaver);
		}
		answered += has_it;
		taken_back += !has_it;
		if (has_it)
			assert_status(http(pair.c[0], "DELETE", LOCK_A "?force=true", NULL), 200);
		int64_t start_ms = monotonic_ms();
		line_served(next);
		assert_in_range(monotonic_ms() - start_ms, 0, AT_ONCE_MS);
		client_forget(pair.c[0]);
	}
	raw_close(releaser);
	print_message("%u clients got the lock before they left, %u did not\n", answered, taken_back);
	assert_true(answered > 0 && taken_back > 0);
}
