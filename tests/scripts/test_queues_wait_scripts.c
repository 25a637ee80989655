/*
 * The queue scripts for waiters, on a real Redis: what each announces, what a receive reports of
 * the remaining messages, and how messages return that were received for a client that had left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "queue_calls.h"
#include "script_stage.h"

enum { PATIENCE_S = 5, ALL_BYTES = 256 };

#define ROWS(table) (sizeof(table) / sizeof(*(table)))
#define CHANNEL "p:queue:{q}"

/* ---- Announcements: "<units> <in_ms>", on the channel of the queue ---- */

static redisContext *listener;

static int open_all(void **state)
{
	struct timeval patience = { .tv_sec = PATIENCE_S };

	script_stage_open(state);
	listener = redisConnectUnix(r.socket_path);
	assert_non_null(listener);
	redisSetTimeout(listener, patience);
	redisReply *reply = redisCommand(listener, "SSUBSCRIBE " CHANNEL);
	assert_non_null(reply);
	freeReplyObject(reply);
	return 0;
}

static int close_all(void **state)
{
	redisFree(listener);
	return script_stage_close(state);
}

/* All announcements since the last call, joined by commas. */
static const char *published(void)
{
	static char all[ALL_BYTES];

	*all = '\0';
	server_command(&r, "SPUBLISH " CHANNEL " end");
	for (;;) {
		redisReply *reply = NULL;
		if (redisGetReply(listener, (void **)&reply) != REDIS_OK)
			fail_msg("nothing is heard: %s", listener->errstr);
		assert_int_equal(reply->elements, 3);
		bool is_end = strcmp(reply->element[2]->str, "end") == 0;
		size_t len = strlen(all);
		if (!is_end)
			snprintf(all + len, sizeof(all) - len, "%s%s", *all ? "," : "", reply->element[2]->str);
		freeReplyObject(reply);
		if (is_end)
			return all;
	}
}

static char receipt[64], other_receipt[64];

