/*
 * /metrics: the text is valid for Prometheus (exposition format 0.0.4), has names of its
 * conventions (base units, _total for counters), counts what happened, and does not grow with the
 * names that callers use.
 */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/daemon.h"
#include "../support/events.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_cluster.h"
#include "../support/stride.h"

enum { FAMILIES_MAX = 200, SERIES_MAX = 5000 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

struct family {
	char name[128], type[16];
	bool has_help;
};

struct series {
	char id[400]; /* name and labels, verbatim */
	char name[128];
	double value;
};

/* One reading of /metrics. */
struct reading {
	struct family families[FAMILIES_MAX];
	struct series series[SERIES_MAX];
	size_t family_count, series_count;
};

static struct reading now;

static struct family *family_named(struct reading *r, const char *name, size_t len)
{
	for (size_t i = 0; i < r->family_count; i++)
		if (strlen(r->families[i].name) == len && strncmp(r->families[i].name, name, len) == 0)
			return &r->families[i];
	return NULL;
}

static struct family *family_add(struct reading *r, const char *name, size_t len)
{
	struct family *f = family_named(r, name, len);

	if (f)
		return f;
	assert_in_range(r->family_count, 0, FAMILIES_MAX - 1);
	f = &r->families[r->family_count++];
	snprintf(f->name, sizeof(f->name), "%.*s", (int)len, name);
	return f;
}

static void read_comment(struct reading *r, const char *line)
{
	const char *name = line + strlen("# HELP ");
	size_t len = strcspn(name, " ");

	if (strncmp(line, "# HELP ", 7) == 0) {
		struct family *f = family_add(r, name, len);
		assert_false(f->has_help); /* once */
		assert_true(strlen(name) > len + 5);
		f->has_help = true;
	} else if (strncmp(line, "# TYPE ", 7) == 0) {
		struct family *f = family_add(r, name, len);
		assert_int_equal(*f->type, 0);
		snprintf(f->type, sizeof(f->type), "%s", name + len + 1);
	} else {
		fail_msg("neither HELP nor TYPE: %s", line);
	}
}

/* Past {a="b",c="d"}; fails on anything else. */
static const char *past_labels(const char *at)
{
	if (*at != '{')
		return at;
	for (at++; *at != '}'; at += *at == ',') {
		assert_true(isalpha((unsigned char)*at) || *at == '_');
		at += strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
		assert_memory_equal(at, "=\"", 2);
		for (at += 2; *at != '"'; at++) {
			assert_int_not_equal(*at, 0);
			if (*at == '\\')
				assert_non_null(strchr("\\\"n", *++at));
		}
		at++;
		assert_true(*at == ',' || *at == '}');
	}
	return at + 1;
}

/*
 * The family a series belongs to: its own name, or of a histogram's parts the name before the
 * suffix.
 */
static struct family *family_of(struct reading *r, const char *name)
{
	static const char *const suffixes[] = { "_bucket", "_sum", "_count" };
	size_t len = strlen(name);
	struct family *f = family_named(r, name, len);

