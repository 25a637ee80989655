/*
 * Geo sets that are split into cells (PUT /geo/{name}). A split set and a set of one cell get the
 * same requests, with members that move all over the world, and must return the same answers. Other
 * tests cover settings, cursors and removal of split sets. (Searches: test_geo_seams.c.)
 */
#include <math.h>

#include "stage.h"
#include "stride.h"
#include "test.h"

enum { MEMBERS = 600, BODY = 64 * 1024 };

static double between(double low, double high)
{
	return low + (high - low) * (double)rand() / RAND_MAX;
}

/*
 * A random position, more often where maps have seams: the poles, the 180th meridian, the corners
 * of Redis's squares.
 */
static void anywhere(double *longitude, double *latitude)
{
	*longitude = between(-180, 180);
	*latitude = between(-85, 85);
	switch (rand() % 5) {
	case 0:
		*latitude = (rand() % 2 ? 1 : -1) * between(84.9, 85.05112878);
		break;
	case 1:
		*longitude = (rand() % 2 ? 1 : -1) * between(179.9, 180);
		break;
	case 2:
		*longitude = between(-0.01, 0.01) + 45 * (rand() % 7 - 3);
		*latitude = between(-0.01, 0.01);
		break;
	default:
		break;
	}
}

static struct answer in_set(const char *set, const char *method, const char *rest, const char *body)
{
	char target[400];

	snprintf(target, sizeof(target), "/geo/%s%s", set, rest);
	return http(client, method, target, body);
}

static struct answer configure(const char *set, const char *method, const char *body, int status, int64_t size,
			       int64_t cells)
{
	struct answer a = in_set(set, method, "", body);

	assert_status(a, status);
	assert_int_equal(int_at(a, "/size"), size);
	assert_int_equal(int_at(a, "/cells"), cells);
	return a;
}

/* The answer without the name of the set. */
static const char *behind_name(struct answer a)
{
	const char *at = a.body ? strstr(a.body, "\"name\":") : NULL;

	return at ? strchr(at, ',') : a.body;
}

/* Sends the same request to both sets. The answers must be the same except for the name. */
static struct answer both(const char *method, const char *rest, const char *body)
{
	struct answer plain = in_set("plain", method, rest, body), split = in_set("split", method, rest, body);

	assert_int_equal(split.status, plain.status);
	if (plain.status < 300)
		assert_string_equal(behind_name(split), behind_name(plain));
	else
		assert_string_equal(text_at(split, "/code"), text_at(plain, "/code"));
	return plain;
}

static void add_members(int from, int count)
{
	static char body[BODY];
	char *at = body + sprintf(body, "{\"members\":[");

	for (int i = 0; i < count; i++) {
		double longitude, latitude;
		anywhere(&longitude, &latitude);
		at += sprintf(at, "%s{\"member\":\"m%d\",\"longitude\":%.9f,\"latitude\":%.9f}", i ? "," : "", from + i,
			      longitude, latitude);
	}
	strcpy(at, "]}");
	assert_status(both("POST", "/members", body), 200);
}

static void make_both(const char *cells)
{
	configure("plain", "PUT", "{\"cells\":1}", 201, 0, 1);
	configure("split", "PUT", cells, 201, 0, atoi(strchr(cells, ':') + 1));
	add_members(0, MEMBERS);
}

/* ---- The same answers ---- */

