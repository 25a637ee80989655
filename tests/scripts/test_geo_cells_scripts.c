/*
 * The geo scripts on sets that are split into cells: calls with the wrong cells, all or nothing,
 * distances, bounded steps.
 */
#include <math.h>

#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define SET "p:geo:{s}"
#define CELL(n) "p:geo:{s}:" n
#define PLACES(n) (GEO_MEMBER_LOOKUP_PLACES + GEO_PLACE_ITEMS * (n))
#define PLACE(n, item) (PLACES(n) + GEO_PLACE_##item)

static int split_in_three(void **state)
{
	script_stage_empty(state);
	run(&r, &geo_put_script, KEYS(SET), ARGS("3", "null", "", "0"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, GEO_SET_CELLS), 3);
	return 0;
}

/* The call did nothing but return the number of cells. */
static void returned_cells(int64_t cells)
{
	assert_int_equal(r.reply->elements, GEO_RESIZED_CELLS + 1);
	assert_int_equal(outcome(&r), GEO_PUT_RESIZED);
	assert_int_equal(item_int(&r, GEO_RESIZED_CELLS), cells);
}

#define misled(cells, script, keys, args)                   \
	do {                                                \
		unchanged(&r, run(&r, script, keys, args)); \
		run(&r, script, keys, args);                \
		returned_cells(cells);                      \
	} while (0)

SUITE(.open = script_stage_open, .close = script_stage_close, .before = split_in_three, .after = script_stage_empty);

TEST(wrong_cells_return_their_number)
{
	const char *const *keys = KEYS(SET, CELL("5"));
	misled(3, &geo_member_put_script, keys, ARGS("1", "2", "a", "16"));
	misled(3, &geo_member_add_script, keys, ARGS("1", "1", "2", "a", "16"));
	misled(3, &geo_member_delete_script, keys, ARGS("a", "16"));
	misled(3, &geo_member_lookup_script, keys, ARGS("1", "a", "16"));
	misled(3, &geo_distance_get_script, KEYS(SET, CELL("5"), CELL("6")), ARGS("a", "b", "m", "16"));
	misled(3, &geo_member_list_script, keys, ARGS("0", "", "10", "16"));
	misled(3, &geo_member_list_script, KEYS(SET), ARGS("0", "", "10", "16"));
	misled(3, &geo_delete_script, keys, ARGS("16"));
	misled(3, &geo_search_script, keys, ARGS("0", "0", "radius", "1", "", "m", "ASC", "1", "", "4"));
	/* A call that changes the settings of a set with members needs all its cells. */
	run(&r, &geo_member_put_script, KEYS(SET, CELL("1")), ARGS("1", "2", "a", "3"));
	misled(3, &geo_put_script, KEYS(SET), ARGS("", "1000", "1", "0"));
	misled(3, &geo_put_script, KEYS(SET, CELL("0")), ARGS("3", "null", "", "1"));
	/* A set that does not exist has the default number of cells. */
	misled(1, &geo_member_put_script, KEYS("p:geo:{t}", "p:geo:{t}:0"), ARGS("1", "2", "a", "2"));
	misled(1, &geo_delete_script, KEYS("p:geo:{t}", "p:geo:{t}:0"), ARGS("16"));
	misled(1, &geo_member_lookup_script, KEYS("p:geo:{u}", "p:geo:{u}:0"), ARGS("1", "a", "2"));
}

/*
 * The first member makes the set with the default settings. The removal of the last member ends it.
 */
TEST(a_set_is_made_and_ended_by_its_members)
{
	script_stage_empty(state);
	run(&r, &geo_member_put_script, KEYS(SET, CELL("0")), ARGS("1", "2", "a", "1"));
	assert_int_equal(outcome(&r), 1);
	run(&r, &geo_size_script, KEYS(SET), ARGS());
	assert_int_equal(item_int(&r, GEO_SET_SIZE), 1);
	assert_int_equal(item_int(&r, GEO_SET_CELLS), 1);
	assert_int_equal(item_int(&r, GEO_SET_EXPIRES_AT_MS), -1);
	assert_int_equal(server_command(&r, "ZCARD p:names:{}:geo")->integer, 1);
	run(&r, &geo_member_add_script, KEYS(SET, CELL("0")), ARGS("1", "1", "2", "b", "1"));
	run(&r, &geo_member_delete_script, KEYS(SET, CELL("0")), ARGS("a", "1"));
	assert_int_equal(redis_exists(&r, SET), 1);
	run(&r, &geo_member_delete_script, KEYS(SET, CELL("0")), ARGS("b", "1"));
	assert_int_equal(server_keys(&r), 0);
	/*
	 * A call with many members makes a set, too. Settings then keep the set when its members
	 * go.
	 */
	run(&r, &geo_member_add_script, KEYS(SET, CELL("0")), ARGS("2", "1", "2", "b", "1", "2", "c", "1"));
	run(&r, &geo_put_script, KEYS(SET), ARGS("", "null", "1", "0"));
	assert_int_equal(outcome(&r), GEO_PUT_RESIZED);
	run(&r, &geo_member_delete_script, KEYS(SET, CELL("0")), ARGS("b", "1"));
	server_command(&r, "HSET " SET " kept 1");
	run(&r, &geo_member_delete_script, KEYS(SET, CELL("0")), ARGS("c", "1"));
	assert_string_equal(server_command(&r, "HGET " SET " size")->str, "0");
}

