/*
 * One call of queue_delivery_list_extend extends many deliveries, on a real Redis. It extends each
 * as queue_delivery_extend would, and its cost does not grow with their number.
 */
#include "line_look.h"
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { NOT_CURRENT, EXTENDED, CANCELLED, MINUTE_MS = 60000 };

static char receipts[BATCH_MAX][64];

static void receive(int count, int64_t visibility_ms, const char *nonce)
{
	assert_int_equal(queue_message_receive(&r, "q", count, visibility_ms, nonce), count);
	for (size_t i = 0; i < (size_t)count; i++)
		snprintf(receipts[i], sizeof(receipts[0]), "%s", received(&r, i, RECEIVED_RECEIPT)->str);
}

static int64_t ends_at(const char *id)
{
	assert_int_equal(queue_message_get(&r, "q", id), 0);
	return item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_AT)->integer;
}

TEST(each_has_its_outcome)
{
	const struct outgoing batch[] = { { .id = "a" }, { .id = "b" }, { .id = "c" }, { .id = "d" }, { .id = "e" } };

	queue_send_all(&r, "q", batch, 5);
	receive(5, MINUTE_MS, NONCE_A);
	int64_t before_ms = received(&r, 4, RECEIVED_VISIBLE_UNTIL)->integer;
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[1]), 1);
	assert_int_equal(queue_message_cancel(&r, "q", "c"), 1);
	assert_int_equal(queue_delivery_reject(&r, "q", receipts[3], 0, "", false), 1);
	const char *const *named = ARGS(receipts[0], receipts[1], receipts[2], receipts[3]);
	assert_int_equal(queue_delivery_list_extend(&r, "q", named, 5 * MINUTE_MS), 1);
	int64_t until_ms = item_int(&r, QUEUE_DELIVERY_LIST_EXTEND_VISIBLE_UNTIL_MS);
	assert_int_equal(until_ms, item_int(&r, REPLY_NOW_MS) + 5 * MINUTE_MS);
	static const int outcomes[] = { EXTENDED, NOT_CURRENT, CANCELLED, NOT_CURRENT };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(item_int(&r, QUEUE_DELIVERY_LIST_EXTEND_OUTCOMES + i), outcomes[i]);
	assert_int_equal(ends_at("a"), until_ms);
	assert_int_equal(ends_at("e"), before_ms); /* its receipt was not named */
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[0]), 1);
}

/* A nonce of an older daemon is random from its start, where a new one has the time. */
TEST(a_nonce_without_a_time_is_extended)
{
	static const char other[] = "local f = ARGV[1] .. 's' local state = redis.call('HGET', KEYS[1], f) "
				    "redis.call('HSET', KEYS[1], f, '0abcdef012345678' .. state:sub(17))";

	queue_send_all(&r, "q", (const struct outgoing[]){ { .id = "a" } }, 1);
	receive(1, MINUTE_MS, NONCE_A);
	receipts[0][16] = '\0'; /* the sequence is left */
	server_command(&r, "EVAL %s 1 %s %s", other, queue_key("q", ""), receipts[0]);
	receipts[0][16] = '.';
	snprintf(receipts[0] + 17, sizeof(receipts[0]) - 17, "0abcdef012345678");
	assert_int_equal(queue_delivery_extend(&r, "q", receipts[0], 5 * MINUTE_MS), 1);
	assert_int_equal(queue_delivery_list_extend(&r, "q", ARGS(receipts[0]), 6 * MINUTE_MS), 1);
}

TEST(without_a_time_it_is_the_queues)
{
	struct queue_settings settings = standard_settings;

	settings.visibility_ms = 7000;
	queue_put(&r, "q", settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	receive(1, MINUTE_MS, NONCE_A);
	assert_int_equal(queue_delivery_list_extend(&r, "q", ARGS(receipts[0]), -1), 1);
	assert_int_equal(ends_at("a"), item_int(&r, REPLY_NOW_MS) + 7000);
}

static const struct outgoing various[] = {
	{ 0 },
	{ .id = "a" },
	{ .group = "g" },
	{ .id = "b", .group = "h", .ttl_ms = 90000, .max_receives = 3, .priority = 9 }
};

enum { VARIOUS = COUNT(various) };
enum deliveries { NAMELESS, NAMED, ENDED_TOO };

/*
 * Extends every delivery, and returns a picture of Redis, which the caller frees. The script takes
 * its longer way where `concurrency` refused a receive (field `full`). `replies` receives what the
 * script returned.
 */
static char *extended(enum deliveries are, bool is_long, bool many, int64_t visibility_ms, char replies[VARIOUS * 32])
{
	char *to = replies;

	script_stage_empty(NULL);
	*script_clock_us = 1700000000LL * 1000000;
	queue_send_all(&r, "q", various, VARIOUS);
	run(&r, &queue_message_receive_script, queue_keys("q"),
	    ARGS("10", "60000", NONCE_A, "0", "", "0", "0", "", are == NAMELESS ? "" : "a worker"));
	assert_int_equal(outcome(&r), VARIOUS);
	for (size_t i = 0; i < VARIOUS; i++)
		snprintf(receipts[i], sizeof(receipts[0]), "%s", received(&r, i, RECEIVED_RECEIPT)->str);
	if (are == ENDED_TOO) {
		assert_int_equal(queue_message_cancel(&r, "q", "b"), 1);
		assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[1]), 1);
	}
	*script_clock_us += 1000000;
	if (is_long)
		server_command(&r, "HSET p:queue:{q} full 1");
	if (many) {
		queue_delivery_list_extend(&r, "q", ARGS(receipts[0], receipts[1], receipts[2], receipts[3]),
					   visibility_ms);
		for (size_t i = 0; i < VARIOUS; i++)
			to += sprintf(to, "%d ", (int)item_int(&r, QUEUE_DELIVERY_LIST_EXTEND_OUTCOMES + i));
	}
	for (size_t i = 0; !many && i < VARIOUS; i++) {
		int64_t result = queue_delivery_extend(&r, "q", receipts[i], visibility_ms);
		to += sprintf(to, "%d %lld ", (int)result,
			      result == 1 ? (long long)item_int(&r, QUEUE_DELIVERY_EXTEND_VISIBLE_UNTIL_MS) : 0);
	}
	server_command(&r, "HDEL p:queue:{q} full");
	return server_picture(&r);
}

