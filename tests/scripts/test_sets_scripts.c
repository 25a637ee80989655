/*
 * The set scripts on a real Redis: members, reading all of them in pages, and combining sets within
 * the bound.
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

TEST(a_member_is_there_once)
{
	run(&r, &set_member_get_script, KEYS(A), ARGS("ann"));
	assert_int_equal(outcome(&r), -1);
	run(&r, &set_member_put_script, KEYS(A), ARGS("ann"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, SET_MEMBER_PUT_SIZE), 1);
	assert_int_equal(redis_pttl_ms(&r, A), -1);
	unchanged(&r, {
		run(&r, &set_member_put_script, KEYS(A), ARGS("ann"));
		assert_int_equal(outcome(&r), 0);
		assert_int_equal(item_int(&r, SET_MEMBER_PUT_SIZE), 1);
		run(&r, &set_member_get_script, KEYS(A), ARGS("ann"));
		assert_int_equal(outcome(&r), 0);
		assert_int_equal(item_int(&r, SET_MEMBER_GET_SIZE), 1);
		run(&r, &set_member_get_script, KEYS(A), ARGS("Ann"));
		assert_int_equal(outcome(&r), -1);
		run(&r, &set_member_delete_script, KEYS(A), ARGS("bob"));
		assert_int_equal(outcome(&r), 0);
	});
	run(&r, &set_member_delete_script, KEYS(A), ARGS("ann"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(redis_exists(&r, A), 0);
}

/* Reads all pages. Returns how many different members of m0, m1, ... were found. */
static int walk(int members, const char *count, const char *match)
{
	static bool came[2000];
	char cursor[64] = "0";
	int pages = 0, distinct = 0;
	size_t limit = strtoul(count, NULL, 10);

	memset(came, 0, sizeof(came));
	do {
		run(&r, &set_member_list_script, KEYS(A), ARGS(cursor, match, count));
		assert_int_equal(outcome(&r), 0);
		assert_true(r.reply->elements <= SET_MEMBER_LIST_MEMBERS + limit);
		for (size_t i = SET_MEMBER_LIST_MEMBERS; i < r.reply->elements; i++) {
			int n = atoi(item_text(&r, i) + 1);
			assert_in_range(n, 0, members - 1);
			distinct += !came[n];
			came[n] = true;
		}
		snprintf(cursor, sizeof(cursor), "%s", item_text(&r, SET_MEMBER_LIST_NEXT_CURSOR));
		assert_true(++pages <= members + 1);
	} while (strcmp(cursor, "0") != 0);
	return distinct;
}

static void assert_written(int changed, int added, int removed, int size)
{
	assert_int_equal(outcome(&r), changed);
	assert_int_equal(item_int(&r, SET_WRITTEN_ADDED), added);
	assert_int_equal(item_int(&r, SET_WRITTEN_REMOVED), removed);
	assert_int_equal(item_int(&r, SET_WRITTEN_SIZE), size);
}

TEST(many_are_added_and_removed_at_once)
{
	unchanged(&r, {
		run(&r, &set_member_write_script, KEYS(A), ARGS("0", "ann"));
		assert_written(0, 0, 0, 0);
	});
	run(&r, &set_member_write_script, KEYS(A), ARGS("3", "ann", "bob", "ann", "eve"));
	assert_written(1, 2, 0, 2);
	unchanged(&r, {
		run(&r, &set_member_write_script, KEYS(A), ARGS("1", "ann", "eve"));
		assert_written(0, 0, 0, 2);
	});
	/* If a call removes all members and adds others, the set keeps its expiry. */
	server_command(&r, "PEXPIREAT " A " 4102444800000");
	run(&r, &set_member_write_script, KEYS(A), ARGS("1", "cat", "ann", "bob", "ann"));
	assert_written(1, 1, 2, 1);
	assert_int_equal(server_command(&r, "PEXPIRETIME " A)->integer, 4102444800000);
	run(&r, &set_member_write_script, KEYS(A), ARGS("0", "cat"));
	assert_written(1, 0, 1, 0);
	assert_int_equal(redis_exists(&r, A), 0);
	server_command(&r, "SET " A " x");
	unchanged(&r, run_fails(&r, &set_member_write_script, KEYS(A), ARGS("1", "m", "n"), "WRONGTYPE"));
}

