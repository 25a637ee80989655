/*
 * The wait queue of a lock on a real Redis: which waiter is next, which are notified, which are
 * dropped, and that no call overtakes.
 */
#include "lock_waits.h"
#include "script_stage.h"
#include "test.h"

/* ---- First come, first served ---- */

SUITE(.open = lock_waits_open, .close = script_stage_close, .after = script_stage_empty);

TEST(the_list_names_the_waiter_with_the_offer)
{
	static const char *const parts[] = { "", ":waiters", NULL };
	const size_t first = LOCK_WAITER_LIST_WAITERS;

	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	run(&r, &lock_waiter_list_script, lock_keys("a", parts), ARGS("0", "2"));
	assert_string_equal(item_text(&r, LOCK_WAITER_LIST_OFFERED_TO), "");
	assert_int_equal(r.reply->elements, first + 3 * LOCK_WAITER_ITEMS); /* two, and that more exist */
	assert_string_equal(item_text(&r, first + LOCK_WAITER_TICKET), A1);
	int64_t arrived_us = item_int(&r, first + LOCK_WAITER_ARRIVED_AT_US);
	assert_in_range(item_int(&r, REPLY_NOW_MS) - arrived_us / 1000, 0, 5000);
	lock_release(&r, "a", TOKEN_1);
	char after[32];
	snprintf(after, sizeof(after), "%lld", (long long)arrived_us);
	unchanged(&r, run(&r, &lock_waiter_list_script, lock_keys("a", parts), ARGS("0", "2")));
	run(&r, &lock_waiter_list_script, lock_keys("a", parts), ARGS(after, "2"));
	assert_string_equal(item_text(&r, LOCK_WAITER_LIST_OFFERED_TO), A1);
	assert_int_equal(r.reply->elements, first + 2 * LOCK_WAITER_ITEMS);
	assert_string_equal(item_text(&r, first + LOCK_WAITER_TICKET), B1);
	assert_string_equal(item_text(&r, first + LOCK_WAITER_ITEMS + LOCK_WAITER_TICKET), A2);
	line_lapse(&r, LOCK);
	run(&r, &lock_waiter_list_script, lock_keys("a", parts), ARGS("0", "2"));
	assert_string_equal(item_text(&r, LOCK_WAITER_LIST_OFFERED_TO), "");
}

TEST(waiters_queue_in_order)
{
	is_held(30000);
	int64_t expires_at = item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS);
	assert_int_equal(wait_for_it(A1, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), expires_at + 1);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_WAITER_COUNT), 1);
	assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), expires_at + 1 + OFFER_MS); /* if A is dead */
	assert_int_equal(wait_for_it(A2, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), -1); /* this waiter will be notified */
	assert_int_equal(item_int(&r, LOCK_REFUSAL_WAITER_COUNT), 3);
	assert_line(A1 " " B1 " " A2, "");
	assert_int_equal(wait_for_it(A1, WAIT_MS), LOCK_ACQUIRE_HELD); /* another attempt keeps its place */
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), expires_at + 1);
	assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), expires_at + 1 + OFFER_MS);
	assert_line(A1 " " B1 " " A2, "");
	assert_in_range(redis_pttl_ms(&r, LOCK ":waiters"), 60001, 62000);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), expires_at);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_WAITER_COUNT), 3);
	assert_line(A1 " " B1 " " A2, "");
	assert_int_equal(lock_get(&r, "a"), 0);
	assert_int_equal(item_int(&r, LOCK_GET_WAITER_COUNT), 3);
}

