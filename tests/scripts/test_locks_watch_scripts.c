/*
 * The wait queue of a lock on a real Redis: which daemons are notified of a change, which look when
 * time passes, and what happens to those that do not.
 */
#include "lock_waits.h"
#include "script_stage.h"
#include "test.h"

#define C2 DAEMON_C ".0000000000000002.x"
/* Tickets of daemons that receive nothing. */
#define D1 "dddddddddddddddd.0000000000000001.x"
#define D2 "dddddddddddddddd.0000000000000002.x"
#define CD1 "cddddddddddddddd.0000000000000001.x"

enum { UNHEARD_MS = 200 };

/* An attempt of a waiter that has waited since `since_us`, and was dropped. */
static int64_t join_again(const char *ticket, int64_t since_us)
{
	return lock_acquire(&r, (struct lock_try){ .token = TOKEN_2,
						   .ticket = ticket,
						   .wait_ms = WAIT_MS,
						   .queued_us = *script_clock_us - since_us });
}

/* ---- Which waiter is notified ---- */

static void join_many(int each)
{
	static const char *const daemons[] = { DAEMON_A, DAEMON_B, DAEMON_C };
	char ticket[64];

	for (int i = 0; i < 3 * each; i++) {
		snprintf(ticket, sizeof(ticket), "%s.%016x.x", daemons[i % 3], i / 3 + 1);
		assert_int_equal(wait_for_it(ticket, WAIT_MS), LOCK_ACQUIRE_HELD);
	}
}

SUITE(.open = lock_waits_open, .close = script_stage_close, .after = script_stage_empty);

/* While the lock is held, no waiter is called that could be found to be dead. */
TEST(a_ticket_that_no_request_can_have_does_not_count)
{
	is_held(3600000);
	wait_for_it(D1, WAIT_MS);
	later(40000);
	wait_for_it(A1, WAIT_MS);
	lock_get(&r, "a");
	assert_int_equal(item_int(&r, LOCK_GET_WAITER_COUNT), 2);
	later(25000);
	lock_get(&r, "a");
	assert_int_equal(item_int(&r, LOCK_GET_WAITER_COUNT), 1);
}

/*
 * However many wait, a release notifies the first waiter, and two of other daemons in case the
 * first is dead, or two are.
 */
TEST(a_release_notifies_one_waiter_and_one_guard)
{
	for (int way = 0; way < 2; way++) {
		script_stage_empty(NULL);
		is_held(30000);
		line_subscribe(&r, LOCK);
		join_many(way ? 100 : 1);
		assert_published(""); /* each waiter learned from its reply when to look */
		lock_release(&r, "a", TOKEN_1);
		assert_published(way ? "A1 0, C64 1000, B64 2000" : "A1 0, C1 1000, B1 2000");
		assert_string_equal(line_offered_to(&r, LOCK), A1);
	}
	line_subscribe(&r, NULL);
}

TEST(the_guard_takes_what_a_dead_daemon_was_offered)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	wait_for_it(C1, WAIT_MS);
	line_subscribe(&r, LOCK);
	lock_release(&r, "a", TOKEN_1);
	assert_published("A1 0, C1 1000");
	later(OFFER_MS - 1);
	assert_int_equal(wait_for_it(C1, WAIT_MS), LOCK_ACQUIRE_HELD); /* not before the offer lapsed */
	assert_line(A1 " " A2 " " C1, A1);
	later(1);
	assert_int_equal(wait_for_it(C1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_published("A!");
	assert_line("", "");
	line_subscribe(&r, NULL);
}

/* A guard that is not next offers the lock to the next waiter, and guards again. */
TEST(the_guard_offers_to_the_one_before_it)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(C1, WAIT_MS);
	line_subscribe(&r, LOCK);
	lock_release(&r, "a", TOKEN_1);
	assert_published("A1 0, C1 1000, B1 2000");
	later(OFFER_MS);
	assert_int_equal(wait_for_it(C1, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), item_int(&r, REPLY_NOW_MS) + OFFER_MS);
	assert_published("A!, B1 0");
	assert_line(B1 " " C1, B1);
	assert_string_equal(line_watchers(&r, LOCK), B1 " " C1);
	later(OFFER_MS);
	assert_int_equal(wait_for_it(C1, WAIT_MS), LOCK_ACQUIRE_TAKEN); /* B is dead, too */
	assert_published("B!");
	line_subscribe(&r, NULL);
}

