/*
 * The line of a lock on a real Redis: who is next, who is told, who is dropped, and that nobody
 * overtakes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "line_look.h"
#include "lock_calls.h"
#include "script_stage.h"

#define LOCK "p:lock:{a}"
#define A1 DAEMON_A ".0000000000000001.x"
#define A2 DAEMON_A ".0000000000000002.x"
#define A3 DAEMON_A ".0000000000000003.x"
#define B1 DAEMON_B ".0000000000000001.x"
#define B2 DAEMON_B ".0000000000000002.x"
#define C1 DAEMON_C ".0000000000000001.x"

enum { OFFER_MS = 1000, WAIT_MS = 20000 };

/* Somebody holds the lock. */
static void is_held(int64_t ttl_ms)
{
	assert_int_equal(lock_acquire(&r, (struct lock_try){ .token = TOKEN_1, .ttl_ms = ttl_ms }), TAKEN);
}

/* A try of one who may wait; 0 for his last. */
static int64_t wait_for_it(const char *ticket, int64_t wait_ms)
{
	return lock_acquire(&r, (struct lock_try){ .token = TOKEN_2, .ticket = ticket, .wait_ms = wait_ms });
}

/* One who does not wait. */
static int64_t pass_by(void)
{
	return lock_acquire(&r, (struct lock_try){ .token = TOKEN_3 });
}

static void assert_line(const char *tickets, const char *offered_to)
{
	assert_string_equal(line_tickets(&r, LOCK), tickets);
	assert_string_equal(line_offered_to(&r, LOCK), offered_to);
}

/* ---- First come, first served ---- */

static void the_list_names_the_waiter_with_the_offer(void **state)
{
	static const char *const parts[] = { "", ":waiters", ":offer", NULL };

	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	run(&r, &lock_waiter_list_script, lock_keys("a", parts), ARGS("0", "2"));
	assert_string_equal(item_text(&r, 2), "");
	assert_int_equal(r.reply->elements, 3 + 2 * 3); /* two, and that there are more */
	assert_string_equal(item_text(&r, 3), A1);
	int64_t arrived_us = item_int(&r, 4);
	assert_in_range(item_int(&r, 1) * 1000 - arrived_us, 0, 5000000);
	lock_release(&r, "a", TOKEN_1);
	char after[32];
	snprintf(after, sizeof(after), "%lld", (long long)arrived_us);
	unchanged(&r, run(&r, &lock_waiter_list_script, lock_keys("a", parts), ARGS("0", "2")));
	run(&r, &lock_waiter_list_script, lock_keys("a", parts), ARGS(after, "2"));
	assert_string_equal(item_text(&r, 2), A1);
	assert_int_equal(r.reply->elements, 3 + 2 * 2);
	assert_string_equal(item_text(&r, 3), B1);
	assert_string_equal(item_text(&r, 5), A2);
	line_lapse(&r, LOCK);
	run(&r, &lock_waiter_list_script, lock_keys("a", parts), ARGS("0", "2"));
	assert_string_equal(item_text(&r, 2), "");
}

static void who_waits_stands_in_line(void **state)
{
	(void)state;
	is_held(30000);
	int64_t expires_at = item_int(&r, TAKEN_EXPIRES_AT);
	assert_int_equal(wait_for_it(A1, WAIT_MS), HELD);
	assert_int_equal(item_int(&r, HELD_NEXT_AT), expires_at);
	assert_int_equal(item_int(&r, HELD_WAITERS), 1);
	assert_int_equal(wait_for_it(B1, WAIT_MS), HELD);
	assert_int_equal(wait_for_it(A2, WAIT_MS), HELD);
	assert_int_equal(item_int(&r, HELD_WAITERS), 3);
	assert_line(A1 " " B1 " " A2, "");
	assert_int_equal(wait_for_it(A1, WAIT_MS), HELD); /* who tries again keeps his place */
	assert_int_equal(wait_for_it(B1, WAIT_MS), HELD);
	assert_line(A1 " " B1 " " A2, "");
	assert_in_range(redis_pttl_ms(&r, LOCK ":waiters"), 60001, 62000);
	assert_int_equal(pass_by(), HELD);
	assert_int_equal(item_int(&r, HELD_WAITERS), 3);
	assert_line(A1 " " B1 " " A2, "");
	assert_int_equal(lock_get(&r, "a"), 0);
	assert_int_equal(item_int(&r, LOOK_WAITERS), 3);
}

