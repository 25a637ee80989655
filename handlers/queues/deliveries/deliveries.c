/*
 * deliveries: acknowledges, rejects or extends one delivery. Each operation is one script
 * (lua/queues/deliveries/queue_delivery_*.lua). send.c sends messages, receive.c receives them,
 * settle.c ends many deliveries at once. queues.c handles whole queues, messages.c messages that
 * are not in flight.
 *
 * Each receive makes a new receipt for a message (queue_call.h). Only the receipt of its current
 * delivery is valid. Only the scripts know which delivery is current.
 */
#include "common/handler.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"
#include "queues/queue_metrics.h"
#include "queues/redrive/dead_letters.h"

/* ---- Deliveries ---- */

/*
 * Starts a call about a delivery, with its receipt as the first arguments. Returns NULL when the
 * request was answered.
 */
static struct call *delivery_call(struct request *req, const struct script *s, struct text queue, struct text receipt)
{
	if (!queue_is_receipt(req, queue, receipt)) {
		queue_answer_no_receipt(req, "{receipt}", queue);
		return NULL;
	}
	struct call *c = queue_call(req, s, queue);
	queue_call_receipt(req, c, receipt);
	return c;
}

/* What else has ended a delivery whose receipt does not even count late. */
#define OR_REMOVED ", redriven or replaced, or is past its ttl_ms"
#define OR_GONE_ON OR_REMOVED ", or it is a dead letter, or another message of its group goes first"

static void answer_stale(struct request *req, const char *late)
{
	answer_problem(req, P_RECEIPT_EXPIRED,
		       "the delivery has ended: %sits message was delivered again, rejected, acknowledged%sdeleted%s",
		       late ? "" : "its visibility timeout passed, or ", late ? ", " : " or ", late ? late : "");
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
		answer_stale(req, in->late ? OR_REMOVED : NULL);
	else if (reply_outcome(r) == QUEUE_DELIVERY_ACKNOWLEDGE_CANCELLED)
		answer_cancelled(req);
	else
		answer_empty(req, 204);
}

void queue_delivery_acknowledge(struct request *req, const struct queue_delivery_acknowledge_input *in)
{
	struct call *c = delivery_call(req, &queue_delivery_acknowledge_script, in->name, in->receipt);

	if (!c)
		return;
	queue_call_late(c, in->late);
	call_send(c, on_acknowledged);
}

static void on_extended(struct request *req, const struct reply *r)
{
	const struct queue_delivery_extend_input *in = req->input;
	int64_t visible_until_ms = reply_int(r, QUEUE_DELIVERY_EXTEND_VISIBLE_UNTIL_MS);

	if (reply_outcome(r) == QUEUE_DELIVERY_EXTEND_STALE) {
		answer_stale(req, in->late ? OR_GONE_ON : NULL);
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

/*
 * Returns the progress in its stored form (queue_content.h), or "" when the request reports none.
 */
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
	queue_call_late(c, in->late);
	call_send(c, on_extended);
}

static void on_rejected(struct request *req, const struct reply *r)
{
	const struct queue_delivery_reject_input *in = req->input;
	bool is_dead = reply_int(r, QUEUE_DELIVERY_REJECT_IS_DEAD) > 0;
	int64_t deliver_at_ms = is_dead ? 0 : reply_int(r, QUEUE_DELIVERY_REJECT_AT_MS);

	queue_metrics_count(req, in->name, QUEUE_REJECTED, reply_outcome(r) > 0);
	if (reply_outcome(r) > 0 && reply_int(r, QUEUE_DELIVERY_REJECT_IS_DEAD) == 2)
		dead_letters_move(in->name);
	if (reply_outcome(r) == QUEUE_DELIVERY_REJECT_STALE) {
		answer_stale(req, in->late ? OR_GONE_ON : NULL);
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
	struct queue_reject how = QUEUE_REJECT_OF(in);
	const char *conflict = queue_reject_conflict(&how);

	if (conflict) {
		queue_answer_reject_conflict(req, conflict);
		return;
	}
	struct call *c = delivery_call(req, &queue_delivery_reject_script, in->name, in->receipt);
	if (!c)
		return;
	queue_call_reject(c, &how);
	queue_call_late(c, in->late);
	call_send(c, on_rejected);
}
