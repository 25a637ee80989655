/*
 * The scripts of sets on a real Redis: the steps of a merge. What a client sees is in
 * tests/api/test_sets.c.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define A "p:set:{a}"
#define B "p:set:{b}"
#define C "p:set:{c}"

/* Adds the members m<from> to m<to - 1>. */
static void fill(const char *key, int from, int to)
{
	for (int i = from; i < to; i++)
		server_command(&r, "SADD %s m%d", key, i);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

#define BUILT A ":merge:x"

TEST(a_merge_replaces_a_set_at_the_end)
{
	fill(A, 0, 2);
	run(&r, &set_merge_begin_script, KEYS(A), ARGS());
	assert_int_equal(outcome(&r), 0);
	run(&r, &set_merge_put_script, KEYS(BUILT), ARGS("0", "x", "y"));
	assert_int_equal(item_int(&r, SET_MERGE_PUT_MEMBERS), 2);
	assert_in_range(redis_pttl_ms(&r, BUILT), 1, 60000);
	run(&r, &set_merge_put_script, KEYS(BUILT), ARGS("2", "y", "z"));
	assert_int_equal(item_int(&r, SET_MERGE_PUT_MEMBERS), 3);
	/* The built set is lost, or incomplete. */
	unchanged(&r, {
		run(&r, &set_merge_put_script, KEYS(BUILT), ARGS("2", "late"));
		assert_int_equal(outcome(&r), SET_MERGE_PUT_LOST);
		run(&r, &set_merge_end_script, KEYS(A, BUILT), ARGS("4"));
		assert_int_equal(outcome(&r), SET_MERGE_END_LOST);
		run(&r, &set_merge_end_script, KEYS(A, BUILT ":other"), ARGS("3"));
		assert_int_equal(outcome(&r), SET_MERGE_END_LOST);
	});
	server_command(&r, "PEXPIREAT " A " 4102444800000");
	run(&r, &set_merge_end_script, KEYS(A, BUILT), ARGS("3"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, SET_SIZE), 3);
	assert_int_equal(item_int(&r, SET_EXPIRES_AT_MS), 4102444800000);
	assert_int_equal(server_command(&r, "SCARD " A)->integer, 3);
	assert_int_equal(server_command(&r, "PEXPIRETIME " A)->integer, 4102444800000);
	assert_int_equal(redis_exists(&r, BUILT), 0);
	/* A new set does not expire. Without members there is no set. */
	run(&r, &set_merge_put_script, KEYS(C ":merge:x"), ARGS("0", "x"));
	run(&r, &set_merge_end_script, KEYS(C, C ":merge:x"), ARGS("1"));
	assert_int_equal(item_int(&r, SET_EXPIRES_AT_MS), -1);
	assert_int_equal(redis_pttl_ms(&r, C), -1);
	run(&r, &set_merge_end_script, KEYS(A, BUILT), ARGS("0"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, SET_SIZE), 0);
	assert_int_equal(redis_exists(&r, A), 0);
}
