/*
 * The semaphore scripts on a real Redis: never more permits than the limit, permits that expire,
 * and the order of waiters.
 */
#include <inttypes.h>

#include "line_look.h"
#include "redis_clock.h"
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define SEMAPHORE "p:semaphore:{a}"
#define PERMITS "p:semaphore:{a}:permits"
#define RECORD "p:idem:{a}:k"
#define A1 DAEMON_A ".0000000000000001"
#define A2 DAEMON_A ".0000000000000002"
#define B1 DAEMON_B ".0000000000000001"
#define B2 DAEMON_B ".0000000000000002"
#define C1 DAEMON_C ".0000000000000001"
#define D1 "dddddddddddddddd.0000000000000001" /* a daemon that receives nothing */
#define D2 "dddddddddddddddd.0000000000000002"

enum { WAIT_MS = 20000, TTL_MS = 30000, OFFER_MS = 1000 };

static const char *const keys[] = { SEMAPHORE, PERMITS, SEMAPHORE ":waiters", NULL };

/* Members that are 0 or NULL are not given. */
struct permit_try {
	int64_t limit, ttl_ms, wait_ms, queued_us;
	const char *permit, *owner, *sealed;
	const char *ticket; /* without its limit, which args_of appends */
};

static const char *const *args_of(const struct permit_try *t)
{
	static char texts[5][64];
	static const char *args[9];

	snprintf(texts[0], sizeof(texts[0]), "%" PRId64, t->limit);
	snprintf(texts[1], sizeof(texts[1]), "%" PRId64, t->ttl_ms ? t->ttl_ms : (int64_t)TTL_MS);
	snprintf(texts[2], sizeof(texts[2]), "%s.%" PRId64, t->ticket, t->limit);
	snprintf(texts[3], sizeof(texts[3]), "%" PRId64, t->wait_ms);
	snprintf(texts[4], sizeof(texts[4]), "%" PRId64, t->queued_us);
	args[0] = texts[0];
	args[1] = texts[1];
	args[2] = t->owner ? t->owner : "";
	args[3] = t->permit;
	args[4] = t->sealed ? t->sealed : "";
	args[5] = t->ticket ? texts[2] : "";
	args[6] = texts[3];
	args[7] = texts[4];
	return args;
}

static int64_t acquire(struct permit_try t)
{
	run(&r, &semaphore_permit_acquire_script, keys, args_of(&t));
	return outcome(&r);
}

static int64_t take(int64_t limit, const char *permit)
{
	return acquire((struct permit_try){ .limit = limit, .permit = permit });
}

static int64_t queue_for(int64_t limit, const char *ticket, const char *permit)
{
	return acquire((struct permit_try){ .limit = limit, .permit = permit, .ticket = ticket, .wait_ms = WAIT_MS });
}

/* An attempt of a waiter that has waited since `since_us`, and was dropped. */
static int64_t join_again(int64_t limit, const char *ticket, const char *permit, int64_t since_us)
{
	return acquire((struct permit_try){ .limit = limit,
					    .permit = permit,
					    .ticket = ticket,
					    .wait_ms = WAIT_MS,
					    .queued_us = *script_clock_us - since_us });
}

