/*
 * sqs_settle: see sqs_settle.h. The receipts of a request are settled in rounds. A round is one
 * operation, for the receipts with the same new visibility, or for the receipts to delete. If a
 * text is not a receipt of the queue, its entry fails, and the round is repeated without it.
 *
 * On a standard queue a receipt counts until its message is delivered again (`late`), as in SQS.
 */
#include "sqs/sqs_settle.h"

#include <inttypes.h>

#include "sqs/sqs_batch.h"

enum { VISIBILITY_MOST_S = 43200, DELETES = -1 };

/* A receipt. */
struct settled {
	struct text receipt;
	int64_t visibility_s; /* from now on; DELETES: it is acknowledged */
	bool is_done;
};

struct settling {
	struct sqs_batch batch; /* of a single receipt: an entry without an id */
	struct settled *receipts;
	bool is_batch, has_gone; /* a delivery has ended, perhaps because the queue was deleted */
};

static struct settled *settled_of(const struct settling *w, const struct sqs_entry *e)
{
	return &w->receipts[e - w->batch.entries];
}

static void answer(struct sqs_call *s)
{
	struct settling *w = s->work;
	const struct sqs_entry *first = w->batch.entries;

	if (w->is_batch)
		sqs_batch_answer(s, &w->batch);
	else if (first->has_failed)
		sqs_fail(s, first->refusal.fault, "%s", first->refusal.message.at ? first->refusal.message.at : "");
	else
		sqs_answer_empty(s);
}

static void on_looked(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);

	if (sqs_answer_existing(s))
		answer(s);
}

/* An ended delivery does not show whether the queue exists, so the queue is looked up. */
static void finish(struct sqs_call *s)
{
	struct settling *w = s->work;

	if (w->has_gone)
		sqs_look(s, s->queue, on_looked);
	else
		answer(s);
}

/* ---- A round ---- */

static void run_round(struct sqs_call *s);

static void take_outcome(struct sqs_call *s, struct sqs_entry *e, struct text outcome)
{
	struct settling *w = s->work;
	struct settled *r = settled_of(w, e);
	bool is_gone = text_is(outcome, "not_current"), deletes = r->visibility_s == DELETES;

	r->is_done = true;
	w->has_gone |= is_gone;
	if (deletes && is_gone && s->is_fifo)
		sqs_batch_refuse(
			s, e, SQS_INVALID_PARAMETER,
			"Value %s for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
			r->receipt.at);
	else if (!deletes && (is_gone || text_is(outcome, "cancelled")))
		sqs_batch_refuse(
			s, e, SQS_INVALID_PARAMETER,
			"Value %s for parameter ReceiptHandle is invalid. Reason: Message does not exist or is "
			"not available for visibility timeout change.",
			r->receipt.at);
}

/* Marks the entries whose text is not a receipt of the queue. True: there are some. */
static bool mark_invalid(struct sqs_call *s)
{
	struct settling *w = s->work;
	struct sqs_named named[SQS_ENTRIES_MOST];
	size_t count = sqs_batch_named(s, &w->batch, named);

	for (size_t i = 0; i < count; i++) {
		struct settled *r = settled_of(w, named[i].entry);
		r->is_done = w->has_gone = true;
		sqs_batch_refuse(s, named[i].entry, SQS_RECEIPT_IS_INVALID,
				 "The input receipt handle \"%s\" is not a valid receipt handle.", r->receipt.at);
	}
	return count;
}

static void on_round(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	struct settling *w = s->work;

	if (sqs_problem(s) && mark_invalid(s)) {
		run_round(s);
		return;
	}
	const struct json *answer = sqs_answer(s), *items = json_tree_member(answer, "deliveries");
	const struct json *item = items ? items->first : NULL;
	if (!answer)
		return;
	for (size_t i = 0; i < w->batch.count && item; i++) {
		if (!w->batch.entries[i].is_asked)
			continue;
		take_outcome(s, &w->batch.entries[i], json_tree_string(item, "outcome"));
		item = item->next;
	}
	run_round(s);
}

/* True if the round has the same receipt already; it is then settled in the next round. */
static bool is_repeated(const struct settling *w, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (w->batch.entries[i].is_asked && text_equal(w->receipts[i].receipt, w->receipts[at].receipt))
			return true;
	return false;
}

