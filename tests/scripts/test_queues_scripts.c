/*
 * Sending and receiving through the queue scripts on a real Redis: order, ids, ttl, sizes, retries.
 * No script applies a part of its changes when a key is foreign. (The end of a delivery:
 * test_queues_delivery_scripts.c. Whole queues: test_queues_admin_scripts.c.)
 */
#include <inttypes.h>

#include "line_look.h"
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

#define TICKET QUEUE_TICKET(DAEMON_A, 1, 1)
/* ARGV of queue_message_receive for a client that does not wait. */
#define RECEIVE_ARGS(max, visibility_ms, nonce) ARGS(max, visibility_ms, nonce, "0", "", "0", "0")

static int open_all(void **state)
{
	script_stage_open(state);
	line_attend(&r, "p:queue:{q}");
	return 0;
}

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

SUITE(.open = open_all, .close = script_stage_close, .before = script_stage_empty);

TEST(a_message_arrives_as_it_was_sent)
{
	assert_int_equal(queue_message_send(&r, "q",
					    (struct outgoing){ .body = "{\"a\":[1,\"\xc3\xa9\"]}", .priority = 7 }),
			 1);
	char *id = strdup(sent(&r, 0, QUEUE_SENT_ID)->str);
	int64_t sent_at = item_int(&r, REPLY_NOW_MS);
	assert_int_equal(strlen(id), 16);
	assert_int_equal(queue_message_receive(&r, "q", 10, -1, NONCE_A), 1);
	assert_string_equal(received(&r, 0, RECEIVED_ID)->str, id);
	assert_string_equal(received(&r, 0, RECEIVED_BODY)->str, "{\"a\":[1,\"\xc3\xa9\"]}");
	assert_int_equal(received(&r, 0, RECEIVED_PRIORITY)->integer, 7);
	assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, 1);
	assert_int_equal(received(&r, 0, RECEIVED_SENT_AT)->integer, sent_at);
	assert_int_equal(visible_until(), item_int(&r, REPLY_NOW_MS) + 30000); /* by the queue's setting */
	assert_int_equal(strncmp(received(&r, 0, RECEIVED_RECEIPT)->str, id, 16), 0);
	char wanted[32]; /* a nonce begins with the time */
	snprintf(wanted, sizeof(wanted), "%" PRId64 "%s", item_int(&r, REPLY_NOW_MS) / 1000, NONCE_A + 10);
	assert_string_equal(received(&r, 0, RECEIVED_RECEIPT)->str + 17, wanted);
	free(id);
}

TEST(a_taken_id_is_a_duplicate)
{
	char receipt[64];

	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = "1", .delay_ms = 5000 });
	int64_t due = sent(&r, 0, QUEUE_SENT_DELIVER_AT_MS)->integer;
	unchanged(&r, {
		assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = "2" }), 0);
		assert_int_equal(sent(&r, 0, QUEUE_SENT_OUTCOME)->integer, 1);
		assert_int_equal(sent(&r, 0, QUEUE_SENT_DELIVER_AT_MS)->integer, due);
	});

	queue_message_patch(&r, "q", "a", 0, -1, -1);
	receive_one(30000, NONCE_A, receipt);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a" }), 0);
	assert_int_equal(sent(&r, 0, QUEUE_SENT_DELIVER_AT_MS)->integer, 0); /* in flight, so not due */
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, -1, "", true), 1);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a" }), 0);
	assert_int_equal(sent(&r, 0, QUEUE_SENT_DELIVER_AT_MS)->integer, 0); /* dead, so no longer delivered */
}

TEST(an_id_is_unique_within_a_batch_too)
{
	const struct outgoing batch[] = { { .id = "a", .body = "1" }, { .id = "a", .body = "2" }, { .id = "b" } };

	assert_int_equal(queue_send_all(&r, "q", batch, 3), 2);
	assert_int_equal(sent(&r, 1, QUEUE_SENT_OUTCOME)->integer, 1);
	assert_counts(&r, "q", 2, 0, 0, 0);
	queue_message_receive(&r, "q", 1, 30000, NONCE_A);
	assert_string_equal(received(&r, 0, RECEIVED_BODY)->str, "1");
}