/* Members at equal distances may be in either order, and the limit may cut off either of them. */
static void assert_same_results(struct answer plain, struct answer split, const char *asked)
{
	size_t count = json_array_size(json_at(plain, "/items"));

	assert_status(plain, 200);
	assert_status(split, 200);
	if (json_array_size(json_at(split, "/items")) != count)
		fail_msg("%s: %zu results, not %zu", asked, json_array_size(json_at(split, "/items")), count);
	for (size_t i = 0; i < count; i++) {
		char member[40], distance[40];
		snprintf(member, sizeof(member), "/items/%zu/member", i);
		snprintf(distance, sizeof(distance), "/items/%zu/distance", i);
		if (fabs(real_at(plain, distance) - real_at(split, distance)) > 0.00011)
			fail_msg("%s: result %zu is %g away, not %g", asked, i, real_at(split, distance),
				 real_at(plain, distance));
		bool is_tie = i + 1 == count;
		for (size_t j = i ? i - 1 : 0; j <= i + 1 && j < count && !is_tie; j++) {
			char other[40];
			snprintf(other, sizeof(other), "/items/%zu/distance", j);
			is_tie = j != i && fabs(real_at(plain, other) - real_at(plain, distance)) < 0.0002;
		}
		if (!is_tie && strcmp(text_at(plain, member), text_at(split, member)) != 0)
			fail_msg("%s: result %zu is %s, not %s", asked, i, text_at(split, member),
				 text_at(plain, member));
	}
}

