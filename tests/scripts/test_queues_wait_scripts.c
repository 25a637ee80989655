/*
 * The queue scripts for waiters, on a real Redis: which waiters each change notifies, and how
 * messages return that were received for a client that had left. (More on the wait queue:
 * test_queues_line_scripts.c.)
 */
#include "line_look.h"
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

#define QUEUE "p:queue:{q}"
#define A1 QUEUE_TICKET(DAEMON_A, 1, 1)
#define B1 QUEUE_TICKET(DAEMON_B, 1, 1)
#define C1 QUEUE_TICKET(DAEMON_C, 1, 1)

enum { WAIT_MS = 20000 };

static int open_all(void **state)
{
	script_stage_open(state);
	line_attend(&r, QUEUE);
	line_subscribe(&r, QUEUE);
	return 0;
}

static int close_all(void **state)
{
	line_subscribe(&r, NULL);
	return script_stage_close(state);
}

/* The notifications since the last call: "A1 0" means that A1 may come now. */
static const char *notified(void)
{
	return line_published(&r);
}

static int empty_all(void **state)
{
	notified();
	return script_stage_empty(state);
}

/* Three waiters of one message each join. Their notifications so far are dropped. */
static void three_wait(void)
{
	static const char *const tickets[] = { A1, B1, C1 };

	for (size_t i = 0; i < COUNT(tickets); i++)
		assert_int_equal(queue_wait(&r, "q", tickets[i], WAIT_MS, 0), 0);
	assert_string_equal(line_tickets(&r, QUEUE), A1 " " B1 " " C1);
	notified();
}

/* ---- What each change publishes ---- */

static char receipt[64], other_receipt[64], record[160], content[160];
static char nonce[17];

/* Keeps the nonce of the first delivery of the last reply, which has Redis's time. */
static void keep_nonce(void)
{
	snprintf(nonce, sizeof(nonce), "%s", received(&r, 0, RECEIVED_RECEIPT)->str + 17);
}

static void take_two(void)
{
	assert_int_equal(queue_message_receive(&r, "q", 2, 60000, NONCE_A), 2);
	keep_nonce();
	snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
	snprintf(other_receipt, sizeof(other_receipt), "%s", received(&r, 1, RECEIVED_RECEIPT)->str);
}

static void two_in_flight(void)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = "m" });
	queue_message_send(&r, "q", (struct outgoing){ .id = "n" });
	take_two();
}

static void two_dead(void)
{
	two_in_flight();
	queue_delivery_reject(&r, "q", receipt, 0, "", true);
	queue_delivery_reject(&r, "q", other_receipt, 0, "", true);
}

static void configured(int64_t backoff_ms, bool paused)
{
	struct queue_settings s = standard_settings;

	s.backoff_base_ms = s.backoff_max_ms = backoff_ms;
	s.paused = paused;
	queue_put(&r, "q", s);
}

static void nothing(void)
{
}

static void delayed(void)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = "m", .delay_ms = 60000 });
}

static void without_backoff(void)
{
	configured(0, false);
	two_in_flight();
}

static void paused(void)
{
	two_in_flight();
	configured(0, true);
}

static void paused_with_one(void)
{
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	configured(0, true);
}

static void is_sent(void)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = "m" });
}

static void is_sent_again(void)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = "m" });
}

static void is_sent_for_later(void)
{
	queue_message_send(&r, "q", (struct outgoing){ .delay_ms = 500 });
}

static void a_batch_is_sent(void)
{
	const struct outgoing batch[] = { { 0 }, { .delay_ms = 700 }, { .priority = 9 }, { .delay_ms = 300 } };

	queue_send_all(&r, "q", batch, 4);
}

static void a_batch_is_ready(void)
{
	const struct outgoing batch[] = { { 0 }, { .priority = 9 } };

	queue_send_all(&r, "q", batch, 2);
}

