/*
 * Geo searches against brute force, in a set that is one sorted set and in a split set: a search
 * finds exactly the members in the area. Circles and boxes are tried, nearest and farthest first.
 * Members and centres are all over the world, and often at or near the date line and the bounds of
 * latitude. Circles and boxes reach beyond the poles. Members are also in crowds of all sizes, with
 * many at one position.
 */
#include <math.h>

#include "stage.h"
#include "stride.h"
#include "test.h"

enum { MEMBERS = 300, SEARCHES = 500, BODY = 32 * 1024 };

#define NORTH 85.05112878
#define EARTH 6372797.560856 /* metres, as in Redis */

struct place {
	double longitude, latitude;
};

struct area {
	struct place centre;
	double radius, width, height; /* metres; the area is a box if the radius is below 0 */
};

static struct place members[MEMBERS]; /* positions as Redis returns them */
static const char *const sets[] = { "plain", "split" };

/* ---- The model ---- */

static double rad(double degrees)
{
	return degrees * M_PI / 180;
}

static double metres(struct place a, struct place b)
{
	double u = sin((rad(b.latitude) - rad(a.latitude)) / 2), v = sin((rad(b.longitude) - rad(a.longitude)) / 2);

	return 2 * EARTH * asin(sqrt(u * u + cos(rad(a.latitude)) * cos(rad(b.latitude)) * v * v));
}

static bool is_inside(const struct area *a, struct place p)
{
	struct place same_latitude = { a->centre.longitude, p.latitude };

	if (a->radius >= 0)
		return metres(a->centre, p) <= a->radius;
	return metres(a->centre, same_latitude) <= a->height / 2 && metres(p, same_latitude) <= a->width / 2;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The distances of the members in the area, nearest first. */
static size_t distances_of(const struct area *a, size_t count, double distances[])
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (is_inside(a, members[i]))
			distances[n++] = metres(a->centre, members[i]);
	qsort(distances, n, sizeof(*distances), by_size);
	return n;
}

/* ---- The daemon ---- */

static void configure(const char *cells)
{
	assert_status(http(client, "PUT", "/geo/plain", "{\"cells\":1}"), 201);
	assert_status(http(client, "PUT", "/geo/split", cells), 201);
}

/*
 * Stores the members in both sets, and reads their positions back, since Redis rounds them to 52
 * bits.
 */
static void store(const struct place *places, size_t count)
{
	static char body[BODY];
	char *at = body + sprintf(body, "{\"members\":[");

	for (size_t i = 0; i < count; i++)
		at += sprintf(at, "%s{\"member\":\"m%zu\",\"longitude\":%.17g,\"latitude\":%.17g}", i ? "," : "", i,
			      places[i].longitude, places[i].latitude);
	strcpy(at, "]}");
	for (size_t s = 0; s < 2; s++) {
		char target[40];
		snprintf(target, sizeof(target), "/geo/%s/members", sets[s]);
		assert_status(http(client, "POST", target, body), 200);
	}
	for (size_t i = 0; i < count; i++) {
		const redisReply *returned = server_command(&redis, "GEOPOS p:geo:{plain}:0 m%d", (int)i)->element[0];
		members[i].longitude = strtod(returned->element[0]->str, NULL);
		members[i].latitude = strtod(returned->element[1]->str, NULL);
		double off = fabs(members[i].longitude - places[i].longitude);
		assert_true(fmin(off, 360 - off) < 360 / 134217728.0 * 1.001);
		assert_true(fabs(members[i].latitude - places[i].latitude) < 170.2 / 134217728.0);
	}
}

static void assert_found(struct answer a, const struct area *area, size_t count, size_t limit, bool desc, double unit,
			 const char *asked)
{
	double wanted[MEMBERS];
	size_t inside = distances_of(area, count, wanted), most = inside < limit ? inside : limit;
	const json_t *results, *one;
	bool seen[MEMBERS] = { false };
	size_t i;

	assert_status(a, 200);
	results = json_at(a, "/items");
	if (json_array_size(results) != most)
		fail_msg("%s: %zu results of %zu, not %zu", asked, json_array_size(results), inside, most);
	json_array_foreach((json_t *)(uintptr_t)results, i, one) {
		int m = atoi(json_string_value(json_object_get(one, "member")) + 1);
		double returned = json_number_value(json_object_get(one, "distance"));
		double should = wanted[desc ? inside - 1 - i : i] / unit;
		if (seen[m] || fabs(returned - should) > 0.0002 ||
		    fabs(metres(area->centre, members[m]) / unit - returned) > 0.0002)
			fail_msg("%s: result %zu is m%d, %g away, not %g", asked, i, m, returned, should);
		seen[m] = true;
	}
}

