/*
 * visitors: unique visitors, one sketch per page and day. Each operation is one script
 * (lua/visitors/uv_*.lua), unless its pages are in several slots of a Cluster
 * (visitors/visitor_slots.c). This file must not know what a sketch stores: Redis counts and
 * merges. pages.c lists and deletes pages.
 */
#include "visitors/visitor_slots.h"

/* ---- POST, GET /uv/{name} ---- */

static void on_visited(struct request *req, const struct reply *r)
{
	const struct uv_add_input *in = req->input;

	if (!visitor_day_was_right(req, r))
		return;
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_bool(o, "changed", reply_int(r, UV_ADD_IS_CHANGED));
	handler_out_day(o, "date", reply_int(r, UV_ADD_DAY));
	answer_end(req);
}

static void send_visitors(struct request *req, struct visitor_days *w)
{
	const struct uv_add_input *in = req->input;
	struct call *c = handler_call(req, &uv_add_script, KEY_UV, in->name);

	visitor_call_days(c, KEY_UV, in->name, w);
	visitor_call_total(c, KEY_UV, in->name);
	call_int(c, w->to);
	visitor_call_today(c, w);
	visitor_call_retention(c);
	for (size_t i = 0; i < in->visitors.count; i++)
		call_text(c, in->visitors.items[i]);
	call_send(c, on_visited);
}

void uv_add(struct request *req, const struct uv_add_input *in)
{
	visitor_call_day(req, send_visitors, in->has_at_ms, in->at_ms, in->date);
}

static void on_counted(struct request *req, const struct reply *r)
{
	const struct uv_get_input *in = req->input;
	const struct visitor_days *w = req->work;

	if (!visitor_day_was_right(req, r))
		return;
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	visitor_out_range(o, w->from, w->to);
	out_int(o, "count", reply_int(r, UV_GET_COUNT));
	out_real(o, "standard_error", visitor_standard_error);
	visitor_out_total(o, reply_int(r, UV_GET_TOTAL));
	visitor_out_days(o, w, r, UV_GET_COUNTS);
	answer_end(req);
}

static void send_count(struct request *req, struct visitor_days *w)
{
	const struct uv_get_input *in = req->input;
	struct call *c = call_script(req, &uv_get_script);

	visitor_call_days(c, KEY_UV, in->name, w);
	visitor_call_total(c, KEY_UV, in->name);
	visitor_call_today(c, w);
	call_int(c, 1);
	call_int(c, 1);
	call_send(c, on_counted);
}

void uv_get(struct request *req, const struct uv_get_input *in)
{
	visitor_call_range(req, send_count, 1, in->from, in->to, false);
}

/* ---- GET /uv/combine ---- */

static void answer_combined(struct request *req, int64_t count, const int64_t *pages)
{
	const struct uv_combine_input *in = req->input;
	const struct visitor_days *w = req->work;
	struct json_out *o = answer_begin(req, 200);

	out_array(o, "pages");
	for (size_t i = 0; i < in->name.count; i++) {
		out_object(o, NULL);
		out_text(o, "name", in->name.items[i]);
		out_int(o, "count", pages[i]);
		out_close(o);
	}
	out_close(o);
	visitor_out_range(o, w->from, w->to);
	out_int(o, "count", count);
	out_real(o, "standard_error", visitor_standard_error);
	answer_end(req);
}

static void on_combined(struct request *req, const struct reply *r)
{
	int64_t pages[DAYS_MAX];

	if (!visitor_day_was_right(req, r))
		return;
	for (size_t i = 0; i < DAYS_MAX; i++)
		pages[i] = reply_int(r, UV_GET_COUNTS + i);
	answer_combined(req, reply_int(r, UV_GET_COUNT), pages);
}

static void send_combine(struct request *req, struct visitor_days *w)
{
	const struct uv_combine_input *in = req->input;
	const struct slots *slots = slots_of(req, in->name.items, in->name.count);

	if (!slots)
		return;
	if (slots->count > 1) {
		visitor_slots_count(req, w, slots, answer_combined);
		return;
	}
	struct call *c = call_script(req, &uv_get_script);
	for (size_t i = 0; i < in->name.count; i++)
		visitor_call_days(c, KEY_UV, in->name.items[i], w);
	visitor_call_today(c, w);
	call_int(c, w->to - w->from + 1);
	call_string(c, ""); /* the call has no total */
	call_send(c, on_combined);
}

void uv_combine(struct request *req, const struct uv_combine_input *in)
{
	visitor_call_range(req, send_combine, in->name.count, in->from, in->to, false);
}

/* ---- POST /uv/{name}/merge ---- */

/* Takes the reply of uv_merge.lua or of uv_merge_sum.lua. */
static void on_merged(struct request *req, const struct reply *r)
{
	const struct uv_merge_input *in = req->input;

	if (!visitor_day_was_right(req, r))
		return;
	/* The range of the reply: a replay answers with the days of the first request. */
	int64_t from = reply_int(r, UV_MERGED_FIRST_DAY), days = reply_int(r, UV_MERGED_RANGE_DAYS);
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	visitor_out_range(o, from, from + days - 1);
	out_int(o, "merged_days", reply_int(r, UV_MERGED_DAYS));
	answer_end(req);
}

static void send_merge(struct request *req, struct visitor_days *w)
{
	const struct uv_merge_input *in = req->input;
	const struct slots *slots = handler_slots(req, in->name, in->sources.items, in->sources.count);

	if (!slots)
		return;
	if (slots->count > 1) {
		visitor_slots_merge(req, w, on_merged);
		return;
	}
	struct call *c = handler_call(req, &uv_merge_script, KEY_UV, in->name);
	visitor_call_days(c, KEY_UV, in->name, w);
	for (size_t i = 0; i < in->sources.count; i++)
		visitor_call_days(c, KEY_UV, in->sources.items[i], w);
	visitor_call_total(c, KEY_UV, in->name);
	visitor_call_today(c, w);
	call_int(c, w->to - w->from + 1);
	visitor_call_retention(c);
	call_int(c, w->from);
	call_send(c, on_merged);
}

void uv_merge(struct request *req, const struct uv_merge_input *in)
{
	visitor_call_range(req, send_merge, in->sources.count + 1, in->from, in->to, true);
}
