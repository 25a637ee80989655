/*
 * One call of queue_delivery_settle ends many deliveries, on a real Redis. It ends each as
 * queue_delivery_acknowledge or queue_delivery_reject would, all at one instant, and none if a key
 * is foreign.
 */
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { EXPIRED, ACKNOWLEDGED, REJECTED };

static char receipts[BATCH_MAX][64];

/* Receives `count` messages. Their receipts are in `receipts` from `at` on. */
static void receive(int count, int64_t visibility_ms, const char *nonce, size_t at)
{
	assert_int_equal(queue_message_receive(&r, "q", count, visibility_ms, nonce), count);
	for (size_t i = 0; i < (size_t)count; i++)
		snprintf(receipts[at + i], sizeof(receipts[0]), "%s", received(&r, i, RECEIVED_RECEIPT)->str);
}

static void assert_outcomes(const int outcomes[], size_t count)
{
	int64_t effects = 0;

	assert_int_equal(r.reply->elements, QUEUE_DELIVERY_SETTLE_OUTCOMES + count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(item_int(&r, QUEUE_DELIVERY_SETTLE_OUTCOMES + i), outcomes[i]);
	for (size_t i = 0; i < count; i++)
		effects += outcomes[i] != EXPIRED;
	assert_true(outcome(&r) <= effects);
}
#define OUTCOMES(...) assert_outcomes((const int[]){ __VA_ARGS__ }, sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

TEST(each_ends_as_it_would_alone)
{
	const struct outgoing batch[] = { { .id = "done" },
					  { .id = "later", .priority = 5 },
					  { .id = "dead", .priority = 6, .max_receives = 1 },
					  { .id = "kept", .priority = 7 } };

	queue_send_all(&r, "q", batch, 4);
	receive(4, 30000, NONCE_A, 0);
	assert_int_equal(queue_delivery_settle(&r, "q", ARGS(receipts[0]), ARGS(receipts[1], receipts[2]), 7000), 3);
	int64_t now_ms = item_int(&r, REPLY_NOW_MS);
	OUTCOMES(ACKNOWLEDGED, REJECTED, REJECTED);
	assert_counts(&r, "q", 0, 1, 1, 1);
	/* Acknowledged: the message is gone, and its id is remembered. */
	assert_int_equal(queue_message_get(&r, "q", "done"), -1);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "done" }), 0);
	assert_int_equal(server_command(&r, "ZSCORE %s done", queue_key("q", ":done"))->type, REDIS_REPLY_STRING);
	assert_int_equal(queue_contents(&r, "q"), 3);
	/* Rejected: the message is due after its delay, with its own priority. */
	assert_int_equal(queue_message_get(&r, "q", "later"), 0);
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_AT)->integer, now_ms + 7000);
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_PRIORITY)->integer, 5);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_REASON)->str, "rejected");
	/* Rejected for the last time: the message is dead. */
	assert_int_equal(queue_message_get(&r, "q", "dead"), 0);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_STATE)->str, "dead");
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_AT)->integer, now_ms);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_REASON)->str, "rejected; max_receives");
	/* Not named: its delivery continues. */
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[3]), 1);
}

TEST(without_a_delay_the_backoff_holds)
{
	struct queue_settings settings = standard_settings;

	settings.backoff_base_ms = 1000;
	settings.backoff_max_ms = 60000;
	queue_put(&r, "q", settings);
	queue_send_all(&r, "q", (const struct outgoing[]){ { .id = "a" }, { .id = "b" } }, 2);
	receive(1, 30000, NONCE_A, 0);
	queue_delivery_reject(&r, "q", receipts[0], 0, "", false);
	receive(2, 30000, NONCE_B, 0); /* the second delivery of a, which is behind b unless both were due at once */
	bool is_a_first = strncmp(receipts[0], receipts[1], 16) < 0; /* compares the sequences */
	assert_int_equal(queue_delivery_settle(&r, "q", ARGS(), ARGS(receipts[0], receipts[1]), -1), 2);
	int64_t now_ms = item_int(&r, REPLY_NOW_MS);
	queue_message_get(&r, "q", "a");
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_AT)->integer,
			 now_ms + queue_backoff_ms(receipts[is_a_first ? 0 : 1], 2000));
	queue_message_get(&r, "q", "b");
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_AT)->integer,
			 now_ms + queue_backoff_ms(receipts[is_a_first ? 1 : 0], 1000));
}

TEST(a_stale_one_does_not_stop_the_others)
{
	queue_put(&r, "q", standard_settings);
	for (int i = 0; i < 5; i++)
		queue_message_send(&r, "q", (struct outgoing){ 0 });
	receive(1, 1, NONCE_A, 0); /* this delivery ends */
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	receive(4, 30000, NONCE_B, 1);
	queue_delivery_reject(&r, "q", receipts[1], 60000, "", false); /* a returned message */
	queue_delivery_acknowledge(&r, "q", receipts[2]);              /* an acknowledged message */
	const char *const *done = ARGS(receipts[0], receipts[1], receipts[2], receipts[3]);
	assert_int_equal(queue_delivery_settle(&r, "q", done, ARGS(receipts[0], receipts[1], receipts[2], receipts[4]),
					       60000),
			 2);
	OUTCOMES(EXPIRED, EXPIRED, ACKNOWLEDGED, ACKNOWLEDGED, EXPIRED, EXPIRED, EXPIRED, REJECTED);
	assert_counts(&r, "q", 1, 2, 0, 0);
	/* A repeated call has no effect. */
	unchanged(&r,
		  assert_int_equal(queue_delivery_settle(&r, "q", ARGS(receipts[2], receipts[3]), ARGS(receipts[4]), 0),
				   0));
	queue_delivery_settle(&r, "q", ARGS(receipts[2], receipts[3]), ARGS(receipts[4]), 0);
	OUTCOMES(ACKNOWLEDGED, ACKNOWLEDGED, EXPIRED);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[3]), 0); /* known to both scripts */
}