TEST(a_generated_id_is_an_id_like_any_other)
{
	char next[24], after_next[24];

	queue_message_send(&r, "q", (struct outgoing){ .body = "1" });
	char *id = strdup(sent(&r, 0, QUEUE_SENT_ID)->str);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = id }), 0);
	assert_int_equal(sent(&r, 0, QUEUE_SENT_OUTCOME)->integer, 1);
	free(id);

	/* If a message has its own id, its sequence is not an id. */
	queue_message_send(&r, "q", (struct outgoing){ .id = "named" });
	id = strdup(server_command(&r, "HGET %s named", queue_key("q", ":ids"))->str);
	assert_int_equal(queue_message_get(&r, "q", id), -1);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = id }), 1);
	free(id);

	/*
	 * With a sequence ahead of the clock, the next ones are known. A sender uses two of them as
	 * ids.
	 */
	int64_t seq = server_now_us(&r) + 3600000000;
	server_command(&r, "HSET %s seq %lld", queue_key("q", ""), (long long)seq);
	snprintf(next, sizeof(next), "%" PRId64, seq + 3);
	snprintf(after_next, sizeof(after_next), "%" PRId64, seq + 4);
	queue_send_all(&r, "q", (const struct outgoing[]){ { .id = next }, { .id = after_next } }, 2);
	assert_int_equal(queue_send_all(&r, "q", (const struct outgoing[]){ { 0 }, { 0 } }, 2), 2);
	assert_string_not_equal(sent(&r, 0, QUEUE_SENT_ID)->str, next);
	assert_string_not_equal(sent(&r, 0, QUEUE_SENT_ID)->str, after_next);
	assert_true(strtoll(sent(&r, 1, QUEUE_SENT_ID)->str, NULL, 10) >
		    strtoll(sent(&r, 0, QUEUE_SENT_ID)->str, NULL, 10));
	assert_counts(&r, "q", 7, 0, 0, 0);
}

TEST(a_message_past_its_ttl_is_dropped_and_counted)
{
	char receipt[64];

	queue_message_send(&r, "q", (struct outgoing){ .id = "waits", .ttl_ms = 5 });
	queue_message_send(&r, "q", (struct outgoing){ .id = "flies", .ttl_ms = 5 });
	queue_message_send(&r, "q", (struct outgoing){ .id = "stays" });
	wait_for_clock(&r, item_int(&r, REPLY_NOW_MS) + 5);
	assert_int_equal(queue_message_get(&r, "q", "waits"), -1);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "waits" }), 1); /* its id is free */
	assert_int_equal(queue_get(&r, "q").expired, 2);
	queue_message_receive(&r, "q", 10, 30000, NONCE_A);
	assert_received_ids(2, ARGS("stays", "waits"));
	assert_int_equal(queue_get(&r, "q").expired, 2);

	/* A message past its ttl stays in flight, and is dropped when its delivery fails. */
	queue_message_send(&r, "q", (struct outgoing){ .id = "worked on", .ttl_ms = 150 });
	int64_t expires_at = item_int(&r, REPLY_NOW_MS) + 150;
	receive_one(30000, NONCE_A, receipt);
	wait_for_clock(&r, expires_at);
	assert_int_equal(queue_delivery_extend(&r, "q", receipt, 1), 1);
	wait_for_clock(&r, item_int(&r, QUEUE_DELIVERY_EXTEND_VISIBLE_UNTIL_MS));
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_B), 0);
	assert_int_equal(queue_get(&r, "q").expired, 3);
	assert_int_equal(queue_message_get(&r, "q", "worked on"), -1);

	/*
	 * The ttl ends before the delivery: the message is dropped, though it has had enough
	 * deliveries to be dead.
	 */
	queue_message_send(&r, "q", (struct outgoing){ .id = "last try", .ttl_ms = 150, .max_receives = 1 });
	receive_one(200, NONCE_A, receipt);
	wait_for_clock(&r, visible_until());
	assert_int_equal(queue_message_get(&r, "q", "last try"), -1);
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_B), 0);
	struct queue_counts counts = queue_get(&r, "q");
	assert_int_equal(counts.expired, 4);
	assert_int_equal(counts.dead, 0);
}