TEST(a_release_offers_to_the_first)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	line_subscribe(&r, LOCK);
	int64_t before_ms = server_now_ms(&r);
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	assert_published("A1 0, B1 1000");
	assert_line(A1 " " B1, A1);
	assert_in_range(line_offered_until(&r, LOCK), before_ms + OFFER_MS, server_now_ms(&r) + OFFER_MS);

	/* The lock is free, and reserved for A1. */
	int64_t until = line_offered_until(&r, LOCK);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
	assert_string_equal(item_text(&r, LOCK_REFUSAL_MODE), "");
	assert_int_equal(item_int(&r, LOCK_REFUSAL_EXPIRES_AT_MS), until);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), until);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_WAITER_COUNT), 2);
	assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), until);
	assert_int_equal(lock_acquire(&r, (struct lock_try){ .token = TOKEN_3, .mode = "shared" }), LOCK_ACQUIRE_HELD);
	assert_published(""); /* A1 was notified only once */

	assert_int_equal(wait_for_it(A1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_published(""); /* B1 looks at the time it was given, and then learns when the lock ends */
	assert_line(B1, "");
	assert_int_equal(lock_release(&r, "a", TOKEN_2), 1);
	assert_published("B1 0");
	assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_published(""); /* no other client waits */
	assert_line("", "");
	line_subscribe(&r, NULL);
}

TEST(each_way_to_get_free_offers)
{
	for (int way = 0; way < 5; way++) {
		script_stage_empty(NULL);
		is_held(30000);
		wait_for_it(A1, WAIT_MS);
		wait_for_it(B1, WAIT_MS);
		line_subscribe(&r, LOCK);
		if (way == 0) {
			assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
		} else if (way == 1) {
			assert_int_equal(lock_force(&r, "a"), 1);
		} else if (way == 2) {
			assert_int_equal(lock_leave(&r, "a", "", TOKEN_1), 1);
		} else if (way == 3) { /* expired: the next call notices it, even if it does not wait */
			server_command(&r, "PEXPIRE " LOCK " 0");
			assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
		} else {
			server_command(&r, "PEXPIRE " LOCK " 0");
			assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_HELD);
			int64_t look_at = item_int(&r, LOCK_REFUSAL_NEXT_AT_MS);
			assert_int_equal(look_at, line_offered_until(&r, LOCK)); /* B1 is the guard */
		}
		assert_published(way < 4 ? "A1 0, B1 1000" : "A1 0");
		assert_line(A1 " " B1, A1);
	}
	line_subscribe(&r, NULL);
}

/* A holder with several tokens still holds the lock after releasing one of them. */
TEST(a_release_that_frees_nothing_offers_nothing)
{
	is_held(30000);
	lock_acquire(&r, (struct lock_try){ .presented = TOKEN_1, .token = TOKEN_4 });
	wait_for_it(A1, WAIT_MS);
	line_subscribe(&r, LOCK);
	assert_int_equal(lock_release(&r, "a", TOKEN_4), 1);
	assert_int_equal(lock_release(&r, "a", TOKEN_4), LOCK_RELEASE_RELEASED_BEFORE);
	assert_published("");
	assert_line(A1, "");
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	assert_published("A1 0");
	assert_int_equal(lock_release(&r, "a", TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE); /* despite the offer */
	assert_published("");
	line_subscribe(&r, NULL);
}

TEST(the_holder_enters_again_while_others_wait)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	const struct lock_try again = { .presented = TOKEN_1, .token = TOKEN_4 };
	assert_int_equal(lock_acquire(&r, again), LOCK_ACQUIRE_ENTERED);
	assert_line(A1, "");
}

/* ---- Leaving the queue ---- */

TEST(the_last_try_leaves_the_line)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(C1, WAIT_MS);
	assert_int_equal(wait_for_it(B1, 0), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_WAITER_COUNT), 2);
	assert_line(A1 " " C1, "");
	assert_int_equal(wait_for_it(B1, 0), LOCK_ACQUIRE_HELD); /* a last attempt does not join the queue */
	assert_line(A1 " " C1, "");
	assert_int_equal(wait_for_it(A1, 0), LOCK_ACQUIRE_HELD);
	lock_release(&r, "a", TOKEN_1);
	assert_line(C1, C1);
	assert_int_equal(wait_for_it(C1, 0), LOCK_ACQUIRE_TAKEN);
	assert_line("", "");
}

