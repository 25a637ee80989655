/*
 * /ui and /docs, and the option --ui. The pages need no token, browsers cache them, and pages of
 * other origins cannot use them.
 */
#include "../support/proc.h"
#include "../support/stage.h"
#include "../support/tokens.h"
#include "test.h"

#define HTML "text/html; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"
#define STYLE "text/css; charset=utf-8"

static const struct {
	const char *target, *type;
} parts[] = {
	{ "/ui", HTML },
	{ "/ui/uPlot.iife.min.js", SCRIPT },
	{ "/ui/uPlot.min.css", STYLE },
	{ "/ui/land.json", "application/json" },
	{ "/docs", HTML },
	{ "/docs/docs.js", SCRIPT },
	{ "/docs/docs.css", STYLE },
	{ "/docs/swagger-ui-bundle.js", SCRIPT },
	{ "/docs/licenses.txt", "text/plain; charset=utf-8" },
	{ "/favicon.ico", "image/svg+xml" },
};
enum { PARTS = COUNT(parts) };

/*
 * A page itself is sent as it is, since curl does not decompress it. Its other files are
 * compressed.
 */
static bool is_page(size_t part)
{
	return strcmp(parts[part].type, HTML) == 0;
}

static void must_have(struct answer a, const char *name, const char *value)
{
	const char *got = header_of(a, name);

	if (!got || strcmp(got, value) != 0)
		fail_msg("%s is '%s', not '%s'", name, got ? got : "(none)", value);
}

SUITE(.open = stage_open, .close = stage_close);

TEST(pages_and_their_parts)
{
	for (size_t i = 0; i < PARTS; i++) {
		struct answer a = get(parts[i].target);
		assert_status(a, 200);
		if (is_page(i)) {
			assert_non_null(strstr(a.body, "</html>"));
			assert_null(header_of(a, "Content-Encoding"));
		} else {
			assert_true(a.body_len > 2 && memcmp(a.body, "\x1f\x8b", 2) == 0); /* gzip */
			must_have(a, "Content-Encoding", "gzip");
		}
		must_have(a, "Content-Type", parts[i].type);
		must_have(a, "Cache-Control", "no-cache");
		must_have(a, "X-Content-Type-Options", "nosniff");
		must_have(a, "Referrer-Policy", "no-referrer");
		must_have(
			a, "Content-Security-Policy",
			"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
		struct answer head = http(client, "HEAD", parts[i].target, NULL);
		assert_status(head, 200);
		must_have(head, "ETag", header_of(a, "ETag"));
	}
}

TEST(a_client_decompresses_them)
{
	struct client *c = client_open(patternd.port);

	client_decode(c);
	assert_non_null(strstr(http(c, "GET", "/ui", NULL).body, "</html>"));
	struct answer licenses = http(c, "GET", "/docs/licenses.txt", NULL);
	assert_non_null(strstr(licenses.body, "Apache License"));
	assert_non_null(strstr(licenses.body, "uplot"));
	client_close(c);
}

/* The files are stored in one form, so a client that cannot decompress them learns why. */
TEST(a_client_may_exclude_gzip)
{
	static const struct {
		const char *header, *second;
		int status;
	} rows[] = {
		{ "Accept-Encoding: gzip, deflate, br", "X: y", 200 },
		{ "Accept-Encoding: GZIP;q=0.1", "X: y", 200 },
		{ "Accept-Encoding: *", "X: y", 200 },
		{ "Accept-Encoding: identity;q=0.5, *;q=0.1", "X: y", 200 },
		{ "Accept-Encoding: br", "Accept-Encoding: gzip", 200 },
		{ "Accept-Encoding: identity", "X: y", 406 },
		{ "Accept-Encoding: gzip;q=0", "X: y", 406 },
		{ "Accept-Encoding: gzip;q=0, *", "X: y", 406 },
		{ "Accept-Encoding: br, *;q=0", "X: y", 406 },
		{ "Accept-Encoding;", "X: y", 406 }, /* libcurl sends an empty value */
	};

	for (size_t i = 0; i < PARTS; i++)
		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
			struct answer a = http(client, "GET", parts[i].target, NULL, rows[k].header, rows[k].second);
			if (a.status != (is_page(i) ? 200 : rows[k].status))
				fail_msg("%s, %s: %d", parts[i].target, rows[k].header, a.status);
			if (!is_page(i))
				must_have(a, "Vary", "Accept-Encoding");
			if (a.status == 406)
				assert_problem(a, 406, "not_acceptable", "none");
		}
}

