/*
 * Tests of precheck, which checks permission, framing and conditions by the headers of a request.
 */
#include <stdio.h>

#include "asked.h"
#include "http/precheck.h"
#include "process/config.h"

static int load_options(void **state)
{
	char *argv[] = { "patternd", "--allowed-hosts=a.example,b-2.example", "--max-body-bytes=1024", NULL };
	char *environment[] = { NULL };

	return config_load(3, argv, environment) == CONFIG_RUN ? 0 : -1;
}

static int free_options(void **state)
{
	config_free();
	return 0;
}

/*
 * Makes a request with these headers, one "Name: value" per line, and checks it. The caller frees
 * it.
 */
static struct request *admitted(const char *method, const char *target, const char *headers, struct precheck *a)
{
	struct request *req = asked(method, text_of(target), NOTHING);

	precheck_begin(a, req, "HTTP/1.1");
	for (const char *at = headers; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		size_t name = strcspn(at, ":"), all = strcspn(at, "\n");
		assert_true(name + 2 <= all);
		http_headers_add(&a->headers, arena_copy(&req->arena, at, name).at,
				 arena_copy(&req->arena, at + name + 2, all - name - 2).at);
	}
	return req;
}

/* "ok", or the code of the refusal, followed by "+close" when the connection must close. */
static const char *verdict(const char *method, const char *target, const char *headers)
{
	static char out[64];
	struct precheck a;
	struct request *req = admitted(method, target, headers, &a);
	bool ok = precheck_run(&a);

	assert_int_equal(req->state, ok ? READING : ANSWERED);
	assert_true(req->asked.request_id.len > 0);
	snprintf(out, sizeof(out), "%s%s", ok ? "ok" : problem_of(req), req->answer.close ? "+close" : "");
	asked_end(req);
	return out;
}

struct row {
	const char *headers;
	const char *wanted;
};

static void check(const char *method, const char *target, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *got = verdict(method, target, rows[i].headers);
		if (strcmp(got, rows[i].wanted) != 0)
			fail_msg("%s %s '%s': '%s', not '%s'", method, target, rows[i].headers, got, rows[i].wanted);
	}
}

#define ROWS(rows) (rows), COUNT(rows)
#define NO "host_not_allowed"

SUITE(.open = load_options, .close = free_options);

TEST(hosts)
{
	static const struct row rows[] = {
		{ "", "ok" }, /* HTTP/1.0 */
		{ "Host: localhost", "ok" },
		{ "Host: LOCALHOST:1", "ok" },
		{ "Host: 127.0.0.1", "ok" },
		{ "Host: 127.0.0.1:8379", "ok" },
		{ "Host: 10.1.2.3:65535", "ok" }, /* a literal cannot be rebound */
		{ "Host: [::1]", "ok" },
		{ "Host: [::1]:80", "ok" },
		{ "Host: [::ffff:127.0.0.1]:80", "ok" },
		{ "Host: a.example", "ok" },
		{ "hOsT: A.Example:80", "ok" },
		{ "Host: b-2.example", "ok" },
		{ "Host: ", NO },
		{ "Host: :80", NO },
		{ "Host: evil.example", NO },
		{ "Host: 127.0.0.1.evil.com", NO },
		{ "Host: localhost.evil.com", NO },
		{ "Host: evil-localhost", NO },
		{ "Host: localhost.", NO },
		{ "Host: 127.0.0.1.", NO },
		{ "Host: 127.1", NO },
		{ "Host: 2130706433", NO },
		{ "Host: 0x7f.0.0.1", NO },
		{ "Host: 127.0.0.256", NO },
		{ "Host: ::1", NO },
		{ "Host: [::1", NO },
		{ "Host: []", NO },
		{ "Host: [", NO },
		{ "Host: ]", NO },
		{ "Host: [::1]x", NO },
		{ "Host: [::1]:", NO },
		{ "Host: [127.0.0.1]", NO },
		{ "Host: [localhost]", NO },
		{ "Host: [fe80::1%25eth0]", NO },
		{ "Host: localhost:", NO },
		{ "Host: localhost:x", NO },
		{ "Host: localhost:80x", NO },
		{ "Host: localhost:-1", NO },
		{ "Host: localhost:123456", NO },
		{ "Host: localhost:80:80", NO },
		{ "Host: me@localhost", NO },
		{ "Host: localhost@evil.com", NO },
		{ "Host: localhost:80@evil.com", NO },
		{ "Host: localhost/", NO },
		{ "Host: http://localhost", NO },
		{ "Host: localhost,evil.com", NO },
		{ "Host: localhost localhost", NO },
		{ "Host: a.example,b-2.example", NO }, /* the whole list is not a name */
		{ "Host: .example", NO },
		{ "Host: a.exampl", NO },
		{ "Host: a.example.evil.com", NO },
		{ "Host: x.a.example", NO },
		{ "Host: *", NO },
	};
	check("GET", "/locks", ROWS(rows));
}