static void a_release_offers_to_the_first(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	line_hear(&r, LOCK);
	int64_t before_ms = redis_now_ms(&r);
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	assert_string_equal(line_heard(&r), "@" A1 " 1000");
	assert_line(A1 " " B1, A1);
	assert_in_range(line_offered_until(&r, LOCK), before_ms + OFFER_MS, redis_now_ms(&r) + OFFER_MS);

	/* It is free, and nobody else's. */
	int64_t until = line_offered_until(&r, LOCK);
	assert_int_equal(pass_by(), HELD);
	assert_string_equal(item_text(&r, HELD_MODE), "");
	assert_int_equal(item_int(&r, HELD_HOLDERS + 2), until);
	assert_int_equal(item_int(&r, HELD_NEXT_AT), until);
	assert_int_equal(item_int(&r, HELD_WAITERS), 2);
	assert_int_equal(wait_for_it(B1, WAIT_MS), HELD);
	assert_int_equal(item_int(&r, HELD_NEXT_AT), until);
	assert_int_equal(lock_acquire(&r, (struct lock_try){ .token = TOKEN_3, .mode = "shared" }), HELD);
	assert_string_equal(line_heard(&r), ""); /* he was told, once */

	assert_int_equal(wait_for_it(A1, WAIT_MS), TAKEN);
	assert_line(B1, "");
	assert_int_equal(lock_release(&r, "a", TOKEN_2), 1);
	assert_string_equal(line_heard(&r), "@" B1 " 1000");
	assert_int_equal(wait_for_it(B1, WAIT_MS), TAKEN);
	assert_line("", "");
	line_hear(&r, NULL);
}

/* Whatever frees it. */
static void each_way_to_get_free_offers(void **state)
{
	(void)state;
	for (int way = 0; way < 5; way++) {
		script_stage_empty(NULL);
		is_held(30000);
		wait_for_it(A1, WAIT_MS);
		wait_for_it(B1, WAIT_MS);
		line_hear(&r, LOCK);
		if (way == 0) {
			assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
		} else if (way == 1) {
			assert_int_equal(lock_force(&r, "a"), 1);
		} else if (way == 2) {
			assert_int_equal(lock_leave(&r, "a", "", TOKEN_1), 1);
		} else if (way == 3) { /* expired: whoever looks first, and he need not wait himself */
			server_command(&r, "PEXPIRE " LOCK " 0");
			assert_int_equal(pass_by(), HELD);
		} else {
			server_command(&r, "PEXPIRE " LOCK " 0");
			assert_int_equal(wait_for_it(B1, WAIT_MS), HELD);
		}
		assert_string_equal(line_heard(&r), "@" A1 " 1000");
		assert_line(A1 " " B1, A1);
	}
	line_hear(&r, NULL);
}

/* An entry beside the first is not the last one, and the lock not free. */
static void a_release_that_frees_nothing_offers_nothing(void **state)
{
	(void)state;
	is_held(30000);
	lock_acquire(&r, (struct lock_try){ .presented = TOKEN_1, .token = TOKEN_4 });
	wait_for_it(A1, WAIT_MS);
	line_hear(&r, LOCK);
	assert_int_equal(lock_release(&r, "a", TOKEN_4), 1);
	assert_int_equal(lock_release(&r, "a", TOKEN_4), NOT_HOLDER);
	assert_string_equal(line_heard(&r), "");
	assert_line(A1, "");
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	assert_string_equal(line_heard(&r), "@" A1 " 1000");
	line_hear(&r, NULL);
}

