/*
 * What results leave in Redis, and for how long; and which daemons are named beside a message
 * because they wait for its end. The test sets Redis's clock.
 */
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { RESULT_MS = 150000 };

#define DAEMON_ONE "00000000000000aa"
#define DAEMON_TWO "00000000000000bb"

static char seq[17], receipt[64];

static void keep(int64_t result_ms, int64_t dedupe_ms)
{
	struct queue_settings settings = standard_settings;

	settings.result_ms = result_ms;
	settings.dedupe_ms = dedupe_ms;
	queue_put(&r, "q", settings);
}

static void deliver(const char *id)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = id });
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_A), 1);
	snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
	snprintf(seq, sizeof(seq), "%.16s", receipt);
}

/* The keys of a script that also gets a result's key. */
static const char *const *keys_with_result(void)
{
	static const char *keys[QUEUE_KEYS + 2];
	static char result[64];
	const char *const *of_queue = queue_keys("q");

	for (size_t i = 0; i < QUEUE_KEYS; i++)
		keys[i] = of_queue[i];
	snprintf(result, sizeof(result), "p:queue:{q}:result:%s", seq);
	keys[QUEUE_KEYS] = result;
	return keys;
}

static int64_t complete(const char *result)
{
	run(&r, &queue_delivery_complete_script, keys_with_result(), ARGS("0", "1", seq, receipt + 17, result));
	return item_int(&r, QUEUE_DELIVERY_COMPLETE_OUTCOMES);
}

static void look(const char *daemon, const char *wait_ms)
{
	run(&r, &queue_message_wait_script, keys_with_result(), ARGS(seq, daemon, wait_ms));
}

static void pass_ms(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

static int64_t size_of(const char *verb, const char *part)
{
	char command[16];

	snprintf(command, sizeof(command), "%s %%s", verb);
	return server_command(&r, command, queue_key("q", part))->integer;
}

static void assert_nothing_left(void)
{
	static const char count[] = "local n = 0 for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do "
				    "n = n + (name:find('^%d') and 1 or 0) end return n";

	assert_int_equal(server_command(&r, "EVAL %s 1 %s", count, queue_key("q", ""))->integer, 0);
	assert_int_equal(size_of("ZCARD", ":flight"), 0);
	assert_int_equal(size_of("HLEN", ":ids"), 0);
	assert_int_equal(size_of("ZCARD", ":done"), 0);
}

static void trim(void)
{
	queue_trim_next(&r, "q");
	queue_message_receive(&r, "q", 1, 30000, NONCE_B);
}

static void assert_state(const char *id, const char *wanted)
{
	assert_int_equal(queue_message_get(&r, "q", id), 0);
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_STATE)->str, wanted);
}

/* ---- What is kept ---- */

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .after = script_stage_empty);

TEST(what_is_done_is_trimmed)
{
	keep(RESULT_MS, 0);
	deliver("a");
	assert_int_equal(complete("7"), 3);
	assert_in_range(redis_pttl_ms(&r, keys_with_result()[QUEUE_KEYS]), RESULT_MS - 5000, RESULT_MS);
	deliver(NULL);
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
	assert_int_equal(queue_message_get(&r, "q", "a"), QUEUE_MESSAGE_GET_RESULT_KEPT);
	assert_state(seq, "done");
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_BODY)->str, "null");
	pass_ms(RESULT_MS - 1);
	trim();
	assert_state(seq, "done");
	pass_ms(1); /* the result ends before it is trimmed */
	assert_int_equal(queue_message_get(&r, "q", seq), QUEUE_MESSAGE_GET_ABSENT);
	look("", "0");
	assert_int_equal(outcome(&r), QUEUE_MESSAGE_WAIT_ABSENT);
	trim();
	assert_nothing_left();
}

/* Kept results are dropped at their time, whatever the setting is by then. */
TEST(the_end_of_the_setting_leaves_nothing)
{
	keep(RESULT_MS, 0);
	deliver("a");
	look(DAEMON_ONE, "20000");
	deliver("b");
	assert_int_equal(complete("7"), 3);
	keep(0, 0);
	deliver("c");
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
	assert_int_equal(queue_message_get(&r, "q", "c"), QUEUE_MESSAGE_GET_ABSENT);
	pass_ms(RESULT_MS);
	assert_int_equal(queue_message_delete(&r, "q", "a"), QUEUE_MESSAGE_DELETE_REMOVED);
	trim();
	assert_nothing_left();
}

/* A longer dedupe_ms outlives the result. */
TEST(an_id_outlives_its_result)
{
	keep(RESULT_MS, 2 * RESULT_MS);
	deliver("a");
	assert_int_equal(complete("7"), 3);
	pass_ms(RESULT_MS);
	trim();
	assert_int_equal(queue_message_get(&r, "q", "a"), QUEUE_MESSAGE_GET_ABSENT);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a" }), 0);
	pass_ms(RESULT_MS);
	assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a" }), 1);
	trim();
	assert_state("a", "in_flight"); /* the id is the new message's */
}

/* The mark of a done message has the group, and is dropped with it. */
TEST(a_group_continues)
{
	keep(RESULT_MS, 0);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .group = "g" });
	queue_message_send(&r, "q", (struct outgoing){ .id = "b", .group = "g" });
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_A), 1);
	snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
	snprintf(seq, sizeof(seq), "%.16s", receipt);
	assert_int_equal(complete("7"), 3);
	assert_int_equal(queue_message_get(&r, "q", "a"), QUEUE_MESSAGE_GET_RESULT_KEPT);
	assert_int_equal(queue_take(&r, "q", 10), 1);
	assert_state("b", "done");
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_GROUP)->str, "g");
	pass_ms(3 * RESULT_MS);
	trim();
	assert_nothing_left();
}

