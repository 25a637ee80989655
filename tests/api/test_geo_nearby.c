/*
 * Searches and distances over HTTP: circles, boxes, units and GeoJSON. All figures must be equal to
 * Redis's figures. (Members and sets: test_geo.c.)
 */
#include <math.h>

#include "stage.h"
#include "test.h"

/* The example of the Redis documentation, with its figures. */
#define PALERMO "{\"member\":\"Palermo\",\"longitude\":13.361389,\"latitude\":38.115556}"
#define CATANIA "{\"member\":\"Catania\",\"longitude\":15.087269,\"latitude\":37.502669}"
#define EDGES                                                                    \
	"{\"member\":\"edge1\",\"longitude\":12.758489,\"latitude\":38.788135}," \
	"{\"member\":\"edge2\",\"longitude\":17.241510,\"latitude\":38.788135}"
#define GEOJSON "Accept: application/geo+json"

static struct answer add(const char *members)
{
	char body[1024];

	snprintf(body, sizeof(body), "{\"members\":[%s]}", members);
	return http(client, "POST", "/geo/Sicily/members", body);
}

static void assert_near(double got, double wanted, double by)
{
	if (fabs(got - wanted) > by)
		fail_msg("%.17g is not %.17g", got, wanted);
}

/* The object at the pointer `below` is Palermo, with the figures of Redis. */
static void assert_palermo(struct answer a, const char *below)
{
	char pointer[96];

	snprintf(pointer, sizeof(pointer), "%s/member", below);
	assert_string_equal(text_at(a, pointer), "Palermo");
	snprintf(pointer, sizeof(pointer), "%s/longitude", below);
	assert_near(real_at(a, pointer), 13.3613893, 0);
	snprintf(pointer, sizeof(pointer), "%s/latitude", below);
	assert_near(real_at(a, pointer), 38.1155564, 0);
	snprintf(pointer, sizeof(pointer), "%s/geohash", below);
	assert_string_equal(text_at(a, pointer), "sqc8b49rny0");
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(distance_in_every_unit)
{
	static const struct {
		const char *query, *unit;
		double distance;
	} rows[] = {
		{ "", "m", 166274.1516 },       { "&unit=m", "m", 166274.1516 },   { "&unit=km", "km", 166.2742 },
		{ "&unit=mi", "mi", 103.3182 }, { "&unit=ft", "ft", 545518.8700 },
	};
	char target[96];

	add(PALERMO "," CATANIA);
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(target, sizeof(target), "/geo/Sicily/distance?from=Palermo&to=Catania%s", rows[i].query);
		struct answer a = get(target);
		assert_status(a, 200);
		assert_near(real_at(a, "/distance"), rows[i].distance, 0);
		assert_string_equal(text_at(a, "/unit"), rows[i].unit);
	}
	assert_near(json_number_value(json_at(get("/geo/Sicily/distance?from=Palermo&to=Palermo"), "/distance")), 0, 0);
	static const char *const missing[] = { "from=nobody&to=Palermo", "from=Palermo&to=nobody" };
	for (size_t i = 0; i < 2; i++) {
		snprintf(target, sizeof(target), "/geo/Sicily/distance?%s", missing[i]);
		struct answer a = get(target);
		assert_problem(a, 404, "not_found", "none");
		assert_non_null(strstr(text_at(a, "/detail"), "'nobody'"));
	}
	assert_problem(get("/geo/nothing/distance?from=a&to=b"), 404, "not_found", "none");
	assert_problem(get("/geo/Sicily/distance?from=a"), 400, "missing_field", "none");
}

/* The results as one line of text: Catania 56.4413, Palermo 190.4424 */
static const char *results_of(struct answer a)
{
	static char line[256];
	const json_t *results = json_at(a, "/items"), *r;
	size_t i, n = 0;

	line[0] = '\0';
	json_array_foreach((json_t *)(uintptr_t)results, i, r)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s %.4f", i ? ", " : "",
				      json_string_value(json_object_get(r, "member")),
				      json_number_value(json_object_get(r, "distance")));
	return line;
}

