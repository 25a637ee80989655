/*
 * What Redis may answer instead of a result: refusals before any command ran, replies of another
 * form, bytes that are not a reply. The proxy sends each row in place of the answer to a write and
 * to a read. The problem must have the right code and effect; a read never has an effect.
 * Afterwards everything works again.
 */
#include <signal.h>

#include "../support/raw.h"
#include "../support/waiter.h"
#include "test.h"
#include "through_proxy.h"

enum { RECOVER_MS = 8000, GROWTH_KIB = 32 * 1024 };

struct row {
	const char *name;
	struct proxy_bytes reply;
	int status;         /* 0: 500 or 504; -1: any answer */
	const char *code;   /* NULL: any code */
	const char *effect; /* of the write */
};

#define REPLY(text)                      \
	{                                \
		(text), sizeof(text) - 1 \
	}
#define SHA "0123456789012345678901234567890123456789"

static const struct row rows[] = {
	{ "LOADING", REPLY("-LOADING Redis is loading the dataset in memory\r\n"), 503, "redis_loading", "none" },
	{ "READONLY", REPLY("-READONLY You can't write against a read only replica.\r\n"), 503, "redis_read_only",
	  "none" },
	{ "READONLY of a script",
	  REPLY("-READONLY You can't write against a read only replica. script: " SHA ", on @user_script:1.\r\n"), 503,
	  "redis_read_only", "none" },
	{ "MASTERDOWN", REPLY("-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n"),
	  503, "redis_read_only", "none" },
	{ "CLUSTERDOWN", REPLY("-CLUSTERDOWN Hash slot not served\r\n"), 503, "redis_cluster_unsettled", "none" },
	{ "TRYAGAIN", REPLY("-TRYAGAIN Multiple keys request during rehashing of slot\r\n"), 503,
	  "redis_cluster_unsettled", "none" },
	{ "MOVED", REPLY("-MOVED 1234 127.0.0.1:1\r\n"), 503, "redis_cluster_unsettled", "none" },
	{ "ASK", REPLY("-ASK 1234 127.0.0.1:1\r\n"), 503, "redis_cluster_unsettled", "none" },
	{ "BUSY", REPLY("-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"),
	  503, "redis_busy", "none" },
	{ "MISCONF",
	  REPLY("-MISCONF Redis is configured to save RDB snapshots, but it's unable to persist to disk.\r\n"), 503,
	  "redis_misconfigured", "none" },
	{ "NOREPLICAS", REPLY("-NOREPLICAS Not enough good replicas to write.\r\n"), 503, "redis_replicas_missing",
	  "none" },
	{ "NOAUTH", REPLY("-NOAUTH Authentication required.\r\n"), 503, "redis_auth_failed", "none" },
	{ "WRONGPASS", REPLY("-WRONGPASS invalid username-password pair or user is disabled.\r\n"), 503,
	  "redis_auth_failed", "none" },
	{ "NOPERM", REPLY("-NOPERM this user has no permissions to run the 'evalsha' command\r\n"), 503,
	  "redis_permission_denied", "none" },
	/* A script of Redis 7.0 or 8 may have written before the refusal. */
	{ "NOPERM in a script of 7.0",
	  REPLY("-ERR The user executing the script can't run this command or subcommand script: " SHA
		", on @user_script:1.\r\n"),
	  503, "redis_permission_denied", "unknown" },
	{ "NOPERM in a script of 8",
	  REPLY("-ERR ACL failure in script: User team has no permissions to run the 'hset' command script: " SHA
		", on @user_script:1.\r\n"),
	  503, "redis_permission_denied", "unknown" },
	{ "DENIED", REPLY("-DENIED Redis is running in protected mode.\r\n"), 503, "redis_misconfigured", "none" },
	{ "max number of clients", REPLY("-ERR max number of clients reached\r\n"), 503, "redis_unavailable", "none" },
	{ "OOM", REPLY("-OOM command not allowed when used memory > 'maxmemory'.\r\n"), 503, "redis_out_of_memory",
	  "none" },
	{ "WRONGTYPE", REPLY("-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"), 500,
	  "foreign_key", "none" },
	{ "NOSCRIPT, always", REPLY("-NOSCRIPT No matching script. Please use EVAL.\r\n"), 0, NULL, NULL },
	{ "a defect of a script",
	  REPLY("-ERR user_script:9: attempt to index a nil value script: " SHA ", on @user_script:9.\r\n"), 500,
	  "internal_error", "unknown" },
	{ "a line that no script has", REPLY("-ERR user_script:4711x: script: " SHA "\r\n"), 500, "internal_error",
	  "unknown" },
	{ "an error without a code", REPLY("-ERR something that nobody knows\r\n"), 500, "redis_error", "unknown" },
	{ "an empty error", REPLY("-\r\n"), 500, "redis_error", "unknown" },
	{ "a status", REPLY("+OK\r\n"), 0, NULL, "unknown" },
	{ "an integer", REPLY(":1\r\n"), 0, NULL, "unknown" },
	{ "nil", REPLY("$-1\r\n"), 0, NULL, "unknown" },
	{ "a nil array", REPLY("*-1\r\n"), 0, NULL, "unknown" },
	{ "an empty array", REPLY("*0\r\n"), 0, NULL, "unknown" },
	{ "an array too short", REPLY("*1\r\n:1\r\n"), 0, NULL, "unknown" },
	{ "a clock before 1970", REPLY("*2\r\n:1\r\n:-9223372036854775807\r\n"), 500, "internal_error", "unknown" },
	{ "an array of text", REPLY("*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n"), -1, NULL, NULL },
	{ "an outcome that no handler knows", REPLY("*2\r\n:77\r\n:1795219450378\r\n"), -1, NULL, NULL },
	{ "holes", REPLY("*4\r\n:1\r\n:1795219450378\r\n$-1\r\n*-1\r\n"), -1, NULL, NULL },
	{ "23 two replies", REPLY("*2\r\n:0\r\n:1\r\n*2\r\n:0\r\n:1\r\n"), -1, NULL, NULL },
	{ "23 no reply at all", REPLY("HTTP/1.1 400 Bad Request\r\n\r\n"), 504, "no_answer", "unknown" },
	{ "23 NUL bytes", REPLY("\0\0\0\0\0\0\0\0"), 504, "no_answer", "unknown" },
	{ "23 a size that is no number", REPLY("$x\r\n"), 504, "no_answer", "unknown" },
	{ "23 a negative size", REPLY("$-5\r\n"), 504, "no_answer", "unknown" },
	{ "23 a negative count", REPLY("*-5\r\n"), 504, "no_answer", "unknown" },
	{ "23 a count of 2147483646", REPLY("*2147483646\r\n"), 504, "no_answer", "unknown" },
	{ "23 a count of 10^19", REPLY("*10000000000000000000\r\n"), 504, "no_answer", "unknown" },
	{ "23 a size of 1 GB", REPLY("$1073741824\r\n"), 504, "no_answer", "unknown" },
	{ "23 half a text", REPLY("$5\r\nabc"), 504, "no_answer", "unknown" },
	{ "23 text without its end", REPLY("$3\r\nabcdef\r\n"), 0, NULL, "unknown" },
	{ "23 an integer of 40 digits", REPLY(":1234567890123456789012345678901234567890\r\n"), 0, NULL, "unknown" },
	{ "23 a map of RESP3", REPLY("%1\r\n+a\r\n+b\r\n"), 0, NULL, "unknown" },
	{ "23 a push of RESP3", REPLY(">2\r\n+a\r\n+b\r\n"), 0, NULL, "unknown" },
	{ "23 a null of RESP3", REPLY("_\r\n"), 0, NULL, "unknown" },
	{ "23 a double of RESP3", REPLY(",1.5\r\n"), 0, NULL, "unknown" },
	{ "23 nesting 8 deep", REPLY("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"), 0, NULL, "unknown" },
};