/*
 * If a message was acknowledged at once for a client that had left, its return makes it ready
 * again.
 */
TEST(what_returns_is_not_done)
{
	char taken[17], stored[128], content[128];

	keep(RESULT_MS, 0);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	assert_int_equal(queue_take(&r, "q", 1), 1);
	const redisReply *m = r.reply->element[QUEUE_MESSAGE_RECEIVE_DELIVERIES];
	snprintf(taken, sizeof(taken), "%s", m->element[QUEUE_DELIVERY_SEQUENCE]->str);
	snprintf(stored, sizeof(stored), "%s", m->element[QUEUE_DELIVERY_STORED_STATE]->str);
	snprintf(content, sizeof(content), "%s", m->element[QUEUE_DELIVERY_CONTENT]->str);
	assert_state("a", "done");
	run(&r, &queue_delivery_return_script, queue_keys("q"), ARGS(taken, stored, content));
	assert_int_equal(outcome(&r), 1);
	assert_state("a", "ready");
	assert_int_equal(size_of("ZCARD", ":flight"), 0);
}

TEST(without_memory_nothing_is_settled)
{
	keep(RESULT_MS, 0);
	deliver("a");
	server_command(&r, "CONFIG SET maxmemory 1");
	unchanged(&r, run_fails(&r, &queue_delivery_complete_script, keys_with_result(),
				ARGS("0", "1", seq, receipt + 17, "7"), "OOM"));
	run(&r, &queue_delivery_settle_script, queue_keys("q"), ARGS("0", "1", seq, receipt + 17, ""));
	assert_int_equal(item_int(&r, QUEUE_DELIVERY_SETTLE_OUTCOMES), 1);
	server_command(&r, "CONFIG SET maxmemory 0");
	assert_state("a", "done");
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_BODY)->str, "");
	assert_int_equal(complete("7"), 1);
}

/* ---- Waiting daemons ---- */

/* Compares the last two digits of the named daemons, in their order. */
static void assert_named(const char *daemons)
{
	char field[24], names[64] = "";

	snprintf(field, sizeof(field), "%sw", seq);
	const redisReply *list = server_command(&r, "HGET %s %s", queue_key("q", ""), field);
	for (size_t i = 0; list->str && i + 29 <= list->len; i += 29)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%.2s", list->str + i + 14);
	assert_string_equal(names, daemons);
}

TEST(daemons_are_named_while_they_wait)
{
	keep(RESULT_MS, 0);
	deliver("a");
	look(DAEMON_ONE, "1000");
	look(DAEMON_TWO, "20000");
	assert_named("aabb");
	unchanged(&r, look(DAEMON_ONE, "500")); /* the daemon is already named for longer */
	look(DAEMON_ONE, "10000");
	assert_named("bbaa");
	pass_ms(10001);
	look(DAEMON_TWO, "20000"); /* the other daemon no longer waits */
	assert_named("bb");
	unchanged(&r, look("", "0"));
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
	assert_named("");
}

/* A look that waits on does not return the body. */
TEST(only_the_last_look_has_the_body)
{
	keep(RESULT_MS, 0);
	queue_message_send(&r, "q", (struct outgoing){ .body = "{\"n\":1}" });
	snprintf(seq, sizeof(seq), "%s", sent(&r, 0, QUEUE_SENT_ID)->str);
	look(DAEMON_ONE, "1000");
	const redisReply *m = r.reply->element[QUEUE_MESSAGE_WAIT_MESSAGE];
	assert_int_equal(m->element[QUEUE_MESSAGE_CONTENT]->len, 0);
	look("", "0");
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_WAIT_MESSAGE, ITEM_BODY)->str, "{\"n\":1}");
}

/*
 * A waiter looks when time alone may end the message: by the last delivery's visibility, or by its
 * ttl.
 */
TEST(a_waiter_looks_when_time_may_end_it)
{
	keep(RESULT_MS, 0);
	deliver(NULL);
	look(DAEMON_ONE, "1000");
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_WAIT_LOOK_AT_MS), -1);
	queue_message_send(&r, "q", (struct outgoing){ .max_receives = 1 });
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_A), 1);
	int64_t until_ms = received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer;
	snprintf(seq, sizeof(seq), "%.16s", received(&r, 0, RECEIVED_RECEIPT)->str);
	look(DAEMON_ONE, "1000");
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_WAIT_LOOK_AT_MS), until_ms);
	*script_clock_us = until_ms * 1000;
	look(DAEMON_ONE, "1000");
	assert_string_equal(item_field(&r, QUEUE_MESSAGE_WAIT_MESSAGE, ITEM_STATE)->str, "dead");
	queue_message_send(&r, "q", (struct outgoing){ .ttl_ms = 5000 });
	snprintf(seq, sizeof(seq), "%s", sent(&r, 0, QUEUE_SENT_ID)->str);
	look(DAEMON_ONE, "1000");
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_WAIT_LOOK_AT_MS), until_ms + 5000);
	pass_ms(5000);
	look(DAEMON_ONE, "1000");
	assert_int_equal(outcome(&r), QUEUE_MESSAGE_WAIT_ABSENT);
}
