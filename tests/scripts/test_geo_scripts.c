/* The geo scripts on a real Redis: known figures, circles and boxes, all or nothing. */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define SET "p:geo:{sicily}"
#define CELL SET ":0"
#define ONE KEYS(SET, CELL)
#define RECORD "p:idem:{sicily}:k"

/* Scores from Redis's documentation. tests/unit/test_geo_score.c reads positions from them. */
static const int64_t PALERMO = 3479099956230698, CATANIA = 3479447370796909;

/* Makes a set of one cell, where results must equal Redis's own. */
static int one_cell(void **state)
{
	script_stage_empty(state);
	run(&r, &geo_put_script, ONE, ARGS("1", "null", "", "16"));
	assert_int_equal(outcome(&r), 1);
	return 0;
}

/* Adds the cities of Redis's documentation. */
static int sicily(void **state)
{
	one_cell(state);
	run(&r, &geo_member_add_script, ONE,
	    ARGS("2", "13.361389", "38.115556", "Palermo", "15.087269", "37.502669", "Catania", "1"));
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_ADDED), 2);
	return 0;
}

#define PLACES(n) (GEO_MEMBER_LOOKUP_PLACES + GEO_PLACE_ITEMS * (n))
#define PLACE(n, item) (PLACES(n) + GEO_PLACE_##item)
#define FOUND(n, item) (GEO_SEARCH_FOUND + GEO_FOUND_ITEMS * (n) + GEO_FOUND_##item)

/* The n-th result is this member at this distance. */
static void found(size_t n, const char *member, double distance)
{
	assert_string_equal(item_text(&r, FOUND(n, MEMBER)), member);
	assert_near(item_real(&r, FOUND(n, DISTANCE)), distance, 0.00005);
}

static size_t found_count(void)
{
	return (r.reply->elements - GEO_SEARCH_FOUND) / GEO_FOUND_ITEMS;
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = one_cell);

TEST(adding_counts_new_and_known)
{
	run(&r, &geo_member_add_script, ONE, ARGS("3", "1", "2", "a", "3", "4", "b", "5", "6", "a", "1"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_ADDED), 2);
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_UPDATED), 0);
	run(&r, &geo_member_add_script, ONE, ARGS("3", "7", "8", "b", "5", "6", "a", "1", "1", "c", "1"));
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_ADDED), 1);
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_UPDATED), 2);
	run(&r, &geo_member_lookup_script, ONE, ARGS("2", "b", "a", "1"));
	assert_near(item_real(&r, PLACE(0, LONGITUDE)), 7, 0.00001);
	assert_near(item_real(&r, PLACE(0, LATITUDE)), 8, 0.00001);
	assert_near(item_real(&r, PLACE(1, LONGITUDE)), 5, 0.00001);
	assert_near(item_real(&r, PLACE(1, LATITUDE)), 6, 0.00001);
	assert_int_equal(redis_pttl_ms(&r, SET), -1);
}

TEST(a_place_outside_refuses_all)
{
	unchanged(&r,
		  run_fails(&r, &geo_member_add_script, ONE, ARGS("2", "1", "2", "a", "3", "86", "b", "1"), "invalid"));
	unchanged(&r, run_fails(&r, &geo_member_put_script, ONE, ARGS("181", "2", "a", "1"), "invalid"));
	run(&r, &geo_member_add_script, ONE, ARGS("2", "180", "85.05112878", "ne", "-180", "-85.05112878", "sw", "1"));
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_ADDED), 2);
}

TEST(putting_answers_the_stored_place)
{
	run(&r, &geo_member_put_script, ONE, ARGS("13.361389", "38.115556", "Palermo", "1"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, GEO_MEMBER_PUT_ADDED), 1);
	assert_near(item_real(&r, GEO_MEMBER_PUT_PLACE + GEO_PLACE_LONGITUDE), 13.361389338970184, 1e-14);
	assert_near(item_real(&r, GEO_MEMBER_PUT_PLACE + GEO_PLACE_LATITUDE), 38.1155563954963, 1e-13);
	assert_string_equal(item_text(&r, GEO_MEMBER_PUT_PLACE + GEO_PLACE_GEOHASH), "sqc8b49rny0");
	run(&r, &geo_member_put_script, ONE, ARGS("13.361389", "38.115556", "Palermo", "1"));
	assert_int_equal(item_int(&r, GEO_MEMBER_PUT_ADDED), 0);
	assert_int_equal(server_command(&r, "ZCARD " CELL)->integer, 1);
}

