/*
 * receive: see receive.h.
 *
 * Deliveries that the request settles end before its first attempt (settle.c), or in it, so later
 * attempts do not settle again. From then on the request is never answered with a problem: the
 * client must learn what was settled. One script takes the messages
 * (lua/queues/receive/queue_message_receive.lua). In a Cluster, queues in different slots take one
 * call each. A queue that cannot be asked, or whose policy cannot be asked, keeps no message of the
 * others from the client (receive_lacks.c). If the client disconnects, its messages return.
 */
#include "queues/receive/receive.h"
#include "common/handler.h"
#include "common/key_kinds.h"
#include "queues/queue_call.h"
#include "queues/receive/receive_out.h"
#include "queues/redrive/dead_letters.h"
#include "queues/workers.h"

enum { BODIES_MAX = 1 << 20, PAYMENT_POLL_MS = 100, LACKING_POLL_MS = 1000 };

static void attempt(struct request *req);
static void receive(struct request *req);
static void proceed(struct request *req);

/*
 * Takes the policies from a reply, whose rows follow the rows of messages. If memory runs out, no
 * message is handed out.
 */
static void take_in_policies(struct request *req, struct receive_order *order, const struct reply *r)
{
	order->payment = NULL;
	for (size_t i = order->first; i < r->count; i++) {
		const struct reply *row = reply_item(r, i);
		size_t queue = order->at + (size_t)reply_int(row, QUEUE_DELIVERY_QUEUE);
		if (reply_text(row, QUEUE_DELIVERY_SEQUENCE).len > 0)
			continue;
		if (!order->payment)
			order->payment = arena_alloc(&req->arena, sizeof(*order->payment));
		if (order->payment)
			queue_payment_take_in(order->payment, req, queue, row);
	}
}

/* Takes the messages from a reply. False: a message is from a queue that was not asked. */
static bool take_in(struct request *req, struct receive_order *order, const struct reply *r)
{
	size_t end = order->in_turn ? order->at + 1 : order->queue_count;

	take_in_policies(req, order, r);
	bool keeps = order->in_turn || order->payment;
	for (size_t i = order->first; i < r->count && order->count < (size_t)order->limit; i++) {
		const struct reply *m = keeps ? reply_keep(&req->arena, reply_item(r, i)) : reply_item(r, i);
		if (m && reply_text(m, QUEUE_DELIVERY_SEQUENCE).len == 0)
			break; /* a row of a policy */
		if (!m)
			break;
		size_t queue = order->at + (size_t)reply_int(m, QUEUE_DELIVERY_QUEUE);
		if (queue < order->at || queue >= end)
			return false;
		order->deliveries[order->count++] = (struct queue_delivery){ .queue = queue, .m = m };
		order->body_bytes += reply_text(m, QUEUE_DELIVERY_CONTENT).len;
	}
	return true;
}

/* Answers 404 with the queue that the script did not find. */
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

static bool begin_wait(struct request *req, int64_t ms)
{
	const struct receive_order *order = req->work;

	if (!wait_begin(req, ms, order->queue_count))
		return false;
	for (size_t i = 0; i < order->queue_count; i++)
		wait_on(req, call_key_name(req, KEY_QUEUE, order->queues[i], NULL));
	return true;
}

/*
 * If the request leaves the wait to its queues, begins to wait for their wait_ms, and attempts
 * again. A request whose body is too large to keep does not wait, since it did not ask to. False:
 * the request must be answered.
 */
static bool waits_as_set(struct request *req)
{
	struct receive_order *order = req->work;
	int32_t ms = order->queue_wait_ms;

	if (order->wait_ms >= 0 || ms <= 0 || !wait_fits_body(req))
		return false;
	order->wait_ms = ms;
	if (begin_wait(req, ms))
		attempt(req);
	return true;
}

/* Call it once the messages of a call have been taken and paid for. */
static void proceed_from(struct request *req, bool has_taken)
{
	struct receive_order *order = req->work;

	if (order->in_turn && wants_more(order) && order->at + 1 < order->queue_count) {
		order->at++;
		receive(req);
	} else if (order->count == 0 && receive_lacks_all(&order->lacks)) {
		receive_lacks_answer(req, &order->lacks);
	} else if (has_taken || order->count || !waits_as_set(req)) {
		if (receive_lacks_some(&order->lacks)) /* its ticket may not be in the wait queues of these */
			wait_look_in(req, LACKING_POLL_MS);
		if (has_taken || order->count || !wait_park(req, attempt)) /* all of a replay may have ended */
			receive_answer_deliveries(req);
	}
}

