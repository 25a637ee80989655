/*
 * fences: the highest fencing token seen under each name, for a resource that cannot compare and
 * store a number itself. Each operation is one script (lua/fences/fence_*.lua). It must not know
 * locks: any number may be a fence.
 */
#include "common/handler.h"
#include "common/key_kinds.h"
#include "common/kind.h"

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

/* ---- GET, DELETE /fences/{name}, GET /fences ---- */

static void out_fence(struct json_out *o, struct text name, const struct reply *r)
{
	int64_t highest = reply_int(r, FENCE_GET_HIGHEST);

	out_text(o, "name", name);
	out_int_or_null(o, "highest", highest > 0, highest);
}

const struct kind fence_kind = {
	.list = { .kind = KEY_FENCE, .look = kind_look, .item = kind_item },
	.missing = { "fence ", " does not exist" },
	.get = &fence_get_script,
	.delete = &fence_delete_script,
	.out = out_fence,
	.is_always = true,
};