TEST(all_members_can_be_walked)
{
	assert_int_equal(walk(0, "10", ""), 0);
	fill(A, 0, 21); /* one piece: SSCAN returns all members in one step */
	assert_int_equal(walk(21, "10", ""), 21);
	assert_int_equal(walk(21, "1", ""), 21);
	assert_int_equal(walk(21, "1", "m1?"), 10);
	fill(A, 21, 1000); /* a hash table */
	assert_int_equal(walk(1000, "7", ""), 1000);
	assert_int_equal(walk(1000, "1000", ""), 1000);
	assert_int_equal(walk(1000, "50", "m99?"), 10);
	run(&r, &set_member_list_script, KEYS(A), ARGS("0", "", "100"));
	assert_in_range(r.reply->elements, SET_MEMBER_LIST_MEMBERS + 1, SET_MEMBER_LIST_MEMBERS + 100);
	static const char *const wrong[] = { "x", "", "-1", "0.zz", "1 ", "0.0.0", "99999999999999999999999" };
	for (size_t i = 0; i < COUNT(wrong); i++) {
		run(&r, &set_member_list_script, KEYS(A), ARGS(wrong[i], "", "10"));
		assert_int_equal(outcome(&r), -1);
	}
}

static int in_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Combines sets. Returns the members in order, separated by blanks. */
static const char *combined(const char *how, const char *const keys[])
{
	static char text[256];
	const char *members[32];
	size_t n = 0;

	run(&r, &set_combine_script, keys, ARGS(how));
	assert_int_equal(outcome(&r), 0);
	for (; n + SET_COMBINE_MEMBERS < r.reply->elements; n++)
		members[n] = item_text(&r, n + SET_COMBINE_MEMBERS);
	qsort(members, n, sizeof(members[0]), in_order);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "", members[i]);
	return text;
}

TEST(sets_are_combined)
{
	fill(A, 0, 4);
	fill(B, 2, 6);
	fill(C, 3, 5);
	unchanged(&r, {
		assert_string_equal(combined("union", KEYS(A, B)), "m0 m1 m2 m3 m4 m5");
		assert_string_equal(combined("intersect", KEYS(A, B)), "m2 m3");
		assert_string_equal(combined("intersect", KEYS(A, B, C)), "m3");
		assert_string_equal(combined("subtract", KEYS(A, B)), "m0 m1");
		assert_string_equal(combined("subtract", KEYS(B, A, C)), "m5");
		assert_string_equal(combined("union", KEYS(C)), "m3 m4");
		assert_string_equal(combined("intersect", KEYS(A, "p:set:{none}")), "");
		assert_string_equal(combined("subtract", KEYS(A, "p:set:{none}", A)), "");
		assert_string_equal(combined("union", KEYS("p:set:{none}", C)), "m3 m4");
	});
}

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
	assert_string_equal(combined("union", KEYS(A)), "x y z");
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

TEST(a_merge_leaves_foreign_keys)
{
	server_command(&r, "SET " A " x");
	fill(B, 0, 3);
	unchanged(&r, {
		run_fails(&r, &set_merge_begin_script, KEYS(A), ARGS(), "WRONGTYPE");
		run_fails(&r, &set_merge_page_script, KEYS(A), ARGS("0"), "WRONGTYPE");
		run_fails(&r, &set_merge_put_script, KEYS(A), ARGS("0", "m"), "WRONGTYPE");
		run_fails(&r, &set_merge_end_script, KEYS(A, B), ARGS("3"), "WRONGTYPE");
		run_fails(&r, &set_merge_end_script, KEYS(B, A), ARGS("3"), "WRONGTYPE");
	});
}

