/*
 * The queue scripts for whole queues and for messages that are not in flight, on a real Redis: get,
 * list, cancel, change, settings, purge, redrive, delete.
 */
#include <inttypes.h>

#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

static void receive_one(int64_t visibility_ms, char receipt[64])
{
	assert_int_equal(queue_message_receive(&r, "q", 1, visibility_ms, NONCE_A), 1);
	snprintf(receipt, 64, "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
}

/* Sends a message and makes it a dead letter. */
static void send_dead(const char *id)
{
	char receipt[64];

	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = id, .body = "\"d\"" }), 1);
	receive_one(30000, receipt);
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, -1, "bad", true), 1);
}

/* Sends `count` messages with generated ids. */
static void send_many(int count, struct outgoing m)
{
	struct outgoing batch[BATCH_MAX];

	for (size_t i = 0; i < BATCH_MAX; i++)
		batch[i] = m;
	for (; count > 0; count -= BATCH_MAX)
		queue_send_all(&r, "q", batch, count < BATCH_MAX ? (size_t)count : BATCH_MAX);
}

/* The position of a walk through a list. */
struct walk {
	const char *state;
	char priority[8], score[24], seq[512]; /* the cursor */
	char ids[64][32];                      /* the messages that it returned */
	size_t count;
};

/* Reads a page. Returns false if it was the last. */
static bool walk_on(struct walk *w, const char *limit)
{
	run(&r, &queue_message_list_script, queue_keys("q"),
	    ARGS(w->state, limit, w->priority[0] ? w->priority : "-1", w->score[0] ? w->score : "-1", w->seq, "1"));
	snprintf(w->priority, sizeof(w->priority), "%" PRId64, item_int(&r, QUEUE_MESSAGE_LIST_LAST_PRIORITY));
	snprintf(w->score, sizeof(w->score), "%" PRId64, item_int(&r, QUEUE_MESSAGE_LIST_LAST_AT_MS));
	snprintf(w->seq, sizeof(w->seq), "%s", item_text(&r, QUEUE_MESSAGE_LIST_LAST_SEQUENCE));
	for (size_t i = QUEUE_MESSAGE_LIST_MESSAGES; i < r.reply->elements; i++) {
		assert_string_equal(item_field(&r, i, ITEM_STATE)->str, w->state);
		assert_true(w->count < 64);
		snprintf(w->ids[w->count++], sizeof(w->ids[0]), "%s", item_field(&r, i, ITEM_ID)->str);
	}
	return w->seq[0] != '\0';
}

static void assert_walked(const struct walk *w, size_t count, const char *const ids[])
{
	assert_int_equal(w->count, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(w->ids[i], ids[i]);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

/* (test_queues_model_scripts.c tests all counts.) */
TEST(a_queue_without_anything_has_defaults)
{
	static const int64_t defaults[QUEUE_SETTINGS_ITEMS] = { 30000, 25, 1000, 600000, 300000, 1209600000, 0, 0 };

	struct queue_counts none = queue_get(&r, "q");
	assert_int_equal(none.ready + none.delayed + none.in_flight + none.dead + none.expired + none.sent + none.died,
			 0);
	assert_int_equal(none.oldest_ready_at, -1);
	for (size_t i = 0; i < QUEUE_SETTINGS_MAX_MESSAGES; i++)
		assert_int_equal(item_int(&r, QUEUE_GET_SETTINGS + i), defaults[i]);
	assert_int_equal(server_keys(&r), 0); /* a look creates nothing */
}

TEST(counts_are_true_before_deliveries_are_settled)
{
	queue_put(&r, "q", standard_settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "dies", .max_receives = 1 });
	queue_message_send(&r, "q", (struct outgoing){ .id = "backs off" });
	queue_message_send(&r, "q", (struct outgoing){ .id = "expires", .ttl_ms = 60000 });
	assert_int_equal(queue_message_receive(&r, "q", 3, 1, NONCE_A), 3);
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	/* A look changes nothing. */
	unchanged(&r, {
		assert_counts(&r, "q", 2, 0, 0, 1);
		assert_int_equal(queue_get(&r, "q").died, 1);
		assert_true(queue_get(&r, "q").oldest_ready_at > 0);
	});
	queue_message_receive(&r, "q", 1, 30000, NONCE_A);
	assert_counts(&r, "q", 1, 0, 1, 1);
	assert_int_equal(queue_get(&r, "q").died, 1);
}

/* What ended before new settings is settled by the old ones. */
TEST(new_settings_change_nothing_that_has_ended)
{
	struct queue_settings settings = standard_settings;

	settings.max_receives = 1;
	queue_put(&r, "q", settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "dies" });
	assert_int_equal(queue_message_receive(&r, "q", 1, 1, NONCE_A), 1);
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	assert_counts(&r, "q", 0, 0, 0, 1);
	queue_put(&r, "q", standard_settings);
	assert_counts(&r, "q", 0, 0, 0, 1);
	assert_int_equal(queue_get(&r, "q").died, 1);
}