TEST(many_go_into_their_cells_or_none_does)
{
	run(&r, &geo_member_add_script, KEYS(SET, CELL("0"), CELL("2")),
	    ARGS("2", "1", "1", "a", "2", "2", "b", "3", "3", "3", "c", "4", "4", "c", "5", "5", "d", "3"));
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_ADDED), 4);
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_UPDATED), 0);
	run(&r, &geo_size_script, KEYS(SET), ARGS());
	assert_int_equal(item_int(&r, GEO_SET_SIZE), 4);
	assert_int_equal(item_int(&r, GEO_SET_CELLS), 3);
	run(&r, &geo_member_lookup_script, KEYS(SET, CELL("2"), CELL("0")), ARGS("2", "c", "x", "1", "b", "3"));
	assert_near(item_real(&r, PLACE(0, LONGITUDE)), 4, 0.00001);
	assert_string_equal(item_text(&r, PLACE(1, GEOHASH)), "");
	assert_near(item_real(&r, PLACE(2, LONGITUDE)), 2, 0.00001);
	/* The last member is outside the world, or one of the cells is a foreign key. */
	unchanged(&r, run_fails(&r, &geo_member_add_script, KEYS(SET, CELL("0"), CELL("1")),
				ARGS("1", "1", "1", "e", "1", "1", "85.06", "f", "3"), "invalid"));
	unchanged(&r, run_fails(&r, &geo_member_add_script, KEYS(SET, CELL("0"), CELL("1")),
				ARGS("1", "1", "1", "e", "1", "-180.1", "1", "f", "3"), "invalid"));
	server_command(&r, "SET " CELL("1") " text");
	unchanged(&r, run_fails(&r, &geo_member_add_script, KEYS(SET, CELL("0"), CELL("1")),
				ARGS("1", "1", "1", "e", "1", "1", "1", "f", "3"), "WRONGTYPE"));
}

TEST(the_size_follows)
{
	for (int i = 0; i < 2; i++) {
		run(&r, &geo_member_put_script, KEYS(SET, CELL("1")), ARGS("1", "2", "a", "3"));
		assert_int_equal(item_int(&r, GEO_MEMBER_PUT_ADDED), 1 - i);
		assert_string_equal(server_command(&r, "HGET " SET " size")->str, "1");
	}
	for (int i = 0; i < 2; i++) {
		run(&r, &geo_member_delete_script, KEYS(SET, CELL("1")), ARGS("a", "3"));
		assert_int_equal(outcome(&r), 1 - i);
		assert_string_equal(server_command(&r, "HGET " SET " size")->str, "0");
	}
	run(&r, &geo_member_put_script, KEYS(SET, CELL("1")), ARGS("1", "2", "a", "3"));
	run(&r, &geo_put_script, KEYS(SET), ARGS("4", "", "", "0"));
	assert_int_equal(outcome(&r), GEO_PUT_OTHER_CELLS);
	run(&r, &geo_delete_script, KEYS(SET, CELL("0"), CELL("1"), CELL("2")), ARGS("3"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, GEO_DELETE_SIZE), 1);
	assert_int_equal(server_keys(&r), 0);
}

