/*
 * queue_receive: messages handed out, of one queue or of several in order of preference; whoever wants to waits for them.
 *
 * One script takes them (lua/queue_receive.lua). What was taken for a client that left meanwhile goes back (lua/queue_return.lua).
 */
#include "handler.h"
#include "keys.h"
#include "queue_call.h"

/* What is wanted, of either operation. In the request's arena. */
struct order {
	const struct text *queues;
	size_t queue_count;
	bool names_queue; /* in each message */
	int64_t max, wait_ms;
	bool has_visibility_ms, acknowledge;
	int64_t visibility_ms;
};

static void receive(struct request *req);

/* One message; what is done has neither a receipt nor an end. */
static void out_received(struct json_out *o, const struct order *order, const struct reply *m)
{
	bool is_done = order->acknowledge;

	out_object(o, NULL);
	if (order->names_queue)
		out_text(o, "queue", order->queues[reply_int(m, 7)]);
	out_text(o, "id", reply_text(m, 0));
	out_text(o, "receipt", is_done ? (struct text){ 0 } : reply_text(m, 1));
	out_raw(o, "body", reply_text(m, 2));
	out_int(o, "priority", reply_int(m, 3));
	out_int(o, "receives", reply_int(m, 4));
	out_int(o, "sent_at_ms", reply_int(m, 5));
	if (is_done)
		out_null(o, "visible_until_ms");
	else
		out_int(o, "visible_until_ms", reply_int(m, 6));
	out_close(o);
}

enum { FIRST_MESSAGE = 4 };

static void on_received(struct request *req, const struct reply *r)
{
	const struct order *order = req->work;
	const struct reply *left = reply_item(r, 3);
	bool none = reply_int(r, 0) == 0;

	if (none && reply_int(r, 2) == 1) { /* the script had its fill of work, there may be more behind */
		receive(req);
		return;
	}
	bool is_of_now = reply_int(left, 0) == req->now_ms; /* not of a replay, which leaves others what woke it */
	for (size_t i = 0; is_of_now && 2 * i + 1 < left->count; i++)
		wait_next(req, i, (unsigned)reply_int(left, 2 * i + 1), reply_int(left, 2 * i + 2));
	if (none && wait_park(req))
		return;
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "messages");
	for (size_t i = FIRST_MESSAGE; i < r->count; i++) {
		const struct reply *m = reply_item(r, i);
		bool is_over = reply_int(m, 6) <= req->now_ms; /* in a replay */
		if (order->acknowledge || !is_over)
			out_received(o, order, m);
	}
	out_close(o);
	answer_end(req);
}

/* The halves of a receipt, or sequence, record and body of what is done: three arguments of queue_return. */
static void call_back(struct request *req, struct call *c, const struct order *order, const struct reply *m)
{
	struct text receipt = reply_text(m, 1), body = order->acknowledge ? reply_text(m, 2) : TEXT("");

	if (receipt.len <= SEQUENCE_DIGITS)
		return;
	call_text(c, arena_copy(&req->arena, receipt.at, SEQUENCE_DIGITS));
	call_text(c, arena_copy(&req->arena, receipt.at + SEQUENCE_DIGITS + 1, receipt.len - SEQUENCE_DIGITS - 1));
	call_text(c, arena_copy(&req->arena, body.at, body.len));
}

/* The client left. With an Idempotency-Key it may come again for what was taken. */
static void give_back(struct request *req, const struct reply *r)
{
	const struct order *order = req->work;

	if (!r || reply_int(r, 0) == 0 || req->idempotency_key.at)
		return;
	for (size_t q = 0; q < order->queue_count; q++) {
		struct call *c = NULL;
		for (size_t i = FIRST_MESSAGE; i < r->count; i++) {
			const struct reply *m = reply_item(r, i);
			if ((size_t)reply_int(m, 7) != q)
				continue;
			if (!c)
				c = queue_call(req, &queue_return_script, order->queues[q]);
			call_back(req, c, order, m);
		}
		if (c)
			call_send(c, NULL);
	}
}

static void receive(struct request *req)
{
	const struct order *order = req->work;
	char nonce[NONCE_DIGITS + 1];

	random_hex(nonce, NONCE_DIGITS);
	struct call *c = script_call(req, &queue_receive_script);
	for (size_t i = 0; i < order->queue_count; i++)
		queue_call_keys(c, order->queues[i]);
	call_int(c, order->max);
	queue_call_optional(c, order->has_visibility_ms, order->visibility_ms);
	call_text(c, arena_copy(&req->arena, nonce, NONCE_DIGITS));
	call_int(c, order->acknowledge);
	call_int(c, req->wait != NULL);
	call_send(c, on_received);
}

static void begin(struct request *req, const struct order *given)
{
	struct order *order = arena_alloc(&req->arena, sizeof(*order));

	if (given->acknowledge && given->has_visibility_ms) {
		answer_field_problem(req, P_INVALID_VALUE, "/visibility_ms",
				     "stands beside acknowledge; what is done at once is never seen again");
		return;
	}
	if (order)
		*order = *given;
	req->work = order;
	req->gone = give_back;
	if (!wait_begin(req, given->wait_ms, given->queue_count))
		return;
	for (size_t i = 0; i < given->queue_count; i++)
		wait_on(req, script_key(req, KEY_QUEUE, given->queues[i], NULL));
	wait_takes(req, (unsigned)given->max);
	if (order)
		receive(req);
	else
		answer_problem(req, P_OVERLOADED, "the daemon is out of memory");
}

void queue_receive(struct request *req, const struct queue_receive_input *in)
{
	begin(req, &(struct order){
			   .queues = &in->queue,
			   .queue_count = 1,
			   .max = in->max,
			   .wait_ms = in->wait_ms,
			   .has_visibility_ms = in->has_visibility_ms,
			   .visibility_ms = in->visibility_ms,
			   .acknowledge = in->acknowledge,
		   });
}

void queues_receive(struct request *req, const struct queues_receive_input *in)
{
	begin(req, &(struct order){
			   .queues = in->queues.items,
			   .queue_count = in->queues.count,
			   .names_queue = true,
			   .max = in->max,
			   .wait_ms = in->wait_ms,
			   .has_visibility_ms = in->has_visibility_ms,
			   .visibility_ms = in->visibility_ms,
			   .acknowledge = in->acknowledge,
		   });
}
