/*
 * The daemon as a server: health, readiness, information, problems, request ids, log lines, long
 * connections. (Metrics: test_metrics.c. Shutdown: test_drain.c.)
 */
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/stride.h"
#include "test.h"

enum { ANSWER_MS = 5000 };

static const char *const codes[] = {
#define PROBLEM(name, code, status, effect, retry, title, help) code,
#include "../../service/request/errors.def"
#undef PROBLEM
};
enum { PROBLEM_COUNT = COUNT(codes) };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

static int set_up(void **state)
{
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	/* Wait for every node of a Cluster: the daemon is ready as soon as one is connected. */
	wait_until(bool_at(http(client, "GET", "/info", NULL), "/redis/connected"), ANSWER_MS);
	return 0;
}

static int tear_down(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	return 0;
}

static int set_up_all(void **state)
{
	server_start(&redis);
	return 0;
}

static int tear_down_all(void **state)
{
	server_stop(&redis);
	return 0;
}

/* ---- Health, information, problems ---- */

SUITE(.open = set_up_all, .close = tear_down_all, .before = set_up, .after = tear_down);

TEST(test_health)
{
	struct answer a = http(client, "GET", "/healthz", NULL);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/status"), "ok");
	a = http(client, "GET", "/readyz", NULL);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/status"), "ready");
}

TEST(test_info)
{
	char address[64];

	struct answer a = http(client, "GET", "/info", NULL);
	assert_status(a, 200);
	snprintf(address, sizeof(address), "127.0.0.1:%d", redis.port);
	assert_string_equal(text_at(a, "/redis/address"), address);
	assert_true(bool_at(a, "/redis/connected"));
	assert_string_equal(text_at(a, "/redis/role"), "master");
	assert_true(json_is_null(json_at(a, "/redis/error")));
	assert_in_range(int_at(a, "/uptime_ms"), 0, 60000);
	assert_string_equal(text_at(a, "/options/pool-size"), "2");
	server_kill(&redis);
	wait_until(!bool_at(http(client, "GET", "/info", NULL), "/redis/connected"), ANSWER_MS);
	assert_non_null(text_at(http(client, "GET", "/info", NULL), "/redis/error"));
	server_restart(&redis);
	wait_until(bool_at(http(client, "GET", "/info", NULL), "/redis/connected"), ANSWER_MS);
}

/* The histogram is cumulative, and its last bucket counts all requests. */
static json_int_t requests_of(struct answer a)
{
	const json_t *buckets = json_at(a, "/activity/requests/buckets");
	json_int_t count = 0;

	for (size_t i = 0; i < json_array_size(buckets); i++) {
		const json_t *bucket = json_array_get(buckets, i);
		assert_true(json_integer_value(json_object_get(bucket, "count")) >= count);
		count = json_integer_value(json_object_get(bucket, "count"));
	}
	assert_true(json_is_null(json_object_get(json_array_get(buckets, json_array_size(buckets) - 1), "le_ms")));
	return count;
}

TEST(test_activity)
{
	enum { REQUESTS = 20 };

	struct answer a = http(client, "GET", "/info", NULL);
	json_int_t requests = requests_of(a), calls = int_at(a, "/activity/redis/calls");
	for (int i = 0; i < REQUESTS; i++)
		assert_status(http(client, "POST", "/counters/x/increment", "{\"counters\":{\"a\":1}}"), 200);
	a = http(client, "GET", "/info", NULL);
	assert_int_equal(requests_of(a) - requests, REQUESTS + 1);           /* and the first /info */
	assert_true(int_at(a, "/activity/redis/calls") - calls >= REQUESTS); /* and the daemon's own calls */
	assert_true(json_number_value(json_at(a, "/activity/redis/took_ms")) > 0);
	assert_true(json_number_value(json_at(a, "/activity/requests/longest_ms")) > 0);
	assert_true(int_at(a, "/activity/resident_bytes") > 0);
	assert_int_equal(int_at(a, "/activity/gauges/redis_up"), 1);
}

TEST(test_openapi)
{
	const char *path = getenv("PATTERND_OPENAPI");
	json_t *built = json_load_file(path ? path : "build/generated/openapi.json", 0, NULL);

	assert_non_null(built);
	struct answer a = http(client, "GET", "/openapi.json", NULL);
	assert_status(a, 200);
	assert_true(json_equal(built, a.json));
	json_decref(built);
}

/* Each problem code has a page, to which the type of the problem links. */
TEST(test_problems)
{
	char target[128];

	struct answer a = http(client, "GET", "/problems/lock_held", NULL);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/code"), "lock_held");
	assert_int_equal(int_at(a, "/status"), 409);
	assert_string_equal(text_at(a, "/retry"), "after_delay");
	assert_non_null(strstr(text_at(a, "/help"), "`wait_ms`"));
	a = http(client, "GET", "/no/such/path", NULL);
	assert_problem(a, 404, "unknown_path", "none");
	snprintf(target, sizeof(target), "%s", text_at(a, "/type"));
	assert_status(http(client, "GET", target, NULL), 200);
	assert_problem(http(client, "GET", "/problems/nonsense", NULL), 404, "not_found", "none");
}

