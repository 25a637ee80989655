/*
 * The feed scripts on a real Redis: order, retention, pages within their bounds, and foreign keys
 * stay untouched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run_script.h"
#include "script_stage.h"

#define FEED "p:feed:{a}"
#define META "p:feed:{a}:meta"
#define RECORD "p:idem:{a}:k"

/* Pushes items "from" to "to" in one call; returns the length that the script reports. */
static int64_t push(const char *keep, int from, int to)
{
	static char text[1000][16];
	static const char *args[1002];
	int n = 0;

	args[n++] = keep;
	for (int i = from; i < to; i++, n++) {
		snprintf(text[n - 1], sizeof(text[0]), "%d", i);
		args[n] = text[n - 1];
	}
	args[n] = NULL;
	run(&r, &feed_item_push_script, KEYS(FEED, META), args);
	assert_int_equal(outcome(&r), 1);
	return item_int(&r, FEED_ITEM_PUSH_SIZE);
}

/* Reads a page: it has `count` items, counted down from `first`. */
static void page_is(const char *offset, const char *limit, int size, int first, int count)
{
	run(&r, &feed_item_list_script, KEYS(FEED), ARGS(offset, limit));
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(item_int(&r, FEED_ITEM_LIST_SIZE), size);
	assert_int_equal(r.reply->elements, FEED_ITEM_LIST_ITEMS + count);
	for (int i = 0; i < count; i++)
		assert_int_equal(atoi(item_text(&r, FEED_ITEM_LIST_ITEMS + (size_t)i)), first - i);
}

static void the_newest_comes_first(void **state)
{
	(void)state;
	page_is("0", "10", 0, 0, 0);
	assert_int_equal(push("1000", 0, 3), 3);
	assert_int_equal(push("1000", 3, 4), 4);
	unchanged(&r, page_is("0", "10", 4, 3, 4));
	page_is("1", "2", 4, 2, 2);
	page_is("3", "10", 4, 0, 1);
	page_is("4", "10", 4, 0, 0);
	page_is("10000", "10", 4, 0, 0);
	assert_int_equal(redis_pttl_ms(&r, FEED), -1);
	assert_int_equal(push("1000", 4, 1004), 1000);
	for (int limit = 1; limit <= 1000; limit = limit * 2 + 1) { /* pages are read in pieces */
		char text[16];
		snprintf(text, sizeof(text), "%d", limit);
		page_is("0", text, 1000, 1003, limit);
	}
	page_is("17", "1000", 1000, 986, 983);
}

static void only_the_newest_are_kept(void **state)
{
	(void)state;
	assert_int_equal(push("5", 0, 3), 3);
	assert_int_equal(push("5", 3, 9), 5);
	page_is("0", "10", 5, 8, 5);
	assert_int_equal(push("2", 9, 10), 2);
	page_is("0", "10", 2, 9, 2);
	assert_int_equal(push("1", 10, 20), 1);
	page_is("0", "10", 1, 19, 1);
}

/* A call drops 250 at most, or as many as it brings, and reports how many are still to drop. */
static void much_is_dropped_in_steps(void **state)
{
	(void)state;
	push("10000", 0, 1000);
	push("10000", 1000, 2000);
	assert_int_equal(push("500", 2000, 2010), 1760);
	page_is("0", "3", 1760, 2009, 3);
	assert_int_equal(push("500", 0, 0), 1510);
	assert_int_equal(push("500", 3000, 3300), 1510);
	for (int size = 1260; size > 500; size -= 250)
		assert_int_equal(push("500", 0, 0), size);
	assert_int_equal(push("500", 0, 0), 500);
	unchanged(&r, assert_int_equal(push("500", 0, 0), 500));
	page_is("0", "3", 500, 3299, 3);
	assert_int_equal(server_command(&r, "HEXISTS " META " excess")->integer, 0);
}

/*
 * The items to drop are fixed when new items are pushed: a late call takes nothing from a push that
 * keeps more, or from a new feed.
 */