TEST(settings_are_kept_and_replaced)
{
	struct queue_settings settings = { 1000, 7, 20, 3000, 4000, 5000, true, 60000 };

	queue_put(&r, "q", settings);
	queue_get(&r, "q");
	const int64_t expected[] = { 1000, 7, 20, 3000, 4000, 5000, 1, 60000 };
	for (size_t i = 0; i < QUEUE_SETTINGS_MAX_MESSAGES; i++)
		assert_int_equal(item_int(&r, QUEUE_GET_SETTINGS + i), expected[i]);
	queue_put(&r, "q", standard_settings);
	queue_get(&r, "q");
	assert_int_equal(item_int(&r, QUEUE_GET_SETTINGS + QUEUE_SETTINGS_VISIBILITY_MS), 30000);
	assert_int_equal(item_int(&r, QUEUE_GET_SETTINGS + QUEUE_SETTINGS_BACKOFF_BASE_MS), 0);
	assert_int_equal(item_int(&r, QUEUE_GET_SETTINGS + QUEUE_SETTINGS_PAUSED), 0);
}

TEST(cancel_takes_what_is_not_in_flight)
{
	char receipt[64];

	assert_int_equal(queue_message_delete(&r, "q", "a"), -1);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	receive_one(30000, receipt);
	int64_t until = received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer;
	assert_int_equal(queue_message_delete(&r, "q", "a"), -2);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_DELETE_VISIBLE_UNTIL_MS), until);
	assert_int_equal(queue_delivery_extend(&r, "q", receipt, 1), 1);
	wait_for_clock(&r, item_int(&r, QUEUE_DELIVERY_EXTEND_VISIBLE_UNTIL_MS));
	assert_int_equal(queue_message_delete(&r, "q", "a"), 1); /* the delivery has ended */
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), -1);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a", .delay_ms = 60000 }), 1);
	assert_int_equal(queue_message_delete(&r, "q", "a"), 1);
	send_dead("a");
	assert_int_equal(queue_message_delete(&r, "q", "a"), 1);
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	char *id = strdup(sent(&r, 0, QUEUE_SENT_ID)->str);
	assert_int_equal(queue_message_delete(&r, "q", id), 1);
	assert_int_equal(queue_message_delete(&r, "q", id), -1);
	free(id);
	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(queue_contents(&r, "q") + queue_states(&r, "q"), 0);
	assert_int_equal(server_command(&r, "EXISTS %s", queue_key("q", ":ids"))->integer, 0);
}

TEST(change_moves_a_message)
{
	char receipt[64];

	assert_int_equal(queue_message_patch(&r, "q", "a", 0, -1, -1), -1);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .priority = 5, .delay_ms = 60000 });
	assert_int_equal(queue_message_patch(&r, "q", "a", 90000, -1, -1), 1);
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_PATCH_MESSAGE, ITEM_AT)->integer,
			 item_int(&r, REPLY_NOW_MS) + 90000);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_PATCH_MESSAGE, ITEM_STATE)->str, "delayed");
	assert_int_equal(queue_message_patch(&r, "q", "a", -1, 4102444800000, 2), 1);
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_PATCH_MESSAGE, ITEM_AT)->integer, 4102444800000);
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_PATCH_MESSAGE, ITEM_PRIORITY)->integer, 2);
	assert_int_equal(queue_message_patch(&r, "q", "a", -1, -1, 3), 1); /* only the priority */
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_PATCH_MESSAGE, ITEM_AT)->integer, 4102444800000);
	assert_counts(&r, "q", 0, 1, 0, 0);
	assert_int_equal(queue_message_patch(&r, "q", "a", -1, 1, -1), 1); /* long past, so it is due now */
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_PATCH_MESSAGE, ITEM_AT)->integer, item_int(&r, REPLY_NOW_MS));
	receive_one(30000, receipt);
	assert_int_equal(queue_message_patch(&r, "q", "a", 0, -1, -1), -2);
	queue_delivery_reject(&r, "q", receipt, -1, "bad", true);
	assert_int_equal(queue_message_patch(&r, "q", "a", -1, -1, 1), 1); /* a dead letter becomes ready */
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_PATCH_MESSAGE, ITEM_STATE)->str, "ready");
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_PATCH_MESSAGE, ITEM_RECEIVES)->integer, 0);
	assert_counts(&r, "q", 1, 0, 0, 0);
}