TEST(nearby_finds_the_nearest_first)
{
	static const struct {
		const char *query, *unit, *results;
	} rows[] = {
		{ "longitude=15&latitude=37&radius=200&unit=km", "km", "Catania 56.4413, Palermo 190.4424" },
		{ "longitude=15&latitude=37&radius=200&unit=km&order=desc", "km", "Palermo 190.4424, Catania 56.4413" },
		{ "longitude=15&latitude=37&radius=200&unit=km&limit=1", "km", "Catania 56.4413" },
		{ "longitude=15&latitude=37&radius=200&unit=km&limit=1&order=desc", "km", "Palermo 190.4424" },
		{ "longitude=15&latitude=37&radius=100000", "m", "Catania 56441.2579" },
		{ "longitude=15&latitude=37&radius=35.1&unit=mi", "mi", "Catania 35.0711" },
		{ "longitude=15&latitude=37&radius=35&unit=mi", "mi", "" },
		{ "longitude=15&latitude=37&width=400&height=400&unit=km", "km",
		  "Catania 56.4413, Palermo 190.4424, edge2 279.7403, edge1 279.7405" },
		{ "longitude=15&latitude=37&width=400&height=100&unit=km", "km", "" },
		{ "longitude=15&latitude=37&width=40&height=400&unit=km", "km", "Catania 56.4413" },
		{ "member=Palermo&radius=166.2742&unit=km", "km", "Palermo 0.0000, edge1 91.4007, Catania 166.2742" },
		{ "member=Palermo&radius=0", "m", "Palermo 0.0000" },
		{ "member=Catania&width=2&height=2&unit=ft", "ft", "Catania 0.0000" },
	};
	char target[160];

	add(PALERMO "," CATANIA "," EDGES);
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(target, sizeof(target), "/geo/nearby?name=Sicily&%s", rows[i].query);
		struct answer a = get(target);
		assert_status(a, 200);
		assert_string_equal(results_of(a), rows[i].results);
		assert_string_equal(text_at(a, "/unit"), rows[i].unit);
	}
	struct answer a = get("/geo/nearby?name=Sicily&member=Palermo&radius=1");
	assert_palermo(a, "/items/0");
}

TEST(nearby_stops_at_ten_by_default)
{
	char member[96];

	for (int i = 0; i < 12; i++) {
		snprintf(member, sizeof(member), "{\"member\":\"m%d\",\"longitude\":1,\"latitude\":1.%02d}", i, i);
		add(member);
	}
	struct answer a = get("/geo/nearby?name=Sicily&longitude=1&latitude=1&radius=100&unit=km");
	assert_int_equal(json_array_size(json_at(a, "/items")), 10);
	a = get("/geo/nearby?name=Sicily&longitude=1&latitude=1&radius=100&unit=km&limit=1000");
	assert_int_equal(json_array_size(json_at(a, "/items")), 12);
	assert_problem(get("/geo/nearby?name=Sicily&longitude=1&latitude=1&radius=1&limit=1001"), 400, "out_of_range",
		       "none");
	assert_problem(get("/geo/nearby?name=Sicily&longitude=1&latitude=1&radius=1&limit=0"), 400, "out_of_range",
		       "none");
}

#define AROUND "/geo/nearby?name=Sicily&longitude=1&latitude=1&radius=1000&unit=km"

