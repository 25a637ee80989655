/*
 * A message that is cancelled while it is in flight. It is gone at once for all but its worker,
 * which learns of it from its next call about the delivery. The last test is about a message's own
 * backoff.
 */
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { REMEMBERED_MS = 150000, CANCELLED = -2, STALE = -1, SETTLED_CANCELLED = 4 };

static char receipt[64];

static void pass_ms(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

static void receive_a(const struct outgoing *m)
{
	queue_message_send(&r, "q", m ? *m : (struct outgoing){ .id = "a", .body = "1" });
	assert_int_equal(queue_message_receive(&r, "q", 1, REMEMBERED_MS, NONCE_A), 1);
	snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
}

static void cancel_a(void)
{
	assert_int_equal(queue_message_cancel(&r, "q", "a"), 1);
}

static int64_t by_acknowledging(void)
{
	return queue_delivery_acknowledge(&r, "q", receipt);
}

static int64_t by_extending(void)
{
	return queue_delivery_extend(&r, "q", receipt, 1000);
}

static int64_t by_rejecting(void)
{
	return queue_delivery_reject(&r, "q", receipt, 0, "no", false);
}

static int64_t by_rejecting_dead(void)
{
	return queue_delivery_reject(&r, "q", receipt, 0, "no", true);
}

/* Converts the outcome of one receipt of a settle to an outcome of the other calls. */
static int64_t settled(void)
{
	int64_t row = item_int(&r, QUEUE_DELIVERY_SETTLE_OUTCOMES);

	assert_int_equal(outcome(&r), row > 0 && row < SETTLED_CANCELLED ? 1 : 0);
	return row == SETTLED_CANCELLED ? CANCELLED : row == 0 ? STALE : 1;
}

static int64_t by_settling(void)
{
	queue_delivery_settle(&r, "q", ARGS(receipt), ARGS(), 0);
	return settled();
}

static int64_t by_settling_a_reject(void)
{
	queue_delivery_settle(&r, "q", ARGS(), ARGS(receipt), 0);
	return settled();
}

static int64_t (*const ways[])(void) = { by_acknowledging,  by_extending, by_rejecting,
					 by_rejecting_dead, by_settling,  by_settling_a_reject };
enum { WAYS = COUNT(ways) };

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .before = script_stage_empty);

TEST(the_worker_learns_of_it)
{
	for (size_t i = 0; i < WAYS; i++) {
		script_stage_empty(NULL);
		receive_a(NULL);
		cancel_a();
		assert_int_equal(queue_message_get(&r, "q", "a"), -1);
		assert_int_equal(queue_contents(&r, "q"), 0);
		assert_counts(&r, "q", 0, 0, 1, 0); /* in flight until its worker knows */
		assert_int_equal(ways[i](), CANCELLED);
		assert_counts(&r, "q", 0, 0, 0, 0);
		for (size_t again = 0; again < WAYS; again++) /* a client may lose the answer and retry */
			unchanged(&r, assert_int_equal(ways[again](), CANCELLED));
		pass_ms(REMEMBERED_MS);
		for (size_t again = 0; again < WAYS; again++)
			assert_int_equal(ways[again](), STALE);
		assert_int_equal(queue_message_receive(&r, "q", 1, REMEMBERED_MS, NONCE_B), 0);
		assert_int_equal(queue_states(&r, "q"), 0); /* trimmed */
		assert_counts(&r, "q", 0, 0, 0, 0);
		assert_int_equal(queue_get(&r, "q").expired + queue_get(&r, "q").died, 0);
	}
}

/* If the worker never calls again, the delivery ends with its visibility. */
TEST(it_ends_with_its_visibility)
{
	const struct outgoing m = { .id = "a", .max_receives = 1, .ttl_ms = 2LL * REMEMBERED_MS };

	for (int with_options = 0; with_options < 2; with_options++) {
		script_stage_empty(NULL);
		receive_a(with_options ? &m : NULL);
		cancel_a();
		pass_ms(REMEMBERED_MS);
		assert_counts(&r, "q", 0, 0, 0, 0);
		for (size_t i = 0; i < WAYS; i++)
			unchanged(&r, assert_int_equal(ways[i](), STALE));
		assert_int_equal(queue_message_receive(&r, "q", 1, REMEMBERED_MS, NONCE_B), 0);
		assert_counts(&r, "q", 0, 0, 0, 0);
		assert_int_equal(queue_states(&r, "q"), 0);
		assert_int_equal(queue_get(&r, "q").expired + queue_get(&r, "q").died, 0);
	}
}

/* Cancels a message twice, one that is not in flight, and one whose delivery ended. */
TEST(others_are_cancelled_as_ever)
{
	assert_int_equal(queue_message_cancel(&r, "q", "a"), -1);
	receive_a(NULL);
	cancel_a();
	unchanged(&r, assert_int_equal(queue_message_cancel(&r, "q", "a"), -1));
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" }); /* its id is free at once */
	cancel_a();
	assert_counts(&r, "q", 0, 0, 1, 0);
	assert_int_equal(by_acknowledging(), CANCELLED);
	queue_put(&r, "q", standard_settings);
	receive_a(NULL);
	pass_ms(REMEMBERED_MS);
	cancel_a();
	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(by_acknowledging(), STALE);
	/* A message whose id the daemon made. */
	const struct outgoing m = { .body = "1" };
	receive_a(&m);
	char seq[17];
	snprintf(seq, sizeof(seq), "%.16s", receipt);
	assert_int_equal(queue_message_delete(&r, "q", seq), -2);
	assert_int_equal(queue_message_cancel(&r, "q", seq), 1);
	assert_int_equal(queue_message_cancel(&r, "q", seq), -1);
	assert_int_equal(by_extending(), CANCELLED);
}

