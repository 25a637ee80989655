/* Searches over HTTP: pages, the most that is found, and several sets as one. */
#include "stage.h"
#include "test.h"

#define GEOJSON "Accept: application/geo+json"

static struct answer add(const char *members)
{
	char body[1024];

	snprintf(body, sizeof(body), "{\"members\":[%s]}", members);
	return http(client, "POST", "/geo/Sicily/members", body);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

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
