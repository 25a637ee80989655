/*
 * Tests of precheck: headers whose values are kept (ids, traces, keys), the types that a client
 * accepts, and targets that are too long.
 */
#include <stdio.h>

#include "asked.h"
#include "http/precheck.h"
#include "process/config.h"
#include "request/accept.h"
#include "request/traceparent.h"

static int load_options(void **state)
{
	char *argv[] = { "patternd", NULL }, *environment[] = { NULL };

	return config_load(1, argv, environment) == CONFIG_RUN ? 0 : -1;
}

static int free_options(void **state)
{
	config_free();
	return 0;
}

/*
 * Makes a request with up to two values of one header (NULL: none), and runs all checks. The caller
 * frees it.
 */
static struct request *admitted_by(const char *method, const char *target, const char *name, const char *value,
				   const char *second)
{
	struct request *req = asked(method, text_of(target), NOTHING);
	struct precheck a;

	precheck_begin(&a, req, "HTTP/1.1");
	if (value)
		http_headers_add(&a.headers, name, value);
	if (second)
		http_headers_add(&a.headers, name, second);
	bool ok = precheck_run(&a);
	assert_int_equal(req->state, ok ? READING : ANSWERED);
	return req;
}

static struct request *admitted(const char *target, const char *name, const char *value, const char *second)
{
	return admitted_by("GET", target, name, value, second);
}

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

SUITE(.open = load_options, .close = free_options);

/* A W3C Trace Context is kept when it is valid, and otherwise ignored. It is never refused. */
TEST(traceparents)
{
	static const struct {
		const char *value, *second;
		bool valid;
	} rows[] = {
		{ "00-" TRACE "-" SPAN "-01", NULL, true },
		{ "00-" TRACE "-" SPAN "-00", NULL, true },
		{ "00-" TRACE "-" SPAN "-ff", NULL, true },
		{ "01-" TRACE "-" SPAN "-01", NULL, true }, /* a later version, of the same form */
		{ "cc-" TRACE "-" SPAN "-01-what-comes-later", NULL, true },
		{ "cc-" TRACE "-" SPAN "-01-", NULL, true },
		{ "cc-" TRACE "-" SPAN "-01.later", NULL, false }, /* newer fields follow a dash */
		{ "cc-" TRACE "-" SPAN "-012", NULL, false },
		{ "00-" TRACE "-" SPAN "-01-later", NULL, false }, /* version 00 ends here */
		{ "00-" TRACE "-" SPAN "-01 ", NULL, false },
		{ "00-" TRACE "-" SPAN "-0", NULL, false },
		{ "00-" TRACE "-" SPAN "-", NULL, false },
		{ "00-" TRACE "-" SPAN "-0g", NULL, false },
		{ "ff-" TRACE "-" SPAN "-01", NULL, false },
		{ "0-" TRACE "-" SPAN "-011", NULL, false },
		{ "0g-" TRACE "-" SPAN "-01", NULL, false },
		{ "00-00000000000000000000000000000000-" SPAN "-01", NULL, false },
		{ "00-" TRACE "-0000000000000000-01", NULL, false },
		{ "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", NULL, false }, /* lower case only */
		{ "00-" TRACE "-00F067AA0BA902B7-01", NULL, false },
		{ "00-" TRACE "-" SPAN "-0A", NULL, false },
		{ "00-" TRACE "0-0f067aa0ba902b7-01", NULL, false },
		{ "00_" TRACE "_" SPAN "_01", NULL, false },
		{ "00" TRACE SPAN "01-----", NULL, false },
		{ "", NULL, false },
		{ "00", NULL, false },
		{ "00-" TRACE "-" SPAN "-01", "00-" TRACE "-" SPAN "-01", false }, /* of two, neither counts */
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct request *req = admitted("/locks", "TraceParent", rows[i].value, rows[i].second);
		assert_int_equal(req->state, READING);
		struct text trace_id = traceparent_trace_id(req->asked.traceparent);
		if ((trace_id.at != NULL) != rows[i].valid)
			fail_msg("'%s' should %sbe valid", rows[i].value, rows[i].valid ? "" : "not ");
		if (rows[i].valid)
			assert_true(text_is(trace_id, TRACE));
		asked_end(req);
	}
}

#define HUNDRED "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"

