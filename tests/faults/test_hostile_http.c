/*
 * Hostile HTTP: requests that are framed or addressed as no client should. Each row begins with the number of its kind:
 *
 *	1 both framings   2, 3 Content-Length   4 Transfer-Encoding   5 chunks   6 header syntax   7 Host   8 browsers
 *	9 methods and targets   10 bytes in targets   12 too long   13 too large   16 Expect   18 a body where none belongs
 *
 * What must come out: a refusal (4xx) that is a problem, or, for what libmicrohttpd refuses before the daemon sees it, a
 * page of its own; one answer, never two; and a daemon that goes on as if nothing had been.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/daemon.h"
#include "../support/exchange.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/rows.h"
#include "requests.h"

enum { BODY_MS = 400, ANSWER_MS = 3000, BODY_LIMIT = 65536 };

static struct redis_server redis;
static struct daemon patternd;

/* ---- Requests that are wrong as they stand ---- */

struct row {
	const char *name;
	const char *request;
	size_t len;
	int status[5];    /* any of these; 0 ends the list */
	const char *code; /* of the problem; NULL: any */
	bool page_ok;     /* libmicrohttpd may refuse it with its own page, or without a word */
	bool may_go_on;   /* the connection goes on with the next request; else it must close, with nothing more said */
};

