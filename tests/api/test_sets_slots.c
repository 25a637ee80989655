/* Sets in several slots of a Redis Cluster, combined and merged as in one slot. */
#include "../support/redis_cluster.h"
#include "../support/slot_names.h"
#include "../support/stage.h"
#include "test.h"

enum { MOST = 1000 };

static char beside[16]; /* in the slot of `high` */

static void fill(const char *set, const char *letters)
{
	char target[64];

	for (; *letters; letters++) {
		snprintf(target, sizeof(target), "/sets/%s/members/%c", set, *letters);
		assert_status(http(client, "PUT", target, NULL), 201);
	}
}

static void fill_many(const char *set, int count)
{
	for (int i = 0; i < count; i++)
		server_command(&redis, "SADD p:set:{%s} m%d", set, i);
}

static const char *member_at(struct answer a, size_t i)
{
	return json_string_value(json_object_get(json_array_get(json_at(a, "/items"), i), "member"));
}

/* True when the answer has exactly these members, one letter each, and none of them twice. */
static bool items_are(struct answer a, const char *letters)
{
	size_t n = json_array_size(json_at(a, "/items"));
	bool seen[128] = { false };

	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), n);
	for (size_t i = 0; i < n; i++) {
		const char *item = member_at(a, i);
		if (!strstr(letters, item) || seen[(int)item[0]])
			return false;
		seen[(int)item[0]] = true;
	}
	return n == strlen(letters);
}

/* `sets` has names, and ends with NULL. */
static struct answer combine(const char *way, const char *const sets[])
{
	char target[512] = "/sets/combine?limit=1000&";

	for (size_t n = strlen(target); *sets; sets++)
		n += (size_t)snprintf(target + n, sizeof(target) - n, "%s=%s&", way, *sets);
	target[strlen(target) - 1] = '\0';
	return get(target);
}

#define SETS(...) ((const char *const[]){ __VA_ARGS__, NULL })

TEST(combined_over_slots)
{
	fill(low, "abcdef");
	fill(middle, "cdefgh");
	fill(high, "dexyz");
	fill(beside, "efx");
	assert_true(items_are(combine("union", SETS(low, middle, high, beside)), "abcdefghxyz"));
	assert_true(items_are(combine("union", SETS(high, high, low)), "abcdefxyz"));
	assert_true(items_are(combine("intersect", SETS(low, middle, high, beside)), "e"));
	assert_true(items_are(combine("intersect", SETS(middle, low)), "cdef"));
	assert_true(items_are(combine("intersect", SETS(low, high)), "de"));
	assert_true(items_are(combine("subtract", SETS(low, middle)), "ab"));
	assert_true(items_are(combine("subtract", SETS(middle, low, high)), "gh"));
	assert_true(items_are(combine("subtract", SETS(high, low, beside, middle)), "yz"));
	assert_true(items_are(combine("subtract", SETS(beside, high, low)), ""));
}

/* Over several slots, too, each member is on one page. */
TEST(pages_have_each_member_once)
{
	char target[128], letter[2] = "";
	int seen[128] = { 0 };

	fill(low, "abcdef");
	fill(middle, "cdefgh");
	snprintf(target, sizeof(target), "/sets/combine?union=%s&union=%s&limit=3", low, middle);
	assert_int_equal(int_at(get(target), "/size"), 8);
	struct answer a = get_all(target);
	assert_int_equal(json_array_size(json_at(a, "/items")), 8);
	for (size_t i = 0; i < 8; i++) {
		snprintf(letter, sizeof(letter), "%s", member_at(a, i));
		assert_int_equal(seen[(int)letter[0]]++, 0);
	}
}

TEST(what_is_not_there_is_empty)
{
	fill(high, "abc");
	assert_true(items_are(combine("union", SETS(low, high)), "abc"));
	assert_true(items_are(combine("intersect", SETS(low, high)), ""));
	assert_true(items_are(combine("intersect", SETS(high, low, middle)), ""));
	assert_true(items_are(combine("subtract", SETS(high, low)), "abc"));
	assert_true(items_are(combine("subtract", SETS(low, high)), ""));
}

