/* Sets over HTTP: walks over all pages of a list and of a combination. */
#include "stage.h"
#include "test.h"

static void fill(const char *set, int from, int to)
{
	for (int i = from; i < to; i++)
		server_command(&redis, "SADD p:set:{%s} m%d", set, i);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

static const char *member_at(struct answer a, size_t i)
{
	return json_string_value(json_object_get(json_array_get(json_at(a, "/items"), i), "member"));
}

TEST(a_list_is_walked_page_by_page)
{
	static const int sizes[] = { 5, 100, 400 }, limits[] = { 1, 7, 150 };
	char target[128], cursor[80];

	struct answer a = get("/sets/none/members");
	assert_status(a, 200);
	assert_int_equal(int_at(get("/sets/none"), "/size"), 0);
	a = get("/sets/none/members");
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	for (size_t s = 0; s < 3; s++) {
		fill("walked", s ? sizes[s - 1] : 0, sizes[s]);
		for (size_t l = 0; l < 3; l++) {
			bool seen[400] = { false };
			int found = 0;
			cursor[0] = '\0';
			do {
				snprintf(target, sizeof(target), "/sets/walked/members?limit=%d%s%s", limits[l],
					 *cursor ? "&cursor=" : "", cursor);
				a = get(target);
				size_t n = json_array_size(json_at(a, "/items"));
				assert_true(n <= (size_t)limits[l]);
				for (size_t i = 0; i < n; i++) {
					int at = atoi(member_at(a, i) + 1);
					assert_false(seen[at]);
					seen[at] = true;
					found++;
				}
				const char *next = json_string_value(json_at(a, "/next_cursor"));
				snprintf(cursor, sizeof(cursor), "%s", next ? next : "");
			} while (*cursor);
			assert_int_equal(found, sizes[s]);
			assert_int_equal(int_at(get("/sets/walked"), "/size"), sizes[s]);
			client_forget(client);
		}
	}
	assert_int_equal(json_array_size(json_at(get("/sets/walked/members?match=m39*&limit=1000"), "/items")), 11);
	assert_problem(get("/sets/walked/members?cursor=x"), 400, "invalid_value", "none");
}

/* A member that stays is listed once, whatever members are added and removed between two pages. */
TEST(a_combination_is_walked_page_by_page)
{
	static const char target[] = "/sets/combine?union=left&union=right&limit=7";
	char next[128];
	bool seen[100] = { false };
	int found = 0, pages = 0;

	fill("left", 0, 60);
	fill("right", 40, 100);
	struct answer a = get(target);
	assert_int_equal(int_at(a, "/size"), 100);
	for (;;) {
		size_t n = json_array_size(json_at(a, "/items"));
		assert_in_range(n, 1, 7);
		for (size_t i = 0; i < n; i++) {
			const char *member = member_at(a, i);
			if (*member != 'm')
				continue;
			assert_false(seen[atoi(member + 1)]);
			seen[atoi(member + 1)] = true;
			found++;
		}
		const char *cursor = json_string_value(json_at(a, "/next_cursor"));
		if (!cursor)
			break;
		snprintf(next, sizeof(next), "%s&cursor=%s", target, cursor);
		for (int i = 0; i < 5; i++)
			server_command(&redis, "%s p:set:{right} other%d", pages % 2 ? "SREM" : "SADD", i);
		client_forget(client);
		assert_true(++pages < 50);
		a = get(next);
	}
	assert_int_equal(found, 100);
	assert_problem(get("/sets/combine?union=left&cursor=x"), 400, "invalid_value", "none");
	assert_int_equal(json_array_size(
				 json_at(get_all("/sets/combine?subtract=left&subtract=right&limit=1"), "/items")),
			 40);
}