/* Revalidation by a browser, and by a proxy that has made the ETag weak. */
TEST(what_the_caller_has_is_not_sent)
{
	char strong[256], weak[256], list[256], length[32];

	for (size_t i = 0; i < PARTS; i++) {
		struct answer whole = get(parts[i].target);
		const char *tag = header_of(whole, "ETag");
		snprintf(length, sizeof(length), "%s", header_of(whole, "Content-Length"));
		snprintf(strong, sizeof(strong), "If-None-Match: %s", tag);
		snprintf(weak, sizeof(weak), "If-None-Match: W/%s", tag);
		snprintf(list, sizeof(list), "If-None-Match: \"x\", %s", tag);
		const char *const known[] = { strong, weak, list, "If-None-Match: *" };
		for (size_t k = 0; k < COUNT(known); k++) {
			struct answer a = http(client, "GET", parts[i].target, NULL, known[k]);
			assert_status(a, 304);
			must_have(a, "ETag", tag);
			must_have(a, "Cache-Control", "no-cache");
			must_have(a, "Content-Length", length); /* the length of the 200 (RFC 9110, 8.6) */
			assert_null(header_of(a, "Content-Encoding"));
			assert_int_equal(a.body_len, 0);
		}
		assert_status(http(client, "GET", parts[i].target, NULL, "If-None-Match: \"x\""), 200);
	}
}

TEST(what_is_not_there)
{
	static const char *const missing[] = { "/ui/oops",        "/ui/index.html",     "/docs/oops",
					       "/docs/ui.js",     "/ui/swagger-ui.css", "/docs/..",
					       "/ui/%2e%2e%2fui", "/ui/docs%2fdocs.js", "/ui//",
					       "/favicon.ico/" };

	for (size_t i = 0; i < COUNT(missing); i++)
		assert_problem(get(missing[i]), 404, "unknown_path", "none");
	struct answer refused = http(client, "POST", "/ui", "{}");
	assert_problem(refused, 405, "method_not_allowed", "none");
	must_have(refused, "Allow", "GET, HEAD, OPTIONS");
	must_have(get("/ui/oops"), "Cache-Control", "no-store");
}

/*
 * Paths that people type. The redirects are relative, since a proxy may serve the daemon below a
 * path.
 */
TEST(ways_to_the_pages)
{
	static const char *const ways[][2] = { { "/", "ui" },
					       { "/?a=b", "ui" },
					       { "/ui/", "../ui" },
					       { "/docs/", "../docs" },
					       { "/docs/?a", "../docs" } };

	for (size_t i = 0; i < COUNT(ways); i++) {
		struct answer a = get(ways[i][0]);
		assert_status(a, 302);
		must_have(a, "Location", ways[i][1]);
		must_have(http(client, "HEAD", ways[i][0], NULL), "Location", ways[i][1]);
		assert_problem(http(client, "GET", ways[i][0], NULL, "Host: evil.example"), 403, "host_not_allowed",
			       "none");
	}
}

/* The pages are for people, not for client generators. */
TEST(they_are_not_in_the_contract)
{
	const json_t *paths = json_at(get("/openapi.json"), "/paths");
	assert_non_null(json_object_get(paths, "/healthz"));
	for (size_t i = 0; i < PARTS; i++)
		assert_null(json_object_get(paths, parts[i].target));
	assert_null(json_object_get(paths, "/ui/{asset}"));
	assert_null(json_object_get(paths, "/docs/{asset}"));
}