static void a_late_call_drops_what_was_there(void **state)
{
	(void)state;
	push("10000", 0, 1000);
	assert_int_equal(push("10", 1000, 1001), 751);
	assert_string_equal(server_command(&r, "HGET " META " excess")->str, "741");
	assert_int_equal(push("1000", 2000, 2500), 751); /* drops as many as it brings */
	assert_int_equal(push("10", 0, 0), 510);
	unchanged(&r, assert_int_equal(push("10", 0, 0), 510));
	page_is("0", "500", 510, 2499, 500);
	push("10000", 3000, 4000);
	push("10", 4000, 4001);
	server_command(&r, "DEL " FEED);
	push("1000", 0, 300);
	unchanged(&r, assert_int_equal(push("10", 0, 0), 300));
}

/*
 * 40 items of 60000 bytes: four of them are a page. Small ones behind a large one are one page,
 * too.
 */
static void a_page_is_bounded_in_bytes(void **state)
{
	(void)state;
	static char large[60001], too_large[300001];

	memset(large, '1', sizeof(large) - 1);
	for (int i = 0; i < 40; i++)
		run(&r, &feed_item_push_script, KEYS(FEED, META), ARGS("100", large));
	run(&r, &feed_item_list_script, KEYS(FEED), ARGS("0", "1000"));
	assert_int_equal(item_int(&r, FEED_ITEM_LIST_SIZE), 40);
	assert_int_equal(r.reply->elements, FEED_ITEM_LIST_ITEMS + 4);
	run(&r, &feed_item_list_script, KEYS(FEED), ARGS("38", "1000"));
	assert_int_equal(r.reply->elements, FEED_ITEM_LIST_ITEMS + 2);
	memset(too_large, '1', sizeof(too_large) - 1); /* never stored by patternd; still a page has one item */
	run(&r, &feed_item_push_script, KEYS(FEED, META), ARGS("100", "7", too_large));
	run(&r, &feed_item_list_script, KEYS(FEED), ARGS("0", "1000"));
	assert_int_equal(r.reply->elements, FEED_ITEM_LIST_ITEMS + 1);
	run(&r, &feed_item_list_script, KEYS(FEED), ARGS("1", "1000"));
	assert_int_equal(r.reply->elements, FEED_ITEM_LIST_ITEMS + 5);
	assert_string_equal(item_text(&r, FEED_ITEM_LIST_ITEMS), "7");
}

static void a_replay_gets_the_first_answer(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		run_with_record(&r, &feed_item_push_script, KEYS(FEED, META), ARGS("10", "1", "2"), RECORD,
				FINGERPRINT_A);
		assert_int_equal(item_int(&r, FEED_ITEM_PUSH_SIZE), 2);
	}
	push("10", 3, 6);
	unchanged(&r, {
		run_with_record(&r, &feed_item_push_script, KEYS(FEED, META), ARGS("10", "1", "2"), RECORD,
				FINGERPRINT_A);
		assert_int_equal(item_int(&r, FEED_ITEM_PUSH_SIZE), 2);
		run_with_record_fails(&r, &feed_item_push_script, KEYS(FEED, META), ARGS("10", "1"), RECORD,
				      FINGERPRINT_B, "IDEMPOTENCY_KEY_REUSED");
	});
}

static void a_foreign_key_stays_as_it_is(void **state)
{
	(void)state;
	server_command(&r, "SET " FEED " x");
	unchanged(&r, {
		run_with_record_fails(&r, &feed_item_push_script, KEYS(FEED, META), ARGS("10", "1"), RECORD,
				      FINGERPRINT_A, "WRONGTYPE");
		run_fails(&r, &feed_item_list_script, KEYS(FEED), ARGS("0", "10"), "WRONGTYPE");
		run_fails(&r, &feed_get_script, KEYS(FEED, META), ARGS(), "WRONGTYPE");
		run_fails(&r, &feed_patch_script, KEYS(FEED, META), ARGS("1"), "WRONGTYPE");
		run_fails(&r, &feed_delete_script, KEYS(FEED, META), ARGS(), "WRONGTYPE");
	});
	server_command(&r, "DEL " FEED);
	push("10", 0, 1);
	server_command(&r, "DEL " META);
	server_command(&r, "SET " META " x");
	unchanged(&r, {
		run_fails(&r, &feed_item_push_script, KEYS(FEED, META), ARGS("10", "1"), "WRONGTYPE");
		run_fails(&r, &feed_patch_script, KEYS(FEED, META), ARGS("1"), "WRONGTYPE");
	});
}