static void the_holder_enters_again_while_others_wait(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	const struct lock_try again = { .presented = TOKEN_1, .token = TOKEN_4 };
	assert_int_equal(lock_acquire(&r, again), ENTERED);
	assert_line(A1, "");
}

/* ---- Out of the line ---- */

static void the_last_try_leaves_the_line(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(C1, WAIT_MS);
	assert_int_equal(wait_for_it(B1, 0), HELD);
	assert_int_equal(item_int(&r, HELD_WAITERS), 2);
	assert_line(A1 " " C1, "");
	assert_int_equal(wait_for_it(B1, 0), HELD); /* who is not there does not come back */
	assert_line(A1 " " C1, "");
	assert_int_equal(wait_for_it(A1, 0), HELD);
	lock_release(&r, "a", TOKEN_1);
	assert_line(C1, C1);
	assert_int_equal(wait_for_it(C1, 0), TAKEN);
	assert_line("", "");
}

static void who_leaves_makes_room_for_the_next(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(C1, WAIT_MS);
	line_hear(&r, LOCK);
	lock_leave(&r, "a", B1, TOKEN_4); /* in the middle, of a lock that is held */
	assert_line(A1 " " C1, "");
	assert_string_equal(line_heard(&r), "");
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	lock_leave(&r, "a", A1, TOKEN_4); /* to whom it was offered */
	assert_string_equal(line_heard(&r), "@" A1 " 1000, @" C1 " 1000");
	assert_line(C1, C1);
	unchanged(&r, lock_leave(&r, "a", A1, TOKEN_4));
	lock_leave(&r, "a", C1, TOKEN_4);
	assert_int_equal(pass_by(), TAKEN);
	line_hear(&r, NULL);
}

/* The client left while its try was under way: what that won goes back, and to the next in line. */
static void what_was_won_for_who_left_goes_back(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	assert_int_equal(wait_for_it(A1, WAIT_MS), TAKEN);
	int64_t fence = item_int(&r, TAKEN_FENCES);
	assert_line(B1, "");
	line_hear(&r, LOCK);
	lock_leave(&r, "a", A1, TOKEN_2);
	assert_string_equal(line_heard(&r), "@" B1 " 1000");
	assert_int_equal(lock_get(&r, "a"), -1);
	assert_int_equal(item_int(&r, LOOK_FENCE), fence);
	assert_int_equal(wait_for_it(B1, WAIT_MS), TAKEN);
	unchanged(&r, lock_leave(&r, "a", A1, TOKEN_1)); /* not of somebody else's token */
	lock_leave(&r, "a", "", TOKEN_2);
	assert_int_equal(redis_exists(&r, LOCK), 0);
	line_hear(&r, NULL);
}

/* ---- Those whose daemon is gone ---- */

static void an_offer_that_nobody_takes_drops_the_daemon(void **state)
{
	(void)state;
	for (int who = 0; who < 3; who++) {
		script_stage_empty(NULL);
		is_held(30000);
		wait_for_it(A1, WAIT_MS);
		wait_for_it(A2, WAIT_MS);
		wait_for_it(B1, WAIT_MS);
		wait_for_it(A3, WAIT_MS);
		wait_for_it(B2, WAIT_MS);
		lock_release(&r, "a", TOKEN_1);
		line_lapse(&r, LOCK);
		if (who == 0) {
			assert_int_equal(pass_by(), HELD);
			assert_int_equal(item_int(&r, HELD_WAITERS), 2);
		} else if (who == 1) {
			assert_int_equal(wait_for_it(B2, WAIT_MS), HELD);
		} else {
			lock_leave(&r, "a", C1, TOKEN_4);
		}
		assert_line(B1 " " B2, B1);
	}
}

static void the_first_of_another_daemon_takes_what_a_dead_one_left(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	assert_int_equal(wait_for_it(B1, WAIT_MS), TAKEN);
	assert_line("", "");
}

static void who_passes_by_takes_what_only_the_dead_waited_for(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	assert_int_equal(pass_by(), HELD);
	line_lapse(&r, LOCK);
	assert_int_equal(pass_by(), TAKEN);
	assert_line("", "");
}