static void out_round(struct sqs_call *s, struct json_out *body, int64_t visibility_s)
{
	struct settling *w = s->work;
	bool rejects = visibility_s == 0;

	out_array(body, visibility_s == DELETES ? "acknowledge" : rejects ? "reject" : "receipts");
	for (size_t i = 0; i < w->batch.count; i++) {
		const struct settled *r = &w->receipts[i];
		bool *is_asked = &w->batch.entries[i].is_asked;
		*is_asked = !r->is_done && r->visibility_s == visibility_s && !is_repeated(w, i);
		if (!*is_asked)
			continue;
		if (rejects) {
			out_object(body, NULL);
			out_text(body, "receipt", r->receipt);
			out_int(body, "delay_ms", 0);
			out_close(body);
		} else {
			out_text(body, NULL, r->receipt);
		}
	}
	out_close(body);
	if (visibility_s > 0)
		out_int(body, "visibility_ms", visibility_s * 1000);
	if (!s->is_fifo)
		out_bool(body, "late", true);
}

static void run_round(struct sqs_call *s)
{
	struct settling *w = s->work;
	struct json_out body;
	size_t i = 0;

	while (i < w->batch.count && w->receipts[i].is_done)
		i++;
	if (i == w->batch.count) {
		finish(s);
		return;
	}
	int64_t visibility_s = w->receipts[i].visibility_s;
	sqs_body_begin(s, &body);
	out_round(s, &body, visibility_s);
	sqs_run(s, visibility_s > 0 ? "queue_delivery_list_extend" : "queue_delivery_settle", s->queue, &body,
		on_round);
}

/* ---- The actions ---- */

static void read_receipt(struct sqs_call *s, struct settling *w, size_t i, bool deletes)
{
	struct sqs_entry *e = &w->batch.entries[i];
	struct settled *r = &w->receipts[i];

	*r = (struct settled){ .receipt = json_tree_string(e->in, "ReceiptHandle"), .visibility_s = DELETES };
	if (!r->receipt.len)
		sqs_batch_refuse(s, e, SQS_MISSING_PARAMETER, "The request must contain the parameter ReceiptHandle.");
	if (!deletes) {
		const struct json *timeout = json_tree_member(e->in, "VisibilityTimeout");
		r->visibility_s = timeout && timeout->kind == JSON_IS_INTEGER ? timeout->integer : DELETES;
		if (!timeout || timeout->kind == JSON_IS_NULL)
			sqs_batch_refuse(s, e, SQS_MISSING_PARAMETER,
					 "The request must contain the parameter VisibilityTimeout.");
		else if (r->visibility_s < 0 || r->visibility_s > VISIBILITY_MOST_S)
			sqs_batch_refuse(s, e, SQS_INVALID_PARAMETER,
					 "Value %" PRId64 " for parameter VisibilityTimeout is invalid. Reason: "
					 "VisibilityTimeout must be an integer between 0 and %d.",
					 r->visibility_s, VISIBILITY_MOST_S);
	}
	r->is_done = e->has_failed;
}

static void begin(struct sqs_call *s, struct settling *w, bool deletes)
{
	w->receipts = arena_alloc(&s->req->arena, w->batch.count * sizeof(*w->receipts));
	if (!w->receipts) {
		sqs_fail_no_memory(s);
		return;
	}
	s->work = w;
	for (size_t i = 0; i < w->batch.count; i++)
		read_receipt(s, w, i, deletes);
	run_round(s);
}

/* `kind` is what error messages call an entry; NULL: the request has a single receipt. */
static void settle(struct sqs_call *s, bool deletes, const char *kind)
{
	struct settling *w = arena_alloc(&s->req->arena, sizeof(*w));

	if (!w) {
		sqs_fail_no_memory(s);
		return;
	}
	*w = (struct settling){ .is_batch = kind };
	if (sqs_batch_read(s, kind, &w->batch))
		begin(s, w, deletes);
}

void sqs_delete_message(struct sqs_call *s)
{
	settle(s, true, NULL);
}

void sqs_delete_message_batch(struct sqs_call *s)
{
	settle(s, true, "DeleteMessageBatchRequestEntry");
}

void sqs_change_message_visibility(struct sqs_call *s)
{
	settle(s, false, NULL);
}

void sqs_change_message_visibility_batch(struct sqs_call *s)
{
	settle(s, false, "ChangeMessageVisibilityBatchRequestEntry");
}
