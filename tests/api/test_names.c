/*
 * The lists of names: a name is listed from its first key until it is gone, whatever made that key
 * and however many keys there are.
 */
#include "common/key_kinds.h"
#include "redis_as_one.h"
#include "stage.h"
#include "test.h"

/* Each way to make the first key of a name. */
static const struct way {
	const char *list, *kind, *method, *before, *behind, *body; /* the target is before, name, behind */
} ways[] = {
	{ "/locks", "lock", "POST", "/locks/", "", "{\"ttl_ms\":60000}" },
	{ "/locks", "lock", "POST", "/locks/", "", "{\"ttl_ms\":60000,\"mode\":\"shared\"}" },
	{ "/semaphores", "semaphore", "POST", "/semaphores/", "/permits", "{\"limit\":9,\"ttl_ms\":60000}" },
	{ "/queues", "queue", "POST", "/queues/", "/messages", "{\"body\":1}" },
	{ "/queues", "queue", "POST", "/queues/", "/messages", "{\"body\":1,\"id\":\"a\",\"delay_ms\":60000}" },
	{ "/queues", "queue", "PUT", "/queues/", "", "{}" },
	{ "/queues", "queue", "PUT", "/queues/", "/schedules/a", "{\"every_ms\":60000,\"body\":1}" },
	{ "/ratelimit/policies", "policy", "PUT", "/ratelimit/policies/", "", "{\"limit\":1,\"window_ms\":1000}" },
	{ "/sales", "sale", "PUT", "/sales/", "", "{\"stock\":1}" },
	{ "/leaderboards", "board", "PUT", "/leaderboards/", "", "{\"dimensions\":[\"points\"]}" },
	{ "/bloom", "bloom", "PUT", "/bloom/", "", "{\"capacity\":100,\"error_rate\":0.01}" },
	{ "/geo", "geo", "PUT", "/geo/", "", "{\"cells\":4}" },
	{ "/geo", "geo", "PUT", "/geo/", "/members/a", "{\"longitude\":1,\"latitude\":1}" },
	{ "/geo", "geo", "POST", "/geo/", "/members",
	  "{\"members\":[{\"member\":\"a\",\"longitude\":1,\"latitude\":1}]}" },
	{ "/counters", "counter", "POST", "/counters/", "/increment", "{\"counters\":{\"n\":1}}" },
	{ "/feeds", "feed", "POST", "/feeds/", "/items", "{\"items\":[1]}" },
	{ "/sets", "set", "PUT", "/sets/", "/members/a", NULL },
};
enum { WAYS = COUNT(ways) };

/* The name that way `i` makes: "n<i>". */
static const char *name_of(int i)
{
	static char name[24];

	snprintf(name, sizeof(name), "n%d", i);
	return name;
}

static void make(int i)
{
	char target[128];

	snprintf(target, sizeof(target), "%s%s%s", ways[i].before, name_of(i), ways[i].behind);
	struct answer a = http(client, ways[i].method, target, ways[i].body);
	if (a.status != 200 && a.status != 201)
		fail_msg("%s %s: %d %s", ways[i].method, target, a.status, a.body);
}

static bool is_listed(int i)
{
	struct answer a = get_all(ways[i].list);
	bool is = false;

	assert_status(a, 200);
	for (size_t k = 0; k < json_array_size(json_at(a, "/items")); k++) {
		const json_t *item = json_array_get(json_at(a, "/items"), k);
		is = is || strcmp(json_string_value(json_object_get(item, "name")), name_of(i)) == 0;
	}
	return is;
}

static void must_list(int i)
{
	if (!is_listed(i))
		fail_msg("%s %s%s%s is not listed", ways[i].method, ways[i].before, name_of(i), ways[i].behind);
}

