/*
 * The list of groups, pause and resume on a real Redis. The tests fill the keys by hand, as
 * lua/queues/lib_queue.lua describes them.
 */
#include <inttypes.h>

#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { BLOCKED = 0, HELD = 0, HEAD = 1, OCCUPIED = 2 };

/* Message `n` of the batch, sent at second n, with its priority. */
static const char *member(int priority, int n)
{
	static char text[24];

	snprintf(text, sizeof(text), "%d17000000%02d000000-", priority, n);
	return text;
}

/* Adds a member of `order` or a mark in `busy`: the group, a byte and the message. */
static void mark(const char *key, const char *group, int kind, const char *message)
{
	char text[300];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s%c%s", group, '?', message);

	text[strlen(group)] = (char)kind;
	server_command(&r, "ZADD %s 0 %b", queue_key("q", key), text, len);
}

static void in_ready(const char *message, const char *group)
{
	server_command(&r, "ZADD %s 41700000000000 %s%s", queue_key("q", ":ready"), message, group);
}

static void in_flight(const char *message, const char *group, int64_t until_ms)
{
	char field[300];

	snprintf(field, sizeof(field), "%.16ss%s", message + 1, group);
	server_command(&r, "ZADD %s %lld %s", queue_key("q", ":flight"), (long long)until_ms, field);
}

static void hold(const char *what, const char *group, int64_t until)
{
	server_command(&r, "ZADD %s %lld %s%s", queue_key("q", ":groups"), (long long)until, what, group);
}

static size_t list(const char *after, const char *limit)
{
	run(&r, &queue_group_list_script, queue_keys("q"), ARGS(after, limit, "1"));
	return r.reply->elements - QUEUE_GROUP_LIST_GROUPS;
}

/* Lists until the list is complete: a page may be short if Redis had to wait for the processor. */
static size_t list_all(void)
{
	size_t count = 0;

	do
		count = list("", "1000");
	while (item_text(&r, QUEUE_GROUP_LIST_LAST_GROUP)[0]);
	return count;
}

static void assert_group_reply(const redisReply *g, const char *group, int64_t ready, int64_t blocked,
			       int64_t in_flight, int64_t oldest_at_ms, const char *reason, int64_t until_ms)
{
	assert_string_equal(g->element[QUEUE_GROUP_GROUP]->str, group);
	assert_int_equal(g->element[QUEUE_GROUP_READY]->integer, ready);
	assert_int_equal(g->element[QUEUE_GROUP_BLOCKED]->integer, blocked);
	assert_int_equal(g->element[QUEUE_GROUP_IN_FLIGHT]->integer, in_flight);
	assert_int_equal(g->element[QUEUE_GROUP_OLDEST_AT_MS]->integer, oldest_at_ms);
	assert_string_equal(g->element[QUEUE_GROUP_REASON]->str, reason);
	assert_int_equal(g->element[QUEUE_GROUP_UNTIL_MS]->integer, until_ms);
}

#define assert_listed(i, ...) assert_group_reply(r.reply->element[QUEUE_GROUP_LIST_GROUPS + (i)], __VA_ARGS__)

