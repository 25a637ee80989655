/*
 * The end of a delivery, through the queue scripts on a real Redis: acknowledged, extended,
 * rejected, timed out; and which receipts are valid.
 */
#include <inttypes.h>

#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

/* Receives one message and returns a copy of its receipt in `receipt`. */
static void receive_one(int64_t visibility_ms, const char *nonce, char receipt[64])
{
	assert_int_equal(queue_message_receive(&r, "q", 1, visibility_ms, nonce), 1);
	snprintf(receipt, 64, "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
}

static int64_t visible_until(void)
{
	return received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer;
}

static void assert_received_ids(int64_t count, const char *const ids[])
{
	assert_int_equal(outcome(&r), count);
	for (int64_t i = 0; i < count; i++)
		assert_string_equal(received(&r, (size_t)i, RECEIVED_ID)->str, ids[i]);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

TEST(acknowledged_is_gone_and_remembered_for_a_time)
{
	struct queue_settings settings = standard_settings;
	char receipt[64];

	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	receive_one(30000, NONCE_A, receipt);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
	unchanged(&r, assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 0)); /* a repeated call */
	assert_int_equal(queue_delivery_extend(&r, "q", receipt, 1000), -1);
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, 0, "", false), -1);
	assert_int_equal(queue_message_get(&r, "q", "a"), -1);
	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a" }), 0);
	assert_int_equal(sent(&r, 0, QUEUE_SENT_DELIVER_AT_MS)->integer, 0);

	/*
	 * After a short dedupe_ms the id is free, and the trim of old ids spares the new message.
	 */
	settings.dedupe_ms = 15;
	queue_put(&r, "q", settings);
	queue_send_all(&r, "q", (const struct outgoing[]){ { .id = "b" }, { .id = "forgotten" } }, 2);
	assert_int_equal(queue_message_receive(&r, "q", 2, 30000, NONCE_A), 2);
	char *other = strdup(received(&r, 1, RECEIVED_RECEIPT)->str);
	snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", other), 1);
	free(other);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
	wait_for_clock(&r, item_int(&r, REPLY_NOW_MS) + 15);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "b" }), 1);
	queue_trim_next(&r, "q");
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_B), 1);
	assert_int_equal(server_command(&r, "ZCARD %s", queue_key("q", ":done"))->integer, 1); /* the entry of "a" */
	assert_int_equal(queue_message_get(&r, "q", "b"), 0);
	assert_int_equal(server_command(&r, "HEXISTS %s forgotten", queue_key("q", ":ids"))->integer, 0);

	settings.dedupe_ms = 0;
	queue_put(&r, "q", settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "c" });
	receive_one(30000, NONCE_A, receipt);
	queue_delivery_acknowledge(&r, "q", receipt);
	assert_int_equal(server_command(&r, "HEXISTS %s c", queue_key("q", ":ids"))->integer, 0); /* not at all */
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "c" }), 1);
}

/*
 * One receive trims as much as one batch can leave: a hundred ids and a hundred acknowledgements.
 */
