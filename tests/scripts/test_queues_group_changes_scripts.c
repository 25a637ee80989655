/*
 * Messages of groups that are replaced, extended, cancelled in flight, sent after another's end, or
 * redriven into another queue. The scripts forget no other message of the group, and hand out none
 * before its turn. Each case runs in a fair and in a strict queue. The test sets Redis's clock.
 */
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { MINUTE_MS = 60000 };

static bool strict;
static char receipts[8][64];

static void make_queue(const char *queue)
{
	run(&r, &queue_put_script, queue_keys(queue),
	    ARGS("-1", "-1", "0", "0", "0", "-1", "0", "-1", "-1", "", "-1", strict ? "strict" : "fair", "-2", "-2",
		 "-2", "-2"));
	assert_int_equal(outcome(&r), 1);
}

static void pass_ms(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

/* Sends a message of the group g. Its body is its id. */
static int64_t send(const char *id, const char *on_duplicate, int64_t delay_ms)
{
	queue_message_send(
		&r, "q",
		(struct outgoing){
			.id = id, .body = id, .group = "g", .delay_ms = delay_ms, .on_duplicate = on_duplicate });
	pass_ms(1);
	return sent(&r, 0, QUEUE_SENT_OUTCOME)->integer;
}

/* The ids that a worker gets if it takes all it can. `receipts` has their receipts. */
static const char *take(const char *queue)
{
	static char bodies[128], nonce[24];
	static int nonces;

	snprintf(nonce, sizeof(nonce), "%016d", ++nonces);
	int64_t count = queue_message_receive(&r, queue, 8, MINUTE_MS, nonce);
	bodies[0] = '\0';
	for (int64_t i = 0; i < count; i++) {
		snprintf(receipts[i], sizeof(receipts[0]), "%s", received(&r, (size_t)i, RECEIVED_RECEIPT)->str);
		strcat(bodies, received(&r, (size_t)i, RECEIVED_ID)->str);
	}
	return bodies;
}

static void done(int i)
{
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[i]), 1);
}

/* Takes and acknowledges all messages left, batch by batch, and returns their order. */
static const char *rest(void)
{
	static char all[128];

	all[0] = '\0';
	for (const char *got = take("q"); *got; got = take("q")) {
		size_t count = strlen(got);
		strcat(all, got);
		for (size_t i = 0; i < count; i++)
			done((int)i);
	}
	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(server_command(&r, "ZCARD %s", queue_key("q", ":order"))->integer, 0);
	assert_int_equal(server_command(&r, "ZCARD %s", queue_key("q", ":busy"))->integer, 0);
	return all;
}

static void the_head_is_replaced(void)
{
	send("a", NULL, 0);
	send("b", NULL, 0);
	send("c", NULL, 0);
	assert_int_equal(send("a", "r", 0), 2);
	assert_string_equal(rest(), "bca"); /* the new "a" is behind them */
}

static void a_blocked_one_is_replaced(void)
{
	send("a", NULL, 0);
	send("b", NULL, 0);
	send("c", NULL, 0);
	assert_int_equal(send("b", "r", 0), 2);
	assert_string_equal(rest(), "acb");
	send("a", NULL, 0);
	send("b", NULL, 0);
	assert_int_equal(send("b", "r", 10), 2); /* it is delayed now, and blocks no message */
	send("c", NULL, 0);
	assert_string_equal(strict ? take("q") : "a", "a");
	if (strict)
		done(0);
	pass_ms(10);
	assert_string_equal(rest(), strict ? "bc" : "abc"); /* in the order of sending */
}

static void the_dead_one_is_replaced(void)
{
	send("a", NULL, 0);
	send("b", NULL, 0);
	take("q");
	assert_int_equal(queue_delivery_reject(&r, "q", receipts[0], 0, "", true), 1);
	assert_int_equal(send("a", "r", 0), 2);
	if (!strict)
		done(1);
	assert_string_equal(rest(), strict ? "ba" : "a");
}

