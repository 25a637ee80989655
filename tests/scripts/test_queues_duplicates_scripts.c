/*
 * What a send does while a message with its id exists (on_duplicate): in every state of that
 * message, and within a batch; and messages that wait for the end of a delivery. The test sets
 * Redis's clock.
 */
#include <inttypes.h>

#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum became { STORED, KEPT, REPLACED, EXTENDED, AFTER, KEPT_DEAD };
enum { MINUTE_MS = 60000 };

static char receipt[64];

static int64_t now_ms(void)
{
	return *script_clock_us / 1000;
}

static void pass_ms(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

/* Sends a message with the id "a", and returns what became of it. */
static enum became send_a(const char *on_duplicate, const char *body, int64_t delay_ms)
{
	queue_message_send(&r, "q",
			   (struct outgoing){
				   .id = "a", .body = body, .delay_ms = delay_ms, .on_duplicate = on_duplicate });
	return (enum became)sent(&r, 0, QUEUE_SENT_OUTCOME)->integer;
}

static int64_t deliver_at(void)
{
	return sent(&r, 0, QUEUE_SENT_DELIVER_AT_MS)->integer;
}

/* Receives a message with this body. NULL: no message must be ready. */
static void must_receive(const char *body)
{
	static char nonce[24];
	static int nonces;

	snprintf(nonce, sizeof(nonce), "%016d", ++nonces);
	assert_int_equal(queue_message_receive(&r, "q", 1, MINUTE_MS, nonce), body ? 1 : 0);
	if (!body)
		return;
	assert_string_equal(received(&r, 0, RECEIVED_BODY)->str, body);
	snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
}

static void acknowledge(void)
{
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
}

static void reject(bool dead)
{
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, 0, "no", dead), 1);
}

static void must_be(const char *state, const char *body)
{
	assert_int_equal(queue_message_get(&r, "q", "a"), 0);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_STATE)->str, state);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_BODY)->str, body);
}

/*
 * Nothing is left of the messages: no counts, no contents, and no waiting successors in the hash.
 */
static void must_be_empty(void)
{
	static const char count[] = "local n = 0 for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do "
				    "n = n + (name:find('^~') and 1 or 0) end return n";

	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(queue_contents(&r, "q"), 0);
	assert_int_equal(server_command(&r, "EVAL %s 1 %s", count, queue_key("q", ""))->integer, 0);
}

/* ---- Each way, in each state of the earlier message ---- */

static void make_delayed(void)
{
	send_a(NULL, "1", MINUTE_MS);
}

static void make_ready(void)
{
	send_a(NULL, "1", 0);
}

static void make_flight(void)
{
	make_ready();
	must_receive("1");
}

static void make_retried(void)
{
	make_flight();
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, MINUTE_MS, "no", false), 1);
}

static void make_dead(void)
{
	make_flight();
	reject(true);
}

static void make_ended(void) /* by its visibility, which no script has seen */
{
	make_flight();
	pass_ms(MINUTE_MS);
}

static void make_remembered(void)
{
	make_flight();
	acknowledge();
}

static void make_expired(void)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = "1", .ttl_ms = 5 });
	pass_ms(5);
}

static void make_expired_letter(void)
{
	make_dead();
	pass_ms(standard_settings.dead_retention_ms);
}

static void make_cancelled(void)
{
	make_flight();
	assert_int_equal(queue_message_cancel(&r, "q", "a"), 1);
}

static void make_nothing(void)
{
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .before = script_stage_empty);

