/*
 * Clients that wait for a cached value, on a real Redis. A value wakes all of them and empties
 * their wait queue. A ticket that expires or is withdrawn wakes one of them. Waiting for a value
 * that never comes costs one look per expired ticket.
 */
#include "line_look.h"
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define VALUE "p:cache:{a}"
#define FENCE "p:cache:{a}:fence"
#define FILL "p:cache:{a}:fill"
#define AGAIN "p:cache:{a}:again"
#define WAITERS "p:cache:{a}:waiters"
#define RECORD "p:idem:{a}:k"

#define A1 DAEMON_A ".0000000000000001.f"
#define A2 DAEMON_A ".0000000000000002.f"
#define B1 DAEMON_B ".0000000000000001.f"
#define C1 DAEMON_C ".0000000000000001.f"

enum { OFFER_MS = 1000, WAIT_MS = 20000, FILL_MS = 5000 };

static int64_t fill(const char *ticket)
{
	run(&r, &cache_fill_script, KEYS(VALUE, FILL, AGAIN), ARGS(ticket, "5000"));
	return outcome(&r);
}

/* An attempt of a waiter. With wait_ms 0 it is the last one. */
static int64_t fill_or_wait(const char *waiter, const char *ticket, int64_t wait_ms, int64_t waited_us)
{
	char left[24], waited[24];

	snprintf(left, sizeof(left), "%lld", (long long)wait_ms);
	snprintf(waited, sizeof(waited), "%lld", (long long)waited_us);
	run(&r, &cache_fill_script, KEYS(VALUE, FILL, AGAIN, WAITERS), ARGS(ticket, "5000", waiter, left, waited));
	return outcome(&r);
}

static void waits(const char *waiter, int64_t waited_us, int64_t look_at_ms)
{
	assert_int_equal(fill_or_wait(waiter, "wanted", WAIT_MS, waited_us), CACHE_FILL_IN_PROGRESS);
	assert_int_equal(item_int(&r, CACHE_FILL_LOOK_AT_MS), look_at_ms);
}

static void put(int64_t expected)
{
	run(&r, &cache_put_script, KEYS(VALUE, FENCE, FILL, AGAIN, WAITERS),
	    ARGS("1", "60000", "00c0ffee", "", "", "", ""));
	assert_int_equal(outcome(&r), expected);
}

static int64_t leave(const char *waiter, const char *ticket)
{
	run(&r, &cache_leave_script, KEYS(VALUE, FILL, WAITERS), ARGS(waiter, ticket));
	return outcome(&r);
}

static void delete (void)
{
	run(&r, &cache_delete_script, KEYS(VALUE, FENCE, FILL, WAITERS), ARGS("", "", ""));
	assert_int_equal(outcome(&r), 1);
}

static void invalidate(void)
{
	run(&r, &cache_invalidate_script, KEYS(VALUE, FILL, AGAIN, WAITERS), ARGS("60000"));
	assert_int_equal(outcome(&r), 1);
}

