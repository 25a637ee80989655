/* Geo sets over HTTP: a walk over all members. */
#include <math.h>

#include "stage.h"
#include "test.h"

enum { SET_MAX = 400 };

static void assert_near(double got, double wanted, double by)
{
	if (fabs(got - wanted) > by)
		fail_msg("%.17g is not %.17g", got, wanted);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

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
