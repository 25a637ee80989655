/* geo_sets: geo sets as such: size, cells, removal, list. */
#include <inttypes.h>

#include "geo/geo_call.h"

static void write_set(struct json_out *o, struct text set, int64_t size, int64_t cells)
{
	out_text(o, "set", set);
	out_int(o, "size", size);
	out_int(o, "cells", cells);
}

/* ---- GET, PUT, DELETE /geo/{set} ---- */

static void on_state(struct request *req, const struct reply *r)
{
	const struct geo_get_input *in = req->input;

	write_set(answer_begin(req, 200), in->set, reply_int(r, 2), reply_int(r, 3));
	answer_end(req);
}

void geo_get(struct request *req, const struct geo_get_input *in)
{
	call_send(handler_call(req, &geo_size_script, KEY_GEO, in->set), on_state);
}

static void on_configured(struct request *req, const struct reply *r)
{
	const struct geo_put_input *in = req->input;

	if (reply_int(r, 0) < 0) {
		struct json_out *o = problem_begin(req, P_GEO_CELLS_DIFFER,
						   "'%s' has %" PRId64 " members in %" PRId64
						   " cells, and would need %" PRId64 ": put them into another set",
						   in->set.at, reply_int(r, 2), reply_int(r, 3), in->cells);
		out_int(o, "cells", reply_int(r, 3));
		problem_end(req);
		return;
	}
	write_set(answer_begin(req, 200), in->set, reply_int(r, 2), reply_int(r, 3));
	answer_end(req);
}

void geo_put(struct request *req, const struct geo_put_input *in)
{
	struct call *c = handler_call(req, &geo_put_script, KEY_GEO, in->set);

	handler_call_optional(c, in->has_cells, in->cells);
	call_send(c, on_configured);
}

static void on_deleted(struct request *req, const struct reply *r)
{
	const struct geo_delete_input *in = req->input;

	if (geo_is_again(req, r))
		return;
	if (!handler_removed(req, r))
		answer_problem(req, P_NOT_FOUND, "geo set '%s' does not exist", in->set.at);
}

static void send_delete(struct request *req)
{
	const struct geo_delete_input *in = req->input;
	const struct geo_work *w = req->work;
	struct call *c = handler_call(req, &geo_delete_script, KEY_GEO, in->set);

	for (size_t i = 0; i < (size_t)w->cells; i++)
		geo_cell_key(req, c, in->set, i);
	geo_send(req, c, on_deleted);
}

void geo_delete(struct request *req, const struct geo_delete_input *in)
{
	(void)in;
	geo_begin(req, send_delete);
}

/* ---- GET /geo ---- */

static struct call *get_one(struct request *req, struct text name, struct text part)
{
	(void)part;
	return handler_call(req, &geo_size_script, KEY_GEO, name);
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	(void)req;
	(void)part;
	if (reply_int(r, 2) == 0 && reply_int(r, 3) == 1)
		return;
	out_object(o, NULL);
	write_set(o, name, reply_int(r, 2), reply_int(r, 3));
	out_close(o);
}

void geo_list(struct request *req, const struct geo_list_input *in)
{
	static const struct list_of sets = { .kind = KEY_GEO, .look = get_one, .item = item_of };

	list_keys(req, &sets, in->match, in->cursor, in->limit);
}
