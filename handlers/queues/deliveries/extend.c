/*
 * extend: POST /queues/{name}/extend extends many deliveries of one queue by one call of
 * lua/queues/deliveries/queue_delivery_list_extend.lua. Only the script knows which deliveries are
 * current. deliveries.c extends a single delivery, which may also report progress.
 */
#include "common/handler.h"
#include "queues/queue_call.h"

/* The outcome of each delivery, as the script numbers it. */
enum outcome { NOT_CURRENT, EXTENDED, CANCELLED };

static void out_extended(struct json_out *o, struct text receipt, int64_t outcome, int64_t visible_until_ms)
{
	out_object(o, NULL);
	out_text(o, "receipt", receipt);
	out_string(o, "outcome", outcome == EXTENDED ? "extended" : outcome == CANCELLED ? "cancelled" : "not_current");
	out_int_or_null(o, "visible_until_ms", outcome == EXTENDED, visible_until_ms);
	out_close(o);
}

static void on_extended(struct request *req, const struct reply *r)
{
	const struct queue_delivery_list_extend_input *in = req->input;
	int64_t visible_until_ms = reply_int(r, QUEUE_DELIVERY_LIST_EXTEND_VISIBLE_UNTIL_MS);
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_array(o, "deliveries");
	for (size_t i = 0; i < in->receipts.count; i++)
		out_extended(o, in->receipts.items[i], reply_int(r, QUEUE_DELIVERY_LIST_EXTEND_OUTCOMES + i),
			     visible_until_ms);
	out_close(o);
	answer_end(req);
}

static bool check_receipts(struct request *req, const struct queue_delivery_list_extend_input *in)
{
	for (size_t i = 0; i < in->receipts.count; i++) {
		if (queue_is_receipt(req, in->name, in->receipts.items[i]))
			continue;
		struct text pointer = arena_printf(&req->arena, "/receipts/%zu", i);
		queue_answer_no_receipt(req, pointer.at ? pointer.at : "", in->name);
		return false;
	}
	return true;
}

void queue_delivery_list_extend(struct request *req, const struct queue_delivery_list_extend_input *in)
{
	if (!check_receipts(req, in))
		return;
	struct call *c = queue_call(req, &queue_delivery_list_extend_script, in->name);
	queue_call_optional(c, in->has_visibility_ms, in->visibility_ms);
	for (size_t i = 0; i < in->receipts.count; i++)
		queue_call_receipt(req, c, in->receipts.items[i]);
	queue_call_late(c, in->late);
	call_send(c, on_extended);
}