TEST(what_is_remembered_is_trimmed_by_one_receive)
{
	static struct outgoing batch[BATCH_MAX];
	static char ids[BATCH_MAX][8], receipts[BATCH_MAX][64];
	const char *done[BATCH_MAX + 1] = { NULL };
	struct queue_settings settings = standard_settings;

	settings.dedupe_ms = 1;
	queue_put(&r, "q", settings);
	for (size_t i = 0; i < BATCH_MAX; i++) {
		snprintf(ids[i], sizeof(ids[i]), "id%zu", i);
		batch[i].id = ids[i];
	}
	queue_send_all(&r, "q", batch, BATCH_MAX);
	assert_int_equal(queue_message_receive(&r, "q", BATCH_MAX, 30000, NONCE_A), BATCH_MAX);
	for (size_t i = 0; i < BATCH_MAX; i++) {
		snprintf(receipts[i], sizeof(receipts[i]), "%s", received(&r, i, RECEIVED_RECEIPT)->str);
		done[i] = receipts[i];
	}
	assert_int_equal(queue_delivery_settle(&r, "q", done, ARGS(), 0), BATCH_MAX);
	wait_for_clock(&r, item_int(&r, REPLY_NOW_MS) + 1);
	char key[64];
	snprintf(key, sizeof(key), "%s", queue_key("q", ":flight"));
	assert_int_equal(server_command(&r, "ZCOUNT %s -inf (0", key)->integer, BATCH_MAX);
	assert_int_equal(queue_states(&r, "q"), BATCH_MAX);
	queue_trim_next(&r, "q");
	queue_message_receive(&r, "q", 1, 30000, NONCE_A);
	assert_int_equal(server_command(&r, "ZCARD %s", key)->integer, BATCH_MAX); /* the ids are trimmed */
	assert_int_equal(server_command(&r, "EXISTS %s", queue_key("q", ":done"))->integer, 0);
	assert_int_equal(server_command(&r, "EXISTS %s", queue_key("q", ":ids"))->integer, 0);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[0]), 0);
	/* As if 150 s had passed: expired entries go, and an entry that has not expired stays. */
	for (size_t i = 1; i < BATCH_MAX; i++) {
		char member[32];
		snprintf(member, sizeof(member), "%.16ss", receipts[i]);
		server_command(&r, "ZADD %s XX -%lld %s", key, (long long)server_now_ms(&r), member);
	}
	queue_message_receive(&r, "q", 1, 30000, NONCE_A); /* nothing is trimmed within a second */
	assert_int_equal(server_command(&r, "ZCARD %s", key)->integer, BATCH_MAX);
	queue_trim_next(&r, "q");
	queue_message_receive(&r, "q", 1, 30000, NONCE_A);
	assert_int_equal(server_command(&r, "ZCARD %s", key)->integer, 1);
	assert_int_equal(queue_states(&r, "q"), 1);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[1]), -1);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[0]), 0);
}

TEST(taken_for_good_is_done_at_once)
{
	struct queue_settings settings = standard_settings;

	queue_send_all(&r, "q",
		       (const struct outgoing[]){ { .id = "a", .body = "{\"n\":1}", .priority = 2 },
						  { .id = "b", .priority = 3 },
						  { .priority = 9 } },
		       3);
	assert_int_equal(queue_take(&r, "q", 2), 2);
	assert_received_ids(2, ARGS("a", "b"));
	assert_string_equal(received(&r, 0, RECEIVED_BODY)->str, "{\"n\":1}");
	assert_int_equal(received(&r, 0, RECEIVED_PRIORITY)->integer, 2);
	assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, 1);
	assert_int_equal(visible_until(), 0);
	assert_counts(&r, "q", 1, 0, 0, 0);
	assert_int_equal(queue_contents(&r, "q"), 1);
	assert_int_equal(queue_states(&r, "q"), 0);
	assert_int_equal(server_command(&r, "ZCARD %s", queue_key("q", ":done"))->integer, 2);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a" }), 0); /* its id is remembered */
	/* A message whose delivery ended, in a queue that remembers no ids. */
	settings.dedupe_ms = 0;
	queue_put(&r, "q", settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "c", .priority = 0 });
	assert_int_equal(queue_message_receive(&r, "q", 1, 1, NONCE_A), 1);
	wait_for_clock(&r, visible_until());
	assert_int_equal(queue_take(&r, "q", 10), 2);
	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "c" }), 1);
	assert_int_equal(queue_take(&r, "q", 10), 1);
	assert_int_equal(queue_take(&r, "q", 10), 0);
}