static void a_delayed_one_is_extended(void)
{
	send("a", NULL, 50);
	send("b", NULL, 0);
	assert_int_equal(send("a", "e", 100), 3);
	assert_string_equal(take("q"), "b");
	done(0);
	pass_ms(100);
	assert_string_equal(rest(), "a");
}

/*
 * Between two tries a message holds its strict group, also after an extension. It keeps its group.
 */
static void one_between_two_tries_is_extended(void)
{
	send("a", NULL, 0);
	take("q");
	assert_int_equal(queue_delivery_reject(&r, "q", receipts[0], 50, "", false), 1);
	send("b", NULL, 0);
	queue_message_send(&r, "q",
			   (struct outgoing){ .id = "a",
					      .body = "2",
					      .group = "other",
					      .priority = 4,
					      .delay_ms = 100,
					      .on_duplicate = "e" });
	assert_int_equal(sent(&r, 0, QUEUE_SENT_OUTCOME)->integer, 3);
	const char *got = take("q");
	assert_string_equal(got, strict ? "" : "b");
	if (!strict)
		done(0);
	pass_ms(100);
	assert_string_equal(rest(), strict ? "ab" : "a");
}

static void a_blocked_one_is_kept(void)
{
	send("a", NULL, 0);
	send("b", NULL, 0);
	assert_int_equal(send("b", "a", 100), 1);
	assert_int_equal(send("b", NULL, 100), 1);
	assert_string_equal(rest(), "ab");
}

/*
 * Messages that are due keep their places when they are extended: the head of a group, also when
 * its content becomes long, one that is tried again, and one that is blocked.
 */
static void due_ones_are_extended(void)
{
	static char longest[10001];

	memset(longest, '1', sizeof(longest) - 1);
	send("a", NULL, 0);
	send("b", NULL, 0);
	send("c", NULL, 0);
	assert_int_equal(send("b", "e", 100), 3);
	for (int again = 0; again < 2; again++) {
		queue_message_send(&r, "q",
				   (struct outgoing){ .id = "a",
						      .body = again ? "2" : longest,
						      .group = "g",
						      .delay_ms = 100,
						      .on_duplicate = "e" });
		assert_int_equal(sent(&r, 0, QUEUE_SENT_OUTCOME)->integer, 3);
		assert_string_equal(take("q"), strict ? "a" : "abc");
		assert_string_equal(received(&r, 0, RECEIVED_BODY)->str, again ? "2" : longest);
		for (int i = strict ? 0 : 2; i >= 0; i--)
			assert_int_equal(queue_delivery_reject(&r, "q", receipts[i], 0, "", false), 1);
	}
	assert_string_equal(rest(), "abc");
}

/* The group of a cancelled message waits until its worker learns of that ... */
static void one_in_flight_is_cancelled(void)
{
	send("a", NULL, 0);
	send("b", NULL, 0);
	assert_string_equal(take("q"), strict ? "a" : "ab");
	if (!strict)
		done(1);
	assert_int_equal(queue_message_cancel(&r, "q", "a"), 1);
	assert_string_equal(take("q"), "");
	assert_int_equal(queue_delivery_extend(&r, "q", receipts[0], 1000), -2);
	assert_string_equal(rest(), strict ? "b" : "");
}

/*
 * The group also continues when the visibility of the cancelled message ends. A new message with
 * the same id waits, too.
 */
static void one_that_is_cancelled_ends_by_time(void)
{
	send("a", NULL, 0);
	take("q");
	assert_int_equal(queue_message_cancel(&r, "q", "a"), 1);
	assert_int_equal(send("a", NULL, 0), 0);
	send("b", NULL, 0);
	assert_string_equal(take("q"), strict ? "" : "ab");
	if (!strict) {
		done(0);
		done(1);
	}
	pass_ms(MINUTE_MS);
	assert_string_equal(rest(), strict ? "ab" : "");
}

/*
 * A message that waits for the end of another takes its place behind all that were sent before that
 * end.
 */
