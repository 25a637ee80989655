/*
 * --cors-origins: pages of these origins may call from a browser and read the answers. Pages of
 * other origins may not, and without the option no page may.
 */
#include "../support/contract.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/redis_server.h"
#include "../support/stride.h"
#include "../support/tokens.h"
#include "test.h"

#define PAGE "https://app.example"
#define FROM_PAGE "Origin: " PAGE
#define ASKS(method) "Access-Control-Request-Method: " method

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

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

static int start(void **state)
{
	daemon_start(&patternd, "--redis", redis.url, "--cors-origins",
		     PAGE ", http://localhost:3000,https://[::1]:8443,tauri://localhost,vscode-webview://0aBc,"
			  "chrome-extension://abcdefghijklmnop",
		     "--cors-headers", "sentry-trace, x-datadog-trace-id");
	client = client_open(patternd.port);
	return 0;
}

static int stop(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	return 0;
}

static void must_have(struct answer a, const char *name, const char *value)
{
	const char *got = header_of(a, name);

	if (value ? !got || strcmp(got, value) != 0 : got != NULL) {
		answer_print(a);
		fail_msg("%s is '%s', not '%s'", name, got ? got : "(none)", value ? value : "(none)");
	}
}

static void may_read(struct answer a, const char *origin)
{
	must_have(a, "Access-Control-Allow-Origin", origin);
	must_have(a, "Vary", "Origin");
	must_have(a, "Access-Control-Allow-Credentials", NULL);
	const char *exposed = header_of(a, "Access-Control-Expose-Headers");
	assert_non_null(exposed);
	assert_non_null(strstr(exposed, "RateLimit-Remaining"));
	assert_non_null(strstr(exposed, "Retry-After"));
	assert_non_null(strstr(exposed, "Idempotent-Replayed"));
	assert_non_null(strstr(exposed, "X-Request-ID"));
	assert_non_null(strstr(exposed, "ETag"));
}

SUITE(.open = open_redis, .close = close_redis, .before = start, .after = stop);

TEST(bad_options, .before = no_fixture, .after = no_fixture)
{
	static const char *const bad[] = { "*",
					   "null",
					   "app.example",
					   "https://app.example/",
					   "https://app.example/x",
					   "https://App.example",
					   "HTTPS://app.example",
					   "https://app.example:443",
					   "http://app.example:80",
					   "https://app.example:",
					   "https://app.example:x",
					   "https://app.example:0",
					   "https://app.example:080",
					   "https://app.example:123456",
					   "https://*.example",
					   "https://me@app.example",
					   "https://",
					   "https://[::1",
					   "https://[]",
					   "file://",
					   "tauri:localhost",
					   "tauri://localhost/",
					   "Tauri://localhost",
					   "1tauri://localhost",
					   "tauri://loc alhost/x",
					   "://localhost",
					   "https://a.example,b.example",
					   "https://a.example;https://b.example" };
	const char *said;

	for (size_t i = 0; i < COUNT(bad); i += (size_t)stride()) {
		assert_int_equal(daemon_run(&patternd, "--listen", "127.0.0.1:0", "--cors-origins", bad[i]), 2);
		said = "patternd: --cors-origins: '";
		if (!proc_wrote(&patternd.proc, said) ||
		    !proc_wrote(&patternd.proc, "is not an origin: expected one like"))
			fail_msg("'%s' should be refused", bad[i]);
	}
}

TEST(bad_headers, .before = no_fixture, .after = no_fixture)
{
	static const char *const bad[] = { "a b", "a,,b", "a:", "a\r\nb", "x-\xc3\xa9", "(a)" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(daemon_run(&patternd, "--listen", "127.0.0.1:0", "--cors-headers", bad[i]), 2);
		assert_true(proc_wrote(&patternd.proc, "patternd: --cors-headers: '"));
	}
}

