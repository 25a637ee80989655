/*
 * What no client sees of dedupe ids and of the sizes of messages: foreign keys, and a limit that is
 * lowered between the two calls of a send. (All else: tests/api/test_queues_dedupe.c and
 * test_queues_sizes.c.)
 */
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

#define OF_ID "p:queue:{q}:dedupe:id"
#define OF_GROUP "p:queue:{q}:dedupe:group"

static const char *const *with_dedupe_keys(void)
{
	static const char *keys[QUEUE_KEYS + 3];
	const char *const *of_queue = queue_keys("q");

	for (size_t i = 0; i < QUEUE_KEYS; i++)
		keys[i] = of_queue[i];
	keys[QUEUE_KEYS] = OF_ID;
	keys[QUEUE_KEYS + 1] = OF_GROUP;
	return keys;
}

#define MESSAGE ARGS("", "1", "4\t-1\t-1\t0\t0\t\td\tg")

static void set_rules(const char *rules)
{
	server_command(&r, "EVAL %s 1 p:queue:{q} %s",
		       "return redis.call('HSET', KEYS[1], 'rules', '- ' .. cmsgpack.pack(cjson.decode(ARGV[1])))",
		       rules);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .after = script_stage_empty);

TEST(foreign_keys_are_left_alone)
{
	for (int in_groups = 0; in_groups < 2; in_groups++) {
		script_stage_empty(NULL);
		queue_message_send(&r, "q", (struct outgoing){ 0 });
		if (in_groups)
			set_rules("{\"dedupe_scope\":\"group\"}");
		server_command(&r, "SADD %s a", in_groups ? OF_GROUP : OF_ID);
		char *before = server_picture(&r);
		run_fails(&r, &queue_message_send_script, with_dedupe_keys(), MESSAGE, "WRONGTYPE");
		char *after = server_picture(&r);
		assert_string_equal(before, after);
		free(before);
		free(after);
	}
}

/* Only a queue whose ids count in their group has the second key. */
TEST(a_record_has_one_key)
{
	run(&r, &queue_message_send_script, with_dedupe_keys(), MESSAGE);
	assert_int_equal(outcome(&r), 1);
	assert_in_range(redis_pttl_ms(&r, OF_ID), 290000, 300000);
	assert_int_equal(redis_exists(&r, OF_GROUP), 0);
	server_command(&r, "DEL %s", OF_ID);
	set_rules("{\"dedupe_scope\":\"group\"}");
	run(&r, &queue_message_send_script, with_dedupe_keys(), MESSAGE);
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(redis_exists(&r, OF_ID), 1);
	assert_in_range(redis_pttl_ms(&r, OF_GROUP), 290000, 300000);
}

TEST(a_limit_that_was_lowered_counts)
{
	static const struct script *const scripts[] = { &queue_message_send_script, &queue_message_supersede_script };
	static const struct {
		const char *options;
		int64_t outcome;
	} cases[] = {
		{ "sized=5", -7 }, { "exists sized=5", -7 }, { "sized=4", 1 }, { "exists sized=3", 1 }, { "sized=3", 1 }
	};

	for (size_t s = 0; s < COUNT(scripts); s++)
		for (size_t i = 0; i < COUNT(cases); i++) {
			script_stage_empty(NULL);
			queue_message_send(&r, "q", (struct outgoing){ 0 });
			set_rules("{\"max_message_bytes\":4}");
			run(&r, scripts[s], queue_keys("q"), ARGS("", "\"1\\u0031\"", "4", cases[i].options));
			assert_int_equal(outcome(&r), cases[i].outcome);
			if (cases[i].outcome < 0)
				assert_int_equal(item_int(&r, QUEUE_MESSAGE_SEND_MOST), 4);
		}
}