#define SEND(bytes) .request = (bytes), .len = sizeof(bytes) - 1
static const struct row rows[] = {
	{ "1 Content-Length and chunked",
	  SEND(TAKE "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" END "0\r\n\r\n" SMUGGLED),
	  { 400 },
	  "malformed_request",
	  true,
	  false },
	{ "1 chunked and Content-Length",
	  SEND(TAKE "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n" END "0\r\n\r\n" SMUGGLED),
	  { 400 },
	  "malformed_request",
	  true,
	  false },
	{ "2 Content-Length 5 and 40",
	  SEND(TAKE "Content-Length: 5\r\nContent-Length: 40\r\n" END "12345" SMUGGLED),
	  { 400 },
	  "malformed_request",
	  true,
	  false },
	{ "2 Content-Length 40 and 5",
	  SEND(TAKE "Content-Length: 40\r\nContent-Length: 5\r\n" END "12345" SMUGGLED),
	  { 400 },
	  "malformed_request",
	  true,
	  false },
	{ "2 Content-Length 38 twice",
	  SEND(TAKE "Content-Length: 38\r\nContent-Length: 38\r\n" END BODY),
	  { 400 },
	  "malformed_request",
	  true,
	  false },
	{ "3 Content-Length 5,5",
	  SEND(TAKE "Content-Length: 5,5\r\n" END "12345" SMUGGLED),
	  { 400, 413 },
	  NULL,
	  true,
	  false },
	{ "3 Content-Length +5",
	  SEND(TAKE "Content-Length: +5\r\n" END "12345" SMUGGLED),
	  { 400, 413 },
	  NULL,
	  true,
	  false },
	{ "3 Content-Length -1",
	  SEND(TAKE "Content-Length: -1\r\n" END "12345" SMUGGLED),
	  { 400, 413 },
	  NULL,
	  true,
	  false },
	{ "3 Content-Length 0x5",
	  SEND(TAKE "Content-Length: 0x5\r\n" END "12345" SMUGGLED),
	  { 400, 413 },
	  NULL,
	  true,
	  false },
	{ "3 Content-Length of nothing", SEND(TAKE "Content-Length: \r\n" END BODY), { 400 }, NULL, true, false },
	{ "3 Content-Length 5 between spaces",
	  SEND(TAKE "Content-Length:   5  \r\n" END "12345"),
	  { 400, 413 },
	  NULL,
	  true,
	  true },
	{ "3 Content-Length 2^64",
	  SEND(TAKE "Content-Length: 18446744073709551616\r\n" END "12345"),
	  { 400, 413 },
	  NULL,
	  true,
	  false },
	{ "4 Transfer-Encoding gzip",
	  SEND(TAKE "Transfer-Encoding: gzip\r\n" END "12345"),
	  { 400, 501 },
	  NULL,
	  true,
	  false },
	{ "4 Transfer-Encoding xchunked",
	  SEND(TAKE "Transfer-Encoding: xchunked\r\n" END "0\r\n\r\n" SMUGGLED),
	  { 400, 501 },
	  NULL,
	  true,
	  false },
	{ "4 Transfer-Encoding chunked, identity",
	  SEND(TAKE "Transfer-Encoding: chunked, identity\r\n" END "0\r\n\r\n" SMUGGLED),
	  { 400, 501 },
	  NULL,
	  true,
	  false },
	{ "4 Transfer-Encoding identity, chunked",
	  SEND(TAKE "Transfer-Encoding: identity, chunked\r\n" END "0\r\n\r\n" SMUGGLED),
	  { 400, 501 },
	  NULL,
	  true,
	  false },
	{ "4 two Transfer-Encodings",
	  SEND(TAKE "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n" END "0\r\n\r\n" SMUGGLED),
	  { 400, 501 },
	  NULL,
	  true,
	  false },
	{ "4 chunked with HTTP/1.0",
	  SEND("POST /ratelimit HTTP/1.0\r\n" HOST JSON "Transfer-Encoding: chunked\r\n" END "0\r\n\r\n" SMUGGLED),
	  { 400 },
	  NULL,
	  true,
	  false },
	{ "5 chunk size overflows",
	  SEND(TAKE "Transfer-Encoding: chunked\r\n" END "FFFFFFFFFFFFFFFFF\r\n12345"),
	  { 400, 413 },
	  NULL,
	  true,
	  false },
	{ "5 chunk size zz",
	  SEND(TAKE "Transfer-Encoding: chunked\r\n" END "zz\r\n12345\r\n"),
	  { 400 },
	  NULL,
	  true,
	  false },
	{ "5 chunk size -5",
	  SEND(TAKE "Transfer-Encoding: chunked\r\n" END "-5\r\n12345\r\n"),
	  { 400, 413 },
	  NULL,
	  true,
	  false },
	{ "5 chunk without its CRLF",
	  SEND(TAKE "Transfer-Encoding: chunked\r\n" END "5\r\n12345xx0\r\n\r\n"),
	  { 400 },
	  NULL,
	  true,
	  false },
	{ "6 space before the colon", SEND(GET("/healthz") "Host : 127.0.0.1\r\n" END), { 400 }, NULL, true, false },
	{ "6 header without a colon", SEND(GET("/healthz") HOST "nonsense\r\n" END), { 400, 200 }, NULL, true, true },
	{ "6 header without a name", SEND(GET("/healthz") HOST ": x\r\n" END), { 400, 200 }, NULL, true, true },
	{ "6 lines that LF alone ends",
	  SEND("GET /healthz HTTP/1.1\nHost: 127.0.0.1\n\n"),
	  { 400, 200 },
	  NULL,
	  true,
	  true },
	{ "6 a header on two lines",
	  SEND(GET("/healthz") HOST "X-A: 1\r\n  2\r\n" END),
	  { 400, 200 },
	  NULL,
	  true,
	  true },
	{ "7 two Hosts", SEND(GET("/healthz") HOST HOST END), { 400 }, "malformed_request", true, false },
	{ "7 two different Hosts",
	  SEND(GET("/healthz") HOST "Host: evil.example\r\n" END),
	  { 400 },
	  "malformed_request",
	  true,
	  false },
	{ "7 no Host", SEND(GET("/healthz") END), { 400 }, NULL, true, false },
	{ "7 empty Host", SEND(GET("/healthz") "Host: \r\n" END), { 400, 403 }, NULL, true, true },
	{ "7 Host evil.example",
	  SEND(GET("/healthz") "Host: evil.example\r\n" END),
	  { 403 },
	  "host_not_allowed",
	  false,
	  true },
	{ "7 Host 127.0.0.1.evil.com",
	  SEND(GET("/healthz") "Host: 127.0.0.1.evil.com\r\n" END),
	  { 403 },
	  "host_not_allowed",
	  false,
	  true },
	{ "7 Host localhost.evil.com",
	  SEND(GET("/healthz") "Host: localhost.evil.com\r\n" END),
	  { 403 },
	  "host_not_allowed",
	  false,
	  true },
	{ "7 Host evil-localhost",
	  SEND(GET("/healthz") "Host: evil-localhost\r\n" END),
	  { 403 },
	  "host_not_allowed",
	  false,
	  true },
	{ "7 Host localhost with a dot",
	  SEND(GET("/healthz") "Host: localhost.\r\n" END),
	  { 403 },
	  "host_not_allowed",
	  false,
	  true },
	{ "7 Host with a user",
	  SEND(GET("/healthz") "Host: localhost@evil.example\r\n" END),
	  { 400, 403 },
	  NULL,
	  false,
	  true },
	{ "7 Host with user:password",
	  SEND(GET("/healthz") "Host: localhost:80@evil.example\r\n" END),
	  { 400, 403 },
	  NULL,
	  false,
	  true },
	{ "7 Host with a bad port",
	  SEND(GET("/healthz") "Host: localhost:http\r\n" END),
	  { 400, 403 },
	  NULL,
	  false,
	  true },
	{ "7 Host as one number",
	  SEND(GET("/healthz") "Host: 2130706433\r\n" END),
	  { 403 },
	  "host_not_allowed",
	  false,
	  true },
	{ "7 Host in hexadecimal",
	  SEND(GET("/healthz") "Host: 0x7f.1\r\n" END),
	  { 403 },
	  "host_not_allowed",
	  false,
	  true },
	{ "7 Host [", SEND(GET("/healthz") "Host: [\r\n" END), { 400, 403 }, NULL, false, true },
	{ "7 Host []", SEND(GET("/healthz") "Host: []\r\n" END), { 400, 403 }, NULL, false, true },
	{ "7 Host []:1", SEND(GET("/healthz") "Host: []:1\r\n" END), { 400, 403 }, NULL, false, true },
	{ "7 two Hosts in one",
	  SEND(GET("/healthz") "Host: 127.0.0.1, evil.example\r\n" END),
	  { 400, 403 },
	  NULL,
	  false,
	  true },
	{ "7 Host LOCALHOST:8379 is ours",
	  SEND(GET("/healthz") "Host: LOCALHOST:8379\r\n" END),
	  { 200 },
	  NULL,
	  false,
	  true },
	{ "7 Host [::1] is ours", SEND(GET("/healthz") "Host: [::1]\r\n" END), { 200 }, NULL, false, true },
	{ "7 Host [::1]:8379 is ours", SEND(GET("/healthz") "Host: [::1]:8379\r\n" END), { 200 }, NULL, false, true },
	{ "7 Host 10.1.2.3 is an IP literal",
	  SEND(GET("/healthz") "Host: 10.1.2.3:80\r\n" END),
	  { 200 },
	  NULL,
	  false,
	  true },
	{ "8 Origin evil.example",
	  SEND(GET("/locks/a") HOST "Origin: https://evil.example\r\n" END),
	  { 403 },
	  "cross_site",
	  false,
	  true },
	{ "8 Origin null", SEND(GET("/locks/a") HOST "Origin: null\r\n" END), { 403 }, "cross_site", false, true },
	{ "8 empty Origin", SEND(GET("/locks/a") HOST "Origin: \r\n" END), { 400, 403 }, NULL, false, true },
	{ "8 Origin that starts like ours",
	  SEND(GET("/locks/a") HOST "Origin: http://127.0.0.1.evil.com\r\n" END),
	  { 403 },
	  "cross_site",
	  false,
	  true },
	{ "8 two Origins",
	  SEND(GET("/locks/a") HOST "Origin: http://127.0.0.1\r\nOrigin: https://evil.example\r\n" END),
	  { 400, 403 },
	  NULL,
	  false,
	  false },
	{ "8 Sec-Fetch-Site cross-site",
	  SEND(GET("/locks/a") HOST "Sec-Fetch-Site: cross-site\r\n" END),
	  { 403 },
	  "cross_site",
	  false,
	  true },
	{ "8 Sec-Fetch-Site same-site",
	  SEND(GET("/locks/a") HOST "Sec-Fetch-Site: same-site\r\n" END),
	  { 403 },
	  "cross_site",
	  false,
	  true },
	{ "8 Sec-Fetch-Site none is a person",
	  SEND(GET("/locks/a") HOST "Sec-Fetch-Site: none\r\n" END),
	  { 200 },
	  NULL,
	  false,
	  true },
	{ "8 body text/plain",
	  SEND("POST /ratelimit HTTP/1.1\r\n" HOST "Content-Type: text/plain\r\nContent-Length: 38\r\n" END BODY),
	  { 415 },
	  "unsupported_media_type",
	  false,
	  false },
	{ "8 body of a form",
	  SEND("POST /ratelimit HTTP/1.1\r\n" HOST
	       "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 38\r\n" END BODY),
	  { 415 },
	  "unsupported_media_type",
	  false,
	  false },
	{ "8 body without a type",
	  SEND("POST /ratelimit HTTP/1.1\r\n" HOST "Content-Length: 38\r\n" END BODY),
	  { 415 },
	  "unsupported_media_type",
	  false,
	  false },
	{ "8 body application/json-patch",
	  SEND("POST /ratelimit HTTP/1.1\r\n" HOST
	       "Content-Type: application/json-patch+json\r\nContent-Length: 38\r\n" END BODY),
	  { 415 },
	  "unsupported_media_type",
	  false,
	  false },
	{ "8 two Content-Types",
	  SEND("POST /ratelimit HTTP/1.1\r\n" HOST JSON "Content-Type: text/plain\r\nContent-Length: 38\r\n" END BODY),
	  { 400, 415 },
	  NULL,
	  false,
	  false },
	{ "9 absolute form, evil host",
	  SEND(GET("http://evil.example/healthz") HOST END),
	  { 400, 403 },
	  NULL,
	  true,
	  true },
	{ "9 OPTIONS *", SEND("OPTIONS * HTTP/1.1\r\n" HOST END), { 400, 404, 405 }, NULL, true, true },
	{ "9 CONNECT",
	  SEND("CONNECT evil.example:443 HTTP/1.1\r\n" HOST END),
	  { 400, 404, 405, 501 },
	  NULL,
	  true,
	  true },
	{ "9 TRACE", SEND("TRACE /healthz HTTP/1.1\r\n" HOST END), { 405 }, "method_not_allowed", false, true },
	{ "9 FOO", SEND("FOO /healthz HTTP/1.1\r\n" HOST END), { 405 }, "method_not_allowed", false, true },
	{ "9 OPTIONS", SEND("OPTIONS /healthz HTTP/1.1\r\n" HOST END), { 405 }, "method_not_allowed", false, true },
	{ "9 get in small letters", SEND("get /healthz HTTP/1.1\r\n" HOST END), { 400, 405 }, NULL, true, true },
	{ "9 HTTP/2.0", SEND("GET /healthz HTTP/2.0\r\n" HOST END), { 400, 505 }, NULL, true, false },
	{ "9 PRI of HTTP/2", SEND("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), { 400, 405, 505 }, NULL, true, false },
	{ "9 no version", SEND("GET /healthz\r\n\r\n"), { 400, 505 }, NULL, true, false },
	{ "9 no target", SEND("GET HTTP/1.1\r\n" HOST END), { 400, 404 }, NULL, true, false },
	{ "9 target without a slash", SEND(GET("healthz") HOST END), { 400, 404 }, NULL, true, true },
	{ "10 raw NUL in the target", SEND("GET /locks/a\0b HTTP/1.1\r\n" HOST END), { 400 }, NULL, true, false },
	{ "10 raw NUL in a header", SEND(GET("/locks/a") HOST "X-A: b\0c\r\n" END), { 200, 400 }, NULL, true, true },
	{ "10 byte ff in the target", SEND(GET("/locks/\xff") HOST END), { 400 }, NULL, true, true },
	{ "10 control in the target", SEND(GET("/locks/a\x01") HOST END), { 400 }, NULL, true, true },
	{ "16 Expect: other",
	  SEND(TAKE "Content-Length: 38\r\nExpect: the-unexpected\r\n" END BODY),
	  { 417 },
	  "expectation_failed",
	  false,
	  false },
	{ "16 413 instead of 100 Continue",
	  SEND(TAKE "Content-Length: 10485760\r\nExpect: 100-continue\r\n" END),
	  { 413 },
	  "body_too_large",
	  false,
	  false },
	{ "13 body beyond the limit, from its header",
	  SEND(TAKE "Content-Length: 65537\r\n" END),
	  { 413 },
	  "body_too_large",
	  false,
	  false },
	{ "18 GET with a Content-Length and no body",
	  SEND(GET("/locks/a") HOST "Content-Length: 5\r\n" END),
	  { 400 },
	  "unexpected_body",
	  false,
	  false },
	{ "18 the same on /healthz",
	  SEND(GET("/healthz") HOST "Content-Length: 5\r\n" END),
	  { 400 },
	  "unexpected_body",
	  false,
	  false },
	{ "18 DELETE with a chunked body",
	  SEND("DELETE /locks/a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n" END),
	  { 400 },
	  "unexpected_body",
	  false,
	  false },
};

static bool is_one_of(int status, const int wanted[5])
{
	for (int i = 0; i < 5 && wanted[i]; i++)
		if (wanted[i] == status)
			return true;
	return false;
}

static bool is_page(struct answer a)
{
	const char *type = header_of(a, "Content-Type");

	return !type || strncmp(type, "text/html", 9) == 0;
}

/* What is wrong with the answer to a row, NULL when nothing is. */
static const char *flaw_of(const struct row *row, struct answer a)
{
	if (a.status == 0)
		return row->page_ok && strcmp(a.error, "the connection ended") == 0 ? NULL : "no answer";
	if (!is_one_of(a.status, row->status))
		return "status";
	if (a.status < 400)
		return NULL;
	if (row->page_ok && is_page(a))
		return NULL;
	return problem_flaw(a, a.status, row->code, "none");
}

/* Where the request line is one at all. */
static void record(const struct row *row, struct answer a)
{
	char method[16], target[256];

	if (sscanf(row->request, "%15s %255s", method, target) == 2 && *target == '/' && header_of(a, "X-Request-ID"))
		exchange_record(method, target, a);
}

static void test_row(void **state)
{
	const struct row *row = *state;
	struct raw *r = raw_connect(patternd.port);

	raw_send(r, row->request, row->len);
	struct answer a = raw_answer(r, ANSWER_MS);
	record(row, a);
	rows_record(row->name, a);
	const char *flaw = flaw_of(row, a);
	if (flaw) {
		answer_print(a);
		fail_msg("%s", flaw);
	}
	if (row->may_go_on && a.status && raw_text(r, SMUGGLED) && (a = raw_answer(r, ANSWER_MS)).status)
		assert_status(a, 200); /* it may close; if it goes on, then rightly */
	if (!row->may_go_on)
		assert_true(raw_closed(r, ANSWER_MS));
	assert_int_equal(raw_answers_left(r), 0);
	raw_close(r);
	assert_true(daemon_is_alive(&patternd));
}

/* ---- Requests too long to stand in a table ---- */

struct long_row {
	const char *name;
	const char *before, *piece;
	size_t times;
	const char *after;
	int status[5];
	bool may_close; /* without an answer, within the deadlines */
};

#define CHUNK "10\r\n0123456789abcdef\r\n" /* 16 bytes */

static const struct long_row long_rows[] = {
	{ "5 chunk extension without end",
	  TAKE "Transfer-Encoding: chunked\r\n" END "1;",
	  "a",
	  1 << 20,
	  "",
	  { 400, 413, 431 },
	  true },
	{ "5 trailers of 1 MB",
	  TAKE "Transfer-Encoding: chunked\r\n" END "0\r\n",
	  "X-Trailer: 0123456789\r\n",
	  45000,
	  "\r\n",
	  { 400, 413, 431 },
	  true },
	{ "5 chunked to 1.5 times the limit",
	  TAKE "Transfer-Encoding: chunked\r\n" END,
	  CHUNK,
	  BODY_LIMIT * 3 / 32,
	  "0\r\n\r\n",
	  { 413 },
	  false },
	{ "5 chunked to 8 times the limit",
	  TAKE "Transfer-Encoding: chunked\r\n" END,
	  CHUNK,
	  BODY_LIMIT * 8 / 16,
	  "0\r\n\r\n",
	  { 413 },
	  true },
	{ "12 target of 9 kB", "GET /locks/", "a", 9000, " HTTP/1.1\r\n" HOST END, { 414 }, false },
	{ "12 target of 40 kB", "GET /locks/", "a", 40000, " HTTP/1.1\r\n" HOST END, { 414, 431 }, true },
	{ "12 2000 headers", GET("/healthz") HOST, "X-A: 0123456789\r\n", 2000, END, { 413, 431 }, true },
	{ "12 a header of 40 kB", GET("/healthz") HOST "X-A: ", "a", 40000, "\r\n" END, { 413, 431 }, true },
	{ "12 1000 parameters", "GET /locks?limit=1", "&x=1", 1000, " HTTP/1.1\r\n" HOST END, { 400, 414, 431 }, true },
	{ "12 1000 times the same parameter",
	  "GET /uv?pages=a",
	  "&pages=a",
	  999,
	  " HTTP/1.1\r\n" HOST END,
	  { 400, 414, 431 },
	  true },
	{ "12 a parameter twice", "GET /locks?limit=1", "&limit=2", 1, " HTTP/1.1\r\n" HOST END, { 400 }, false },
};

static void test_long_row(void **state)
{
	const struct long_row *row = *state;
	struct raw *r = raw_connect(patternd.port);
	bool sent = raw_text(r, row->before) && raw_repeat(r, row->piece, row->times) && raw_text(r, row->after);
	struct answer a = raw_answer(r, BODY_MS + ANSWER_MS);
	if (a.status == 414)
		exchange_record("GET", "/locks", a);
	rows_record(row->name, a);
	if (a.status == 0) {
		/* A reset overtakes what was said before it; only what was read to the end must be answered. */
		assert_true(row->may_close);
		assert_string_equal(a.error, "the connection ended");
	} else {
		if (!is_one_of(a.status, row->status))
			answer_print(a);
		assert_true(is_one_of(a.status, row->status));
		assert_true(is_page(a) || !problem_flaw(a, a.status, NULL, "none"));
	}
	assert_true(sent || row->may_close);
	assert_true(raw_answers_left(r) == 0);
	raw_close(r);
	assert_true(daemon_is_alive(&patternd));
}

static int set_up(void **state)
{
	(void)state;
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--header-timeout-ms", "400", "--body-timeout-ms", "400",
		     "--idle-timeout-ms", "600", "--max-body-bytes", "65536");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + COUNT(long_rows)];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[n++] = (struct CMUnitTest){ rows[i].name, test_row, NULL, NULL, (void *)(uintptr_t)&rows[i] };
	for (size_t i = 0; i < COUNT(long_rows); i++)
		tests[n++] = (struct CMUnitTest){ long_rows[i].name, test_long_row, NULL, NULL,
						  (void *)(uintptr_t)&long_rows[i] };
	return _cmocka_run_group_tests("hostile HTTP", tests, n, set_up, tear_down);
}
