/*
 * A Redis that refuses calls is state: GET /overview, /metrics, /info and /readyz and the log state
 * the reason while it lasts, and nothing afterwards, also without a request that writes. The
 * errors come from a proxy, and from a real Redis where it can be brought to return them.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/waiter.h"
#include "test.h"
#include "through_proxy.h"

enum { SOON_MS = 8000, REQUESTS = 100, FEW = 3 };

/* ---- The five places ---- */

static const char *member(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text ? text : "";
}

/* Returns the first finding of that kind whose detail has `word`; NULL: none. */
static const json_t *finding(struct answer a, const char *kind, const char *word)
{
	const json_t *list = json_at(a, "/findings");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *f = json_array_get(list, i);
		if (strcmp(member(f, "kind"), kind) == 0 && strstr(member(f, "detail"), word))
			return f;
	}
	return NULL;
}

static int times_logged(const struct daemon *d, const char *event)
{
	char quoted[64];

	snprintf(quoted, sizeof(quoted), "\"event\":\"%s\"", event);
	return daemon_log_count(d, quoted);
}

/* Returns how many of the metrics state that Redis cannot be used as it should be. */
static long bad_metrics(const struct daemon *d)
{
	return (metric_of(d, "redis_refusing") > 0) + (metric_of(d, "redis_up") == 0) +
	       (metric_of(d, "redis_permissions_missing") > 0);
}

/* Returns the first place that does not state the reason; NULL: all do. */
static const char *silent_place(const struct daemon *d, struct client *c, const char *kind, const char *word)
{
	struct answer a = http(c, "GET", "/overview", NULL);

	if (!finding(a, kind, strcmp(kind, "memory_full") ? word : "Redis uses"))
		return "/overview";
	if (int_at(a, "/finding_count") != 1)
		return "/overview has another finding";
	if (bad_metrics(d) != 1)
		return "/metrics";
	const json_t *redis_member = json_at(http(c, "GET", "/info", NULL), "/redis");
	if (!strstr(member(redis_member, "error"), word))
		return "/info";
	a = http(c, "GET", "/readyz", NULL);
	return strstr(member(json_at(a, ""), a.status == 200 ? "redis_error" : "detail"), word) ? NULL : "/readyz";
}

/* Returns the first place that states a reason; NULL: none does. */
static const char *noisy_place(const struct daemon *d, struct client *c)
{
	struct answer a = http(c, "GET", "/overview", NULL);

	if (int_at(a, "/finding_count") != 0 || json_array_size(json_at(a, "/unknown")) != 0)
		return "/overview";
	if (bad_metrics(d) != 0)
		return "/metrics";
	if (!json_is_null(json_at(http(c, "GET", "/info", NULL), "/redis/error")))
		return "/info";
	a = http(c, "GET", "/readyz", NULL);
	if (a.status != 200 || *member(json_at(a, ""), "redis_error"))
		return "/readyz";
	if (times_logged(d, "redis_refuses") != times_logged(d, "redis_accepts"))
		return "the log";
	return NULL;
}

/* Waits for `place` to be NULL, and prints it if it does not become NULL. */
#define wait_for_places(place)                                            \
	do {                                                              \
		int64_t until_ms = monotonic_ms() + patience_ms(SOON_MS); \
		while ((place) && monotonic_ms() < until_ms)              \
			nap_ms(50);                                       \
		const char *wrong = (place);                              \
		if (wrong)                                                \
			fail_msg("%s", wrong);                            \
	} while (0)

static void request_often(struct client *c, int times)
{
	for (int i = 0; i < times; i++)
		assert_true(http(c, "POST", "/locks/refused", NULL).status >= 500);
}

/* ---- Each error, from a proxy ---- */

struct row {
	const char *name; /* a word of the reply, too */
	const char *reply;
	const char *kind; /* an error after which the daemon reconnects makes Redis away, as the handshake fails, too */
};

