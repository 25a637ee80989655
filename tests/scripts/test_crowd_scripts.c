/*
 * Many of one kind: a message that no worker can process, very many messages that become due in the
 * same millisecond, limits with a hundred thousand keys, and a board of many members. Each call
 * stays short, and expired state leaves nothing behind.
 */
#include "board_calls.h"
#include "queue_calls.h"
#include "redis_clock.h"
#include "script_stage.h"
#include "test.h"

/* The clock of Redis moves only here. */
static void pass_ms(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

static int64_t info(const char *section, const char *name, double unit)
{
	const char *at = strstr(server_command(&r, "INFO %s", section)->str, name);

	assert_non_null(at);
	return (int64_t)(strtod(at + strlen(name), NULL) * unit);
}

/* The processor time of Redis, which excludes time that it waited on a busy machine. */
static int64_t worked_us(void)
{
	return info("cpu", "used_cpu_user:", 1e6) + info("cpu", "used_cpu_sys:", 1e6);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .before = script_stage_empty);

TEST(a_poisoned_message_dies_after_a_thousand_tries)
{
	enum { TRIES = 1000 };
	struct queue_settings settings = standard_settings;
	char receipt[64];

	settings.max_receives = TRIES;
	queue_put(&r, "q", settings);
	queue_message_send(&r, "q", (struct outgoing){ .id = "poison" });
	for (int i = 1; i <= TRIES; i++) {
		assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_A), 1);
		assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, i);
		snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
		assert_int_equal(queue_delivery_reject(&r, "q", receipt, 0, "it is poisoned", false), 1);
	}
	assert_counts(&r, "q", 0, 0, 0, 1);
	assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_B), 0);
	assert_int_equal(queue_message_get(&r, "q", "poison"), 0);
	assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_RECEIVES)->integer, TRIES);
}

/* A page stays short on a board of a hundred thousand members, or of a million in full. */
TEST(pages_of_a_large_board_are_short)
{
	enum { PAGE = 100, LONGEST_US = 20000 };
	static struct ranked page[PAGE];
	const int64_t members = in_full() ? 1000000 : 100000, places[] = { 0, members / 2, members - PAGE };

	board_fill("b", (size_t)members, 43);
	for (size_t i = 0; i < COUNT(places); i++) {
		int64_t before_us = worked_us();
		assert_int_equal(board_page("b", places[i], PAGE, "desc", 3, page), PAGE);
		int64_t took_us = worked_us() - before_us;
		print_message("the page at %lld took Redis %lld us\n", (long long)places[i], (long long)took_us);
		assert_in_range(took_us, 0, LONGEST_US);
		assert_int_equal(board_position("b", page[PAGE - 1].member, "desc"), places[i] + PAGE - 1);
	}
	assert_int_equal(board_page("b", members, PAGE, "desc", 3, page), 0);
}

static int64_t memory(void)
{
	return info("memory", "used_memory:", 1);
}

/*
 * Takes one from each of `count` limits, and returns the last key. All calls are sent before the
 * first reply is read.
 */
static const char *take_by_each(const struct script *s, const char *name, int from, int count, int window_ms)
{
	static char key[96];
	redisReply *reply;

	for (int i = from; i < from + count; i++) {
		snprintf(key, sizeof(key), "p:limit:{caller-%d}:@:%s", i, name);
		redisAppendCommand(r.context, "EVALSHA %s 1 %s 1 %d 1 %d %s", s->text->sha1, key, window_ms,
				   s == &ratelimit_gcra_script, s->name);
	}
	for (int i = 0; i < count; i++) {
		assert_int_equal(redisGetReply(r.context, (void **)&reply), REDIS_OK);
		assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
		assert_int_equal(reply->element[0]->integer, 1);
		freeReplyObject(reply);
	}
	return key;
}

/* A hundred thousand keys, by the three algorithms. Each is small, and expires when unused. */
TEST(limits_of_many_keys_leave_nothing)
{
	enum { KEYS_EACH = 34000, AT_ONCE = 1000, WINDOW_MS = 3000, BYTES_A_KEY = 400, TABLES_BYTES = 4 << 20 };
	static const struct {
		const struct script *script;
		const char *name;
	} limits[] = { { &ratelimit_gcra_script, "gcra" },
		       { &ratelimit_sliding_window_script, "sliding_window" },
		       { &ratelimit_fixed_window_script, "fixed_window" } };
	int64_t before = memory();

	server_expires_alone(&r, true);
	for (size_t k = 0; k < 3; k++) {
		const struct script *s = limits[k].script;
		server_command(&r, "SCRIPT LOAD %s", s->text->source.at);
		for (int i = 0; i < KEYS_EACH; i += AT_ONCE) {
			const char *key = take_by_each(s, limits[k].name, i, AT_ONCE, WINDOW_MS);
			int64_t ttl_ms = server_command(&r, "PTTL %s", key)->integer;
			assert_in_range(ttl_ms, 1, WINDOW_MS + 1);
		}
		int64_t taken = memory() - before, keys = server_keys(&r);
		print_message("%s: %lld keys, %lld bytes\n", limits[k].name, (long long)keys, (long long)taken);
		assert_true(taken <= keys * BYTES_A_KEY + TABLES_BYTES);
	}
	server_command(&r, "CONFIG SET hz 500"); /* how often per second Redis looks for expired keys */
	pass_ms(WINDOW_MS + 1);
	wait_until(server_keys(&r) == 0, 20000);
	wait_until(memory() - before <= TABLES_BYTES, 5000);
}