/* The bodies of one reply are bounded: the rest stays in the queue. */
TEST(taking_for_good_loses_nothing_that_does_not_fit)
{
	enum { HALF = 600000 };
	char *body = malloc(HALF + 3);

	memset(body, 'x', HALF + 2);
	body[0] = body[HALF + 1] = '"';
	body[HALF + 2] = '\0';
	queue_send_all(&r, "q", (const struct outgoing[]){ { .id = "a", .body = body }, { .id = "b", .body = body } },
		       2);
	free(body);
	assert_int_equal(queue_take(&r, "q", 10), 1);
	assert_counts(&r, "q", 1, 0, 0, 0);
	assert_int_equal(queue_take(&r, "q", 10), 1);
	assert_received_ids(1, ARGS("b"));
}

TEST(what_is_not_acknowledged_comes_again)
{
	char first[64], second[64];

	queue_put(&r, "q", standard_settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	receive_one(25, NONCE_A, first);
	int64_t until = visible_until();
	int64_t again_at;
	do {
		queue_message_receive(&r, "q", 1, 30000, NONCE_B);
		again_at = item_int(&r, REPLY_NOW_MS);
		assert_int_equal(outcome(&r), again_at >= until); /* not earlier, but at once */
	} while (outcome(&r) == 0);
	assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, 2);
	snprintf(second, sizeof(second), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
	assert_string_not_equal(first, second);

	unchanged(&r, {
		assert_int_equal(queue_delivery_acknowledge(&r, "q", first), -1);
		assert_int_equal(queue_delivery_extend(&r, "q", first, 1000), -1);
		assert_int_equal(queue_delivery_reject(&r, "q", first, 0, "", false), -1);
	});
	assert_int_equal(queue_delivery_acknowledge(&r, "q", second), 1);
}

TEST(a_delivery_that_ended_is_never_revived)
{
	char receipt[64];

	queue_put(&r, "q", standard_settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	receive_one(1, NONCE_A, receipt);
	wait_for_clock(&r, visible_until());
	/* No call has settled the delivery yet. */
	unchanged(&r, {
		assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), -1);
		assert_int_equal(queue_delivery_extend(&r, "q", receipt, 30000), -1);
		assert_int_equal(queue_delivery_reject(&r, "q", receipt, 0, "", true), -1);
	});
	assert_int_equal(queue_message_get(&r, "q", "a"), 0);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_STATE)->str, "ready");
}

TEST(extending_moves_the_end)
{
	char receipt[64];

	queue_put(&r, "q", standard_settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	receive_one(200, NONCE_A, receipt);
	int64_t until = visible_until();
	assert_int_equal(queue_delivery_extend(&r, "q", receipt, 20000), 1);
	assert_string_equal(item_text(&r, QUEUE_DELIVERY_EXTEND_ID), "a");
	assert_int_equal(item_int(&r, QUEUE_DELIVERY_EXTEND_VISIBLE_UNTIL_MS), item_int(&r, REPLY_NOW_MS) + 20000);
	wait_for_clock(&r, until);
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_B), 0);
	assert_int_equal(queue_delivery_extend(&r, "q", receipt, -1), 1);
	assert_int_equal(item_int(&r, QUEUE_DELIVERY_EXTEND_VISIBLE_UNTIL_MS), item_int(&r, REPLY_NOW_MS) + 30000);
	assert_int_equal(queue_delivery_extend(&r, "q", receipt, 1), 1); /* an earlier end than before */
	wait_for_clock(&r, item_int(&r, QUEUE_DELIVERY_EXTEND_VISIBLE_UNTIL_MS));
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_B), 1);
}