static void lose(int i)
{
	server_command(&redis, "DEL p:%s:{%s}", ways[i].kind, name_of(i));
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

/* Visitors and views have keys by day, which no row can lose: tests/examples/visitors.txt. */
TEST(no_indexed_kind_is_forgotten)
{
	static const char *const kinds[] = { INDEXED_KINDS };

	for (size_t k = 0; k < COUNT(kinds); k++) {
		bool has_row = strcmp(kinds[k], KEY_UV) == 0 || strcmp(kinds[k], KEY_PV) == 0;
		for (int i = 0; i < WAYS; i++)
			has_row = has_row || strcmp(kinds[k], ways[i].kind) == 0;
		if (!has_row)
			fail_msg("the kind %s has no row here", kinds[k]);
	}
}

TEST(what_is_made_is_listed_until_it_is_gone)
{
	for (int i = 0; i < WAYS; i++) {
		assert_false(is_listed(i));
		make(i);
		must_list(i);
		lose(i);
		assert_false(is_listed(i));
		make(i);
		must_list(i);
		lose(i);
		make(i); /* no list has noticed yet that it was gone */
		must_list(i);
	}
}

/* A list reads its own keys only, and does not scan. */
TEST(other_keys_cost_nothing)
{
	for (int i = 0; i < 2000; i++)
		server_command(&redis, "SET p:idem:{%d} x", i);
	for (int i = 0; i < WAYS; i++)
		make(i);
	long long scans = server_calls(&redis, "scan");
	for (int i = 0; i < WAYS; i++)
		must_list(i);
	assert_int_equal(server_calls(&redis, "scan"), scans);
}

TEST(pages_are_whole)
{
	enum { NAMES = 40 };
	char target[160], cursor[80] = "", last[24] = "";
	int found = 0;

	for (int i = 0; i < NAMES; i++) {
		snprintf(target, sizeof(target), "/sets/n%02d/members/a", i);
		assert_status(http(client, "PUT", target, NULL), 201);
	}
	do {
		snprintf(target, sizeof(target), "/sets?limit=7%s%s", *cursor ? "&cursor=" : "", cursor);
		struct answer a = get(target);
		assert_status(a, 200);
		assert_true(bool_at(a, "/complete"));
		size_t n = json_array_size(json_at(a, "/items"));
		bool is_last = json_is_null(json_at(a, "/next_cursor"));
		assert_int_equal(n, is_last ? NAMES % 7 : 7);
		for (size_t i = 0; i < n; i++, found++) {
			const json_t *item = json_array_get(json_at(a, "/items"), i);
			const char *next = json_string_value(json_object_get(item, "name"));
			if (!tests_run_on_a_cluster()) /* on a Cluster, the order of slots comes first */
				assert_true(strcmp(last, next) < 0);
			snprintf(last, sizeof(last), "%s", next);
		}
		snprintf(cursor, sizeof(cursor), "%s", is_last ? "" : text_at(a, "/next_cursor"));
	} while (*cursor);
	assert_int_equal(found, NAMES);
	assert_int_equal(json_array_size(json_at(get_all("/sets?match=n1*"), "/items")), 10);
}

TEST(a_cursor_of_another_list_is_refused)
{
	static const char *const cursors[] = { "0", "x", "-1.", "16384.", "0.6", "0.zz", "0x0.", "1.61.61", " 0.", "" };
	char target[64];

	for (size_t i = 0; i < COUNT(cursors); i++) {
		snprintf(target, sizeof(target), "/sets?cursor=%s", cursors[i][0] == ' ' ? "%200." : cursors[i]);
		assert_status(get(target), 400);
	}
	assert_status(get("/sets?cursor=0.61"), 200);
	assert_status(get("/sets?cursor=16383.61"), 200);
}

/* Keys may come from a restore or from another build, without an entry in the index. */
TEST(a_rebuild_finds_what_exists)
{
	for (int i = 0; i < WAYS; i++)
		make(i);
	for (int i = 0; i < 1500; i++)
		server_command(&redis, "SET p:idem:{%d} x", i);
	server_command(&redis, "SADD p:set:{b}:part x");
	server_command(&redis, "SADD other:set:{b} x");
	const redisReply *indexes = server_command(&redis, "KEYS p:names:*");
	char keys[32][64];
	size_t count = indexes->elements;
	for (size_t i = 0; i < count; i++)
		snprintf(keys[i], sizeof(keys[i]), "%s", indexes->element[i]->str);
	for (size_t i = 0; i < count; i++)
		server_command(&redis, "DEL %s", keys[i]);
	for (int i = 0; i < WAYS; i++)
		assert_false(is_listed(i));
	struct answer a = post("/names/rebuild", NULL);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/added_count"), WAYS);
	assert_int_equal(int_at(a, "/name_count"), WAYS);
	for (int i = 0; i < WAYS; i++)
		must_list(i);
	assert_int_equal(int_at(post("/names/rebuild", NULL), "/added_count"), 0);
}