TEST(a_crowd_past_its_ttl_does_not_hide_what_waits)
{
	struct outgoing batch[BATCH_MAX];

	for (size_t i = 0; i < BATCH_MAX; i++)
		batch[i] = (struct outgoing){ .ttl_ms = 1 };
	for (int i = 0; i < 15; i++)
		queue_send_all(&r, "q", batch, BATCH_MAX);
	wait_for_clock(&r, item_int(&r, REPLY_NOW_MS) + 1);
	queue_message_send(&r, "q", (struct outgoing){ .id = "waits", .priority = 9 });
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_A), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_MORE), 1); /* the client must call again */
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_A), 1);
	assert_string_equal(received(&r, 0, RECEIVED_ID)->str, "waits");
	assert_int_equal(queue_get(&r, "q").expired, 1500);
	assert_int_equal(queue_contents(&r, "q"), 1);
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_A), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_MORE), 0);
}

TEST(a_reply_stays_within_a_mebibyte)
{
	enum { BIG = 600 * 1024, HUGE_ONE = 1100 * 1024 };
	char *big = malloc(HUGE_ONE + 1);

	memset(big, '7', HUGE_ONE);
	big[HUGE_ONE] = '\0';
	queue_message_send(&r, "q", (struct outgoing){ .id = "huge", .body = big });
	big[BIG] = '\0';
	queue_message_send(&r, "q", (struct outgoing){ .id = "big", .body = big });
	queue_message_send(&r, "q", (struct outgoing){ .id = "big too", .body = big });
	queue_message_send(&r, "q", (struct outgoing){ .id = "small", .body = "1" });
	free(big);
	queue_message_receive(&r, "q", 10, 30000, NONCE_A);
	assert_received_ids(1, ARGS("huge"));
	queue_message_receive(&r, "q", 10, 30000, NONCE_A);
	assert_received_ids(1, ARGS("big"));
	queue_message_receive(&r, "q", 10, 30000, NONCE_A);
	assert_received_ids(2, ARGS("big too", "small"));
}

/* A content longer than SMALL of lua/queues/lib_queue.lua is marked. The id belongs to it. */
TEST(a_long_content_is_marked)
{
	static const struct {
		size_t id, body, member;
	} rows[] = { { 0, 8000, 17 }, { 1, 8000, 17 }, { 200, 8000, 18 }, { 0, 8192, 18 }, { 1, 8192, 18 } };
	static char id[256], body[8200];

	queue_message_send(&r, "q", (struct outgoing){ .id = "first" }); /* the queue exists */
	for (size_t i = 0; i < COUNT(rows); i++) {
		server_command(&r, "DEL %s", queue_key("q", ":ready"));
		snprintf(id, sizeof(id), "%0*d", (int)rows[i].id, 0);
		snprintf(body, sizeof(body), "%0*d", (int)rows[i].body, 0);
		queue_message_send(&r, "q", (struct outgoing){ .id = rows[i].id ? id : NULL, .body = body });
		const redisReply *ready = server_command(&r, "ZRANGE %s 0 -1", queue_key("q", ":ready"));
		assert_int_equal(ready->element[0]->len, rows[i].member);
	}
}