TEST(all_keys_have_one_expiry)
{
	run(&r, &geo_put_script, KEYS(SET), ARGS("3", "60000", "", "0"));
	assert_int_equal(item_int(&r, GEO_PUT_IS_NEW), 0);
	int64_t at = item_int(&r, GEO_SET_EXPIRES_AT_MS);
	assert_int_equal(at - item_int(&r, REPLY_NOW_MS), 60000);
	run(&r, &geo_member_put_script, KEYS(SET, CELL("1")), ARGS("1", "2", "a", "3"));
	run(&r, &geo_member_add_script, KEYS(SET, CELL("0"), CELL("2")),
	    ARGS("1", "1", "1", "b", "1", "2", "2", "c", "3"));
	static const char *const keys[] = { SET, CELL("0"), CELL("1"), CELL("2") };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(server_command(&r, "PEXPIRETIME %s", keys[i])->integer, at);
	/* A call without a TTL keeps the expiry; null removes it from all keys. */
	const char *const *all = KEYS(SET, CELL("0"), CELL("1"), CELL("2"));
	unchanged(&r, run(&r, &geo_put_script, all, ARGS("", "", "1", "3")));
	run(&r, &geo_put_script, all, ARGS("3", "null", "", "3"));
	assert_int_equal(item_int(&r, GEO_SET_EXPIRES_AT_MS), -1);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(redis_pttl_ms(&r, keys[i]), -1);
}

/*
 * Redis has no command for a distance between cells. The script's result must equal what
 * GEODIST returns in one set.
 */
TEST(distances_between_cells_are_redis_s_own)
{
	enum { PAIRS = 400 };
	static const char *const units[] = { "m", "km", "mi", "ft" };

	srand(3);
	for (int i = 0; i < PAIRS; i++) {
		char at[4][32], returned[32];
		for (int j = 0; j < 4; j++)
			snprintf(at[j], sizeof(at[j]), "%.9f",
				 (j % 2 ? 85.0 : 180.0) * (2.0 * rand() / RAND_MAX - 1) * (i % 3 ? 1 : 0.001));
		run(&r, &geo_member_put_script, KEYS(SET, CELL("0")), ARGS(at[0], at[1], "a", "3"));
		run(&r, &geo_member_put_script, KEYS(SET, CELL("1")), ARGS(at[2], at[3], "b", "3"));
		server_command(&r, "GEOADD plain %s %s a %s %s b", at[0], at[1], at[2], at[3]);
		run(&r, &geo_distance_get_script, KEYS(SET, CELL("0"), CELL("1")), ARGS("a", "b", units[i % 4], "3"));
		snprintf(returned, sizeof(returned), "%s", item_text(&r, GEO_DISTANCE_GET_DISTANCE));
		assert_near(strtod(returned, NULL),
			    strtod(server_command(&r, "GEODIST plain a b %s", units[i % 4])->str, NULL), 0.00011);
	}
	run(&r, &geo_distance_get_script, KEYS(SET, CELL("0"), CELL("2")), ARGS("a", "nobody", "m", "3"));
	assert_int_equal(outcome(&r), GEO_DISTANCE_GET_ABSENT);
	assert_string_equal(item_text(&r, GEO_DISTANCE_GET_MEMBER), "nobody");
}

static void fill(const char *cell, int members, double longitude)
{
	for (int i = 0; i < members; i++)
		server_command(&r, "GEOADD p:geo:{s}:%s %f %f %s-%d", cell, longitude + 0.0001 * i, 1.0, cell, i);
}

#define FOUND(n) (GEO_SEARCH_FOUND + GEO_FOUND_ITEMS * (n))

/* A call ends after the cell with which it has read enough. The next call continues. */
TEST(a_search_is_done_in_steps)
{
	fill("0", 600, 1);
	fill("1", 600, 1);
	fill("2", 600, 1);
	const char *const *keys = KEYS(SET, CELL("0"), CELL("1"), CELL("2"));
	run(&r, &geo_search_script, keys, ARGS("1", "1", "radius", "1000", "", "km", "DESC", "10", "", "3"));
	assert_int_equal(item_int(&r, GEO_SEARCH_DONE), 2);
	assert_int_equal(r.reply->elements, FOUND(10));
	/* Few members are near, so that one call reads all cells. */
	run(&r, &geo_search_script, keys, ARGS("1", "1", "radius", "30", "", "m", "ASC", "10", "", "3"));
	assert_int_equal(item_int(&r, GEO_SEARCH_DONE), 3);
	assert_int_equal(r.reply->elements, FOUND(9));
	/* A thin box, with many members outside it. */
	run(&r, &geo_search_script, keys, ARGS("1", "40", "box", "20000", "1", "km", "ASC", "10", "", "3"));
	assert_int_equal(item_int(&r, GEO_SEARCH_DONE), 2);
	/* Members farther away than those that earlier calls found are left out. */
	run(&r, &geo_search_script, keys, ARGS("1", "1", "radius", "1000", "", "km", "ASC", "10", "0.02", "3"));
	assert_int_equal(item_int(&r, GEO_SEARCH_DONE), 3);
	assert_in_range(r.reply->elements, FOUND(5), FOUND(10));
}
