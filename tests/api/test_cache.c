/* The cache over HTTP: jitter, expiry, and the conditions of RFC 9110. */
#include "raw.h"
#include "stage.h"
#include "test.h"

#define A "/cache/a"

enum { HEADER_BYTES = 160 };

static struct answer put(const char *body)
{
	return http(client, "PUT", A, body);
}

static struct answer delete (void)
{
	return http(client, "DELETE", A, NULL);
}

/* ---- Values ---- */

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(jitter_spreads_the_end)
{
	int64_t least = INT64_MAX, most = 0;

	for (int i = 0; i < 100; i++) {
		struct answer a = put("{\"value\":1,\"ttl_ms\":60000,\"jitter_ms\":1000000}");
		int64_t life = int_at(a, "/expires_at_ms") - server_now_ms(&redis);
		assert_in_range(life, 55000, 60000 + 1000000);
		least = life < least ? life : least;
		most = life > most ? life : most;
	}
	assert_true(least < 60000 + 250000); /* fails once in 10^12 runs */
	assert_true(most > 60000 + 750000);
	assert_int_equal(int_at(get(A), "/expires_at_ms"), server_command(&redis, "PEXPIRETIME p:cache:{a}")->integer);
}

TEST(a_value_ends_with_its_time)
{
	assert_status(put("{\"value\":1,\"ttl_ms\":50}"), 201);
	wait_until(get(A).status == 404, 5000);
	assert_status(put("{\"value\":1,\"ttl_ms\":3155760000000,\"jitter_ms\":86400000}"), 201);
	assert_status(get(A), 200);
	server_command(&redis, "PERSIST p:cache:{a}"); /* another program removed its expiry */
	assert_true(json_is_null(json_at(get(A), "/expires_at_ms")));
}

/* ---- Conditions ---- */

#define CURRENT "@" /* replaced by the present version */

/* A header line with CURRENT replaced; "X-None: 1" if there is no pattern. */
static const char *condition(const char *pattern, const char *version)
{
	static char texts[8][4 * HEADER_BYTES];
	static unsigned next;
	char *text = texts[next++ % 8];
	const char *at = pattern ? strstr(pattern, CURRENT) : NULL;

	if (!pattern)
		return "X-None: 1";
	if (at)
		snprintf(text, sizeof(texts[0]), "%.*s%s%s", (int)(at - pattern), pattern, version, at + 1);
	else
		snprintf(text, sizeof(texts[0]), "%s", pattern);
	return text;
}

/* Two header lines, and the statuses that requests with them get. */
struct condition_row {
	const char *first, *second;
	int get, put, delete;   /* when there is a value */
	int get_none, put_none; /* without a value; a DELETE is 404 then */
};

static void read_with(const struct condition_row *row, const char *version)
{
	const char *first = condition(row->first, version), *second = condition(row->second, version);
	struct answer a = http(client, "GET", A, NULL, first, second), plain = get(A);

	assert_status(a, row->get);
	assert_int_equal(http(client, "HEAD", A, NULL, first, second).status, row->get);
	if (a.status == 200 || a.status == 304)
		assert_string_equal(header_of(a, "ETag"), header_of(plain, "ETag"));
	if (a.status == 304)
		assert_int_equal(atoi(header_of(a, "Content-Length")), plain.body_len);
	if (a.status == 412)
		assert_string_equal(text_at(a, "/version"), version);
	if (a.status == 400)
		assert_problem(a, 400, "invalid_value", "none");
}

static void write_with(const struct condition_row *row, const char *version)
{
	const char *first = condition(row->first, version), *second = condition(row->second, version);
	struct answer a = http(client, "PUT", A, "{\"value\":2}", first, second);

	assert_status(a, row->put);
	assert_int_equal(int_at(get(A), "/value"), a.status == 200 ? 2 : 1);
	if (a.status == 412)
		assert_problem(a, 412, "precondition_failed", "none");
}

static void delete_with(const struct condition_row *row, const char *version)
{
	struct answer a =
		http(client, "DELETE", A, NULL, condition(row->first, version), condition(row->second, version));

	assert_status(a, row->delete);
	assert_int_equal(get(A).status, a.status == 204 ? 404 : 200);
}

static void ask_without_a_value(const struct condition_row *row, const char *version)
{
	const char *first = condition(row->first, version), *second = condition(row->second, version);

	assert_status(http(client, "GET", A, NULL, first, second), row->get_none);
	assert_status(http(client, "DELETE", A, NULL, first, second), row->get_none);
	struct answer a = http(client, "PUT", A, "{\"value\":3}", first, second);
	assert_status(a, row->put_none);
	if (a.status == 412)
		assert_true(json_is_null(json_at(a, "/version")));
}

TEST(conditions_follow_rfc_9110)
{
	static const struct condition_row rows[] = {
		{ NULL, NULL, 200, 200, 204, 404, 201 },
		{ "If-Match: \"@\"", NULL, 200, 200, 204, 404, 412 },
		{ "If-Match: *", NULL, 200, 200, 204, 404, 412 },
		{ "If-Match: \"x\"", NULL, 412, 412, 412, 404, 412 },
		{ "If-Match: W/\"@\"", NULL, 412, 412, 412, 404, 412 },
		{ "If-Match: \"x\", \"@\", W/\"y\"", NULL, 200, 200, 204, 404, 412 },
		{ "If-Match: \"x\"", "If-Match: \"@\"", 200, 200, 204, 404, 412 },
		{ "If-Match: \"\"", NULL, 412, 412, 412, 404, 412 },
		{ "If-Match: \"*\"", NULL, 412, 412, 412, 404, 412 },
		{ "If-None-Match: *", NULL, 304, 412, 412, 404, 201 },
		{ "If-None-Match: \"@\"", NULL, 304, 412, 412, 404, 201 },
		{ "If-None-Match: W/\"@\"", NULL, 304, 412, 412, 404, 201 },
		{ "If-None-Match: \"x\",, W/\"@\" ,", NULL, 304, 412, 412, 404, 201 },
		{ "If-None-Match: \"x\"", "If-None-Match: \"@\"", 304, 412, 412, 404, 201 },
		{ "If-None-Match: \"x\"", NULL, 200, 200, 204, 404, 201 },
		{ "If-Match: \"@\"", "If-None-Match: \"@\"", 304, 412, 412, 404, 412 },
		{ "If-Match: \"x\"", "If-None-Match: \"@\"", 412, 412, 412, 404, 412 },
		{ "If-Match: \"@\"", "If-None-Match: \"x\"", 200, 200, 204, 404, 412 },
		{ "If-Match: @", NULL, 400, 400, 400, 400, 400 },
		{ "If-None-Match: @", NULL, 400, 400, 400, 400, 400 },
		{ "If-Match: \"@", NULL, 400, 400, 400, 400, 400 },
		{ "If-None-Match: *, \"@\"", NULL, 400, 400, 400, 400, 400 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		print_message("%s; %s\n", rows[i].first ? rows[i].first : "", rows[i].second ? rows[i].second : "");
		const char *version = text_at(put("{\"value\":1}"), "/version");
		read_with(&rows[i], version);
		write_with(&rows[i], version);
		delete_with(&rows[i], text_at(put("{\"value\":1}"), "/version"));
		delete ();
		ask_without_a_value(&rows[i], version);
		client_forget(client);
	}
}
