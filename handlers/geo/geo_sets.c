/* geo_sets: whole geo sets: PUT, PATCH, GET and DELETE of one, and their list. */
#include <inttypes.h>

#include "common/kind.h"
#include "geo/geo_call.h"

static void write_set(struct json_out *o, struct text name, const struct reply *r)
{
	out_text(o, "name", name);
	out_int(o, "size", reply_int(r, GEO_SET_SIZE));
	out_int(o, "cells", reply_int(r, GEO_SET_CELLS));
	handler_out_expiry(o, r, GEO_SET_EXPIRES_AT_MS);
}

/* Starts a call with the keys of the set and of all its cells. */
static struct call *whole_call(struct request *req, const struct script *s, struct text name)
{
	const struct geo_work *w = req->work;
	struct call *c = handler_call(req, s, KEY_GEO, name);

	for (size_t i = 0; i < (size_t)w->cells; i++)
		geo_cell_key(c, name, i);
	return c;
}

/* ---- PUT, PATCH, DELETE /geo/{name} ---- */

static void answer_settings(struct request *req, const struct reply *r, struct text name, int64_t wanted)
{
	if (geo_is_again(req, r))
		return;
	if (reply_outcome(r) == GEO_PUT_ABSENT) {
		handler_answer_missing(req, "geo set", name);
	} else if (reply_outcome(r) == GEO_PUT_OTHER_CELLS) {
		int64_t cells = reply_int(r, GEO_PUT_CELLS);
		struct json_out *o = answer_begin_problem(req, P_GEO_CELLS_DIFFER,
							  "geo set '%s' has members and %" PRId64 " cells, not %" PRId64
							  "; send the same number, or use another set",
							  name.at, cells, wanted);
		out_int(o, "cells", cells);
		answer_end(req);
	} else {
		bool is_new = reply_int(r, GEO_PUT_IS_NEW);
		write_set(answer_begin(req, is_new ? 201 : 200), name, r);
		answer_end(req);
	}
}

static void on_put(struct request *req, const struct reply *r)
{
	const struct geo_put_input *in = req->input;

	answer_settings(req, r, in->name, in->cells);
}

void geo_put(struct request *req, const struct geo_put_input *in)
{
	if (!geo_begin(req))
		return;
	struct call *c = whole_call(req, &geo_put_script, in->name);
	call_int(c, in->cells);
	handler_call_ttl(c, in->has_ttl_ms, !in->has_ttl_ms, in->ttl_ms);
	call_string(c, "");
	geo_send(req, c, on_put);
}

static void on_patched(struct request *req, const struct reply *r)
{
	const struct geo_patch_input *in = req->input;

	answer_settings(req, r, in->name, in->reset_cells ? GEO_DEFAULT_CELLS : in->cells);
}

void geo_patch(struct request *req, const struct geo_patch_input *in)
{
	if (!geo_begin(req))
		return;
	struct call *c = whole_call(req, &geo_put_script, in->name);
	handler_call_optional(c, in->has_cells || in->reset_cells, in->reset_cells ? GEO_DEFAULT_CELLS : in->cells);
	handler_call_ttl(c, in->has_ttl_ms, in->reset_ttl_ms, in->ttl_ms);
	call_int(c, 1);
	geo_send(req, c, on_patched);
}

static void on_deleted(struct request *req, const struct reply *r)
{
	const struct geo_delete_input *in = req->input;

	if (geo_is_again(req, r))
		return;
	if (!handler_removed(req, r))
		handler_answer_missing(req, "geo set", in->name);
}

void geo_delete(struct request *req, const struct geo_delete_input *in)
{
	if (!geo_begin(req))
		return;
	geo_send(req, whole_call(req, &geo_delete_script, in->name), on_deleted);
}

/* ---- GET /geo/{name}, GET /geo ---- */

const struct kind geo_kind = {
	.list = { .kind = KEY_GEO, .is_indexed = true, .look = kind_look, .item = kind_item },
	.get = &geo_size_script,
	.out = write_set,
	.is_always = true,
};