/*
 * Returns true after a policy admitted nothing: its queue is held, so another call leaves it out.
 * The other queues may have messages, and a request that can still wait joins the wait queues.
 */
static bool asks_again(struct request *req, const struct queue_payment *p)
{
	struct receive_order *order = req->work;

	if (order->count > 0 || !p->was_refused || order->in_turn || receive_lacks_all(&order->lacks))
		return false;
	return wait_left_ms(req) > 0 || ++order->rounds < order->queue_count;
}

static void on_paid(struct request *req, const struct queue_payment *p)
{
	struct receive_order *order = req->work;

	order->count = (uint16_t)p->count;
	order->body_bytes = 0;
	for (size_t i = 0; i < order->count; i++)
		order->body_bytes += reply_text(order->deliveries[i].m, QUEUE_DELIVERY_CONTENT).len;
	if (p->was_refused) /* a queue in another slot does not know of the hold */
		wait_look_in(req, p->hold_ms);
	receive_lacks_note_policies(req, &order->lacks, p);
	if (order->count == 0 && p->undecided)
		answer_problem_effect(req, P_NO_ANSWER, EFFECT_UNKNOWN,
				      "messages were taken, but it was not recorded that they are paid for: %s; a "
				      "retry with this Idempotency-Key gets them",
				      call_problem_text(p->undecided));
	else if (asks_again(req, p))
		receive(req);
	else
		proceed_from(req, false);
}

static void pay(struct request *req, size_t first)
{
	struct receive_order *order = req->work;
	struct queue_payment *p = order->payment;

	p->queues = order->queues;
	p->deliveries = order->deliveries;
	p->first = first;
	p->count = order->count;
	p->acknowledge = order->acknowledge;
	p->done = on_paid;
	queue_payment_begin(req, p);
}

/* The first request with this Idempotency-Key may still be paying for the messages that it took. */
static void await_payment(struct request *req)
{
	wait_look_in(req, PAYMENT_POLL_MS);
	if (!wait_park(req, attempt))
		answer_problem(req, P_REQUEST_IN_PROGRESS,
			       "the first request with this Idempotency-Key is still spending the queue's policy");
}

/* Once per request and queue: a request that waits tries again and again. */
static void note_worker(struct request *req)
{
	struct receive_order *order = req->work;
	size_t end = order->in_turn ? order->at + 1 : order->queue_count;

	for (; order->noted < end; order->noted++)
		queue_worker_note(req, order->queues[order->noted], order->worker);
}

/*
 * Moves the dead letters of the queue that `more`, from the script's reply, names, if any. Returns
 * whether the script reached its limit of work.
 */
static bool move_letters(const struct receive_order *order, int64_t more)
{
	size_t queue = (size_t)(more / 2);

	if (queue > 0 && order->at + queue <= order->queue_count)
		dead_letters_move(order->queues[order->at + queue - 1]);
	return more % 2 == 1;
}

static void end_absent(struct request *req, const struct reply *r)
{
	if (wait_queued_us(req) == 0) /* it has not joined the wait queue, which outlives the queue */
		wait_ticket_left(req);
	answer_absent(req, r);
}

static void on_received(struct request *req, const struct reply *r)
{
	struct receive_order *order = req->work;

	if (!r) {
		receive_lacks_note(req, &order->lacks, order->at, req->result->failed);
		proceed_from(req, false);
		return;
	}
	int64_t taken = reply_outcome(r);
	if (taken == QUEUE_MESSAGE_RECEIVE_ABSENT) {
		end_absent(req, r);
		return;
	}
	if (order->queue_count > 1)
		order->must_exist = false;
	if (!req->result->replayed)
		note_worker(req);
	if (taken == QUEUE_MESSAGE_RECEIVE_PAYING) {
		await_payment(req);
		return;
	}
	bool is_cut = move_letters(order, reply_int(r, QUEUE_MESSAGE_RECEIVE_MORE));
	if (taken == 0 && is_cut) { /* the script reached its limit of work */
		receive(req);
		return;
	}
	size_t before = order->count;
	if (!take_in(req, order, r)) {
		answer_internal(req, "the script returned a message of a queue that was not requested");
		return;
	}
	order->was_replayed = req->result->replayed;
	if (!order->was_replayed && !order->in_turn && (taken > 0 || wait_left_ms(req) == 0))
		wait_ticket_left(req);
	int64_t look_at_ms = reply_int(r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS);
	if (order->wait_ms >= 0)
		wait_look_at(req, look_at_ms);
	else if (look_at_ms > order->queue_wait_ms)
		order->queue_wait_ms = (int32_t)look_at_ms;
	if (order->payment && order->count > before)
		pay(req, before);
	else
		proceed_from(req, taken > 0);
}

