/*
 * queue_message_receive: receives messages, of one queue or of several in order of preference, and
 * waits for them.
 *
 * One script takes them (lua/queues/queue_message_receive.lua); in a Cluster, of queues in several
 * slots, one call a queue. Messages for a client that left return to their queue
 * (lua/queues/queue_delivery_return.lua).
 */
#include "common/handler.h"
#include "common/kinds.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"
#include "queues/queue_metrics.h"

enum { BODIES_MAX = 1 << 20 };

/* A message that was handed out. */
struct queue_delivery {
	size_t queue;
	const struct reply *m;
};

/* What is wanted, of either operation, and what there is so far. In the request's arena. */
struct receive_order {
	const struct text *queues;
	size_t queue_count;
	bool names_queue; /* in each message */
	int64_t limit, wait_ms;
	bool has_visibility_ms, acknowledge;
	bool must_exist; /* until the queues were looked at: they may be deleted while the request waits */
	int64_t visibility_ms;
	struct text worker;                /* percent-encoded; empty without one */
	bool in_turn;                      /* the queues lie in several slots: one is asked after the other ... */
	size_t at;                         /* ... this one now; those before it had no more */
	struct queue_delivery *deliveries; /* `limit` of them at most */
	size_t count, body_bytes;
	char ticket_tail[TEXT_DIGITS]; /* how many messages a waiter takes */
};

static void attempt(struct request *req);
static void receive(struct request *req);

/* One message; what is done has neither a receipt nor an end. */
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
	out_int(o, "priority", m.priority);
	out_int(o, "receives", m.receives);
	out_int(o, "sent_at_ms", m.sent_at_ms);
	out_int_or_null(o, "visible_until_ms", !is_done, reply_int(r, QUEUE_DELIVERY_VISIBLE_UNTIL_MS));
	out_close(o);
}

/* The queue whose call was sent and not answered; with `acknowledge` its messages may be gone. */
static void out_unanswered(struct json_out *o, struct text queue)
{
	out_array(o, "unanswered");
	out_object(o, NULL);
	out_text(o, "queue", queue);
	out_string(o, "effect", problem_effect_name(EFFECT_UNKNOWN));
	out_close(o);
	out_close(o);
}

/* `was_lost`: the call to the current queue was sent and not answered. */
static void answer_deliveries(struct request *req, bool was_lost)
{
	const struct receive_order *order = req->work;
	struct json_out *o = answer_begin(req, 200);

	for (size_t i = 0; i < order->queue_count; i++)
		queue_metrics_seen(order->queues[i]);
	if (!order->names_queue)
		out_text(o, "name", order->queues[0]);
	out_array(o, "messages");
	for (size_t i = 0; i < order->count; i++) {
		struct text queue = order->queues[order->deliveries[i].queue];
		queue_metrics_count(req, queue, QUEUE_RECEIVED, 1);
		queue_metrics_count(req, queue, QUEUE_ACKNOWLEDGED, order->acknowledge);
		/* It took so long that other consumers may have it. */
		bool has_expired =
			request_is_past(req, reply_int(order->deliveries[i].m, QUEUE_DELIVERY_VISIBLE_UNTIL_MS));
		if (order->acknowledge || order->in_turn || !has_expired)
			out_received(o, req, &order->deliveries[i]);
	}
	out_close(o);
	if (was_lost)
		out_unanswered(o, order->queues[order->at]);
	answer_end(req);
}

/* Takes in what a call handed out. False: it is of a queue that was not asked. */
static bool take_in(struct request *req, struct receive_order *order, const struct reply *r)
{
	size_t end = order->in_turn ? order->at + 1 : order->queue_count;

	for (size_t i = QUEUE_MESSAGE_RECEIVE_DELIVERIES; i < r->count && order->count < (size_t)order->limit; i++) {
		const struct reply *m = order->in_turn ? reply_keep(&req->arena, reply_item(r, i)) : reply_item(r, i);
		if (!m)
			break;
		size_t queue = order->at + (size_t)reply_int(m, QUEUE_DELIVERY_QUEUE);
		if (queue < order->at || queue >= end)
			return false;
		order->deliveries[order->count++] = (struct queue_delivery){ queue, m };
		order->body_bytes += reply_text(m, QUEUE_DELIVERY_CONTENT).len;
	}
	return true;
}

