/*
 * Visitors of pages in several slots of a Redis Cluster are counted and merged exactly as in one
 * slot, and no temporary key remains.
 */
#include "../support/pair.h"
#include "../support/redis_cluster.h"
#include "../support/slot_names.h"
#include "test.h"

#define FEB_29 "1078056000000"
#define MAR_1 "1078142400000"
#define RANGE "from=2004-02-28&to=2004-03-02"

enum { VISITORS = 900 };

static char beside[2][16]; /* in the slot of `low` */

/* Counts `count` visitors of a page, from number `from` on. */
static void visit(const char *page, int from, int count, const char *at_ms)
{
	static char body[32768];
	char target[64];
	int n = snprintf(body, sizeof(body), "{\"at_ms\":%s,\"visitors\":[", at_ms);

	for (int i = 0; i < count; i++)
		n += snprintf(body + n, sizeof(body) - (size_t)n, "%s\"v%d\"", i ? "," : "", from + i);
	snprintf(body + n, sizeof(body) - (size_t)n, "]}");
	snprintf(target, sizeof(target), "/uv/%s", page);
	assert_status(http(pair.c[0], "POST", target, body), 200);
}

/* Counts the same visitors on three pages in several slots and on three pages in one slot. */
static void visit_all(void)
{
	const char *const apart[] = { middle, high, low }, *const together[] = { beside[0], beside[1], "x" };

	for (int i = 0; i < 3; i++) {
		const char *const pages[] = { apart[i], i < 2 ? together[i] : name_beside(low, 3) };
		for (int k = 0; k < 2; k++) {
			visit(pages[k], i * 400, VISITORS, FEB_29);
			visit(pages[k], 5000 + i * 10, 30, MAR_1);
		}
	}
}

static struct answer count(const char *a, const char *b, const char *c)
{
	char target[256];

	snprintf(target, sizeof(target), "/uv/combine?name=%s&name=%s&name=%s&" RANGE, a, b, c);
	return http(pair.c[1], "GET", target, NULL);
}

static void must_have_no_scratch(void)
{
	redisReply *keys = server_command(&pair.redis, "KEYS *scratch*");

	assert_int_equal(keys->elements, 0);
}

TEST(a_union_is_the_same_as_in_one_slot)
{
	char pointer[32];

	visit_all();
	struct answer apart = count(middle, high, low), together = count(beside[0], beside[1], name_beside(low, 3));
	assert_status(apart, 200);
	assert_status(together, 200);
	assert_int_equal(int_at(apart, "/count"), int_at(together, "/count"));
	assert_in_range(int_at(apart, "/count"), 1600, 1900); /* 1700 and 50: a union, not a sum */
	assert_string_equal(text_at(apart, "/pages/0/name"), middle);
	for (int i = 0; i < 3; i++) {
		snprintf(pointer, sizeof(pointer), "/pages/%d/count", i);
		assert_int_equal(int_at(apart, pointer), int_at(together, pointer));
	}
	assert_string_equal(text_at(apart, "/from"), "2004-02-28");
	must_have_no_scratch();
}

TEST(pages_never_used_count_nothing)
{
	struct answer a = count(low, middle, high);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/count"), 0);
	char target[64];
	snprintf(target, sizeof(target), "/uv/combine?name=%s&name=%s", low, high); /* by the clocks of the slots */
	a = http(pair.c[0], "GET", target, NULL);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/count"), 0);
	must_have_no_scratch();
}

static struct answer merge(const char *page, const char *first, const char *second, const char *header)
{
	char target[64], body[256];

	snprintf(target, sizeof(target), "/uv/%s/merge", page);
	snprintf(body, sizeof(body), "{\"sources\":[\"%s\",\"%s\"],\"from\":\"2004-02-28\",\"to\":\"2004-03-02\"}",
		 first, second);
	return http(pair.c[0], "POST", target, body, header ? header : "X-None: 1");
}

static struct answer days_of(const char *page)
{
	char target[64];

	snprintf(target, sizeof(target), "/uv/%s?" RANGE, page);
	return http(pair.c[1], "GET", target, NULL);
}

