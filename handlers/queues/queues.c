/*
 * queues: what becomes of a delivery. Each operation is one script (lua/queues/queue_*.lua).
 * Sending is in queues/send.c, receiving in queues/receive.c; whole queues, and messages that are
 * not in flight, are in queues/admin.c.
 *
 * Each receive makes a new receipt for a message (queue_call.h), and only the receipt of its
 * current delivery counts.
 */
#include <inttypes.h>

#include "common/handler.h"
#include "common/kinds.h"
#include "queues/ends.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"
#include "queues/queue_metrics.h"

/* ---- Deliveries ---- */

static void answer_no_receipt(struct request *req, const char *pointer, struct text queue)
{
	answer_field_problem(
		req, P_INVALID_RECEIPT, pointer,
		"is not a receipt of queue '%s'; send the receipt unchanged, to the queue that the message came from",
		queue.at);
}

/* Sequence and nonce of a receipt, two arguments. */
static void call_receipt(struct request *req, struct call *c, struct text receipt)
{
	call_text(c, arena_copy(&req->arena, receipt.at, SEQUENCE_DIGITS));
	call_text(c, arena_copy(&req->arena, receipt.at + SEQUENCE_DIGITS + 1, NONCE_DIGITS));
}

/*
 * Starts a call about a delivery, its receipt the first arguments. NULL when the request was
 * answered.
 */
static struct call *delivery_call(struct request *req, const struct script *s, struct text queue, struct text receipt)
{
	if (!queue_is_receipt(req, queue, receipt)) {
		answer_no_receipt(req, "{receipt}", queue);
		return NULL;
	}
	struct call *c = queue_call(req, s, queue);
	call_receipt(req, c, receipt);
	return c;
}

static void answer_stale(struct request *req)
{
	answer_problem(req, P_RECEIPT_EXPIRED,
		       "the delivery has ended: its visibility timeout passed, or its message was delivered again, "
		       "rejected, acknowledged or deleted");
}

static void answer_cancelled(struct request *req)
{
	answer_problem(req, P_MESSAGE_CANCELLED,
		       "the message was cancelled during this delivery; it is not delivered again");
}

static void on_acknowledged(struct request *req, const struct reply *r)
{
	const struct queue_delivery_acknowledge_input *in = req->input;

	queue_metrics_count(req, in->name, QUEUE_ACKNOWLEDGED, reply_outcome(r) > 0);
	if (reply_outcome(r) == QUEUE_DELIVERY_ACKNOWLEDGE_STALE)
		answer_stale(req);
	else if (reply_outcome(r) == QUEUE_DELIVERY_ACKNOWLEDGE_CANCELLED)
		answer_cancelled(req);
	else
		answer_empty(req, 204);
}

void queue_delivery_acknowledge(struct request *req, const struct queue_delivery_acknowledge_input *in)
{
	struct call *c = delivery_call(req, &queue_delivery_acknowledge_script, in->name, in->receipt);

	if (c)
		call_send(c, on_acknowledged);
}

static void on_extended(struct request *req, const struct reply *r)
{
	int64_t visible_until_ms = reply_int(r, QUEUE_DELIVERY_EXTEND_VISIBLE_UNTIL_MS);

	if (reply_outcome(r) == QUEUE_DELIVERY_EXTEND_STALE) {
		answer_stale(req);
		return;
	}
	if (reply_outcome(r) == QUEUE_DELIVERY_EXTEND_CANCELLED) {
		answer_cancelled(req);
		return;
	}
	if (visible_until_ms <= req->now_ms) {
		answer_problem_effect(req, P_RECEIPT_EXPIRED, EFFECT_APPLIED,
				      "the original request succeeded, but the extended delivery has ended");
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "id", reply_text(r, QUEUE_DELIVERY_EXTEND_ID));
	out_int(o, "visible_until_ms", visible_until_ms);
	answer_end(req);
}

/* As it is stored (queue_content.h); "" when the request reports none. */
static struct text progress_of(struct request *req, const struct queue_delivery_extend_input *in)
{
	if (!in->has_progress)
		return TEXT("");
	return arena_printf(&req->arena, "%d %s", (int)in->progress.percent, queue_encoded(req, in->progress.note).at);
}