/*
 * The pages open for a typed address and from a page of this daemon, not from a page of another
 * origin.
 */
TEST(origins_that_may_open_them)
{
	for (size_t i = 0; i < PARTS; i++) {
		const char *target = parts[i].target;
		assert_status(http(client, "GET", target, NULL, "Sec-Fetch-Site: none"), 200);
		assert_status(http(client, "GET", target, NULL, "Sec-Fetch-Site: same-origin"), 200);
		assert_problem(http(client, "GET", target, NULL, "Sec-Fetch-Site: cross-site"), 403, "cross_site",
			       "none");
		assert_problem(http(client, "GET", target, NULL, "Origin: https://evil.example"), 403, "cross_site",
			       "none");
	}
}

TEST(ui_off_read_and_write)
{
	static const char *const modes[] = { "read", "write", "off" };

	for (size_t i = 0; i < COUNT(modes); i++) {
		struct daemon other = { 0 };
		daemon_start(&other, "--redis", redis.url, "--ui", modes[i]);
		struct client *c = client_open(other.port);
		bool off = strcmp(modes[i], "off") == 0;
		assert_string_equal(text_at(http(c, "GET", "/info", NULL), "/options/ui"), modes[i]);
		assert_status(http(c, "GET", "/docs", NULL), 200);
		must_have(http(c, "GET", "/", NULL), "Location", off ? "docs" : "ui");
		if (off) {
			struct answer a = http(c, "GET", "/ui", NULL);
			assert_problem(a, 404, "unknown_path", "none");
			assert_non_null(strstr(text_at(a, "/detail"), "--ui=read"));
			assert_problem(http(c, "GET", "/ui/uPlot.min.css", NULL), 404, "unknown_path", "none");
		} else {
			assert_status(http(c, "GET", "/ui", NULL), 200);
		}
		client_close(c);
		daemon_stop(&other);
	}
	assert_string_equal(text_at(get("/info"), "/options/ui"), "read");
	struct daemon refused = { 0 };
	assert_int_equal(daemon_run(&refused, "--listen", "127.0.0.1:0", "--ui=on"), 2);
	assert_true(proc_wrote(&refused.proc, "--ui: 'on' is not off|read|write"));
}

TEST(a_program_built_without_them)
{
	const char *with = getenv("PATTERND_BIN"), *without = getenv("PATTERND_WITHOUT_WEB");
	struct daemon other = { 0 };

	assert_non_null(without);
	char *kept = strdup(with);
	setenv("PATTERND_BIN", without, 1);
	daemon_start(&other, "--redis", redis.url);
	setenv("PATTERND_BIN", kept, 1);
	free(kept);
	struct client *c = client_open(other.port);
	for (size_t i = 0; i < PARTS; i++) {
		struct answer a = http(c, "GET", parts[i].target, NULL);
		assert_problem(a, 404, "unknown_path", "none");
		assert_non_null(strstr(text_at(a, "/detail"), "-DPATTERND_WEB=OFF"));
	}
	struct answer root = http(c, "GET", "/", NULL);
	assert_status(root, 200);
	must_have(root, "Content-Type", "text/plain; charset=utf-8");
	assert_non_null(strstr(root.body, "/openapi.json"));
	client_close(c);
	daemon_stop(&other);
}

/* The pages contain no secret; the requests that they send need a token. */
TEST(no_token_is_asked_for)
{
	struct daemon other = { 0 };

	daemon_start(&other, "--redis", redis.url, "--tokens", tokens_file("secret", "info:read"));
	struct client *c = client_open(other.port);
	for (size_t i = 0; i < PARTS; i++)
		assert_status(http(c, "GET", parts[i].target, NULL), 200);
	assert_problem(http(c, "GET", "/openapi.json", NULL), 401, "unauthorized", "none");
	assert_problem(http(c, "GET", "/info", NULL), 401, "unauthorized", "none");
	client_close(c);
	daemon_stop(&other);
}