TEST(each_way_in_each_state)
{
	static const char *const ways[] = { NULL, "r", "e", "a" };
	static const struct {
		void (*make)(void);
		enum became became[4]; /* for keep, replace, extend and after */
		const char *state[4];
	} rows[] = {
		{ make_delayed, { KEPT, REPLACED, EXTENDED, KEPT }, { "delayed", "delayed", "delayed", "delayed" } },
		{ make_ready, { KEPT, REPLACED, EXTENDED, KEPT }, { "ready", "delayed", "ready", "ready" } },
		{ make_flight, { KEPT, KEPT, AFTER, AFTER }, { "in_flight", "in_flight", "in_flight", "in_flight" } },
		{ make_retried, { KEPT, REPLACED, EXTENDED, KEPT }, { "delayed", "delayed", "delayed", "delayed" } },
		{ make_dead, { KEPT_DEAD, REPLACED, STORED, STORED }, { "dead", "delayed", "delayed", "delayed" } },
		{ make_ended, { KEPT, REPLACED, EXTENDED, KEPT }, { "ready", "delayed", "ready", "ready" } },
		{ make_remembered, { KEPT, STORED, STORED, STORED }, { NULL, "delayed", "delayed", "delayed" } },
		{ make_expired, { STORED, STORED, STORED, STORED }, { "delayed", "delayed", "delayed", "delayed" } },
		{ make_expired_letter,
		  { STORED, STORED, STORED, STORED },
		  { "delayed", "delayed", "delayed", "delayed" } },
		{ make_cancelled, { STORED, STORED, STORED, STORED }, { "delayed", "delayed", "delayed", "delayed" } },
		{ make_nothing, { STORED, STORED, STORED, STORED }, { "delayed", "delayed", "delayed", "delayed" } },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		for (size_t way = 0; way < 4; way++) {
			script_stage_empty(NULL);
			queue_put(&r, "q", standard_settings);
			rows[i].make();
			enum became became = send_a(ways[way], "2", 5000);
			if (became != rows[i].became[way])
				fail_msg("row %zu, way %zu: %d", i, way, (int)became);
			bool is_new = became == STORED || became == REPLACED || became == EXTENDED;
			bool is_due = rows[i].state[way] && strcmp(rows[i].state[way], "ready") == 0;
			if (is_new)
				assert_true(is_due ? deliver_at() <= now_ms() : deliver_at() == now_ms() + 5000);
			if (rows[i].state[way])
				must_be(rows[i].state[way], is_new ? "2" : "1");
			else
				assert_int_equal(queue_message_get(&r, "q", "a"), -1);
		}
	}
}

/* ---- Replace and extend ---- */

TEST(what_is_replaced_is_a_new_message)
{
	send_a(NULL, "1", 0);
	queue_message_send(&r, "q", (struct outgoing){ .body = "other" });
	assert_int_equal(send_a("r", "2", 0), REPLACED);
	must_receive("other"); /* its place is behind the message sent before it */
	acknowledge();
	must_receive("2");
	acknowledge();
	assert_int_equal(queue_get(&r, "q").sent, 3);
	must_be_empty();
}

/* The newest send counts with all its options, but sent_at_ms stays as the first send set it. */
TEST(what_is_extended_is_the_newest)
{
	char *longest = calloc(1, 10001);

	memset(longest, '1', 10000);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = longest, .delay_ms = 100, .priority = 1 });
	int64_t first_at = now_ms();
	pass_ms(60);
	queue_message_send(&r, "q",
			   (struct outgoing){ .id = "a",
					      .body = "2",
					      .delay_ms = 100,
					      .priority = 7,
					      .max_receives = 1,
					      .on_duplicate = "e" });
	assert_int_equal(sent(&r, 0, QUEUE_SENT_OUTCOME)->integer, EXTENDED);
	assert_counts(&r, "q", 0, 1, 0, 0);
	pass_ms(60);
	must_receive(NULL);
	pass_ms(40);
	must_receive("2");
	assert_int_equal(received(&r, 0, RECEIVED_PRIORITY)->integer, 7);
	assert_int_equal(received(&r, 0, RECEIVED_SENT_AT)->integer, first_at);
	reject(false);
	assert_counts(&r, "q", 0, 0, 0, 1); /* by its own max_receives */
	assert_int_equal(queue_get(&r, "q").sent, 1);
	assert_int_equal(queue_message_delete(&r, "q", "a"), 1);
	must_be_empty();
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = "1", .delay_ms = 100 });
	queue_message_send(&r, "q",
			   (struct outgoing){ .id = "a", .body = longest, .delay_ms = 50, .on_duplicate = "e" });
	pass_ms(50); /* an extension may make it due sooner, too */
	must_receive(longest);
	acknowledge();
	must_be_empty();
	free(longest);
}

