/*
 * counters: counters within +-(2^53 - 1), many under one name. Each operation is one script
 * (lua/counters/counters/).
 */
#include "handler.h"
#include "kinds.h"

/* ---- POST /counters/{name} ---- */

static void on_added(struct request *req, const struct reply *r)
{
	const struct counter_increment_input *in = req->input;
	int64_t outcome = reply_int(r, 0);

	if (outcome == -1) {
		answer_problem(req, P_COUNTER_OVERFLOW,
			       "'%s' is %lld, and adding %lld leaves the range of -(2^53 - 1) to 2^53 - 1",
			       reply_text(r, 2).at, (long long)reply_int(r, 3), (long long)reply_int(r, 4));
		return;
	}
	if (outcome < 0) {
		answer_problem(req, P_TOO_MANY_COUNTERS, "'%s' would have %lld counters; 500 are allowed", in->name.at,
			       (long long)reply_int(r, 2));
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_object(o, "counters");
	for (size_t i = 0; i < in->body.count; i++) {
		out_key(o, in->body.items[i].key);
		out_int(o, NULL, reply_int(r, 2 + i));
	}
	out_close(o);
	answer_end(req);
}

void counter_increment(struct request *req, const struct counter_increment_input *in)
{
	struct call *c = handler_call(req, &counter_increment_script, KEY_COUNTER, in->name);

	for (size_t i = 0; i < in->body.count; i++) {
		call_text(c, in->body.items[i].key);
		call_int(c, in->body.items[i].value);
	}
	call_send(c, on_added);
}

/* ---- GET /counters/{name} ---- */

static void on_state(struct request *req, const struct reply *r)
{
	const struct counter_get_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_object(o, "counters");
	for (size_t i = 2; i + 1 < r->count; i += 2) {
		out_key(o, reply_text(r, i));
		out_int(o, NULL, reply_int(r, i + 1));
	}
	out_close(o);
	answer_end(req);
}

void counter_get(struct request *req, const struct counter_get_input *in)
{
	call_send(handler_call(req, &counter_get_script, KEY_COUNTER, in->name), on_state);
}