TEST(purge_removes_one_state_or_all)
{
	char receipt[64];
	int steps;

	assert_int_equal(queue_purge(&r, "q", "", NULL), 0);
	send_dead("dead");
	queue_message_send(&r, "q", (struct outgoing){ .id = "flying" });
	receive_one(30000, receipt);
	send_many(2500, (struct outgoing){ .delay_ms = 60000 });
	send_many(3, (struct outgoing){ .priority = 8 });
	assert_int_equal(queue_purge(&r, "q", "ready", NULL), 3);
	assert_counts(&r, "q", 0, 2500, 1, 1);
	assert_int_equal(queue_purge(&r, "q", "delayed", &steps), 2500);
	assert_true(steps >= 3);
	assert_counts(&r, "q", 0, 0, 1, 1);
	assert_int_equal(queue_purge(&r, "q", "in_flight", NULL), 1);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), -1);
	assert_int_equal(queue_purge(&r, "q", "dead", NULL), 1);
	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "dead" }), 1); /* its id is free again */
	send_many(1200, (struct outgoing){ .delay_ms = 60000 });
	queue_put(&r, "q", standard_settings);
	assert_int_equal(queue_purge(&r, "q", "", NULL), 1201);
	assert_int_equal(server_keys(&r), 1);
	assert_int_equal(server_command(&r, "HEXISTS %s visibility_ms", queue_key("q", ""))->integer,
			 1); /* the settings stay */
}

TEST(purge_counts_what_came_back)
{
	queue_put(&r, "q", standard_settings);
	queue_send_all(&r, "q", (const struct outgoing[]){ { .max_receives = 1 }, { 0 } }, 2);
	assert_int_equal(queue_message_receive(&r, "q", 2, 1, NONCE_A), 2);
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	assert_int_equal(queue_purge(&r, "q", "in_flight", NULL), 0);
	assert_int_equal(queue_purge(&r, "q", "ready", NULL), 1);
	assert_int_equal(queue_purge(&r, "q", "dead", NULL), 1);
}

TEST(redrive_brings_the_dead_back)
{
	char receipt[64];
	int steps;

	assert_int_equal(queue_redrive(&r, "q", 1000, NULL), 0);
	send_dead("first");
	send_dead("second");
	queue_message_send(&r, "q", (struct outgoing){ .id = "third", .max_receives = 1, .ttl_ms = 600000 });
	receive_one(1, receipt);
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	assert_int_equal(queue_redrive(&r, "q", 1, NULL), 1);
	assert_counts(&r, "q", 1, 0, 0, 2);
	queue_message_get(&r, "q", "first"); /* dead for longer than the others */
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_STATE)->str, "ready");
	assert_int_equal(queue_redrive(&r, "q", 1000, NULL), 2);
	assert_counts(&r, "q", 3, 0, 0, 0);
	assert_int_equal(queue_message_get(&r, "q", "third"), 0);
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_RECEIVES)->integer, 0);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_REASON)->str, "");
	assert_int_equal(queue_message_receive(&r, "q", 10, 30000, NONCE_B), 3);
	assert_string_equal(received(&r, 0, RECEIVED_ID)->str, "first");
	assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, 1);

	send_many(1500, (struct outgoing){ .max_receives = 1 });
	for (int taken = 0; taken < 1500; taken += 100)
		assert_int_equal(queue_message_receive(&r, "q", 100, 1, NONCE_A), 100);
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	assert_int_equal(queue_redrive(&r, "q", 1200, &steps), 1200);
	assert_true(steps >= 3);
	assert_counts(&r, "q", 1200, 0, 3, 300);
}