TEST(too_many_members_are_refused)
{
	fill_many(low, MOST + 1);
	fill_many(middle, 3);
	struct answer a = combine("union", SETS(middle, low));
	assert_problem(a, 409, "too_many_members", "none");
	assert_int_equal(int_at(a, "/members"), MOST + 4);
	assert_int_equal(int_at(a, "/limit"), MOST);
	assert_int_equal(int_at(combine("intersect", SETS(low, middle)), "/size"), 3);
	assert_int_equal(int_at(combine("subtract", SETS(middle, low)), "/size"), 0);
	assert_problem(combine("subtract", SETS(low, middle)), 409, "too_many_members", "none");
	fill_many(high, MOST + 1);
	assert_problem(combine("intersect", SETS(low, high)), 409, "too_many_members", "none");
	server_command(&redis, "SREM p:set:{%s} m0", low);
	assert_int_equal(int_at(combine("intersect", SETS(high, low)), "/size"), MOST);
	assert_int_equal(int_at(combine("subtract", SETS(low, middle)), "/size"), MOST - 2);
}

/* Merges into the set `low`. */
static struct answer merge(const char *way, const char *const sets[], const char *header)
{
	char target[64], body[512];
	size_t n = (size_t)snprintf(body, sizeof(body), "{\"%s\":[", way);

	for (size_t i = 0; sets[i]; i++)
		n += (size_t)snprintf(body + n, sizeof(body) - n, "%s\"%s\"", i ? "," : "", sets[i]);
	snprintf(body + n, sizeof(body) - n, "]}");
	snprintf(target, sizeof(target), "/sets/%s/merge", low);
	return http(client, "POST", target, body, header ? header : "X-None: 1");
}

static bool made(const char *way, const char *const sets[], const char *letters)
{
	assert_status(merge(way, sets, NULL), 200);
	return items_are(combine("union", SETS(low)), letters);
}

TEST(merged_over_slots)
{
	fill(low, "abcdef");
	fill(middle, "cdefgh");
	fill(high, "dexyz");
	fill(beside, "efx");
	assert_true(made("intersect", SETS(low, middle), "cdef"));
	assert_true(made("union", SETS(middle, high, beside, high), "cdefghxyz"));
	assert_true(made("subtract", SETS(middle, high), "cfgh"));
	assert_true(made("subtract", SETS(high, beside, middle), "yz"));
	assert_true(made("intersect", SETS(middle, high, beside), "e"));
	assert_true(made("union", SETS(low, beside), "efx"));
	assert_true(made("union", SETS("none"), ""));
	assert_true(made("intersect", SETS(middle, "none"), ""));
	assert_true(items_are(combine("union", SETS(middle)), "cdefgh"));
}

/* The sets have more members than a page, and one slot has more sets than a step asks. */
TEST(large_sets_are_merged_over_slots)
{
	char names[11][16];
	const char *sets[13] = { middle };

	fill_many(middle, 3000);
	for (int i = 0; i < 11; i++) {
		snprintf(names[i], sizeof(names[i]), "%s", name_beside(high, i + 1));
		fill_many(names[i], 2000 - i);
		sets[i + 1] = names[i];
	}
	struct answer a = merge("intersect", sets, NULL);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), 1990);
	assert_int_equal(int_at(merge("subtract", sets, NULL), "/size"), 1000);
	assert_int_equal(int_at(merge("union", sets, NULL), "/size"), 3000);
	assert_problem(merge("union", sets, "Idempotency-Key: one"), 400, "idempotency_unavailable", "none");
}

TEST(a_foreign_key_is_reported)
{
	static const char *const ways[] = { "union", "intersect", "subtract" };

	fill(low, "a");
	server_command(&redis, "SET p:set:{%s} foreign", high);
	for (int i = 0; i < 3; i++)
		assert_problem(combine(ways[i], SETS(low, high)), 500, "foreign_key", "none");
	for (int i = 0; i < 3; i++)
		assert_problem(merge(ways[i], SETS(middle, high), NULL), 500, "foreign_key", "none");
	assert_true(items_are(combine("union", SETS(low)), "a"));
}

static int open_on_a_cluster(void **state)
{
	slots_on_a_cluster();
	snprintf(beside, sizeof(beside), "%s", name_beside(high, 1));
	return stage_open(state);
}

SUITE(.open = open_on_a_cluster, .close = stage_close, .after = stage_forget);
