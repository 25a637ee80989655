/*
 * web: see web.h. The pages need no token, because they hold no data; the requests that they make
 * do need one.
 *
 * The pages are not part of the contract. They are one operation outside its table.
 */
#include "daemon/web.h"

#include "contract/route.h"
#include "process/config.h"
#include "request/accept.h"
#include "request/answer.h"
#include "request/request.h"

/*
 * The pages load nothing from other servers and nothing inline, may not be framed, and send
 * requests to this daemon only.
 */
#define POLICY                                                                            \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static void send(struct request *req, const struct web_asset *asset)
{
	struct text known = req->asked.conditions ? req->asked.conditions->none_match : (struct text){ 0 };
	bool is_known = known.at && (text_is(known, "*") || strstr(known.at, asset->etag));

	if (asset->is_gzip)
		answer_header(req, "Vary", "Accept-Encoding");
	/* Without the header, any coding is acceptable (RFC 9110, 12.5.3). */
	if (asset->is_gzip && !accept_coding(req->asked.accept_encoding, "gzip")) {
		answer_problem(
			req, P_NOT_ACCEPTABLE,
			"this file is compressed with gzip, which Accept-Encoding excludes (curl: --compressed)");
		return;
	}
	req->answer.cache_control = "no-cache"; /* cached, but revalidated each time */
	answer_header(req, "ETag", "%s", asset->etag);
	answer_header(req, "Content-Security-Policy", POLICY);
	answer_header(req, "X-Content-Type-Options", "nosniff");
	answer_header(req, "Referrer-Policy", "no-referrer");
	if (asset->is_gzip && !is_known)
		answer_header(req, "Content-Encoding", "gzip");
	/* A 304 has no body, but its Content-Length must be the length of the 200's body. */
	answer_body(req, is_known ? 304 : 200, asset->content_type, asset->body);
}

static const struct web_asset *asset_of(struct text path)
{
	for (const struct web_asset *a = web_assets; a && a->path; a++)
		if (text_is(path, a->path))
			return a;
	return NULL;
}

/*
 * The redirect is relative, for proxies that serve the daemon under another path. It is 302, since
 * browsers would keep a 308 after --ui changes.
 */
static void redirect(struct request *req, const char *to)
{
	answer_header(req, "Location", "%s", to);
	answer_empty(req, 302);
}

/* True if the path is `page` itself, or below it. */
static bool is_below(struct text path, struct text page)
{
	return path.len >= page.len && memcmp(path.at, page.at, page.len) == 0 &&
	       (path.len == page.len || path.at[page.len] == '/');
}

static bool is_ui_off(void)
{
	return strcmp(config()->ui, "off") == 0;
}

static void serve_root(struct request *req)
{
	if (web_assets)
		redirect(req, is_ui_off() ? "docs" : "ui");
	else
		answer_body(req, 200, "text/plain; charset=utf-8",
			    TEXT("patternd: Redis patterns over HTTP. GET /openapi.json returns the contract.\n"));
}

/* Returns the path of a target without its leading slash. */
static struct text path_of(struct text target)
{
	struct text path = text_cut(&target, '?');

	path.at++;
	path.len--;
	return path;
}

static void serve(struct request *req, const void *in)
{
	struct text path = path_of(req->asked.target);
	const struct web_asset *asset = asset_of(path);

	(void)in;
	if (path.len == 0)
		serve_root(req);
	else if (!web_assets)
		answer_problem(req, P_UNKNOWN_PATH, "this daemon was built without pages (-DPATTERND_WEB=OFF)");
	else if (is_ui_off() && is_below(path, TEXT("ui")))
		answer_problem(req, P_UNKNOWN_PATH,
			       "the page /ui is off; start the daemon with --ui=read or --ui=write");
	else if (asset)
		send(req, asset);
	else if (text_equal(path, TEXT("ui/")) || text_equal(path, TEXT("docs/")))
		redirect(req, *path.at == 'u' ? "../ui" : "../docs");
	else
		answer_problem(req, P_UNKNOWN_PATH, "no page has the path '/%.*s'", (int)path.len, path.at);
}

static const struct operation *find_page(struct request *req)
{
	static const struct operation page = { .id = "page", .method = "GET", .input_size = 1, .run = serve };
	struct text path = path_of(req->asked.target);

	return path.len == 0 || is_below(path, TEXT("ui")) || is_below(path, TEXT("docs")) ||
			       text_equal(path, TEXT("favicon.ico"))
		       ? &page
		       : NULL;
}

void web_open(void)
{
	route_pages(find_page);
}
