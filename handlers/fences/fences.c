/*
 * fences: the highest fencing number that each resource has seen. The check is one script
 * (lua/fences/fence_check.lua).
 *
 * For a resource that cannot compare and keep a number itself. Knows nothing of locks: any number
 * may be a fence.
 */
#include "handler.h"
#include "kinds.h"

/* ---- POST /fences/{resource} ---- */

static void on_checked(struct request *req, const struct reply *r)
{
	const struct fence_check_input *in = req->input;
	int64_t highest = reply_int(r, 2);

	if (reply_int(r, 0) < 1) {
		struct json_out *o = problem_begin(req, P_STALE_FENCE,
						   "fencing token %lld is below %lld, the highest that '%s' has seen",
						   (long long)in->fence, (long long)highest, in->resource.at);
		out_int(o, "highest", highest);
		problem_end(req);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "resource", in->resource);
	out_int(o, "fence", in->fence);
	out_int(o, "highest", highest);
	answer_end(req);
}

void fence_check(struct request *req, const struct fence_check_input *in)
{
	struct call *c = handler_call(req, &fence_check_script, KEY_FENCE, in->resource);

	call_int(c, in->fence);
	call_send(c, on_checked);
}
