/*
 * Several locks at once on a real Redis: a client gets all or none, two waiters have the same order
 * in each wait queue, and no circle of waiters arises.
 */
#include "line_look.h"
#include "lock_calls.h"
#include "script_stage.h"
#include "test.h"

#define LOCK(name) "p:lock:{" name "}"
#define A1 DAEMON_A ".0000000000000001.x"
#define A2 DAEMON_A ".0000000000000002.x"
#define B1 DAEMON_B ".0000000000000001.x"
#define B2 DAEMON_B ".0000000000000002.x"
#define C1 DAEMON_C ".0000000000000001.x"

enum { WAIT_MS = 20000, OFFER_MS = 1000 };

static int64_t take(const char *names, const char *token)
{
	return lock_acquire(&r, (struct lock_try){ .names = names, .token = token });
}

static int64_t queue_for(const char *names, const char *ticket, const char *token, int64_t wait_ms)
{
	return lock_acquire(&r,
			    (struct lock_try){ .names = names, .token = token, .ticket = ticket, .wait_ms = wait_ms });
}

/*
 * An attempt of a waiter that has waited since `since_us`, and was dropped from some of the queues.
 */
static int64_t join_again(const char *names, const char *ticket, const char *token, int64_t since_us)
{
	return lock_acquire(&r, (struct lock_try){ .names = names,
						   .token = token,
						   .ticket = ticket,
						   .wait_ms = WAIT_MS,
						   .queued_us = *script_clock_us - since_us });
}

static void later(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

static bool is_free(const char *name)
{
	return redis_exists(&r, lock_key(name, "")) == 0;
}

static void assert_line(const char *name, const char *tickets, const char *offered_to)
{
	assert_string_equal(line_tickets(&r, lock_key(name, "")), tickets);
	assert_string_equal(line_offered_to(&r, lock_key(name, "")), offered_to);
}

TEST(all_are_taken_with_one_token)
{
	enum { A, B, C, NAMES };

	server_command(&r, "SET " LOCK("b") ":fence 4102444800000000");
	assert_int_equal(take("a b c", TOKEN_1), LOCK_ACQUIRE_TAKEN);
	assert_int_equal(r.reply->elements, LOCK_ACQUIRE_FENCES + NAMES);
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_FENCES + B), 4102444800000001);
	int64_t a = item_int(&r, LOCK_ACQUIRE_FENCES + A), c = item_int(&r, LOCK_ACQUIRE_FENCES + C);
	assert_int_equal(lock_get(&r, "a"), 0);
	assert_int_equal(item_int(&r, LOCK_GET_FENCE), a);
	assert_int_equal(lock_get(&r, "c"), 0);
	assert_int_equal(item_int(&r, LOCK_GET_FENCE), c);
	assert_int_equal(lock_extend(&r, "b", TOKEN_1, 60000), 1);
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
	assert_false(is_free("b"));
	assert_false(is_free("c"));
}

TEST(all_or_none)
{
	static const struct {
		const char *held, *wanted;
		int64_t which;
	} rows[] = { { "a", "a b c", 0 }, { "b", "a b c", 1 }, { "c", "a b c", 2 }, { "b c", "c b a", 0 } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		script_stage_empty(NULL);
		take(rows[i].held, TOKEN_1);
		unchanged(&r, take(rows[i].wanted, TOKEN_2));
		assert_int_equal(take(rows[i].wanted, TOKEN_2), LOCK_ACQUIRE_HELD);
		assert_int_equal(item_int(&r, LOCK_REFUSAL_WHICH), rows[i].which);
		assert_string_equal(item_text(&r, LOCK_REFUSAL_MODE), "exclusive");
	}
	script_stage_empty(NULL);
	lock_acquire(&r, (struct lock_try){ .names = "b", .mode = "shared", .token = TOKEN_1 });
	assert_int_equal(take("a b", TOKEN_2), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_WHICH), 1);
	assert_string_equal(item_text(&r, LOCK_REFUSAL_MODE), "shared");
}

/* A refusal names a lock that is held rather than one that is offered. */
TEST(a_refusal_names_one_that_is_held)
{
	take("a", TOKEN_1);
	take("b", TOKEN_2);
	queue_for("a", A1, TOKEN_3, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	assert_int_equal(take("a b", TOKEN_4), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_WHICH), 1);
	lock_release(&r, "b", TOKEN_2);
	assert_int_equal(take("a b", TOKEN_4), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_WHICH), 0);
	assert_string_equal(item_text(&r, LOCK_REFUSAL_MODE), "");
}