/* A lost try may have left its lock behind. */
static bool works(void)
{
	server_command(&redis, "DEL p:lock:{after}");
	return http(client, "POST", "/locks/after", NULL).status == 201;
}

/* The daemon must answer. A row with a status below 0 accepts any answer. */
static void assert_refused(struct answer a, const struct row *row, const char *effect)
{
	if (row->status < 0) {
		assert_true(a.status >= 200);
		return;
	}
	int status = row->status ? row->status : a.status == 504 ? 504 : 500;
	assert_problem(a, status, row->code, effect);
}

static void test_row(void **state)
{
	const struct row *row = *state;
	long before_kib = daemon_resident_kib(&patternd);

	/* While Redis refuses by an earlier row, a probe each second completes what is cut. */
	if (row->code && strcmp(row->code, "no_answer") == 0)
		wait_until(metric_of(&patternd, "redis_refusing") == 0, RECOVER_MS);
	proxy_set(proxy, (struct proxy_fault){ .answer = row->reply });
	assert_refused(http(client, "POST", "/locks/written", "{\"owner\":\"o\"}"), row, row->effect);
	/*
	 * The first request may have cost a connection. The read uses a connection from before the
	 * fault.
	 */
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(works(), RECOVER_MS);
	proxy_set(proxy, (struct proxy_fault){ .answer = row->reply });
	assert_refused(http(client, "GET", "/locks/read", NULL), row, "none");
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(works(), RECOVER_MS);
	assert_true(daemon_is_alive(&patternd));
	if (!daemon_is_sanitized())
		assert_in_range(daemon_resident_kib(&patternd), 1, before_kib + GROWTH_KIB);
	client_forget(client);
}