TEST(pages_that_may)
{
	static const char *const origins[] = { PAGE,
					       "http://localhost:3000",
					       "https://[::1]:8443",
					       "tauri://localhost",
					       "vscode-webview://0aBc",
					       "chrome-extension://abcdefghijklmnop" };
	char header[128];

	for (size_t i = 0; i < COUNT(origins); i++) {
		snprintf(header, sizeof(header), "Origin: %s", origins[i]);
		struct answer a = http(client, "GET", "/locks/a", NULL, header, "Sec-Fetch-Site: cross-site");
		assert_status(a, 200);
		may_read(a, origins[i]);
	}
	/* Errors may be read as well. */
	may_read(http(client, "GET", "/no/such", NULL, FROM_PAGE), PAGE);
	may_read(http(client, "BREW", "/locks/a", NULL, FROM_PAGE), PAGE);
	may_read(http(client, "GET", "/bloom/none", NULL, FROM_PAGE), PAGE);
	struct answer a = http(client, "POST", "/ratelimit", "{\"key\":\"k\",\"limit\":1,\"window_ms\":1000}",
			       FROM_PAGE, "Content-Type: text/plain");
	assert_problem(a, 415, "unsupported_media_type", "none"); /* a simple request is still refused */
	may_read(a, PAGE);
	/* A request without Origin gets no CORS headers, only Vary. */
	a = http(client, "GET", "/locks/a", NULL);
	assert_status(a, 200);
	must_have(a, "Access-Control-Allow-Origin", NULL);
	must_have(a, "Access-Control-Expose-Headers", NULL);
	must_have(a, "Vary", "Origin");
}

TEST(pages_that_may_not)
{
	static const char *const origins[] = { "https://evil.example",
					       "http://app.example",
					       "https://app.example:8443",
					       "https://app.example.evil.example",
					       "https://xapp.example",
					       "https://app.example/",
					       "https://APP.example",
					       "https://app.example, https://evil.example",
					       "https://app.exampl",
					       "http://localhost",
					       "http://localhost:30000",
					       "https://app.example,http://localhost:3000",
					       "null" };
	char header[128];

	for (size_t i = 0; i < COUNT(origins); i++) {
		snprintf(header, sizeof(header), "Origin: %s", origins[i]);
		struct answer a = http(client, "GET", "/locks/a", NULL, header);
		assert_problem(a, 403, "cross_site", "none");
		must_have(a, "Access-Control-Allow-Origin", NULL);
		a = http(client, "OPTIONS", "/locks/a", NULL, header, ASKS("POST"));
		assert_problem(a, 403, "cross_site", "none");
		must_have(a, "Access-Control-Allow-Origin", NULL);
		must_have(a, "Access-Control-Allow-Methods", NULL);
	}
	assert_status(http(client, "GET", "/locks/a", NULL, FROM_PAGE, "Origin: https://evil.example"), 400);
	assert_problem(http(client, "GET", "/locks/a", NULL, FROM_PAGE, "Host: evil.example"), 403, "host_not_allowed",
		       "none");
	assert_problem(http(client, "OPTIONS", "/locks/a", NULL, FROM_PAGE, ASKS("GET"), "Host: evil.example"), 403,
		       "host_not_allowed", "none");
	struct answer a = http(client, "OPTIONS", "/locks/a", NULL, FROM_PAGE); /* not a preflight */
	assert_status(a, 204);
	must_have(a, "Access-Control-Allow-Methods", NULL);
}

/* True when `word` is in a list "a, b, c". */
static bool lists(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at && (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ' ') && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}