TEST(test_problem_list)
{
	char target[128];

	struct answer a = http_all(client, "/problems?limit=7");
	assert_int_equal(json_array_size(json_at(a, "/items")), PROBLEM_COUNT);
	for (int i = 0; i < PROBLEM_COUNT; i++) {
		const json_t *item = json_array_get(json_at(a, "/items"), (size_t)i);
		const char *code = json_string_value(json_object_get(item, "code"));
		assert_string_equal(code, codes[i]);
		snprintf(target, sizeof(target), "/problems/%s", code);
		assert_true(json_equal(item, http(client, "GET", target, NULL).json));
	}
	assert_int_equal(json_array_size(json_at(http(client, "GET", "/problems", NULL), "/items")), PROBLEM_COUNT);
	assert_problem(http(client, "GET", "/problems?cursor=nonsense", NULL), 400, "invalid_value", "none");
}

/* The contract lists the codes of errors.def, in the same order. */
TEST(test_problem_codes)
{
	struct answer a = http(client, "GET", "/openapi.json", NULL);
	const json_t *listed = json_at(a, "/components/schemas/ProblemCode/enum");
	for (size_t i = 0; i < PROBLEM_COUNT && i < json_array_size(listed); i++)
		assert_string_equal(json_string_value(json_array_get(listed, i)), codes[i]);
	assert_int_equal(json_array_size(listed), PROBLEM_COUNT);
}

TEST(test_headers_of_every_answer)
{
	static const char *const targets[] = { "/healthz",      "/metrics",   "/locks/a",
					       "/no/such/path", "/locks/%00", "/openapi.json" };

	for (size_t i = 0; i < COUNT(targets); i++) {
		struct answer a = http(client, "GET", targets[i], NULL);
		assert_string_equal(header_of(a, "Cache-Control"), "no-store");
		assert_non_null(header_of(a, "X-Request-ID"));
		assert_non_null(header_of(a, "Date"));
		assert_null(header_of(a, "Access-Control-Allow-Origin"));
	}
}

/* ---- Request ids and log lines ---- */