static void one_waits_for_an_end(void)
{
	send("a", NULL, 0);
	take("q");
	assert_int_equal(send("a", "a", 0), 4);
	send("b", NULL, 0);
	if (strict)
		assert_string_equal(take("q"), "");
	done(0);
	assert_string_equal(rest(), "ba");
	/* It is alone in its group, or follows a dead letter. */
	send("a", NULL, 0);
	take("q");
	assert_int_equal(send("a", "a", 0), 4);
	done(0);
	assert_string_equal(rest(), "a");
	send("c", NULL, 0);
	take("q");
	assert_int_equal(send("c", "a", 0), 4);
	assert_int_equal(queue_delivery_reject(&r, "q", receipts[0], 0, "", true), 1);
	assert_string_equal(take("q"), "c");
	done(0);
	assert_int_equal(queue_purge(&r, "q", "dead", NULL), 1);
	assert_string_equal(rest(), "");
}

/* Dead letters of a group arrive in the other queue in their order, behind the messages there. */
static void dead_ones_move(void)
{
	static const char *const ids[] = { "a", "b" };

	make_queue("p");
	for (int i = 0; i < 2; i++) {
		send(ids[i], NULL, 0);
		take("q");
		assert_int_equal(queue_delivery_reject(&r, "q", receipts[0], 0, "", true), 1);
	}
	send("c", NULL, 0);
	queue_message_send(&r, "p", (struct outgoing){ .id = "x", .group = "g" });
	pass_ms(1);
	assert_int_equal(queue_redrive_to(&r, "q", "p", 0, 100, NULL, NULL), 2);
	assert_string_equal(rest(), "c");
	if (!strict) {
		assert_string_equal(take("p"), "xab");
		assert_string_equal(received(&r, 2, RECEIVED_GROUP)->str, "g");
		return;
	}
	for (const char *wanted = "xab"; *wanted; wanted++) {
		assert_string_equal(take("p"), ((char[2]){ *wanted }));
		assert_string_equal(received(&r, 0, RECEIVED_GROUP)->str, "g");
		assert_int_equal(queue_delivery_acknowledge(&r, "p", receipts[0]), 1);
	}
}

/* A purge does not remove a message that one of its steps makes ready. */
static void the_head_is_purged(void)
{
	send("a", NULL, 0);
	send("b", NULL, 0);
	send("c", NULL, 0);
	assert_int_equal(queue_purge(&r, "q", "ready", NULL), 1);
	assert_counts(&r, "q", 1, 0, 0, 0);
	assert_string_equal(rest(), "bc");
}

/*
 * Both messages expired, and their ids are sent again. The end of the expired head must not make
 * the expired message behind it ready.
 */
static void all_have_expired(void)
{
	struct outgoing batch[] = { { .id = "a", .group = "g", .ttl_ms = 50 },
				    { .id = "b", .group = "g", .ttl_ms = 50 } };

	queue_send_all(&r, "q", batch, 2);
	pass_ms(50);
	batch[0].ttl_ms = batch[1].ttl_ms = 0;
	assert_int_equal(queue_send_all(&r, "q", batch, 2), 2);
	assert_counts(&r, "q", 1, 0, 0, 0);
	assert_int_equal(server_command(&r, "ZCARD %s", queue_key("q", ":order"))->integer, 1);
	assert_string_equal(rest(), "ab");
}

static void each(bool is_strict)
{
	static void (*const cases[])(void) = {
		the_head_is_replaced,
		a_blocked_one_is_replaced,
		the_dead_one_is_replaced,
		a_delayed_one_is_extended,
		one_between_two_tries_is_extended,
		a_blocked_one_is_kept,
		due_ones_are_extended,
		one_in_flight_is_cancelled,
		one_that_is_cancelled_ends_by_time,
		one_waits_for_an_end,
		dead_ones_move,
		the_head_is_purged,
		all_have_expired,
	};

	strict = is_strict;
	for (size_t i = 0; i < COUNT(cases); i++) {
		print_message("%s, case %zu\n", strict ? "strict" : "fair", i);
		script_stage_empty(NULL);
		make_queue("q");
		cases[i]();
	}
}

TEST(each_case_of_a_fair_queue)
{
	each(false);
}

TEST(each_case_of_a_strict_queue)
{
	each(true);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close);
