#include "queues/receive/receive_out.h"

#include "common/handler.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"
#include "queues/queue_metrics.h"
#include "queues/receive/receive_order.h"

/* Writes one message. An acknowledged message has no receipt and no visibility timeout. */
static void out_received(struct json_out *o, struct request *req, const struct queue_delivery *delivery)
{
	const struct receive_order *order = req->work;
	bool is_done = order->acknowledge;
	const struct reply *r = delivery->m;
	struct text queue = order->queues[delivery->queue], sequence = reply_text(r, QUEUE_DELIVERY_SEQUENCE);
	struct queue_message m;
	char receipt[RECEIPT_LEN + 1];

	queue_message_read(&m, sequence, reply_text(r, QUEUE_DELIVERY_CONTENT),
			   reply_text(r, QUEUE_DELIVERY_STORED_STATE));
	out_object(o, NULL);
	if (order->names_queue)
		out_text(o, "queue", queue);
	out_text(o, "id", m.id);
	out_text(o, "receipt", is_done ? (struct text){ 0 } : queue_receipt(req, queue, sequence, m.nonce, receipt));
	queue_content_out(o, m.content);
	out_text_or_null(o, "group", m.group);
	out_int(o, "priority", m.priority);
	out_int(o, "receives", m.receives);
	out_int(o, "sent_at_ms", m.sent_at_ms);
	if (m.receives > 1 && queue_first_received_at_ms(&m) > 0)
		out_int(o, "first_received_at_ms", queue_first_received_at_ms(&m));
	out_int_or_null(o, "visible_until_ms", !is_done, reply_int(r, QUEUE_DELIVERY_VISIBLE_UNTIL_MS));
	out_text(o, "sequence", sequence);
	out_close(o);
}

/* Writes the beginning that all answers share. */
static struct json_out *begin_answer(struct request *req)
{
	const struct receive_order *order = req->work;
	struct json_out *o = answer_begin(req, 200);

	if (!order->names_queue)
		out_text(o, "name", order->queues[0]);
	if (order->settle)
		queue_settle_out(o, order->settle);
	out_array(o, "messages");
	return o;
}

bool receive_answer_unreceived(struct request *req, enum problem p, enum effect effect)
{
	struct json_out *o = begin_answer(req);

	out_close(o);
	out_object(o, "unreceived");
	out_string(o, "code", problem_row(p)->code);
	out_string(o, "effect", problem_effect_name(effect));
	out_close(o);
	answer_end(req);
	return true;
}

void receive_answer_deliveries(struct request *req)
{
	const struct receive_order *order = req->work;
	struct json_out *o = begin_answer(req);

	for (size_t i = 0; i < order->queue_count; i++)
		queue_metrics_seen(order->queues[i]);
	for (size_t i = 0; i < order->count; i++) {
		struct text queue = order->queues[order->deliveries[i].queue];
		queue_metrics_count(req, queue, QUEUE_RECEIVED, 1);
		queue_metrics_count(req, queue, QUEUE_ACKNOWLEDGED, order->acknowledge);
		/* The reply took so long that another worker may have the message. */
		bool has_expired =
			request_is_past(req, reply_int(order->deliveries[i].m, QUEUE_DELIVERY_VISIBLE_UNTIL_MS));
		if (order->acknowledge || order->in_turn || !has_expired)
			out_received(o, req, &order->deliveries[i]);
	}
	out_close(o);
	receive_lacks_out(o, &order->lacks, order->queues);
	answer_end(req);
}