TEST(browsers_from_elsewhere)
{
	static const struct row rows[] = {
		{ "Host: localhost:8379\nOrigin: http://localhost:8379", "ok" },
		{ "Host: LOCALHOST:8379\nOrigin: http://localhost:8379\nSec-Fetch-Site: same-origin", "ok" },
		{ "Host: localhost\nSec-Fetch-Site: same-origin", "ok" },
		{ "Host: localhost\nSec-Fetch-Site: none", "ok" }, /* typed by the user */
		{ "Host: localhost\nSec-Fetch-Site: cross-site", "cross_site" },
		{ "Host: localhost\nSec-Fetch-Site: same-site", "cross_site" },
		{ "Host: localhost\nSec-Fetch-Site: ", "cross_site" },
		{ "Host: localhost\nSec-Fetch-Site: none, none", "cross_site" },
		{ "Host: localhost\nOrigin: null", "cross_site" },
		{ "Host: localhost\nOrigin: ", "cross_site" },
		{ "Host: localhost\nOrigin: http://evil.example", "cross_site" },
		{ "Host: localhost\nOrigin: http://localhost.evil.example", "cross_site" },
		{ "Host: localhost\nOrigin: http://localhost:3000", "cross_site" }, /* another port is another site */
		{ "Host: localhost:8379\nOrigin: http://localhost", "cross_site" },
		{ "Host: localhost\nOrigin: localhost", "cross_site" },
		{ "Host: localhost\nOrigin: http://localhost/", "cross_site" },
		{ "Host: localhost\nOrigin: http://evil.example://localhost", "cross_site" },
		{ "Host: localhost\nOrigin: http://localhost\nSec-Fetch-Site: cross-site", "cross_site" },
		{ "Origin: http://localhost", "cross_site" },
		{ "Host: evil.example\nOrigin: http://evil.example", NO }, /* rebound: same origin to the browser */
	};
	check("GET", "/locks", ROWS(rows));
}

/* A browser cannot open a Unix socket, so the name there has no meaning. Other sites stay out. */
TEST(unix_sockets_serve_any_host)
{
	static const struct row rows[] = {
		{ "Host: ", "ok" },
		{ "Host: unix", "ok" },
		{ "Host: %2Frun%2Fp.sock", "ok" },
		{ "Host: app.test\nOrigin: https://app.test", "ok" },
		{ "Host: app.test\nOrigin: https://evil.example", "cross_site" },
		{ "Host: unix\nSec-Fetch-Site: cross-site", "cross_site" },
		{ "Host: unix\nHost: unix", "malformed_request" },
	};
	struct precheck a;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct request *req = admitted("GET", "/locks", rows[i].headers, &a);
		req->asked.by_unix = true;
		const char *got = precheck_run(&a) ? "ok" : problem_of(req);
		if (strcmp(got, rows[i].wanted) != 0)
			fail_msg("'%s': '%s', not '%s'", rows[i].headers, got, rows[i].wanted);
		asked_end(req);
	}
}

/* RFC 9112 section 3.2.2: the host of the target counts in place of Host. */
TEST(absolute_targets)
{
	static const struct {
		const char *target, *headers, *wanted;
	} rows[] = {
		{ "http://localhost/locks", "Host: localhost", "ok" },
		{ "HTTP://LOCALHOST:8379/locks?limit=1", "Host: evil.example", "ok" },
		{ "https://127.0.0.1/locks", "", "ok" },
		{ "http://a.example/locks", "Host: evil.example\nOrigin: http://a.example", "ok" },
		{ "http://a.example/locks", "Host: evil.example\nOrigin: http://evil.example", "cross_site" },
		{ "http://evil.example/locks", "Host: localhost", NO },
		{ "http://localhost@evil.example/locks", "Host: localhost", NO },
		{ "http://evil.example@localhost/locks", "Host: localhost", NO },
		{ "http:///locks", "Host: localhost", NO },
		{ "http://localhost", "Host: localhost", "unknown_path" }, /* it is / */
		{ "http://localhost?x=/locks", "Host: localhost", "unknown_path" },
		{ "http://localhost/no/such", "Host: localhost", "unknown_path" },
		{ "http://localhost/locks", "Host: a.example\nHost: a.example", "malformed_request" },
		{ "ftp://localhost/locks", "Host: localhost", "malformed_request" },
		{ "localhost:80", "Host: localhost", "malformed_request" },
	};
	struct precheck a;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct request *req = admitted("GET", rows[i].target, rows[i].headers, &a);
		const char *got = precheck_run(&a) ? req->op->id : problem_of(req);
		if (strcmp(got, strcmp(rows[i].wanted, "ok") == 0 ? "lock_list" : rows[i].wanted) != 0)
			fail_msg("%s: '%s', not '%s'", rows[i].target, got, rows[i].wanted);
		asked_end(req);
	}
}