/* Searches the area in both sets. If `member` is not below 0, that member is the centre. */
static void search(const struct area *area, int member, size_t count, size_t limit, bool desc, size_t unit)
{
	static const char *const units[] = { "m", "km", "mi", "ft" };
	static const double lengths[] = { 1, 1000, 1609.34, 0.3048 };
	char target[400], *at;

	for (size_t s = 0; s < 2; s++) {
		at = target + sprintf(target, "/geo/nearby?name=%s&unit=%s&limit=%zu&order=%s", sets[s], units[unit],
				      limit, desc ? "desc" : "asc");
		if (member >= 0)
			at += sprintf(at, "&member=m%d", member);
		else
			at += sprintf(at, "&longitude=%.17g&latitude=%.17g", area->centre.longitude,
				      area->centre.latitude);
		if (area->radius >= 0)
			sprintf(at, "&radius=%.17g", area->radius / lengths[unit]);
		else
			sprintf(at, "&width=%.17g&height=%.17g", area->width / lengths[unit],
				area->height / lengths[unit]);
		assert_found(get(target), area, count, limit, desc, lengths[unit], target);
		client_forget(client);
	}
}

/* ---- All over the world ---- */

static double between(double low, double high)
{
	return low + (high - low) * (double)rand() / RAND_MAX;
}

static double near(double bound)
{
	return rand() % 2 ? bound : bound - pow(10, between(-14, 1));
}

static struct place anywhere(void)
{
	int sign = rand() % 2 ? 1 : -1;
	struct place p = { between(-180, 180), between(-NORTH, NORTH) };

	if (rand() % 3 == 0)
		p.longitude = sign * near(180);
	if (rand() % 3 == 0)
		p.latitude = (rand() % 2 ? 1 : -1) * near(NORTH);
	if (rand() % 8 == 0)
		p.longitude = 45 * (rand() % 9 - 4); /* corners of Redis's squares */
	return p;
}

/* A place near `middle`: as often 1 m as 1000 km away, and sometimes at the same position. */
static struct place beside(struct place middle)
{
	double away = rand() % 5 ? pow(10, between(-5, 1.2)) : 0, wide = away / cos(rad(middle.latitude));
	struct place p = { remainder(middle.longitude + between(-wide, wide), 360),
			   middle.latitude + between(-away, away) };

	p.latitude = fmax(-NORTH, fmin(NORTH, p.latitude));
	return p;
}

