/*
 * /ratelimit/authorize as reverse proxies call it: with their client's method, path and headers,
 * and with a body that is announced and never sent. (With the proxies themselves:
 * test_reverse_proxies.c.)
 */
#include <signal.h>

#include "../support/raw.h"
#include "stage.h"
#include "test.h"

enum { ANSWER_MS = 2000 };

static void put(const char *policy, const char *body)
{
	char target[96];

	snprintf(target, sizeof(target), "/ratelimit/policies/%s", policy);
	assert_in_range(http(client, "PUT", target, body).status, 200, 201);
}

static void put_all(void)
{
	put("p", "{\"limit\":1000,\"window_ms\":3600000}");
	put("h", "{\"limit\":1000,\"window_ms\":3600000,\"key_header\":\"X-User\"}");
	put("two", "{\"limit\":2,\"window_ms\":3600000,\"key_header\":\"X-User\"}");
}

static int64_t taken(const char *policy, const char *key)
{
	char target[256];

	snprintf(target, sizeof(target), "/ratelimit/keys/%s?policy=%s", key, policy);
	struct answer a = get(target);
	bool is_used = !json_is_null(json_at(a, "/algorithm"));
	return is_used ? int_at(a, "/capacity") - int_at(a, "/remaining") : 0;
}

#define ASK "/ratelimit/authorize?policy=p&key=k"

/* ---- Headers that the client meant for others ---- */

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(any_method)
{
	static const char *const methods[] = { "GET",    "HEAD",    "POST", "PUT",      "PATCH",
					       "DELETE", "OPTIONS", "BREW", "PROPFIND", "TRACE" };
	enum { METHODS = COUNT(methods) };

	put_all();
	for (size_t i = 0; i < METHODS; i++) {
		struct answer a = http(client, methods[i], ASK, NULL);
		assert_status(a, 200);
		assert_non_null(header_of(a, "RateLimit"));
		assert_status(http(client, methods[i], "/ratelimit/authorize/h/a/b", NULL), 200);
	}
	assert_int_equal(taken("p", "k"), METHODS);
	assert_int_equal(taken("h", "-"), METHODS);
}

TEST(any_header)
{
	static const char *const headers[] = {
		"Host: shop.example",
		"Host: shop.example:443",
		"Origin: https://evil.example",
		"Origin: null",
		"Sec-Fetch-Site: cross-site",
		"Accept: text/html,application/xhtml+xml",
		"Accept: image/avif,image/webp",
		"Accept-Encoding: gzip, br",
		"Expect: the-unexpected",
		"Content-Type: multipart/form-data; boundary=x",
		"If-None-Match: \"x\"",
		"Range: bytes=0-1",
		"Cookie: session=1",
		"Lock-Token: x",
		"Idempotency-Key: client-1",
		"Idempotency-Key: client-1", /* if it counted here, the second call would take nothing */
		"Idempotency-Key: ",
		"traceparent: nonsense",
	};
	enum { HEADERS = COUNT(headers) };

	put_all();
	for (size_t i = 0; i < HEADERS; i++) {
		struct answer a = http(client, "GET", ASK, NULL, headers[i]);
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/remaining"), 1000 - (int64_t)i - 1);
	}
}

/* ---- The body ---- */

#define HOST "Host: shop.example\r\n"
#define HEAD(method) method " " ASK " HTTP/1.1\r\n" HOST

struct row {
	const char *name, *request;
};

static const struct row with_body[] = {
	{ "a length and no body", HEAD("GET") "Content-Length: 5\r\n\r\n" },
	{ "a POST with a length and no body", HEAD("POST") "Content-Length: 5\r\n\r\n" },
	{ "a huge length", HEAD("PUT") "Content-Length: 999999999999\r\n\r\n" },
	{ "chunks that never come", HEAD("POST") "Transfer-Encoding: chunked\r\n\r\n" },
	{ "a client that expects 100 Continue", HEAD("POST") "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n" },
	{ "a body that is sent", HEAD("POST") "Content-Length: 5\r\n\r\n12345" },
	{ "half a body", HEAD("POST") "Content-Length: 5\r\n\r\n123" },
	{ "chunks that come", HEAD("POST") "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n" },
	{ "a body like a request", HEAD("POST") "Content-Length: 5\r\n\r\nGET " ASK " HTTP/1.1\r\n" HOST "\r\n" },
	{ "by path", "GET /ratelimit/authorize/h/x HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n" },
};