/* A new message with the same id is not affected by the end of the cancelled one. */
TEST(its_id_is_another_messages)
{
	for (size_t i = 0; i < WAYS; i++) {
		script_stage_empty(NULL);
		receive_a(NULL);
		cancel_a();
		assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = "2" }), 1);
		assert_int_equal(ways[i](), CANCELLED);
		assert_int_equal(queue_message_get(&r, "q", "a"), 0);
		assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a" }), 0);
		assert_counts(&r, "q", 1, 0, 0, 0);
	}
	script_stage_empty(NULL);
	receive_a(NULL);
	cancel_a();
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = "2" });
	pass_ms(REMEMBERED_MS);
	queue_put(&r, "q", standard_settings); /* this call settles what has ended */
	assert_int_equal(queue_states(&r, "q"), 0);
	assert_int_equal(queue_message_get(&r, "q", "a"), 0);
}

/* No list shows a cancelled message. A purge removes it, and does not count it. */
TEST(it_is_in_no_list)
{
	receive_a(NULL);
	cancel_a();
	run(&r, &queue_message_list_script, queue_keys("q"), ARGS("in_flight", "100", "-1", "-1", "", "1"));
	assert_int_equal(r.reply->elements, QUEUE_MESSAGE_LIST_MESSAGES);
	assert_int_equal(queue_purge(&r, "q", "in_flight", NULL), 0);
	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(by_acknowledging(), STALE);
	assert_int_equal(queue_states(&r, "q"), 0);
}

/*
 * A replay of the receive no longer returns the message. The receive's client may also have left.
 */
TEST(a_receive_does_not_return_it)
{
	char seq[17];

	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	queue_message_send(&r, "q", (struct outgoing){ .id = "b" });
	const char *const *args = ARGS("2", "60000", NONCE_A, "0", "", "0", "0");
	run_with_record(&r, &queue_message_receive_script, queue_keys("q"), args, "p:idem:{q}:k", FINGERPRINT_A);
	snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
	snprintf(seq, sizeof(seq), "%.16s", receipt);
	char *stored = strdup(received(&r, 0, RECEIVED_STATE)->str);
	cancel_a();
	run_with_record(&r, &queue_message_receive_script, queue_keys("q"), args, "p:idem:{q}:k", FINGERPRINT_A);
	assert_int_equal(r.reply->elements, QUEUE_MESSAGE_RECEIVE_DELIVERIES + 1);
	assert_string_equal(received(&r, 0, RECEIVED_ID)->str, "b");
	run(&r, &queue_delivery_return_script, queue_keys("q"), ARGS(seq, stored, ""));
	assert_int_equal(outcome(&r), 0);
	assert_counts(&r, "q", 0, 0, 1, 0);
	assert_int_equal(by_extending(), CANCELLED);
	free(stored);
}

/* The replay of an extension that succeeded reports that the delivery has ended. */
TEST(a_replayed_extension_has_ended)
{
	char *dot;

	receive_a(NULL);
	dot = strchr(receipt, '.');
	*dot = '\0';
	const char *const *args = ARGS(receipt, dot + 1, "60000", "");
	run_with_record(&r, &queue_delivery_extend_script, queue_keys("q"), args, "p:idem:{q}:k", FINGERPRINT_A);
	cancel_a();
	unchanged(&r, run_with_record_ended(&r, &queue_delivery_extend_script, queue_keys("q"), args, "p:idem:{q}:k",
					    FINGERPRINT_A));
}

/* ---- The backoff of a message ---- */

TEST(a_message_has_its_own_backoff)
{
	static const struct {
		const char *backoff;
		int64_t first, third;
	} rows[] = {
		{ NULL, 1000, 3000 }, { "50:150", 50, 150 },
		{ "50:", 50, 200 },   { ":2000", 1000, 2000 },
		{ ":10", 10, 10 },    { "5000:", 5000, 5000 },
		{ "0:", 0, 0 },       { "3600000:3600000", 3600000, 3600000 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		script_stage_empty(NULL);
		struct queue_settings settings = standard_settings;
		settings.backoff_base_ms = 1000;
		settings.backoff_max_ms = 3000;
		queue_put(&r, "q", settings);
		queue_message_send(&r, "q", (struct outgoing){ .id = "a", .backoff = rows[i].backoff });
		for (int try = 1; try <= 3; try++) {
			assert_int_equal(queue_message_receive(&r, "q", 1, REMEMBERED_MS, try % 2 ? NONCE_A : NONCE_B),
					 1);
			snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
			int64_t ended_at = *script_clock_us / 1000;
			if (try == 2) { /* the backoff is the same when time ends the delivery */
				pass_ms(REMEMBERED_MS);
				ended_at += REMEMBERED_MS;
				queue_message_get(&r, "q", "a");
			} else {
				queue_delivery_reject(&r, "q", receipt, -1, "no", false);
				queue_message_get(&r, "q", "a");
			}
			int64_t at = item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_AT)->integer;
			if (try != 2)
				assert_int_equal(at - ended_at,
						 queue_backoff_ms(receipt, try == 1 ? rows[i].first : rows[i].third));
			pass_ms(at - ended_at);
		}
	}
}