/* The members of all pages, as one line of text. Each page except the last must be full. */
static const char *paged(size_t limit, const char *sort)
{
	static char line[256];
	char target[200], cursor[32] = "";
	size_t i, n = 0;
	json_t *one;

	do {
		snprintf(target, sizeof(target), AROUND "&order=%s&limit=%zu%s%s", sort, limit,
			 *cursor ? "&cursor=" : "", cursor);
		struct answer a = get(target);
		assert_status(a, 200);
		json_t *items = (json_t *)(uintptr_t)json_at(a, "/items");
		bool is_last = json_is_null(json_at(a, "/next_cursor"));
		assert_in_range(json_array_size(items), is_last ? 1 : limit, limit);
		json_array_foreach(items, i, one)
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%s ",
					      json_string_value(json_object_get(one, "member")));
		snprintf(cursor, sizeof(cursor), "%s", is_last ? "" : text_at(a, "/next_cursor"));
	} while (*cursor);
	return line;
}

TEST(nearby_continues_page_by_page)
{
	static const char *const settings[] = { NULL, "{}", "{\"cells\":5}" };
	static const char *const wrong[] = { "x", "-1", "1x", "1-0", "1000", "10000", "99999999999999999999" };
	char text[128];

	for (size_t i = 0; i < 3; i++) {
		if (settings[i])
			assert_status(http(client, "PUT", "/geo/Sicily", settings[i]), 201);
		for (int m = 0; m < 12; m++) {
			snprintf(text, sizeof(text), "{\"member\":\"m%d\",\"longitude\":1,\"latitude\":1.%02d}", m, m);
			add(text);
		}
		for (size_t limit = 1; limit <= 13; limit++) {
			assert_string_equal(paged(limit, "asc"), "m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 ");
			assert_string_equal(paged(limit, "desc"), "m11 m10 m9 m8 m7 m6 m5 m4 m3 m2 m1 m0 ");
		}
		struct answer a = http(client, "GET", AROUND "&limit=5&cursor=5", NULL, GEOJSON);
		assert_string_equal(text_at(a, "/features/0/id"), "m5");
		assert_int_equal(json_array_size(json_at(a, "/features")), 5);
		assert_string_equal(text_at(a, "/next_cursor"), "10");
		assert_int_equal(json_array_size(json_at(get(AROUND "&cursor=12"), "/items")), 0);
		for (size_t w = 0; w < COUNT(wrong); w++) {
			snprintf(text, sizeof(text), AROUND "&cursor=%s", wrong[w]);
			assert_problem(get(text), 400, "invalid_value", "none");
		}
		stage_forget(NULL);
	}
}

/* A search returns at most a thousand results, however many members there are. */
TEST(nearby_ends_after_a_thousand)
{
	enum { EACH = 1000 };
	static const char *const settings[] = { "{}", "{\"cells\":5}" };
	static char body[EACH * 64];

	for (size_t i = 0; i < 2; i++) {
		assert_status(http(client, "PUT", "/geo/Sicily", settings[i]), 201);
		for (int m = 0; m < 2 * EACH;) {
			char *at = body + sprintf(body, "{\"members\":[");
			do
				at += sprintf(at, "%s{\"member\":\"m%d\",\"longitude\":1,\"latitude\":1.%05d}",
					      m % EACH ? "," : "", m, m);
			while (++m % EACH);
			strcpy(at, "]}");
			assert_status(http(client, "POST", "/geo/Sicily/members", body), 200);
		}
		struct answer a = get(AROUND "&limit=500&cursor=499");
		assert_int_equal(json_array_size(json_at(a, "/items")), 500);
		assert_string_equal(text_at(a, "/items/499/member"), "m998");
		assert_string_equal(text_at(a, "/next_cursor"), "999");
		a = get(AROUND "&limit=500&cursor=999");
		assert_int_equal(json_array_size(json_at(a, "/items")), 1);
		assert_string_equal(text_at(a, "/items/0/member"), "m999");
		assert_true(json_is_null(json_at(a, "/next_cursor")));
		stage_forget(NULL);
	}
}

/* ---- Several sets ---- */

enum { SETS = 4, EACH_SET = 60 };

/*
 * Fills sets of one or more cells with members m0, m1, ... A name has another position in each set.
 * The test also adds each member to the key `all` in Redis, as "<set>/<member>".
 */