static void the_limit_stays_until_it_is_changed(void **state)
{
	(void)state;
	assert_int_equal(push("", 0, 1000), 1000);
	assert_int_equal(push("", 1000, 1001), 1000);
	assert_int_equal(push("990", 1001, 1002), 990);
	assert_int_equal(push("", 1002, 1003), 990);
	run(&r, &feed_get_script, KEYS(FEED, META), ARGS());
	assert_int_equal(item_int(&r, FEED_SIZE), 990);
	assert_int_equal(item_int(&r, FEED_MAX_ITEMS), 990);
	server_command(&r, "DEL " FEED); /* and the next feed has nothing of it */
	run(&r, &feed_get_script, KEYS(FEED, META), ARGS());
	assert_int_equal(item_int(&r, FEED_MAX_ITEMS), 1000);
	assert_int_equal(push("", 0, 1000), 1000);
	run(&r, &feed_get_script, KEYS(FEED, META), ARGS());
	assert_int_equal(item_int(&r, FEED_MAX_ITEMS), 1000);
}

static int64_t expires_at(const char *key)
{
	return server_command(&r, "PEXPIRETIME %s", key)->integer;
}

static void both_keys_expire_together(void **state)
{
	(void)state;
	push("10", 0, 1);
	run(&r, &feed_patch_script, KEYS(FEED, META), ARGS("60000"));
	assert_int_equal(outcome(&r), 1);
	int64_t at = item_int(&r, FEED_EXPIRES_AT_MS);
	assert_int_equal(expires_at(FEED), at);
	assert_int_equal(expires_at(META), at);
	push("10", 1, 2);
	assert_int_equal(expires_at(FEED), at);
	server_command(&r, "DEL " META);
	push("20", 2, 3); /* makes it again */
	assert_int_equal(expires_at(FEED), at);
	assert_int_equal(expires_at(META), at);
	run(&r, &feed_patch_script, KEYS(FEED, META), ARGS("null"));
	assert_int_equal(item_int(&r, FEED_EXPIRES_AT_MS), -1);
	assert_int_equal(expires_at(FEED), -1);
	assert_int_equal(expires_at(META), -1);
	server_command(&r, "PEXPIRE " META " 60000");
	server_command(&r, "DEL " FEED);
	push("10", 0, 1); /* the rest of an old feed does not expire with the new one */
	assert_int_equal(expires_at(FEED), -1);
	assert_int_equal(expires_at(META), -1);
}

static void what_is_not_there_is_neither_changed_nor_removed(void **state)
{
	(void)state;
	unchanged(&r, {
		run(&r, &feed_patch_script, KEYS(FEED, META), ARGS("60000"));
		assert_int_equal(outcome(&r), 0);
		run(&r, &feed_delete_script, KEYS(FEED, META), ARGS());
		assert_int_equal(outcome(&r), 0);
	});
	push("10", 0, 1);
	run(&r, &feed_delete_script, KEYS(FEED, META), ARGS());
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(server_keys(&r), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_newest_comes_first, script_stage_empty),
		cmocka_unit_test_setup(only_the_newest_are_kept, script_stage_empty),
		cmocka_unit_test_setup(much_is_dropped_in_steps, script_stage_empty),
		cmocka_unit_test_setup(a_late_call_drops_what_was_there, script_stage_empty),
		cmocka_unit_test_setup(a_page_is_bounded_in_bytes, script_stage_empty),
		cmocka_unit_test_setup(a_replay_gets_the_first_answer, script_stage_empty),
		cmocka_unit_test_setup(a_foreign_key_stays_as_it_is, script_stage_empty),
		cmocka_unit_test_setup(the_limit_stays_until_it_is_changed, script_stage_empty),
		cmocka_unit_test_setup(both_keys_expire_together, script_stage_empty),
		cmocka_unit_test_setup(what_is_not_there_is_neither_changed_nor_removed, script_stage_empty),
	};
	return cmocka_run_group_tests(tests, script_stage_open, script_stage_close);
}