	for (size_t i = 0; !f && i < 3; i++) {
		size_t tail = strlen(suffixes[i]);
		if (len > tail && strcmp(name + len - tail, suffixes[i]) == 0)
			f = family_named(r, name, len - tail);
		if (f)
			assert_string_equal(f->type, "histogram");
	}
	return f;
}

static void read_series(struct reading *r, const char *line)
{
	size_t len = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");
	const char *end = past_labels(line + len);
	char *rest;

	assert_in_range(r->series_count, 0, SERIES_MAX - 1);
	struct series *s = &r->series[r->series_count++];
	snprintf(s->id, sizeof(s->id), "%.*s", (int)(end - line), line);
	snprintf(s->name, sizeof(s->name), "%.*s", (int)len, line);
	for (size_t i = 0; i + 1 < r->series_count; i++)
		assert_string_not_equal(r->series[i].id, s->id);
	assert_int_equal(*end, ' ');
	s->value = strtod(end + 1, &rest);
	assert_true(rest > end + 1 && *rest == '\0');
	assert_true(isfinite(s->value) && s->value >= 0);
	if (!family_of(r, s->name) || !*family_of(r, s->name)->type)
		fail_msg("without a TYPE before it: %s", line);
}

static void read_metrics(void)
{
	struct answer a = http(client, "GET", "/metrics", NULL);
	char *text = strdup(a.body), *rest = text, *line;

	memset(&now, 0, sizeof(now));
	assert_status(a, 200);
	assert_non_null(strstr(header_of(a, "Content-Type"), "text/plain"));
	assert_non_null(strstr(header_of(a, "Content-Type"), "version=0.0.4"));
	assert_int_equal(a.body[a.body_len - 1], '\n');
	while ((line = strsep(&rest, "\n"))) {
		if (*line == '#')
			read_comment(&now, line);
		else if (*line)
			read_series(&now, line);
	}
	free(text);
}

static const struct series *find(const char *id)
{
	for (size_t i = 0; i < now.series_count; i++)
		if (strcmp(now.series[i].id, id) == 0)
			return &now.series[i];
	return NULL;
}

/* The sum of all series of a name that have `label` in their labels. */
static double sum_of(const char *name, const char *label)
{
	double sum = 0;

	for (size_t i = 0; i < now.series_count; i++)
		if (strcmp(now.series[i].name, name) == 0 && strstr(now.series[i].id, label))
			sum += now.series[i].value;
	return sum;
}

static bool ends_in(const char *name, const char *tail)
{
	size_t len = strlen(name), tail_len = strlen(tail);

	return len > tail_len && strcmp(name + len - tail_len, tail) == 0;
}

static void test_names(void **state)
{
	static const char *const no_units[] = { "_ms", "_us", "_milliseconds", "_microseconds", "_kb", "_kib", "_mb" };

	(void)state;
	read_metrics();
	assert_in_range(now.family_count, 10, FAMILIES_MAX);
	assert_true(sum_of("patternd_redis_permissions_missing", "") == 0);
	assert_false(proc_wrote(&patternd.proc, "redis_permissions_unknown"));
	for (size_t i = 0; i < now.family_count; i++) {
		const struct family *f = &now.families[i];
		if (!f->has_help || !*f->type)
			fail_msg("%s has no HELP or no TYPE", f->name);
		if ((strcmp(f->type, "counter") == 0) != ends_in(f->name, "_total"))
			fail_msg("%s is a %s", f->name, f->type);
		if (strcmp(f->type, "histogram") == 0 && !ends_in(f->name, "_seconds") && !ends_in(f->name, "_bytes"))
			fail_msg("%s has no base unit", f->name);
		for (size_t k = 0; k < sizeof(no_units) / sizeof(no_units[0]); k++)
			if (ends_in(f->name, no_units[k]))
				fail_msg("%s has no base unit", f->name);
		if (strncmp(f->name, "patternd_", 9) != 0)
			fail_msg("%s has a foreign prefix", f->name);
	}
}

/* Buckets grow with le, the last is +Inf and equals the count; there is a sum. */
static void test_histograms(void **state)
{
	size_t histograms = 0;

	(void)state;
	assert_status(http(client, "POST", "/pv/a", NULL), 200);
	read_metrics();
	for (size_t i = 0; i < now.series_count; i++) {
		const struct series *s = &now.series[i];
		char *le = strstr(now.series[i].id, "le=\""), id[500];
		if (!ends_in(s->name, "_bucket"))
			continue;
		histograms++;
		assert_non_null(le);
		const struct series *next = i + 1 < now.series_count ? &now.series[i + 1] : NULL;
		bool is_last = strncmp(le, "le=\"+Inf\"", 9) == 0;
		if (!is_last) {
			assert_non_null(next);
			assert_string_equal(next->name, s->name);
			assert_true(next->value >= s->value);
			double bound = strtod(le + 4, NULL), next_bound = strtod(strstr(next->id, "le=\"") + 4, NULL);
			assert_true(next_bound > bound);
			continue;
		}
		/* name_bucket{labels,le="+Inf"} goes with name_count{labels}. */
		size_t stem = strlen(s->name) - strlen("_bucket"), labels = (size_t)(le - s->id) - strlen(s->name);
		snprintf(id, sizeof(id), "%.*s_count%.*s%s", (int)stem, s->name, (int)(labels > 1 ? labels - 1 : 0),
			 s->id + strlen(s->name), labels > 1 ? "}" : "");
		if (!find(id))
			fail_msg("there is no %s", id);
		assert_true(find(id)->value == s->value);
	}
	assert_in_range(histograms, 2, SERIES_MAX);
}

static void test_counts(void **state)
{
	(void)state;
	read_metrics();
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
 * Runs waits that end after WAIT_MS, and returns what was measured: busy seconds, waited seconds,
 * waits.
 */
static void waits_apart(const char *operation, const char *target, const char *body, int status)
{
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
 * The time that a request waits or streams is a histogram of its own, and no part of its duration.
 */
static void test_waits(void **state)
{
	(void)state;
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
	usleep(400 * 1000); /* the time that is measured */
	events_close(e);
	for (int left = 500; of_operation("patternd_wait_seconds_count", "topic_stream") == 0 && left; left--)
		read_metrics();
	assert_true(of_operation("patternd_http_request_duration_seconds_sum", "topic_stream") - busy < 0.2);
	assert_true(of_operation("patternd_wait_seconds_sum", "topic_stream") > 0.38);
}

/* A request line with a number in it. */
static struct answer ask(struct raw *r, const char *before, int i, const char *behind)
{
	char request[128];

	snprintf(request, sizeof(request), "%s%d%s HTTP/1.1\r\nHost: localhost\r\n\r\n", before, i, behind);
	raw_text(r, request);
	return raw_answer(r, 5000);
}

/*
 * Series are made of operations, never of paths, names or methods of callers: ten thousand of them.
 */
static void test_series_do_not_grow(void **state)
{
	enum { EACH = 2500 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		http(client, "GET", "/locks/first", NULL);
		http(client, "GET", "/no/such/path", NULL);
		http(client, "BREW", "/locks/first", NULL);
		http(client, "GET", "/locks/first", NULL, "Host: evil.example");
	}
	read_metrics();
	read_metrics();
	size_t before = now.series_count;
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
	assert_int_equal(now.series_count, before);
}

static void test_redis_trouble_is_counted(void **state)
{
	const int nodes = redis.cluster ? redis.cluster->count : 1;

	(void)state;
	read_metrics();
	double lost = sum_of("patternd_redis_disconnects_total", "");
	assert_true(sum_of("patternd_redis_connections", "") == 2 * nodes);
	server_kill(&redis);
	wait_until(http(client, "GET", "/locks/a", NULL).status == 503, 5000);
	read_metrics();
	assert_true(sum_of("patternd_redis_disconnects_total", "") ==
		    lost + 3 * nodes); /* the pool, and the subscriber */
	assert_true(sum_of("patternd_redis_connections", "") == 0);
	assert_true(sum_of("patternd_redis_refused_total", "") >= 1);
	server_restart(&redis);
	wait_until(http(client, "GET", "/locks/a", NULL).status == 200, 8000);
}

static int set_up(void **state)
{
	(void)state;
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--metrics-names", ""); /* those: test_metrics_names.c */
	client = client_open(patternd.port);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_histograms),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_series_do_not_grow),
		cmocka_unit_test(test_redis_trouble_is_counted),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