/* When the lock expires the first waiter looks, and a second later another daemon would. */
TEST(the_end_of_a_lock_is_looked_at_twice)
{
	for (int way = 0; way < 2; way++) {
		script_stage_empty(NULL);
		is_held(30000);
		wait_for_it(A1, WAIT_MS);
		wait_for_it(A2, WAIT_MS);
		wait_for_it(B1, WAIT_MS);
		assert_string_equal(line_watchers(&r, LOCK), A1 " " B1);
		later(30001);
		if (way == 0) {
			assert_int_equal(wait_for_it(A1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
			continue;
		}
		later(OFFER_MS);
		assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_TAKEN); /* A did not look, so it is dead */
		assert_line("", "");
	}
}

/*
 * A guard is chosen from the end of the queue. If all waiters there are of the daemon with the
 * offer, the first one of another daemon guards.
 */
TEST(the_first_guards_when_the_last_cannot)
{
	char ticket[64];

	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	for (int i = 2; i < 60; i++) {
		snprintf(ticket, sizeof(ticket), DAEMON_A ".%016x.x", i);
		wait_for_it(ticket, WAIT_MS);
	}
	line_subscribe(&r, LOCK);
	lock_release(&r, "a", TOKEN_1);
	assert_published("A1 0, B1 1000");
	line_subscribe(&r, NULL);
}

/* D1's daemon died, or is just subscribing again: its offer is brief. */
TEST(a_daemon_that_receives_nothing_has_a_brief_offer)
{
	is_held(30000);
	wait_for_it(D1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(D2, WAIT_MS);
	wait_for_it(C1, WAIT_MS);
	assert_line(D1 " " B1 " " D2 " " C1, "");
	line_subscribe(&r, LOCK);
	lock_release(&r, "a", TOKEN_1);
	assert_published("C1 200, B1 1200");
	assert_line(D1 " " B1 " " D2 " " C1, D1);
	later(UNHEARD_MS);
	assert_int_equal(wait_for_it(C1, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_published("B1 0");
	assert_line(B1 " " C1, B1);
	line_subscribe(&r, NULL);
}

/* A daemon that receives nothing does not stay the watcher of the lock's end. */
TEST(a_daemon_that_receives_nothing_does_not_look)
{
	is_held(30000);
	wait_for_it(D1, WAIT_MS);
	wait_for_it(D2, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(C1, WAIT_MS);
	line_subscribe(&r, LOCK);
	lock_extend(&r, "a", TOKEN_1, 5000);
	assert_published("C1 5001, B1 6001");
	assert_line(D1 " " D2 " " B1 " " C1, "");
	line_subscribe(&r, NULL);
}

TEST(only_daemons_that_receive_nothing_wait)
{
	is_held(30000);
	wait_for_it(D1, WAIT_MS);
	wait_for_it(D2, WAIT_MS);
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
	later(UNHEARD_MS);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_TAKEN);
	assert_int_equal(redis_exists(&r, LOCK ":waiters"), 0);
}

TEST(one_that_was_dropped_keeps_its_place)
{
	is_held(30000);
	int64_t joined_us[2];
	joined_us[0] = *script_clock_us;
	wait_for_it(A1, WAIT_MS);
	later(10);
	wait_for_it(B1, WAIT_MS);
	later(10);
	joined_us[1] = *script_clock_us;
	wait_for_it(A2, WAIT_MS);
	later(10);
	wait_for_it(C1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	later(OFFER_MS);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
	assert_line(B1 " " C1, B1);
	assert_int_equal(join_again(A2, joined_us[1]), LOCK_ACQUIRE_HELD);
	assert_int_equal(join_again(A1, joined_us[0]), LOCK_ACQUIRE_HELD);
	assert_line(A1 " " B1 " " A2 " " C1, B1); /* A1 missed its turn: the offer is B1's */
	later(10);
	assert_int_equal(join_again(A2, joined_us[1]), LOCK_ACQUIRE_HELD); /* another attempt changes nothing */
	assert_line(A1 " " B1 " " A2 " " C1, B1);
	assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	lock_release(&r, "a", TOKEN_2);
	assert_line(A1 " " A2 " " C1, A1);
}

/*
 * A dropped waiter joins again before any other call notices that the lock is free: it is its turn.
 */
TEST(one_that_was_dropped_has_its_turn)
{
	for (int way = 0; way < 2; way++) {
		script_stage_empty(NULL);
		int64_t joined_us = *script_clock_us;
		is_held(30000);
		later(10);
		wait_for_it(B1, WAIT_MS);
		wait_for_it(B2, WAIT_MS);
		if (way) { /* the offer was made, and has lapsed */
			lock_release(&r, "a", TOKEN_1);
			later(OFFER_MS);
			assert_int_equal(join_again(A1, joined_us), LOCK_ACQUIRE_TAKEN);
			assert_line("", "");
		} else {
			server_command(&r, "PEXPIRE " LOCK " 0");
			assert_int_equal(join_again(A1, joined_us), LOCK_ACQUIRE_TAKEN);
			assert_line(B1 " " B2, "");
		}
	}
}

TEST(a_late_watcher_counts_as_dead)
{
	is_held(5000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(C1, WAIT_MS);
	assert_string_equal(line_watchers(&r, LOCK), A1 " " B1);
	line_subscribe(&r, LOCK);
	lock_extend(&r, "a", TOKEN_1, 60000);
	assert_published("");
	later(5001 + OFFER_MS - 1);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
	assert_published("C1 55001"); /* A1 is late, so C1 looks a second after B1 */
	assert_line(A1 " " A2 " " B1 " " C1, "");
	later(1);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
	assert_published("A!, C1 200"); /* another daemon may have vanished with A */
	assert_line(B1 " " C1, "");
	assert_string_equal(line_watchers(&r, LOCK), B1 " " C1);

	line_watch_lapse(&r, LOCK); /* both watchers */
	wait_for_it(A1, WAIT_MS);
	assert_published("B!, C!");
	assert_line(A1, "");
	assert_string_equal(line_watchers(&r, LOCK), A1);
	line_subscribe(&r, NULL);
}

/* A call of any waiter proves that its daemon lives, however late the daemon's watcher is. */
TEST(a_late_watcher_of_a_daemon_that_asks_is_alive)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	line_watch_lapse(&r, LOCK);
	line_subscribe(&r, LOCK);
	assert_int_equal(wait_for_it(A2, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_published("A1 30001");
	assert_line(A1 " " A2, "");
	assert_string_equal(line_watchers(&r, LOCK), A1);
	line_subscribe(&r, NULL);
}

TEST(nothing_is_published_without_a_waiter)
{
	line_subscribe(&r, LOCK);
	for (int way = 0; way < 2; way++) {
		const char *mode = way ? "shared" : "exclusive";
		lock_acquire(&r, (struct lock_try){ .token = TOKEN_1, .mode = mode });
		lock_acquire(&r, (struct lock_try){ .presented = TOKEN_1, .token = TOKEN_4, .mode = mode });
		pass_by();
		assert_int_equal(wait_for_it(A1, 0), LOCK_ACQUIRE_HELD);
		lock_extend(&r, "a", TOKEN_1, 5000);
		lock_release(&r, "a", TOKEN_4);
		lock_leave(&r, "a", B1, TOKEN_1);
		lock_force(&r, "a");
		assert_int_equal(wait_for_it(A1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
		lock_release(&r, "a", TOKEN_2);
		assert_int_equal(redis_exists(&r, LOCK ":waiters"), 0);
	}
	assert_published("");
	line_subscribe(&r, NULL);
}

/* In the usual case of short holds, the guard already looks early enough. */
TEST(a_hand_over_publishes_the_offer_alone)
{
	static const char *const order[] = { A1, A2, A3 };
	static const char *const offers[] = { "A1 0, C1 1000, B1 2000", "A2 0", "A3 0" };

	is_held(30000);
	for (int i = 0; i < 3; i++)
		wait_for_it(order[i], WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(C1, WAIT_MS);
	line_subscribe(&r, LOCK);
	lock_release(&r, "a", TOKEN_1);
	for (int i = 0; i < 3; i++) {
		assert_published(offers[i]);
		assert_int_equal(wait_for_it(order[i], WAIT_MS), LOCK_ACQUIRE_TAKEN);
		assert_published("");
		later(1);
		lock_release(&r, "a", TOKEN_2);
	}
	assert_published("B1 0");
	line_subscribe(&r, NULL);
}

/* An instance may begin with the letter of a mark. */
TEST(a_daemon_with_the_letter_of_a_mark_is_dropped_whole)
{
	is_held(30000);
	wait_for_it(C1, WAIT_MS);
	wait_for_it(C2, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	line_subscribe(&r, LOCK);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
	assert_published("C!, B1 0");
	assert_line(B1, B1);
	line_subscribe(&r, NULL);

	script_stage_empty(NULL);
	is_held(30000);
	wait_for_it(CD1, WAIT_MS); /* this daemon receives nothing */
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	later(UNHEARD_MS);
	assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_line("", "");
}