static void later(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

static void assert_published(const char *messages)
{
	assert_string_equal(line_published(&r), messages);
}

static void assert_line(const char *tickets, const char *offered_to)
{
	assert_string_equal(line_tickets(&r, VALUE), tickets);
	assert_string_equal(line_offered_to(&r, VALUE), offered_to);
}

/* Grants a ticket, and returns when it expires. */
static int64_t begin(void)
{
	assert_int_equal(fill("out"), CACHE_FILL_GRANTED);
	return item_int(&r, CACHE_FILL_EXPIRES_AT_MS);
}

/*
 * Grants a ticket, for which three clients of two daemons then wait. Returns when the ticket
 * expires.
 */
static int64_t gather(void)
{
	int64_t ends_ms = begin();

	waits(A1, 0, ends_ms + 1);
	waits(B1, 0, ends_ms + 1 + OFFER_MS); /* B1 looks in case A is dead */
	waits(A2, 0, -1);
	line_subscribe(&r, VALUE);
	return ends_ms;
}

/* ---- A value is for all ---- */

TEST(a_value_wakes_all_and_empties_the_wait_queue)
{
	gather();
	assert_line(A1 " " B1 " " A2, "");
	put(1);
	assert_published("A! 0, B! 0"); /* one message per daemon */
	assert_int_equal(redis_exists(&r, WAITERS), 0);
	unchanged(&r, fill_or_wait(A1, "wanted", WAIT_MS, 1000));
	assert_int_equal(fill_or_wait(A1, "wanted", WAIT_MS, 1000), 0);
	assert_string_equal(item_text(&r, CACHED_VALUE), "1");
	put(2); /* no client waits while a value exists */
	assert_published("");
}

/* The next ticket is not reserved. If a newcomer gets it, the waiters learn when it expires. */
TEST(a_newcomer_may_get_the_ticket)
{
	gather();
	later(FILL_MS + 1);
	assert_int_equal(fill("newcomer"), CACHE_FILL_GRANTED);
	assert_published("");
	assert_int_equal(fill_or_wait(A1, "wanted", WAIT_MS, FILL_MS * 1000), CACHE_FILL_IN_PROGRESS);
	assert_int_equal(item_int(&r, CACHE_FILL_LOOK_AT_MS), item_int(&r, REPLY_NOW_MS) + FILL_MS + 1 + OFFER_MS);
	assert_published(""); /* B looks before, and then A1 in case B is dead */
	assert_line(A1 " " B1 " " A2, "");
	/* A client that would wait does the same with its first attempt. */
	later(FILL_MS + 1);
	assert_int_equal(fill_or_wait(C1, "another", WAIT_MS, 0), CACHE_FILL_GRANTED);
	assert_published("");
	put(1);
	assert_published("B! 0, A! 0");
}

/* ---- The end of a ticket is for one ---- */

TEST(one_looks_when_the_ticket_expires)
{
	int64_t ends_ms = gather();
	later(FILL_MS + 1);
	assert_int_equal(fill_or_wait(A1, "next", WAIT_MS, FILL_MS * 1000), CACHE_FILL_GRANTED);
	assert_string_equal(item_text(&r, CACHE_FILL_TICKET), "next");
	assert_line(B1 " " A2, "");
	assert_published("A2 6001"); /* a second after the new end; B looks earlier, in vain, and again at that end */
	assert_string_equal(line_watchers(&r, VALUE), B1 " " A2);
	later(OFFER_MS);
	waits(B1, FILL_MS * 1000, ends_ms + 1 + FILL_MS + 1);
	put(1);
	assert_published("B! 0, A! 0");
}

TEST(whatever_takes_a_ticket_away_calls_one)
{
	for (int way = 0; way < 3; way++) {
		script_stage_empty(state);
		gather();
		if (way == 0)
			delete ();
		else if (way == 1)
			invalidate();
		else
			assert_int_equal(leave("", "out"), CACHE_LEAVE_TAKEN_BACK);
		assert_published("A1 0, B1 1000"); /* B1 is the guard */
		assert_line(A1 " " B1 " " A2, A1);
		assert_int_equal(redis_exists(&r, FILL), 0);
		assert_int_equal(fill_or_wait(A1, "next", WAIT_MS, 1000), CACHE_FILL_GRANTED);
		assert_line(B1 " " A2, "");
	}
}

/*
 * An offer lapses if its daemon does not use it. The guard then drops that daemon, and gets the
 * ticket.
 */
TEST(a_daemon_that_died_delays_by_a_second)
{
	gather();
	delete ();
	later(OFFER_MS + 1);
	assert_int_equal(fill_or_wait(B1, "next", WAIT_MS, OFFER_MS * 1000), CACHE_FILL_GRANTED);
	assert_line("", "");
	assert_published("A1 0, B1 1000, A!"); /* A's tickets join again if A lives */
}

TEST(a_waiter_that_leaves_passes_its_offer_on)
{
	gather();
	delete ();
	assert_published("A1 0, B1 1000");
	assert_int_equal(leave(A1, ""), CACHE_LEAVE_LEFT);
	assert_published("B1 0, A2 1000");
	assert_line(B1 " " A2, B1);
	assert_int_equal(leave(A2, ""), CACHE_LEAVE_LEFT);
	assert_int_equal(leave(B1, ""), CACHE_LEAVE_LEFT);
	assert_line("", "");
	assert_int_equal(redis_exists(&r, WAITERS), 0);
}

/* A ticket other than the disconnected client's stays valid. */
TEST(only_its_own_ticket_is_taken_back)
{
	int64_t ends_ms = gather();
	assert_int_equal(leave("", "another"), CACHE_LEAVE_LEFT);
	assert_published("");
	waits(A1, 1000, ends_ms + 1);
}

TEST(the_last_attempt_leaves)
{
	int64_t ends_ms = gather();
	assert_int_equal(fill_or_wait(A1, "wanted", 0, WAIT_MS * 1000), CACHE_FILL_IN_PROGRESS);
	assert_int_equal(item_int(&r, CACHE_FILL_RETRY_AT_MS), ends_ms);
	assert_line(B1 " " A2, "");
}

/* Waiters do not keep looking for the end of a ticket to which PUT /keys/{key}/ttl gave no end. */
TEST(an_endless_ticket_is_not_watched)
{
	begin();
	server_command(&r, "PERSIST " FILL);
	waits(A1, 0, -1);
	delete ();
	assert_line(A1, A1);
}

/* ---- Replays, foreign keys ---- */

TEST(a_replay_changes_no_wait_queue)
{
	const char *const *keys = KEYS(VALUE, FILL, AGAIN, WAITERS);

	run_with_record(&r, &cache_fill_script, keys, ARGS("first", "5000", A1, "20000", "0"), RECORD, FINGERPRINT_A);
	assert_int_equal(outcome(&r), CACHE_FILL_GRANTED);
	unchanged(&r, run_with_record(&r, &cache_fill_script, keys, ARGS("other", "5000", A2, "20000", "0"), RECORD,
				      FINGERPRINT_A));
	assert_int_equal(fill_or_wait(B1, "next", WAIT_MS, 0), CACHE_FILL_IN_PROGRESS);
	/* A request that waits has no effect, and is not recorded. */
	run_with_record(&r, &cache_fill_script, keys, ARGS("other", "5000", A2, "20000", "0"), RECORD "2",
			FINGERPRINT_A);
	assert_int_equal(outcome(&r), CACHE_FILL_IN_PROGRESS);
	assert_int_equal(redis_exists(&r, RECORD "2"), 0);
}

TEST(a_foreign_wait_queue_stays_as_it_is)
{
	static const char *const foreign[] = { "SET " WAITERS " x", "ZADD " WAITERS " 1 mine", "RPUSH " WAITERS " 1" };

	for (size_t i = 0; i < COUNT(foreign); i++) {
		script_stage_empty(NULL);
		begin();
		assert_int_not_equal(server_command(&r, foreign[i])->type, REDIS_REPLY_ERROR);
		unchanged(&r, run_fails(&r, &cache_fill_script, KEYS(VALUE, FILL, AGAIN, WAITERS),
					ARGS("t", "5000", A1, "20000", "0"), "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &cache_put_script, KEYS(VALUE, FENCE, FILL, AGAIN, WAITERS),
					ARGS("1", "60000", "00c0ffee", "", "out", "", ""), "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &cache_delete_script, KEYS(VALUE, FENCE, FILL, WAITERS), ARGS("", "", ""),
					"WRONGTYPE"));
		unchanged(&r, run_fails(&r, &cache_invalidate_script, KEYS(VALUE, FILL, AGAIN, WAITERS), ARGS("1000"),
					"WRONGTYPE"));
		unchanged(&r,
			  run_fails(&r, &cache_leave_script, KEYS(VALUE, FILL, WAITERS), ARGS(A1, "out"), "WRONGTYPE"));
	}
}

static int open_stage(void **state)
{
	script_stage_open_by_clock(state);
	line_attend(&r, VALUE);
	return 0;
}

SUITE(.open = open_stage, .close = script_stage_close, .before = script_stage_empty);