/* Returns how long a script takes to read a sorted set once. */
static int64_t reading_us(const char *key)
{
	enum { TIMES = 20 };
	int64_t before_us = worked_us();

	server_command(&r, "EVAL %s 1 %s %d", "for i = 1, ARGV[1] do redis.call('ZRANGE', KEYS[1], 0, -1) end", key,
		       TIMES);
	return (worked_us() - before_us) / TIMES;
}

/*
 * The script that stores a value wakes all clients that wait for it, with one message per daemon.
 * That takes little more than to read their wait queue, on any machine.
 */
TEST(a_value_wakes_a_crowd)
{
	enum { CROWD = 10000, DAEMONS = 100, PAGE = 1000, READINGS = 6, TRIES = 5 };
	static char command[PAGE * 64];
	int64_t shortest_us = INT64_MAX, shortest_reading_us = INT64_MAX;

	for (int n = 0; n < TRIES; n++) {
		script_stage_empty(NULL);
		for (int i = 0; i < CROWD;) {
			char *at = command + sprintf(command, "ZADD p:cache:{a}:waiters");
			do
				at += sprintf(at, " 17000000000%05d %016x.%016x.f", i, i % DAEMONS + 1, i);
			while (++i % PAGE);
			assert_int_equal(server_command(&r, command)->integer, PAGE);
		}
		int64_t read_us = reading_us("p:cache:{a}:waiters"), before_us = worked_us();
		shortest_reading_us = read_us < shortest_reading_us ? read_us : shortest_reading_us;
		run(&r, &cache_put_script,
		    KEYS("p:cache:{a}", "p:cache:{a}:fence", "p:cache:{a}:fill", "p:cache:{a}:again",
			 "p:cache:{a}:waiters"),
		    ARGS("1", "60000", "00c0ffee", "", "", "", ""));
		assert_int_equal(outcome(&r), CACHE_PUT_NEW);
		int64_t took_us = worked_us() - before_us;
		assert_int_equal(redis_exists(&r, "p:cache:{a}:waiters"), 0);
		shortest_us = took_us < shortest_us ? took_us : shortest_us;
	}
	print_message("the PUT took Redis %lld us, and to read the wait queue %lld us\n", (long long)shortest_us,
		      (long long)shortest_reading_us);
	assert_in_range(shortest_us, 0, READINGS * shortest_reading_us);
}

/*
 * The first receive must not do the work for all due messages: a hundred thousand, or a million in
 * full. It is the last test: Redis frees its memory while later calls run.
 */
TEST(very_many_are_due_at_once)
{
	enum { TAKEN = 100, LONGEST_US = 50000, LATER_MS = 20000 };
	static struct outgoing batch[BATCH_MAX];
	const int batches = in_full() ? 10000 : 1000;
	int64_t longest_us = 0;

	for (int i = 0; i < BATCH_MAX; i++)
		batch[i] = (struct outgoing){ .body = "1", .deliver_at_ms = server_now_ms(&r) + LATER_MS };
	for (int i = 0; i < batches; i++)
		queue_send_all(&r, "q", batch, BATCH_MAX);
	assert_counts(&r, "q", 0, batches * BATCH_MAX, 0, 0);
	pass_ms(LATER_MS);
	for (int i = 0; i < TAKEN; i++) {
		int64_t before_us = worked_us();
		assert_int_equal(queue_message_receive(&r, "q", BATCH_MAX, 60000, NONCE_A), BATCH_MAX);
		int64_t took_us = worked_us() - before_us;
		longest_us = took_us > longest_us ? took_us : longest_us;
	}
	print_message("the longest call took Redis %lld us\n", (long long)longest_us);
	assert_in_range(longest_us, 0, LONGEST_US);
	assert_counts(&r, "q", (batches - TAKEN) * BATCH_MAX, 0, TAKEN * BATCH_MAX, 0);
}