TEST(too_many_deliveries_make_a_dead_letter)
{
	struct queue_settings settings = standard_settings;
	char receipt[64];

	settings.max_receives = 2;
	queue_put(&r, "q", settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "queue's", .body = "1", .ttl_ms = 600000 });
	int64_t died_at = 0;
	for (int i = 0; i < 2; i++) {
		receive_one(1, NONCE_A, receipt);
		died_at = visible_until();
		wait_for_clock(&r, died_at);
	}
	assert_int_equal(queue_message_get(&r, "q", "queue's"), 0); /* dead before any call settles it, ... */
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_STATE)->str, "dead");
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_B), 0);
	assert_int_equal(queue_message_get(&r, "q", "queue's"), 0); /* ... and afterwards, too */
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_STATE)->str, "dead");
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_AT)->integer, died_at);
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_RECEIVES)->integer, 2);
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_EXPIRES_AT)->integer, 0);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_REASON)->str,
			    "visibility expired; max_receives");

	queue_message_send(&r, "q", (struct outgoing){ .id = "own", .max_receives = 1 });
	receive_one(30000, NONCE_A, receipt);
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, 5000, "no such account", false), 1);
	assert_string_equal(item_text(&r, QUEUE_DELIVERY_REJECT_ID), "own");
	assert_int_equal(item_int(&r, QUEUE_DELIVERY_REJECT_IS_DEAD), 1);
	assert_int_equal(queue_message_get(&r, "q", "own"), 0);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_REASON)->str,
			    "no such account; max_receives");
	assert_counts(&r, "q", 0, 0, 0, 2);
}

TEST(rejecting_returns_a_message)
{
	char receipt[64];

	queue_put(&r, "q", standard_settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .priority = 3 });
	receive_one(30000, NONCE_A, receipt);
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, 25, "busy", false), 1);
	assert_int_equal(item_int(&r, QUEUE_DELIVERY_REJECT_IS_DEAD), 0);
	assert_int_equal(item_int(&r, QUEUE_DELIVERY_REJECT_AT_MS), item_int(&r, REPLY_NOW_MS) + 25);
	int64_t due = item_int(&r, QUEUE_DELIVERY_REJECT_AT_MS);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), -1); /* the message was returned */
	assert_int_equal(queue_message_get(&r, "q", "a"), 0);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_REASON)->str, "busy");
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_PRIORITY)->integer, 3);
	wait_for_clock(&r, due);
	receive_one(30000, NONCE_A, receipt);
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, -1, "", false), 1); /* no backoff: due at once */
	assert_int_equal(item_int(&r, QUEUE_DELIVERY_REJECT_AT_MS), item_int(&r, REPLY_NOW_MS));
	receive_one(30000, NONCE_A, receipt);
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, 100, "poison", true), 1);
	assert_int_equal(item_int(&r, QUEUE_DELIVERY_REJECT_IS_DEAD), 1);
	assert_int_equal(queue_message_get(&r, "q", "a"), 0);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_REASON)->str, "poison");
}

static void receive_as(const char *worker, char receipt[64])
{
	run(&r, &queue_message_receive_script, queue_keys("q"),
	    ARGS("1", "30000", NONCE_A, "0", "", "0", "0", "", worker));
	assert_int_equal(outcome(&r), 1);
	snprintf(receipt, 64, "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
}

static void assert_worker(const char *id, const char *worker, const char *reason)
{
	assert_int_equal(queue_message_get(&r, "q", id), 0);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_WORKER)->str, worker);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_REASON)->str, reason);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_ID)->str, id);
}

/* The name is kept until the next delivery or a redrive, with any options and any reason. */
TEST(a_message_names_its_last_worker)
{
	static char large[9000];
	const struct outgoing rows[] = { { .body = "1" },
					 { .id = "own", .max_receives = 9 },
					 { .body = large },
					 { .id = "large", .body = large, .ttl_ms = 600000 } };
	char receipt[64], id[64];

	memset(large, '1', sizeof(large) - 1);
	queue_put(&r, "q", standard_settings);
	for (size_t i = 0; i < COUNT(rows); i++) {
		queue_message_send(&r, "q", rows[i]);
		snprintf(id, sizeof(id), "%s", sent(&r, 0, QUEUE_SENT_ID)->str);
		assert_worker(id, "", "");
		receive_as("a%09b", receipt);
		assert_worker(id, "a%09b", "");
		assert_int_equal(queue_delivery_extend(&r, "q", receipt, 60000), 1);
		assert_worker(id, "a%09b", "");
		assert_int_equal(queue_delivery_reject(&r, "q", receipt, 0, "two\tparts", false), 1);
		assert_worker(id, "a%09b", "two\tparts");
		receive_as("c", receipt);
		assert_worker(id, "c", "two\tparts");
		assert_int_equal(queue_delivery_reject(&r, "q", receipt, 0, "", true), 1);
		assert_worker(id, "c", "rejected");
		assert_int_equal(queue_redrive(&r, "q", 1, NULL), 1);
		assert_worker(id, "", "");
		receive_as("d", receipt);
		assert_int_equal(queue_delivery_reject(&r, "q", receipt, 0, "", false), 1);
		receive_one(30000, NONCE_A, receipt); /* by a worker without a name */
		assert_worker(id, "", "rejected");
		assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
	}
}

