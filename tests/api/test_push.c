/*
 * GET /push lists the targets of --push in the order of the file, with the reason why each backs
 * off and how its requests ended. (What programs receive, and what their answers do: tests/push.)
 */
#include <sys/stat.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/redis_server.h"
#include "test.h"

enum { SOON_MS = 8000 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

/* Nothing listens on port 1. */
#define AWAY "\"url\":\"http://127.0.0.1:1/jobs\""

static void start(const char *targets)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/push.json", temp_dir());
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(targets, f);
	assert_int_equal(fclose(f), 0);
	daemon_start(&patternd, "--redis", redis.url, "--push", path);
	client = client_open(patternd.port);
}

static int stop(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	server_command(&redis, "FLUSHALL");
	return 0;
}

static struct answer list(const char *query)
{
	char target[128];

	snprintf(target, sizeof(target), "/push%s", query);
	return http(client, "GET", target, NULL);
}

static bool is_reason(size_t i, const char *reason)
{
	char at[64];

	client_forget(client);
	snprintf(at, sizeof(at), "/items/%zu/reason", i);
	struct answer a = list("");
	return json_is_string(json_at(a, at)) && strcmp(text_at(a, at), reason) == 0;
}

TEST(an_idle_target_is_on)
{
	start("{\"b\":{" AWAY ",\"concurrency\":3,\"timeout_ms\":500},"
	      "\"a\":{\"url\":\"http://localhost/\",\"unix_socket\":\"/run/x\"}}");
	struct answer a = list("");
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/items")), 2);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	assert_int_equal(int_at(a, "/open"), 0);
	assert_string_equal(text_at(a, "/items/0/name"), "b");
	assert_string_equal(text_at(a, "/items/0/url"), "http://127.0.0.1:1/jobs");
	assert_true(json_is_null(json_at(a, "/items/0/unix_socket")));
	assert_int_equal(int_at(a, "/items/0/concurrency"), 3);
	assert_int_equal(int_at(a, "/items/0/timeout_ms"), 500);
	assert_int_equal(int_at(a, "/items/0/allowed"), 1);
	assert_int_equal(int_at(a, "/items/0/open"), 0);
	assert_true(json_is_null(json_at(a, "/items/0/last_failure")));
	assert_string_equal(text_at(a, "/items/1/name"), "a");
	assert_string_equal(text_at(a, "/items/1/unix_socket"), "/run/x");
	assert_int_equal(int_at(a, "/items/1/concurrency"), 10);
	assert_int_equal(int_at(a, "/items/1/timeout_ms"), 30000);
	/*
	 * A target begins before there is a connection to Redis; its reason is null once a receive
	 * waits.
	 */
	wait_until(json_is_null(json_at(list(""), "/items/0/reason")), SOON_MS);
	assert_string_equal(text_at(list(""), "/items/0/state"), "on");
	a = http(client, "GET", "/info", NULL);
	assert_non_null(strstr(text_at(a, "/libraries/libcurl"), "libcurl/"));
}

TEST(one_that_is_away_backs_off)
{
	start("{\"q\":{" AWAY "},\"p\":{" AWAY ",\"ready_path\":\"/ready\"}}");
	assert_status(http(client, "POST", "/queues/q/messages", "{\"body\":1,\"id\":\"m\"}"), 201);
	wait_until(is_reason(0, "not_reached") && is_reason(1, "not_ready"), SOON_MS);
	struct answer a = list("");
	assert_true(int_at(a, "/items/0/counts/unreached") >= 1);
	assert_int_equal(int_at(a, "/items/0/counts/failed"), 0);
	assert_int_equal(int_at(a, "/items/0/allowed"), 1);
	/*
	 * libcurl writes "Couldn't connect to server", and later versions "Could not connect to
	 * server".
	 */
	assert_non_null(strstr(text_at(a, "/items/0/last_failure/detail"), " connect to server"));
	assert_true(int_at(a, "/items/0/last_failure/at_ms") > 1500000000000);
	assert_int_equal(int_at(a, "/items/1/counts/unreached"), 0);
	/* A delivery whose request did not reach the program does not count. */
	a = http(client, "GET", "/queues/q/messages/m", NULL);
	assert_in_range(int_at(a, "/receives"), 0, 1);
	wait_until(strcmp(text_at(list(""), "/items/0/state"), "backing_off") == 0, SOON_MS);
	a = list("");
	if (strcmp(text_at(a, "/items/0/state"), "backing_off") == 0)
		assert_true(int_at(a, "/items/0/until_ms") > int_at(a, "/items/0/last_failure/at_ms"));
}