TEST(test_request_id)
{
	static const char *const not_taken[] = { "X-Request-ID: a b", "X-Request-ID: a\"b", "X-Request-ID: a\\b",
						 "X-Request-ID: \xc3\xa9", "X-Request-ID;" };
	char long_one[200] = "X-Request-ID: ", first[160];

	struct answer a = http(client, "GET", "/healthz", NULL, "X-Request-ID: order-4711/step.2");
	assert_string_equal(header_of(a, "X-Request-ID"), "order-4711/step.2");
	a = http(client, "GET", "/no/such", NULL, "X-Request-ID: order-4712");
	assert_string_equal(header_of(a, "X-Request-ID"), "order-4712");
	assert_string_equal(text_at(a, "/request_id"), "order-4712");
	memset(long_one + strlen(long_one), 'x', 128);
	a = http(client, "GET", "/healthz", NULL, long_one);
	assert_string_equal(header_of(a, "X-Request-ID"), long_one + strlen("X-Request-ID: "));
	strcat(long_one, "x");
	a = http(client, "GET", "/healthz", NULL, long_one);
	assert_true(strlen(header_of(a, "X-Request-ID")) <= 128);
	for (size_t i = 0; i < COUNT(not_taken); i++) {
		a = http(client, "GET", "/healthz", NULL, not_taken[i]);
		assert_status(a, 200);
		const char *id = header_of(a, "X-Request-ID");
		assert_true(strlen(id) >= 8 && strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz-") == strlen(id));
	}
	snprintf(first, sizeof(first), "%s", header_of(http(client, "GET", "/healthz", NULL), "X-Request-ID"));
	assert_string_not_equal(header_of(http(client, "GET", "/healthz", NULL), "X-Request-ID"), first);
}

/*
 * The parsed log line that contains `text`, as a new object. NULL if there is none, or if it is not
 * JSON.
 */
static json_t *log_line(const char *text)
{
	char *log = file_text(patternd.proc.err_path);
	char *at = log ? strstr(log, text) : NULL;
	json_t *line = NULL;

	if (at && strchr(at, '\n')) {
		*strchr(at, '\n') = '\0';
		while (at > log && at[-1] != '\n')
			at--;
		line = json_loads(at, 0, NULL);
	}
	free(log);
	return line;
}

static const char *member(const json_t *line, const char *name)
{
	const char *text = json_string_value(json_object_get(line, name));

	return text ? text : "";
}

TEST(test_log_line_of_a_request)
{
	static const char trace[] = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
	json_t *line;

	assert_status(http(client, "POST", "/locks/logged", NULL, "X-Request-ID: logged-1", trace), 201);
	wait_until((line = log_line("logged-1")), ANSWER_MS);
	assert_string_equal(member(line, "event"), "request");
	assert_string_equal(member(line, "level"), "info");
	assert_string_equal(member(line, "operation"), "lock_acquire");
	assert_string_equal(member(line, "method"), "POST");
	assert_string_equal(member(line, "trace_id"), "0af7651916cd43dd8448eb211c80319c");
	assert_int_equal(json_integer_value(json_object_get(line, "status")), 201);
	assert_in_range(json_integer_value(json_object_get(line, "duration_us")), 1, 5000000);
	json_decref(line);
	assert_status(http(client, "POST", "/locks/logged", NULL, "X-Request-ID: logged-2"), 409);
	wait_until((line = log_line("logged-2")), ANSWER_MS);
	assert_string_equal(member(line, "code"), "lock_held");
	json_decref(line);
}

/* The request is served, and its log line has no trace. */
static void assert_no_trace(const char *id, const char *header, const char *another)
{
	json_t *line;

	assert_status(http(client, "GET", "/locks/a", NULL, id, header, another), 200);
	wait_until((line = log_line(id + strlen("X-Request-ID: "))), ANSWER_MS);
	assert_null(json_object_get(line, "trace_id"));
	json_decref(line);
}

/*
 * A request with an invalid or repeated traceparent is served, and the log omits the trace. The
 * same holds for a tracestate that is too long.
 */
TEST(test_bad_traceparent)
{
	static const char good[] = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
	static const char *const bad[] = {
		"traceparent: ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"traceparent: 00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"traceparent: 00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"traceparent: 00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01",
		"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
		"traceparent: 00",
		"traceparent: \xff\xff",
	};
	char id[64], tracestate[10 * 1024 + 1] = "tracestate: a=";

	for (size_t i = 0; i < COUNT(bad); i++) {
		snprintf(id, sizeof(id), "X-Request-ID: trace-%zu", i);
		assert_no_trace(id, bad[i], "tracestate: a=1");
	}
	assert_no_trace("X-Request-ID: trace-twice", good, good);
	memset(tracestate + strlen(tracestate), 'x', sizeof(tracestate) - 1 - strlen(tracestate));
	assert_status(http(client, "GET", "/locks/a", NULL, good, tracestate), 200);
}

/* Whatever a request contains, each line of the log is one JSON object. */
TEST(test_log_is_json)
{
	http(client, "GET", "/locks/%0A%22%7B", NULL, "X-Request-ID: a\"b");
	http(client, "BREW", "/locks/a", NULL);
	http(client, "GET", "/no/such/\xff", NULL);
	assert_status(http(client, "GET", "/healthz", NULL, "X-Request-ID: the-last-one"), 200);
	json_t *last;
	wait_until((last = log_line("the-last-one")), ANSWER_MS);
	json_decref(last);
	char *log = file_text(patternd.proc.err_path), *rest = log, *text;
	assert_non_null(log);
	while ((text = strsep(&rest, "\n")) && *text) {
		json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		if (!line)
			fail_msg("not JSON: %s", text);
		assert_true(*member(line, "ts") && *member(line, "level") && *member(line, "event"));
		json_decref(line);
	}
	free(log);
}

/* ---- Connections ---- */

/* Ten thousand requests use one connection; in a full run, a hundred thousand. */
TEST(test_long_connection)
{
	static const char pair[] = "POST /pv/long HTTP/1.1\r\nHost: localhost\r\n\r\n"
				   "GET /pv/long HTTP/1.1\r\nHost: localhost\r\n\r\n";
	enum { PAIRS = 50, WARM_ROUNDS = 5, GROWTH_KIB = 8 * 1024 };
	const int rounds = in_full() ? 1000 : 100 / stride();
	struct raw *r = raw_connect(patternd.port);
	long warm_kib = 0;

	for (int i = 0; i < rounds; i++) {
		if (i == WARM_ROUNDS)
			warm_kib = daemon_resident_kib(&patternd);
		raw_repeat(r, pair, PAIRS);
		for (int k = 0; k < 2 * PAIRS; k++)
			assert_status(raw_answer(r, 10000), 200);
		raw_forget(r);
	}
	raw_close(r);
	assert_int_equal(int_at(http(client, "GET", "/pv/long", NULL), "/count"), rounds * PAIRS);
	if (!daemon_is_sanitized())
		assert_in_range(daemon_resident_kib(&patternd), 1, warm_kib + GROWTH_KIB);
}

TEST(test_idle_costs_nothing)
{
	assert_status(http(client, "POST", "/pv/idle", NULL), 200);
	long before_ms = daemon_cpu_ms(&patternd);
	nap_ms(1000);
	assert_in_range(daemon_cpu_ms(&patternd) - before_ms, 0, 20);
}