/* A delivery that reached no client names no worker. */
TEST(a_returned_message_has_no_worker)
{
	char receipt[64];

	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	receive_as("w", receipt);
	char *stored = strdup(received(&r, 0, RECEIVED_STATE)->str);
	*strchr(receipt, '.') = '\0';
	run(&r, &queue_delivery_return_script, queue_keys("q"), ARGS(receipt, stored, ""));
	assert_int_equal(outcome(&r), 1);
	free(stored);
	assert_worker("a", "", "");
}

TEST(backoff_doubles_up_to_its_ceiling)
{
	static const int64_t delays[] = { 1000, 2000, 4000, 5000, 5000 };
	struct queue_settings settings = standard_settings;
	char receipt[64];

	settings.max_receives = 100;
	settings.backoff_base_ms = 1000;
	settings.backoff_max_ms = 5000;
	queue_put(&r, "q", settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	for (size_t i = 0; i < 5; i++) {
		receive_one(30000, NONCE_A, receipt);
		queue_delivery_reject(&r, "q", receipt, -1, "", false);
		int64_t delay_ms = item_int(&r, QUEUE_DELIVERY_REJECT_AT_MS) - item_int(&r, REPLY_NOW_MS);
		assert_int_equal(delay_ms, queue_backoff_ms(receipt, delays[i]));
		assert_in_range(delay_ms, delays[i] / 2, delays[i]);
		queue_message_patch(&r, "q", "a", 0, -1, -1);
	}
	receive_one(1, NONCE_A, receipt);
	int64_t until = visible_until();
	wait_for_clock(&r, until);
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_B),
			 0); /* an ended visibility also leads to a backoff */
	assert_int_equal(queue_message_get(&r, "q", "a"), 0);
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_AT)->integer,
			 until + queue_backoff_ms(receipt, 5000));
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_REASON)->str, "visibility expired");
}

TEST(a_receipt_of_another_queue_means_nothing)
{
	char receipt[64], other[64];

	/* Chosen so that both get the same sequence. */
	int64_t seq = server_now_us(&r) + 3600000000;
	server_command(&r, "HSET %s seq %lld", queue_key("q", ""), (long long)seq);
	server_command(&r, "HSET %s seq %lld", queue_key("other", ""), (long long)seq);
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	queue_message_send(&r, "other", (struct outgoing){ 0 });
	receive_one(30000, NONCE_A, receipt);
	assert_int_equal(queue_message_receive(&r, "other", 1, 30000, NONCE_B), 1);
	snprintf(other, sizeof(other), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
	assert_memory_equal(receipt, other, 17);
	assert_int_equal(queue_delivery_acknowledge(&r, "other", receipt), -1);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", other), -1);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
	assert_int_equal(queue_delivery_acknowledge(&r, "other", other), 1);
}

TEST(a_full_redis_can_be_drained)
{
	const struct outgoing m = { .id = "b" };
	char receipt[64];

	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	server_command(&r, "CONFIG SET maxmemory 1");
	run_fails(&r, &queue_message_send_script, queue_keys("q"), outgoing_args(&m, 1), "OOM");
	receive_one(30000, NONCE_A, receipt);
	assert_int_equal(queue_delivery_extend(&r, "q", receipt, 30000), 1);
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, 0, "", false), 1);
	receive_one(30000, NONCE_A, receipt);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
}