TEST(a_thousand_go_in_at_once)
{
	enum { MEMBERS = 1000 };
	static char text[MEMBERS][3][24];
	static const char *args[3 * MEMBERS + 3] = { "1000" }, *names[MEMBERS + 3] = { "1000" };

	for (int i = 0; i < MEMBERS; i++) {
		snprintf(text[i][0], sizeof(text[i][0]), "%.17g", -179.0 + 0.3 * i);
		snprintf(text[i][1], sizeof(text[i][1]), "%.17g", 80.0 - 0.1 * i);
		snprintf(text[i][2], sizeof(text[i][2]), "m%d", i);
		for (int j = 0; j < 3; j++)
			args[1 + 3 * i + j] = text[i][j];
		names[1 + i] = text[i][2];
	}
	args[1 + 3 * MEMBERS] = names[1 + MEMBERS] = "1";
	run(&r, &geo_member_add_script, ONE, args);
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_ADDED), MEMBERS);
	run(&r, &geo_member_lookup_script, ONE, names);
	assert_int_equal(r.reply->elements, PLACES(MEMBERS));
	assert_near(item_real(&r, PLACE(999, LONGITUDE)), -179.0 + 0.3 * 999, 0.00001);
	run(&r, &geo_search_script, ONE, ARGS("0", "0", "radius", "30000", "", "km", "ASC", "1000", "", "1"));
	assert_int_equal(found_count(), MEMBERS);
}

TEST(looking_up_keeps_the_order, .before = sicily)
{
	unchanged(&r, run(&r, &geo_member_lookup_script, ONE, ARGS("3", "Catania", "Rome", "Palermo", "1")));
	run(&r, &geo_member_lookup_script, ONE, ARGS("3", "Catania", "Rome", "Palermo", "1"));
	assert_int_equal(r.reply->elements, PLACES(3));
	assert_near(item_real(&r, PLACE(0, LONGITUDE)), 15.087267458438873, 1e-14);
	assert_near(item_real(&r, PLACE(0, LATITUDE)), 37.50266842333162, 1e-13);
	assert_string_equal(item_text(&r, PLACE(0, GEOHASH)), "sqdtr74hyu0");
	assert_string_equal(item_text(&r, PLACE(1, GEOHASH)), "");
	assert_string_equal(item_text(&r, PLACE(2, GEOHASH)), "sqc8b49rny0");
	run(&r, &geo_member_lookup_script, KEYS("p:geo:{none}", "p:geo:{none}:0"), ARGS("1", "Rome", "16"));
	assert_int_equal(r.reply->elements, PLACES(1));
	assert_string_equal(item_text(&r, PLACE(0, GEOHASH)), "");
}

TEST(distances_are_redis_s_own, .before = sicily)
{
	run(&r, &geo_distance_get_script, KEYS(SET, CELL, CELL), ARGS("Palermo", "Catania", "km", "1"));
	assert_int_equal(outcome(&r), 0);
	assert_string_equal(item_text(&r, GEO_DISTANCE_GET_DISTANCE), "166.2742");
	run(&r, &geo_distance_get_script, KEYS(SET, CELL, CELL), ARGS("Palermo", "Catania", "mi", "1"));
	assert_string_equal(item_text(&r, GEO_DISTANCE_GET_DISTANCE), "103.3182");
	run(&r, &geo_distance_get_script, KEYS(SET, CELL, CELL), ARGS("Palermo", "Palermo", "m", "1"));
	assert_string_equal(item_text(&r, GEO_DISTANCE_GET_DISTANCE), "0.0000");
	run(&r, &geo_distance_get_script, KEYS(SET, CELL, CELL), ARGS("Rome", "Catania", "m", "1"));
	assert_int_equal(outcome(&r), -1);
	assert_string_equal(item_text(&r, GEO_DISTANCE_GET_MEMBER), "Rome");
	run(&r, &geo_distance_get_script, KEYS(SET, CELL, CELL), ARGS("Catania", "Oslo", "m", "1"));
	assert_int_equal(outcome(&r), -1);
	assert_string_equal(item_text(&r, GEO_DISTANCE_GET_MEMBER), "Oslo");
}