TEST(request_ids)
{
	static const char *const taken[] = { "a", "a-1.b_2:c/d=e,f;g~", HUNDRED "0123456789012345678901234567" };
	static const char *const replaced[] = { "",         " ",    "a b",
						"a\tb",     "a\"b", "a\\b",
						"\xc3\xa9", "\xff", HUNDRED "01234567890123456789012345678" };
	char first[64] = "";

	for (size_t i = 0; i < COUNT(taken); i++) {
		struct request *req = admitted("/locks", "X-Request-ID", taken[i], NULL);
		assert_string_equal(req->asked.request_id.at, taken[i]);
		asked_end(req);
		req = admitted("/locks", "X-Request-ID", taken[i], taken[i]); /* of two, neither counts */
		assert_string_not_equal(req->asked.request_id.at, taken[i]);
		asked_end(req);
	}
	for (size_t i = 0; i < COUNT(replaced); i++) {
		struct request *req = admitted("/locks", "X-Request-ID", replaced[i], NULL);
		assert_int_equal(req->state, READING);
		assert_in_range(req->asked.request_id.len, 8, 32);
		assert_string_not_equal(req->asked.request_id.at, replaced[i]);
		assert_string_not_equal(req->asked.request_id.at, first); /* each has its own */
		snprintf(first, sizeof(first), "%s", req->asked.request_id.at);
		asked_end(req);
	}
	/* A refusal has a request id, too. */
	struct request *req = admitted("/no/such", "x-request-id", "mine", NULL);
	assert_string_equal(answered(req, "request_id"), "mine");
	asked_end(req);
}

