/*
 * views: page views, one counter per page and day. Each operation is one script
 * (lua/visitors/pv_*.lua). Only Redis decides which day is today (visitors/visitor_call.h). pages.c
 * lists and deletes pages.
 */
#include "visitors/visitor_call.h"

/* ---- POST, GET /pv/{name} ---- */

static void on_viewed(struct request *req, const struct reply *r)
{
	const struct pv_add_input *in = req->input;

	if (reply_outcome(r) == PV_ADD_OVERFLOW) {
		answer_problem(req, P_COUNTER_OVERFLOW, "the views are %lld, and adding %lld exceeds 2^53 - 1",
			       (long long)reply_int(r, PV_ADD_COUNT), (long long)in->by);
		return;
	}
	if (!visitor_day_was_right(req, r))
		return;
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	handler_out_day(o, "date", reply_int(r, PV_ADD_DAY));
	out_int(o, "count", reply_int(r, PV_ADD_COUNT));
	answer_end(req);
}

static void send_views(struct request *req, struct visitor_days *w)
{
	const struct pv_add_input *in = req->input;
	struct call *c = handler_call(req, &pv_add_script, KEY_PV, in->name);

	visitor_call_days(c, KEY_PV, in->name, w);
	visitor_call_total(c, KEY_PV, in->name);
	call_int(c, w->to);
	visitor_call_today(c, w);
	visitor_call_retention(c);
	call_int(c, in->by);
	call_send(c, on_viewed);
}

void pv_add(struct request *req, const struct pv_add_input *in)
{
	visitor_call_day(req, send_views, in->has_at_ms, in->at_ms, in->date);
}

static void on_views(struct request *req, const struct reply *r)
{
	const struct pv_get_input *in = req->input;
	const struct visitor_days *w = req->work;
	int64_t sum = 0;

	if (!visitor_day_was_right(req, r))
		return;
	for (size_t i = PV_GET_COUNTS; i < r->count; i++)
		sum += reply_int(r, i);
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	visitor_out_range(o, w->from, w->to);
	out_int(o, "count", sum);
	visitor_out_total(o, reply_int(r, PV_GET_TOTAL));
	visitor_out_days(o, w, r, PV_GET_COUNTS);
	answer_end(req);
}

static void send_view_count(struct request *req, struct visitor_days *w)
{
	const struct pv_get_input *in = req->input;
	struct call *c = call_script(req, &pv_get_script);

	visitor_call_days(c, KEY_PV, in->name, w);
	visitor_call_total(c, KEY_PV, in->name);
	visitor_call_today(c, w);
	call_send(c, on_views);
}

void pv_get(struct request *req, const struct pv_get_input *in)
{
	visitor_call_range(req, send_view_count, 1, in->from, in->to, false);
}
