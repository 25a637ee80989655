/*
 * Writes of many members and merges of sets, over HTTP. The result has the same members as by
 * Redis's own commands, and appears all at once or not at all.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "many.h"
#include "raw.h"
#include "stage.h"
#include "test.h"

/* ---- Members ---- */

static void assert_written(const char *body, int added, int removed, int size)
{
	struct answer a = post("/sets/likers/members", body);

	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "likers");
	assert_int_equal(int_at(a, "/added_count"), added);
	assert_int_equal(int_at(a, "/removed_count"), removed);
	assert_int_equal(int_at(a, "/size"), size);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(many_members_are_written_in_one_step)
{
	assert_written("{\"add\":[\"ann\",\"bob\",\"ann\"]}", 2, 0, 2);
	assert_written("{\"add\":[\"ann\",\"eve\"],\"remove\":[\"bob\",\"zoe\"]}", 1, 1, 2);
	assert_written("{\"add\":[],\"remove\":[\"zoe\"]}", 0, 0, 2);
	assert_int_equal(json_array_size(json_at(get_all("/sets"), "/items")), 1);
	assert_status(http(client, "PATCH", "/sets/likers", "{\"ttl_ms\":600000}"), 200);
	int64_t at = int_at(get("/sets/likers"), "/expires_at_ms");
	assert_written("{\"add\":[\"cat\"],\"remove\":[\"ann\",\"eve\"]}", 1, 2, 1);
	assert_int_equal(int_at(get("/sets/likers"), "/expires_at_ms"), at);
	assert_written("{\"remove\":[\"cat\"]}", 0, 1, 0);
	assert_int_equal(server_keys(&redis), 0);
	assert_written(many("{\"add\":[", "\"m", 0, 1000, "\"", "]}"), 1000, 0, 1000);
}