TEST(a_merge_is_the_same_as_in_one_slot)
{
	visit_all();
	struct answer a = merge(low, middle, high, NULL), b = merge(name_beside(low, 3), beside[0], beside[1], NULL);
	assert_status(a, 200);
	assert_status(b, 200);
	assert_int_equal(int_at(a, "/merged_days"), 2);
	assert_string_equal(text_at(a, "/to"), "2004-03-02");
	struct answer apart = days_of(low), together = days_of(name_beside(low, 3));
	assert_true(json_equal(json_at(apart, "/days"), json_at(together, "/days")));
	assert_int_equal(int_at(apart, "/count"), int_at(together, "/count"));
	assert_in_range(int_at(apart, "/count"), 1600, 1900);
	assert_int_equal(int_at(days_of(middle), "/days/1/count"), int_at(days_of(beside[0]), "/days/1/count"));
	/* A merge writes no day without visitors. The other days expire as usual. */
	char key[64];
	snprintf(key, sizeof(key), "p:uv:{%s}:2004-02-28", low);
	assert_int_equal(server_command(&pair.redis, "EXISTS %s", key)->integer, 0);
	snprintf(key, sizeof(key), "p:uv:{%s}:2004-02-29", low);
	assert_true(server_command(&pair.redis, "TTL %s", key)->integer > 86400);
	must_have_no_scratch();
	assert_int_equal(int_at(merge(high, "none-a", "none-b", NULL), "/merged_days"), 0);
	/* A merge from other slots also adds to the total. */
	char target[64];
	snprintf(target, sizeof(target), "/uv/%s", low);
	assert_status(http(pair.c[0], "PATCH", target, "{\"keep_total\":true}"), 200);
	assert_status(merge(low, middle, high, NULL), 200);
	a = days_of(low);
	assert_int_equal(int_at(a, "/total_count"), int_at(a, "/count"));
}

TEST(a_record_needs_one_slot)
{
	visit(middle, 0, 3, FEB_29);
	assert_problem(merge(low, middle, high, "Idempotency-Key: k"), 400, "idempotency_unavailable", "none");
	assert_int_equal(int_at(days_of(low), "/count"), 0);
	visit(beside[0], 0, 3, FEB_29);
	for (int i = 0; i < 2; i++)
		assert_int_equal(int_at(merge(low, beside[0], beside[1], "Idempotency-Key: k"), "/merged_days"), 1);
}

TEST(what_is_not_a_sketch_changes_nothing)
{
	char key[64];

	visit(middle, 0, 3, FEB_29);
	snprintf(key, sizeof(key), "p:uv:{%s}:2004-03-01", high);
	server_command(&pair.redis, "SET %s foreign", key);
	struct answer a = count(low, middle, high);
	assert_problem(a, 500, "foreign_key", "none");
	assert_problem(merge(low, middle, high, NULL), 500, "foreign_key", NULL);
	assert_int_equal(int_at(days_of(low), "/count"), 0);
	server_command(&pair.redis, "DEL %s", key);
	snprintf(key, sizeof(key), "p:uv:{%s}:2004-03-01", low); /* in the target, behind a day that is merged first */
	server_command(&pair.redis, "RPUSH %s foreign", key);
	assert_problem(merge(low, middle, high, NULL), 500, "foreign_key", NULL);
	snprintf(key, sizeof(key), "p:uv:{%s}:2004-02-29", low);
	assert_int_equal(server_command(&pair.redis, "EXISTS %s", key)->integer, 0);
	must_have_no_scratch();
}

/* The most that one request may ask: 400 sketches, all of them dense. */
TEST(four_hundred_sketches)
{
	static char target[8192];
	char key[64];
	size_t n = (size_t)snprintf(target, sizeof(target), "/uv/combine?from=2004-02-01&to=2004-03-11");

	for (int i = 0; i < 10; i++) {
		for (int day = 0; day < 40; day++) {
			snprintf(key, sizeof(key), "p:uv:{page%d}:2004-%02d-%02d", i, 2 + day / 29, 1 + day % 29);
			server_command(&pair.redis, "PFADD %s v%d-%d", key, i, day / 4);
			server_command(&pair.redis, "PFDEBUG TODENSE %s", key);
		}
		n += (size_t)snprintf(target + n, sizeof(target) - n, "&name=page%d", i);
	}
	struct answer a = http(pair.c[0], "GET", target, NULL);
	assert_status(a, 200);
	assert_in_range(int_at(a, "/count"), 97, 103);
	assert_int_equal(int_at(a, "/pages/9/count"), 10);
	must_have_no_scratch();
}

static int open_on_a_cluster(void **state)
{
	slots_on_a_cluster();
	for (int i = 0; i < 2; i++)
		snprintf(beside[i], sizeof(beside[i]), "%s", name_beside(low, i + 1));
	return pair_open(state);
}

SUITE(.open = open_on_a_cluster, .close = pair_close, .after = pair_forget);
