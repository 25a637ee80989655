/* The workers of a queue, on a real Redis whose clock the tests move. */
#include <string.h>

#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { MOST = 1000 };
static const int64_t HOUR_US = 3600000000;

static void see(const char *worker)
{
	run(&r, &queue_worker_seen_script, KEYS(queue_key("q", ":workers")), ARGS(worker));
}

static size_t list(void)
{
	const char *keys[QUEUE_KEYS + 2] = { NULL };

	memcpy(keys, queue_keys("q"), QUEUE_KEYS * sizeof(*keys));
	keys[QUEUE_KEYS] = queue_key("q", ":workers");
	run(&r, &queue_worker_list_script, keys, ARGS());
	return r.reply->elements - QUEUE_WORKER_LIST_WORKERS;
}

static void assert_listed(size_t i, const char *worker, int64_t first_ms, int64_t last_ms)
{
	const redisReply *w = r.reply->element[QUEUE_WORKER_LIST_WORKERS + i];

	assert_string_equal(w->element[QUEUE_WORKER_WORKER]->str, worker);
	assert_int_equal(w->element[QUEUE_WORKER_FIRST_RECEIVE_AT_MS]->integer, first_ms);
	assert_int_equal(w->element[QUEUE_WORKER_LAST_RECEIVE_AT_MS]->integer, last_ms);
}

TEST(a_worker_is_listed_for_an_hour_after_its_last_receive)
{
	int64_t began_ms = *script_clock_us / 1000;

	see("a");
	*script_clock_us += HOUR_US / 2;
	see("b");
	see("a");
	*script_clock_us += HOUR_US / 2 - 1000;
	see("b");
	assert_int_equal(list(), 2);
	assert_listed(0, "b", began_ms + 1800000, began_ms + 3599999);
	assert_listed(1, "a", began_ms, began_ms + 1800000);
	*script_clock_us += HOUR_US / 2 + 1000;
	assert_int_equal(list(), 1);
	see("a"); /* for the first time again */
	assert_int_equal(list(), 2);
	assert_listed(0, "a", began_ms + 5400000, began_ms + 5400000);
	assert_int_equal(server_command(&r, "PTTL %s", queue_key("q", ":workers"))->integer > 3590000, 1);
}

TEST(a_further_worker_takes_the_place_of_the_one_that_was_last_seen_first)
{
	char name[16];

	for (int i = 0; i < MOST; i++) {
		snprintf(name, sizeof(name), "w%d", i);
		see(name);
		*script_clock_us += 1000;
	}
	see("w0");
	see("new");
	assert_int_equal(list(), MOST);
	assert_int_equal(server_command(&r, "HEXISTS %s w0", queue_key("q", ":workers"))->integer, 1);
	assert_int_equal(server_command(&r, "HEXISTS %s w1", queue_key("q", ":workers"))->integer, 0);
}

TEST(a_field_that_another_program_wrote_is_refused)
{
	server_command(&r, "HSET %s a 1", queue_key("q", ":workers"));
	run_fails(&r, &queue_worker_seen_script, KEYS(queue_key("q", ":workers")), ARGS("a"), "an instant");
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .after = script_stage_empty);
