/*
 * A merge of boards in several slots of a Redis Cluster gives the same board as a merge in one
 * slot, including the order of ties.
 */
#include "../support/redis_cluster.h"
#include "../support/slot_names.h"
#include "../support/stage.h"
#include "test.h"

enum { MANY = 700 };

static char beside[3][16]; /* in the slot of `low` */

static void make(const char *board, const char *dimensions)
{
	char target[64], body[128];

	snprintf(target, sizeof(target), "/leaderboards/%s", board);
	snprintf(body, sizeof(body), "{\"dimensions\":[%s]}", dimensions);
	assert_in_range(http(client, "PUT", target, body).status, 200, 201);
}

static void put(const char *board, int member, int gold, int silver)
{
	char target[96], body[96];

	snprintf(target, sizeof(target), "/leaderboards/%s/members/m%d", board, member);
	snprintf(body, sizeof(body), "{\"scores\":{\"gold\":%d,\"silver\":%d}}", gold, silver);
	assert_in_range(http(client, "PUT", target, body).status, 200, 201);
}

/*
 * Fills `middle` and `high`, which are in different slots, and the same two boards again in the
 * slot of `low`. Many members have equal scores.
 */
static void fill(int count)
{
	const char *const boards[] = { middle, beside[0], high, beside[1] };

	for (int k = 0; k < 4; k++)
		make(boards[k], "\"gold\",\"silver\"");
	for (int i = 0; i < count; i++)
		for (int k = 0; k < 4; k++)
			put(boards[k], k < 2 ? i : i + count / 2, i % (k < 2 ? 7 : 5), i % (k < 2 ? 3 : 2));
}

static struct answer merge(const char *board, const char *first, const char *second, const char *rest,
			   const char *header)
{
	char target[64], body[256];

	snprintf(target, sizeof(target), "/leaderboards/%s/merge", board);
	snprintf(body, sizeof(body), "{\"sources\":[\"%s\",\"%s\"]%s}", first, second, rest);
	return http(client, "POST", target, body, header ? header : "X-None: 1");
}

static struct answer items_of(const char *board)
{
	char target[64];

	snprintf(target, sizeof(target), "/leaderboards/%s/members?limit=1000", board);
	return get(target);
}

TEST(a_merge_is_the_same_as_in_one_slot)
{
	static const char *const rests[] = { "", ",\"weights\":[2,3]", ",\"aggregate\":\"max\"",
					     ",\"aggregate\":\"min\",\"weights\":[1,2]",
					     ",\"members\":\"intersection\"" };

	fill(MANY);
	for (size_t i = 0; i < COUNT(rests); i++) {
		struct answer apart = merge(low, middle, high, rests[i], NULL);
		struct answer together = merge(beside[2], beside[0], beside[1], rests[i], NULL);
		assert_status(apart, 200);
		assert_status(together, 200);
		assert_string_equal(text_at(apart, "/name"), low);
		assert_int_equal(int_at(apart, "/size"), i == 4 ? MANY / 2 : MANY * 3 / 2);
		assert_true(json_equal(json_at(items_of(low), "/items"), json_at(items_of(beside[2]), "/items")));
	}
	/*
	 * One source shares the board's slot and one does not. The board itself is a source. One
	 * source is named twice.
	 */
	assert_status(merge(low, beside[0], high, "", NULL), 200);
	assert_status(merge(beside[2], beside[0], beside[1], "", NULL), 200);
	assert_true(json_equal(json_at(items_of(low), "/items"), json_at(items_of(beside[2]), "/items")));
	assert_status(merge(low, low, middle, "", NULL), 200);
	assert_status(merge(beside[2], beside[2], beside[0], "", NULL), 200);
	assert_true(json_equal(json_at(items_of(low), "/items"), json_at(items_of(beside[2]), "/items")));
	assert_status(merge(high, middle, middle, "", NULL), 200);
	assert_int_equal((int)json_array_size(json_at(items_of(high), "/items")), MANY);
}

TEST(what_does_not_fit_changes_nothing)
{
	fill(4);
	make(low, "\"gold\",\"silver\"");
	put(low, 99, 1, 1);
	struct answer a = merge(low, middle, "nothing", "", NULL);
	assert_problem(a, 404, "not_found", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "'nothing'"));
	make("points", "\"points\"");
	a = merge(low, middle, "points", "", NULL);
	assert_problem(a, 409, "leaderboard_dimensions_differ", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "'points' has the dimensions points, not gold, silver as"));
	make(beside[2], "\"points\"");
	assert_problem(merge(low, beside[2], "points", "", NULL), 409, "leaderboard_dimensions_differ", "none");
	put(high, 0, 2000000000, 1);
	a = merge(low, high, high, ",\"weights\":[4,4]", NULL);
	assert_problem(a, 409, "score_out_of_range", "none");
	assert_int_equal((int)json_array_size(json_at(items_of(low), "/items")), 1);
	assert_status(merge(beside[2], middle, high, "", NULL), 200); /* it has other dimensions, but no members */
	char key[64];
	snprintf(key, sizeof(key), "p:board:{%s}", beside[1]);
	server_command(&redis, "SET %s foreign", key);
	assert_problem(merge(low, middle, beside[1], "", NULL), 500, "foreign_key", "none");
	assert_int_equal((int)json_array_size(json_at(items_of(low), "/items")), 1);
}

TEST(a_record_needs_one_slot)
{
	fill(3);
	assert_problem(merge(low, middle, high, "", "Idempotency-Key: k"), 400, "idempotency_unavailable", "none");
	assert_problem(items_of(low), 404, "not_found", "none");
	for (int i = 0; i < 2; i++)
		assert_status(merge(low, beside[0], beside[1], "", "Idempotency-Key: k"), 200);
}

static int open_on_a_cluster(void **state)
{
	slots_on_a_cluster();
	for (int i = 0; i < 3; i++)
		snprintf(beside[i], sizeof(beside[i]), "%s", name_beside(low, i + 1));
	return stage_open(state);
}

SUITE(.open = open_on_a_cluster, .close = stage_close, .after = stage_forget);