TEST_ROWS(test_row, rows, name);

/* ---- The same errors from a real Redis ---- */

struct foreign {
	const char *command; /* writes a key of another type where the operation looks */
	const char *method, *target, *body;
};

static const struct foreign foreigners[] = {
	{ "RPUSH p:lock:{w} x", "POST", "/locks/w", NULL },
	{ "RPUSH p:lock:{w} x", "GET", "/locks/w", NULL },
	{ "RPUSH p:lock:{w} x", "DELETE", "/locks/w", NULL },
	{ "RPUSH p:queue:{w} x", "POST", "/queues/w/messages", "{\"body\":1}" },
	{ "RPUSH p:queue:{w} x", "POST", "/queues/w/receive", NULL },
	{ "RPUSH p:queue:{w} x", "GET", "/queues/w", NULL },
	{ "SET p:limit:{w}:@:sliding_window x", "POST", "/ratelimit",
	  "{\"key\":\"w\",\"algorithm\":\"sliding_window\",\"limit\":1,\"window_ms\":1000}" },
	{ "RPUSH p:limit:{w}:@:gcra x", "POST", "/ratelimit", "{\"key\":\"w\",\"limit\":1,\"window_ms\":1000}" },
	{ "RPUSH p:limit:{w}:@:fixed_window x", "POST", "/ratelimit",
	  "{\"key\":\"w\",\"algorithm\":\"fixed_window\",\"limit\":1,\"window_ms\":1000}" },
	{ "RPUSH p:limit:{w}:@:fixed_window x", "POST", "/ratelimit",
	  "{\"checks\":[{\"key\":\"v\",\"limit\":1,\"window_ms\":1000,\"name\":\"first\"},"
	  "{\"key\":\"w\",\"algorithm\":\"fixed_window\",\"limit\":1,\"window_ms\":1000}]}" },
	{ "RPUSH p:limit:{w}:@:gcra x", "POST", "/ratelimit/refund", "{\"key\":\"w\"}" },
	{ "RPUSH p:policy:{w} x", "PUT", "/ratelimit/policies/w", "{\"limit\":1,\"window_ms\":1000}" },
	{ "RPUSH p:policy:{w} x", "DELETE", "/ratelimit/policies/w", NULL },
	{ "RPUSH p:policy:{w} x", "GET", "/ratelimit/policies/w", NULL },
	{ "RPUSH p:policy:{w} x", "POST", "/ratelimit", "{\"key\":\"k\",\"policy\":\"w\"}" },
	{ "RPUSH p:policy:{w} x", "GET", "/ratelimit/authorize?policy=w&key=k", NULL },
	{ "RPUSH p:geo:{w} x", "PUT", "/geo/w/members/m", "{\"longitude\":1,\"latitude\":1}" },
	{ "RPUSH p:geo:{w} x", "POST", "/geo/w/lookup", "{\"members\":[\"m\"]}" },
	{ "RPUSH p:geo:{w} x", "GET", "/geo/nearby?name=w&longitude=1&latitude=1&radius=5", NULL },
	{ "RPUSH p:uv:{w}:2026-11-20 x", "POST", "/uv/w", "{\"visitors\":[\"u\"],\"at_ms\":1795132800000}" },
	{ "SET p:uv:{w}:2026-11-20 x", "POST", "/uv/w", "{\"visitors\":[\"u\"],\"at_ms\":1795132800000}" },
	{ "SET p:uv:{w}:2026-11-20 x", "GET", "/uv/w?from=2026-11-20&to=2026-11-20", NULL },
	{ "RPUSH p:board:{w} x", "PUT", "/leaderboards/w", "{\"dimensions\":[\"d\"]}" },
	{ "RPUSH p:board:{w} x", "GET", "/leaderboards/w", NULL },
	{ "RPUSH p:board:{w} x", "PATCH", "/leaderboards/w", "{}" },
	{ "RPUSH p:board:{w} x", "DELETE", "/leaderboards/w", NULL },
	{ "RPUSH p:board:{w} x", "GET", "/leaderboards/w/members", NULL },
	{ "RPUSH p:board:{w}:ranks x", "PUT", "/leaderboards/w", "{\"dimensions\":[\"d\"]}" },
	{ "RPUSH p:board:{w}:places x", "PUT", "/leaderboards/w", "{\"dimensions\":[\"d\"]}" },
	{ "RPUSH p:board:{w} x", "POST", "/leaderboards/w/members/m/increment", "{\"scores\":{\"d\":1}}" },
	{ "RPUSH p:board:{w} x", "DELETE", "/leaderboards/w/members/m", NULL },
	{ "RPUSH p:board:{w} x", "GET", "/leaderboards/w/count?min_score=1", NULL },
	{ "RPUSH p:board:{w} x", "POST", "/leaderboards/w/members", "{\"remove\":[\"m\"]}" },
	{ "RPUSH p:board:{w} x", "POST", "/leaderboards/w/lookup", "{\"members\":[\"m\"]}" },
	{ "RPUSH p:board:{w} x", "POST", "/leaderboards/v/merge", "{\"sources\":[\"w\"]}" },
	{ "RPUSH p:sale:{w} x", "PUT", "/sales/w", "{\"stock\":1}" },
	{ "RPUSH p:sale:{w}:holds x", "PUT", "/sales/w", "{\"stock\":1}" },
	{ "RPUSH p:sale:{w} x", "PATCH", "/sales/w", "{\"stock\":1}" },
	{ "RPUSH p:sale:{w} x", "GET", "/sales/w", NULL },
	{ "RPUSH p:sale:{w} x", "DELETE", "/sales/w", NULL },
	{ "RPUSH p:sale:{w}:claims x", "GET", "/sales/w/claims", NULL },
	{ "RPUSH p:sale:{w}:users x", "POST", "/sales/w/claims", "{\"user\":\"u\"}" },
	{ "RPUSH p:sale:{w} x", "POST", "/sales/w/claims/1.a/confirm", NULL },
	{ "RPUSH p:sale:{w} x", "DELETE", "/sales/w/claims/1.a", NULL },
	{ "RPUSH p:pv:{w}:2026-11-20 x", "POST", "/pv/w", "{\"at_ms\":1795132800000}" },
	{ "SET p:pv:{w}:2026-11-20 x", "POST", "/pv/w", "{\"at_ms\":1795132800000}" },
	{ "RPUSH p:counter:{w} x", "GET", "/counters/w/fields/n", NULL },
	{ "RPUSH p:counter:{w} x", "PUT", "/counters/w/fields/n", "{\"value\":1}" },
	{ "RPUSH p:counter:{w} x", "DELETE", "/counters/w/fields/n", NULL },
	{ "RPUSH p:bitmap:{w} x", "GET", "/bitmaps/w", NULL },
	{ "RPUSH p:bitmap:{w} x", "PUT", "/bitmaps/w", "{\"base64\":\"\"}" },
	{ "RPUSH p:bitmap:{w} x", "PATCH", "/bitmaps/w", "{\"ttl_ms\":1}" },
	{ "RPUSH p:bitmap:{w} x", "DELETE", "/bitmaps/w", NULL },
	{ "RPUSH p:bitmap:{w} x", "GET", "/bitmaps/w/bits/0", NULL },
	{ "RPUSH p:bitmap:{w} x", "PUT", "/bitmaps/w/bits/0", "{\"value\":1}" },
	{ "RPUSH p:bitmap:{w} x", "GET", "/bitmaps/w/count", NULL },
	{ "RPUSH p:bitmap:{w} x", "GET", "/bitmaps/w/position?bit=0", NULL },
	{ "RPUSH p:bitmap:{w} x", "POST", "/bitmaps/w/fields",
	  "{\"operations\":[{\"op\":\"set\",\"type\":\"u8\",\"offset\":0,\"value\":1}]}" },
	{ "RPUSH p:checkin:{w} x", "PUT", "/checkins/w/days/2026-11-20", NULL },
	{ "RPUSH p:checkin:{w} x", "DELETE", "/checkins/w/days/2026-11-20", NULL },
	{ "RPUSH p:checkin:{w} x", "GET", "/checkins/w", NULL },
};