/* What a refusal advises is a value that the option takes. */
TEST(advice_about_origins)
{
	static const struct {
		const char *headers;
		bool advised;
	} rows[] = {
		{ "Host: localhost\nOrigin: https://app.example", true },
		{ "Host: localhost\nOrigin: tauri://localhost", true },
		{ "Host: localhost\nOrigin: https://app.example\nSec-Fetch-Site: cross-site", true },
		{ "Host: localhost\nSec-Fetch-Site: cross-site", true },
		{ "Host: localhost\nOrigin: null", false },
		{ "Host: localhost\nOrigin: null\nSec-Fetch-Site: cross-site", false },
		{ "Host: localhost\nOrigin: file://", false },
		{ "Host: localhost\nOrigin: https://App.example", false },
		{ "Host: localhost\nOrigin: ", false },
	};
	struct precheck a;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct request *req = admitted("GET", "/locks", rows[i].headers, &a);
		assert_false(precheck_run(&a));
		assert_string_equal(problem_of(req), "cross_site");
		if ((strstr(answered(req, "detail"), "to --cors-origins") != NULL) != rows[i].advised)
			fail_msg("%s: %s", rows[i].headers, answered(req, "detail"));
		asked_end(req);
	}
}

#define BAD "malformed_request+close"
#define JSON "Content-Type: application/json\n"

TEST(framing)
{
	static const struct row rows[] = {
		{ "Host: localhost\nHost: localhost", BAD },
		{ JSON "Content-Length: 5", "ok" },
		{ JSON "content-length: 0", "ok" },
		{ JSON "Transfer-Encoding: chunked", "ok" },
		{ JSON "Transfer-Encoding: CHUNKED", "ok" },
		{ JSON "Content-Length: 5\nTransfer-Encoding: chunked", BAD },
		{ JSON "Content-Length: 0\nTransfer-Encoding: chunked", BAD },
		{ JSON "Content-Length: 5\nContent-Length: 5", BAD },
		{ JSON "Content-Length: 5\nContent-Length: 40", BAD },
		{ JSON "Transfer-Encoding: chunked\nTransfer-Encoding: chunked", BAD },
		{ JSON "Transfer-Encoding: gzip, chunked", BAD },
		{ JSON "Transfer-Encoding: chunked, identity", BAD },
		{ JSON "Transfer-Encoding: identity", BAD },
		{ JSON "Transfer-Encoding: xchunked", BAD },
		{ JSON "Transfer-Encoding: chunked;x=1", BAD },
		{ JSON "Transfer-Encoding: ", BAD },
		{ JSON "Content-Length: ", BAD },
		{ JSON "Content-Length: 5,5", BAD },
		{ JSON "Content-Length: +5", BAD },
		{ JSON "Content-Length: -1", BAD },
		{ JSON "Content-Length: 0x5", BAD },
		{ JSON "Content-Length: 5 ", BAD },
		{ JSON "Content-Length: 18446744073709551621", BAD }, /* 5 in 64 bits */
		{ JSON "Content-Length: 999999999999999999", "body_too_large" },
		{ JSON JSON "Content-Length: 5", BAD },
		{ "Idempotency-Key: a\nIdempotency-Key: b", BAD },
		{ "Accept: */*\nAccept: */*", "ok" },
	};
	struct precheck a;

	check("POST", "/ratelimit", ROWS(rows));
	static const struct {
		const char *version, *headers, *wanted;
	} versions[] = {
		{ "HTTP/1.0", "", "" },
		{ "HTTP/1.1", "", "" },
		{ "HTTP/2.0", "", "malformed_request" },
		{ "HTTP/1.0", "Transfer-Encoding: chunked", "malformed_request" },
		{ "ICY", "", "malformed_request" },
	};
	for (size_t i = 0; i < COUNT(versions); i++) {
		struct request *req = admitted("POST", "/ratelimit", versions[i].headers, &a);
		a.version = versions[i].version;
		precheck_run(&a);
		if (!*versions[i].wanted)
			assert_false(req->answer.close);
		else
			assert_string_equal(problem_of(req), versions[i].wanted);
		asked_end(req);
	}
	struct request *req = admitted("GET", "/locks", "", &a);
	a.headers.flaw = "a flaw";
	assert_false(precheck_run(&a));
	assert_true(req->answer.close);
	asked_end(req);
}

