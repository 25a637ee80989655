/*
 * uv: unique visitors, one sketch a page and UTC day. Each operation is one script (lua/uv_*.lua), unless its pages lie in several slots of a
 * Cluster (visitors/several_pages.c).
 */
#include "visitors/visitor_call.h"

/* ---- POST, GET /uv/{page} ---- */

static void on_visited(struct request *req, const struct reply *r)
{
	if (!when_was_right(req, r))
		return;
	struct json_out *o = answer_begin(req, 200);
	out_bool(o, "changed", reply_int(r, 2) > 0);
	out_day(o, "day", reply_int(r, 3));
	answer_end(req);
}

static void send_visitors(struct request *req, struct when *w)
{
	const struct uv_add_input *in = req->input;
	struct call *c = script_call(req, &uv_add_script);

	call_days(c, KEY_UV, in->page, w);
	call_int(c, w->to);
	call_today(c, w);
	call_retention(c);
	for (size_t i = 0; i < in->visitors.count; i++)
		call_text(c, in->visitors.items[i]);
	call_send(c, on_visited);
}

void uv_add(struct request *req, const struct uv_add_input *in)
{
	when_day(req, send_visitors, in->has_at_ms, in->at_ms);
}

static void on_counted(struct request *req, const struct reply *r)
{
	const struct uv_count_input *in = req->input;
	const struct when *w = req->work;

	if (!when_was_right(req, r))
		return;
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "page", in->page);
	out_range(o, w->from, w->to);
	out_int(o, "count", reply_int(r, 2));
	out_real(o, "standard_error", uv_standard_error);
	out_days(o, w, r, 3);
	answer_end(req);
}

static void send_count(struct request *req, struct when *w)
{
	const struct uv_count_input *in = req->input;
	struct call *c = script_call(req, &uv_count_script);

	call_days(c, KEY_UV, in->page, w);
	call_today(c, w);
	call_int(c, 1);
	call_send(c, on_counted);
}

void uv_count(struct request *req, const struct uv_count_input *in)
{
	when_range(req, send_count, 1, in->from, in->to, false);
}

/* ---- GET /uv ---- */

void uv_answer_union(struct request *req, int64_t count, const int64_t *pages)
{
	const struct uv_union_input *in = req->input;
	const struct when *w = req->work;
	struct json_out *o = answer_begin(req, 200);

	out_array(o, "pages");
	for (size_t i = 0; i < in->pages.count; i++) {
		out_object(o, NULL);
		out_text(o, "page", in->pages.items[i]);
		out_int(o, "count", pages[i]);
		out_close(o);
	}
	out_close(o);
	out_range(o, w->from, w->to);
	out_int(o, "count", count);
	out_real(o, "standard_error", uv_standard_error);
	answer_end(req);
}

static void on_union(struct request *req, const struct reply *r)
{
	int64_t pages[DAYS_MAX] = { 0 };

	if (!when_was_right(req, r))
		return;
	for (size_t i = 0; i + 3 < r->count && i < DAYS_MAX; i++)
		pages[i] = reply_int(r, 3 + i);
	uv_answer_union(req, reply_int(r, 2), pages);
}

static void send_union(struct request *req, struct when *w)
{
	const struct uv_union_input *in = req->input;
	const struct slots *slots = slots_of(req, in->pages.items, in->pages.count);

	if (!slots)
		return;
	if (slots->count > 1) {
		uv_send_union_parts(req, w, slots);
		return;
	}
	struct call *c = script_call(req, &uv_count_script);
	for (size_t i = 0; i < in->pages.count; i++)
		call_days(c, KEY_UV, in->pages.items[i], w);
	call_today(c, w);
	call_int(c, w->to - w->from + 1);
	call_send(c, on_union);
}

void uv_union(struct request *req, const struct uv_union_input *in)
{
	when_range(req, send_union, in->pages.count, in->from, in->to, false);
}

/* ---- GET /uv/pages ---- */

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	(void)req;
	(void)part;
	(void)r;
	out_object(o, NULL);
	out_text(o, "page", name);
	out_close(o);
}

void uv_pages(struct request *req, const struct uv_pages_input *in)
{
	static const struct list_of pages = {
		.kind = KEY_UV,
		.part_pattern = ":\?\?\?\?-\?\?-\?\?",
		.once_a_name = true,
		.item = item_of,
	};

	list_keys(req, &pages, in->match, in->cursor, in->limit);
}

/* ---- POST /uv/{page}/merge ---- */

void uv_on_merged(struct request *req, const struct reply *r)
{
	const struct uv_merge_input *in = req->input;

	if (!when_was_right(req, r))
		return;
	/* The range as the script tells it: a replay answers the days of the first time. */
	int64_t from = reply_int(r, 3), days = reply_int(r, 4);
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "page", in->page);
	out_range(o, from, from + days - 1);
	out_int(o, "days", reply_int(r, 2));
	answer_end(req);
}

/* The slots of the page and its sources. NULL: it was answered. */
static const struct slots *slots_of_merge(struct request *req)
{
	const struct uv_merge_input *in = req->input;
	struct text *pages = arena_alloc(&req->arena, (in->sources.count + 1) * sizeof(*pages));

	if (!pages) {
		answer_no_memory(req, EFFECT_NONE);
		return NULL;
	}
	memcpy(pages, in->sources.items, in->sources.count * sizeof(*pages));
	pages[in->sources.count] = in->page;
	const struct slots *slots = slots_of(req, pages, in->sources.count + 1);
	return slots && slots_bear_key(req, slots) ? slots : NULL;
}

static void send_merge(struct request *req, struct when *w)
{
	const struct uv_merge_input *in = req->input;
	const struct slots *slots = slots_of_merge(req);

	if (!slots)
		return;
	if (slots->count > 1) {
		uv_send_merge_parts(req, w);
		return;
	}
	struct call *c = script_call(req, &uv_merge_script);
	call_days(c, KEY_UV, in->page, w);
	for (size_t i = 0; i < in->sources.count; i++)
		call_days(c, KEY_UV, in->sources.items[i], w);
	call_today(c, w);
	call_int(c, w->to - w->from + 1);
	call_retention(c);
	call_int(c, w->from);
	call_send(c, uv_on_merged);
}

void uv_merge(struct request *req, const struct uv_merge_input *in)
{
	when_range(req, send_merge, in->sources.count + 1, in->from, in->to, true);
}