void queue_delivery_extend(struct request *req, const struct queue_delivery_extend_input *in)
{
	struct call *c = delivery_call(req, &queue_delivery_extend_script, in->name, in->receipt);

	if (!c)
		return;
	queue_call_optional(c, in->has_visibility_ms, in->visibility_ms);
	call_text(c, progress_of(req, in));
	call_send(c, on_extended);
}

static void answer_dead_and_delayed(struct request *req, const char *pointer)
{
	answer_field_problem(req, P_INVALID_VALUE, pointer,
			     "cannot be combined with dead, since a dead letter is not redelivered");
}

static void on_rejected(struct request *req, const struct reply *r)
{
	const struct queue_delivery_reject_input *in = req->input;
	bool is_dead = reply_int(r, QUEUE_DELIVERY_REJECT_IS_DEAD) == 1;
	int64_t deliver_at_ms = is_dead ? 0 : reply_int(r, QUEUE_DELIVERY_REJECT_AT_MS);

	queue_metrics_count(req, in->name, QUEUE_REJECTED, reply_outcome(r) > 0);
	if (reply_outcome(r) == QUEUE_DELIVERY_REJECT_STALE) {
		answer_stale(req);
		return;
	}
	if (reply_outcome(r) == QUEUE_DELIVERY_REJECT_CANCELLED) {
		answer_cancelled(req);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "id", reply_text(r, QUEUE_DELIVERY_REJECT_ID));
	out_bool(o, "dead", is_dead);
	out_int_or_null(o, "deliver_at_ms", deliver_at_ms > 0, deliver_at_ms);
	answer_end(req);
}

void queue_delivery_reject(struct request *req, const struct queue_delivery_reject_input *in)
{
	if (in->dead && in->has_delay_ms) {
		answer_dead_and_delayed(req, "/delay_ms");
		return;
	}
	struct call *c = delivery_call(req, &queue_delivery_reject_script, in->name, in->receipt);
	if (!c)
		return;
	queue_call_optional(c, in->has_delay_ms, in->delay_ms);
	call_text(c, in->reason);
	call_int(c, in->dead);
	call_send(c, on_rejected);
}

/* ---- POST /queues/{name}/settle: many deliveries end at once ---- */

enum { SETTLED_NOT_CURRENT, SETTLED_ACKNOWLEDGED, SETTLED_REJECTED, SETTLED_RESULT_KEPT, SETTLED_CANCELLED };
enum { RESULT_MAX_BYTES = 65536 };

static void out_settled(struct json_out *o, struct text receipt, int64_t outcome, bool has_result)
{
	static const char *const outcomes[] = { "not_current", "acknowledged", "rejected", "acknowledged",
						"cancelled" }; /* as the script numbers them */

	if (outcome < SETTLED_NOT_CURRENT || outcome > SETTLED_CANCELLED)
		outcome = SETTLED_NOT_CURRENT;
	out_object(o, NULL);
	out_text(o, "receipt", receipt);
	out_string(o, "outcome", outcomes[outcome]);
	if (has_result && outcome != SETTLED_NOT_CURRENT && outcome != SETTLED_CANCELLED)
		out_bool(o, "result_stored", outcome == SETTLED_RESULT_KEPT);
	out_close(o);
}

static void settle(struct request *req, bool stores_results);