TEST(circles_find_what_is_inside, .before = sicily)
{
	unchanged(&r,
		  run(&r, &geo_search_script, ONE, ARGS("15", "37", "radius", "200", "", "km", "ASC", "10", "", "1")));
	run(&r, &geo_search_script, ONE, ARGS("15", "37", "radius", "200", "", "km", "ASC", "10", "", "1"));
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(found_count(), 2);
	found(0, "Catania", 56.4413);
	assert_true(item_int(&r, FOUND(0, SCORE)) == CATANIA);
	found(1, "Palermo", 190.4424);
	assert_true(item_int(&r, FOUND(1, SCORE)) == PALERMO);
	run(&r, &geo_search_script, ONE, ARGS("15", "37", "radius", "190", "", "km", "ASC", "10", "", "1"));
	assert_int_equal(found_count(), 1);
	run(&r, &geo_search_script, ONE, ARGS("15", "37", "radius", "200", "", "km", "DESC", "10", "", "1"));
	found(0, "Palermo", 190.4424);
	run(&r, &geo_search_script, ONE, ARGS("15", "37", "radius", "200000", "", "m", "DESC", "1", "", "1"));
	assert_int_equal(found_count(), 1);
	found(0, "Palermo", 190442.4298);
	run(&r, &geo_search_script, ONE, ARGS("15", "37", "radius", "0", "", "m", "ASC", "1", "", "1"));
	assert_int_equal(found_count(), 0);
	run(&r, &geo_search_script, KEYS("p:geo:{none}", "p:geo:{none}:0"),
	    ARGS("1", "1", "radius", "1", "", "km", "ASC", "10", "", "16"));
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(found_count(), 0);
}

/*
 * The boxes of Redis's documentation: 400 km contain four cities, and a lower box contains fewer.
 */
TEST(boxes_find_what_is_inside, .before = sicily)
{
	run(&r, &geo_member_add_script, ONE,
	    ARGS("2", "12.758489", "38.788135", "edge1", "17.241510", "38.788135", "edge2", "1"));
	run(&r, &geo_search_script, ONE, ARGS("15", "37", "box", "400", "400", "km", "ASC", "10", "", "1"));
	assert_int_equal(found_count(), 4);
	found(0, "Catania", 56.4413);
	found(1, "Palermo", 190.4424);
	found(2, "edge2", 279.7403);
	found(3, "edge1", 279.7405);
	run(&r, &geo_search_script, ONE, ARGS("15", "37", "box", "400", "200", "km", "ASC", "10", "", "1"));
	assert_int_equal(found_count(), 1);
	found(0, "Catania", 56.4413);
	run(&r, &geo_search_script, ONE, ARGS("15", "37", "box", "200", "400", "km", "ASC", "10", "", "1"));
	assert_int_equal(found_count(), 1);
}

static int64_t calls_of(const char *command)
{
	char row[64];

	snprintf(row, sizeof(row), "cmdstat_%s:calls=", command);
	const char *at = strstr(server_command(&r, "INFO commandstats")->str, row);
	return at ? strtoll(at + strlen(row), NULL, 10) : 0;
}

/* A search costs one GEOSEARCH, and more only for areas in which GEOSEARCH misses members. */
TEST(a_search_is_one_geosearch, .before = sicily)
{
	for (int i = 0; i < 2; i++) {
		server_command(&r, "CONFIG RESETSTAT");
		run(&r, &geo_search_script, ONE,
		    ARGS("15", "37", i ? "box" : "radius", "2000", i ? "2000" : "", "km", "DESC", "1", "", "1"));
		assert_int_equal(found_count(), 1);
		assert_int_equal(calls_of("geosearch"), 1);
		assert_int_equal(calls_of("geohash"), 0);
		assert_int_equal(calls_of("geopos"), 0);
	}
}

