/*
 * --policies FILE gives the daemon policies that it has with or without Redis. An error in the file
 * ends the start with a message that names it.
 */
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/redis_server.h"
#include "test.h"

static struct redis_server redis;
static struct daemon patternd;

static const char *file_with(const char *text)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/policies.json", temp_dir());
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	return path;
}

/* ---- Errors in the file ---- */

struct row {
	const char *text;
	const char *said[3]; /* on stderr */
};

#define FITS "\"limit\":1,\"window_ms\":1000"

static const struct row bad[] = {
	{ "", { "policies.json:1" } },
	{ "{\n\"a\":{" FITS "},\n\"b\":{\n", { "policies.json:4" } },
	{ "{\"a\":{" FITS "}} x", { "policies.json:1" } },
	{ "{\"a\":{" FITS "},\"a\":{" FITS "}}", { "policies.json:1", "duplicate" } },
	{ "[]", { "must be a JSON object" } },
	{ "{\"a\":5}", { "/a: ", "object" } },
	{ "{\"a\":null}", { "/a: ", "object" } },
	{ "{\"a\":{}}", { "/a/limit: is required", "/a/window_ms: is required" } },
	{ "{\"a\":{\"limit\":0,\"window_ms\":1000}}", { "/a/limit: must be from 1" } },
	{ "{\"a\":{" FITS ",\"windw_ms\":1}}", { "/a/windw_ms: is not a known field" } },
	{ "{\"a\":{" FITS ",\"on_error\":\"no\"}}", { "/a/on_error: must be one of closed, open" } },
	{ "{\"a\":{" FITS ",\"algorithm\":\"fixed_window\",\"burst\":2}}", { "/a/burst: is allowed only with" } },
	{ "{\"a\":{" FITS "},\"b c\":{" FITS "}}", { "/b c: must consist of letters" } },
	{ "{\".\":{" FITS "}}", { "/.: cannot be '.', which has a meaning in paths" } },
	{ "{\"\":{" FITS "}}", { "/: must have 1 to 64 bytes" } },
	{ "{\"a\":{\"limit\":0,\"window_ms\":1},\"b\":{\"limit\":1}}",
	  { "/a/limit: must", "/b/window_ms: is required" } },
};

static int set_up(void **state)
{
	server_start(&redis);
	return 0;
}

static int tear_down(void **state)
{
	server_stop(&redis);
	return 0;
}

static int forget(void **state)
{
	server_command(&redis, "FLUSHALL");
	return 0;
}

SUITE(.open = set_up, .close = tear_down);

static void wrong_file_stops_the_start(void **state)
{
	const struct row *row = *state;
	const char *path = file_with(row->text);

	assert_int_equal(daemon_run(&patternd, "--listen", "127.0.0.1:0", "--policies", path), 2);
	for (size_t i = 0; i < 3 && row->said[i]; i++) {
		if (!proc_wrote(&patternd.proc, row->said[i])) {
			proc_print_tail(&patternd.proc);
			fail_msg("stderr lacks '%s' for %s", row->said[i], row->text);
		}
	}
	assert_true(proc_wrote(&patternd.proc, "patternd: --policies: "));
	assert_true(proc_wrote(&patternd.proc, path));
}

TEST_ROWS(wrong_file_stops_the_start, bad, text);

TEST(missing_file_stops_the_start)
{
	assert_int_equal(daemon_run(&patternd, "--listen", "127.0.0.1:0", "--policies", "/no/such/file"), 2);
	assert_true(proc_wrote(&patternd.proc, "/no/such/file"));
	assert_int_equal(daemon_run(&patternd, "--listen", "127.0.0.1:0", "--policies", "/tmp"), 2);
	assert_true(proc_wrote(&patternd.proc, "--policies"));
}

/* ---- Valid files ---- */

TEST(file_goes_first, .after = forget)
{
	const char *path = file_with("{\"one\":{\"limit\":5,\"window_ms\":3600000,\"algorithm\":\"sliding_window\"},"
				     "\"two\":{\"limit\":7,\"window_ms\":1000,\"burst\":3,\"on_error\":\"open\"},"
				     "\"three\":{\"limit\":9,\"window_ms\":1000}}");
	daemon_start(&patternd, "--redis", redis.url, "--policies", path);
	struct client *c = client_open(patternd.port);
	struct answer a = http(c, "GET", "/ratelimit/policies/two", NULL);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/burst"), 3);
	assert_string_equal(text_at(a, "/on_error"), "open");
	assert_string_equal(text_at(a, "/source"), "file");
	assert_problem(http(c, "PUT", "/ratelimit/policies/one", "{" FITS "}"), 409, "policy_fixed", "none");
	assert_problem(http(c, "PATCH", "/ratelimit/policies/one", "{}"), 409, "policy_fixed", "none");
	assert_problem(http(c, "DELETE", "/ratelimit/policies/one", NULL), 409, "policy_fixed", "none");
	a = http(c, "POST", "/ratelimit", "{\"key\":\"k\",\"policy\":\"one\"}");
	assert_int_equal(int_at(a, "/limit"), 5);
	assert_int_equal(server_command(&redis, "EXISTS p:limit:{k}:one:sliding_window")->integer, 1);
	/* A policy that another daemon stores under this name in Redis does not count here. */
	server_command(&redis, "HSET p:policy:{one} algorithm gcra limit 99 window_ms 1000");
	server_command(&redis, "HSET p:policy:{four} algorithm gcra limit 4 window_ms 1000");
	assert_int_equal(int_at(http(c, "POST", "/ratelimit", "{\"key\":\"k\",\"policy\":\"one\"}"), "/limit"), 5);
	assert_int_equal(int_at(http(c, "GET", "/ratelimit/policies/one", NULL), "/limit"), 5);
	assert_int_equal(int_at(http(c, "GET", "/ratelimit/policies/four", NULL), "/limit"), 4);
	client_close(c);
	daemon_stop(&patternd);
}

