/*
 * Geo sets over HTTP: members and their positions, sets and their lists. (Searches:
 * test_geo_nearby.c.)
 */
#include <math.h>

#include "stage.h"
#include "test.h"

enum { SET_MAX = 400 };

/* The example of the Redis documentation, with its figures. */
#define PALERMO "{\"member\":\"Palermo\",\"longitude\":13.361389,\"latitude\":38.115556}"
#define CATANIA "{\"member\":\"Catania\",\"longitude\":15.087269,\"latitude\":37.502669}"
#define ELSEWHERE "{\"member\":\"elsewhere\",\"longitude\":-70,\"latitude\":-50}"

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

/* ---- Members ---- */

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(a_member_is_put_moved_and_removed)
{
	static const char target[] = "/geo/Sicily/members/Palermo";

	struct answer a = http(client, "PUT", target, "{\"longitude\":1,\"latitude\":-2.5}");
	assert_status(a, 201);
	assert_near(real_at(a, "/longitude"), 1, 1e-5);
	assert_near(real_at(a, "/latitude"), -2.5, 1e-5);
	a = http(client, "PUT", target, "{\"longitude\":13.361389,\"latitude\":38.115556}");
	assert_status(a, 200);
	assert_palermo(a, "");
	assert_status(http(client, "PUT", target, "{\"longitude\":13.361389,\"latitude\":38.115556}"), 200);
	assert_palermo(get(target), "");
	assert_int_equal(int_at(get("/geo/Sicily"), "/size"), 1);
	assert_status(http(client, "DELETE", target, NULL), 204);
	assert_problem(http(client, "DELETE", target, NULL), 404, "not_found", "none");
	assert_problem(get(target), 404, "not_found", "none");
	assert_int_equal(server_keys(&redis), 0);
}