/* A stream of events that is faster than their delay does not delay a message for ever. */
TEST(extensions_end)
{
	assert_int_equal(send_a("e250", "1", 500), STORED); /* even the first send is not due later */
	assert_int_equal(deliver_at(), now_ms() + 250);
	script_stage_empty(NULL);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .delay_ms = 100, .on_duplicate = "e250" });
	int64_t first_at = now_ms();
	for (int i = 1; i <= 4; i++) {
		pass_ms(60);
		assert_int_equal(send_a("e250", "2", 100), EXTENDED);
		assert_int_equal(deliver_at(), i < 3 ? now_ms() + 100 : first_at + 250);
	}
	assert_int_equal(send_a("e200", "3", 100), EXTENDED); /* this send allows less, so it is due now */
	assert_int_equal(deliver_at(), now_ms());
	must_receive("3");
}

TEST(what_was_extended_keeps_its_deliveries)
{
	make_retried();
	assert_int_equal(send_a("e", "2", 10), EXTENDED);
	pass_ms(10);
	must_receive("2");
	assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, 2);
}

/*
 * Events during a run make one more run: with the newest body, after the delay of the newest, and
 * after the run. The longest time counts from the first event of the run.
 */
TEST(events_during_a_run_make_one_more)
{
	send_a("e250", "1", 0);
	must_receive("1");
	int64_t first_at = now_ms();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(send_a("e250", i ? "3" : "2", 100), AFTER);
		pass_ms(60);
	}
	acknowledge();
	pass_ms(39);
	must_receive(NULL);
	pass_ms(1);
	must_receive("3");
	assert_int_equal(received(&r, 0, RECEIVED_SENT_AT)->integer, first_at);
	acknowledge();
	must_be_empty();

	send_a("e250", "4", 0);
	must_receive("4");
	for (int i = 0; i < 4; i++) {
		assert_int_equal(send_a("e250", "5", 100), AFTER);
		pass_ms(60);
	}
	acknowledge();
	pass_ms(9);
	must_receive(NULL);
	pass_ms(1);
	must_receive("5");
	acknowledge();
	must_be_empty();
}

/* ---- Batches ---- */

TEST(a_batch_is_one_after_the_other)
{
	const struct outgoing batch[] = {
		{ .id = "a", .body = "1", .delay_ms = 100 },
		{ .id = "a", .body = "2" },
		{ .id = "a", .body = "3", .delay_ms = 200, .on_duplicate = "e" },
		{ .id = "b", .body = "4" },
		{ .id = "a", .body = "5", .on_duplicate = "r" },
		{ .id = "a", .body = "6", .on_duplicate = "a" },
		{ .body = "7" },
	};
	const enum became wanted[] = { STORED, KEPT, EXTENDED, STORED, REPLACED, KEPT, STORED };

	assert_int_equal(queue_send_all(&r, "q", batch, 7), 5); /* the number of sends that had an effect */
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(sent(&r, i, QUEUE_SENT_OUTCOME)->integer, wanted[i]);
	must_receive("4");
	must_receive("5");
	must_receive("7");
	assert_int_equal(queue_get(&r, "q").sent, 4);
}

TEST(a_batch_is_stored_whole_or_not)
{
	const struct outgoing batch[] = {
		{ .id = "a", .body = "1", .on_duplicate = "r" },
		{ .id = "b", .body = "2", .ttl_ms = 10, .delay_ms = 10 },
	};

	make_delayed();
	unchanged(&r, {
		run(&r, &queue_message_supersede_script, queue_keys("q"), outgoing_args(batch, 2));
		assert_int_equal(outcome(&r), QUEUE_MESSAGE_SEND_PAST_TTL);
		assert_int_equal(item_int(&r, QUEUE_MESSAGE_SEND_INDEX), 1);
	});
}

/* A replay gets the first answer and has no effect. Otherwise it would replace its own message. */
TEST(a_replay_returns_the_first_answer)
{
	const struct outgoing m = { .id = "a", .body = "2", .delay_ms = 10, .on_duplicate = "r" };

	make_delayed();
	run_with_record(&r, &queue_message_supersede_script, queue_keys("q"), outgoing_args(&m, 1), "p:idem:{q}:k",
			FINGERPRINT_A);
	assert_int_equal(sent(&r, 0, QUEUE_SENT_OUTCOME)->integer, REPLACED);
	unchanged(&r, {
		run_with_record(&r, &queue_message_supersede_script, queue_keys("q"), outgoing_args(&m, 1),
				"p:idem:{q}:k", FINGERPRINT_A);
		assert_int_equal(sent(&r, 0, QUEUE_SENT_OUTCOME)->integer, REPLACED);
	});
}