static void more_than_wait_is_ready(void)
{
	const struct outgoing batch[] = { { 0 }, { 0 }, { 0 }, { 0 }, { .delay_ms = 700 } };

	queue_send_all(&r, "q", batch, 5);
}

static void another_queue_is_sent_to(void)
{
	queue_message_send(&r, "other", (struct outgoing){ 0 });
}

static void is_rejected(void)
{
	queue_delivery_reject(&r, "q", receipt, -1, "", false);
}

static void is_rejected_for_later(void)
{
	queue_delivery_reject(&r, "q", receipt, 400, "", false);
}

static void is_rejected_for_ever(void)
{
	queue_delivery_reject(&r, "q", receipt, -1, "", true);
}

static void are_rejected(void)
{
	queue_delivery_settle(&r, "q", ARGS(NULL), ARGS(receipt, other_receipt), 0);
}

static void are_done(void)
{
	queue_delivery_settle(&r, "q", ARGS(receipt), ARGS(NULL), 0);
	queue_delivery_acknowledge(&r, "q", other_receipt);
}

static void is_extended(void)
{
	queue_delivery_extend(&r, "q", receipt, 90000);
}

static void is_shortened(void)
{
	queue_delivery_extend(&r, "q", receipt, 500);
}

static int64_t put_back(const char *const proofs[])
{
	run(&r, &queue_delivery_return_script, queue_keys("q"), proofs);
	return outcome(&r);
}

static void are_returned(void)
{
	char seqs[2][32];

	snprintf(seqs[0], sizeof(seqs[0]), "%.16s", receipt);
	snprintf(seqs[1], sizeof(seqs[1]), "%.16s", other_receipt);
	put_back(ARGS(seqs[0], nonce, "", seqs[1], nonce, ""));
}

static void one_done(void)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = "m" });
	queue_take(&r, "q", 1);
	snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
	snprintf(record, sizeof(record), "%s", received(&r, 0, RECEIVED_STATE)->str);
	snprintf(content, sizeof(content), "%s", received(&r, 0, RECEIVED_CONTENT)->str);
}

static void is_brought_back(void)
{
	char seq[32];

	snprintf(seq, sizeof(seq), "%.16s", receipt);
	put_back(ARGS(seq, record, content));
}

static void is_due(void)
{
	queue_message_patch(&r, "q", "m", 0, -1, -1);
}

static void is_due_sooner(void)
{
	queue_message_patch(&r, "q", "m", 500, -1, -1);
}

static void is_cancelled(void)
{
	queue_message_delete(&r, "q", "m");
}

static void is_later(void)
{
	queue_message_patch(&r, "q", "m", 70000, -1, -1);
}

static void is_redriven(void)
{
	run(&r, &queue_message_redrive_script, queue_keys("q"), ARGS("0", "m"));
}

static void are_redriven(void)
{
	queue_redrive(&r, "q", -1, NULL);
}

static void is_purged(void)
{
	queue_purge(&r, "q", "dead", NULL);
}

static void all_is_purged(void)
{
	queue_purge(&r, "q", "", NULL);
}

static void is_deleted(void)
{
	run(&r, &queue_delete_script, queue_keys("q"), ARGS());
}

static void is_scheduled(void)
{
	run(&r, &queue_schedule_put_script, queue_keys("q"), EVERY("s", "=500"));
}

static void resume(void)
{
	configured(0, false);
}

static void stays_paused(void)
{
	configured(0, true);
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	queue_delivery_reject(&r, "q", receipt, 0, "", false);
}

/*
 * Three waiters join after `before`. `wanted` is which waiter looks when after `then`, and which
 * guards a second later.
 */