TEST(a_retry_gets_the_first_answer)
{
	const struct outgoing m = { .body = "1" };
	char id[32], receipt[64];

	run_with_record(&r, &queue_message_send_script, queue_keys("q"), outgoing_args(&m, 1), "p:idem:1",
			FINGERPRINT_A);
	snprintf(id, sizeof(id), "%s", sent(&r, 0, QUEUE_SENT_ID)->str);
	run_with_record(&r, &queue_message_send_script, queue_keys("q"), outgoing_args(&m, 1), "p:idem:1",
			FINGERPRINT_A);
	assert_string_equal(sent(&r, 0, QUEUE_SENT_ID)->str, id);
	assert_int_equal(sent(&r, 0, QUEUE_SENT_OUTCOME)->integer, 0);
	assert_counts(&r, "q", 1, 0, 0, 0);
	run_with_record_fails(&r, &queue_message_send_script, queue_keys("q"), outgoing_args(&m, 1), "p:idem:1",
			      FINGERPRINT_B, "IDEMPOTENCY_KEY_REUSED");

	run_with_record(&r, &queue_message_receive_script, queue_keys("q"), RECEIVE_ARGS("1", "30000", NONCE_A),
			"p:idem:2", FINGERPRINT_A);
	snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
	run_with_record(&r, &queue_message_receive_script, queue_keys("q"), RECEIVE_ARGS("1", "30000", NONCE_B),
			"p:idem:2", FINGERPRINT_A);
	assert_string_equal(received(&r, 0, RECEIVED_RECEIPT)->str, receipt);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
	unchanged(&r, run_with_record(&r, &queue_message_receive_script, queue_keys("q"),
				      RECEIVE_ARGS("1", "30000", NONCE_B), "p:idem:2", FINGERPRINT_A));
	run_with_record(&r, &queue_message_receive_script, queue_keys("q"), RECEIVE_ARGS("1", "30000", NONCE_B),
			"p:idem:2", FINGERPRINT_A);
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(r.reply->elements, QUEUE_MESSAGE_RECEIVE_DELIVERIES); /* acknowledged messages are left out */

	/* An empty receive is not recorded, so that the retry looks again. */
	run_with_record(&r, &queue_message_receive_script, queue_keys("q"), RECEIVE_ARGS("1", "30000", NONCE_A),
			"p:idem:3", FINGERPRINT_A);
	assert_int_equal(outcome(&r), 0);
	queue_message_send(&r, "q", m);
	run_with_record(&r, &queue_message_receive_script, queue_keys("q"), RECEIVE_ARGS("1", "30000", NONCE_A),
			"p:idem:3", FINGERPRINT_A);
	assert_int_equal(outcome(&r), 1);
}

/*
 * Makes a dead letter, and a ready, a delayed, an acknowledged and an in-flight message. `seq` and
 * `nonce` receive the receipt of the last one.
 */
static void make_one_of_each(char seq[32], char nonce[32], bool has_waiters)
{
	char receipt[64];

	server_command(&r, "FLUSHALL");
	queue_put(&r, "q", standard_settings);
	if (has_waiters) {
		queue_wait(&r, "q", TICKET, 20000, 0);
		queue_wait(&r, "q", QUEUE_TICKET(DAEMON_B, 1, 1), 20000, 0);
	}
	queue_message_send(&r, "q", (struct outgoing){ .id = "dead" });
	receive_one(30000, NONCE_A, receipt);
	queue_delivery_reject(&r, "q", receipt, -1, "bad", true);
	queue_message_send(&r, "q", (struct outgoing){ .id = "done" });
	receive_one(30000, NONCE_A, receipt);
	queue_delivery_acknowledge(&r, "q", receipt);
	queue_message_send(&r, "q", (struct outgoing){ .id = "flying", .priority = 4 });
	receive_one(30000, NONCE_A, receipt);
	snprintf(seq, 32, "%.16s", receipt);
	snprintf(nonce, 32, "%.31s", receipt + 17);
	queue_message_send(&r, "q", (struct outgoing){ .id = "ready", .priority = 4 });
	queue_message_send(&r, "q", (struct outgoing){ .id = "delayed", .priority = 4, .delay_ms = 60000 });
}

static void make_schedule_due(void)
{
	run(&r, &queue_schedule_put_script, queue_keys("q"), EVERY("s", "=1"));
	int64_t put_ms = item_int(&r, REPLY_NOW_MS);
	wait_for_clock(&r, put_ms + 1);
}

/* Replaces a key by one of a type that no queue uses. */
static void plant_foreign(const char *key, bool a_set)
{
	server_command(&r, "DEL %s", key);
	if (a_set)
		server_command(&r, "SADD %s foreign", key);
	else
		server_command(&r, "SET %s foreign", key);
}

/*
 * Runs a script beside a foreign key. The script must refuse the key if `must_refuse`, and must
 * change nothing if it refuses.
 */
static void run_beside_a_foreign_key(const struct script *script, const char *const *args, size_t key, bool has_waiters,
				     bool must_refuse)
{
	char *before = server_picture(&r);
	bool ran = run_may_fail(&r, script, queue_keys("q"), args, "WRONGTYPE");
	char *after = server_picture(&r);

	if (ran && must_refuse)
		fail_msg("%s did not refuse a foreign key %zu", script->name, key);
	if (!ran && strcmp(before, after) != 0)
		fail_msg("%s changed something beside a foreign key %zu%s", script->name, key,
			 has_waiters ? ", with waiters" : "");
	free(before);
	free(after);
}