TEST(removing_and_deleting, .before = sicily)
{
	run(&r, &geo_size_script, KEYS(SET), ARGS());
	assert_int_equal(item_int(&r, GEO_SET_SIZE), 2);
	run(&r, &geo_member_delete_script, ONE, ARGS("Palermo", "1"));
	assert_int_equal(outcome(&r), 1);
	unchanged(&r, {
		run(&r, &geo_member_delete_script, ONE, ARGS("Palermo", "1"));
		assert_int_equal(outcome(&r), 0);
	});
	run(&r, &geo_delete_script, ONE, ARGS("1"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, GEO_DELETE_SIZE), 1);
	assert_int_equal(redis_exists(&r, SET), 0);
	run(&r, &geo_delete_script, ONE, ARGS("16"));
	assert_int_equal(outcome(&r), 0);
	run(&r, &geo_size_script, KEYS(SET), ARGS());
	assert_int_equal(item_int(&r, GEO_SET_SIZE), 0);
}

#define LISTED(n) (GEO_MEMBER_LIST_MEMBERS + GEO_MEMBER_ITEMS * (n))

/* Reads all pages. Returns how many of the members were found. */
static int walk(int members, const char *count, const char *match)
{
	static bool came[2000];
	char cursor[64] = "0";
	int pages = 0, distinct = 0;
	size_t limit = strtoul(count, NULL, 10);

	memset(came, 0, sizeof(came));
	do {
		run(&r, &geo_member_list_script, ONE, ARGS(cursor, match, count, "1"));
		assert_true(r.reply->elements <= LISTED(limit));
		for (size_t i = GEO_MEMBER_LIST_MEMBERS; i < r.reply->elements; i += GEO_MEMBER_ITEMS) {
			size_t place = i + GEO_MEMBER_PLACE;
			const char *member = item_text(&r, i + GEO_MEMBER_MEMBER);
			int n = atoi(member + 1);
			assert_in_range(n, 0, members - 1);
			assert_near(item_real(&r, place + GEO_PLACE_LONGITUDE), n * 0.1, 0.00001);
			assert_int_equal(strlen(item_text(&r, place + GEO_PLACE_GEOHASH)), 11);
			distinct += !came[n];
			came[n] = true;
		}
		snprintf(cursor, sizeof(cursor), "%s", item_text(&r, GEO_MEMBER_LIST_NEXT_CURSOR));
		assert_true(++pages <= members + 1);
	} while (strcmp(cursor, "0") != 0);
	return distinct;
}

static void add_members(int from, int to)
{
	char longitude[24], name[16];

	for (int i = from; i < to; i++) {
		snprintf(longitude, sizeof(longitude), "%.17g", i * 0.1);
		snprintf(name, sizeof(name), "m%d", i);
		run(&r, &geo_member_put_script, ONE, ARGS(longitude, "10", name, "1"));
	}
}

TEST(all_members_can_be_walked)
{
	assert_int_equal(walk(1, "10", ""), 0);
	add_members(0, 21); /* a listpack: ZSCAN returns all members in one step */
	assert_int_equal(walk(21, "10", ""), 21);
	assert_int_equal(walk(21, "1", ""), 21);
	assert_int_equal(walk(21, "1", "m1?"), 10);
	add_members(21, 1000); /* a hash table */
	assert_int_equal(walk(1000, "7", ""), 1000);
	assert_int_equal(walk(1000, "1000", ""), 1000);
	assert_int_equal(walk(1000, "50", "m99?"), 10);
	assert_int_equal(walk(1000, "3", "m99?"), 10);
	for (int limit = 1; limit <= 1000; limit *= 10) { /* a page ends when it is full, or after a millisecond */
		char count[16];
		snprintf(count, sizeof(count), "%d", limit);
		run(&r, &geo_member_list_script, ONE, ARGS("0", "", count, "1"));
		assert_in_range(r.reply->elements, LISTED(1), LISTED(limit));
	}
}

/*
 * Between two pages, a returned member is removed and another is added. The walk still returns all
 * others.
 */