/* The answer comes after the headers, and later bytes are never read as another request. */
TEST(body_is_not_waited_for)
{
	put_all();
	for (size_t i = 0; i < COUNT(with_body); i++) {
		struct raw *r = raw_connect(patternd.port);
		int64_t before = taken("p", "k") + taken("h", "-"), begun_ms = monotonic_ms();
		raw_text(r, with_body[i].request);
		struct answer a = raw_answer(r, ANSWER_MS);
		if (a.status != 200)
			fail_msg("%s: %d", with_body[i].name, a.status);
		assert_string_equal(header_of(a, "Connection"), "close");
		assert_true(raw_closed(r, ANSWER_MS));
		assert_int_equal(raw_answers_left(r), 0);
		assert_in_range(monotonic_ms() - begun_ms, 0, ANSWER_MS);
		assert_int_equal(taken("p", "k") + taken("h", "-") - before, 1);
		raw_close(r);
	}
}

/* While Redis is slow, the daemon suspends the connection before it would read a body. */
TEST(body_is_not_waited_for_while_redis_is_slow)
{
	struct raw *r[2];

	put_all();
	server_signal(&redis, SIGSTOP);
	for (int i = 0; i < 2; i++) {
		r[i] = raw_connect(patternd.port);
		raw_text(r[i], HEAD("POST") "Content-Length: 5\r\n\r\n");
	}
	raw_text(r[1], "12345");
	assert_int_equal(raw_answer(r[0], 100).status, 0);
	server_signal(&redis, SIGCONT);
	for (int i = 0; i < 2; i++) {
		assert_status(raw_answer(r[i], ANSWER_MS), 200);
		assert_true(raw_closed(r[i], ANSWER_MS));
		raw_close(r[i]);
	}
}

/* A client that disconnects while Redis is slow leaves nothing behind. */
TEST(leaving_amid)
{
	put_all();
	int files = daemon_open_files(&patternd);
	server_signal(&redis, SIGSTOP);
	for (int i = 0; i < 20; i++) {
		struct raw *r = raw_connect(patternd.port);
		raw_text(r, i % 2 ? HEAD("POST") "Content-Length: 5\r\n\r\n" : HEAD("GET") "\r\n");
		if (i % 4 < 2)
			raw_reset(r);
		else
			raw_close(r);
	}
	server_signal(&redis, SIGCONT);
	wait_until(daemon_open_files(&patternd) <= files, 5000);
	assert_status(http(client, "GET", ASK, NULL), 200);
}

TEST(connection_continues_without_body)
{
	struct raw *r = raw_connect(patternd.port);

	put_all();
	for (int i = 0; i < 3; i++)
		raw_text(r, HEAD("POST") "Content-Length: 0\r\n\r\n");
	for (int i = 0; i < 3; i++)
		assert_status(raw_answer(r, ANSWER_MS), 200);
	raw_close(r);
}

/* ---- The key ---- */

static bool is_listed(const char *key)
{
	struct answer a = get_all("/ratelimit/keys?limit=1000");
	const json_t *items = json_at(a, "/items");

	for (size_t i = 0; i < json_array_size(items); i++)
		if (strcmp(json_string_value(json_object_get(json_array_get(items, i), "key")), key) == 0)
			return true;
	return false;
}