/* ---- After ---- */

TEST(the_newest_runs_once_after_the_one_in_flight)
{
	make_flight();
	assert_int_equal(send_a("a", "2", 0), AFTER);
	assert_int_equal(deliver_at(), 0);
	assert_int_equal(send_a("a", "3", 0), AFTER);
	assert_int_equal(send_a(NULL, "4", 0), KEPT);
	must_receive(NULL); /* never while the other is in flight */
	must_be("in_flight", "1");
	acknowledge();
	must_be("ready", "3"); /* at once, although the id would be remembered */
	must_receive("3");
	assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, 1);
	acknowledge();
	must_receive(NULL);
	must_be_empty();
	assert_int_equal(queue_get(&r, "q").sent, 2);
	assert_int_equal(send_a(NULL, "5", 0), KEPT); /* its id is remembered */
}

/* A dead letter loses its id if another message gets it. Its sequence is its id then. */
TEST(a_dead_letter_gives_up_its_id)
{
	make_dead();
	char *seq = strdup(server_command(&r, "HGET %s a", queue_key("q", ":ids"))->str);
	assert_int_equal(send_a("a", "2", 0), STORED);
	assert_int_equal(queue_message_get(&r, "q", seq), 0);
	assert_int_equal(queue_purge(&r, "q", "dead", NULL), 1);
	must_be("ready", "2");
	free(seq);
}

/* An id is no longer remembered once another message has it. */
TEST(a_sent_id_is_not_remembered)
{
	make_remembered();
	assert_int_equal(server_command(&r, "ZCARD %s", queue_key("q", ":done"))->integer, 1);
	assert_int_equal(send_a("r", "2", 0), STORED);
	assert_int_equal(server_command(&r, "ZCARD %s", queue_key("q", ":done"))->integer, 0);
}

/* A waiting message is due when its sender wanted, but not before the other ended. */
TEST(what_waits_keeps_its_due_time)
{
	make_flight();
	send_a("a", "2", 100);
	pass_ms(40);
	acknowledge();
	must_be("delayed", "2");
	pass_ms(60);
	must_receive("2");
	send_a("a", "3", 100);
	pass_ms(200);
	acknowledge();
	must_receive("3");
}

static void end_by_settling(void)
{
	assert_int_equal(queue_delivery_settle(&r, "q", ARGS(receipt), ARGS(), 0), 1);
}

static void end_by_rejecting(void)
{
	assert_int_equal(queue_delivery_settle(&r, "q", ARGS(), ARGS(receipt), 0), 1);
}

static void end_by_death(void)
{
	reject(true);
}

/* Ends between two tries: a receive acknowledges it at once. */
static void end_by_taking(void)
{
	reject(false);
	assert_int_equal(queue_take(&r, "q", 10), 1);
	assert_string_equal(received(&r, 0, RECEIVED_BODY)->str, "1");
}

/* Ends between two tries: its ttl passes. */
static void end_by_expiring(void)
{
	reject(false);
	pass_ms(MINUTE_MS);
}

static void end_by_time(void)
{
	pass_ms(MINUTE_MS);
}

/* The waiting message runs after every end. A dead letter loses its id, and stays. */
TEST(it_runs_after_every_end)
{
	static const struct {
		void (*end)(void);
		int64_t max_receives, ttl_ms, dead;
	} rows[] = {
		{ acknowledge, 0, 0, 0 },   { end_by_settling, 0, 0, 0 },
		{ end_by_death, 0, 0, 1 },  { end_by_rejecting, 1, 0, 1 },
		{ end_by_time, 1, 0, 1 },   { end_by_time, 0, MINUTE_MS, 0 },
		{ end_by_taking, 0, 0, 0 }, { end_by_expiring, 0, MINUTE_MS, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		script_stage_empty(NULL);
		queue_put(&r, "q", standard_settings);
		queue_message_send(&r, "q",
				   (struct outgoing){ .id = "a",
						      .body = "1",
						      .max_receives = (int)rows[i].max_receives,
						      .ttl_ms = rows[i].ttl_ms });
		char *seq = strdup(server_command(&r, "HGET %s a", queue_key("q", ":ids"))->str);
		must_receive("1");
		assert_int_equal(send_a("a", "2", 0), AFTER);
		rows[i].end();
		must_receive("2");
		must_be("in_flight", "2");
		assert_int_equal(queue_message_get(&r, "q", seq), rows[i].dead ? 0 : -1);
		acknowledge();
		assert_counts(&r, "q", 0, 0, 0, rows[i].dead);
		if (rows[i].dead) {
			assert_int_equal(queue_redrive(&r, "q", -1, NULL), 1);
			must_receive("1");
			assert_string_equal(received(&r, 0, RECEIVED_ID)->str, seq);
			acknowledge();
		}
		must_be_empty();
		free(seq);
	}
}

/* The waiting message waits for the end of all tries, not of one. */
TEST(it_waits_for_retries)
{
	queue_put(&r, "q", standard_settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = "1", .max_receives = 3 });
	for (int i = 0; i < 3; i++) {
		must_receive("1");
		if (i == 0)
			assert_int_equal(send_a("a", "2", 0), AFTER);
		reject(false);
		if (i == 0)
			assert_int_equal(send_a("a", "3", 0), AFTER); /* the newest counts, also between two tries */
	}
	must_receive("3");
	assert_counts(&r, "q", 0, 0, 1, 1);
}