TEST(too_much_work_is_refused)
{
	const struct {
		const char *how;
		const char *const *keys;
		int members; /* how many members are too many; 0: the call is allowed */
	} rows[] = {
		{ "union", KEYS(A), 0 },          { "union", KEYS(A, B), 1003 },     { "union", KEYS(B, C), 1005 },
		{ "union", KEYS(C), 1002 },       { "intersect", KEYS(A, C), 0 },    { "intersect", KEYS(C, B, C), 0 },
		{ "intersect", KEYS(C), 1002 },   { "subtract", KEYS(A, C), 0 },     { "subtract", KEYS(C, A), 1002 },
		{ "subtract", KEYS(B, C, C), 0 }, { "intersect", KEYS(C, C), 1002 },
	};
	fill(A, 0, 1000);
	fill(B, 0, 3);
	fill(C, 0, 1002);
	for (size_t i = 0; i < COUNT(rows); i++) {
		run(&r, &set_combine_script, rows[i].keys, ARGS(rows[i].how));
		assert_int_equal(outcome(&r), rows[i].members ? -1 : 0);
		if (rows[i].members) {
			assert_int_equal(item_int(&r, SET_COMBINE_SIZE), rows[i].members);
			assert_int_equal(item_int(&r, SET_COMBINE_MOST), 1000);
		}
	}
}

TEST(the_expiry_stays_until_it_is_changed)
{
	fill(A, 0, 2);
	run(&r, &set_get_script, KEYS(A), ARGS());
	assert_int_equal(item_int(&r, SET_SIZE), 2);
	assert_int_equal(item_int(&r, SET_EXPIRES_AT_MS), -1);
	run(&r, &set_patch_script, KEYS(A), ARGS("60000"));
	assert_int_equal(outcome(&r), 1);
	int64_t at = item_int(&r, SET_EXPIRES_AT_MS);
	assert_int_equal(server_command(&r, "PEXPIRETIME " A)->integer, at);
	run(&r, &set_member_put_script, KEYS(A), ARGS("new"));
	run(&r, &set_member_delete_script, KEYS(A), ARGS("m0"));
	run(&r, &set_patch_script, KEYS(A), ARGS(""));
	assert_int_equal(item_int(&r, SET_EXPIRES_AT_MS), at);
	assert_int_equal(server_command(&r, "PEXPIRETIME " A)->integer, at);
	run(&r, &set_patch_script, KEYS(A), ARGS("null"));
	assert_int_equal(item_int(&r, SET_EXPIRES_AT_MS), -1);
	assert_int_equal(redis_pttl_ms(&r, A), -1);
}

TEST(what_is_not_there_is_neither_changed_nor_removed)
{
	unchanged(&r, {
		run(&r, &set_patch_script, KEYS(A), ARGS("60000"));
		assert_int_equal(outcome(&r), SET_PATCH_ABSENT);
		run(&r, &set_delete_script, KEYS(A), ARGS());
		assert_int_equal(outcome(&r), 0);
	});
	fill(A, 0, 2);
	run(&r, &set_delete_script, KEYS(A), ARGS());
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(redis_exists(&r, A), 0);
}

TEST(a_foreign_key_stays_as_it_is)
{
	server_command(&r, "SET " A " x");
	fill(B, 0, 3);
	unchanged(&r, {
		run_fails(&r, &set_member_put_script, KEYS(A), ARGS("m"), "WRONGTYPE");
		run_fails(&r, &set_member_get_script, KEYS(A), ARGS("m"), "WRONGTYPE");
		run_fails(&r, &set_member_delete_script, KEYS(A), ARGS("m"), "WRONGTYPE");
		run_fails(&r, &set_member_list_script, KEYS(A), ARGS("0", "", "10"), "WRONGTYPE");
		run_fails(&r, &set_get_script, KEYS(A), ARGS(), "WRONGTYPE");
		run_fails(&r, &set_patch_script, KEYS(A), ARGS("1"), "WRONGTYPE");
		run_fails(&r, &set_delete_script, KEYS(A), ARGS(), "WRONGTYPE");
		run_fails(&r, &set_combine_script, KEYS(B, A), ARGS("union"), "WRONGTYPE");
		run_fails(&r, &set_combine_script, KEYS("p:set:{none}", A), ARGS("intersect"), "WRONGTYPE");
	});
}