static void fill_sets(void)
{
	static const char *const cells[SETS] = { "{\"cells\":3}", NULL, "{\"cells\":1}", "{\"cells\":70}" };
	char target[64], body[128];

	srand(7);
	for (int n = 0; n < SETS; n++) {
		snprintf(target, sizeof(target), "/geo/s%d", n);
		if (cells[n])
			assert_status(http(client, "PUT", target, cells[n]), 201);
		for (int m = 0; m < EACH_SET; m++) {
			double longitude = 10 + 2.0 * rand() / RAND_MAX, latitude = 40 + 2.0 * rand() / RAND_MAX;
			snprintf(target, sizeof(target), "/geo/s%d/members/m%d", n, m);
			snprintf(body, sizeof(body), "{\"longitude\":%.6f,\"latitude\":%.6f}", longitude, latitude);
			assert_status(http(client, "PUT", target, body), 201);
			snprintf(body, sizeof(body), "%.6f %.6f", longitude, latitude);
			char *space = strchr(body, ' ');
			*space = '\0';
			server_command(&redis, "GEOADD all %s %s s%d/m%d", body, space + 1, n, m);
		}
	}
}

/*
 * All pages of a search have what Redis finds in the key `all`, except for its first `seen`
 * results.
 */
static void assert_as_redis(const char *query, size_t limit, const char *search, size_t seen)
{
	char target[256], wanted[64], got[64], cursor[32] = "";

	do {
		snprintf(target, sizeof(target), "/geo/nearby?%s&limit=%zu%s%s", query, limit,
			 *cursor ? "&cursor=" : "", cursor);
		struct answer a = get(target);
		assert_status(a, 200);
		const redisReply *all = server_command(&redis, search);
		size_t count = json_array_size(json_at(a, "/items"));
		for (size_t i = 0; i < count; i++, seen++) {
			const json_t *item = json_array_get(json_at(a, "/items"), i);
			assert_in_range(seen, 0, all->elements - 1);
			snprintf(got, sizeof(got), "%s/%s %.4f", json_string_value(json_object_get(item, "name")),
				 json_string_value(json_object_get(item, "member")),
				 json_number_value(json_object_get(item, "distance")));
			snprintf(wanted, sizeof(wanted), "%s %s", all->element[seen]->element[0]->str,
				 all->element[seen]->element[1]->str);
			assert_string_equal(got, wanted);
		}
		bool is_last = json_is_null(json_at(a, "/next_cursor"));
		assert_true(!is_last || seen == all->elements);
		snprintf(cursor, sizeof(cursor), "%s", is_last ? "" : text_at(a, "/next_cursor"));
		client_forget(client);
	} while (*cursor);
}

TEST(several_sets_are_searched_as_one)
{
	static const char around[] = "name=s0&name=s1&name=s2&name=s3&longitude=11&latitude=41&unit=km";
	char query[160];

	fill_sets();
	for (size_t limit = 7; limit <= 1000; limit *= 5) {
		snprintf(query, sizeof(query), "%s&radius=70", around);
		assert_as_redis(query, limit, "GEOSEARCH all FROMLONLAT 11 41 BYRADIUS 70 km ASC WITHDIST", 0);
		snprintf(query, sizeof(query), "%s&radius=70&order=desc", around);
		assert_as_redis(query, limit, "GEOSEARCH all FROMLONLAT 11 41 BYRADIUS 70 km DESC WITHDIST", 0);
		snprintf(query, sizeof(query), "%s&width=150&height=90", around);
		assert_as_redis(query, limit, "GEOSEARCH all FROMLONLAT 11 41 BYBOX 150 90 km ASC WITHDIST", 0);
	}
	/* One set is named twice, and one does not exist. */
	assert_as_redis(
		"name=s3&name=s3&name=none&name=s0&name=s2&name=s1&name=s0&longitude=11&latitude=41&radius=50000", 9,
		"GEOSEARCH all FROMLONLAT 11 41 BYRADIUS 50000 m ASC WITHDIST", 0);
	/* A search around a member of the first set. */
	assert_as_redis("name=s2&name=s0&name=s1&name=s3&member=m5&radius=60&unit=km", 11,
			"GEOSEARCH all FROMMEMBER s2/m5 BYRADIUS 60 km ASC WITHDIST", 0);
	assert_problem(get("/geo/nearby?name=none&name=s0&member=m5&radius=60"), 404, "not_found", "none");
	struct answer a = http(client, "GET", "/geo/nearby?name=s1&name=s2&member=m5&radius=0", NULL, GEOJSON);
	assert_string_equal(text_at(a, "/features/0/properties/name"), "s1");
}

