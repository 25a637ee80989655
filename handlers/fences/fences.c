/*
 * fences: the highest fencing token seen under each name, for a resource that cannot compare and
 * store a number itself. Each operation is one script (lua/fences/fence_*.lua). It must not know
 * locks: any number may be a fence.
 */
#include "common/handler.h"
#include "common/kinds.h"

/* ---- POST /fences/{name} ---- */

static void on_checked(struct request *req, const struct reply *r)
{
	const struct fence_check_input *in = req->input;
	int64_t highest = reply_int(r, FENCE_CHECK_HIGHEST);

	if (reply_outcome(r) == FENCE_CHECK_STALE) {
		struct json_out *o =
			answer_begin_problem(req, P_STALE_FENCE,
					     "fencing token %lld is below %lld, the highest that '%s' has seen",
					     (long long)in->fence, (long long)highest, in->name.at);
		out_int(o, "highest", highest);
		answer_end(req);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_int(o, "fence", in->fence);
	out_int(o, "highest", highest);
	answer_end(req);
}

void fence_check(struct request *req, const struct fence_check_input *in)
{
	struct call *c = handler_call(req, &fence_check_script, KEY_FENCE, in->name);

	call_int(c, in->fence);
	call_send(c, on_checked);
}

/* ---- GET /fences/{name} ---- */

static void out_state(struct json_out *o, struct text name, const struct reply *r)
{
	int64_t highest = reply_int(r, FENCE_GET_HIGHEST);

	out_text(o, "name", name);
	out_int_or_null(o, "highest", highest > 0, highest);
}

static void on_state(struct request *req, const struct reply *r)
{
	const struct fence_get_input *in = req->input;

	out_state(answer_begin(req, 200), in->name, r);
	answer_end(req);
}

void fence_get(struct request *req, const struct fence_get_input *in)
{
	call_send(handler_call(req, &fence_get_script, KEY_FENCE, in->name), on_state);
}

/* ---- DELETE /fences/{name} ---- */

void fence_delete(struct request *req, const struct fence_delete_input *in)
{
	handler_delete(req, handler_call(req, &fence_delete_script, KEY_FENCE, in->name), "fence", in->name);
}

/* ---- GET /fences ---- */

static struct call *get_one(struct request *req, struct text name, struct text part)
{
	(void)part;
	return handler_call(req, &fence_get_script, KEY_FENCE, name);
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	(void)req;
	(void)part;
	if (reply_int(r, FENCE_GET_HIGHEST) == 0)
		return; /* it was deleted after it was listed */
	out_object(o, NULL);
	out_state(o, name, r);
	out_close(o);
}

void fence_list(struct request *req, const struct fence_list_input *in)
{
	static const struct list_of fences = { .kind = KEY_FENCE, .look = get_one, .item = item_of };

	list_keys(req, &fences, in->match, in->cursor, in->limit);
}