static void search_both(const char *what)
{
	char target[400];

	snprintf(target, sizeof(target), "/geo/nearby?name=plain&%s", what);
	struct answer plain = get(target);
	snprintf(target, sizeof(target), "/geo/nearby?name=split&%s", what);
	assert_same_results(plain, get(target), what);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(geojson_of_a_split_set)
{
	static const char rest[] = "&member=m1&radius=20000&unit=km&limit=20";
	char target[200];

	make_both("{\"cells\":5}");
	snprintf(target, sizeof(target), "/geo/nearby?name=plain%s", rest);
	struct answer plain = http(client, "GET", target, NULL, "Accept: application/geo+json");
	snprintf(target, sizeof(target), "/geo/nearby?name=split%s", rest);
	struct answer split = http(client, "GET", target, NULL, "Accept: application/geo+json");
	assert_status(split, 200);
	assert_string_equal(text_at(split, "/features/0/properties/name"), "split");
	/* The answers are the same except for the name of the set in each feature. */
	char *body = strdup(split.body);
	for (char *at = body; (at = strstr(at, "\"split\""));)
		memcpy(at, "\"plain\"", 7);
	assert_string_equal(body, plain.body);
	free(body);
}

TEST(members_move_and_go)
{
	srand(11);
	make_both("{\"cells\":16}");
	for (int i = 0; i < 300 / stride(); i++) {
		char rest[80], body[80];
		double longitude, latitude;
		anywhere(&longitude, &latitude);
		snprintf(rest, sizeof(rest), "/members/m%d", rand() % (MEMBERS + 50));
		snprintf(body, sizeof(body), "{\"longitude\":%.9f,\"latitude\":%.9f}", longitude, latitude);
		if (i % 3 == 0)
			both("DELETE", rest, NULL);
		else
			both("PUT", rest, body);
		both("GET", rest, NULL);
		snprintf(rest, sizeof(rest), "/distance?from=m%d&to=m%d&unit=%s", rand() % MEMBERS, rand() % MEMBERS,
			 i % 2 ? "km" : "mi");
		both("GET", rest, NULL);
		client_forget(client);
	}
	add_members(MEMBERS - 20, 40);
	both("POST", "/lookup", "{\"members\":[\"m3\",\"nobody\",\"m599\",\"m3x\",\"m1\",\"m610\",\"m2\"]}");
	both("POST", "/members",
	     "{\"members\":[{\"member\":\"twice\",\"longitude\":1,\"latitude\":1},{\"member\":\"m1\",\"longitude\":2,\"latitude\":2},"
	     "{\"member\":\"twice\",\"longitude\":3,\"latitude\":3}]}");
	both("GET", "/members/twice", NULL);
	assert_int_equal(int_at(in_set("split", "GET", "", NULL), "/size"),
			 int_at(in_set("plain", "GET", "", NULL), "/size"));
	search_both("longitude=0&latitude=0&radius=20100&unit=km&limit=1000");
}

/* ---- Split sets alone ---- */

static int walk(const char *set, int limit, const char *match, bool *seen)
{
	char rest[200] = "";
	int count = 0;

	for (int pages = 0; pages < 2000; pages++) {
		char asked[300];
		snprintf(asked, sizeof(asked), "/members?limit=%d&match=%s%s", limit, match, rest);
		struct answer a = in_set(set, "GET", asked, NULL);
		assert_status(a, 200);
		const json_t *items = json_at(a, "/items");
		assert_true(json_array_size(items) <= (size_t)limit);
		for (size_t i = 0; i < json_array_size(items); i++, count++)
			seen[atoi(json_string_value(json_object_get(json_array_get(items, i), "member")) + 1)] = true;
		if (json_is_null(json_at(a, "/next_cursor"))) {
			client_forget(client);
			return count;
		}
		snprintf(rest, sizeof(rest), "&cursor=%s", text_at(a, "/next_cursor"));
		client_forget(client);
	}
	fail_msg("the pages do not end");
	return 0;
}

TEST(a_list_walks_through_all_cells)
{
	static const int limits[] = { 1000, 100, 7 };

	make_both("{\"cells\":40}");
	for (size_t i = 0; i < COUNT(limits); i++) {
		bool seen[MEMBERS] = { false };
		assert_int_equal(walk("split", limits[i], "m*", seen), MEMBERS);
		for (int m = 0; m < MEMBERS; m++)
			assert_true(seen[m]);
	}
	bool found[MEMBERS] = { false };
	assert_int_equal(walk("split", 1000, "m11", found), 1);
	assert_true(found[11]);
	static const char *const cursors[] = { "40-0", "x", "5", "-", "3-x", "-1-0", "99999999999999999999-0" };
	for (size_t i = 0; i < COUNT(cursors); i++) {
		char rest[80];
		snprintf(rest, sizeof(rest), "/members?cursor=%s", cursors[i]);
		assert_problem(in_set("split", "GET", rest, NULL), 400, "invalid_value", "none");
	}
	assert_problem(in_set("plain", "GET", "/members?cursor=1-0", NULL), 400, "invalid_value", "none");
}

TEST(no_key_is_much_larger_than_another)
{
	enum { CELLS = 10 };

	configure("split", "PUT", "{\"cells\":10}", 201, 0, CELLS);
	/* All members are in one street. */
	static char body[BODY];
	char *at = body + sprintf(body, "{\"members\":[");
	for (int i = 0; i < 1000; i++)
		at += sprintf(at, "%s{\"member\":\"%d\",\"longitude\":116.40%03d,\"latitude\":39.9}", i ? "," : "", i,
			      i);
	strcpy(at, "]}");
	assert_int_equal(int_at(in_set("split", "POST", "/members", body), "/added_count"), 1000);
	for (int i = 0; i < CELLS; i++)
		assert_in_range(server_command(&redis, "ZCARD p:geo:{split}:%d", i)->integer, 60, 140);
	assert_int_equal(server_keys(&redis), CELLS + 1);
}

TEST(cells_are_set_before_there_are_members)
{
	assert_problem(in_set("a", "PUT", "", NULL), 400, NULL, "none");
	assert_problem(in_set("a", "PATCH", "", "{\"cells\":3}"), 404, "not_found", "none");
	configure("a", "PUT", "{}", 201, 0, 1);
	configure("a", "PUT", "{\"cells\":3}", 200, 0, 3);
	configure("a", "PATCH", "{\"cells\":5}", 200, 0, 5);
	configure("a", "PATCH", "{}", 200, 0, 5);
	assert_status(in_set("a", "PUT", "/members/x", "{\"longitude\":1,\"latitude\":1}"), 201);
	configure("a", "PUT", "{\"cells\":5}", 200, 1, 5);
	configure("a", "PATCH", "{\"cells\":5}", 200, 1, 5);
	configure("a", "PATCH", "{}", 200, 1, 5);
	static const char *const others[][2] = { { "PUT", "{\"cells\":6}" },
						 { "PUT", "{}" },
						 { "PATCH", "{\"cells\":1}" },
						 { "PATCH", "{\"cells\":null}" } };
	for (size_t i = 0; i < 4; i++) {
		struct answer a = in_set("a", others[i][0], "", others[i][1]);
		assert_problem(a, 409, "geo_cells_differ", "none");
		assert_int_equal(int_at(a, "/cells"), 5);
	}
	assert_status(in_set("a", "DELETE", "/members/x", NULL), 204);
	assert_int_equal(int_at(in_set("a", "GET", "", NULL), "/size"), 0);
	configure("a", "PATCH", "{\"cells\":null}", 200, 0, 1);
	configure("a", "PATCH", "{\"cells\":1}", 200, 0, 1);
	assert_status(in_set("a", "PUT", "/members/x", "{\"longitude\":1,\"latitude\":1}"), 201);
	assert_int_equal(server_command(&redis, "ZCARD p:geo:{a}:0")->integer, 1);
	assert_problem(in_set("b", "PUT", "", "{\"cells\":0}"), 400, "out_of_range", "none");
	assert_problem(in_set("b", "PATCH", "", "{\"cells\":1025}"), 400, "out_of_range", "none");
	assert_problem(in_set("b", "PUT", "", "{\"ttl_ms\":0}"), 400, "out_of_range", "none");
}

/* The set keeps its members. From then on it exists even without members. */
TEST(a_set_made_by_its_members_gets_settings)
{
	static const char *const methods[] = { "PUT", "PATCH" };

	for (size_t i = 0; i < 2; i++) {
		assert_status(in_set("a", "PUT", "/members/x", "{\"longitude\":1,\"latitude\":1}"), 201);
		configure("a", methods[i], "{}", 200, 1, 1);
		assert_status(in_set("a", "GET", "/members/x", NULL), 200);
		assert_status(in_set("a", "PUT", "/members/y", "{\"longitude\":1,\"latitude\":1.1}"), 201);
		struct answer a = get("/geo/nearby?name=a&member=x&radius=100&unit=km");
		assert_int_equal(json_array_size(json_at(a, "/items")), 2);
		assert_status(in_set("a", "DELETE", "/members/x", NULL), 204);
		assert_status(in_set("a", "DELETE", "/members/y", NULL), 204);
		a = get("/geo");
		assert_string_equal(text_at(a, "/items/0/name"), "a");
		assert_status(in_set("a", "DELETE", "", NULL), 204);
		assert_int_equal(server_keys(&redis), 0);
	}
}

static struct answer add_fifty(const char *set)
{
	static char body[BODY];
	char *at = body + sprintf(body, "{\"members\":[");

	for (int m = 0; m < 50; m++)
		at += sprintf(at, "%s{\"member\":\"%d\",\"longitude\":1,\"latitude\":1}", m ? "," : "", m);
	strcpy(at, "]}");
	return in_set(set, "POST", "/members", body);
}

TEST(a_set_expires_whole)
{
	struct answer a = configure("a", "PUT", "{\"cells\":3,\"ttl_ms\":600000}", 201, 0, 3);
	int64_t at = int_at(a, "/expires_at_ms");
	assert_status(add_fifty("a"), 200);
	assert_status(in_set("a", "DELETE", "/members/7", NULL), 204);
	assert_status(in_set("a", "PUT", "/members/7", "{\"longitude\":1,\"latitude\":1}"), 201);
	for (int i = 0; i < 3; i++)
		assert_int_equal(server_command(&redis, "PEXPIRETIME p:geo:{a}:%d", i)->integer, at);
	assert_int_equal(int_at(configure("a", "PATCH", "{}", 200, 50, 3), "/expires_at_ms"), at);
	assert_int_equal(int_at(get("/geo"), "/items/0/expires_at_ms"), at);
	assert_true(json_is_null(json_at(configure("a", "PUT", "{\"cells\":3}", 200, 50, 3), "/expires_at_ms")));
	for (int i = 0; i < 3; i++)
		assert_int_equal(server_command(&redis, "PTTL p:geo:{a}:%d", i)->integer, -1);
	configure("a", "PATCH", "{\"ttl_ms\":600000}", 200, 50, 3);
	assert_true(json_is_null(json_at(configure("a", "PATCH", "{\"ttl_ms\":null}", 200, 50, 3), "/expires_at_ms")));
	configure("a", "PATCH", "{\"ttl_ms\":1}", 200, 50, 3);
	wait_until(server_keys(&redis) == 0, 20000);
	a = in_set("a", "GET", "", NULL);
	assert_int_equal(int_at(a, "/size"), 0);
	assert_true(json_is_null(json_at(a, "/expires_at_ms")));
	assert_problem(in_set("a", "PATCH", "", "{}"), 404, "not_found", "none");
}

TEST(a_split_set_is_listed_and_deleted)
{
	configure("big", "PUT", "{\"cells\":1024}", 201, 0, 1024);
	struct answer a = get("/geo");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_int_equal(int_at(a, "/items/0/cells"), 1024);
	for (int i = 0; i < 2; i++) {
		static char body[BODY];
		char *at = body + sprintf(body, "{\"members\":[");
		for (int m = 0; m < 1000; m++)
			at += sprintf(at, "%s{\"member\":\"%d\",\"longitude\":1,\"latitude\":1}", m ? "," : "",
				      1000 * i + m);
		strcpy(at, "]}");
		assert_status(in_set("big", "POST", "/members", body), 200);
	}
	a = get("/geo");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_int_equal(int_at(a, "/items/0/size"), 2000);
	assert_status(in_set("big", "DELETE", "", NULL), 204);
	assert_int_equal(server_keys(&redis), 0);
	assert_problem(in_set("big", "DELETE", "", NULL), 404, "not_found", "none");
}

TEST(a_retry_of_many_is_done_once)
{
	static const char body[] =
		"{\"members\":[{\"member\":\"a\",\"longitude\":1,\"latitude\":1},{\"member\":\"b\",\"longitude\":2,\"latitude\":2}]}";

	configure("split", "PUT", "{\"cells\":9}", 201, 0, 9);
	for (int i = 0; i < 2; i++) {
		struct answer a = http(client, "POST", "/geo/split/members", body, "Idempotency-Key: once");
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/added_count"), 2);
		assert_int_equal(int_at(in_set("split", "GET", "", NULL), "/size"), 2 - i);
		in_set("split", "DELETE", "/members/a", NULL);
	}
	assert_problem(in_set("split", "GET", "/members/a", NULL), 404, "not_found", "none");
}

TEST(what_is_not_ours_is_left_alone)
{
	server_command(&redis, "HSET p:geo:{foreign} field value");
	assert_problem(in_set("foreign", "GET", "", NULL), 500, "foreign_key", "none");
	assert_problem(in_set("foreign", "PUT", "", "{\"cells\":2}"), 500, "foreign_key", "none");
	assert_problem(in_set("foreign", "DELETE", "", NULL), 500, "foreign_key", "none");
	assert_problem(in_set("foreign", "PUT", "/members/a", "{\"longitude\":1,\"latitude\":1}"), 500, "foreign_key",
		       "none");
	assert_int_equal(server_command(&redis, "HLEN p:geo:{foreign}")->integer, 1);
	/* A foreign key in place of a cell does not affect the other cells. */
	configure("split", "PUT", "{\"cells\":2}", 201, 0, 2);
	server_command(&redis, "SET p:geo:{split}:1 text");
	assert_problem(add_fifty("split"), 500, "foreign_key", "none");
	assert_int_equal(int_at(in_set("split", "GET", "", NULL), "/size"), 0);
	assert_int_equal(server_command(&redis, "EXISTS p:geo:{split}:0")->integer, 0);
}