TEST(sixteen_sets_are_the_most)
{
	char query[320] = "", target[400];
	size_t n = 0;

	fill_sets();
	for (int i = 0; i < 12; i++)
		n += (size_t)snprintf(query + n, sizeof(query) - n, "name=none%d&", i);
	snprintf(query + n, sizeof(query) - n,
		 "name=s0&name=s1&name=s2&name=s3&longitude=11&latitude=41&radius=70&unit=km");
	assert_as_redis(query, 50, "GEOSEARCH all FROMLONLAT 11 41 BYRADIUS 70 km ASC WITHDIST", 0);
	snprintf(target, sizeof(target), "/geo/nearby?name=more&%s", query);
	assert_problem(get(target), 400, "out_of_range", "none");
}

TEST(the_centre_can_be_left_out)
{
	fill_sets();
	for (size_t limit = 1; limit <= 400; limit *= 4)
		assert_as_redis("name=s2&name=s0&name=s1&name=s3&member=m5&radius=60&unit=km&exclude_member=true",
				limit, "GEOSEARCH all FROMMEMBER s2/m5 BYRADIUS 60 km ASC WITHDIST", 1);
	/*
	 * A search in one set, whose only cell has the centre: a page with one result is not the
	 * last.
	 */
	size_t all =
		json_array_size(json_at(get_all("/geo/nearby?name=s2&member=m5&radius=60&unit=km&limit=1"), "/items"));
	assert_in_range(all, 5, EACH_SET);
	assert_int_equal(json_array_size(json_at(get_all("/geo/nearby?name=s2&member=m5&radius=60&unit=km&limit=1"
							 "&exclude_member=true"),
						 "/items")),
			 all - 1);
	/*
	 * exclude_member leaves out the member of that set only: members of other sets with its
	 * name stay.
	 */
	assert_status(http(client, "PUT", "/geo/s0/members/m5", "{\"longitude\":11,\"latitude\":41}"), 200);
	assert_status(http(client, "PUT", "/geo/s1/members/m5", "{\"longitude\":11,\"latitude\":41}"), 200);
	struct answer a = get("/geo/nearby?name=s1&name=s0&member=m5&radius=0&exclude_member=true");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/name"), "s0");
	a = get("/geo/nearby?name=s1&member=m5&radius=0&exclude_member=true");
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	a = get("/geo/nearby?name=s1&longitude=1&latitude=1&radius=0&exclude_member=true");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "?exclude_member");
	assert_status(get("/geo/nearby?name=s1&longitude=1&latitude=1&radius=0&exclude_member=false"), 200);
}