static void later(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

static int64_t extend(const char *permit, const char *ttl_ms)
{
	run(&r, &semaphore_permit_extend_script, keys, ARGS(permit, ttl_ms));
	return outcome(&r);
}

/* Releases a permit, or removes a waiter, or both. */
static int64_t leave(const char *permit, const char *ticket)
{
	run(&r, &semaphore_permit_leave_script, keys, ARGS(ticket, permit));
	return outcome(&r);
}

static void look(int64_t limit, int64_t held, int64_t waiters)
{
	run(&r, &semaphore_get_script, keys, ARGS());
	assert_int_equal(item_int(&r, SEMAPHORE_GET_LIMIT), limit);
	assert_int_equal(item_int(&r, SEMAPHORE_GET_HELD), held);
	assert_int_equal(item_int(&r, SEMAPHORE_GET_WAITER_COUNT), waiters);
}

/* Makes a permit expire without any call noticing. */
static void ends(const char *permit)
{
	server_command(&r, "ZADD " PERMITS " XX 1 %s", permit);
}

/* ---- Permits ---- */

TEST(no_more_than_the_limit)
{
	static const char *const permits[] = { "p0", "p1", "p2" };
	int64_t first = 0, last = 0;

	look(0, 0, 0);
	for (int i = 0; i < 3; i++) {
		const struct permit_try t = { .limit = 3,
					      .permit = permits[i],
					      .ttl_ms = 20000 + 1000 * i,
					      .owner = i ? "me" : NULL,
					      .sealed = "5ea1ed" };
		assert_int_equal(acquire(t), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
		assert_int_equal(item_int(&r, SEMAPHORE_PERMIT_ACQUIRE_HELD), i + 1);
		last = item_int(&r, SEMAPHORE_PERMIT_ACQUIRE_EXPIRES_AT_MS);
		assert_int_equal(last, item_int(&r, REPLY_NOW_MS) + 20000 + 1000 * i);
		assert_string_equal(item_text(&r, SEMAPHORE_PERMIT_ACQUIRE_OWNER), i ? "me" : "");
		assert_string_equal(item_text(&r, SEMAPHORE_PERMIT_ACQUIRE_SEALED), "5ea1ed");
		first = i ? first : last;
	}
	unchanged(&r, assert_int_equal(take(3, "p3"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE));
	take(3, "p3");
	assert_int_equal(item_int(&r, SEMAPHORE_REFUSAL_NEXT_AT_MS), first);
	assert_int_equal(item_int(&r, SEMAPHORE_REFUSAL_HELD), 3);
	assert_int_equal(item_int(&r, SEMAPHORE_REFUSAL_WAITER_COUNT), 0);
	look(3, 3, 0);
	const size_t holder = SEMAPHORE_GET_HOLDERS, third = holder + 2 * SEMAPHORE_HOLDER_ITEMS;
	assert_string_equal(item_text(&r, holder + SEMAPHORE_HOLDER_OWNER), "");
	assert_int_equal(item_int(&r, holder + SEMAPHORE_HOLDER_EXPIRES_AT_MS), first);
	assert_string_equal(item_text(&r, third + SEMAPHORE_HOLDER_OWNER), "me");
	assert_int_equal(server_command(&r, "PEXPIRETIME " SEMAPHORE)->integer, last);
	assert_int_equal(server_command(&r, "PEXPIRETIME " PERMITS)->integer, last);

	assert_int_equal(leave("p1", ""), 1);
	unchanged(&r, assert_int_equal(leave("p1", ""), SEMAPHORE_PERMIT_LEAVE_RELEASED_BEFORE)); /* for a minute */
	unchanged(&r, assert_int_equal(leave("p9", ""), SEMAPHORE_PERMIT_LEAVE_ENDED));
	assert_int_equal(take(3, "p4"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	assert_int_equal(take(3, "p5"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
}

TEST(permits_end_one_by_one)
{
	take(2, "p1");
	take(2, "p2");
	ends("p1");
	look(2, 1, 0);
	unchanged(&r, assert_int_equal(extend("p1", "30000"), SEMAPHORE_PERMIT_EXTEND_ENDED));
	assert_int_equal(take(2, "p3"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	assert_int_equal(take(2, "p4"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	ends("p2");
	assert_int_equal(leave("p2", ""), SEMAPHORE_PERMIT_LEAVE_ENDED);
	look(2, 1, 0);
	assert_int_equal(take(2, "p4"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
}

/* More permits expire than one step forgets. */
TEST(many_permits_end_at_once)
{
	enum { LIMIT = 250 };
	char permit[16];

	for (int i = 0; i < LIMIT; i++) {
		snprintf(permit, sizeof(permit), "p%d", i);
		assert_int_equal(take(LIMIT, permit), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	}
	assert_int_equal(take(LIMIT, "more"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	for (int i = 1; i < LIMIT; i++) {
		snprintf(permit, sizeof(permit), "p%d", i);
		ends(permit);
	}
	look(LIMIT, 1, 0);
	assert_int_equal(take(LIMIT, "more"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	assert_int_equal(item_int(&r, SEMAPHORE_PERMIT_ACQUIRE_HELD), 2);
	assert_int_equal(server_command(&r, "HLEN " SEMAPHORE)->integer, 1 + LIMIT + 1 - 100);
	assert_int_equal(take(2, "too many"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	look(LIMIT, 2, 0);
}

TEST(extend_sets_what_is_left)
{
	take(2, "p1");
	take(2, "p2");
	assert_int_equal(extend("p1", "60000"), 1);
	int64_t until = item_int(&r, SEMAPHORE_PERMIT_EXTEND_EXPIRES_AT_MS);
	assert_int_equal(until, item_int(&r, REPLY_NOW_MS) + 60000);
	assert_int_equal(server_command(&r, "PEXPIRETIME " SEMAPHORE)->integer, until);
	assert_int_equal(extend("p1", "5"), 1);
	assert_in_range(redis_pttl_ms(&r, SEMAPHORE), 25000, TTL_MS); /* the other permit's expiry */
	unchanged(&r, assert_int_equal(extend("p9", "60000"), SEMAPHORE_PERMIT_EXTEND_ENDED));
	later(5);
	look(2, 2, 0);
	later(1);
	look(2, 1, 0);
	assert_int_equal(extend("p1", "60000"), SEMAPHORE_PERMIT_EXTEND_ENDED);
}

TEST(all_is_forgotten_with_the_last_permit)
{
	acquire((struct permit_try){ .limit = 2, .permit = "p1", .ttl_ms = 20 });
	acquire((struct permit_try){ .limit = 2, .permit = "p2", .ttl_ms = 30 });
	later(31);
	server_expires_alone(&r, true);
	wait_until(server_keys(&r) == 0, 5000);
	server_expires_alone(&r, false);
	look(0, 0, 0);
	assert_int_equal(take(1, "p3"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
}

/* ---- The wait queue ---- */

TEST(first_come_first_served)
{
	take(2, "p1");
	take(2, "p2");
	int64_t ends_at = item_int(&r, SEMAPHORE_PERMIT_ACQUIRE_EXPIRES_AT_MS);
	assert_int_equal(queue_for(2, A1, "p3"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_int_equal(item_int(&r, SEMAPHORE_REFUSAL_NEXT_AT_MS),
			 ends_at + 1); /* a permit is valid at its last instant */
	assert_int_equal(queue_for(2, B1, "p4"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_int_equal(item_int(&r, SEMAPHORE_REFUSAL_NEXT_AT_MS), ends_at + 1 + OFFER_MS); /* should A be dead */
	assert_int_equal(item_int(&r, SEMAPHORE_REFUSAL_WAITER_COUNT), 2);
	assert_int_equal(queue_for(2, B2, "p6"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_int_equal(item_int(&r, SEMAPHORE_REFUSAL_NEXT_AT_MS), -1); /* it will be notified */
	leave("", B2 ".2");
	line_subscribe(&r, SEMAPHORE);
	assert_int_equal(leave("p1", ""), 1);
	assert_string_equal(line_published(&r), "A1 0, B1 1000");
	int64_t until = line_offered_until(&r, SEMAPHORE);
	assert_int_equal(take(2, "p5"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE); /* reserved for A1 */
	assert_int_equal(item_int(&r, SEMAPHORE_REFUSAL_HELD), 1);
	assert_int_equal(item_int(&r, SEMAPHORE_REFUSAL_NEXT_AT_MS), until);
	assert_int_equal(queue_for(2, B1, "p4"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_string_equal(line_published(&r), "");
	assert_int_equal(queue_for(2, A1, "p3"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	assert_string_equal(line_published(&r), ""); /* B1 looks at the time it was given */
	assert_int_equal(leave("p2", ""), 1);
	assert_string_equal(line_published(&r), "B1 0");
	assert_int_equal(queue_for(2, B1, "p4"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	assert_string_equal(line_published(&r), ""); /* no other client waits */
	look(2, 2, 0);
	line_subscribe(&r, NULL);
}

/* For each permit that becomes free a waiter is notified at once. They take them in any order. */
TEST(as_many_go_in_as_there_is_room_for)
{
	take(2, "p1");
	take(2, "p2");
	queue_for(2, A1, "p3");
	queue_for(2, A2, "p4");
	queue_for(2, B1, "p5");
	line_subscribe(&r, SEMAPHORE);
	leave("p1", "");
	assert_string_equal(line_published(&r), "A1 0, B1 1000");
	leave("p2", "");
	assert_string_equal(line_published(&r), "A2 0"); /* B1 looks in time for both */
	assert_string_equal(line_offered_to(&r, SEMAPHORE), A1 ".2 " A2 ".2");
	assert_int_equal(take(2, "p6"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_int_equal(queue_for(2, B1, "p5"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_int_equal(queue_for(2, A2, "p4"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	assert_int_equal(take(2, "p6"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_int_equal(queue_for(2, B1, "p5"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_string_equal(line_offered_to(&r, SEMAPHORE), A1 ".2");
	assert_int_equal(queue_for(2, A1, "p3"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	assert_string_equal(line_published(&r), "");
	assert_string_equal(line_tickets(&r, SEMAPHORE), B1 ".2");
	look(2, 2, 1);
	line_subscribe(&r, NULL);
}

/* Permits become free one after the other, or all at once. No more are offered than are free. */
TEST(all_that_is_free_is_offered_at_once)
{
	static const char *const waiting[] = { A1, B1, A2, C1, B2 };

	for (int way = 0; way < 2; way++) {
		script_stage_empty(NULL);
		for (int i = 0; i < 3; i++)
			take(3, (const char *[]){ "p1", "p2", "p3" }[i]);
		for (int i = 0; i < 5; i++)
			queue_for(3, waiting[i], "p4");
		for (int i = 0; i < 3 && !way; i++)
			leave((const char *[]){ "p1", "p2", "p3" }[i], "");
		if (way)
			run(&r, &semaphore_delete_script, keys, ARGS());
		assert_string_equal(line_offered_to(&r, SEMAPHORE), A1 ".3 " A2 ".3 " B1 ".3");
		for (int i = 0; i < 5; i++) {
			char permit[8];
			snprintf(permit, sizeof(permit), "q%d", i);
			assert_int_equal(queue_for(3, waiting[4 - i], permit),
					 i < 2 ? SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE : SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
		}
		look(3, 3, 2);
	}
}

/*
 * However often permits become free before that, an offer to a waiter of a dead daemon ends a
 * second after it was made.
 */
TEST(an_offer_is_made_once)
{
	take(3, "p1");
	take(3, "p2");
	take(3, "p3");
	queue_for(3, A1, "p4");
	queue_for(3, A2, "p4");
	queue_for(3, B1, "p5");
	queue_for(3, C1, "p6");
	leave("p1", "");
	int64_t until = line_offered_until(&r, SEMAPHORE);
	later(OFFER_MS / 2);
	line_subscribe(&r, SEMAPHORE);
	leave("p2", "");
	assert_string_equal(line_published(&r), "A2 0");
	assert_int_equal(line_offered_until(&r, SEMAPHORE), until);
	later(OFFER_MS / 2);
	leave("p3", "");
	assert_string_equal(line_published(&r), "A!, B1 0, C1 0"); /* no offer to the dead daemon stays */
	assert_string_equal(line_tickets(&r, SEMAPHORE), B1 ".3 " C1 ".3");
	assert_string_equal(line_offered_to(&r, SEMAPHORE), B1 ".3 " C1 ".3");
	line_subscribe(&r, NULL);
}

TEST(a_daemon_that_receives_nothing_has_a_brief_offer)
{
	take(2, "p1");
	take(2, "p2");
	queue_for(2, D1, "p3");
	queue_for(2, B1, "p4");
	queue_for(2, D2, "p5");
	queue_for(2, C1, "p6");
	line_subscribe(&r, SEMAPHORE);
	leave("p1", "");
	assert_string_equal(line_published(&r), "C1 200, B1 1200");
	assert_string_equal(line_offered_to(&r, SEMAPHORE), D1 ".2");
	later(200);
	assert_int_equal(queue_for(2, C1, "p6"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_string_equal(line_published(&r), "B1 0");
	assert_string_equal(line_tickets(&r, SEMAPHORE), B1 ".2 " C1 ".2");
	line_subscribe(&r, NULL);
}

TEST(one_that_was_dropped_keeps_its_place)
{
	take(2, "p1");
	take(2, "p2");
	int64_t joined_us = *script_clock_us;
	queue_for(2, A1, "p3");
	later(10);
	queue_for(2, B1, "p4");
	queue_for(2, C1, "p5");
	line_watch_lapse(&r, SEMAPHORE); /* A1 and B1 are late */
	assert_int_equal(queue_for(2, C1, "p5"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_string_equal(line_tickets(&r, SEMAPHORE), C1 ".2");
	assert_string_equal(line_watchers(&r, SEMAPHORE), C1 ".2");
	later(10);
	assert_int_equal(join_again(2, B1, "p4", joined_us + 10000), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_int_equal(join_again(2, A1, "p3", joined_us), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_string_equal(line_tickets(&r, SEMAPHORE), A1 ".2 " B1 ".2 " C1 ".2");
	leave("p1", "");
	assert_string_equal(line_offered_to(&r, SEMAPHORE), A1 ".2");
	assert_int_equal(queue_for(2, A1, "p3"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
}

/* A dropped waiter joins again before any other call notices an expired permit: it is its turn. */
TEST(one_that_was_dropped_has_its_turn)
{
	take(1, "p1");
	int64_t joined_us = *script_clock_us;
	later(10);
	queue_for(1, B1, "p3");
	ends("p1");
	if (join_again(1, A1, "p2", joined_us) == SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE) {
		assert_string_equal(line_offered_to(&r, SEMAPHORE), A1 ".1");
		assert_int_equal(queue_for(1, A1, "p2"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	}
	assert_int_equal(queue_for(1, B1, "p3"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	look(1, 1, 1);
}

TEST(nothing_is_published_without_a_waiter)
{
	line_subscribe(&r, SEMAPHORE);
	take(1, "p1");
	take(1, "p2");
	extend("p1", "5000");
	leave("p1", A1 ".1");
	assert_int_equal(queue_for(1, A1, "p2"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	run(&r, &semaphore_delete_script, keys, ARGS());
	assert_string_equal(line_published(&r), "");
	assert_int_equal(redis_exists(&r, SEMAPHORE ":waiters"), 0);
	line_subscribe(&r, NULL);
}

TEST(a_waiter_that_leaves_frees_its_place)
{
	take(1, "p1");
	queue_for(1, A1, "p2");
	queue_for(1, B1, "p3");
	leave("p1", "");
	line_subscribe(&r, SEMAPHORE);
	leave("p2", A1 ".1"); /* A1 had the offer, but no permit */
	assert_string_equal(line_published(&r), "B1 0");
	assert_int_equal(queue_for(1, B1, "p3"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	queue_for(1, A1, "p2");
	const struct permit_try last = { .limit = 1, .permit = "p2", .ticket = A1 };
	assert_int_equal(acquire(last), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_string_equal(line_tickets(&r, SEMAPHORE), "");

	/* The client left at the moment at which it acquired the permit. */
	queue_for(1, A2, "p4");
	leave("p3", "");
	assert_int_equal(queue_for(1, A2, "p4"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	queue_for(1, B2, "p5");
	assert_int_equal(leave("p4", A2 ".1"), 1);
	assert_string_equal(line_offered_to(&r, SEMAPHORE), B2 ".1");
	look(0, 0, 1);
	line_subscribe(&r, NULL);
}

/* A waiter with a higher limit acquires as soon as it is first. */
TEST(each_waits_for_its_own_limit)
{
	take(2, "p1");
	take(2, "p2");
	queue_for(2, A1, "p3");
	queue_for(4, B1, "p4"); /* there is room, but B1 is behind A1 */
	assert_string_equal(line_offered_to(&r, SEMAPHORE), "");
	leave("p1", "");
	assert_string_equal(line_offered_to(&r, SEMAPHORE), A1 ".2");
	assert_int_equal(queue_for(2, A1, "p3"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	assert_string_equal(line_offered_to(&r, SEMAPHORE), B1 ".4");
	assert_int_equal(queue_for(4, B1, "p4"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	look(4, 3, 0);

	/* A waiter with a lower limit holds up those behind it. */
	queue_for(1, A1, "p5");
	queue_for(4, B1, "p6");
	leave("p2", "");
	leave("p3", "");
	assert_string_equal(line_offered_to(&r, SEMAPHORE), "");
	assert_int_equal(queue_for(4, B1, "p6"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	leave("p4", "");
	assert_string_equal(line_offered_to(&r, SEMAPHORE), A1 ".1");
	assert_int_equal(queue_for(1, A1, "p5"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	assert_string_equal(line_offered_to(&r, SEMAPHORE), B1 ".4");

	/* It no longer does once it gives up. */
	queue_for(4, B1, "p6");
	queue_for(1, A1, "p7");
	queue_for(4, B2, "p8");
	assert_string_equal(line_offered_to(&r, SEMAPHORE), "");
	leave("", A1 ".1");
	assert_string_equal(line_offered_to(&r, SEMAPHORE), B2 ".4");
}

/* A higher limit lets neither a waiter behind nor a new client acquire an offered permit. */
TEST(none_overtakes_a_waiter_with_a_lower_limit)
{
	for (int way = 0; way < 2; way++) {
		script_stage_empty(NULL);
		take(2, "p1");
		take(2, "p2");
		queue_for(2, A1, "p3");
		if (way)
			queue_for(4, B1, "p4");
		leave("p1", "");
		assert_int_equal(way ? queue_for(4, B1, "p4") : take(4, "p4"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
		assert_int_equal(queue_for(2, A1, "p3"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
		assert_int_equal(way ? queue_for(4, B1, "p4") : take(4, "p4"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	}
}

TEST(the_end_of_a_permit_offers_it_to_the_first)
{
	take(2, "p1");
	take(2, "p2");
	queue_for(2, A1, "p3");
	queue_for(2, B1, "p4");
	ends("p2");
	assert_int_equal(queue_for(2, B1, "p4"), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_string_equal(line_offered_to(&r, SEMAPHORE), A1 ".2");
	assert_int_equal(queue_for(2, A1, "p3"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
}

TEST(waiters_are_notified_of_an_earlier_end)
{
	take(2, "p1");
	take(2, "p2");
	queue_for(2, A1, "p3");
	queue_for(2, B1, "p4");
	line_subscribe(&r, SEMAPHORE);
	extend("p1", "60000");
	assert_string_equal(line_published(&r), "");
	extend("p1", "5000");
	assert_string_equal(line_published(&r), "A1 5001, B1 6001");
	leave("p2", "");
	assert_string_equal(line_published(&r), "A1 0, B1 1000");
	const struct permit_try brief = { .limit = 2, .permit = "p3", .ticket = A1, .wait_ms = WAIT_MS, .ttl_ms = 40 };
	assert_int_equal(acquire(brief), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	assert_string_equal(line_published(&r), "B1 41");
	line_subscribe(&r, NULL);
}

/* ---- Deleting ---- */

static int64_t remove_semaphore(void)
{
	run(&r, &semaphore_delete_script, keys, ARGS());
	return outcome(&r);
}

TEST(delete_leaves_nothing_behind)
{
	unchanged(&r, assert_int_equal(remove_semaphore(), 0));
	take(2, "p1");
	take(2, "p2");
	assert_int_equal(leave("p2", ""), 1);
	assert_int_equal(remove_semaphore(), 1);
	assert_int_equal(server_keys(&r), 0);
	assert_int_equal(extend("p1", "30000"), SEMAPHORE_PERMIT_EXTEND_ENDED);
	assert_int_equal(leave("p1", ""), SEMAPHORE_PERMIT_LEAVE_ENDED);
	assert_int_equal(leave("p2", ""), SEMAPHORE_PERMIT_LEAVE_ENDED); /* its release is not remembered either */
	unchanged(&r, assert_int_equal(remove_semaphore(), 0));
}

/* The first waiter gets the offer, even if an earlier offer went to a dead daemon. */
TEST(delete_offers_to_the_first_waiter)
{
	take(1, "p1");
	queue_for(1, A1, "p2");
	queue_for(1, B1, "p3");
	line_subscribe(&r, SEMAPHORE);
	assert_int_equal(remove_semaphore(), 1);
	assert_string_equal(line_published(&r), "A1 0, B1 1000");
	assert_string_equal(line_tickets(&r, SEMAPHORE), A1 ".1 " B1 ".1");
	assert_int_equal(remove_semaphore(), 0); /* an offer is made once */
	assert_string_equal(line_published(&r), "");
	line_lapse(&r, SEMAPHORE);
	assert_int_equal(remove_semaphore(), 0);
	assert_string_equal(line_offered_to(&r, SEMAPHORE), B1 ".1");
	assert_int_equal(queue_for(1, B1, "p3"), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	look(1, 1, 0);
	line_subscribe(&r, NULL);
}

/* ---- Records, foreign keys ---- */

TEST(a_replay_gets_the_first_permit)
{
	const struct permit_try first = { .limit = 1, .permit = "p1", .sealed = "5ea1ed" };
	const struct permit_try again = { .limit = 1, .permit = "p2", .sealed = "another" };

	run_with_record(&r, &semaphore_permit_acquire_script, keys, args_of(&first), RECORD, FINGERPRINT_A);
	assert_int_equal(outcome(&r), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	int64_t expires_at = item_int(&r, SEMAPHORE_PERMIT_ACQUIRE_EXPIRES_AT_MS);
	unchanged(&r,
		  run_with_record(&r, &semaphore_permit_acquire_script, keys, args_of(&again), RECORD, FINGERPRINT_A));
	run_with_record(&r, &semaphore_permit_acquire_script, keys, args_of(&again), RECORD, FINGERPRINT_A);
	assert_int_equal(outcome(&r), SEMAPHORE_PERMIT_ACQUIRE_TAKEN);
	assert_string_equal(item_text(&r, SEMAPHORE_PERMIT_ACQUIRE_SEALED), "5ea1ed");
	assert_int_equal(item_int(&r, SEMAPHORE_PERMIT_ACQUIRE_EXPIRES_AT_MS), expires_at);
	assert_int_equal(leave("p1", ""), 1);
	take(1, "p3");
	unchanged(&r, run_with_record_ended(&r, &semaphore_permit_acquire_script, keys, args_of(&again), RECORD,
					    FINGERPRINT_A));
	run_with_record(&r, &semaphore_permit_acquire_script, keys, args_of(&again), RECORD "2", FINGERPRINT_A);
	assert_int_equal(outcome(&r), SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE);
	assert_int_equal(redis_exists(&r, RECORD "2"), 0); /* a refusal is not recorded */
}

/* Keys of other types: test_redis_replies.py. */
TEST(a_foreign_key_stays_as_it_is)
{
	const struct permit_try t = { .limit = 2, .permit = "p2", .ticket = A1, .wait_ms = WAIT_MS };

	for (int i = 0; i < 2; i++) { /* a hash that is not a semaphore; a sorted set that is not a wait queue */
		script_stage_empty(state);
		take(2, "p1");
		server_command(&r, i ? "ZADD " SEMAPHORE ":waiters 1 x" : "HSET " SEMAPHORE " limit x");
		unchanged(&r, {
			run_fails(&r, &semaphore_permit_acquire_script, keys, args_of(&t), "WRONGTYPE");
			run_fails(&r, &semaphore_permit_leave_script, keys, ARGS(A1, "p1"), "WRONGTYPE");
			run_fails(&r, &semaphore_permit_extend_script, keys, ARGS("p1", "1"), "WRONGTYPE");
			run_fails(&r, &semaphore_delete_script, keys, ARGS(), "WRONGTYPE");
		});
	}
}

TEST(a_full_redis_refuses_a_permit_and_still_takes_one_back)
{
	const struct permit_try t = { .limit = 2, .permit = "p2" };

	take(2, "p1");
	server_command(&r, "CONFIG SET maxmemory 1");
	unchanged(&r, run_fails(&r, &semaphore_permit_acquire_script, keys, args_of(&t), "OOM"));
	assert_int_equal(leave("p1", ""), 1);
	assert_int_equal(remove_semaphore(), 1);
}

static int open_attended(void **state)
{
	script_stage_open_by_clock(state);
	line_attend(&r, SEMAPHORE);
	return 0;
}

SUITE(.open = open_attended, .close = script_stage_close, .after = script_stage_empty);