static int64_t now_ms(void)
{
	return server_now_us(&r) / 1000;
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

TEST(a_queue_without_groups_has_an_empty_list)
{
	unchanged(&r, assert_int_equal(list("", "10"), 0));
	queue_message_send(&r, "q", (struct outgoing){ .body = "1" });
	assert_int_equal(list("", "10"), 0);
	assert_string_equal(item_text(&r, QUEUE_GROUP_LIST_LAST_GROUP), "");
}

TEST(each_reason_is_named)
{
	int64_t soon = now_ms() + 60000;

	/*
	 * a's turn comes: one message is ready, two are blocked, and the oldest has a worse
	 * priority.
	 */
	mark(":busy", "a", HEAD, member(4, 20));
	in_ready(member(4, 20), "a");
	mark(":order", "a", BLOCKED, member(4, 21));
	mark(":order", "a", BLOCKED, member(9, 10));
	/* b has as many in flight as allowed. */
	mark(":order", "b", BLOCKED, member(4, 22));
	mark(":busy", "b", OCCUPIED, member(4, 20));
	mark(":busy", "b", OCCUPIED, member(4, 21));
	in_flight(member(4, 20), "b", soon + 1);
	in_flight(member(4, 21), "b", soon);
	/* c is strict, and its message is in its backoff. */
	mark(":order", "c", BLOCKED, member(4, 22));
	mark(":busy", "c", OCCUPIED, member(4, 20));
	server_command(&r, "ZADD %s %lld %sc", queue_key("q", ":delayed"), (long long)soon, member(4, 20));
	/* d is strict, and its head is ready. */
	mark(":busy", "d", OCCUPIED, member(4, 20));
	in_ready(member(4, 20), "d");
	/* e is limited; f is limited, and paused for longer. */
	mark(":order", "e", BLOCKED, member(4, 20));
	mark(":busy", "e", HELD, "");
	hold("h", "e", soon);
	mark(":order", "f", BLOCKED, member(4, 20));
	mark(":busy", "f", HELD, "");
	hold("h", "f", soon);
	hold("p", "f", soon * 1000);
	/* Nothing is left of g but a pause that has passed. */
	mark(":busy", "g", HELD, "");
	hold("h", "g", 1700000000000);
	hold("p", "g", 1700000000000000);

	unchanged(&r, list("", "10"));
	assert_int_equal(list_all(), 6);
	assert_listed(0, "a", 1, 2, 0, 1700000010000, "", -1);
	assert_listed(1, "b", 0, 1, 2, 1700000022000, "in_flight", soon);
	assert_listed(2, "c", 0, 1, 0, 1700000022000, "backoff", soon);
	assert_listed(3, "d", 1, 0, 0, 1700000020000, "", -1);
	assert_listed(4, "e", 0, 1, 0, 1700000020000, "limited", soon);
	assert_listed(5, "f", 0, 1, 0, 1700000020000, "paused", soon);
}

/* Some names are prefixes of others, and some have bytes above ASCII. */
TEST(a_walk_finds_each_group_once)
{
	static const char *const names[] = { "A", "a", "a a", "a-", "ab", "abc", "b", "\xc3\xa9", "\xe4\xb8\xad" };
	size_t count = COUNT(names);
	char after[16] = "";

	for (size_t i = 0; i < count; i++) {
		mark(i % 2 ? ":order" : ":busy", names[i], i % 2 ? BLOCKED : OCCUPIED, member(4, 20));
		mark(i % 3 ? ":order" : ":busy", names[i], i % 3 ? BLOCKED : OCCUPIED, member(4, 20));
		in_flight(member(4, 20), names[i], now_ms() + 60000);
	}
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(list(after, "1"), 1);
		const redisReply *g = r.reply->element[QUEUE_GROUP_LIST_GROUPS];
		assert_string_equal(g->element[QUEUE_GROUP_GROUP]->str, names[i]);
		snprintf(after, sizeof(after), "%s", item_text(&r, QUEUE_GROUP_LIST_LAST_GROUP));
	}
	assert_string_equal(after, "");
	assert_int_equal(list_all(), count);
}

TEST(the_list_does_not_grow_with_what_is_blocked)
{
	for (int i = 0; i < 99; i++)
		mark(":order", "a", BLOCKED, member(4, i));
	mark(":order", "b", BLOCKED, member(4, 20));
	list("", "10"); /* loads the script */
	long long before = server_commands_run(&r);
	list("", "10");
	assert_in_range(server_commands_run(&r) - before, 1, 40);
	assert_int_equal(list_all(), 2);
	assert_listed(0, "a", 0, 99, 0, 1700000000000, "", -1);
}

TEST(a_foreign_order_is_refused)
{
	server_command(&r, "ZADD %s 0 foreign", queue_key("q", ":order"));
	run_fails(&r, &queue_group_list_script, queue_keys("q"), ARGS("", "10"), "WRONGTYPE");
}

static void pause(const char *group, const char *for_ms)
{
	run(&r, &queue_group_pause_script, queue_keys("q"), ARGS(group, for_ms, "1"));
}

TEST(a_pause_holds_the_head)
{
	unchanged(&r, {
		pause("a", "60000");
		assert_int_equal(outcome(&r), QUEUE_GROUP_PAUSE_ABSENT);
	});
	queue_message_send(&r, "q", (struct outgoing){ .body = "1", .delay_ms = 60000 });
	mark(":busy", "a", HEAD, member(4, 20));
	in_ready(member(4, 20), "a");
	mark(":order", "a", BLOCKED, member(4, 21));
	int64_t before = now_ms();
	pause("a", "60000");
	const redisReply *g = r.reply->element[QUEUE_GROUP_PAUSE_GROUP];
	int64_t until = g->element[QUEUE_GROUP_UNTIL_MS]->integer;
	assert_in_range(until, before + 60000, now_ms() + 60000);
	pause("a", "1"); /* a pause does not shorten an earlier one */
	assert_group_reply(r.reply->element[QUEUE_GROUP_PAUSE_GROUP], "a", 0, 2, 0, 1700000020000, "paused", until);
	assert_int_equal(server_command(&r, "ZCARD %s", queue_key("q", ":ready"))->integer, 0);
	assert_int_equal(queue_message_receive(&r, "q", 10, 30000, NONCE_A), 0);
	assert_int_equal(strtoll(server_command(&r, "HGET %s group_paused_until", queue_key("q", ""))->str, NULL, 10),
			 until);
}