static const struct change {
	const char *name;
	void (*before)(void), (*then)(void);
	const char *wanted;
} changes[] = {
	{ "a message", nothing, is_sent, "A1 0, C1 1000, B1 2000" },
	{ "a message for later", nothing, is_sent_for_later, "A1 500, C1 1500" },
	{ "a batch that is ready", nothing, a_batch_is_ready, "A1 0, B1 0, C1 1000" },
	{ "a batch", nothing, a_batch_is_sent, "A1 0, B1 0, C1 1000, C1 300, B1 1300" },
	{ "more than wait for it", nothing, more_than_wait_is_ready, "A1 0, B1 0, C1 0" },
	{ "a duplicate", delayed, is_sent_again, "" },
	{ "a message of another queue", nothing, another_queue_is_sent_to, "" },
	{ "rejected", without_backoff, is_rejected, "A1 0, C1 1000, B1 2000" },
	{ "rejected for later", two_in_flight, is_rejected_for_later, "A1 400, C1 1400" },
	{ "rejected for ever", two_in_flight, is_rejected_for_ever, "" },
	{ "settled", two_in_flight, are_rejected, "A1 0, B1 0, C1 1000" },
	{ "returned", two_in_flight, are_returned, "A1 0, B1 0, C1 1000" },
	{ "returned though it was done", one_done, is_brought_back, "A1 0, C1 1000, B1 2000" },
	{ "done", two_in_flight, are_done, "" },
	{ "extended", two_in_flight, is_extended, "" },
	{ "shortened", two_in_flight, is_shortened, "A1 500, C1 1500" },
	{ "due now", delayed, is_due, "A1 0, C1 1000, B1 2000" },
	{ "due sooner", delayed, is_due_sooner, "A1 500, C1 1500" },
	{ "due later", delayed, is_later, "" },
	{ "cancelled", delayed, is_cancelled, "" },
	{ "redriven", two_dead, are_redriven, "A1 0, B1 0, C1 1000" },
	{ "redriven by its id", two_dead, is_redriven, "A1 0, C1 1000, B1 2000" },
	{ "a dead letter due now", two_dead, is_due, "A1 0, C1 1000, B1 2000" },
	{ "dead letters purged", two_dead, is_purged, "" },
	{ "all purged", delayed, all_is_purged, "" },
	{ "deleted", delayed, is_deleted, "A! 0, B! 0, C! 0" },
	{ "no longer paused", paused_with_one, resume, "A1 0, C1 1000, B1 2000" },
	{ "paused", paused, stays_paused, "" },
	{ "paused while they wait", two_in_flight, stays_paused, "" },
	{ "scheduled", nothing, is_scheduled, "A1 500, C1 1500" },
	{ "scheduled while paused", paused_with_one, is_scheduled, "" },
};

static void the_waiter_that_can_proceed_is_notified(void **state)
{
	const struct change *c = *state;

	c->before();
	three_wait();
	c->then();
	assert_string_equal(notified(), c->wanted);
	assert_string_equal(line_tickets(&r, QUEUE), A1 " " B1 " " C1);
}

TEST_ROWS(the_waiter_that_can_proceed_is_notified, changes, name);

/* Without waiters the same changes publish nothing. */
TEST(nothing_is_published_without_a_waiter)
{
	for (size_t i = 0; i < COUNT(changes); i++) {
		changes[i].before();
		changes[i].then();
		assert_string_equal(notified(), "");
		assert_int_equal(redis_exists(&r, QUEUE ":waiters"), 0);
		script_stage_empty(NULL);
	}
}

TEST(a_backoff_is_published)
{
	char wanted[64];

	two_in_flight();
	three_wait();
	is_rejected();
	long long backoff_ms = queue_backoff_ms(receipt, 1000);
	snprintf(wanted, sizeof(wanted), "A1 %lld, C1 %lld", backoff_ms, backoff_ms + 1000);
	assert_string_equal(notified(), wanted);
}