/* A redrive by ids leaves messages that are not dead letters unchanged. */
TEST(chosen_letters_are_brought_back)
{
	struct queue_settings settings = standard_settings;
	char receipt[64], own[32];

	queue_put(&r, "q", settings);
	send_dead("a");
	send_dead("b");
	queue_message_send(&r, "q", (struct outgoing){ .body = "1" });
	snprintf(own, sizeof(own), "%s", sent(&r, 0, QUEUE_SENT_ID)->str);
	receive_one(30000, receipt);
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, -1, "bad", true), 1);
	queue_message_send(&r, "q", (struct outgoing){ .id = "done" });
	receive_one(30000, receipt);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
	queue_message_send(&r, "q", (struct outgoing){ .id = "flies" });
	receive_one(30000, receipt);
	queue_message_send(&r, "q", (struct outgoing){ .id = "ended", .max_receives = 1, .ttl_ms = 600000 });
	receive_one(1, receipt);
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	queue_message_send(&r, "q", (struct outgoing){ .id = "ready" });
	unchanged(&r, {
		run(&r, &queue_message_redrive_script, queue_keys("q"),
		    ARGS("0", "done", "flies", "ready", "none", "", "1795219450378210"));
		assert_int_equal(item_int(&r, QUEUE_STEP_TOTAL), 0);
		/* With an "s" appended, two of these are fields of the queue's settings. */
		run(&r, &queue_message_redrive_script, queue_keys("q"),
		    ARGS("0", "visibility_m", "max_receive", "see"));
		assert_int_equal(item_int(&r, QUEUE_STEP_TOTAL), 0);
	});
	run(&r, &queue_message_redrive_script, queue_keys("q"), ARGS("0", "b", "flies", own, "ended"));
	assert_int_equal(item_int(&r, QUEUE_STEP_TOTAL), 3);
	assert_counts(&r, "q", 4, 0, 1, 1);
	assert_int_equal(queue_message_get(&r, "q", "b"), 0);
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_RECEIVES)->integer, 0);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_REASON)->str, "");
	settings.dead_retention_ms = 1;
	queue_put(&r, "q", settings);
	wait_for_clock(&r, item_int(&r, REPLY_NOW_MS) + 2);
	run(&r, &queue_message_redrive_script, queue_keys("q"), ARGS("0", "a"));
	assert_int_equal(item_int(&r, QUEUE_STEP_TOTAL), 0); /* its retention has ended */
}

/*
 * Redrives with a record, from the start, until the redrive has finished or, if it breaks off,
 * until a step moved a message. Returns the total.
 */
static int64_t redrive_again(const char *most, bool breaks_off)
{
	char total[24] = "0";
	int steps = 0;

	do {
		assert_true(++steps < 1000);
		run_with_record(&r, &queue_redrive_script, queue_keys("q"), ARGS(most, "0", total), "p:idem:{q}:k",
				FINGERPRINT_A);
		snprintf(total, sizeof(total), "%lld", (long long)item_int(&r, QUEUE_STEP_TOTAL));
	} while (outcome(&r) == QUEUE_REDRIVE_SETTLED || (outcome(&r) == QUEUE_REDRIVE_MORE && !breaks_off));
	return item_int(&r, QUEUE_STEP_TOTAL);
}

/* A retry moves no more than the request named, and reports no less. */
TEST(a_redrive_that_broke_off_continues)
{
	send_many(1500, (struct outgoing){ .max_receives = 1 });
	for (int taken = 0; taken < 1500; taken += 100)
		assert_int_equal(queue_message_receive(&r, "q", 100, 1, NONCE_A), 100);
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	int64_t moved = redrive_again("1200", true);
	assert_in_range(moved, 1, 1000);
	assert_counts(&r, "q", moved, 0, 0, 1500 - moved);
	assert_int_equal(redrive_again("1200", false), 1200);
	assert_counts(&r, "q", 1200, 0, 0, 300);
	unchanged(&r, assert_int_equal(redrive_again("1200", false), 1200));
}

TEST(dead_letters_are_kept_for_their_retention)
{
	struct queue_settings settings = standard_settings;
	struct walk dead = { .state = "dead" };

	send_dead("b");
	send_dead("a");
	wait_for_clock(&r, item_int(&r, QUEUE_DELIVERY_REJECT_AT_MS) + 2);
	settings.dead_retention_ms = 1;
	queue_put(&r, "q", settings);
	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(queue_message_get(&r, "q", "a"), -1);
	assert_false(walk_on(&dead, "10"));
	assert_int_equal(dead.count, 0);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "b", .delay_ms = 60000 }), 1);
	assert_int_equal(queue_message_delete(&r, "q", "b"), 1);
	assert_int_equal(queue_redrive(&r, "q", 10, NULL), 0);
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_A), 0); /* this call trims */
	assert_int_equal(queue_contents(&r, "q") + queue_states(&r, "q"), 0);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a" }), 1);
	assert_int_equal(queue_get(&r, "q").expired, 0);
}