TEST(nearby_wants_one_centre_and_one_shape)
{
	static const struct {
		const char *query;
		int status;
		const char *code, *pointer;
	} rows[] = {
		{ "longitude=1&latitude=1&radius=1", 200, NULL, NULL }, /* a set that does not exist has no members */
		{ "longitude=1&latitude=1&width=1&height=1", 200, NULL, NULL },
		{ "member=m&radius=1", 404, "not_found", NULL },
		{ "radius=1", 400, "missing_field", "?longitude" },
		{ "longitude=1&radius=1", 400, "missing_field", "?latitude" },
		{ "latitude=1&radius=1", 400, "missing_field", "?longitude" },
		{ "longitude=1&latitude=1", 400, "missing_field", "?radius" },
		{ "longitude=1&latitude=1&width=1", 400, "missing_field", "?height" },
		{ "longitude=1&latitude=1&height=1", 400, "missing_field", "?width" },
		{ "longitude=1&latitude=1&member=m&radius=1", 400, "invalid_value", "?member" },
		{ "longitude=1&member=m&radius=1", 400, "invalid_value", "?member" },
		{ "member=m&radius=1&width=1&height=1", 400, "invalid_value", "?radius" },
		{ "member=m&radius=1&height=1", 400, "invalid_value", "?radius" },
		{ "longitude=181&latitude=1&radius=1", 400, "out_of_range", "?longitude" },
		{ "member=m&radius=-1", 400, "out_of_range", "?radius" },
		{ "member=m&radius=1&unit=yd", 400, "invalid_value", "?unit" },
		{ "member=m&radius=1&order=up", 400, "invalid_value", "?order" },
	};
	char target[160];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(target, sizeof(target), "/geo/nearby?name=nothing&%s", rows[i].query);
		struct answer a = get(target);
		if (!rows[i].code) {
			assert_status(a, 200);
			assert_int_equal(json_array_size(json_at(a, "/items")), 0);
			continue;
		}
		assert_problem(a, rows[i].status, rows[i].code, "none");
		if (rows[i].pointer)
			assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
	}
	add(PALERMO);
	assert_problem(get("/geo/nearby?name=Sicily&member=m&radius=1"), 404, "not_found", "none");
	assert_problem(get("/geo/nearby?member=m&radius=1"), 400, "missing_field", "none");
}

TEST(nearby_as_geojson)
{
	static const char target[] = "/geo/nearby?name=Sicily&longitude=15&latitude=37&radius=200&unit=km&order=desc";

	add(PALERMO "," CATANIA);
	struct answer a = http(client, "GET", target, NULL, GEOJSON);
	assert_status(a, 200);
	assert_string_equal(header_of(a, "Content-Type"), "application/geo+json");
	assert_string_equal(text_at(a, "/type"), "FeatureCollection");
	assert_int_equal(json_array_size(json_at(a, "/features")), 2);
	assert_string_equal(text_at(a, "/features/0/type"), "Feature");
	assert_string_equal(text_at(a, "/features/0/id"), "Palermo");
	assert_string_equal(text_at(a, "/features/0/geometry/type"), "Point");
	assert_near(real_at(a, "/features/0/geometry/coordinates/0"), 13.3613893, 0);
	assert_near(real_at(a, "/features/0/geometry/coordinates/1"), 38.1155564, 0);
	assert_near(real_at(a, "/features/0/properties/distance"), 190.4424, 0);
	assert_string_equal(text_at(a, "/features/0/properties/unit"), "km");
	assert_string_equal(text_at(a, "/features/0/properties/geohash"), "sqc8b49rny0");
	a = http(client, "GET", "/geo/nearby?name=nothing&longitude=1&latitude=1&radius=1", NULL, GEOJSON);
	assert_int_equal(json_array_size(json_at(a, "/features")), 0);
	assert_problem(http(client, "GET", "/geo/nearby?name=Sicily&member=x&radius=1", NULL, GEOJSON), 404,
		       "not_found", "none");
	assert_problem(http(client, "GET", target, NULL, "Accept: text/html"), 406, "not_acceptable", "none");
	static const char *const json[] = { "Accept: */*", "Accept: application/json",
					    "Accept: text/html, application/*",
					    "Accept: application/json;q=0.9, application/geo+json;q=0" };
	for (size_t i = 0; i < COUNT(json); i++)
		assert_string_equal(header_of(http(client, "GET", target, NULL, json[i]), "Content-Type"),
				    "application/json");
	/* No other operation returns GeoJSON. */
	assert_problem(http(client, "GET", "/geo/Sicily", NULL, GEOJSON), 406, "not_acceptable", "none");
}