/* After an error the deliveries may have ended. It is harmless to acknowledge them again. */
static void on_turn(struct request *req, const struct reply *r)
{
	struct receive_order *order = req->work;

	if (r) {
		queue_settle_take(req, order->settle, r);
		req->fallback = receive_answer_unreceived;
		on_received(req, r);
	} else if (call_problem_is_unknown(req->result->failed)) {
		call_problem_answer(req->result->failed);
	} else {
		queue_settle_send(req, order->settle, proceed);
	}
}

/* The client disconnected. With an Idempotency-Key it can still fetch its messages by a retry. */
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
			queue_payment_call_delivery(req, c, order->acknowledge, order->deliveries[i].m);
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
	bool is_turn = order->settles_too;
	struct call *c = call_script(req, is_turn ? &queue_turn_script : &queue_message_receive_script);
	for (size_t i = order->at; i < end; i++)
		queue_call_keys(c, order->queues[i]);
	if (is_turn)
		queue_settle_call(req, c, order->settle);
	order->first = is_turn ? QUEUE_TURN_DELIVERIES : QUEUE_MESSAGE_RECEIVE_DELIVERIES;
	order->settles_too = false;
	call_int(c, order->limit - (int64_t)order->count);
	queue_call_optional(c, order->has_visibility_ms, order->visibility_ms);
	call_text(c, handler_random(req, NONCE_DIGITS));
	call_int(c, order->acknowledge);
	call_text(c, wait_ticket(req, &queue, text_of_int(order->limit, order->ticket_tail)));
	call_int(c, order->count ? 0 : order->wait_ms < 0 ? -1 : wait_left_ms(req));
	call_int(c, wait_queued_us(req));
	if (order->must_exist || order->worker.len)
		call_string(c, order->must_exist ? "1" : "");
	if (order->worker.len)
		call_text(c, order->worker);
	if (order->in_turn || is_turn)
		call_may_fail(c);
	call_send(c, is_turn ? on_turn : on_received);
}

/* Starts again at the first queue. */
static void attempt(struct request *req)
{
	struct receive_order *order = req->work;

	order->at = order->rounds = 0;
	receive_lacks_begin(&order->lacks);
	receive(req);
}

/* ---- Queues in several slots: all must exist before a message is taken ---- */

static void look(struct request *req);

/* A queue that could not be asked does not count as missing. */
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

/* The deliveries are settled, or the request has none. */
static void proceed(struct request *req)
{
	const struct receive_order *order = req->work;

	req->on_disconnect = release;
	if (order->settle && order->settle->count && !order->settles_too)
		req->fallback = receive_answer_unreceived;
	if (order->in_turn && order->must_exist)
		look(req);
	else
		attempt(req);
}

/* Copies the order to the request's arena. False: the request was answered. */
static bool keep(struct request *req, const struct receive_order *given)
{
	struct receive_order *order = arena_alloc(&req->arena, sizeof(*order));
	struct queue_delivery *deliveries = arena_alloc(&req->arena, (size_t)given->limit * sizeof(*deliveries));
	const struct slots *slots = slots_of(req, given->queues, given->queue_count);

	if (!slots || !slots_bear_key(req, slots))
		return false;
	if (!order || !deliveries) {
		answer_no_memory(req, EFFECT_NONE);
		return false;
	}
	*order = *given;
	order->deliveries = deliveries;
	order->lacks.count = given->queue_count;
	order->in_turn = slots->count > 1;
	order->settles_too = queue_settle_fits_turn(req, given->settle) && !given->must_exist;
	req->work = order;
	return true;
}

void receive_begin(struct request *req, const struct receive_order *given)
{
	if (given->acknowledge && given->has_visibility_ms) {
		answer_field_problem(req, P_INVALID_VALUE, "/visibility_ms",
				     "cannot be given together with acknowledge, which ends the delivery at once");
		return;
	}
	if (given->settle && !queue_settle_check(req, given->settle))
		return;
	if (!keep(req, given) || !begin_wait(req, given->wait_ms))
		return;
	const struct receive_order *order = req->work;
	if (given->settle && given->settle->count && !order->settles_too)
		queue_settle_send(req, given->settle, proceed);
	else
		proceed(req);
}