/*
 * No line of a header counts while another is ignored: several lines are one list, or they are
 * refused. A new header of the daemon needs a row.
 */
TEST(each_line_of_a_header_counts)
{
	static const char *const names[HEADER_OF_OPERATIONS] = {
		[HEADER_HOST] = "Host",
		[HEADER_CONTENT_LENGTH] = "Content-Length",
		[HEADER_TRANSFER_ENCODING] = "Transfer-Encoding",
		[HEADER_AUTHORIZATION] = "Authorization",
		[HEADER_CONTENT_TYPE] = "Content-Type",
		[HEADER_CONTENT_ENCODING] = "Content-Encoding",
		[HEADER_ACCEPT] = "Accept",
		[HEADER_ACCEPT_ENCODING] = "Accept-Encoding",
		[HEADER_EXPECT] = "Expect",
		[HEADER_ORIGIN] = "Origin",
		[HEADER_SEC_FETCH_SITE] = "Sec-Fetch-Site",
		[HEADER_REQUEST_METHOD] = "Access-Control-Request-Method",
		[HEADER_IDEMPOTENCY_KEY] = "Idempotency-Key",
		[HEADER_IDEMPOTENCY_TTL] = "Idempotency-TTL-Ms",
		[HEADER_REQUEST_ID] = "X-Request-ID",
		[HEADER_TRACEPARENT] = "traceparent",
		[HEADER_IF_MATCH] = "If-Match",
		[HEADER_IF_NONE_MATCH] = "If-None-Match",
		[HEADER_NAME] = "Patternd-Name",
	};

	for (size_t i = 0; i < HEADER_COUNT; i++) {
		const char *name = i < HEADER_OF_OPERATIONS ? names[i] : operation_headers[i - HEADER_OF_OPERATIONS].at;
		struct precheck a;
		assert_non_null(name);
		struct request *req = admitted("POST", "/ratelimit", "", &a);
		http_headers_add(&a.headers, name, "one");
		http_headers_add(&a.headers, name, "two");
		const char *repeated = http_headers_repeated(&a.headers);
		if (repeated ? strcmp(repeated, name) != 0 : !text_is(a.headers.value[i], "one, two"))
			fail_msg("%s: %s", name, a.headers.value[i].at);
		asked_end(req);
	}
}