TEST(many_are_added_all_or_none)
{
	static const struct {
		const char *members;
		int added, updated, size;
	} rows[] = {
		{ PALERMO "," CATANIA, 2, 0, 2 },
		{ CATANIA "," ELSEWHERE, 1, 1, 3 },
		{ PALERMO, 0, 1, 3 },
		{ "{\"member\":\"x\",\"longitude\":50,\"latitude\":50}," CATANIA
		  ",{\"member\":\"x\",\"longitude\":-1,\"latitude\":2}",
		  1, 1, 4 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = add(rows[i].members);
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/added_count"), rows[i].added);
		assert_int_equal(int_at(a, "/updated_count"), rows[i].updated);
		assert_int_equal(int_at(get("/geo/Sicily"), "/size"), rows[i].size);
	}
	assert_near(real_at(get("/geo/Sicily/members/x"), "/longitude"), -1, 1e-5); /* the last position counts */
	struct answer a = add("{\"member\":\"y\",\"longitude\":1,\"latitude\":1},"
			      "{\"member\":\"z\",\"longitude\":1,\"latitude\":85.06}");
	assert_problem(a, 400, "out_of_range", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/members/1/latitude");
	assert_problem(get("/geo/Sicily/members/y"), 404, "not_found", "none");
	assert_problem(add(""), 400, NULL, "none");
}

TEST(a_retried_add_returns_the_first_figures)
{
	static const char body[] = "{\"members\":[" PALERMO "]}";

	for (int i = 0; i < 2; i++) {
		struct answer a = http(client, "POST", "/geo/Sicily/members", body, "Idempotency-Key: one");
		assert_int_equal(int_at(a, "/added_count"), 1);
		assert_int_equal(int_at(a, "/updated_count"), 0);
	}
	assert_problem(http(client, "POST", "/geo/Sicily/members", "{\"members\":[" CATANIA "]}",
			    "Idempotency-Key: one"),
		       422, "idempotency_key_reused", "none");
	assert_int_equal(int_at(get("/geo/Sicily"), "/size"), 1);
}

TEST(places_outside_the_ranges_are_named)
{
	static const struct {
		const char *longitude, *latitude, *pointer; /* NULL: the position is valid */
	} rows[] = {
		{ "179.9", "85.05112878", NULL },     { "-180", "-85.05112878", NULL }, { "0", "0", NULL },
		{ "180.0000001", "0", "/longitude" }, { "-181", "0", "/longitude" },    { "1e300", "0", "/longitude" },
		{ "0", "85.05112879", "/latitude" },  { "0", "-85.06", "/latitude" },   { "0", "90", "/latitude" },
	};
	char body[96];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(body, sizeof(body), "{\"longitude\":%s,\"latitude\":%s}", rows[i].longitude, rows[i].latitude);
		struct answer a = http(client, "PUT", "/geo/edges/members/m", body);
		if (rows[i].pointer) {
			assert_problem(a, 400, "out_of_range", "none");
			assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
			assert_int_equal(json_array_size(json_at(a, "/errors")), 1);
			continue;
		}
		assert_in_range(a.status, 200, 201);
		assert_near(real_at(a, "/longitude"), atof(rows[i].longitude), 1e-5);
		assert_near(real_at(a, "/latitude"), atof(rows[i].latitude), 1e-5);
	}
	assert_problem(http(client, "PUT", "/geo/edges/members/m", "{\"longitude\":\"1\",\"latitude\":1}"), 400,
		       "wrong_type", "none");
}

TEST(lookup_keeps_the_order_asked)
{
	static const char ask[] = "{\"members\":[\"nobody\",\"Catania\",\"Palermo\",\"Catania\"]}";

	add(PALERMO "," CATANIA);
	struct answer a = http(client, "POST", "/geo/Sicily/lookup", ask);
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/members")), 4);
	assert_true(json_is_null(json_at(a, "/members/0")));
	assert_string_equal(text_at(a, "/members/1/member"), "Catania");
	assert_string_equal(text_at(a, "/members/1/geohash"), "sqdtr74hyu0");
	assert_palermo(a, "/members/2");
	assert_string_equal(text_at(a, "/members/3/member"), "Catania");
	a = http(client, "POST", "/geo/nothing/lookup", ask);
	assert_int_equal(json_array_size(json_at(a, "/members")), 4);
	assert_true(json_is_null(json_at(a, "/members/3")));
}

/* ---- Sets ---- */

TEST(sets_are_looked_at_listed_and_deleted)
{
	struct answer a = get("/geo/Sicily");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), 0);
	assert_problem(http(client, "DELETE", "/geo/Sicily", NULL), 404, "not_found", "none");
	assert_int_equal(json_array_size(json_at(get("/geo/Sicily/members"), "/items")), 0);
	add(PALERMO "," CATANIA);
	server_command(&redis, "SET p:geo:{foreign} x");
	a = get_all("/geo");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/name"), "Sicily");
	assert_int_equal(int_at(a, "/items/0/size"), 2);
	assert_int_equal(json_array_size(json_at(get_all("/geo?match=x*"), "/items")), 0);
	assert_problem(get("/geo/foreign"), 500, "foreign_key", "none");
	assert_status(http(client, "DELETE", "/geo/Sicily", NULL), 204);
	assert_int_equal(int_at(get("/geo/Sicily"), "/size"), 0);
	assert_problem(http(client, "DELETE", "/geo/foreign", NULL), 500, "foreign_key", "none");
}

/*
 * Reads a list page by page, and returns how many of the members "m0", "m1", ... it has. No member
 * may be listed twice.
 */
static int members_paged(const char *set, const char *match, int limit)
{
	char target[160], cursor[80] = "";
	bool seen[SET_MAX] = { false };
	int found = 0;

	for (int pages = 0; pages < SET_MAX + 2; pages++) {
		snprintf(target, sizeof(target), "/geo/%s/members?limit=%d%s%s%s%s", set, limit, match ? "&match=" : "",
			 match ? match : "", *cursor ? "&cursor=" : "", cursor);
		struct answer a = get(target);
		size_t i, n = json_array_size(json_at(a, "/items"));
		assert_true(n <= (size_t)limit);
		for (i = 0; i < n; i++) {
			const json_t *item = json_array_get(json_at(a, "/items"), i);
			int at = atoi(json_string_value(json_object_get(item, "member")) + 1);
			assert_false(seen[at]);
			seen[at] = true;
			found++;
			assert_near(json_number_value(json_object_get(item, "longitude")), at / 10.0, 1e-5);
		}
		if (json_is_null(json_at(a, "/next_cursor")))
			return found;
		snprintf(cursor, sizeof(cursor), "%s", text_at(a, "/next_cursor"));
	}
	fail_msg("the list does not end");
	return -1;
}