static void a_daemon_that_comes_late_stands_at_the_end(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	assert_int_equal(wait_for_it(B1, WAIT_MS), TAKEN);
	assert_int_equal(wait_for_it(A1, WAIT_MS), HELD);
	assert_int_equal(wait_for_it(C1, WAIT_MS), HELD);
	assert_int_equal(wait_for_it(A2, WAIT_MS), HELD);
	assert_line(A1 " " C1 " " A2, "");
}

/* Nobody looked meanwhile: it is still his turn, and nobody of his daemon is gone. */
static void who_comes_late_but_first_is_served(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	assert_int_equal(wait_for_it(A1, WAIT_MS), TAKEN);
	assert_line(B1 " " A2, "");
}

/* He proves that the daemon lives: only the one who did not come is dropped. */
static void one_of_the_same_daemon_drops_only_who_did_not_come(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	wait_for_it(A3, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	assert_int_equal(wait_for_it(A3, WAIT_MS), HELD);
	assert_line(A2 " " B1 " " A3, A2);
	assert_int_equal(wait_for_it(A2, WAIT_MS), TAKEN);
	assert_line(B1 " " A3, "");
}

/* Those who were dropped may live all the same: their daemon is told, and they come again. */
static void a_daemon_that_is_dropped_is_told(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	line_hear(&r, LOCK);
	assert_int_equal(pass_by(), HELD);
	assert_string_equal(line_heard(&r), "!" DAEMON_A " -1, @" B1 " 1000");
	line_hear(&r, NULL);
}

static void a_thousand_dead_are_dropped_at_once(void **state)
{
	enum { DEAD = 2500 };
	char ticket[64];

	(void)state;
	is_held(30000);
	for (int i = 0; i < DEAD; i++) {
		snprintf(ticket, sizeof(ticket), "%s.%016x.x", DAEMON_A, i);
		assert_int_equal(wait_for_it(ticket, WAIT_MS), HELD);
	}
	wait_for_it(B1, WAIT_MS);
	assert_int_equal(item_int(&r, HELD_WAITERS), DEAD + 1);
	lock_release(&r, "a", TOKEN_1);
	line_lapse(&r, LOCK);
	assert_int_equal(pass_by(), HELD);
	assert_line(B1, B1);
}

/* ---- Sooner than they were told ---- */

static void who_waits_is_told_when_the_end_comes_nearer(void **state)
{
	(void)state;
	is_held(30000);
	line_hear(&r, LOCK);
	lock_extend(&r, "a", TOKEN_1, 20000); /* nobody waits */
	assert_string_equal(line_heard(&r), "");
	wait_for_it(A1, WAIT_MS);
	lock_extend(&r, "a", TOKEN_1, 40000);
	assert_string_equal(line_heard(&r), "");
	lock_extend(&r, "a", TOKEN_1, 5000);
	assert_string_equal(line_heard(&r), "0 5000");
	const struct lock_try again = { .presented = TOKEN_1, .token = TOKEN_4, .ttl_ms = 50000 };
	assert_int_equal(lock_acquire(&r, again), ENTERED);
	assert_string_equal(line_heard(&r), "");
	const struct lock_try shorter = { .presented = TOKEN_1, .token = TOKEN_3, .ttl_ms = 3000 };
	assert_int_equal(lock_acquire(&r, shorter), ENTERED);
	assert_string_equal(line_heard(&r), "0 3000");
	line_hear(&r, NULL);
}

/*
 * Others look after a second whether an offer was taken: a time that ends before that must be told.
 */
static void who_waits_is_told_of_a_very_short_time(void **state)
{
	(void)state;
	const struct lock_try brief = { .token = TOKEN_2, .ticket = A1, .wait_ms = WAIT_MS, .ttl_ms = 50 };

	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	line_hear(&r, LOCK);
	assert_int_equal(lock_acquire(&r, brief), TAKEN); /* nobody else waits */
	assert_string_equal(line_heard(&r), "");
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	lock_release(&r, "a", TOKEN_2);
	assert_string_equal(line_heard(&r), "@" A1 " 1000");
	assert_int_equal(lock_acquire(&r, brief), TAKEN);
	assert_string_equal(line_heard(&r), "0 50");
	line_hear(&r, NULL);
}

/* ---- Odds ---- */

/* As after Redis's clock was set back: who comes later still stands behind. */
static void places_follow_arrival_whatever_the_clock_says(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(B1, WAIT_MS);
	server_command(&r, "ZADD " LOCK ":waiters 4102444800000000 " B1);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(A2, WAIT_MS);
	assert_line(B1 " " A1 " " A2, "");
}

static void a_full_redis_lets_nobody_in_line_and_everybody_out(void **state)
{
	const struct lock_try more = { .token = TOKEN_3, .ticket = C1, .wait_ms = WAIT_MS };

	(void)state;
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

/* A user of Redis without the channels: nobody is told, and all the rest is done. */
static void what_cannot_be_told_is_done_all_the_same(void **state)
{
	(void)state;
	is_held(30000);
	wait_for_it(A1, WAIT_MS);
	wait_for_it(B1, WAIT_MS);
	server_command(&r, "ACL SETUSER default resetchannels");
	assert_int_equal(lock_extend(&r, "a", TOKEN_1, 5000), 1);
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	assert_line(A1 " " B1, A1);
	line_lapse(&r, LOCK);
	assert_int_equal(wait_for_it(B1, WAIT_MS), TAKEN);
	assert_line("", "");
	server_command(&r, "ACL SETUSER default allchannels");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(who_waits_stands_in_line, script_stage_empty),
		cmocka_unit_test_teardown(the_list_names_the_waiter_with_the_offer, script_stage_empty),
		cmocka_unit_test_teardown(a_release_offers_to_the_first, script_stage_empty),
		cmocka_unit_test_teardown(each_way_to_get_free_offers, script_stage_empty),
		cmocka_unit_test_teardown(a_release_that_frees_nothing_offers_nothing, script_stage_empty),
		cmocka_unit_test_teardown(the_holder_enters_again_while_others_wait, script_stage_empty),
		cmocka_unit_test_teardown(the_last_try_leaves_the_line, script_stage_empty),
		cmocka_unit_test_teardown(who_leaves_makes_room_for_the_next, script_stage_empty),
		cmocka_unit_test_teardown(what_was_won_for_who_left_goes_back, script_stage_empty),
		cmocka_unit_test_teardown(an_offer_that_nobody_takes_drops_the_daemon, script_stage_empty),
		cmocka_unit_test_teardown(the_first_of_another_daemon_takes_what_a_dead_one_left, script_stage_empty),
		cmocka_unit_test_teardown(who_passes_by_takes_what_only_the_dead_waited_for, script_stage_empty),
		cmocka_unit_test_teardown(a_daemon_that_comes_late_stands_at_the_end, script_stage_empty),
		cmocka_unit_test_teardown(who_comes_late_but_first_is_served, script_stage_empty),
		cmocka_unit_test_teardown(one_of_the_same_daemon_drops_only_who_did_not_come, script_stage_empty),
		cmocka_unit_test_teardown(a_daemon_that_is_dropped_is_told, script_stage_empty),
		cmocka_unit_test_teardown(a_thousand_dead_are_dropped_at_once, script_stage_empty),
		cmocka_unit_test_teardown(who_waits_is_told_when_the_end_comes_nearer, script_stage_empty),
		cmocka_unit_test_teardown(who_waits_is_told_of_a_very_short_time, script_stage_empty),
		cmocka_unit_test_teardown(places_follow_arrival_whatever_the_clock_says, script_stage_empty),
		cmocka_unit_test_teardown(a_full_redis_lets_nobody_in_line_and_everybody_out, script_stage_empty),
		cmocka_unit_test_teardown(what_cannot_be_told_is_done_all_the_same, script_stage_empty),
	};

	return cmocka_run_group_tests_name("lock line scripts", tests, script_stage_open, script_stage_close);
}
