/*
 * Merges of leaderboards over HTTP: a week is merged from its days. A merge happens all at once or
 * not at all, also for retries and for clients that read at the same time.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "raw.h"
#include "stage.h"
#include "test.h"

enum { MANY = 3000 };

static void make(const char *board, const char *dimensions)
{
	char target[64], body[128];

	snprintf(target, sizeof(target), "/leaderboards/%s", board);
	snprintf(body, sizeof(body), "{\"dimensions\":[%s]}", dimensions);
	assert_status(http(client, "PUT", target, body), 201);
}

static void put(const char *board, const char *member, int gold, int silver)
{
	char target[96], body[96];

	snprintf(target, sizeof(target), "/leaderboards/%s/members/%s", board, member);
	snprintf(body, sizeof(body), "{\"scores\":{\"gold\":%d,\"silver\":%d}}", gold, silver);
	assert_int_equal(http(client, "PUT", target, body).status / 100, 2);
}

/* `wanted` is "member gold silver, ...", from the first rank on. */
static void assert_board(const char *target, const char *wanted)
{
	struct answer a = get(target);
	char got[400] = "";
	const json_t *item;
	size_t i;

	assert_status(a, 200);
	json_array_foreach(json_at(a, "/items"), i, item) {
		const json_t *scores = json_object_get(item, "scores");
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s %lld %lld", i ? ", " : "",
			 json_string_value(json_object_get(item, "member")),
			 (long long)json_integer_value(json_object_get(scores, "gold")),
			 (long long)json_integer_value(json_object_get(scores, "silver")));
	}
	assert_string_equal(got, wanted);
}

#define WEEK "/leaderboards/week/merge"

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

/* Stores members m1, m2, ... of a board directly in Redis, since that would take long over HTTP. */
static void make_many(const char *board)
{
	static const char source[] =
		"for i = 1, ARGV[1] do "
		"  local name = 'm' .. string.format('%d', i) "
		"  local place = struct.pack('>I4I4I4I4', 4294967295 - i, 4294967295, 417000, i) "
		"  redis.call('HSET', KEYS[1], name, place) redis.call('ZADD', KEYS[2], 0, place .. name) "
		"end return 0";

	make(board, "\"gold\",\"silver\"");
	server_command(&redis, "EVAL %s 2 p:board:{%s}:places p:board:{%s}:ranks %d", source, board, board, MANY);
}

struct looker {
	pthread_t thread;
	atomic_bool done;
	atomic_uint old;
	unsigned all, other;
	long most_kib; /* the daemon's largest size */
};

static void *look_on(void *arg)
{
	struct looker *l = arg;
	struct client *own = client_open(patternd.port);

	while (!atomic_load(&l->done)) {
		struct answer a = http(own, "GET", "/leaderboards/week", NULL);
		int64_t size = json_integer_value(json_at(a, "/size"));
		l->old += size == 1;
		l->all += size == MANY;
		l->other += a.status != 200 || (size != 1 && size != MANY);
		long kib = daemon_resident_kib(&patternd);
		l->most_kib = kib > l->most_kib ? kib : l->most_kib;
		client_forget(own);
	}
	client_close(own);
	return NULL;
}

/*
 * The merge takes many steps. A reader sees the old members or the new members, never some of each.
 */
TEST(it_appears_at_once)
{
	struct looker looker = { .done = false };

	make_many("mon");
	make_many("tue");
	make("week", "\"gold\",\"silver\"");
	put("week", "old", 1, 1);
	server_command(&redis, "CONFIG RESETSTAT");
	assert_int_equal(pthread_create(&looker.thread, NULL, look_on, &looker), 0);
	wait_until(looker.old > 0, 5000);
	struct answer a = post(WEEK, "{\"sources\":[\"mon\",\"tue\"]}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), MANY);
	assert_int_equal(int_at(get("/leaderboards/week"), "/size"), MANY);
	atomic_store(&looker.done, true);
	pthread_join(looker.thread, NULL);
	assert_int_equal(looker.other, 0);
	assert_in_range(server_scripts_run(&redis), 3 * MANY / 200, 1000000);
	assert_board("/leaderboards/week/members?limit=2", "m3000 6000 0, m2999 5998 0");
}

/* A merge of thousands of steps needs no more memory than one step. */
TEST(it_takes_no_memory)
{
	enum { TIMES = 50, GROWTH_KIB = 1024 };
	struct looker looker = { .done = false };
	char body[16 + TIMES * 8] = "{\"sources\":[\"mon\"";

	make_many("mon");
	make("week", "\"gold\",\"silver\"");
	for (int i = 1; i < TIMES; i++)
		strcat(body, ",\"mon\"");
	strcat(body, "]}");
	get("/leaderboards/week");
	long before_kib = daemon_resident_kib(&patternd);
	assert_int_equal(pthread_create(&looker.thread, NULL, look_on, &looker), 0);
	assert_status(post(WEEK, body), 200);
	atomic_store(&looker.done, true);
	pthread_join(looker.thread, NULL);
	if (!daemon_is_sanitized())
		assert_in_range(looker.most_kib, 1, before_kib + GROWTH_KIB);
	assert_board("/leaderboards/week/members?limit=1", "m3000 150000 0");
}

/*
 * If the daemon is killed during a merge, the board stays as it was, and the unfinished copy
 * expires.
 */
TEST(a_daemon_that_dies_leaves_the_board_as_it_was)
{
	static const char rest[] = " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
				   "Content-Length: 61\r\n\r\n"
				   "{\"sources\":[\"mon\",\"mon\",\"mon\",\"mon\",\"mon\",\"mon\",\"mon\",\"mon\"]}";
	struct daemon other = { 0 };

	make_many("mon");
	make("week", "\"gold\",\"silver\"");
	put("week", "old", 1, 1);
	daemon_start(&other, "--redis", redis.url);
	struct raw *raw = raw_connect(other.port);
	raw_text(raw, "POST " WEEK);
	raw_text(raw, rest);
	wait_until(server_command(&redis, "KEYS p:board:{week}:merge:*")->elements > 0, 5000);
	daemon_kill(&other);
	raw_close(raw);
	const redisReply *left = server_command(&redis, "KEYS p:board:{week}:merge:*");
	assert_true(left->elements > 0);
	char key[128];
	snprintf(key, sizeof(key), "%s", left->element[0]->str);
	assert_in_range(server_command(&redis, "PTTL %s", key)->integer, 1, 60000);
	assert_board("/leaderboards/week/members", "old 1 1");
	assert_int_equal(json_array_size(json_at(get("/leaderboards"), "/items")), 2);
}