TEST(test_foreign_keys)
{
	unsigned flaws = 0;

	for (size_t i = 0; i < COUNT(foreigners); i++) {
		const struct foreign *row = &foreigners[i];
		char command[128];
		snprintf(command, sizeof(command), "%s", row->command);
		server_command(&redis, "FLUSHALL");
		char *verb = strtok(command, " "), *key = strtok(NULL, " ");
		server_command(&redis, "%s %s x", verb, key);
		struct answer a = http(client, row->method, row->target, row->body, "Lock-Token: x");
		const char *flaw = problem_flaw(a, 500, "foreign_key", "none");
		/* Nothing is half done: Redis still has only that key. */
		if (!flaw && server_keys(&redis) != 1)
			flaw = "something was written";
		if (flaw) {
			print_error("%s, then %s %s: %s: ", row->command, row->method, row->target, flaw);
			answer_print(a);
			flaws++;
		}
	}
	server_command(&redis, "FLUSHALL");
	assert_int_equal(flaws, 0);
}

/*
 * If a reply has a message of a queue that was not requested, the daemon returns 500, not the
 * message.
 */
TEST(test_foreign_queue)
{
	static const char *const numbers[] = { "2", "-1", "9223372036854775807", "-9223372036854775808" };
	char reply[256];

	for (size_t i = 0; i < COUNT(numbers); i++) {
		int len = snprintf(
			reply, sizeof(reply),
			"*5\r\n:1\r\n:1795219450378\r\n:0\r\n:-1\r\n*5\r\n$16\r\n1795219450378000\r\n"
			"$18\r\n17952194503784\n\"b\"\r\n$32\r\n0123456789abcdef17952199999994-1\r\n:1795219999999\r\n:%s\r\n",
			numbers[i]);
		proxy_set(proxy, (struct proxy_fault){ .answer = { reply, (size_t)len } });
		struct answer a = http(client, "POST", "/queues/receive", "{\"queues\":[\"v\",\"w\"]}");
		assert_problem(a, 500, "internal_error", "unknown");
		proxy_set(proxy, (struct proxy_fault){ 0 });
		wait_until(works(), RECOVER_MS);
	}
}