static const struct row rows[] = {
	{ "LOADING", "-LOADING Redis is loading the dataset in memory\r\n", "redis_refuses" },
	{ "READONLY", "-READONLY You can't write against a read only replica.\r\n", "redis_away" },
	{ "MASTERDOWN", "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
	  "redis_away" },
	{ "CLUSTERDOWN", "-CLUSTERDOWN Hash slot not served\r\n", "redis_refuses" },
	{ "TRYAGAIN", "-TRYAGAIN Multiple keys request during rehashing of slot\r\n", "redis_refuses" },
	{ "MOVED", "-MOVED 1234 127.0.0.1:1\r\n", "redis_away" },
	{ "ASK", "-ASK 1234 127.0.0.1:1\r\n", "redis_away" },
	{ "BUSY", "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n",
	  "redis_refuses" },
	{ "MISCONF",
	  "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands "
	  "that may modify the data set are disabled, because this instance is configured to report errors during "
	  "writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for "
	  "details about the RDB error.\r\n",
	  "redis_refuses" },
	{ "NOREPLICAS", "-NOREPLICAS Not enough good replicas to write.\r\n", "redis_refuses" },
	{ "NOAUTH", "-NOAUTH Authentication required.\r\n", "redis_away" },
	{ "WRONGPASS", "-WRONGPASS invalid username-password pair or user is disabled.\r\n", "redis_away" },
	{ "DENIED", "-DENIED Redis is running in protected mode.\r\n", "redis_away" },
	{ "max number of clients", "-ERR max number of clients reached\r\n", "redis_refuses" },
	{ "OOM", "-OOM command not allowed when used memory > 'maxmemory'.\r\n", "redis_refuses" },
};

static void test_row(void **state)
{
	const struct row *row = *state;
	int refusals = times_logged(&patternd, "redis_refuses");

	wait_for_places(noisy_place(&patternd, client));
	proxy_set(proxy, (struct proxy_fault){ .answer = { row->reply, strlen(row->reply) } });
	request_often(client, REQUESTS);
	wait_for_places(silent_place(&patternd, client, row->kind, row->name));
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_for_places(noisy_place(&patternd, client));
	assert_int_equal(times_logged(&patternd, "redis_refuses"), refusals + 1);
}

static int heal(void **state)
{
	proxy_set(proxy, (struct proxy_fault){ 0 });
	return 0;
}

static int set_up(void **state)
{
	return start_through_proxy("500");
}

SUITE(.open = set_up, .close = stop_through_proxy, .before = heal, .columns = 4);

TEST_ROWS(test_row, rows, name);

/* ---- A real Redis ---- */

struct cause {
	const char *name;
	const char *begins, *ends; /* commands */
	const char *kind, *word;
};

static const struct cause causes[] = {
	{ "too few replicas", "CONFIG SET min-replicas-to-write 5", "CONFIG SET min-replicas-to-write 0",
	  "redis_refuses", "NOREPLICAS" },
	{ "no memory", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "memory_full", "OOM" },
	{ "a replica", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "redis_away", "replica" },
	{ "a missing permission", "ACL SETUSER default -evalsha -eval", "ACL SETUSER default +@all",
	  "permissions_missing", "evalsha" },
};

static void test_cause(void **state)
{
	const struct cause *cause = *state;

	wait_for_places(noisy_place(&patternd, client));
	server_command(&redis, cause->begins);
	request_often(client, FEW);
	wait_for_places(silent_place(&patternd, client, cause->kind, cause->word));
	server_command(&redis, cause->ends);
	wait_for_places(noisy_place(&patternd, client));
	assert_status(http(client, "POST", "/locks/refused", NULL), 201);
	server_command(&redis, "FLUSHALL");
}

TEST_ROWS(test_cause, causes, name);