TEST(a_walk_misses_no_member_that_stays)
{
	add_members(0, 20);
	bool came[21] = { false };
	char cursor[64] = "0", gone[16] = "";
	int pages = 0;
	do {
		assert_true(++pages <= 21);
		run(&r, &geo_member_list_script, ONE, ARGS(cursor, "", "3", "1"));
		snprintf(cursor, sizeof(cursor), "%s", item_text(&r, GEO_MEMBER_LIST_NEXT_CURSOR));
		for (size_t i = GEO_MEMBER_LIST_MEMBERS; i < r.reply->elements; i += GEO_MEMBER_ITEMS) {
			const char *member = item_text(&r, i + GEO_MEMBER_MEMBER);
			came[atoi(member + 1)] = true;
		}
		if (!gone[0]) {
			snprintf(gone, sizeof(gone), "%s", item_text(&r, GEO_MEMBER_LIST_MEMBERS + GEO_MEMBER_MEMBER));
			run(&r, &geo_member_delete_script, ONE, ARGS(gone, "1"));
			add_members(20, 21);
		}
	} while (strcmp(cursor, "0") != 0);
	for (int i = 0; i < 20; i++)
		assert_true(came[i]);
}

TEST(what_is_not_a_cursor_is_refused, .before = sicily)
{
	static const char *const wrong[] = { "x", "", "-1", "0.zz", "1 ", "0.0.0", "99999999999999999999999" };

	for (size_t i = 0; i < COUNT(wrong); i++) {
		run(&r, &geo_member_list_script, ONE, ARGS(wrong[i], "", "10", "1"));
		assert_int_equal(outcome(&r), -1);
	}
}

TEST(a_replay_gets_the_first_answer)
{
	const char *const *args = ARGS("2", "1", "2", "a", "3", "4", "b", "1");

	run_with_record(&r, &geo_member_add_script, ONE, args, RECORD, FINGERPRINT_A);
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_ADDED), 2);
	int64_t now_ms = item_int(&r, REPLY_NOW_MS);
	run(&r, &geo_member_delete_script, ONE, ARGS("a", "1"));
	wait_until(server_now_ms(&r) > now_ms, 5000);
	unchanged(&r, run_with_record(&r, &geo_member_add_script, ONE, args, RECORD, FINGERPRINT_A));
	run_with_record(&r, &geo_member_add_script, ONE, args, RECORD, FINGERPRINT_A);
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_ADDED), 2);
	assert_int_equal(item_int(&r, GEO_MEMBER_ADD_UPDATED), 0);
	assert_true(item_int(&r, REPLY_NOW_MS) > now_ms);
	unchanged(&r, run_with_record_fails(&r, &geo_member_add_script, ONE, args, RECORD, FINGERPRINT_B,
					    "IDEMPOTENCY_KEY_REUSED"));
	unchanged(&r, run_with_record_fails(&r, &geo_member_add_script, ONE, ARGS("1", "1", "89", "a", "1"), RECORD "2",
					    FINGERPRINT_B, "invalid"));
}

TEST(a_foreign_key_stays_as_it_is)
{
	server_command(&r, "SET " SET " x");
	unchanged(&r, run_with_record_fails(&r, &geo_member_add_script, ONE, ARGS("1", "1", "2", "a", "1"), RECORD,
					    FINGERPRINT_A, "WRONGTYPE"));
	unchanged(&r, run_fails(&r, &geo_member_put_script, ONE, ARGS("1", "2", "a", "1"), "WRONGTYPE"));
	unchanged(&r, run_fails(&r, &geo_member_lookup_script, ONE, ARGS("1", "a", "1"), "WRONGTYPE"));
	unchanged(&r, run_fails(&r, &geo_member_list_script, ONE, ARGS("0", "", "10", "1"), "WRONGTYPE"));
	unchanged(&r, run_fails(&r, &geo_member_delete_script, ONE, ARGS("a", "1"), "WRONGTYPE"));
	unchanged(&r, run_fails(&r, &geo_size_script, KEYS(SET), ARGS(), "WRONGTYPE"));
	unchanged(&r, run_fails(&r, &geo_delete_script, ONE, ARGS("1"), "WRONGTYPE"));
	unchanged(&r, run_fails(&r, &geo_distance_get_script, KEYS(SET, CELL, CELL), ARGS("a", "b", "m", "1"),
				"WRONGTYPE"));
	unchanged(&r, run_fails(&r, &geo_search_script, ONE,
				ARGS("1", "1", "radius", "1", "", "m", "ASC", "1", "", "1"), "WRONGTYPE"));
}