/* Any look settles ended deliveries, whose messages may be due later than their end. */
TEST(what_a_look_makes_due_is_published)
{
	configured(900, false);
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	assert_int_equal(queue_message_receive(&r, "q", 1, 50, NONCE_A), 1);
	int64_t until_ms = received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer;
	int64_t due_ms = until_ms + queue_backoff_ms(received(&r, 0, RECEIVED_RECEIPT)->str, 900);
	three_wait();
	wait_for_clock(&r, until_ms);
	assert_int_equal(queue_wait(&r, "q", A1, WAIT_MS, 1), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), due_ms);
	notified();
	/* When this waiter leaves, the next one looks. */
	queue_leave(&r, "q", A1);
	char wanted[64];
	snprintf(wanted, sizeof(wanted), "B1 %lld", (long long)(due_ms - item_int(&r, REPLY_NOW_MS)));
	assert_memory_equal(notified(), wanted, strlen(wanted));
}

/* The earlier message with the id is past its ttl. */
TEST(a_message_with_an_id_that_is_free_again_is_published)
{
	three_wait();
	queue_message_send(&r, "q", (struct outgoing){ .id = "m", .delay_ms = 5, .ttl_ms = 6 });
	int64_t sent_ms = item_int(&r, REPLY_NOW_MS);
	assert_string_equal(notified(), "A1 5, C1 1005");
	wait_for_clock(&r, sent_ms + 6);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "m" }), 1);
	assert_string_equal(notified(), "A1 0, B1 2000");
	assert_counts(&r, "q", 1, 0, 0, 0);
	assert_int_equal(queue_get(&r, "q").expired, 1);
}

TEST(what_fails_publishes_nothing)
{
	three_wait();
	server_command(&r, "SET %s foreign", queue_key("q", ":ids"));
	unchanged(&r, run_fails(&r, &queue_message_send_script, queue_keys("q"),
				outgoing_args(&(struct outgoing){ 0 }, 1), "WRONGTYPE"));
	assert_string_equal(notified(), "");
}

/*
 * A dead letter is not settled yet. Without the check, a script would settle it before it refuses.
 */
TEST(a_foreign_wait_queue_stops_all)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = "m", .max_receives = 1 });
	assert_int_equal(queue_message_receive(&r, "q", 1, 2, NONCE_A), 1);
	wait_for_clock(&r, item_int(&r, REPLY_NOW_MS) + 2);
	server_command(&r, "ZADD %s 1 foreign", queue_key("q", ":waiters"));
	unchanged(&r, run_fails(&r, &queue_message_patch_script, queue_keys("q"), ARGS("m", "0", "-1", "-1", "-1"),
				"WRONGTYPE"));
	unchanged(&r, run_fails(&r, &queue_message_redrive_script, queue_keys("q"), ARGS("0", "m"), "WRONGTYPE"));
	unchanged(&r, run_fails(&r, &queue_message_receive_script, queue_keys("q"),
				ARGS("1", "-1", NONCE_B, "0", "", "0", "0"), "WRONGTYPE"));
}

/* ---- Returned messages ---- */

/*
 * The halves of the receipt of message `i` of the latest receive. They live until the next command.
 */
static const char *sequence(size_t i)
{
	static char text[4][32];

	snprintf(text[i], sizeof(text[i]), "%.16s", received(&r, i, RECEIVED_RECEIPT)->str);
	return text[i];
}

TEST(what_goes_back_was_not_received)
{
	const struct outgoing batch[] = { { .id = "a", .max_receives = 1 }, { .body = "2" }, { .body = "3" } };

	queue_send_all(&r, "q", batch, 3);
	for (int i = 0; i < 3; i++) { /* a would be a dead letter if these deliveries counted */
		assert_int_equal(queue_message_receive(&r, "q", 2, 60000, NONCE_A), 2);
		keep_nonce();
		assert_string_equal(received(&r, 0, RECEIVED_ID)->str, "a");
		assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, 1);
		assert_string_equal(received(&r, 1, RECEIVED_BODY)->str, "2");
		const char *const proofs[] = { sequence(0), nonce, "", sequence(1), nonce, "", NULL };
		assert_int_equal(put_back(proofs), 2);
		assert_counts(&r, "q", 3, 0, 0, 0);
	}
}