/* printf '%s' VALUE | sha256sum */
static const struct {
	const char *header, *key;
} headers_and_keys[] = {
	{ "X-User: alice", "alice" },
	{ "X-User:   alice  ", "alice" },
	{ "X-User: a/b c?d&e", "a/b c?d&e" },
	{ "X-User: \xc3\xa9", "\xc3\xa9" },
	{ "X-User;", "-" }, /* libcurl sends an empty value */
	{ "X-Other: x", "-" },
	{ "X-User: .", "sha256:cdb4ee2aea69cc6a83331bbe96dc2caa9a299d21329efb0336fc02a82e1839a8" },
	{ "X-User: {a}", "sha256:460c3a93211614ac783c0f1d1bbbcb45a6da87d6421b5c0771772588f1015ff8" },
	{ "X-User: sha256:x", "sha256:fe8eb9ab9836bcf963c044b6f84eb71c089db399876f45e72a6c21b488da26c4" },
	{ "X-User: \xff", "sha256:a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89" },
};

TEST(key_of_a_header)
{
	for (size_t i = 0; i < COUNT(headers_and_keys); i++) {
		const char *header = headers_and_keys[i].header, *key = headers_and_keys[i].key;
		server_command(&redis, "FLUSHALL");
		put_all();
		assert_status(http(client, "GET", "/ratelimit/authorize?policy=p&key_header=X-User", NULL, header),
			      200);
		assert_status(http(client, "GET", "/ratelimit/authorize?policy=h", NULL, header), 200);
		assert_status(http(client, "GET", "/ratelimit/authorize/h/x?key=other", NULL, header), 200);
		struct answer a = get_all("/ratelimit/keys");
		assert_int_equal(json_array_size(json_at(a, "/items")), 2); /* one of p, one of h */
		const char *found = text_at(a, "/items/0/key");
		assert_string_equal(found, text_at(a, "/items/1/key"));
		assert_string_equal(found, key);
	}
}

/* A proxy may add its line behind the client's, which would then choose the key. */
TEST(several_lines_are_no_key)
{
	static const char *const targets[] = { "/ratelimit/authorize?policy=p&key_header=X-User",
					       "/ratelimit/authorize?policy=h", "/ratelimit/authorize/h/x" };

	put_all();
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct answer a = http(client, "GET", targets[i], NULL, "X-User: fresh", "X-User: me");
		assert_problem(a, 400, "malformed_request", "none");
		a = http(client, "GET", targets[i], NULL, "X-User;", "x-user: me");
		assert_problem(a, 400, "malformed_request", "none");
		assert_status(http(client, "GET", targets[i], NULL, "X-User: me", "X-Other: fresh"), 200);
	}
	assert_status(get("/ratelimit/authorize?policy=h&key=k"), 200);
}

TEST(long_header_is_a_key_too)
{
	char header[400] = "X-User: ";

	put_all();
	memset(header + 8, 'a', 201);
	assert_status(http(client, "GET", "/ratelimit/authorize?policy=h", NULL, header), 200);
	assert_true(is_listed("sha256:a92efd82109373e58f9a2056dee01e807e216ce6075f7051207c0a9f7d666e50"));
	header[8 + 200] = '\0';
	assert_status(http(client, "GET", "/ratelimit/authorize?policy=h", NULL, header), 200);
	assert_true(is_listed(header + 8));
}

/* Credentials are never keys in Redis; sha256sum gives the key to look for. */
TEST(credentials_are_digested)
{
	static const char *const names[] = { "Authorization", "authorization", "Cookie", "Proxy-Authorization",
					     "X-API-Key" };
	char target[128], header[64];

	put_all();
	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(target, sizeof(target), "/ratelimit/authorize?policy=p&key_header=%s", names[i]);
		snprintf(header, sizeof(header), "%s: hunter2", names[i]);
		struct answer a = http(client, "GET", target, NULL, header);
		assert_int_equal(int_at(a, "/remaining"), 1000 - (int64_t)i - 1);
	}
	assert_true(is_listed("sha256:f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7"));
	assert_int_equal(server_keys(&redis), 4); /* three policies, one key */
}