/*
 * Each script, with the keys ('!') that it must refuse if they are foreign: the hash, ready,
 * delayed, flight, dead, ids, done, schedules, waiters, ... It may refuse another key, but then
 * changes nothing.
 */
TEST(a_foreign_key_half_applies_nothing)
{
	char seq[32], nonce[32];
	const struct {
		const struct script *script;
		const char *const *args;
		const char *refuses;
	} rows[] = {
		{ &queue_message_send_script, ARGS("new", "1", "4"), "!!...!..!..." },
		{ &queue_message_send_script, ARGS("new", "1", "4\t5\t-1\t0\t0\t\t\t"), "!.!..!..!..." },
		{ &queue_message_send_script, ARGS("new", "1", "4\t5\t-1\t0\t0\t\t\t", "", "2", "0"), "!!!!!!!!!..." },
		{ &queue_message_send_script, ARGS("done", "1", "4"), "!....!!.!..." },
		{ &queue_message_receive_script, RECEIVE_ARGS("10", "-1", NONCE_B), "!!!!....!..." },
		{ &queue_message_receive_script, ARGS("10", "-1", NONCE_B, "0", TICKET, "9", "0"), "!!!!....!..." },
		{ &queue_message_receive_script, ARGS("10", "-1", NONCE_B, "1", "", "0", "0"), "!!!!!!!!!..." },
		{ &queue_delivery_acknowledge_script, ARGS(seq, nonce), "!..!.!!....." },
		{ &queue_delivery_settle_script, ARGS("1", "0", seq, nonce), "!!!!!!!!!..." },
		{ &queue_delivery_settle_script, ARGS("0", "0", seq, nonce, "5", "", "0"), "!!!!!!!!!..." },
		{ &queue_delivery_complete_script, ARGS("1", "0", seq, nonce), "!!!!!!!!!..." },
		{ &queue_delivery_extend_script, ARGS(seq, nonce, "-1", ""), "!..!........" },
		{ &queue_delivery_extend_script, ARGS(seq, nonce, "-1", "50 half"), "!!!!!!!!!..." },
		{ &queue_delivery_list_extend_script, ARGS("-1", seq, nonce), "!..!........" },
		{ &queue_delivery_list_extend_script, ARGS("1", seq, nonce), "!!!!!!!!!..." },
		{ &queue_delivery_reject_script, ARGS(seq, nonce, "-1", "no", "1"), "!!!!!!!!!..." },
		{ &queue_delivery_reject_script, ARGS(seq, nonce, "-1", "", "2"), "!!!!!!!!!..." },
		{ &queue_delivery_return_script, ARGS(seq, nonce, ""), "!!!!!!!!!..." },
		{ &queue_message_delete_script, ARGS("ready"), "!!!!!!!!!..." },
		{ &queue_message_delete_script, ARGS("dead"), "!!!!!!!!!..." },
		{ &queue_message_delete_script, ARGS("flying", "1"), "!!!!!!!!!..." },
		{ &queue_message_supersede_script, ARGS("delayed", "1", "4\t5\t-1\t0\t0\t\te\t"), "!!!!!!!!!..." },
		{ &queue_message_supersede_script, ARGS("flying", "1", "4\t5\t-1\t0\t0\t\ta\t"), "!!!!!!!!!..." },
		{ &queue_message_patch_script, ARGS("delayed", "5", "-1", "7", "-1"), "!!!!!!!!!..." },
		{ &queue_message_get_script, ARGS("ready"), "!!...!......" },
		{ &queue_message_wait_script, ARGS(seq, "0123456789abcdef", "1000"), "!..........." },
		{ &queue_message_list_script, ARGS("ready", "100", "-1", "-1", "", "1"), "!!!!!!!!!..." },
		{ &queue_get_script, ARGS("1"), "!!!!!......." },
		{ &queue_put_script, ARGS("1", "1", "0", "0", "1", "1", "0", "-1", "-1", "", "-1"), "!.......!..." },
		{ &queue_purge_script, ARGS("", "0"), "!!!!!!!!!..." },
		{ &queue_redrive_script, ARGS("-1", "0", "0"), "!!!!!!!!!..." },
		{ &queue_message_redrive_script, ARGS("0", "dead"), "!!!!!!!!!..." },
		{ &queue_delete_script, ARGS(), "!!!!!!!!!...!" },
		{ &queue_schedule_put_script, EVERY("t", "=9"), "!!!!!!!!!..." },
		{ &queue_settle_script, ARGS(), "!!!!!!!!!..." },
		{ &queue_schedule_delete_script, ARGS("s"), "!!!!!!!!!..." },
		{ &queue_schedule_run_script, ARGS("s"), "!!!!!!!!!..." },
		{ &queue_leave_script, ARGS(TICKET, ""), "!!!!!!!!!..." },
	};

	/* Each key gets either of two types, with and without waiters. */
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (size_t k = 0; k < 4 * QUEUE_KEYS; k++) {
			make_one_of_each(seq, nonce, k / 2 % 2);
			if (rows[i].script == &queue_settle_script)
				make_schedule_due();
			plant_foreign(queue_keys("q")[k / 4], k % 2);
			bool must_refuse = rows[i].refuses[k / 4] == '!';
			run_beside_a_foreign_key(rows[i].script, rows[i].args, k / 4, k / 2 % 2, must_refuse);
		}
	}
}