TEST(pages_are_in_the_order_of_the_file)
{
	char all[64] = "", query[96] = "?limit=2", targets[1024] = "{";

	for (const char *name = "gfedcba"; *name; name++)
		snprintf(targets + strlen(targets), 64, "%s\"%c\":{" AWAY "}", *name == 'g' ? "" : ",", *name);
	start(strcat(targets, "}"));
	while (*query) {
		struct answer a = list(query);
		assert_status(a, 200);
		for (size_t i = 0; i < json_array_size(json_at(a, "/items")); i++)
			strcat(all, text_at(a, i ? "/items/1/name" : "/items/0/name"));
		bool more = !json_is_null(json_at(a, "/next_cursor"));
		snprintf(query, sizeof(query), more ? "?limit=2&cursor=%s" : "%s",
			 more ? text_at(a, "/next_cursor") : "");
	}
	assert_string_equal(all, "gfedcba");
	assert_problem(list("?cursor=x"), 400, "invalid_value", "none");
	assert_problem(list("?limit=0"), 400, "out_of_range", "none");
	assert_problem(list("?what=0"), 400, NULL, "none");
	assert_int_equal(json_array_size(json_at(list("?cursor=1000000"), "/items")), 0);
	assert_problem(http(client, "POST", "/push", "{}"), 405, NULL, "none");
	assert_problem(http(client, "GET", "/push/a", NULL), 404, NULL, "none");
}

TEST(without_the_option_there_is_none)
{
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	struct answer a = list("");
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_int_equal(int_at(a, "/open"), 0);
	assert_true(json_is_null(json_at(http(client, "GET", "/info", NULL), "/libraries/libcurl")));
	/* libcurl and its libraries are not loaded. */
	char path[64], line[512];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)patternd.proc.pid);
	FILE *maps = fopen(path, "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		assert_null(strstr(line, "libcurl"));
	fclose(maps);
}

TEST(a_faulty_file_stops_the_start, .after = no_fixture)
{
	static const char *const rows[][2] = {
		{ "", "push.json:1" },
		{ "[]", "must be a JSON object" },
		{ "{\"q\":5}", "/q: must be an object" },
		{ "{\"q\":{}}", "/q/url: is required" },
		{ "{\"a\":{" AWAY "},\"q\":{\"url\":\"http://example.com/\"}}",
		  "/q/url: must name a loopback address" },
		{ "{\"q\":{" AWAY ",\"concurrency\":257}}", "/q/concurrency: must be a whole number from 1 to 256" },
		{ "{\"q\":{" AWAY ",\"what\":1}}", "/q/what: is unknown; a target has url" },
	};
	char path[256];

	snprintf(path, sizeof(path), "%s/push.json", temp_dir());
	for (size_t i = 0; i < COUNT(rows); i++) {
		FILE *f = fopen(path, "we");
		assert_non_null(f);
		fputs(rows[i][0], f);
		fclose(f);
		assert_int_equal(daemon_run(&patternd, "--listen", "127.0.0.1:0", "--push", path), 2);
		assert_true(proc_wrote(&patternd.proc, "patternd: --push: "));
		assert_true(proc_wrote(&patternd.proc, path));
		if (!proc_wrote(&patternd.proc, rows[i][1]))
			fail_msg("stderr lacks '%s' for %s", rows[i][1], rows[i][0]);
	}
	assert_int_equal(daemon_run(&patternd, "--listen", "127.0.0.1:0", "--push", "/no/such/file"), 2);
	assert_true(proc_wrote(&patternd.proc, "/no/such/file: No such file or directory"));
}

static int open_redis(void **state)
{
	server_start(&redis);
	return 0;
}

static int close_redis(void **state)
{
	server_stop(&redis);
	return 0;
}

SUITE(.open = open_redis, .close = close_redis, .after = stop);