/* 404 names the queue that the script did not find. */
static void answer_absent(struct request *req, const struct reply *r)
{
	const struct receive_order *order = req->work;
	size_t queue = order->at + (size_t)reply_int(r, QUEUE_MESSAGE_RECEIVE_QUEUE);

	if (queue < order->queue_count)
		handler_answer_missing(req, "queue", order->queues[queue]);
	else
		answer_internal(req, "the script missed a queue that was not requested");
}

static bool wants_more(const struct receive_order *order)
{
	return order->count < (size_t)order->limit && order->body_bytes < BODIES_MAX;
}

static void on_received(struct request *req, const struct reply *r)
{
	struct receive_order *order = req->work;

	if (!r && order->count == 0) {
		call_problem_answer(req->result->failed);
		return;
	}
	if (!r) { /* the client should have what there is */
		answer_deliveries(req, call_problem_is_unknown(req->result->failed));
		return;
	}
	int64_t taken = reply_outcome(r);
	if (taken == QUEUE_MESSAGE_RECEIVE_ABSENT) {
		wait_ticket_left(req);
		answer_absent(req, r);
		return;
	}
	order->must_exist = false;
	if (taken == 0 && reply_int(r, QUEUE_MESSAGE_RECEIVE_MORE) == 1) { /* the script had its fill of work */
		receive(req);
		return;
	}
	if (!take_in(req, order, r)) {
		answer_internal(req, "the script returned a message of a queue that was not requested");
		return;
	}
	if (!req->result->replayed && !order->in_turn && (taken > 0 || wait_left_ms(req) == 0))
		wait_ticket_left(req);
	wait_look_at(req, reply_int(r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS));
	if (order->in_turn && wants_more(order) && order->at + 1 < order->queue_count) {
		order->at++;
		receive(req);
	} else if (taken > 0 || order->count || !wait_park(req, attempt)) { /* of a replay all may have ended */
		answer_deliveries(req, false);
	}
}

/*
 * Sequence and state of a delivery, and the content of what is done: three arguments of
 * queue_delivery_return.
 */
static void call_delivery(struct request *req, struct call *c, const struct receive_order *order, const struct reply *m)
{
	struct text content = order->acknowledge ? reply_text(m, QUEUE_DELIVERY_CONTENT) : TEXT("");
	struct text parts[] = { reply_text(m, QUEUE_DELIVERY_SEQUENCE), reply_text(m, QUEUE_DELIVERY_STORED_STATE),
				content };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		call_text(c, arena_copy(&req->arena, parts[i].at, parts[i].len));
}

/* The client left. With an Idempotency-Key it may come again for what was taken. */
static void release(struct request *req, const struct reply *r)
{
	struct receive_order *order = req->work;

	if (req->asked.idempotency_key.at)
		return;
	if (r)
		take_in(req, order, r);
	for (size_t q = 0; q < order->queue_count; q++) {
		struct call *c = NULL;
		for (size_t i = 0; i < order->count; i++) {
			if (order->deliveries[i].queue != q)
				continue;
			if (!c)
				c = queue_call(req, &queue_delivery_return_script, order->queues[q]);
			call_delivery(req, c, order, order->deliveries[i].m);
		}
		if (c)
			call_send(c, NULL);
	}
}