TEST(file_is_listed_first, .after = forget)
{
	char all[256] = "", target[96], cursor[64] = "";

	const char *path = file_with("{\"one\":{" FITS "},\"two\":{" FITS "},\"three\":{" FITS "}}");
	daemon_start(&patternd, "--redis", redis.url, "--policies", path);
	struct client *c = client_open(patternd.port);
	server_command(&redis, "HSET p:policy:{one} algorithm gcra limit 99 window_ms 1000");
	server_command(&redis, "HSET p:policy:{tea} algorithm gcra limit 4 window_ms 1000");
	assert_int_equal(int_at(http(c, "POST", "/names/rebuild", NULL), "/added_count"), 2);
	do {
		snprintf(target, sizeof(target), "/ratelimit/policies?match=*t*&limit=1%s%s", *cursor ? "&cursor=" : "",
			 cursor);
		struct answer a = http(c, "GET", target, NULL);
		assert_status(a, 200);
		assert_in_range(json_array_size(json_at(a, "/items")), 0, 1);
		if (json_array_size(json_at(a, "/items")) == 1) {
			strcat(strcat(all, text_at(a, "/items/0/name")), " ");
			strcat(strcat(all, text_at(a, "/items/0/source")), " ");
		}
		snprintf(cursor, sizeof(cursor), "%s",
			 json_is_null(json_at(a, "/next_cursor")) ? "" : text_at(a, "/next_cursor"));
	} while (*cursor);
	assert_string_equal(all, "two file three file tea redis ");
	struct answer a = http_all(c, "/ratelimit/policies");
	assert_int_equal(json_array_size(json_at(a, "/items")), 4);
	a = http_all(c, "/ratelimit/policies?match=one");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1); /* the file takes precedence over Redis */
	assert_string_equal(text_at(a, "/items/0/source"), "file");
	assert_problem(http(c, "GET", "/ratelimit/policies?cursor=fil", NULL), 400, "invalid_value", "none");
	assert_status(http(c, "GET", "/ratelimit/policies?cursor=file.99999999999999999999", NULL), 200);
	client_close(c);
	daemon_stop(&patternd);
}

/* Without a Redis the file alone decides what fails open. */
TEST(file_decides_without_redis)
{
	char nowhere[64];

	snprintf(nowhere, sizeof(nowhere), "redis://127.0.0.1:%d/0", free_port());
	const char *path = file_with("{\"open\":{\"limit\":7,\"window_ms\":1000,\"burst\":3,\"on_error\":\"open\"},"
				     "\"closed\":{" FITS "},\"shadow\":{\"shadow\":true," FITS "}}");
	daemon_launch(&patternd, "--redis", nowhere, "--policies", path);
	struct client *c = client_open(patternd.port);
	struct answer a = http(c, "POST", "/ratelimit", "{\"key\":\"k\",\"policy\":\"open\"}");
	assert_status(a, 200);
	assert_true(bool_at(a, "/degraded"));
	assert_int_equal(int_at(a, "/limit"), 7);
	assert_int_equal(int_at(a, "/window_ms"), 1000);
	assert_int_equal(int_at(a, "/capacity"), 3);
	assert_int_equal(int_at(a, "/remaining"), 3);
	assert_int_equal(int_at(a, "/reset_after_ms"), 0);
	assert_string_equal(header_of(a, "RateLimit"), "\"open\";r=3");
	a = http(c, "POST", "/ratelimit", "{\"key\":\"k\",\"policy\":\"shadow\"}");
	assert_true(bool_at(a, "/degraded"));
	assert_null(json_at(a, "/shadow_allowed"));
	assert_problem(http(c, "POST", "/ratelimit", "{\"key\":\"k\",\"policy\":\"closed\"}"), 503, "redis_unavailable",
		       "none");
	assert_problem(http(c, "POST", "/ratelimit", "{\"key\":\"k\",\"policy\":\"unknown\"}"), 503,
		       "redis_unavailable", "none");
	assert_string_equal(text_at(http(c, "GET", "/ratelimit/authorize?policy=open&key=k", NULL), "/key"), "k");
	assert_status(http(c, "GET", "/ratelimit/policies/closed", NULL), 200);
	client_close(c);
	daemon_stop(&patternd);
}