/* A delayed message is due, and a delivery has ended. The next receive would move both. */
TEST(a_foreign_key_stops_what_time_has_changed)
{
	for (size_t k = 0; k < 2 * KEYS_WITHOUT_GROUPS; k++) {
		script_stage_empty(NULL);
		queue_message_send(&r, "q", (struct outgoing){ .id = "flies" });
		assert_int_equal(queue_message_receive(&r, "q", 1, 2, NONCE_A), 1);
		queue_message_send(&r, "q", (struct outgoing){ .id = "delayed", .delay_ms = 2 });
		wait_for_clock(&r, item_int(&r, REPLY_NOW_MS) + 2);
		plant_foreign(queue_keys("q")[k / 2], k % 2);
		unchanged(&r, run_fails(&r, &queue_message_receive_script, queue_keys("q"),
					RECEIVE_ARGS("10", "-1", NONCE_B), "WRONGTYPE"));
	}
}

TEST(a_record_that_is_not_ours_is_refused)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	char *seq = strdup(server_command(&r, "HGET %s a", queue_key("q", ":ids"))->str);
	server_command(&r, "HSET %s %s gibberish", queue_key("q", ""), seq);
	free(seq);
	unchanged(&r, {
		run_fails(&r, &queue_message_receive_script, queue_keys("q"), RECEIVE_ARGS("1", "-1", NONCE_A),
			  "WRONGTYPE");
		run_fails(&r, &queue_message_delete_script, queue_keys("q"), ARGS("a"), "WRONGTYPE");
	});
	queue_message_send(&r, "other", (struct outgoing){ .id = "a" });
	seq = strdup(server_command(&r, "HGET %s a", queue_key("other", ":ids"))->str);
	server_command(&r, "HSET %s %ss gibberish", queue_key("other", ""), seq);
	free(seq);
	unchanged(&r, run_fails(&r, &queue_message_receive_script, queue_keys("other"),
				RECEIVE_ARGS("1", "-1", NONCE_A), "WRONGTYPE"));
	unchanged(&r, run_fails(&r, &queue_message_get_script, queue_keys("other"), ARGS("a"), "WRONGTYPE"));
}

/*
 * A script refuses a queue of a newer or older daemon, and changes nothing.
 * tests/test_redis_replies.py tries the scripts that requests run; rows here are also run for
 * clients that disconnect, or by time.
 */