TEST(delete_leaves_nothing_and_sequences_rise_on)
{
	char receipt[64];

	run(&r, &queue_delete_script, queue_keys("q"), ARGS());
	assert_int_equal(outcome(&r), 0); /* the queue was never used */
	send_dead("dead");
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	int64_t before = strtoll(sent(&r, 0, QUEUE_SENT_ID)->str, NULL, 10);
	receive_one(30000, receipt);
	run(&r, &queue_delete_script, queue_keys("q"), ARGS());
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(server_keys(&r), 0);
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	assert_true(strtoll(sent(&r, 0, QUEUE_SENT_ID)->str, NULL, 10) > before);
	queue_message_receive(&r, "q", 1, 30000, NONCE_B);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), -1);
	assert_counts(&r, "q", 0, 0, 1, 0);
}

TEST(a_list_is_not_upset_by_coming_and_going)
{
	const struct outgoing batch[] = { { .id = "a" },
					  { .id = "b" },
					  { .id = "c" },
					  { .id = "d" },
					  { .id = "e" },
					  { .id = "x", .priority = 4 },
					  { .id = "y", .priority = 4 } };
	struct walk w = { .state = "ready" };

	queue_send_all(&r, "q", batch, 7); /* a to e are due at the same time */
	assert_true(walk_on(&w, "2"));
	queue_message_delete(&r, "q", "a");
	queue_message_delete(&r, "q", "b"); /* the message at the cursor */
	queue_message_delete(&r, "q", "d");
	queue_message_send(&r, "q", (struct outgoing){ .id = "f", .priority = 9 });
	while (walk_on(&w, "2"))
		;
	assert_walked(&w, 7, ARGS("a", "b", "c", "e", "x", "y", "f"));
}

TEST(a_page_may_be_full_of_what_came_back)
{
	struct walk w = { .state = "ready" };

	queue_put(&r, "q", standard_settings);
	queue_send_all(&r, "q", (const struct outgoing[]){ { .id = "a" }, { .id = "b", .priority = 1 } }, 2);
	assert_int_equal(queue_message_receive(&r, "q", 2, 1, NONCE_A), 2);
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	while (walk_on(&w, "1"))
		;
	assert_walked(&w, 2, ARGS("a", "b"));
}

TEST(each_state_is_listed)
{
	struct walk ready = { .state = "ready" }, delayed = { .state = "delayed" },
		    in_flight = { .state = "in_flight" }, dead = { .state = "dead" }, none = { .state = "dead" };
	char receipt[64];

	queue_put(&r, "q", standard_settings);
	assert_false(walk_on(&none, "10"));
	send_dead("dead");
	queue_message_send(&r, "q", (struct outgoing){ .id = "dies", .max_receives = 1 });
	receive_one(1, receipt);
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	queue_message_send(&r, "q", (struct outgoing){ .id = "back" });
	queue_message_send(&r, "q", (struct outgoing){ .id = "back too", .priority = 1 });
	assert_int_equal(queue_message_receive(&r, "q", 2, 1, NONCE_A), 2); /* this call settles "dies" */
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	queue_message_send(&r, "q", (struct outgoing){ .id = "late", .delay_ms = 70000 });
	queue_message_send(&r, "q", (struct outgoing){ .id = "soon", .delay_ms = 60000 });
	queue_message_send(&r, "q", (struct outgoing){ .id = "soon too", .delay_ms = 60000, .priority = 1 });
	queue_message_send(&r, "q", (struct outgoing){ .id = "gone", .ttl_ms = 1 });
	wait_for_clock(&r, item_int(&r, REPLY_NOW_MS) + 1);
	queue_message_send(&r, "q", (struct outgoing){ .id = "ready" });
	assert_false(walk_on(&in_flight, "10"));
	assert_int_equal(in_flight.count, 0); /* an ended delivery is not in flight */
	while (walk_on(&ready, "1"))
		;
	assert_walked(&ready, 3, ARGS("back", "ready", "back too")); /* includes messages that are not settled yet */
	while (walk_on(&delayed, "1"))
		;
	assert_walked(&delayed, 3, ARGS("soon", "soon too", "late"));
	assert_int_equal(queue_message_receive(&r, "q", 3, 30000, NONCE_B), 3);
	while (walk_on(&in_flight, "1"))
		;
	assert_walked(&in_flight, 3, ARGS("back", "back too", "ready")); /* sorted by end, then by arrival */
	while (walk_on(&dead, "1"))
		;
	assert_walked(&dead, 2, ARGS("dead", "dies"));
}