/* RFC 9110, sections 5.6.2 and 5.5: which bytes a header may hold, and where. */
TEST(bytes_of_headers)
{
	static const char tchars[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct precheck a;

	for (int c = 1; c < 256; c++) {
		const char name[] = { 'X', (char)c, 'Y', 0 }, last[] = { 'X', (char)c, 0 },
			   value[] = { 'v', (char)c, 0 };
		const char *const names[] = { name, name + 1, last };
		for (size_t i = 0; i < 3; i++) {
			struct request *req = admitted("GET", "/locks", "", &a);
			http_headers_add(&a.headers, names[i], "v");
			if (precheck_run(&a) != (strchr(tchars, c) != NULL))
				fail_msg("byte %d of a name", c);
			asked_end(req);
		}
		struct request *req = admitted("GET", "/locks", "", &a);
		http_headers_add(&a.headers, "X", value);
		if (precheck_run(&a) != ((c >= ' ' && c != 127) || c == '\t'))
			fail_msg("byte %d of a value", c);
		asked_end(req);
	}
	static const struct row rows[] = {
		{ ": v", BAD },
		{ "Transfer_Encoding: chunked", BAD },
		{ "content_length: 5", BAD },
		{ "Idempotency_Key: k", BAD },
		{ "Sec-Fetch_Site: none", BAD },
		{ "_Host: a", "ok" },
		{ "X_Forwarded_For: 10.0.0.1", "ok" },
		{ "Transfer-Encodings: chunked", "ok" },
	};
	check("GET", "/locks", ROWS(rows));
}

TEST(headers_that_repeat)
{
	static const struct row rows[] = {
		{ "Lock-Token: a\nLock-Token: a", BAD },
		{ "Fence: 1\nFence: 1", BAD },
		{ "Fill-Ticket: a\nFill-Ticket: a", BAD },
		{ "If-Match: *\nIf-Match: *", "ok" }, /* its lines are a list; the handler checks the values */
		{ "If-None-Match: a\nIf-None-Match: a", "ok" },
		{ "X-Request-ID: a\nX-Request-ID: b", "ok" },
	};

	check("GET", "/locks", ROWS(rows));
}

TEST(bodies)
{
	static const struct row rows[] = {
		{ "", "ok" }, /* none: input reports what is missing */
		{ "Content-Type: text/plain", "ok" },
		{ JSON "Content-Length: 66560", "ok" },
		{ JSON "Content-Length: 132097", "body_too_large" },
		{ "Content-Length: 5", "unsupported_media_type" },
		{ "Transfer-Encoding: chunked", "unsupported_media_type" },
		{ "Content-Type: text/plain\nContent-Length: 5", "unsupported_media_type" },
		{ "Content-Type: application/x-www-form-urlencoded\nContent-Length: 5", "unsupported_media_type" },
		{ "Content-Type: application/jsonp\nContent-Length: 5", "unsupported_media_type" },
		{ "Content-Type: application/json-seq\nContent-Length: 5", "unsupported_media_type" },
		{ "Content-Type: application/jso\nContent-Length: 5", "unsupported_media_type" },
		{ "Content-Type: \nContent-Length: 5", "unsupported_media_type" },
		{ "Content-Type: text/plain, application/json\nContent-Length: 5", "unsupported_media_type" },
		{ "Content-Type: Application/JSON; charset=utf-8\nContent-Length: 5", "ok" },
		{ "Content-Type: application/json ;charset=utf-8\nContent-Length: 5", "ok" },
		{ JSON "Content-Length: 5\nContent-Encoding: identity", "ok" },
		{ JSON "Content-Length: 5\nContent-Encoding: gzip", "unsupported_media_type" },
		{ JSON "Content-Length: 5\nExpect: 100-continue", "ok" },
		{ JSON "Content-Length: 5\nExpect: 100-Continue", "ok" },
		{ JSON "Content-Length: 5\nExpect: 200-ok", "expectation_failed" },
		{ "Expect: ", "expectation_failed" },
	};
	check("POST", "/ratelimit", ROWS(rows));
	assert_string_equal(verdict("GET", "/locks", JSON "Content-Length: 5"), "unexpected_body");
	assert_string_equal(verdict("GET", "/locks", "Transfer-Encoding: chunked"), "unexpected_body");
	assert_string_equal(verdict("GET", "/locks", "Content-Length: 0"), "ok");
}

/*
 * The headers that a reverse proxy forwards were meant for the proxy, so only framing is checked.
 */
TEST(forwarded)
{
	static const struct row rows[] = {
		{ "Host: evil.example", "ok" },
		{ "Host: a b", "ok" },
		{ "Host: localhost\nOrigin: https://evil.example", "ok" },
		{ "Host: localhost\nSec-Fetch-Site: cross-site", "ok" },
		{ "Host: localhost\nAccept: text/html", "ok" },
		{ "Host: localhost\nExpect: the-unexpected", "ok" },
		{ "Host: localhost\nContent-Type: text/plain\nContent-Length: 99999999", "ok" },
		{ "Host: localhost\nContent-Encoding: gzip\nTransfer-Encoding: chunked", "ok" },
		{ "Host: localhost\nIdempotency-Key: \"\"", "ok" },
		{ "Host: evil.example\nHost: evil.example", "malformed_request+close" },
		{ "Host: localhost\nContent-Length: 5\nTransfer-Encoding: chunked", "malformed_request+close" },
		{ "Host: localhost\nContent-Length: 5, 5", "malformed_request+close" },
	};
	struct precheck a;

	check("GET", "/ratelimit/authorize?policy=p&key=k", ROWS(rows));
	check("PROPFIND", "/ratelimit/authorize/p/%zz", ROWS(rows));
	struct request *req = admitted("POST", "/ratelimit/authorize", "Idempotency-Key: theirs", &a);
	assert_true(precheck_run(&a));
	assert_null(req->asked.idempotency_key.at);
	asked_end(req);
}