TEST(test_out_of_memory)
{
	enum { BURST = 20 };
	struct raw *burst[BURST];
	struct answer a = http(client, "POST", "/locks/before", NULL);
	char token[128];

	assert_status(a, 201);
	server_command(&redis, "CONFIG SET maxmemory 1");
	nap_ms(1100); /* the daemon asks at most once per second */
	long long infos = server_calls(&redis, "info");
	for (int i = 0; i < BURST; i++)
		burst[i] = raw_connect(patternd.port);
	for (int i = 0; i < BURST; i++)
		assert_true(raw_text(burst[i],
				     "POST /locks/full HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"));
	for (int i = 0; i < BURST; i++) {
		assert_problem(raw_answer(burst[i], RECOVER_MS), 503, "redis_out_of_memory", "none");
		raw_close(burst[i]);
	}
	/*
	 * The daemon asks for the memory once, not per refusal, or not at all if it asked just
	 * before; the test asked once itself.
	 */
	assert_in_range(server_calls(&redis, "info") - infos, 1, 1 + 1 + 2);
	assert_problem(http(client, "POST", "/locks/full", NULL), 503, "redis_out_of_memory", "none");
	assert_problem(http(client, "POST", "/pv/full", NULL), 503, "redis_out_of_memory", "none");
	assert_status(http(client, "GET", "/locks/before", NULL), 200);
	/* Operations that only free memory still work. */
	snprintf(token, sizeof(token), "Lock-Token: %s", text_at(a, "/token"));
	assert_status(http(client, "DELETE", "/locks/before", NULL, token), 200);
	server_command(&redis, "CONFIG SET maxmemory 0");
	assert_status(http(client, "POST", "/locks/full", NULL), 201);
}

