/*
 * pages: lists pages, sets whether they keep a total, and deletes them; visitors and views share
 * this code. A page has one key per day and no list of its days, so a delete goes through all days
 * that it may have, in steps. The page's first key only means that the page exists
 * (lua/visitors/lib_page.lua). This file must not know what the key of a day stores.
 */
#include "visitors/visitor_call.h"

#include "common/kind.h"

/* ---- GET /uv, GET /pv ---- */

const struct kind uv_kind = { .list = { .kind = KEY_UV, .is_indexed = true, .item = kind_item } };
const struct kind pv_kind = { .list = { .kind = KEY_PV, .is_indexed = true, .item = kind_item } };

/* ---- PATCH /uv/{name}, PATCH /pv/{name} ---- */

static void answer_total(struct request *req, struct text name, int64_t total)
{
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", name);
	out_bool(o, "keep_total", total >= 0);
	visitor_out_total(o, total);
	answer_end(req);
}

/* `keep` is "1", "0", or "" to leave it unchanged. */
static void send_patch(struct request *req, const char *kind, struct text name, const char *keep, call_done done)
{
	struct call *c = handler_call(req, &page_patch_script, kind, name);

	visitor_call_total(c, kind, name);
	call_string(c, keep);
	call_string(c, kind);
	visitor_call_retention(c);
	call_send(c, done);
}

static const char *keep_of(bool has, bool reset, bool keep)
{
	if (!has && !reset)
		return "";
	return keep && !reset ? "1" : "0";
}

static void on_uv_patched(struct request *req, const struct reply *r)
{
	const struct uv_patch_input *in = req->input;

	answer_total(req, in->name, reply_int(r, PAGE_PATCH_TOTAL));
}

void uv_patch(struct request *req, const struct uv_patch_input *in)
{
	const char *keep = keep_of(in->has_keep_total, in->reset_keep_total, in->keep_total);

	send_patch(req, KEY_UV, in->name, keep, on_uv_patched);
}

static void on_pv_patched(struct request *req, const struct reply *r)
{
	const struct pv_patch_input *in = req->input;

	answer_total(req, in->name, reply_int(r, PAGE_PATCH_TOTAL));
}

void pv_patch(struct request *req, const struct pv_patch_input *in)
{
	const char *keep = keep_of(in->has_keep_total, in->reset_keep_total, in->keep_total);

	send_patch(req, KEY_PV, in->name, keep, on_pv_patched);
}

/* ---- DELETE /uv/{name}, DELETE /pv/{name} ---- */

enum { DAYS_A_STEP = 500 };

/* The state of a delete, in the request's arena. */
struct page_delete {
	const char *kind;
	const char *form; /* the beginning that values of this kind have */
	const char *what; /* the noun in the problem's detail */
	struct text name;
	int64_t next_day;
	struct arena_mark since; /* memory after it has the keys of one step */
};

static void next_step(struct request *req);

static void on_step(struct request *req, const struct reply *r)
{
	struct page_delete *d = req->work;

	req->has_effect = req->has_effect || reply_outcome(r) > 0;
	arena_rewind(&req->arena, d->since);
	if (d->next_day < VISITOR_DAYS_END)
		next_step(req);
	else if (req->has_effect)
		answer_empty(req, 204);
	else
		answer_problem(req, P_NOT_FOUND, "page '%s' has no %s", d->name.at, d->what);
}

static void next_step(struct request *req)
{
	struct page_delete *d = req->work;
	struct call *c = call_script(req, &page_delete_script);
	struct visitor_days days = { .from = d->next_day, .to = d->next_day + DAYS_A_STEP - 1 };
	bool is_first = d->next_day == 0;

	if (days.to >= VISITOR_DAYS_END)
		days.to = VISITOR_DAYS_END - 1;
	d->next_day = days.to + 1;
	d->since = arena_mark(&req->arena); /* the call itself must outlive its `done` */
	if (is_first) {
		call_key(c, d->kind, d->name, NULL);
		visitor_call_total(c, d->kind, d->name);
	}
	visitor_call_days(c, d->kind, d->name, &days);
	call_string(c, d->form);
	call_int(c, is_first ? 2 : 1);
	call_send(c, on_step);
}

static void delete_page(struct request *req, const struct page_delete *given)
{
	struct page_delete *d = req->work = arena_alloc(&req->arena, sizeof(*d));

	if (!d) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*d = *given;
	next_step(req);
}

void uv_delete(struct request *req, const struct uv_delete_input *in)
{
	delete_page(req,
		    &(struct page_delete){ .kind = KEY_UV, .form = "^HYLL", .what = "visitors", .name = in->name });
}

void pv_delete(struct request *req, const struct pv_delete_input *in)
{
	delete_page(req, &(struct page_delete){ .kind = KEY_PV, .form = "^%d+$", .what = "views", .name = in->name });
}