static void take_two(void)
{
	assert_int_equal(queue_message_receive(&r, "q", 2, 60000, NONCE_A), 2);
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

static void backoff(void)
{
	configured(500, false);
	two_in_flight();
}

static void paused(void)
{
	two_in_flight();
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

static void are_redriven(void)
{
	queue_redrive(&r, "q", -1, NULL);
}

static void is_purged(void)
{
	queue_purge(&r, "q", "dead", NULL);
}

static void goes_on(void)
{
	configured(0, false);
}

static void stays_paused(void)
{
	configured(0, true);
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	queue_delivery_reject(&r, "q", receipt, 0, "", false);
}

static const struct announced {
	const char *name;
	void (*before)(void), (*then)(void);
	const char *wanted;
} announcements[] = {
	{ "a message", nothing, is_sent, "1 -1" },
	{ "a message for later", nothing, is_sent_for_later, "0 500" },
	{ "a batch", nothing, a_batch_is_sent, "2 300" },
	{ "a duplicate", is_sent, is_sent_again, "" },
	{ "a message of another queue", nothing, another_queue_is_sent_to, "" },
	{ "rejected", two_in_flight, is_rejected, "1 -1" },
	{ "rejected for later", two_in_flight, is_rejected_for_later, "0 400" },
	{ "rejected with backoff", backoff, is_rejected, "0 500" },
	{ "rejected for ever", two_in_flight, is_rejected_for_ever, "" },
	{ "settled", two_in_flight, are_rejected, "2 -1" },
	{ "done", two_in_flight, are_done, "" },
	{ "extended", two_in_flight, is_extended, "" },
	{ "shortened", two_in_flight, is_shortened, "0 500" },
	{ "due now", delayed, is_due, "1 -1" },
	{ "due sooner", delayed, is_due_sooner, "0 500" },
	{ "cancelled", delayed, is_cancelled, "" },
	{ "redriven", two_dead, are_redriven, "2 -1" },
	{ "a dead letter due now", two_dead, is_due, "1 -1" },
	{ "purged", two_dead, is_purged, "" },
	{ "no longer paused", paused, goes_on, "1 -1" },
	{ "paused", paused, stays_paused, "" },
};

static void what_can_be_taken_is_announced(void **state)
{
	const struct announced *a = *state;

	a->before();
	published();
	a->then();
	assert_string_equal(published(), a->wanted);
}

/* Any look settles ended deliveries, and these may be due later than announced. */
static void what_a_look_makes_due_is_announced(void **state)
{
	(void)state;
	configured(500, false);
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	assert_int_equal(queue_message_receive(&r, "q", 1, 1, NONCE_A), 1);
	int64_t until_ms = received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer;
	wait_for_clock(&r, until_ms);
	published();
	assert_int_equal(queue_message_receive(&r, "q", 1, 1, NONCE_B), 0);
	int64_t in_ms = until_ms + 500 - item_int(&r, 1);
	char wanted[32];
	snprintf(wanted, sizeof(wanted), "%d %lld", in_ms <= 0 ? 1 : 0, in_ms <= 0 ? -1LL : (long long)in_ms);
	assert_string_equal(published(), wanted);
}

static void what_fails_announces_nothing(void **state)
{
	(void)state;
	published();
	server_command(&r, "SET %s foreign", queue_key("q", ":ids"));
	run_fails(&r, &queue_message_send_script, queue_keys("q"), outgoing_args(&(struct outgoing){ 0 }, 1),
		  "WRONGTYPE");
	assert_string_equal(published(), "");
}

/* ---- The remaining messages ---- */

/* KEYS of two queues. */
static const char *const *keys_of(const char *first, const char *second)
{
	static char *names[2 * QUEUE_KEYS + 1];

	for (size_t q = 0; q < 2; q++) {
		const char *const *keys = queue_keys(q ? second : first);
		for (size_t i = 0; i < QUEUE_KEYS; i++) {
			free(names[q * QUEUE_KEYS + i]);
			names[q * QUEUE_KEYS + i] = strdup(keys[i]);
		}
	}
	return (const char *const *)names;
}

/* A receive that reports what remains; that part of its reply. */
static int64_t left_of(const char *const *keys, const char *most, size_t part)
{
	run(&r, &queue_message_receive_script, keys, ARGS(most, "60000", NONCE_B, "0", "1"));
	const redisReply *left = r.reply->element[3];
	assert_true(part < left->elements);
	return left->element[part]->integer;
}

enum { READY, NEXT_AT, SECOND_READY, SECOND_NEXT_AT };

static void a_receive_reports_what_is_left(void **state)
{
	(void)state;
	assert_int_equal(left_of(queue_keys("q"), "1", READY), 0);
	assert_int_equal(left_of(queue_keys("q"), "1", NEXT_AT), -1);
	const struct outgoing batch[] = {
		{ 0 }, { .priority = 9 }, { .priority = 1 }, { .priority = 1, .delay_ms = 5000 }
	};
	queue_send_all(&r, "q", batch, 4);
	int64_t due_ms = sent(&r, 3, SENT_DELIVER_AT)->integer;
	assert_int_equal(left_of(queue_keys("q"), "1", READY), 2);
	assert_int_equal(left_of(queue_keys("q"), "1", NEXT_AT), due_ms);
	assert_int_equal(left_of(queue_keys("q"), "1", READY), 0);
	/* Messages in flight may return earlier. */
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	assert_int_equal(queue_message_receive(&r, "q", 1, 2000, NONCE_A), 1);
	int64_t until_ms = received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer;
	assert_int_equal(left_of(queue_keys("q"), "1", NEXT_AT), until_ms);
	configured(0, true);
	assert_int_equal(left_of(queue_keys("q"), "1", READY), 0);
	assert_int_equal(left_of(queue_keys("q"), "1", NEXT_AT), -1);
}

static void a_receive_of_two_queues_reports_each(void **state)
{
	const struct outgoing two[] = { { 0 }, { .delay_ms = 5000 } };

	(void)state;
	queue_send_all(&r, "q", two, 2);
	queue_send_all(&r, "s", two, 2);
	int64_t due_ms = sent(&r, 1, SENT_DELIVER_AT)->integer;
	assert_int_equal(left_of(keys_of("s", "q"), "1", READY), 0);
	assert_int_equal(received(&r, 0, RECEIVED_QUEUE)->integer, 0);
	assert_int_equal(r.reply->element[3]->element[NEXT_AT]->integer, due_ms);
	assert_int_equal(r.reply->element[3]->element[SECOND_READY]->integer, 1);
	assert_int_equal(left_of(keys_of("s", "q"), "1", SECOND_READY), 0);
	assert_int_equal(received(&r, 0, RECEIVED_QUEUE)->integer, 1);
	assert_true(r.reply->element[3]->element[SECOND_NEXT_AT]->integer <= due_ms);
}

/* The first queue is left alone when a key of the second is foreign. */
static void a_foreign_key_of_the_second_queue_stops_the_first(void **state)
{
	(void)state;
	for (size_t k = 0; k < QUEUE_KEYS; k++) {
		script_stage_empty(NULL);
		queue_message_send(&r, "s", (struct outgoing){ 0 });
		queue_message_send(&r, "q", (struct outgoing){ 0 });
		char *key = strdup(queue_keys("q")[k]);
		server_command(&r, "DEL %s", key);
		server_command(&r, "SET %s foreign", key);
		free(key);
		unchanged(&r, run_fails(&r, &queue_message_receive_script, keys_of("s", "q"),
					ARGS("2", "60000", NONCE_B, "0", "1"), "WRONGTYPE"));
	}
}

/* A replay reports the remaining messages of the first time, and marks them as such. */
static void a_replay_reports_nothing_of_what_is_left(void **state)
{
	const char *const record = "p:idem:{1}";

	(void)state;
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	run_with_record(&r, &queue_message_receive_script, queue_keys("q"), ARGS("1", "-1", NONCE_A, "0", "1"), record,
			FINGERPRINT_A);
	int64_t then_ms = item_int(&r, 1);
	wait_for_clock(&r, then_ms + 1);
	run_with_record(&r, &queue_message_receive_script, queue_keys("q"), ARGS("1", "-1", NONCE_B, "0", "1"), record,
			FINGERPRINT_A);
	assert_int_equal(item_int(&r, 0), 1);
	assert_true(item_int(&r, 1) > then_ms);
	assert_int_equal(r.reply->element[3]->elements, 0);
}

/* ---- Returned messages ---- */

static int64_t put_back(const char *const proofs[])
{
	run(&r, &queue_delivery_return_script, queue_keys("q"), proofs);
	return item_int(&r, 0);
}

/*
 * The halves of the receipt of message `i` of the last receive; they live until the next command.
 */
static const char *sequence(size_t i)
{
	static char text[4][32];

	snprintf(text[i], sizeof(text[i]), "%.16s", received(&r, i, RECEIVED_RECEIPT)->str);
	return text[i];
}

static void what_goes_back_was_not_received(void **state)
{
	const struct outgoing batch[] = { { .id = "a", .max_receives = 1 }, { .body = "2" }, { .body = "3" } };

	(void)state;
	queue_send_all(&r, "q", batch, 3);
	for (int i = 0; i < 3; i++) { /* it would be a dead letter if these deliveries counted */
		assert_int_equal(queue_message_receive(&r, "q", 2, 60000, NONCE_A), 2);
		assert_string_equal(received(&r, 0, RECEIVED_ID)->str, "a");
		assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, 1);
		assert_string_equal(received(&r, 1, RECEIVED_BODY)->str, "2");
		const char *const proofs[] = { sequence(0), NONCE_A, "", sequence(1), NONCE_A, "", NULL };
		published();
		assert_int_equal(put_back(proofs), 2);
		assert_string_equal(published(), "2 -1");
		assert_counts(&r, "q", 3, 0, 0, 0);
	}
}

static void an_ended_delivery_returns_nothing(void **state)
{
	(void)state;
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	assert_int_equal(queue_message_receive(&r, "q", 1, 60000, NONCE_A), 1);
	char seq[32];
	snprintf(seq, sizeof(seq), "%s", sequence(0));
	unchanged(&r, assert_int_equal(put_back(ARGS(seq, NONCE_B, "")), 0));
	unchanged(&r, assert_int_equal(put_back(ARGS("1795235154960504", NONCE_A, "")), 0));
	assert_int_equal(put_back(ARGS(seq, NONCE_A, "")), 1);
	unchanged(&r, assert_int_equal(put_back(ARGS(seq, NONCE_A, "")), 0)); /* already returned */
	/* The delivery has ended: others may receive it at any moment. */
	assert_int_equal(queue_message_receive(&r, "q", 1, 1, NONCE_A), 1);
	wait_for_clock(&r, received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer);
	unchanged(&r, assert_int_equal(put_back(ARGS(seq, NONCE_A, "")), 0));
}

/*
 * Acknowledged at once, for a client that had left: the whole message returns, including its id
 * unless another message has that.
 */
static void what_was_acknowledged_for_a_lost_client_returns(void **state)
{
	(void)state;
	for (int id_is_taken = 0; id_is_taken < 2; id_is_taken++) {
		char seq[32], record[160], content[160];
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
		published();
		assert_int_equal(put_back(ARGS(seq, record, content)), 1);
		assert_string_equal(published(), "1 -1");
		assert_int_equal(queue_message_receive(&r, "q", 10, 60000, NONCE_A), 1 + id_is_taken);
		size_t last = (size_t)id_is_taken; /* behind the other, whose priority is 0 */
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

static void a_foreign_key_keeps_all_as_it_is(void **state)
{
	(void)state;
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	assert_int_equal(queue_message_receive(&r, "q", 1, 60000, NONCE_A), 1);
	char seq[32];
	snprintf(seq, sizeof(seq), "%s", sequence(0));
	server_command(&r, "DEL %s", queue_key("q", ":ready"));
	server_command(&r, "SET %s foreign", queue_key("q", ":ready"));
	unchanged(&r,
		  run_fails(&r, &queue_delivery_return_script, queue_keys("q"), ARGS(seq, NONCE_A, ""), "WRONGTYPE"));
}

/* Each millisecond; or changed, to end in the past. */
static void put_schedule(void)
{
	run(&r, &queue_schedule_put_script, queue_keys("q"),
	    ARGS("s", "\"s\"", "0", "=1", "~", "~", "~", "~", "~", "~", "~", "=1"));
}

static void end_schedule(void)
{
	run(&r, &queue_schedule_put_script, queue_keys("q"),
	    ARGS("s", "\"s\"", "1", "", "", "", "", "=1", "", "", "", ""));
	assert_int_equal(item_int(&r, 0), -4);
}

/* A refused change of a schedule has made the message of an instant that came before. */
static void a_refused_schedule_announces_what_it_made(void **state)
{
	(void)state;
	const char *message = "";

	put_schedule();
	published();
	for (int i = 0; i < 10000 && !*message; i++) { /* until an instant has come */
		end_schedule();
		message = published();
	}
	assert_memory_equal(message, "1 ", 2);
	assert_int_equal(queue_message_receive(&r, "q", 1, 60000, NONCE_A), 1);
}

int main(void)
{
	static const struct CMUnitTest others[] = {
		cmocka_unit_test_teardown(what_a_look_makes_due_is_announced, script_stage_empty),
		cmocka_unit_test_teardown(what_fails_announces_nothing, script_stage_empty),
		cmocka_unit_test_teardown(a_receive_reports_what_is_left, script_stage_empty),
		cmocka_unit_test_teardown(a_receive_of_two_queues_reports_each, script_stage_empty),
		cmocka_unit_test_teardown(a_foreign_key_of_the_second_queue_stops_the_first, script_stage_empty),
		cmocka_unit_test_teardown(a_replay_reports_nothing_of_what_is_left, script_stage_empty),
		cmocka_unit_test_teardown(what_goes_back_was_not_received, script_stage_empty),
		cmocka_unit_test_teardown(an_ended_delivery_returns_nothing, script_stage_empty),
		cmocka_unit_test_teardown(what_was_acknowledged_for_a_lost_client_returns, script_stage_empty),
		cmocka_unit_test_teardown(a_foreign_key_keeps_all_as_it_is, script_stage_empty),
		cmocka_unit_test_teardown(a_refused_schedule_announces_what_it_made, script_stage_empty),
	};
	static struct CMUnitTest tests[ROWS(others) + ROWS(announcements)];

	memcpy(tests, others, sizeof(others));
	for (size_t i = 0; i < ROWS(announcements); i++)
		tests[ROWS(others) + i] = (struct CMUnitTest){ .name = announcements[i].name,
							       .test_func = what_can_be_taken_is_announced,
							       .teardown_func = script_stage_empty,
							       .initial_state = (void *)(uintptr_t)&announcements[i] };
	return cmocka_run_group_tests_name("queue wait scripts", tests, open_all, close_all);
}