/* The daemon asks a nearly full Redis for its memory each second. If Redis hangs, it times out. */
TEST(test_nearly_full_and_hanging)
{
	enum { TIMEOUT_MS = 1500, EACH_MS = 300 };
	struct raw *asker[2 * TIMEOUT_MS / EACH_MS];
	struct daemon d = { 0 };

	server_nearly_fill(&redis);
	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "1500");
	nap_ms(1100); /* its next command comes with a question about the memory */
	server_signal(&redis, SIGSTOP);
	for (size_t i = 0; i < COUNT(asker); i++) {
		asker[i] = raw_connect(d.port);
		assert_true(raw_text(asker[i], "GET /locks/any HTTP/1.1\r\nHost: localhost\r\n\r\n"));
		nap_ms(EACH_MS);
	}
	assert_problem(raw_answer(asker[0], EACH_MS), 504, "no_answer", "none");
	server_signal(&redis, SIGCONT);
	for (size_t i = 0; i < COUNT(asker); i++)
		raw_close(asker[i]);
	daemon_stop(&d);
	server_make_room(&redis);
	wait_until(works(), RECOVER_MS);
}

TEST(test_replica)
{
	server_command(&redis, "REPLICAOF 127.0.0.1 1");
	assert_problem(http(client, "POST", "/locks/replica", NULL), 503, "redis_read_only", "none");
	assert_int_equal(server_command(&redis, "EXISTS p:lock:{replica}")->integer, 0);
	server_command(&redis, "REPLICAOF NO ONE");
	wait_until(works(), RECOVER_MS);
	server_command(&redis, "CONFIG SET replica-serve-stale-data no");
	server_command(&redis, "REPLICAOF 127.0.0.1 1");
	assert_problem(http(client, "POST", "/locks/replica", NULL), 503, "redis_read_only", "none");
	server_command(&redis, "REPLICAOF NO ONE");
	server_command(&redis, "CONFIG SET replica-serve-stale-data yes");
	wait_until(works(), RECOVER_MS);
}

/* A password that is set while the daemon is connected applies from the next connection on. */
TEST(test_password_changed)
{
	server_command(&redis, "CONFIG SET requirepass secret");
	proxy_set(proxy, (struct proxy_fault){ .reset = true });
	wait_until(http(client, "POST", "/locks/secret", NULL).status == 503, RECOVER_MS);
	struct proxy_counts before = proxy_count(proxy);
	struct answer a;
	wait_until((a = http(client, "GET", "/locks/secret", NULL),
		    strcmp(text_at(a, "/code"), "redis_auth_failed") == 0),
		   RECOVER_MS);
	assert_problem(a, 503, "redis_auth_failed", "none");
	assert_true(daemon_is_alive(&patternd));
	nap_ms(500); /* the daemon must pause between its attempts */
	assert_in_range(proxy_count(proxy).connections - before.connections, 0, 10);
	server_command(&redis, "CONFIG SET requirepass %s", "");
	wait_until(works(), 2 * RECOVER_MS);
}

TEST(test_no_permission)
{
	server_command(&redis, "ACL SETUSER default -evalsha -eval");
	struct answer a = http(client, "POST", "/locks/denied", NULL);
	server_command(&redis, "ACL SETUSER default +@all");
	assert_problem(a, 503, "redis_permission_denied", "none");
	wait_until(works(), 2 * RECOVER_MS);
	server_command(&redis, "ACL SETUSER default -hset"); /* by this command the script has written */
	a = http(client, "POST", "/locks/denied_inside", NULL);
	server_command(&redis, "ACL SETUSER default +@all");
	assert_problem(a, 503, "redis_permission_denied", "unknown");
	wait_until(works(), 2 * RECOVER_MS);
}

/* Removes what the test before left behind, whether it failed or not. */
static int heal(void **state)
{
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(works(), RECOVER_MS);
	return 0;
}

static int set_up(void **state)
{
	return start_through_proxy("150");
}

SUITE(.open = set_up, .close = stop_through_proxy, .before = heal);