TEST(it_is_gone_with_the_message)
{
	/* The message is cancelled in flight, or between two tries. */
	make_flight();
	send_a("a", "2", 0);
	assert_int_equal(queue_message_delete(&r, "q", "a"), -2);
	assert_int_equal(queue_message_cancel(&r, "q", "a"), 1);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), -2);
	must_be_empty();
	make_flight();
	send_a("a", "2", 0);
	reject(false);
	assert_int_equal(queue_message_delete(&r, "q", "a"), 1);
	must_be_empty();
	/* The message is purged in either state, or deleted with its queue. */
	make_flight();
	send_a("a", "2", 0);
	assert_int_equal(queue_purge(&r, "q", "in_flight", NULL), 1);
	must_be_empty();
	make_flight();
	send_a("a", "2", 0);
	reject(false);
	assert_int_equal(queue_purge(&r, "q", "", NULL), 1);
	must_be_empty();
	make_flight();
	send_a("a", "2", 0);
	run(&r, &queue_delete_script, queue_keys("q"), ARGS());
	must_be_empty();
	/* The waiting message is dropped when a newer one extends or replaces the first. */
	make_retried();
	must_be("delayed", "1");
	pass_ms(MINUTE_MS);
	must_receive("1");
	send_a("a", "2", 0);
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, MINUTE_MS, "no", false), 1);
	assert_int_equal(send_a("e", "3", 0), EXTENDED);
	must_receive("3");
	send_a("a", "4", 0);
	reject(false);
	assert_int_equal(send_a("r", "5", 0), REPLACED);
	must_receive("5");
	acknowledge();
	must_be_empty();
}

TEST(what_waited_too_long_is_dropped)
{
	make_flight();
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = "2", .ttl_ms = 50, .on_duplicate = "a" });
	pass_ms(50);
	acknowledge();
	must_receive(NULL);
	must_be_empty();
	assert_int_equal(queue_get(&r, "q").expired, 1);
	assert_int_equal(send_a(NULL, "3", 0), STORED);
}

/* Many deliveries end in one call. Each has its own successor, with its own sequence. */
TEST(many_end_at_once)
{
	struct outgoing batch[10] = { 0 };
	static const char *const ids[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };

	for (int i = 0; i < 10; i++)
		batch[i] = (struct outgoing){ .id = ids[i], .body = ids[i], .max_receives = 1 };
	queue_send_all(&r, "q", batch, 10);
	assert_int_equal(queue_message_receive(&r, "q", 10, MINUTE_MS, NONCE_A), 10);
	for (int i = 0; i < 10; i++)
		batch[i].on_duplicate = "a";
	assert_int_equal(queue_send_all(&r, "q", batch, 10), 10);
	pass_ms(MINUTE_MS);
	assert_int_equal(queue_message_receive(&r, "q", 100, MINUTE_MS, NONCE_B), 10);
	for (size_t i = 0; i < 10; i++)
		assert_string_equal(received(&r, i, RECEIVED_BODY)->str, ids[i]);
	assert_counts(&r, "q", 0, 0, 10, 10);
	assert_int_equal(queue_get(&r, "q").sent, 20);
}
