/* The geo scripts on a real Redis: what one call bears, its cost, and walks under changes. */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define SET "p:geo:{sicily}"
#define CELL SET ":0"
#define ONE KEYS(SET, CELL)

/* Makes a set of one cell, where results must equal Redis's own. */
static int one_cell(void **state)
{
	script_stage_empty(state);
	run(&r, &geo_put_script, ONE, ARGS("1", "null", "", "1"));
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

static size_t found_count(void)
{
	return (r.reply->elements - GEO_SEARCH_FOUND) / GEO_FOUND_ITEMS;
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = one_cell);

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

/* Adds members within so many degrees of 116 degrees east, 40 degrees north. */
static void crowd(int count, double within)
{
	static const char fill[] = "math.randomseed(7) for i = 1, ARGV[1] do local within = ARGV[2] * 2 "
				   "redis.call('GEOADD', KEYS[1], 116 + within * (math.random() - 0.5), "
				   "40 + within * (math.random() - 0.5), ARGV[2] .. '-' .. i) end";
	char text[2][24];

	snprintf(text[0], sizeof(text[0]), "%d", count);
	snprintf(text[1], sizeof(text[1]), "%g", within);
	server_command(&r, "EVAL %s 1 %s %s %s", fill, CELL, text[0], text[1]);
}

/*
 * A search of the nearest finds what GEOSEARCH finds, and reads only some of many members, also
 * when most of them are at the centre. The most members it may return follow from the calls.
 */
TEST(the_nearest_of_many_take_few_steps)
{
	static const struct {
		const char *longitude, *latitude, *kind, *width, *height, *most;
		int calls;
	} rows[] = {
		{ "116", "40", "radius", "100", "", "11", 3 },
		{ "116.9", "40.9", "radius", "100", "", "11", 4 },
		{ "116", "40", "box", "200", "150", "11", 3 },
		{ "115.2", "39.5", "radius", "2000", "", "101", 4 },
		{ "100", "40", "radius", "20", "", "11", 1 },
		{ "116", "40", "radius", "13000", "", "11", 3 }, /* Redis misses members of this circle */
	};
	char wanted[1001][24];

	for (int has_crowd = 0; has_crowd < 2; has_crowd++) {
		crowd(10000, has_crowd ? 0.0001 : 1);
		for (size_t i = 0; i < COUNT(rows); i++) {
			const redisReply *all =
				server_command(&r, "GEOSEARCH %s FROMLONLAT %s %s BYRADIUS %s km ASC COUNT %s WITHDIST",
					       CELL, rows[i].longitude, rows[i].latitude,
					       i == 5 ? "2000" : rows[i].width, rows[i].most);
			size_t count = all->elements;
			for (size_t n = 0; n < count; n++)
				snprintf(wanted[n], sizeof(wanted[n]), "%s", all->element[n]->element[1]->str);
			server_command(&r, "CONFIG RESETSTAT");
			run(&r, &geo_search_script, ONE,
			    ARGS(rows[i].longitude, rows[i].latitude, rows[i].kind, rows[i].width, rows[i].height, "km",
				 "ASC", rows[i].most, "", "1"));
			assert_int_equal(found_count(), count);
			for (size_t n = 0; n < count; n++)
				assert_string_equal(item_text(&r, FOUND(n, DISTANCE)), wanted[n]);
			assert_in_range(calls_of("geosearch"), 1, rows[i].calls + 8 * has_crowd);
			assert_int_equal(calls_of("zcard"), 1); /* it did not read all members */
		}
	}
}

#define LISTED(n) (GEO_MEMBER_LIST_MEMBERS + GEO_MEMBER_ITEMS * (n))

static void add_members(int from, int to)
{
	char longitude[24], name[16];

	for (int i = from; i < to; i++) {
		snprintf(longitude, sizeof(longitude), "%.17g", i * 0.1);
		snprintf(name, sizeof(name), "m%d", i);
		run(&r, &geo_member_put_script, ONE, ARGS(longitude, "10", name, "1"));
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