/* A receipt named twice: the second one sees the effect of the first. */
TEST(the_same_receipt_counts_once)
{
	queue_send_all(&r, "q", (const struct outgoing[]){ { .id = "a" }, { .id = "b" } }, 2);
	receive(2, 30000, NONCE_A, 0);
	const char *a = receipts[0], *b = receipts[1];
	assert_int_equal(queue_delivery_settle(&r, "q", ARGS(a, a), ARGS(a, b, b), 60000), 2);
	OUTCOMES(ACKNOWLEDGED, ACKNOWLEDGED, EXPIRED, REJECTED, EXPIRED);
	assert_counts(&r, "q", 0, 1, 0, 0);
	queue_message_get(&r, "q", "b");
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_RECEIVES)->integer, 1);
	/* A new delivery of b, whose first delivery ended above. */
	queue_message_patch(&r, "q", "b", 0, -1, -1);
	receive(1, 30000, NONCE_B, 0);
	assert_int_equal(queue_delivery_settle(&r, "q", ARGS(receipts[0], b), ARGS(), 0), 1);
	OUTCOMES(ACKNOWLEDGED, EXPIRED); /* b's old receipt was rejected */
}

TEST(one_past_its_ttl_is_dropped_and_counted)
{
	queue_send_all(&r, "q",
		       (const struct outgoing[]){ { .id = "a", .ttl_ms = 30 }, { .id = "b", .ttl_ms = 30 }, { 0 } }, 3);
	receive(3, 30000, NONCE_A, 0);
	wait_for_clock(&r, received(&r, 0, RECEIVED_SENT_AT)->integer + 30);
	assert_int_equal(queue_delivery_settle(&r, "q", ARGS(receipts[2]), ARGS(receipts[0], receipts[1]), 0), 3);
	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(queue_get(&r, "q").expired, 2);
}

TEST(a_hundred_of_each_fit)
{
	static char copies[2 * BATCH_MAX][64];
	const char *done[BATCH_MAX + 1] = { NULL }, *reject[BATCH_MAX + 1] = { NULL };
	const struct outgoing batch[BATCH_MAX] = { 0 };

	for (size_t half = 0; half < 2; half++) {
		queue_send_all(&r, "q", batch, BATCH_MAX);
		receive(BATCH_MAX, 30000, NONCE_A, 0);
		for (size_t i = 0; i < BATCH_MAX; i++) {
			char *copy = copies[half * BATCH_MAX + i];
			snprintf(copy, sizeof(copies[0]), "%s", receipts[i]);
			(half ? reject : done)[i] = copy;
		}
	}
	assert_int_equal(queue_delivery_settle(&r, "q", done, reject, 60000), 2 * BATCH_MAX);
	assert_counts(&r, "q", 0, BATCH_MAX, 0, 0);
}

TEST(a_replay_gets_the_first_outcomes)
{
	const char *record = queue_key("q", ":idem:k");
	char record_key[64], nonce[17], seq[17];

	snprintf(record_key, sizeof(record_key), "%s", record);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	receive(1, 30000, NONCE_A, 0);
	snprintf(seq, sizeof(seq), "%.16s", receipts[0]);
	snprintf(nonce, sizeof(nonce), "%s", receipts[0] + 17);
	const char *const *args = ARGS("0", "0", seq, nonce, "0", "", "0");
	run_with_record(&r, &queue_delivery_settle_script, queue_keys("q"), args, record_key, FINGERPRINT_A);
	OUTCOMES(REJECTED);
	receive(1, 30000, NONCE_B, 0);
	unchanged(&r,
		  run_with_record(&r, &queue_delivery_settle_script, queue_keys("q"), args, record_key, FINGERPRINT_A));
	run_with_record(&r, &queue_delivery_settle_script, queue_keys("q"), args, record_key, FINGERPRINT_A);
	OUTCOMES(REJECTED);
	/* A call without an effect is not recorded. */
	server_command(&r, "DEL %s", record_key);
	run_with_record(&r, &queue_delivery_settle_script, queue_keys("q"), args, record_key, FINGERPRINT_A);
	OUTCOMES(EXPIRED);
	assert_int_equal(redis_exists(&r, record_key), 0);
}

TEST(a_full_redis_can_be_drained)
{
	queue_send_all(&r, "q", (const struct outgoing[]){ { .id = "a" }, { .id = "b" } }, 2);
	receive(2, 30000, NONCE_A, 0);
	server_command(&r, "CONFIG SET maxmemory 1");
	assert_int_equal(queue_delivery_settle(&r, "q", ARGS(receipts[0]), ARGS(receipts[1]), 0), 2);
}