TEST(a_waiter_that_leaves_frees_its_place)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(C1, WAIT_MS);
	line_subscribe(&r, LOCK);
	lock_leave(&r, "a", B1, TOKEN_4); /* a waiter in the middle, while the lock is held */
	assert_line(A1 " " C1, "");
	assert_published("C1 31001"); /* B1 would have looked at this time, in case A is dead */
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	lock_leave(&r, "a", A1, TOKEN_4); /* the waiter with the offer */
	assert_published("A1 0, C1 1000, C1 0");
	assert_line(C1, C1);
	unchanged(&r, lock_leave(&r, "a", A1, TOKEN_4));
	lock_leave(&r, "a", C1, TOKEN_4);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_TAKEN);
	line_subscribe(&r, NULL);
}

/*
 * The client left during its attempt: the acquired lock is released, and offered to the next
 * waiter.
 */
TEST(what_was_acquired_for_a_client_that_left_is_released)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	assert_int_equal(wait_for_it(A1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	int64_t fence = item_int(&r, LOCK_ACQUIRE_FENCES);
	assert_line(B1, "");
	line_subscribe(&r, LOCK);
	lock_leave(&r, "a", A1, TOKEN_2);
	assert_published("B1 0");
	assert_int_equal(lock_get(&r, "a"), -1);
	assert_int_equal(item_int(&r, LOCK_GET_FENCE), fence);
	assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	unchanged(&r, lock_leave(&r, "a", A1, TOKEN_1)); /* the token is not the holder's */
	lock_leave(&r, "a", "", TOKEN_2);
	assert_int_equal(redis_exists(&r, LOCK), 0);
	line_subscribe(&r, NULL);
}

/* ---- Waiters whose daemon is gone ---- */

TEST(an_offer_that_expires_drops_the_daemon)
{
	for (int caller = 0; caller < 3; caller++) {
		script_stage_empty(NULL);
		is_held(30000);
		wait_for_it(A1, WAIT_MS);
		wait_for_it(A2, WAIT_MS);
		wait_for_it(B1, WAIT_MS);
		wait_for_it(A3, WAIT_MS);
		wait_for_it(B2, WAIT_MS);
		lock_release(&r, "a", TOKEN_1);
		line_lapse(&r, LOCK);
		if (caller == 0) {
			assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
			assert_int_equal(item_int(&r, LOCK_REFUSAL_WAITER_COUNT), 2);
		} else if (caller == 1) {
			assert_int_equal(wait_for_it(B2, WAIT_MS), LOCK_ACQUIRE_HELD);
		} else {
			lock_leave(&r, "a", C1, TOKEN_4);
		}
		assert_line(B1 " " B2, B1);
	}
}

TEST(the_first_of_another_daemon_takes_what_a_dead_one_left)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_line("", "");
}

TEST(without_live_waiters_any_call_acquires)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
	line_lapse(&r, LOCK);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_TAKEN);
	assert_line("", "");
}