TEST(key_has_to_be_named)
{
	put_all();
	struct answer a = get("/ratelimit/authorize?policy=p");
	assert_problem(a, 400, "missing_field", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "?key");
	a = get("/ratelimit/authorize/p/x");
	assert_problem(a, 400, "missing_field", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "{policy}");
	a = get("/ratelimit/authorize?policy=p&key=k&key_header=X");
	assert_problem(a, 400, "invalid_value", "none");
	assert_problem(get("/ratelimit/authorize?policy=nowhere&key=k"), 404, "not_found", "none");
	assert_problem(get("/ratelimit/authorize/nowhere/x"), 404, "not_found", "none");
	assert_problem(get("/ratelimit/authorize/"), 400, "invalid_name", "none");
	assert_int_equal(server_keys(&redis), 3);
}

/* ---- The answer ---- */

TEST(refused_as_asked)
{
	put_all();
	for (int i = 0; i < 2; i++)
		assert_status(get("/ratelimit/authorize?policy=two&key=k"), 200);
	struct answer a = get("/ratelimit/authorize?policy=two&key=k");
	assert_problem(a, 429, "rate_limited", "none");
	assert_string_equal(header_of(a, "Retry-After"), "1800");
	a = get("/ratelimit/authorize?policy=two&key=k&deny_status=403");
	assert_problem(a, 403, "rate_denied", "none");
	assert_string_equal(header_of(a, "Retry-After"), "1800");
	assert_string_equal(header_of(a, "RateLimit"), "\"two\";r=0;t=1800");
	assert_int_equal(int_at(a, "/remaining"), 0);
	assert_true(int_at(a, "/retry_after_ms") > 1700000);
	for (int i = 0; i < 2; i++)
		assert_status(http(client, "GET", "/ratelimit/authorize/two/x", NULL, "X-User: u"), 200);
	assert_problem(http(client, "POST", "/ratelimit/authorize/two/y", NULL, "X-User: u"), 429, "rate_limited",
		       "none");
	a = http(client, "HEAD", "/ratelimit/authorize?policy=two&key=k", NULL);
	assert_status(a, 429);
	assert_non_null(header_of(a, "Retry-After"));
}

/* The client's path and query follow the policy's name. They are ignored, whatever they contain. */
TEST(any_tail)
{
	static const char *const tails[] = {
		"",
		"/",
		"//",
		"/shop/cart",
		"/shop/cart/",
		"/?policy=p&key=me&deny_status=403&nonsense=1",
		"?x=%zz&&&=",
		"/%zz/%",
		"/%00",
		"/%7B%7D/\xff\xfe",
		"/a?b?c#d",
		"/..%2f..%2fetc/passwd",
		"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20",
		"/policies/p",
	};
	enum { TAILS = COUNT(tails) };
	char request[512];

	put_all();
	for (size_t i = 0; i < TAILS; i++) {
		struct raw *r = raw_connect(patternd.port);
		snprintf(request, sizeof(request),
			 "GET /ratelimit/authorize/h%s HTTP/1.1\r\nHost: x\r\nX-User: me\r\n\r\n", tails[i]);
		raw_text(r, request);
		struct answer a = raw_answer(r, ANSWER_MS);
		if (a.status != 200)
			fail_msg("%s: %d", tails[i], a.status);
		raw_close(r);
	}
	assert_int_equal(taken("h", "me"), TAILS);
}

/* No other operation can be reached that way. */
TEST(other_paths_are_as_strict_as_before)
{
	assert_problem(get("/ratelimit/%zz"), 400, "malformed_request", "none");
	assert_problem(get("/ratelimit/authorize%2Fp/x"), 404, "unknown_path", "none");
	assert_problem(get("/locks/a/b/c/d/e/f/g/h/i/j/k/l/m/n"), 404, "unknown_path", "none");
	assert_problem(http(client, "GET", "/ratelimit/keys", NULL, "Host: evil.example"), 403, "host_not_allowed",
		       "none");
	assert_problem(http(client, "GET", "/ratelimit/keys", NULL, "Origin: https://evil.example"), 403, "cross_site",
		       "none");
}