TEST(the_usual_way_leaves_what_the_longer_way_leaves)
{
	static const int64_t visibilities_ms[] = { 300000, 90000, -1, 59000, 58999, 1 };

	for (enum deliveries are = NAMELESS; are <= ENDED_TOO; are++) {
		for (size_t i = 0; i < 2 * COUNT(visibilities_ms); i++) {
			char replies[2][VARIOUS * 32];
			int64_t visibility_ms = visibilities_ms[i / 2];
			char *usual = extended(are, false, i % 2, visibility_ms, replies[0]);
			char *longer = extended(are, true, i % 2, visibility_ms, replies[1]);
			if (strcmp(replies[0], replies[1]) != 0 || strcmp(usual, longer) != 0)
				fail_msg("deliveries %d, %lld ms: %s\n%s\nnot %s\n%s", (int)are,
					 (long long)visibility_ms, replies[0], usual, replies[1], longer);
			free(usual);
			free(longer);
		}
	}
}

/* When a delivery now ends sooner, a waiter must not sleep until the old end. */
TEST(a_waiter_looks_at_a_sooner_end)
{
	for (int i = 0; i < 3; i++)
		queue_message_send(&r, "q", (struct outgoing){ 0 });
	receive(3, MINUTE_MS, NONCE_A);
	queue_wait(&r, "q", QUEUE_TICKET(DAEMON_A, 1, 1), 60000, 0);
	line_published(&r);
	assert_int_equal(queue_delivery_list_extend(&r, "q", ARGS(receipts[0]), 5), 1);
	assert_string_not_equal(line_published(&r), "");
	assert_int_equal(queue_delivery_list_extend(&r, "q", ARGS(receipts[0], receipts[1], receipts[2]),
						    2 * MINUTE_MS),
			 3);
	assert_string_equal(line_published(&r), "");
}

static int64_t commands(void)
{
	static const char count[] = "local n = 0 for calls in redis.call('INFO', 'commandstats')"
				    ":gmatch('cmdstat_[hz]%a+:calls=(%d+)') do n = n + calls end return n";
	int64_t n = server_command(&r, "EVAL %s 0", count)->integer;

	server_command(&r, "CONFIG RESETSTAT");
	return n;
}

TEST(a_hundred_cost_what_one_costs)
{
	const struct outgoing batch[BATCH_MAX] = { 0 };
	const char *all[BATCH_MAX + 1] = { NULL };

	queue_send_all(&r, "q", batch, BATCH_MAX);
	receive(BATCH_MAX, MINUTE_MS, NONCE_A);
	for (size_t i = 0; i < BATCH_MAX; i++)
		all[i] = receipts[i];
	commands();
	assert_int_equal(queue_delivery_list_extend(&r, "q", ARGS(receipts[0]), MINUTE_MS), 1);
	int64_t one = commands();
	assert_int_equal(queue_delivery_list_extend(&r, "q", all, MINUTE_MS), BATCH_MAX);
	assert_int_equal(commands(), one);
}

TEST(a_full_redis_extends)
{
	queue_message_send(&r, "q", (struct outgoing){ .id = "a" });
	receive(1, MINUTE_MS, NONCE_A);
	server_command(&r, "CONFIG SET maxmemory 1");
	assert_int_equal(queue_delivery_list_extend(&r, "q", ARGS(receipts[0]), MINUTE_MS), 1);
	server_command(&r, "CONFIG SET maxmemory 0");
}

static int open_all(void **state)
{
	script_stage_open_by_clock(state);
	line_attend(&r, "p:queue:{q}");
	line_subscribe(&r, "p:queue:{q}");
	return 0;
}

static int close_all(void **state)
{
	line_subscribe(&r, NULL);
	return script_stage_close(state);
}

SUITE(.open = open_all, .close = close_all, .before = script_stage_empty);