TEST(idempotency_keys)
{
	static const struct {
		const char *given, *key; /* NULL: refused */
	} rows[] = {
		{ "a", "a" },
		{ "\"a\"", "a" },
		{ "8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324" },
		{ "\"a b, c\"", "a b, c" },
		{ "\xc3\xa9", "\xc3\xa9" },
		{ "\"a", "\"a" }, /* not a quoted string: bare */
		{ "a\"", "a\"" },
		{ HUNDRED HUNDRED, HUNDRED HUNDRED },
		{ "\"" HUNDRED HUNDRED "\"", HUNDRED HUNDRED },
		{ HUNDRED HUNDRED "x", NULL },
		{ "\"" HUNDRED HUNDRED "x\"", NULL },
		{ "", NULL },
		{ "\"\"", NULL },
		{ "a\tb", NULL },
		{ "\xc2\x85", NULL },
		{ "\xff", NULL },
		{ "\xc0\xaf", NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct request *req =
			admitted_by("POST", "/counters/a/increment", "Idempotency-Key", rows[i].given, NULL);
		if (rows[i].key && req->state != READING)
			fail_msg("'%s' is refused", rows[i].given);
		if (rows[i].key)
			assert_string_equal(req->asked.idempotency_key.at, rows[i].key);
		else if (strcmp(problem_of(req), "invalid_value") != 0)
			fail_msg("'%s' is taken", rows[i].given);
		asked_end(req);
	}
	struct request *req = admitted_by("POST", "/counters/a/increment", "Idempotency-Key", NULL, NULL);
	assert_null(req->asked.idempotency_key.at);
	asked_end(req);
	/* An operation that takes no Idempotency-Key ignores any value. */
	req = admitted("/locks", "Idempotency-Key", "a\tb", NULL);
	assert_int_equal(req->state, READING);
	assert_null(req->asked.idempotency_key.at);
	asked_end(req);
}

TEST(accepted_types)
{
	static const struct {
		const char *target, *accept, *second;
		bool ok;
	} rows[] = {
		{ "/locks", NULL, NULL, true },
		{ "/locks", "", NULL, true },
		{ "/locks", "*/*", NULL, true },
		{ "/locks", "application/json", NULL, true },
		{ "/locks", "APPLICATION/JSON", NULL, true },
		{ "/locks", "application/*", NULL, true },
		{ "/locks", "text/html, application/json;q=0.9", NULL, true },
		{ "/locks", "text/html,application/xhtml+xml,*/*;q=0.8", NULL, true },
		{ "/locks", " ,, application/json ", NULL, true },
		{ "/locks", "text/html", NULL, false },
		{ "/locks", "text/*", NULL, false },
		{ "/locks", "application/jsonp", NULL, false },
		{ "/locks", "application/json-seq", NULL, false },
		{ "/locks", "xapplication/json", NULL, false },
		{ "/locks", "text/html;x=application/json", NULL, false },
		{ "/locks", ",", NULL, false },
		{ "/locks", "application/geo+json", NULL, false },
		{ "/geo/nearby", "application/geo+json", NULL, true },
		{ "/geo/nearby", "application/json", NULL, true },
		{ "/geo/nearby", "text/plain", NULL, false },
		{ "/metrics", "text/plain", NULL, true },
		{ "/metrics", "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", NULL, true },
		{ "/locks", "text/html", "application/json", true }, /* two lines are one list, RFC 9110 section 5.3 */
		{ "/locks", "application/json", "text/html", true },
		{ "/locks", "application/json;q=0", NULL, false },
		{ "/locks", "application/json;q=0, */*", NULL, false },
		{ "/locks", "*/*, application/*;q=0", NULL, false },
		{ "/locks", "*/*;q=0, application/json;q=0.001", NULL, true },
		{ "/locks", "application/json; Q=0.000", NULL, false },
		{ "/locks", "application/json;x=\"a,b;q=0\";q=0.1", NULL, true },
		{ "/locks", "application/json;x=\"\\\";q=0\"", NULL, true },
		{ "/locks", "text/html;x=\", application/json", NULL, false },
		{ "/geo/nearby", "application/json;q=0", NULL, false },
		{ "/geo/nearby", "application/json;q=0, */*", NULL, true },
		{ "/geo/nearby", "application/json;q=0, application/geo+json;q=0, */*", NULL, false },
		{ "/topics/a/stream", "application/json", NULL, true },
		{ "/topics/a/stream", "text/event-stream;q=0, application/json", NULL, false },
		{ "/topics/a/stream", "text/*;q=0, */*", NULL, false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct request *req = admitted(rows[i].target, "Accept", rows[i].accept, rows[i].second);
		const char *wanted = rows[i].ok ? "" : "not_acceptable";
		if (strcmp(problem_of(req), wanted) != 0)
			fail_msg("%s with 'Accept: %s': '%s', not '%s'", rows[i].target, rows[i].accept,
				 problem_of(req), wanted);
		asked_end(req);
	}
}

/*
 * The representation with the higher q is preferred. With equal q, it is the one that a more
 * specific range names, then the first.
 */
TEST(preferred_types)
{
	static const struct {
		const char *accept;
		bool other; /* application/geo+json, not application/json */
	} rows[] = {
		{ NULL, false },
		{ "", false },
		{ "*/*", false },
		{ "application/*", false },
		{ "application/geo+json", true },
		{ "application/json", false },
		{ "application/geo+json, application/json", false },
		{ "application/geo+json, */*", true },
		{ "application/geo+json, application/*", true },
		{ "application/json, */*", false },
		{ "application/json;q=0.9, application/geo+json", true },
		{ "application/json;q=0.9, application/geo+json;q=0.8", false },
		{ "application/json;q=0.9, application/geo+json;q=0", false },
		{ "application/json;q=0, application/geo+json;q=0.1", true },
		{ "application/json;q=0, */*;q=0.1", true },
		{ "application/geo+json;q=0, */*", false },
		{ "*/*;q=0.5, application/geo+json;q=0.4", false },
		{ "application/*;q=0.3, application/geo+json;q=0.31", true },
		{ "text/html, application/geo+json;q=1", true },
		{ "application/json;q=0.1, application/json;q=0.9, application/geo+json;q=0.5", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct request *req = admitted("/geo/nearby", "Accept", rows[i].accept, NULL);
		if (*problem_of(req) || (accept_quality(req->asked.accept, req->op->other_type) >
					 accept_quality(req->asked.accept, req->op->media_type)) != rows[i].other)
			fail_msg("Accept: %s", rows[i].accept);
		asked_end(req);
	}
}

/* Several lines of a list header are one list (RFC 9110 section 5.3). */
TEST(conditions)
{
	struct request *req = admitted("/locks", "If-Match", "\"a\"", "\"b\", \"c\"");
	assert_string_equal(req->asked.conditions->match.at, "\"a\", \"b\", \"c\"");
	assert_null(req->asked.conditions->none_match.at);
	asked_end(req);
	req = admitted("/locks", "If-None-Match", "*", NULL);
	assert_string_equal(req->asked.conditions->none_match.at, "*");
	assert_null(req->asked.conditions->match.at);
	asked_end(req);
}

TEST(long_targets)
{
	char target[8194];

	memset(target, 'x', sizeof(target));
	memcpy(target, "/locks?", 7);
	target[8192] = '\0';
	struct request *req = admitted(target, "Accept", NULL, NULL);
	assert_int_equal(req->state, READING);
	asked_end(req);
	target[8192] = 'x';
	target[8193] = '\0';
	req = admitted(target, "Accept", NULL, NULL);
	assert_string_equal(problem_of(req), "target_too_long");
	asked_end(req);
}