static void on_settled(struct request *req, const struct reply *r)
{
	const struct queue_delivery_settle_input *in = req->input;

	if (!r && in->complete.count && !req->work && call_problem_is_memory(req->result->failed)) {
		req->work = req; /* once */
		settle(req, false);
		return;
	}
	if (!r) {
		call_problem_answer(req->result->failed);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	size_t at = QUEUE_DELIVERY_SETTLE_OUTCOMES, rejected = 0;

	out_text(o, "name", in->name);
	out_array(o, "deliveries");
	for (size_t i = 0; i < in->acknowledge.count; i++)
		out_settled(o, in->acknowledge.items[i], reply_int(r, at++), false);
	for (size_t i = 0; i < in->complete.count; i++)
		out_settled(o, in->complete.items[i].receipt, reply_int(r, at++), true);
	for (size_t i = 0; i < in->reject.count; i++) {
		rejected += reply_int(r, at) == SETTLED_REJECTED;
		out_settled(o, in->reject.items[i].receipt, reply_int(r, at++), false);
	}
	out_close(o);
	/* What was acknowledged within the last minute counts only once. */
	queue_metrics_count(req, in->name, QUEUE_ACKNOWLEDGED, (size_t)reply_outcome(r) - rejected);
	queue_metrics_count(req, in->name, QUEUE_REJECTED, rejected);
	answer_end(req);
}

/* False when the request was answered with the first text that is no receipt of the queue. */
static bool check_receipts(struct request *req, const struct queue_delivery_settle_input *in)
{
	struct text pointer = { 0 };

	for (size_t i = 0; i < in->acknowledge.count && !pointer.at; i++)
		if (!queue_is_receipt(req, in->name, in->acknowledge.items[i]))
			pointer = arena_printf(&req->arena, "/acknowledge/%zu", i);
	for (size_t i = 0; i < in->complete.count && !pointer.at; i++)
		if (!queue_is_receipt(req, in->name, in->complete.items[i].receipt))
			pointer = arena_printf(&req->arena, "/complete/%zu/receipt", i);
	for (size_t i = 0; i < in->reject.count && !pointer.at; i++)
		if (!queue_is_receipt(req, in->name, in->reject.items[i].receipt))
			pointer = arena_printf(&req->arena, "/reject/%zu/receipt", i);
	if (pointer.at)
		answer_no_receipt(req, pointer.at, in->name);
	return !pointer.at;
}

static bool check_delays(struct request *req, const struct queue_delivery_settle_input *in)
{
	for (size_t i = 0; i < in->reject.count; i++) {
		if (in->reject.items[i].dead && in->reject.items[i].has_delay_ms) {
			struct text pointer = arena_printf(&req->arena, "/reject/%zu/delay_ms", i);
			answer_dead_and_delayed(req, pointer.at ? pointer.at : "");
			return false;
		}
	}
	return true;
}

static bool check_results(struct request *req, const struct queue_delivery_settle_input *in)
{
	for (size_t i = 0; i < in->complete.count; i++) {
		size_t len = in->complete.items[i].result.len;
		if (len <= RESULT_MAX_BYTES)
			continue;
		struct text pointer = arena_printf(&req->arena, "/complete/%zu/result", i);
		answer_field_problem(req, P_OUT_OF_RANGE, pointer.at ? pointer.at : "",
				     "has %zu bytes as JSON; %d are allowed", len, RESULT_MAX_BYTES);
		return false;
	}
	return true;
}

static void settle(struct request *req, bool stores_results)
{
	const struct queue_delivery_settle_input *in = req->input;
	const struct script *script = stores_results ? &queue_delivery_complete_script : &queue_delivery_settle_script;
	struct call *c = queue_call(req, script, in->name);

	for (size_t i = 0; i < in->complete.count && stores_results; i++)
		call_key(c, KEY_QUEUE, in->name,
			 arena_printf(&req->arena, "result:%.16s", in->complete.items[i].receipt.at).at);
	call_int(c, (int64_t)in->acknowledge.count);
	call_int(c, (int64_t)in->complete.count);
	for (size_t i = 0; i < in->acknowledge.count; i++)
		call_receipt(req, c, in->acknowledge.items[i]);
	for (size_t i = 0; i < in->complete.count; i++) {
		call_receipt(req, c, in->complete.items[i].receipt);
		call_text(c, stores_results ? in->complete.items[i].result : TEXT(""));
	}
	for (size_t i = 0; i < in->reject.count; i++) {
		const struct queue_delivery_settle_reject_item *rejected = &in->reject.items[i];
		call_receipt(req, c, rejected->receipt);
		queue_call_optional(c, rejected->has_delay_ms, rejected->delay_ms);
		call_text(c, rejected->reason);
		call_int(c, rejected->dead);
	}
	call_may_fail(c);
	call_send(c, on_settled);
}

void queue_delivery_settle(struct request *req, const struct queue_delivery_settle_input *in)
{
	if (in->acknowledge.count + in->complete.count + in->reject.count == 0) {
		answer_field_problem(req, P_MISSING_FIELD, "/acknowledge",
				     "is required, or complete or reject, with at least one receipt");
		return;
	}
	if (check_receipts(req, in) && check_delays(req, in) && check_results(req, in))
		settle(req, in->complete.count > 0);
}