TEST(a_waiter_for_several_is_in_each_queue)
{
	take("a", TOKEN_1);
	assert_int_equal(queue_for("a b", A1, TOKEN_2, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_line("a", A1, "");
	assert_line("b", A1, A1); /* the lock is free, and reserved for A1 */
	assert_in_range(line_offered_until(&r, LOCK("b")), server_now_ms(&r) + WAIT_MS - 5000,
			server_now_ms(&r) + WAIT_MS + OFFER_MS);
	assert_int_equal(take("b", TOKEN_3), LOCK_ACQUIRE_HELD);
	assert_string_equal(item_text(&r, LOCK_REFUSAL_MODE), "");
	assert_int_equal(queue_for("b", B1, TOKEN_3, WAIT_MS), LOCK_ACQUIRE_HELD);
	int64_t next_at = item_int(&r, LOCK_REFUSAL_NEXT_AT_MS);
	assert_int_equal(next_at, line_offered_until(&r, LOCK("b")));
	line_subscribe(&r, LOCK("a"));
	lock_release(&r, "a", TOKEN_1);
	assert_string_equal(line_published(&r), "A1 0");
	assert_int_equal(queue_for("a b", A1, TOKEN_2, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_line("a", "", "");
	assert_line("b", B1, "");
	line_subscribe(&r, NULL);
}

/*
 * A waiter keeps an offer until the other locks are free. Another daemon looks once in that time,
 * and at its end.
 */
TEST(a_kept_offer_is_guarded)
{
	take("a", TOKEN_1);
	take("b", TOKEN_4);
	queue_for("a b", A1, TOKEN_2, WAIT_MS);
	queue_for("b", B1, TOKEN_3, WAIT_MS);
	line_subscribe(&r, LOCK("b"));
	lock_release(&r, "b", TOKEN_4);
	assert_string_equal(line_published(&r), "A1 0, B1 1000");
	assert_int_equal(queue_for("a b", A1, TOKEN_2, WAIT_MS), LOCK_ACQUIRE_HELD);
	int64_t until = item_int(&r, REPLY_NOW_MS) + WAIT_MS + OFFER_MS;
	assert_string_equal(line_published(&r), "");
	assert_int_equal(line_offered_until(&r, LOCK("b")), until);
	later(OFFER_MS);
	assert_int_equal(queue_for("b", B1, TOKEN_3, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), until);
	later(WAIT_MS);
	assert_int_equal(queue_for("b", B1, TOKEN_3, WAIT_MS), LOCK_ACQUIRE_TAKEN); /* A is dead */
	assert_string_equal(line_published(&r), "A!");
	line_subscribe(&r, NULL);
}

/*
 * An offer lasts until the waiter's last attempt. Another client that looks at the very end drops
 * no waiter.
 */
TEST(an_offer_outlasts_the_wait)
{
	take("a", TOKEN_1);
	queue_for("a b", A1, TOKEN_2, 1);
	later(2);
	assert_int_equal(take("b", TOKEN_3), LOCK_ACQUIRE_HELD);
	assert_line("b", A1, A1);
	assert_int_equal(queue_for("a b", A1, TOKEN_2, 0), LOCK_ACQUIRE_HELD);
	assert_line("a", "", "");
	assert_int_equal(take("b", TOKEN_3), LOCK_ACQUIRE_TAKEN);
}

TEST(a_waiter_that_leaves_frees_its_place_in_each_queue)
{
	for (int way = 0; way < 2; way++) {
		script_stage_empty(NULL);
		take("a", TOKEN_1);
		queue_for("a b c", A1, TOKEN_2, WAIT_MS);
		queue_for("b", B1, TOKEN_3, WAIT_MS);
		line_subscribe(&r, LOCK("b"));
		if (way)
			lock_leave(&r, "a b c", A1, TOKEN_2);
		else
			assert_int_equal(queue_for("a b c", A1, TOKEN_2, 0), LOCK_ACQUIRE_HELD);
		assert_string_equal(line_published(&r), "B1 0");
		assert_line("a", "", "");
		assert_line("b", B1, B1);
		assert_line("c", "", "");
		assert_int_equal(take("c", TOKEN_4), LOCK_ACQUIRE_TAKEN);
	}
	line_subscribe(&r, NULL);
}

TEST(what_was_acquired_is_released_whole)
{
	take("a", TOKEN_1);
	queue_for("a b", A1, TOKEN_2, WAIT_MS);
	queue_for("b", B1, TOKEN_3, WAIT_MS);
	lock_release(&r, "a", TOKEN_1);
	queue_for("a b", A1, TOKEN_2, WAIT_MS);
	lock_leave(&r, "a b", A1, TOKEN_2);
	assert_true(is_free("a"));
	assert_line("b", B1, B1);
	assert_int_equal(queue_for("b", B1, TOKEN_3, WAIT_MS), LOCK_ACQUIRE_TAKEN);
}

/* The order is the same, in whatever order each waiter names the locks. */
TEST(two_have_the_same_order_in_each_queue)
{
	take("a b c", TOKEN_1);
	queue_for("c a", A1, TOKEN_2, WAIT_MS);
	queue_for("a b c", B1, TOKEN_3, WAIT_MS);
	queue_for("b", C1, TOKEN_4, WAIT_MS);
	assert_line("a", A1 " " B1, "");
	assert_line("b", B1 " " C1, "");
	assert_line("c", A1 " " B1, "");
	/*
	 * B1 was dropped from one queue, and does not state since when it waits: it goes to the end
	 * of all.
	 */
	server_command(&r, "ZREM " LOCK("c") ":waiters " B1);
	queue_for("c", B2, TOKEN_4, WAIT_MS);
	queue_for("a b c", B1, TOKEN_3, WAIT_MS);
	assert_line("a", A1 " " B1, "");
	assert_line("b", C1 " " B1, "");
	assert_line("c", A1 " " B2 " " B1, "");
}

/* A waiter that was dropped keeps its place in each queue, even in those that did not drop it. */
TEST(one_that_was_dropped_keeps_its_place_in_each_queue)
{
	take("a b c", TOKEN_1);
	queue_for("c", A1, TOKEN_2, WAIT_MS);
	later(10);
	int64_t joined_us = *script_clock_us;
	queue_for("a b c", B1, TOKEN_3, WAIT_MS);
	later(10);
	queue_for("c b a", C1, TOKEN_4, WAIT_MS);
	server_command(&r, "ZREM " LOCK("c") ":waiters " B1);
	server_command(&r, "ZREM " LOCK("a") ":waiters " B1);
	later(10);
	assert_int_equal(join_again("a b c", B1, TOKEN_3, joined_us), LOCK_ACQUIRE_HELD);
	assert_line("a", B1 " " C1, "");
	assert_line("b", B1 " " C1, "");
	assert_line("c", A1 " " B1 " " C1, "");
}

/*
 * A waiter had the offer of one lock, and was dropped from the queue of another, which was then
 * offered to the next waiter. It keeps its offer, and waits.
 */
TEST(one_that_was_dropped_in_one_queue_keeps_its_offer_in_the_other)
{
	take("a", TOKEN_1);
	int64_t joined_us = *script_clock_us;
	queue_for("a b", A1, TOKEN_2, WAIT_MS);
	later(10);
	queue_for("b", B1, TOKEN_3, WAIT_MS);
	queue_for("a", C1, TOKEN_4, WAIT_MS);
	server_command(&r, "ZREM " LOCK("a") ":waiters " A1);
	lock_release(&r, "a", TOKEN_1);
	assert_line("a", C1, C1);
	assert_int_equal(join_again("a b", A1, TOKEN_2, joined_us), LOCK_ACQUIRE_HELD);
	assert_line("a", A1 " " C1, C1);
	assert_line("b", A1 " " B1, A1);
	assert_int_equal(queue_for("a", C1, TOKEN_4, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	lock_release(&r, "a", TOKEN_4);
	assert_line("a", A1, A1);
	assert_int_equal(queue_for("a b", A1, TOKEN_2, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_line("b", B1, "");
}

/* The two locks end at different times. A waiter for both looks at the earlier one. */
TEST(a_waiter_for_several_looks_at_the_first_end)
{
	lock_acquire(&r, (struct lock_try){ .names = "a", .token = TOKEN_1, .ttl_ms = 9000 });
	int64_t ends_at = item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS);
	lock_acquire(&r, (struct lock_try){ .names = "b", .token = TOKEN_2, .ttl_ms = 7000 });
	assert_int_equal(queue_for("a b", A1, TOKEN_3, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), ends_at - 2000 + 1);
	assert_int_equal(queue_for("a b", B1, TOKEN_4, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), ends_at - 2000 + 1 + OFFER_MS);
	later(7001);
	assert_int_equal(queue_for("a b", A1, TOKEN_3, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), ends_at + 1);
	assert_line("b", A1 " " B1, A1);
	later(2000);
	assert_int_equal(queue_for("a b", A1, TOKEN_3, WAIT_MS), LOCK_ACQUIRE_TAKEN);
}

TEST(a_dropped_waiter_that_joins_again_has_no_offer)
{
	take("a", TOKEN_1);
	queue_for("a b", A1, TOKEN_2, WAIT_MS);
	queue_for("b", B1, TOKEN_3, WAIT_MS);
	server_command(&r, "ZREM " LOCK("a") ":waiters " A1);
	queue_for("a b", A1, TOKEN_2, WAIT_MS); /* A1 loses the offer of b, and joins at the end */
	assert_line("b", B1 " " A1, B1);
	assert_int_equal(queue_for("b", B1, TOKEN_3, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_line("b", A1, "");
}

/*
 * A waiter that also waits for the first lock keeps the second from the waiters behind it. All get
 * their turn.
 */
TEST(a_chain_of_waiters_unwinds)
{
	take("a", TOKEN_1);
	assert_int_equal(queue_for("a b", A1, TOKEN_2, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(queue_for("b c", B1, TOKEN_3, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(queue_for("c", C1, TOKEN_4, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_line("c", B1 " " C1, B1);
	lock_release(&r, "a", TOKEN_1);
	assert_int_equal(queue_for("a b", A1, TOKEN_2, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	assert_int_equal(queue_for("b c", B1, TOKEN_3, WAIT_MS), LOCK_ACQUIRE_HELD);
	lock_release(&r, "a", TOKEN_2);
	lock_release(&r, "b", TOKEN_2);
	assert_line("b", B1, B1);
	assert_int_equal(queue_for("b c", B1, TOKEN_3, WAIT_MS), LOCK_ACQUIRE_TAKEN);
	lock_release(&r, "c", TOKEN_3);
	assert_int_equal(queue_for("c", C1, TOKEN_4, WAIT_MS), LOCK_ACQUIRE_TAKEN);
}

TEST(sixteen_at_once)
{
	static const char names[] = "a b c d e f g h i j k l m n o p";

	assert_int_equal(take(names, TOKEN_1), LOCK_ACQUIRE_TAKEN);
	assert_int_equal(r.reply->elements, LOCK_ACQUIRE_FENCES + 16);
	assert_int_equal(queue_for(names, A1, TOKEN_2, WAIT_MS), LOCK_ACQUIRE_HELD);
	assert_int_equal(lock_leave(&r, names, A1, TOKEN_1), 1);
	assert_int_equal(take(names, TOKEN_3), LOCK_ACQUIRE_TAKEN);
}

TEST(one_foreign_key_and_none_is_touched)
{
	const struct lock_try t = { .names = "a b c", .token = TOKEN_2, .ticket = A1, .wait_ms = WAIT_MS };
	static const char *const plants[] = { "RPUSH " LOCK("c") " x", "SET " LOCK("c") ":waiters x",
					      "SET " LOCK("c") ":fence x" };

	for (size_t i = 0; i < COUNT(plants); i++) {
		script_stage_empty(NULL);
		queue_for("a b", A2, TOKEN_1, WAIT_MS);
		server_command(&r, plants[i]);
		unchanged(&r, run_fails(&r, &lock_acquire_script, lock_try_keys(&t), lock_try_args(&t), "WRONGTYPE"));
		if (i < 2)
			unchanged(&r, run_fails(&r, &lock_leave_script, lock_keys("a b c", parts_to_change),
						ARGS(A2, TOKEN_1), "WRONGTYPE"));
	}
}

static int open_attended(void **state)
{
	script_stage_open_by_clock(state);
	line_attend(&r, LOCK("a"));
	line_attend(&r, LOCK("b"));
	line_attend(&r, LOCK("c"));
	return 0;
}

SUITE(.open = open_attended, .close = script_stage_close, .after = script_stage_empty);