/* `middle` is where the members are; NULL: they are anywhere. */
static void search_around(const struct place *middle, bool is_farthest_too)
{
	struct place places[MEMBERS];

	for (size_t i = 0; i < MEMBERS; i++)
		places[i] = middle ? beside(*middle) : anywhere();
	store(places, MEMBERS);
	for (int i = 0; i < SEARCHES / stride(); i++) {
		int member = i % 3 == 0 ? rand() % MEMBERS : -1;
		struct area area = { .radius = -1 };
		area.centre = member >= 0 ? members[member] : middle ? beside(*middle) : anywhere();
		if (i % 2) {
			area.radius = pow(10, between(middle ? 0 : 2, 7.4));
		} else {
			area.width = pow(10, between(middle ? 0 : 2, 7.45));
			area.height = pow(10, between(2, 7.4));
			if (middle && rand() % 2)
				area.height = fmin(area.width * between(0.5, 2), 2.5e7);
		}
		search(&area, member, MEMBERS, i % 4 && !middle ? 1000 : 1 + (size_t)rand() % 60,
		       is_farthest_too && rand() % 2, (size_t)rand() % 4);
	}
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(no_member_is_missed)
{
	static const char *const cells[] = { "{\"cells\":7}", "{\"cells\":200}" };

	srand(7);
	for (size_t i = 0; i < COUNT(cells); i++) {
		configure(cells[i]);
		search_around(NULL, true);
		stage_forget(NULL);
	}
}

/* The nearest members in and beside crowds, which a search finds by circles of several sizes. */
TEST(the_nearest_of_crowds)
{
	static const struct place middles[] = {
		{ 116.33, 40.02 }, { 0, 0 }, { 180, -17 }, { 25, 84 }, { -90, -80 },
	};

	srand(9);
	for (size_t i = 0; i < COUNT(middles); i++) {
		configure(i % 2 ? "{\"cells\":2}" : "{\"cells\":16}");
		search_around(&middles[i], false);
		stage_forget(NULL);
	}
}

/* ---- At the rim ---- */

/*
 * The area has a member that a single GEOSEARCH misses, and there are others inside and outside.
 * The daemon finds the member even with a small limit.
 */
TEST(at_the_rim)
{
	static const struct {
		struct area area;
		struct place member;
	} rows[] = {
		/* at the date line and at the northern bound, seen from nearby */
		{ { { 179.95, 0 }, 50e3, 0, 0 }, { 180, 0 } },
		{ { { 180, 0 }, 50e3, 0, 0 }, { -179.9, 0 } },
		{ { { 179.99999999999997, -10 }, 50e3, 0, 0 }, { -179.9, -10 } },
		{ { { 10, 85.05 }, 200, 0, 0 }, { 10, NORTH } },
		{ { { 10, NORTH }, 200, 0, 0 }, { 10, 85.05 } },
		{ { { -179.99, NORTH }, -1, 10e3, 10e3 }, { 180, NORTH } },
		/* on the other side of a pole */
		{ { { 10, 85.05 }, 580e3, 0, 0 }, { 60, 85 } },
		{ { { -100, -85 }, 580e3, 0, 0 }, { -60, -84.9 } },
		{ { { 0, 84 }, -1, 3000e3, 1500e3 }, { 170, 84 } },
		/* wide boxes: a parallel's arc is longer than its chord */
		{ { { 76.44118480817997, -65.63679281076003 }, -1, 2350837.81666, 4149960.0434 }, { -148.5, -84.29 } },
		{ { { -44.611284119823154, 62.12924572590714 }, -1, 4643454.90977, 45473.8194 }, { -90.3, 62.3336 } },
		{ { { 138.96391167403294, -45.96902617739751 }, -1, 608811.70688, 81171.26692 },
		  { 134.99985, -46.3339 } },
		{ { { 62.91393417161658, -85.05109382401521 }, -1, 1204921.02559, 156.26089 }, { -2, -85.0504 } },
		{ { { -65.944445, 85.051045 }, -1, 459751.4204834, 3075.17438 }, { -90.006, 85.0374 } },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct area area = rows[i].area;
		struct place places[40] = { rows[i].member };
		srand((unsigned)i);
		for (size_t p = 1; p < 40; p++) {
			places[p].longitude = remainder(area.centre.longitude + between(-20, 20), 360);
			places[p].latitude = fmax(-NORTH, fmin(NORTH, area.centre.latitude + between(-2, 2)));
		}
		configure("{\"cells\":3}");
		store(places, 40);
		if (!is_inside(&area, members[0]))
			fail_msg("row %zu: the member lies outside", i);
		for (size_t limit = 1; limit <= 100; limit *= 10) {
			search(&area, -1, 40, limit, false, 0);
			search(&area, -1, 40, limit, true, 1);
		}
		stage_forget(NULL);
	}
}

/*
 * Many members make a search begin with a circle inside of the area. Near a pole, a circle that is
 * only a little smaller than a box has members outside of the box, and Redis misses members of a
 * circle beyond the pole.
 */
TEST(many_beside_a_pole)
{
	static const struct {
		struct area area;
		struct place many, few; /* few are in the area, nearer than any of the many there */
	} rows[] = {
		{ { { 0, 84 }, -1, 4000e3, 4000e3 }, { 178, 80.9 }, { 0, 67 } },
		{ { { 10, 85.05 }, 580e3, 0, 0 }, { 10, 79.85 }, { -50, 85 } },
	};
	struct place places[MEMBERS];

	for (size_t i = 0; i < COUNT(rows); i++) {
		for (size_t p = 0; p < MEMBERS; p++) {
			places[p] = p < 30 ? rows[i].few : rows[i].many;
			places[p].latitude += 0.0001 * (double)p;
		}
		configure("{\"cells\":2}");
		store(places, MEMBERS);
		assert_int_equal(is_inside(&rows[i].area, members[MEMBERS - 1]), i == 1);
		for (size_t limit = 5; limit <= 20; limit += 15)
			search(&rows[i].area, -1, MEMBERS, limit, false, 0);
		stage_forget(NULL);
	}
}

/* Each operation returns a position at the bounds as its neighbour on the grid. */
TEST(bounds_are_stored)
{
	static const struct {
		struct place asked;
		double longitude, latitude;
	} rows[] = {
		{ { 180, 0 }, -180, 0 },         { { -180, 0 }, -180, 0 },
		{ { 5, NORTH }, 5, NORTH },      { { 5, -NORTH }, 5, -NORTH },
		{ { 180, NORTH }, -180, NORTH }, { { 179.99999999999997, NORTH }, -180, NORTH },
	};
	char body[80];

	configure("{\"cells\":3}");
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(body, sizeof(body), "{\"longitude\":%.17g,\"latitude\":%.17g}", rows[i].asked.longitude,
			 rows[i].asked.latitude);
		for (size_t s = 0; s < 2; s++) {
			char target[40];
			snprintf(target, sizeof(target), "/geo/%s/members/m", sets[s]);
			struct answer a = http(client, "PUT", target, body);
			assert_in_range(a.status, 200, 201);
			assert_true(fabs(real_at(a, "/longitude") - rows[i].longitude) < 3e-6);
			assert_true(fabs(real_at(a, "/latitude") - rows[i].latitude) < 3e-6);
		}
	}
}