TEST(another_layout_is_refused)
{
	char seq[32], nonce[32];
	const struct {
		const struct script *script;
		const char *const *args;
	} rows[] = {
		{ &queue_message_send_script, ARGS("new", "1", "4") },
		{ &queue_message_receive_script, RECEIVE_ARGS("10", "-1", NONCE_B) },
		{ &queue_delivery_acknowledge_script, ARGS(seq, nonce) },
		{ &queue_delivery_settle_script, ARGS("1", "0", seq, nonce) },
		{ &queue_delivery_complete_script, ARGS("1", "0", seq, nonce) },
		{ &queue_delivery_extend_script, ARGS(seq, nonce, "-1", "") },
		{ &queue_delivery_list_extend_script, ARGS("-1", seq, nonce) },
		{ &queue_delivery_reject_script, ARGS(seq, nonce, "5", "no", "0") },
		{ &queue_delivery_return_script, ARGS(seq, nonce, "") },
		{ &queue_message_delete_script, ARGS("ready") },
		{ &queue_message_supersede_script, ARGS("new", "1", "4") },
		{ &queue_message_patch_script, ARGS("delayed", "5", "-1", "7", "-1") },
		{ &queue_message_get_script, ARGS("ready") },
		{ &queue_message_wait_script, ARGS(seq, "0123456789abcdef", "1000") },
		{ &queue_message_list_script, ARGS("ready", "100", "-1", "-1", "", "1") },
		{ &queue_get_script, ARGS("1") },
		{ &queue_put_script, ARGS("1", "1", "0", "0", "1", "1", "0", "-1", "-1", "", "-1") },
		{ &queue_purge_script, ARGS("", "0") },
		{ &queue_redrive_script, ARGS("-1", "0", "0") },
		{ &queue_group_redrive_script, ARGS("none", "-1", "", "0") },
		{ &queue_group_purge_script, ARGS("none", "", "", "0") },
		{ &queue_group_pause_script, ARGS("none", "1000") },
		{ &queue_pause_script, ARGS("1000") },
		{ &queue_group_resume_script, ARGS("none") },
		{ &queue_group_list_script, ARGS("", "10") },
		{ &queue_message_redrive_script, ARGS("0", "dead") },
		{ &queue_delete_script, ARGS() },
		{ &queue_schedule_put_script, EVERY("t", "=9") },
		{ &queue_schedule_get_script, ARGS("s", "") },
		{ &queue_schedule_list_script, ARGS("0", "10", "") },
		{ &queue_settle_script, ARGS() },
		{ &queue_schedule_delete_script, ARGS("s") },
		{ &queue_schedule_run_script, ARGS("s") },
		{ &queue_leave_script, ARGS(TICKET, "") },
	};

	make_one_of_each(seq, nonce, false);
	make_schedule_due();
	assert_string_equal(server_command(&r, "HGET %s layout", queue_key("q", ""))->str, "2");
	for (size_t i = 0; i < 2 * COUNT(rows); i++) {
		const char *layout = i % 2 ? "has layout 3" : "has layout 1";
		server_command(&r, "HSET %s layout %s", queue_key("q", ""), strrchr(layout, ' ') + 1);
		unchanged(&r, run_fails(&r, rows[i / 2].script, queue_keys("q"), rows[i / 2].args, layout));
	}
}

/* Each script that creates a queue writes its layout. */
TEST(each_queue_has_a_layout)
{
	queue_message_send(&r, "sent", (struct outgoing){ 0 });
	queue_put(&r, "put", standard_settings);
	run(&r, &queue_schedule_put_script, queue_keys("scheduled"), EVERY("s", "=1000"));
	queue_message_send(&r, "returned", (struct outgoing){ 0 });
	assert_int_equal(queue_message_receive(&r, "returned", 1, 1000, NONCE_A), 1);
	const char *receipt = received(&r, 0, RECEIVED_RECEIPT)->str;
	char *seq = strndup(receipt, 16), *stored = strdup(received(&r, 0, RECEIVED_STATE)->str),
	     *content = strdup(received(&r, 0, RECEIVED_CONTENT)->str);
	run(&r, &queue_delete_script, queue_keys("returned"), ARGS());
	run(&r, &queue_delivery_return_script, queue_keys("returned"), ARGS(seq, stored, content));
	free(seq);
	free(stored);
	free(content);
	static const char *const queues[] = { "sent", "put", "scheduled", "returned" };
	for (size_t i = 0; i < COUNT(queues); i++)
		assert_string_equal(server_command(&r, "HGET %s layout", queue_key(queues[i], ""))->str, "2");
}