TEST(an_ended_delivery_returns_nothing)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	assert_int_equal(queue_message_receive(&r, "q", 1, 60000, NONCE_A), 1);
	keep_nonce();
	char seq[32];
	snprintf(seq, sizeof(seq), "%s", sequence(0));
	unchanged(&r, assert_int_equal(put_back(ARGS(seq, NONCE_B, "")), 0));
	unchanged(&r, assert_int_equal(put_back(ARGS("1795235154960504", NONCE_A, "")), 0));
	assert_int_equal(put_back(ARGS(seq, nonce, "")), 1);
	unchanged(&r, assert_int_equal(put_back(ARGS(seq, nonce, "")), 0)); /* already returned */
	/* The delivery has ended, so other workers may receive the message at any moment. */
	assert_int_equal(queue_message_receive(&r, "q", 1, 1, NONCE_A), 1);
	keep_nonce();
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	unchanged(&r, assert_int_equal(put_back(ARGS(seq, nonce, "")), 0));
}

/*
 * Messages acknowledged at once for a client that had left. The whole message returns, with its id
 * unless another message has that id.
 */
TEST(what_was_acknowledged_for_a_lost_client_returns)
{
	for (int id_is_taken = 0; id_is_taken < 2; id_is_taken++) {
		char seq[32];
		queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = "[1]", .priority = 7 });
		assert_int_equal(queue_take(&r, "q", 1), 1);
		snprintf(seq, sizeof(seq), "%s", sequence(0));
		snprintf(record, sizeof(record), "%s", received(&r, 0, RECEIVED_STATE)->str);
		snprintf(content, sizeof(content), "%s", received(&r, 0, RECEIVED_CONTENT)->str);
		assert_int_equal(queue_message_get(&r, "q", "a"), -1);
		if (id_is_taken) {
			server_command(&r, "ZREM %s a", queue_key("q", ":done"));
			server_command(&r, "HDEL %s a", queue_key("q", ":ids"));
			assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = "2" }), 1);
		}
		assert_int_equal(put_back(ARGS(seq, record, content)), 1);
		assert_int_equal(queue_message_receive(&r, "q", 10, 60000, NONCE_A), 1 + id_is_taken);
		size_t last = (size_t)id_is_taken; /* behind the other message, whose priority is 0 */
		assert_string_equal(received(&r, last, RECEIVED_BODY)->str, "[1]");
		assert_int_equal(received(&r, last, RECEIVED_PRIORITY)->integer, 7);
		assert_int_equal(received(&r, last, RECEIVED_RECEIVES)->integer, 1);
		assert_string_equal(received(&r, last, RECEIVED_ID)->str, id_is_taken ? seq : "a");
		if (!id_is_taken)
			assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a" }),
					 0); /* a duplicate */
		script_stage_empty(NULL);
	}
}

/* put_schedule has an instant each millisecond. end_schedule sets an end in the past. */
static void put_schedule(void)
{
	run(&r, &queue_schedule_put_script, queue_keys("q"), EVERY("s", "=1"));
}

static void end_schedule(void)
{
	run(&r, &queue_schedule_put_script, queue_keys("q"),
	    ARGS("s", "\"s\"", "1", "", "", "", "", "=1", "", "", "", "", "", "", "", "", "", ""));
	assert_int_equal(outcome(&r), QUEUE_SCHEDULE_PUT_NO_INSTANT_BEFORE_END);
}

/* A refused change of a schedule still makes the message of an instant that has come. */
TEST(a_refused_schedule_publishes_what_it_made)
{
	three_wait();
	put_schedule();
	assert_string_equal(notified(), "A1 1, C1 1001");
	do { /* until an instant has come */
		end_schedule();
	} while (queue_get(&r, "q").sent == 0);
	const char *message = notified();
	assert_memory_equal(message, "A1 0", 4);
	assert_int_equal(queue_wait(&r, "q", A1, WAIT_MS, 1), 1);
}

SUITE(.open = open_all, .close = close_all, .after = empty_all);