TEST(a_daemon_that_comes_late_queues_at_the_end)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_int_equal(wait_for_it(A1, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(wait_for_it(C1, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(wait_for_it(A2, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_line(A1 " " C1 " " A2, "");
}

/*
 * No call came after the offer lapsed. It is still A1's turn, and no waiter of its daemon is
 * dropped.
 */
TEST(a_late_first_waiter_is_served)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	assert_int_equal(wait_for_it(A1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_line(B1 " " A2, "");
}

/* A3 proves that its daemon lives, so only the waiter that missed its offer is dropped. */
TEST(a_waiter_of_the_same_daemon_drops_only_the_late_one)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(A3, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	assert_int_equal(wait_for_it(A3, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_line(A2 " " B1 " " A3, A2);
	assert_int_equal(wait_for_it(A2, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_line(B1 " " A3, "");
}

/* A dropped daemon may still live. It is notified, so that its waiters join again. */
TEST(a_dropped_daemon_is_notified)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	line_subscribe(&r, LOCK);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
	assert_published("A!, B1 0");
	line_subscribe(&r, NULL);
}

TEST(a_thousand_dead_are_dropped_at_once)
{
	enum { DEAD = 2500 };
	char ticket[64];

	is_held(30000);
	for (int i = 0; i < DEAD; i++) {
		snprintf(ticket, sizeof(ticket), "%s.%016x.x", DAEMON_A, i);
		assert_int_equal(wait_for_it(ticket, WAIT_MS), LOCK_ACQUIRE_HELD);
	}
	wait_for_it(B1, WAIT_MS);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_WAITER_COUNT), DEAD + 1);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	assert_int_equal(pass_by(), LOCK_ACQUIRE_HELD);
	assert_line(B1, B1);
}

/* ---- Ends earlier than announced ---- */

TEST(waiters_are_notified_of_an_earlier_end)
{
	is_held(30000);
	line_subscribe(&r, LOCK);
	lock_extend(&r, "a", TOKEN_1, 20000); /* there are no waiters */
	assert_published("");
	wait_for_it(A1, WAIT_MS);
	lock_extend(&r, "a", TOKEN_1, 40000);
	assert_published("");
	lock_extend(&r, "a", TOKEN_1, 5000);
	assert_published("A1 5001");
	const struct lock_try again = { .presented = TOKEN_1, .token = TOKEN_4, .ttl_ms = 50000 };
	assert_int_equal(lock_acquire(&r, again), LOCK_ACQUIRE_ENTERED);
	assert_published("");
	wait_for_it(B1, WAIT_MS);
	wait_for_it(B2, WAIT_MS);
	const struct lock_try shorter = { .presented = TOKEN_1, .token = TOKEN_3, .ttl_ms = 3000 };
	assert_int_equal(lock_acquire(&r, shorter), LOCK_ACQUIRE_ENTERED);
	assert_published("A1 3001, B2 4001"); /* the first waiter and one of another daemon, but not B1 as well */
	line_subscribe(&r, NULL);
}

/* B1 must look when the short lease ends, before the second of the offer has passed. */
TEST(waiters_are_notified_of_a_very_short_time)
{
	const struct lock_try brief = { .token = TOKEN_2, .ticket = A1, .wait_ms = WAIT_MS, .ttl_ms = 50 };

	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_subscribe(&r, LOCK);
	assert_int_equal(lock_acquire(&r, brief), LOCK_ACQUIRE_TAKEN); /* there are no other waiters */
	assert_published("");
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_2);
	assert_published("A1 0, B1 1000");
	assert_int_equal(lock_acquire(&r, brief), LOCK_ACQUIRE_TAKEN);
	assert_published("B1 51");
	later(51);
	assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	line_subscribe(&r, NULL);
}

/* ---- Other cases ---- */

/* As if Redis's clock had been set back: a later waiter is still behind. */
TEST(places_follow_arrival_with_any_clock)
{
	is_held(30000);
	wait_for_it(B1, WAIT_MS);
	server_command(&r, "ZADD " LOCK ":waiters 4102444800000000 " B1);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	assert_line(B1 " " A1 " " A2, "");
}

TEST(a_full_redis_accepts_no_waiter_and_lets_all_leave)
{
	const struct lock_try more = { .token = TOKEN_3, .ticket = C1, .wait_ms = WAIT_MS };

	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	server_command(&r, "CONFIG SET maxmemory 1");
	unchanged(&r, run_fails(&r, &lock_acquire_script, lock_try_keys(&more), lock_try_args(&more), "OOM"));
	lock_release(&r, "a", TOKEN_1);
	assert_line(A1 " " B1, A1);
	lock_leave(&r, "a", A1, TOKEN_4);
	assert_line(B1, B1);
}

/*
 * A user of Redis without access to the channels: nothing is announced, and everything else is
 * done.
 */
TEST(what_cannot_be_announced_is_still_done)
{
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	server_command(&r, "ACL SETUSER default resetchannels");
	assert_int_equal(lock_extend(&r, "a", TOKEN_1, 5000), 1);
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	assert_line(A1 " " B1, A1);
	line_lapse(&r, LOCK);
	assert_int_equal(wait_for_it(B1, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_line("", "");
	server_command(&r, "ACL SETUSER default allchannels");
	line_attend(&r, LOCK); /* Redis closed the listening connections */
}