/* Redis stores a small set in one piece and a large set in a table: both must be cut into pages. */
TEST(paging_finds_every_member_once)
{
	static const int sizes[] = { 5, 100, SET_MAX }, limits[] = { 1, 7, 99, 1000 };
	const size_t size = SET_MAX * 64;

	for (size_t s = 0; s < 3; s++) {
		char set[16], target[64], *body = malloc(size);
		size_t n = (size_t)snprintf(body, size, "{\"members\":[");
		for (int i = 0; i < sizes[s]; i++)
			n += (size_t)snprintf(body + n, size - n,
					      "%s{\"member\":\"m%d\",\"longitude\":%.1f,\"latitude\":1}", i ? "," : "",
					      i, i / 10.0);
		snprintf(body + n, size - n, "]}");
		snprintf(set, sizeof(set), "set%zu", s);
		snprintf(target, sizeof(target), "/geo/%s/members", set);
		assert_int_equal(int_at(http(client, "POST", target, body), "/added_count"), sizes[s]);
		free(body);
		for (size_t l = 0; l < 4; l++)
			assert_int_equal(members_paged(set, NULL, limits[l]), sizes[s]);
	}
	assert_int_equal(members_paged("set2", "m39*", 3), 11); /* m39, m390 to m399 */
	assert_problem(get("/geo/set2/members?cursor=x"), 400, "invalid_value", "none");
}

TEST(names_of_all_kinds)
{
	static const char *const rows[][2] = {
		{ "a%2Fb", "a/b" },
		{ "M%C3%BCnchen", "München" },
		{ "%E5%8C%97%E4%BA%AC", "北京" },
		{ "%22%5C", "\"\\" },
		{ "0", "0" },
	};
	static const char *const reserved[][3] = {
		{ "PUT", "/geo/nearby/members/m", "{\"longitude\":1,\"latitude\":1}" },
		{ "PUT", "/geo/s/members/%2E", "{\"longitude\":1,\"latitude\":1}" },
		{ "GET", "/geo/s/members/..", NULL },
		{ "DELETE", "/geo/s/members/.", NULL },
		{ "POST", "/geo/nearby/members", "{\"members\":[" PALERMO "]}" },
		{ "POST", "/geo/s/members", "{\"members\":[{\"member\":\"..\",\"longitude\":1,\"latitude\":1}]}" },
		{ "GET", "/geo/nearby/members", NULL },
		{ "POST", "/geo/nearby/lookup", "{\"members\":[\"m\"]}" },
		{ "GET", "/geo/nearby/distance?from=a&to=b", NULL },
		{ "GET", "/geo/nearby?name=nearby&member=m&radius=1", NULL },
		{ "GET", "/geo/..", NULL },
	};
	char target[96], where[96];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(target, sizeof(target), "/geo/%s/members/%s", rows[i][0], rows[i][0]);
		snprintf(where, sizeof(where), "/geo/nearby?name=%s&member=%s&radius=1", rows[i][0], rows[i][0]);
		assert_status(http(client, "PUT", target, "{\"longitude\":1,\"latitude\":1}"), 201);
		assert_string_equal(text_at(get(target), "/member"), rows[i][1]);
		assert_string_equal(text_at(get(where), "/items/0/member"), rows[i][1]);
	}
	assert_int_equal(json_array_size(json_at(get_all("/geo"), "/items")), COUNT(rows));
	for (size_t i = 0; i < COUNT(reserved); i++)
		assert_problem(http(client, reserved[i][0], reserved[i][1], reserved[i][2]), 400, "reserved_name",
			       "none");
}
