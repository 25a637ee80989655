/*
 * /metrics counts events, and does not grow with the names that callers use. (Whether the text is
 * valid for Prometheus: test_observability.py.)
 */
#include <unistd.h>

#include "../support/daemon.h"
#include "../support/events.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_cluster.h"
#include "../support/stride.h"
#include "test.h"

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

static char *now; /* the latest reading */

static void read_metrics(void)
{
	struct answer a = http(client, "GET", "/metrics", NULL);

	assert_status(a, 200);
	free(now);
	now = strdup(a.body);
}

static size_t series_count(void)
{
	size_t count = 0;

	for (const char *at = now; (at = strchr(at, '\n')); at++)
		count += at[1] != '#' && at[1] != '\0';
	return count;
}

/* The sum of all series of a metric whose labels contain `label`. */
static double sum_of(const char *name, const char *label)
{
	size_t len = strlen(name);
	double sum = 0;

	for (const char *at = now; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		size_t id = strcspn(at, "\n");
		while (id > 0 && at[id] != ' ')
			id--; /* the value is the last word */
		if (strncmp(at, name, len) == 0 && (at[len] == '{' || at[len] == ' ') &&
		    memmem(at, id, label, strlen(label)))
			sum += strtod(at + id, NULL);
	}
	return sum;
}

TEST(test_counts)
{
	read_metrics();
	assert_true(sum_of("patternd_redis_permissions_missing", "") == 0);
	assert_false(proc_wrote(&patternd.proc, "redis_permissions_unknown"));
	double before = sum_of("patternd_http_requests_total", "operation=\"pv_add\"");
	for (int i = 0; i < 7; i++)
		assert_status(http(client, "POST", "/pv/counted", NULL), 200);
	assert_status(http(client, "POST", "/pv/%7B", NULL), 400);
	read_metrics();
	assert_true(sum_of("patternd_http_requests_total", "operation=\"pv_add\"") == before + 8);
	assert_true(sum_of("patternd_http_request_duration_seconds_count", "operation=\"pv_add\"") >= 8);
	assert_true(sum_of("patternd_resident_memory_bytes", "") > 1000000);
	assert_true(sum_of("patternd_uptime_seconds", "") < 600);
}

static double of_operation(const char *name, const char *operation)
{
	char label[64];

	snprintf(label, sizeof(label), "operation=\"%s\"", operation);
	return sum_of(name, label);
}

/*
 * Sends a request that waits: its wait is counted as a wait, and not in the duration of the
 * request.
 */
static void waits_apart(const char *operation, const char *target, const char *body, int status)
{
	assert_status(http(client, "POST", target, body), status); /* the first use of a script takes longer */
	read_metrics();
	double busy = of_operation("patternd_http_request_duration_seconds_sum", operation);
	double waited = of_operation("patternd_wait_seconds_sum", operation);
	double waits = of_operation("patternd_wait_seconds_count", operation);
	assert_status(http(client, "POST", target, body), status);
	read_metrics();
	busy = of_operation("patternd_http_request_duration_seconds_sum", operation) - busy;
	waited = of_operation("patternd_wait_seconds_sum", operation) - waited;
	if (busy > 0.2 || waited < 0.38)
		fail_msg("%s: %g s busy, %g s waited", operation, busy, waited);
	assert_true(of_operation("patternd_wait_seconds_count", operation) == waits + 1);
}

/*
 * The time for which a request waits or streams is in a separate histogram, and is not part of its
 * duration.
 */
TEST(test_waits)
{
	read_metrics();
	assert_true(of_operation("patternd_wait_seconds_count", "pv_add") == 0);
	waits_apart("queue_message_receive", "/queues/idle/receive", "{\"wait_ms\":400}", 200);
	assert_status(http(client, "POST", "/locks/held", "{\"ttl_ms\":60000}"), 201);
	waits_apart("lock_acquire", "/locks/held", "{\"ttl_ms\":1000,\"wait_ms\":400}", 409);
	assert_status(http(client, "POST", "/ratelimit", "{\"key\":\"w\",\"limit\":1,\"window_ms\":400}"), 200);
	waits_apart("ratelimit_take", "/ratelimit", "{\"key\":\"w\",\"limit\":1,\"window_ms\":400,\"wait_ms\":2000}",
		    200);

	double busy = of_operation("patternd_http_request_duration_seconds_sum", "topic_stream");
	struct events *e = events_get(patternd.port, "/topics/t/stream");
	usleep(400 * 1000); /* this time is measured */
	events_close(e);
	for (int left = 500; of_operation("patternd_wait_seconds_count", "topic_stream") == 0 && left; left--)
		read_metrics();
	assert_true(of_operation("patternd_http_request_duration_seconds_sum", "topic_stream") - busy < 0.2);
	assert_true(of_operation("patternd_wait_seconds_sum", "topic_stream") > 0.38);
}

/* Sends a GET whose target has a number in it. */
static struct answer ask(struct raw *r, const char *before, int i, const char *behind)
{
	char request[128];

	snprintf(request, sizeof(request), "%s%d%s HTTP/1.1\r\nHost: localhost\r\n\r\n", before, i, behind);
	raw_text(r, request);
	return raw_answer(r, 5000);
}

/* Ten thousand different paths, names and methods add no series: only operations are labels. */
TEST(test_series_do_not_grow)
{
	enum { EACH = 2500 };

	for (int i = 0; i < 2; i++) {
		http(client, "GET", "/locks/first", NULL);
		http(client, "GET", "/no/such/path", NULL);
		http(client, "BREW", "/locks/first", NULL);
		http(client, "GET", "/locks/first", NULL, "Host: evil.example");
	}
	read_metrics();
	read_metrics();
	size_t before = series_count();
	struct raw *r = raw_connect(patternd.port);
	for (int i = 0; i < EACH / stride(); i++) {
		assert_status(ask(r, "GET /locks/name-", i, ""), 200);
		assert_status(ask(r, "GET /path-", i, "/x"), 404);
		assert_status(ask(r, "METHOD", i, " /locks/first"), 405);
		assert_status(ask(r, "GET /no/such/path?name-", i, ""), 404);
		raw_forget(r);
	}
	raw_close(r);
	read_metrics();
	assert_int_equal(series_count(), before);
}

TEST(test_redis_trouble_is_counted)
{
	const int nodes = redis.cluster ? redis.cluster->count : 1;

	read_metrics();
	double lost = sum_of("patternd_redis_disconnects_total", "");
	assert_true(sum_of("patternd_redis_connections", "") == 2 * nodes);
	server_kill(&redis);
	wait_until(http(client, "GET", "/locks/a", NULL).status == 503, 5000);
	read_metrics();
	assert_true(sum_of("patternd_redis_disconnects_total", "") ==
		    lost + 3 * nodes); /* the pool and the subscriber */
	assert_true(sum_of("patternd_redis_connections", "") == 0);
	assert_true(sum_of("patternd_redis_refused_total", "") >= 1);
	server_restart(&redis);
	wait_until(http(client, "GET", "/locks/a", NULL).status == 200, 8000);
}

static int set_up(void **state)
{
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--metrics-names", ""); /* names: test_metrics_names.c */
	client = client_open(patternd.port);
	return 0;
}

static int tear_down(void **state)
{
	free(now);
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down);
