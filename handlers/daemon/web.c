/* web: serves the pages /ui and /docs, which need no token: what they ask of the daemon does; see web.h. */
#include "daemon/web.h"

#include "operations.h"
#include "process/config.h"
#include "request/answer.h"
#include "request/request.h"

/* Nothing of others, nothing inline, in no frame, and nothing is asked of anybody but this daemon. */
#define POLICY                                                                            \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static void send(struct request *req, const struct web_asset *asset)
{
	struct text known = req->conditions ? req->conditions->none_match : (struct text){ 0 };
	bool is_known = known.at && (text_is(known, "*") || strstr(known.at, asset->etag));

	req->cache_control = "no-cache"; /* kept, but revalidated each time */
	answer_header(req, "ETag", "%s", asset->etag);
	answer_header(req, "Content-Security-Policy", POLICY);
	answer_header(req, "X-Content-Type-Options", "nosniff");
	answer_header(req, "Referrer-Policy", "no-referrer");
	if (is_known) {
		answer_empty(req, 304);
		return;
	}
	answer_header(req, "Content-Encoding", "gzip");
	answer_body(req, 200, asset->content_type, asset->body);
}

/* `name` is absent for the page itself. */
static void serve(struct request *req, const char *page, struct text name)
{
	size_t len = strlen(page);

	if (!web_assets) {
		answer_problem(req, P_NOT_FOUND, "this program was built without /%s (-DPATTERND_WEB=OFF)", page);
		return;
	}
	for (const struct web_asset *a = web_assets; a->path; a++)
		if (strncmp(a->path, page, len) == 0 &&
		    (name.at ? a->path[len] && text_is(name, a->path + len + 1) : !a->path[len])) {
			send(req, a);
			return;
		}
	answer_problem(req, P_NOT_FOUND, "/%s has no file '%s'", page, name.at);
}

static void serve_ui(struct request *req, struct text name)
{
	if (strcmp(config()->ui, "off") == 0)
		answer_problem(req, P_NOT_FOUND, "/ui is disabled; enable it with --ui=read or --ui=write");
	else
		serve(req, "ui", name);
}

void ui_page(struct request *req, const struct ui_page_input *in)
{
	(void)in;
	serve_ui(req, (struct text){ 0 });
}

void ui_asset(struct request *req, const struct ui_asset_input *in)
{
	serve_ui(req, in->asset);
}

void docs_page(struct request *req, const struct docs_page_input *in)
{
	(void)in;
	serve(req, "docs", (struct text){ 0 });
}

void docs_asset(struct request *req, const struct docs_asset_input *in)
{
	serve(req, "docs", in->asset);
}
