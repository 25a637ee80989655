/*
 * Rejects that do not count, on a real Redis: alone and among others of a settle. The message is as
 * it was before its delivery, in front of later messages, and a strict group waits for it.
 */
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { MINUTE_MS = 60000 };

static char receipts[BATCH_MAX][64];

static void pass_ms(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

/* The ids that a worker gets if it takes at most `most`. `receipts` has their receipts. */
static const char *take(int most)
{
	static char ids[256], nonce[24];
	static int nonces;

	snprintf(nonce, sizeof(nonce), "%016d", ++nonces);
	int64_t count = queue_message_receive(&r, "q", most, MINUTE_MS, nonce);
	ids[0] = '\0';
	for (int64_t i = 0; i < count; i++) {
		snprintf(receipts[i], sizeof(receipts[0]), "%s", received(&r, (size_t)i, RECEIVED_RECEIPT)->str);
		strcat(ids, received(&r, (size_t)i, RECEIVED_ID)->str);
	}
	return ids;
}

static void send(const char *id, const char *group)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = id, .group = group });
	pass_ms(1);
}

static void make_strict(void)
{
	run(&r, &queue_put_script, queue_keys("q"),
	    ARGS("-1", "-1", "0", "0", "0", "-1", "0", "-1", "-1", "", "-1", "strict", "-2", "-2", "-2", "-2"));
	assert_int_equal(outcome(&r), 1);
}

static const redisReply *look(const char *id, enum item_field field)
{
	assert_int_equal(queue_message_get(&r, "q", id), 0);
	return item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, field);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .before = script_stage_empty);

TEST(it_is_not_a_failure)
{
	queue_put(&r, "q", standard_settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .max_receives = 2 });
	int64_t sent_at_ms = item_int(&r, REPLY_NOW_MS);
	take(1);
	assert_int_equal(queue_delivery_reject(&r, "q", receipts[0], 0, "gateway", false), 1);
	for (int i = 0; i < 3; i++) { /* more often than max_receives */
		pass_ms(5);
		assert_string_equal(take(1), "a");
		assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, 2);
		assert_int_equal(queue_delivery_uncount(&r, "q", receipts[0], -1), 1);
		assert_int_equal(item_int(&r, QUEUE_DELIVERY_REJECT_IS_DEAD), 0);
		assert_int_equal(item_int(&r, QUEUE_DELIVERY_REJECT_AT_MS), sent_at_ms);
		assert_int_equal(look("a", ITEM_RECEIVES)->integer, 1);
		assert_string_equal(look("a", ITEM_REASON)->str, "gateway"); /* the reason of the counted reject */
		assert_string_equal(look("a", ITEM_WORKER)->str, "");
		assert_int_equal(queue_delivery_uncount(&r, "q", receipts[0], -1), QUEUE_DELIVERY_REJECT_STALE);
	}
	take(1);
	assert_int_equal(queue_delivery_reject(&r, "q", receipts[0], 0, "gateway", false), 1);
	assert_string_equal(look("a", ITEM_STATE)->str, "dead");
}

TEST(it_is_due_after_its_delay_and_has_no_backoff)
{
	struct queue_settings settings = standard_settings;

	settings.backoff_base_ms = settings.backoff_max_ms = MINUTE_MS;
	queue_put(&r, "q", settings);
	send("a", NULL);
	take(1);
	assert_int_equal(queue_delivery_uncount(&r, "q", receipts[0], 20), 1);
	assert_int_equal(item_int(&r, QUEUE_DELIVERY_REJECT_AT_MS), item_int(&r, REPLY_NOW_MS) + 20);
	pass_ms(19);
	assert_string_equal(take(1), "");
	pass_ms(1);
	assert_string_equal(take(1), "a");
	assert_int_equal(queue_delivery_uncount(&r, "q", receipts[0], -1), 1);
	assert_string_equal(take(1), "a");
}

TEST(it_is_in_front_of_what_came_later)
{
	static char large[9000];

	snprintf(large, sizeof(large), "\"%*s\"", (int)sizeof(large) - 8, "");
	send("a", NULL);
	queue_message_send(&r, "q", (struct outgoing){ .id = "b", .body = large });
	pass_ms(1);
	send("c", NULL);
	send("d", NULL);
	assert_string_equal(take(3), "abc");
	send("e", NULL);
	assert_int_equal(queue_delivery_uncount(&r, "q", receipts[2], -1), 1);
	assert_int_equal(queue_delivery_uncount(&r, "q", receipts[0], 0), 1);
	assert_int_equal(queue_delivery_uncount(&r, "q", receipts[1], -1), 1);
	assert_string_equal(take(9), "abcde");
}

TEST(past_its_ttl_it_is_dropped)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .ttl_ms = 30 });
	take(1);
	pass_ms(30);
	assert_int_equal(queue_delivery_uncount(&r, "q", receipts[0], -1), 1);
	assert_int_equal(item_int(&r, QUEUE_DELIVERY_REJECT_AT_MS), 0);
	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(queue_get(&r, "q").expired, 1);
}

/* A strict group waits for the delay, even after an operator changes it. */
TEST(a_strict_group_waits_for_it)
{
	make_strict();
	send("a", "g");
	send("b", "g");
	send("x", "h");
	assert_string_equal(take(9), "ax");
	assert_int_equal(queue_delivery_uncount(&r, "q", receipts[0], 50), 1);
	assert_string_equal(take(9), "");
	assert_int_equal(queue_message_patch(&r, "q", "a", 20, -1, -1), 1);
	assert_string_equal(take(9), "");
	pass_ms(20);
	assert_string_equal(take(9), "a");
	assert_int_equal(queue_delivery_uncount(&r, "q", receipts[0], -1), 1);
	assert_string_equal(take(9), "a");
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[0]), 1);
	assert_string_equal(take(9), "b");
}

/* A settle mixes each kind of reject. A delay of -1 in ARGV means no delay. */
TEST(a_settle_has_each_kind)
{
	char halves[3][2][32];

	queue_put(&r, "q", standard_settings);
	for (const char *id = "a\0b\0c\0"; *id; id += 2)
		send(id, NULL);
	take(3);
	for (size_t i = 0; i < 3; i++) {
		snprintf(halves[i][0], sizeof(halves[i][0]), "%.16s", receipts[i]);
		snprintf(halves[i][1], sizeof(halves[i][1]), "%s", receipts[i] + 17);
	}
	run(&r, &queue_delivery_settle_script, queue_keys("q"),
	    ARGS("0", "0", halves[0][0], halves[0][1], "-1", "why", "0", halves[1][0], halves[1][1], "-1", "why", "1",
		 halves[2][0], halves[2][1], "-1", "why", "2"));
	assert_int_equal(outcome(&r), 3);
	assert_counts(&r, "q", 2, 0, 0, 1);
	assert_int_equal(look("a", ITEM_RECEIVES)->integer, 1);
	assert_string_equal(look("b", ITEM_STATE)->str, "dead");
	assert_int_equal(look("c", ITEM_RECEIVES)->integer, 0);
	assert_string_equal(look("c", ITEM_REASON)->str, "");
	assert_string_equal(take(9), "ca"); /* c has been due since it was sent, a since it failed */
}
