/*
 * Many of one kind: rows 41 and 42 of the table of faults. A message that nobody can work on, a hundred thousand messages that become due in
 * the same millisecond, limits by tens of thousands of keys: each call stays short, and what is over leaves nothing behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "queue_calls.h"
#include "script_stage.h"

static int64_t info(const char *section, const char *name, double unit)
{
	const char *at = strstr(server_command(&r, "INFO %s", section)->str, name);

	assert_non_null(at);
	return (int64_t)(strtod(at + strlen(name), NULL) * unit);
}

/* The time that Redis has worked, not that it was kept waiting on a busy machine. */
static int64_t worked_us(void)
{
	return info("cpu", "used_cpu_user:", 1e6) + info("cpu", "used_cpu_sys:", 1e6);
}

static void a_poisoned_message_dies_after_a_thousand_tries(void **state)
{
	enum { TRIES = 1000 };
	struct queue_settings settings = standard_settings;
	char receipt[64];

	(void)state;
	settings.max_receives = TRIES;
	queue_configure(&r, "q", settings);
	queue_send(&r, "q", (struct outgoing){ .id = "poison" });
	for (int i = 1; i <= TRIES; i++) {
		assert_int_equal(queue_receive(&r, "q", 1, 30000, NONCE_A), 1);
		assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, i);
		snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
		assert_int_equal(queue_reject(&r, "q", receipt, 0, "it is poisoned", false), 1);
	}
	assert_counts(&r, "q", 0, 0, 0, 1);
	assert_int_equal(queue_receive(&r, "q", 1, 30000, NONCE_B), 0);
	assert_int_equal(message_look(&r, "q", "poison"), 0);
	assert_int_equal(item_field(&r, 2, ITEM_RECEIVES)->integer, TRIES);
}

/* Whoever comes first must not pay for all of them. */
static void a_hundred_thousand_are_due_at_once(void **state)
{
	enum { BATCHES = 1000, TAKEN = 100, LONGEST_US = 50000 };
	static struct outgoing batch[BATCH_MAX];
	int64_t due_ms = redis_now_ms(&r) + 4000, longest_us = 0;

	(void)state;
	for (int i = 0; i < BATCH_MAX; i++)
		batch[i] = (struct outgoing){ .body = "1", .deliver_at_ms = due_ms };
	for (int i = 0; i < BATCHES; i++)
		queue_send_all(&r, "q", batch, BATCH_MAX);
	wait_for_clock(&r, due_ms);
	for (int i = 0; i < TAKEN; i++) {
		int64_t before_us = worked_us();
		assert_int_equal(queue_receive(&r, "q", BATCH_MAX, 60000, NONCE_A), BATCH_MAX);
		int64_t took_us = worked_us() - before_us;
		longest_us = took_us > longest_us ? took_us : longest_us;
	}
	print_message("the longest call took Redis %lld us\n", (long long)longest_us);
	assert_in_range(longest_us, 0, LONGEST_US);
	assert_counts(&r, "q", (BATCHES - TAKEN) * BATCH_MAX, 0, TAKEN * BATCH_MAX, 0);
}

static void limits_of_many_keys_leave_nothing(void **state)
{
	enum { KEYS_EACH = 5000, WINDOW_MS = 3000, BYTES_A_KEY = 600 };
	static const struct {
		const struct script *script;
		const char *name;
	} limits[] = { { &ratelimit_funnel_script, "funnel" },
		       { &ratelimit_sliding_window_script, "sliding_window" },
		       { &ratelimit_fixed_window_script, "fixed_window" } };
	char key[96], window[16];

	(void)state;
	snprintf(window, sizeof(window), "%d", WINDOW_MS);
	for (size_t k = 0; k < 3; k++) {
		int64_t before = info("memory", "used_memory:", 1);
		for (int i = 0; i < KEYS_EACH; i++) {
			snprintf(key, sizeof(key), "p:limit:{caller-%d}:default:%s", i, limits[k].name);
			run(&r, limits[k].script, KEYS(key), ARGS("1", window, "1", k == 0 ? "1" : "0"));
			assert_int_equal(item_int(&r, 0), 1);
		}
		assert_in_range(server_command(&r, "PTTL %s", key)->integer, 1, WINDOW_MS + 1);
		assert_true(info("memory", "used_memory:", 1) - before <= (int64_t)KEYS_EACH * BYTES_A_KEY);
		/* Before the next are counted: what expires meanwhile would be taken off from theirs. */
		wait_until(server_command(&r, "DBSIZE")->integer == 0, 20000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_poisoned_message_dies_after_a_thousand_tries, script_stage_empty),
		cmocka_unit_test_setup(a_hundred_thousand_are_due_at_once, script_stage_empty),
		cmocka_unit_test_setup(limits_of_many_keys_leave_nothing, script_stage_empty),
	};

	return cmocka_run_group_tests_name("crowds", tests, script_stage_open, script_stage_close);
}