static void assert_refused(const char *body, const char *code, const char *pointer)
{
	struct answer a = post("/sets/likers/members", body);

	assert_problem(a, 400, code, "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), pointer);
}

TEST(a_write_that_makes_no_sense_is_refused)
{
	assert_refused("{}", "out_of_range", "/add");
	assert_refused("{\"add\":[],\"remove\":[]}", "out_of_range", "/add");
	assert_refused("{\"add\":[\"ann\",\"bob\"],\"remove\":[\"eve\",\"bob\"]}", "invalid_value", "/remove/1");
	assert_refused(many("{\"remove\":[\"a\"],\"add\":[", "\"m", 0, 1000, "\"", "]}"), "out_of_range", "/add");
	assert_refused(many("{\"add\":[", "\"m", 0, 1001, "\"", "]}"), "out_of_range", "/add");
	assert_refused("{\"add\":[\"\"]}", "invalid_name", "/add/0");
	assert_int_equal(server_keys(&redis), 0);
}

TEST(a_retried_write_gets_the_first_answer)
{
	for (int i = 0; i < 2; i++) {
		struct answer a =
			http(client, "POST", "/sets/likers/members", "{\"add\":[\"ann\"]}", "Idempotency-Key: one");
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/added_count"), 1);
		assert_written("{\"remove\":[\"ann\"]}", 0, i == 0, 0);
	}
}

TEST(many_members_are_looked_up)
{
	struct answer a = post("/sets/likers/lookup", "{\"members\":[\"ann\"]}");
	assert_status(a, 200);
	assert_true(json_is_false(json_at(a, "/exists/0")));
	assert_written("{\"add\":[\"ann\",\"bob\"]}", 2, 0, 2);
	a = post("/sets/likers/lookup", "{\"members\":[\"bob\",\"zoe\",\"ann\",\"bob\"]}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "likers");
	/* Redis's own command has the same result. */
	redisReply *reply = server_command(&redis, "SMISMEMBER p:set:{likers} bob zoe ann bob");
	assert_int_equal(json_array_size(json_at(a, "/exists")), 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(json_is_true(json_array_get(json_at(a, "/exists"), i)),
				 reply->element[i]->integer == 1);
	assert_int_equal(json_array_size(json_at(post("/sets/likers/lookup",
						      many("{\"members\":[", "\"m", 0, 1000, "\"", "]}")),
						 "/exists")),
			 1000);
	assert_problem(post("/sets/likers/lookup", "{\"members\":[]}"), 400, "out_of_range", "none");
	server_command(&redis, "SET p:set:{foreign} x");
	assert_problem(post("/sets/foreign/lookup", "{\"members\":[\"a\"]}"), 500, "foreign_key", "none");
	assert_problem(post("/sets/foreign/members", "{\"add\":[\"a\"]}"), 500, "foreign_key", "none");
}

/* ---- Merges ---- */

enum { SETS = 12, MEMBERS = 1500 };

static uint32_t seed = 1;
static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

/* Fills set s<n> and a copy of it. All copies are in one slot, since Redis's commands need that. */
static void fill(int n, uint32_t members, uint32_t below, const char *lead)
{
	char member[64];

	for (uint32_t i = 0; i < members; i++) {
		snprintf(member, sizeof(member), "%s%u", lead, next_random(below));
		server_command(&redis, "SADD p:set:{s%d} %s", n, member);
		server_command(&redis, "SADD {copies}%d %s", n, member);
	}
}

/*
 * Fills large and small sets, in each encoding in which Redis stores a set, and leaves one set
 * empty.
 */
static void fill_all(void)
{
	fill(0, MEMBERS, 2 * MEMBERS, "");
	fill(1, MEMBERS, 2 * MEMBERS, "");
	fill(2, 400, 2 * MEMBERS, ""); /* integers */
	fill(3, 100, 2 * MEMBERS, "");
	fill(4, 100, 300, "m"); /* one piece of memory */
	fill(5, MEMBERS, 3 * MEMBERS, "m");
	for (int n = 6; n < SETS - 1; n++)
		fill(n, MEMBERS, MEMBERS, "");
}

static bool has_all(const redisReply *wanted, const char *target)
{
	struct answer a = get_all(target);
	size_t count = json_array_size(json_at(a, "/items"));
	json_t *there = json_object();
	bool same = count == wanted->elements;

	for (size_t i = 0; i < count; i++) {
		const json_t *item = json_array_get(json_at(a, "/items"), i);
		json_object_set_new(there, json_string_value(json_object_get(item, "member")), json_true());
	}
	for (size_t i = 0; i < wanted->elements && same; i++)
		same = json_object_get(there, wanted->element[i]->str) != NULL;
	json_decref(there);
	return same;
}

/* `sets` has the numbers of the sets, and ends with -1. */
static void assert_as_redis(const char *way, const char *command, const int *sets)
{
	char body[256], asked[256];
	size_t n = (size_t)snprintf(body, sizeof(body), "{\"%s\":[", way);
	size_t m = (size_t)snprintf(asked, sizeof(asked), "%s", command);

	for (size_t i = 0; sets[i] >= 0; i++) {
		n += (size_t)snprintf(body + n, sizeof(body) - n, "%s\"s%d\"", i ? "," : "", sets[i]);
		m += (size_t)snprintf(asked + m, sizeof(asked) - m, " {copies}%d", sets[i]);
	}
	snprintf(body + n, sizeof(body) - n, "]}");
	struct answer a = post("/sets/made/merge", body);
	assert_status(a, 200);
	redisReply *wanted = server_command(&redis, asked);
	assert_int_equal(int_at(a, "/size"), wanted->elements);
	if (!has_all(wanted, "/sets/made/members?limit=1000"))
		fail_msg("%s differs from %s", body, asked);
	client_forget(client);
}

TEST(merges_are_as_redis_has_them)
{
	static const int choices[][SETS + 2] = {
		{ 0, -1 },
		{ 0, 1, -1 },
		{ 1, 0, 2, -1 },
		{ 2, 3, 0, -1 },
		{ 3, 4, 5, -1 },
		{ 5, 4, -1 },
		{ 11, 0, -1 }, /* 11 is empty */
		{ 0, 11, -1 },
		{ 0, 0, -1 },
		{ 4, 4, 3, -1 },
		{ 0, 1, 6, 7, 8, 9, 10, -1 },
		{ 7, 6, 0, 8, 9, 10, 1, 2, 3, 4, 5, 11, -1 },
		{ 1, 6, 7, 8, 9, 10, 6, 7, 8, 9, 10, 6, -1 },
	};

	fill_all();
	for (size_t i = 0; i < COUNT(choices); i++) {
		assert_as_redis("union", "SUNION", choices[i]);
		assert_as_redis("intersect", "SINTER", choices[i]);
		assert_as_redis("subtract", "SDIFF", choices[i]);
	}
	assert_int_equal(server_command(&redis, "EXISTS p:set:{made}")->integer,
			 server_command(&redis, "SCARD p:set:{made}")->integer > 0);
}

static void put(const char *set, const char *letters)
{
	char target[64];

	for (; *letters; letters++) {
		snprintf(target, sizeof(target), "/sets/%s/members/%c", set, *letters);
		assert_int_equal(http(client, "PUT", target, NULL).status / 100, 2);
	}
}

TEST(a_set_can_be_merged_into_itself)
{
	put("week", "ab");
	put("mon", "bc");
	assert_status(http(client, "PATCH", "/sets/week", "{\"ttl_ms\":600000}"), 200);
	int64_t at = int_at(get("/sets/week"), "/expires_at_ms");
	struct answer a = post("/sets/week/merge", "{\"union\":[\"week\",\"mon\"]}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "week");
	assert_int_equal(int_at(a, "/size"), 3);
	assert_int_equal(int_at(a, "/expires_at_ms"), at); /* which SUNIONSTORE would drop */
	assert_int_equal(int_at(get("/sets/week"), "/expires_at_ms"), at);
	assert_int_equal(int_at(post("/sets/week/merge", "{\"subtract\":[\"week\",\"mon\"]}"), "/size"), 1);
	assert_int_equal(int_at(get("/sets/week"), "/expires_at_ms"), at);
	/* A set without members is gone, and its expiry with it. */
	a = post("/sets/week/merge", "{\"intersect\":[\"week\",\"mon\"]}");
	assert_int_equal(int_at(a, "/size"), 0);
	assert_true(json_is_null(json_at(a, "/expires_at_ms")));
	assert_int_equal(json_array_size(json_at(get_all("/sets"), "/items")), 1);
	assert_true(json_is_null(json_at(post("/sets/week/merge", "{\"union\":[\"mon\"]}"), "/expires_at_ms")));
	assert_int_equal(json_array_size(json_at(get_all("/sets"), "/items")), 2);
	assert_int_equal(server_keys(&redis), 2); /* nothing remains of what was built */
}

TEST(one_way_to_merge_is_needed)
{
	put("mon", "ab");
	put("week", "z");
	struct answer a = post("/sets/week/merge", "{}");
	assert_problem(a, 400, "missing_field", "none");
	assert_problem(post("/sets/week/merge", "{\"union\":[\"mon\"],\"intersect\":[\"mon\"]}"), 400, "invalid_value",
		       "none");
	assert_problem(post("/sets/week/merge", "{\"subtract\":[\"mon\"],\"union\":[\"mon\"]}"), 400, "invalid_value",
		       "none");
	assert_problem(post("/sets/week/merge", "{\"union\":[]}"), 400, "out_of_range", "none");
	assert_problem(post("/sets/week/merge", "{\"union\":[\"combine\"]}"), 400, "reserved_name", "none");
	assert_problem(post("/sets/week/merge", many("{\"union\":[", "\"m", 0, 101, "\"", "]}")), 400, "out_of_range",
		       "none");
	server_command(&redis, "SET p:set:{foreign} x");
	assert_problem(post("/sets/week/merge", "{\"union\":[\"mon\",\"foreign\"]}"), 500, "foreign_key", "none");
	assert_problem(post("/sets/foreign/merge", "{\"union\":[\"mon\"]}"), 500, "foreign_key", "none");
	assert_int_equal(int_at(get("/sets/week"), "/size"), 1);
	assert_status(post("/sets/week/merge", many("{\"union\":[", "\"m", 0, 100, "\"", "]}")), 200);
	assert_int_equal(server_keys(&redis), 2);
}

TEST(a_retried_merge_gets_the_first_answer)
{
	if (redis.cluster)
		skip(); /* over several slots nothing is recorded: test_sets_slots.c */
	put("mon", "ab");
	for (int i = 0; i < 2; i++) {
		struct answer a =
			http(client, "POST", "/sets/week/merge", "{\"union\":[\"mon\"]}", "Idempotency-Key: one");
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/size"), 2);
		put("mon", "cd");
	}
	assert_int_equal(int_at(get("/sets/week"), "/size"), 2);
	assert_problem(http(client, "POST", "/sets/week/merge", "{\"intersect\":[\"mon\"]}", "Idempotency-Key: one"),
		       422, "idempotency_key_reused", "none");
}

static void make_large(const char *set, int members)
{
	server_command(&redis, "EVAL %s 1 p:set:{%s} %d",
		       "for i = 1, ARGV[1] do redis.call('SADD', KEYS[1], 'member-' .. i) end", set, members);
}

struct looker {
	pthread_t thread;
	atomic_bool done;
	atomic_uint old;
	unsigned other;
};

static void *look_on(void *arg)
{
	struct looker *l = arg;
	struct client *own = client_open(patternd.port);

	while (!atomic_load(&l->done)) {
		int64_t size = json_integer_value(json_at(http(own, "GET", "/sets/week", NULL), "/size"));
		l->old += size == 1;
		l->other += size != 1 && size != 20000;
		client_forget(own);
	}
	client_close(own);
	return NULL;
}

/* The merge takes many steps; a reader sees the old members or the new ones, never some of each. */
TEST(it_appears_at_once)
{
	struct looker looker = { .done = false };

	make_large("mon", 20000);
	make_large("tue", 15000);
	put("week", "z");
	server_command(&redis, "CONFIG RESETSTAT");
	assert_int_equal(pthread_create(&looker.thread, NULL, look_on, &looker), 0);
	wait_until(looker.old > 0, 5000);
	struct answer a = post("/sets/week/merge", "{\"union\":[\"mon\",\"tue\"]}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), 20000);
	assert_int_equal(int_at(get("/sets/week"), "/size"), 20000);
	atomic_store(&looker.done, true);
	pthread_join(looker.thread, NULL);
	assert_int_equal(looker.other, 0);
	assert_in_range(server_scripts_run(&redis), 2 * 35000 / 600, 1000000);
}

/* Begins a merge that names a large set many times, so that it lasts until something ends it. */
static struct raw *begin_long_merge(int port)
{
	char text[4096];
	const char *body = many("{\"union\":[", "\"mon\",\"x", 0, 50, "\"", "]}");

	snprintf(text, sizeof(text),
		 "POST /sets/week/merge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		 "Content-Length: %zu\r\n\r\n%s",
		 strlen(body), body);
	struct raw *raw = raw_connect(port);
	raw_text(raw, text);
	wait_until(server_command(&redis, "KEYS p:set:{week}:merge:*")->elements > 0, 5000);
	return raw;
}

static void built_key(char key[128])
{
	const redisReply *keys = server_command(&redis, "KEYS p:set:{week}:merge:*");

	assert_int_equal(keys->elements, 1);
	snprintf(key, 128, "%s", keys->element[0]->str);
}

TEST(a_client_that_leaves_ends_it)
{
	make_large("mon", 20000);
	put("week", "z");
	raw_close(begin_long_merge(patternd.port));
	wait_until(server_command(&redis, "KEYS p:set:{week}:merge:*")->elements == 0, 5000);
	assert_int_equal(int_at(get("/sets/week"), "/size"), 1);
}

/*
 * When the daemon dies during the merge, the set stays as it is, and the unfinished result expires.
 */
TEST(a_daemon_that_dies_leaves_the_set_as_it_was)
{
	struct daemon other = { 0 };
	char key[128];

	make_large("mon", 20000);
	put("week", "z");
	daemon_start(&other, "--redis", redis.url);
	struct raw *raw = begin_long_merge(other.port);
	daemon_kill(&other);
	raw_close(raw);
	built_key(key);
	assert_in_range(server_command(&redis, "PTTL %s", key)->integer, 1, 60000);
	assert_int_equal(int_at(get("/sets/week"), "/size"), 1);
}

/* The unfinished result may be lost, because Redis restarts empty or a person deletes the key. */
TEST(lost_work_changes_nothing)
{
	char key[128];

	make_large("mon", 20000);
	put("week", "z");
	struct raw *raw = begin_long_merge(patternd.port);
	built_key(key);
	server_command(&redis, "DEL %s", key);
	assert_problem(raw_answer(raw, 10000), 503, "contention", "none");
	raw_close(raw);
	assert_int_equal(int_at(get("/sets/week"), "/size"), 1);
}