/* A preflight of any operation allows its headers, and exactly the methods of its path. */
TEST(preflights)
{
	static const char *const methods[] = { "GET", "PUT", "POST", "PATCH", "DELETE" };

	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		char *target = contract_target(op, NULL, NULL);
		if (op->forwarded) {
			free(target);
			continue;
		}
		struct answer a = http(client, "OPTIONS", target, NULL, FROM_PAGE, ASKS("POST"),
				       "Access-Control-Request-Headers: content-type");
		assert_status(a, 204);
		may_read(a, PAGE);
		const char *taken = header_of(a, "Access-Control-Allow-Methods");
		const char *headers = header_of(a, "Access-Control-Allow-Headers");
		for (size_t k = 0; k < COUNT(methods); k++)
			if (lists(taken, methods[k]) != contract_path_takes(op->path, methods[k]))
				fail_msg("%s: %s", target, taken);
		assert_true(lists(headers, "Content-Type"));
		assert_true(lists(headers, "Authorization"));
		assert_true(lists(headers, "traceparent") && lists(headers, "tracestate") && lists(headers, "baggage"));
		assert_true(lists(headers, "sentry-trace") && lists(headers, "x-datadog-trace-id"));
		for (size_t k = 0; k < op->parameter_count; k++)
			if (strcmp(op->parameters[k].in, "header") == 0 && !lists(headers, op->parameters[k].name))
				fail_msg("%s %s: %s is not in %s", op->method, target, op->parameters[k].name, headers);
		free(target);
	}
	assert_status(http(client, "OPTIONS", "/no/such", NULL, FROM_PAGE, ASKS("GET")), 404);
	assert_status(http(client, "OPTIONS", "/locks/%zz", NULL, FROM_PAGE, ASKS("GET")), 400);
}

/* OPTIONS is an ordinary method there: a proxy forwards the method of its client. */
TEST(proxies_ask_with_any_method)
{
	struct answer a =
		http(client, "OPTIONS", "/ratelimit/authorize?policy=none&key=k", NULL, FROM_PAGE, ASKS("GET"));

	assert_problem(a, 404, "not_found", "none");
	must_have(a, "Access-Control-Allow-Origin", NULL);
	must_have(a, "Access-Control-Allow-Methods", NULL);
}

/* A browser sends no token with a preflight; the page sends it with the request. */
TEST(beside_tokens, .before = no_fixture)
{
	daemon_start(&patternd, "--redis", redis.url, "--cors-origins", PAGE, "--tokens",
		     tokens_file("secret", "locks:*"));
	client = client_open(patternd.port);
	assert_status(http(client, "OPTIONS", "/locks/a", NULL, FROM_PAGE, ASKS("GET")), 204);
	struct answer a = http(client, "GET", "/locks/a", NULL, FROM_PAGE);
	assert_status(a, 401);
	may_read(a, PAGE);
	a = http(client, "GET", "/locks/a", NULL, FROM_PAGE, AUTHORIZATION("secret"));
	assert_status(a, 200);
	may_read(a, PAGE);
}

TEST(off_by_default, .before = no_fixture)
{
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	struct answer a = http(client, "GET", "/locks/a", NULL, FROM_PAGE);
	assert_problem(a, 403, "cross_site", "none");
	must_have(a, "Access-Control-Allow-Origin", NULL);
	must_have(a, "Vary", NULL);
	a = http(client, "OPTIONS", "/locks/a", NULL, FROM_PAGE, ASKS("GET"));
	assert_problem(a, 403, "cross_site", "none");
	must_have(a, "Access-Control-Allow-Methods", NULL);
	/*
	 * A form on another page needs no preflight. The daemon refuses such a request with or
	 * without a body.
	 */
	static const char *const types[] = { "Content-Type: text/plain",
					     "Content-Type: application/x-www-form-urlencoded",
					     "Content-Type: multipart/form-data; boundary=x", "Content-Type:" };
	for (size_t i = 0; i < COUNT(types); i++) {
		a = http(client, "POST", "/locks/a", "{}", types[i]);
		assert_problem(a, 415, "unsupported_media_type", "none");
		a = http(client, "POST", "/locks/a", "{}", types[i], FROM_PAGE);
		assert_problem(a, 403, "cross_site", "none");
	}
	a = http(client, "POST", "/cache/k/fill", NULL, FROM_PAGE);
	assert_problem(a, 403, "cross_site", "none");
	assert_int_equal(server_keys(&redis), 0);
}