static void receive(struct request *req)
{
	static const struct ticket_queue queue = { &queue_leave_script, queue_parts };
	struct receive_order *order = req->work;
	size_t end = order->in_turn ? order->at + 1 : order->queue_count;
	struct call *c = call_script(req, &queue_message_receive_script);
	for (size_t i = order->at; i < end; i++)
		queue_call_keys(c, order->queues[i]);
	call_int(c, order->limit - (int64_t)order->count);
	queue_call_optional(c, order->has_visibility_ms, order->visibility_ms);
	call_text(c, handler_random(req, NONCE_DIGITS));
	call_int(c, order->acknowledge);
	call_text(c, wait_ticket(req, &queue, text_of_int(order->limit, order->ticket_tail)));
	call_int(c, order->count ? 0 : wait_left_ms(req));
	call_int(c, wait_queued_us(req));
	if (order->must_exist || order->worker.len)
		call_string(c, order->must_exist ? "1" : "");
	if (order->worker.len)
		call_text(c, order->worker);
	if (order->in_turn)
		call_may_fail(c);
	call_send(c, on_received);
}

/* From the first queue on. */
static void attempt(struct request *req)
{
	struct receive_order *order = req->work;

	order->at = 0;
	receive(req);
}

/* ---- Of queues in several slots: whether they exist, before anything is taken ---- */

static void look(struct request *req);

/* A queue that cannot be asked is none that is missing. */
static void on_looked(struct request *req, const struct reply *r)
{
	struct receive_order *order = req->work;

	if (r && reply_outcome(r) == QUEUE_MESSAGE_RECEIVE_ABSENT) {
		answer_absent(req, r);
		return;
	}
	order->must_exist = ++order->at < order->queue_count;
	if (order->must_exist)
		look(req);
	else
		attempt(req);
}

static void look(struct request *req)
{
	static const char *const nothing_but_a_look[] = { "0", "-1", "", "0", "", "0", "0", "2" };
	const struct receive_order *order = req->work;
	struct call *c = queue_call(req, &queue_message_receive_script, order->queues[order->at]);

	for (size_t i = 0; i < sizeof(nothing_but_a_look) / sizeof(nothing_but_a_look[0]); i++)
		call_string(c, nothing_but_a_look[i]);
	call_may_fail(c);
	call_send(c, on_looked);
}

static void begin(struct request *req, const struct receive_order *given)
{
	const struct slots *slots = slots_of(req, given->queues, given->queue_count);
	struct receive_order *order = arena_alloc(&req->arena, sizeof(*order));
	struct queue_delivery *deliveries = arena_alloc(&req->arena, (size_t)given->limit * sizeof(*deliveries));

	if (given->acknowledge && given->has_visibility_ms) {
		answer_field_problem(req, P_INVALID_VALUE, "/visibility_ms",
				     "cannot be given together with acknowledge, which ends the delivery at once");
		return;
	}
	if (!slots || !slots_bear_key(req, slots))
		return;
	if (!order || !deliveries) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*order = *given;
	order->deliveries = deliveries;
	order->in_turn = slots->count > 1;
	req->work = order;
	req->on_disconnect = release;
	if (!wait_begin(req, given->wait_ms, given->queue_count))
		return;
	for (size_t i = 0; i < given->queue_count; i++)
		wait_on(req, call_key_name(req, KEY_QUEUE, given->queues[i], NULL));
	if (order->in_turn && order->must_exist)
		look(req);
	else
		attempt(req);
}

void queue_message_receive(struct request *req, const struct queue_message_receive_input *in)
{
	begin(req, &(struct receive_order){
			   .queues = &in->name,
			   .queue_count = 1,
			   .limit = in->limit,
			   .wait_ms = in->wait_ms,
			   .has_visibility_ms = in->has_visibility_ms,
			   .visibility_ms = in->visibility_ms,
			   .acknowledge = in->acknowledge,
			   .must_exist = in->must_exist,
			   .worker = queue_encoded(req, in->worker),
		   });
}

void queue_list_receive(struct request *req, const struct queue_list_receive_input *in)
{
	begin(req, &(struct receive_order){
			   .queues = in->queues.items,
			   .queue_count = in->queues.count,
			   .names_queue = true,
			   .limit = in->limit,
			   .wait_ms = in->wait_ms,
			   .has_visibility_ms = in->has_visibility_ms,
			   .visibility_ms = in->visibility_ms,
			   .acknowledge = in->acknowledge,
			   .must_exist = in->must_exist,
			   .worker = queue_encoded(req, in->worker),
		   });
}