/* The reason has the server, Redis's text, the code, the instant, and where the remedy is. */
TEST(a_refusal_states_its_reason)
{
	char address[64], detail[256];

	wait_for_places(noisy_place(&patternd, client));
	int64_t began_ms = int_at(http(client, "GET", "/overview", NULL), "/at_ms");
	server_command(&redis, "CONFIG SET min-replicas-to-write 5");
	request_often(client, 1);
	struct answer a = http(client, "GET", "/overview", NULL);
	const json_t *f = finding(a, "redis_refuses", "");
	assert_non_null(f);
	snprintf(address, sizeof(address), "127.0.0.1:%d", proxy_port(proxy));
	snprintf(detail, sizeof(detail),
		 "Redis refuses calls: %s: NOREPLICAS Not enough good replicas to write; GET "
		 "/problems/redis_replicas_missing has the remedy",
		 address);
	assert_string_equal(member(f, "name"), address);
	assert_string_equal(member(f, "detail"), detail);
	assert_string_equal(member(f, "severity"), "error");
	int64_t since_ms = json_integer_value(json_object_get(f, "since_at_ms"));
	assert_in_range(since_ms, began_ms, int_at(a, "/at_ms"));
	a = http(client, "GET", "/info", NULL);
	assert_true(bool_at(a, "/redis/connected"));
	assert_string_equal(text_at(a, "/redis/nodes/0/refusal/code"), "redis_replicas_missing");
	assert_int_equal(int_at(a, "/redis/nodes/0/refusal/since_at_ms"), since_ms);
	server_command(&redis, "CONFIG SET min-replicas-to-write 0");
	wait_for_places(noisy_place(&patternd, client));
	assert_true(json_is_null(json_at(http(client, "GET", "/info", NULL), "/redis/nodes/0/refusal")));
}

static void save_fails(bool fails)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/dump.rdb", redis.dir);
	assert_int_equal(fails ? mkdir(path, 0700) : rmdir(path), 0); /* a folder has the name of the file */
	server_command(&redis, "BGSAVE");
	wait_until((strstr(server_command(&redis, "INFO persistence")->str, "rdb_last_bgsave_status:err") != NULL) ==
			   fails,
		   SOON_MS);
}

TEST(a_redis_that_cannot_save_refuses)
{
	wait_for_places(noisy_place(&patternd, client));
	server_command(&redis, "CONFIG SET save %s", "3600 1");
	save_fails(true);
	request_often(client, FEW);
	wait_for_places(silent_place(&patternd, client, "redis_refuses", "MISCONF"));
	assert_status(http(client, "GET", "/locks/read", NULL), 200); /* a read that succeeds changes nothing */
	wait_for_places(silent_place(&patternd, client, "redis_refuses", "MISCONF"));
	save_fails(false);
	wait_for_places(noisy_place(&patternd, client));
	server_command(&redis, "CONFIG SET save %s", "");
}

TEST(a_redis_that_runs_a_long_script_refuses)
{
	redisContext *other = redisConnect("127.0.0.1", redis.port);
	int done = 0;

	wait_for_places(noisy_place(&patternd, client));
	server_command(&redis, "CONFIG SET busy-reply-threshold 1");
	redisAppendCommand(other, "EVAL %s 0", "while true do end");
	while (!done)
		assert_int_equal(redisBufferWrite(other, &done), REDIS_OK);
	request_often(client, FEW);
	wait_for_places(silent_place(&patternd, client, "redis_refuses", "BUSY"));
	server_command(&redis, "SCRIPT KILL");
	redisFree(other);
	wait_for_places(noisy_place(&patternd, client));
	server_command(&redis, "CONFIG SET busy-reply-threshold 5000");
}

/* The daemon may not ask what its user lacks, so only a refused call shows it. */
TEST(a_permission_that_cannot_be_asked_about_refuses)
{
	struct daemon d = { 0 };
	char url[128];

	server_command(&redis, "ACL SETUSER mute on >secret ~* &* +@all -acl");
	snprintf(url, sizeof(url), "redis://mute:secret@127.0.0.1:%d/0", redis.port);
	daemon_start(&d, "--redis", url);
	struct client *c = client_open(d.port);
	server_command(&redis, "ACL SETUSER mute -evalsha -eval");
	request_often(c, FEW);
	wait_for_places(silent_place(&d, c, "redis_refuses", "NOPERM"));
	server_command(&redis, "ACL SETUSER mute +evalsha +eval");
	wait_for_places(noisy_place(&d, c));
	client_close(c);
	daemon_stop(&d);
}
