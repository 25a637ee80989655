#include "queues/ends.h"

#include <string.h>

#include "common/key_kinds.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"

enum { ID_BYTES = 200 };

/* The request's work, in its arena, allocated before wait_begin. */
struct end_wait {
	struct text queue, id; /* (ref) to the input; the id is empty when the daemon makes it */
	char sequence[SEQUENCE_DIGITS + 1];
	char kept[ID_BYTES + 1]; /* the id of an earlier message: what an attempt allocates is freed */
	bool is_sent;            /* this request sent the message; the next two members are set */
	int64_t outcome, deliver_at_ms;
};

static void attempt(struct request *req);

static struct text id_of(const struct end_wait *w)
{
	return w->id.len ? w->id : text_of(w->sequence);
}

static void keep_sequence(struct end_wait *w, struct text sequence)
{
	size_t len = sequence.len < SEQUENCE_DIGITS ? sequence.len : SEQUENCE_DIGITS;

	memcpy(w->sequence, sequence.at, len);
	w->sequence[len] = '\0';
}

static const char *result_part(struct request *req, const struct end_wait *w)
{
	struct text part = arena_printf(&req->arena, "result:%s", w->sequence);

	return part.at ? part.at : "";
}

void queue_end_answer_no_results(struct request *req, const char *pointer, struct text queue)
{
	answer_field_problem(req, P_INVALID_VALUE, pointer,
			     "needs the setting result_ms, which queue '%s' does not have; set it with PATCH "
			     "/queues/{name}",
			     queue.at);
}

/* ---- The answer ---- */

/* Writes how a sent message ended, if that is known. */
static void out_end(struct json_out *o, const struct reply *message)
{
	struct text state = message ? reply_text(message, QUEUE_MESSAGE_STATE) : (struct text){ 0 };
	struct queue_message m;

	out_text_or_null(o, "state", state);
	if (!state.at)
		return;
	queue_message_read(&m, reply_text(message, QUEUE_MESSAGE_SEQUENCE), reply_text(message, QUEUE_MESSAGE_CONTENT),
			   reply_text(message, QUEUE_MESSAGE_STORED_STATE));
	if (text_is(state, "dead")) {
		out_int(o, "died_at_ms", reply_int(message, QUEUE_MESSAGE_AT_MS));
		out_text(o, "reason", m.reason);
	} else if (text_is(state, "done")) {
		out_int(o, "done_at_ms", reply_int(message, QUEUE_MESSAGE_AT_MS));
		if (m.content.len)
			out_raw(o, "result", m.content);
	}
}

/* `message` is NULL when it no longer exists, or when Redis could not be asked. */
static void answer_sent(struct request *req, const struct reply *message)
{
	const struct end_wait *w = req->work;
	struct text id = id_of(w);
	const struct text path[] = { TEXT("queues"), w->queue, TEXT("messages"), id };

	req->has_effect = false; /* the answer contains what was sent */
	if (w->outcome == QUEUE_SENT_STORED)
		answer_location(req, path, sizeof(path) / sizeof(path[0]));
	struct json_out *o = answer_begin(req, w->outcome == QUEUE_SENT_STORED ? 201 : 200);
	out_text(o, "name", w->queue);
	out_array(o, "messages");
	out_object(o, NULL);
	queue_sent_out(o, id, w->outcome, w->deliver_at_ms, text_of(w->sequence));
	out_end(o, message);
	out_close(o);
	out_close(o);
	answer_end(req);
}

/* `message` is NULL when it does not exist. */
static void answer_message(struct request *req, const struct reply *message)
{
	const struct end_wait *w = req->work;

	if (w->is_sent) {
		answer_sent(req, message);
	} else if (message) {
		queue_message_out(answer_begin(req, 200), req, message);
		answer_end(req);
	} else {
		queue_answer_no_message(req, w->queue, w->id);
	}
}

/* Answers this request, and each other request that waits for the same message (wait_share). */
static void answer_attempt(struct request *req, const struct reply *r)
{
	bool is_absent = reply_outcome(r) == QUEUE_MESSAGE_WAIT_ABSENT;

	answer_message(req, is_absent ? NULL : reply_item(r, QUEUE_MESSAGE_WAIT_MESSAGE));
}

/* ---- Looks that wait ---- */

static bool is_end(struct text state)
{
	return text_is(state, "done") || text_is(state, "dead");
}

static void on_attempted(struct request *req, const struct reply *r)
{
	if (!r) { /* only for a send, which succeeded: the outcome of the wait cannot change that */
		answer_sent(req, NULL);
		return;
	}
	if (reply_outcome(r) != QUEUE_MESSAGE_WAIT_ABSENT &&
	    !is_end(reply_text(reply_item(r, QUEUE_MESSAGE_WAIT_MESSAGE), QUEUE_MESSAGE_STATE))) {
		wait_look_at(req, reply_int(r, QUEUE_MESSAGE_WAIT_LOOK_AT_MS));
		if (wait_park(req, attempt))
			return;
	} else {
		wait_share(req, r, answer_attempt);
	}
	answer_attempt(req, r);
}

/* The script registers the daemon by the first part of its tickets. The last attempt only looks. */
static void attempt(struct request *req)
{
	const struct end_wait *w = req->work;
	struct text ticket = wait_left_ms(req) > 0 ? wait_ticket(req, NULL, TEXT("e")) : TEXT("");
	struct call *c = queue_call(req, &queue_message_wait_script, w->queue);

	call_key(c, KEY_QUEUE, w->queue, result_part(req, w));
	call_string(c, w->sequence);
	call_text(c, ticket.len > TICKET_PART_DIGITS ? (struct text){ ticket.at, TICKET_PART_DIGITS } : TEXT(""));
	call_int(c, wait_left_ms(req));
	if (w->is_sent)
		call_may_fail(c);
	call_send(c, on_attempted);
}

/* Joins the channels on which the end of the message, or of the queue, is published. */
static void listen(struct request *req)
{
	const struct end_wait *w = req->work;

	wait_on(req, call_key_name(req, KEY_QUEUE, w->queue, result_part(req, w)));
	wait_on(req, call_key_name(req, KEY_QUEUE, w->queue, "results"));
	wait_on_late(req);
	wait_shares(req);
}

/*
 * Call it in a `done`. Waits until the message ends or the queue is deleted. False: it has waited
 * as long as it may.
 */
static bool await(struct request *req)
{
	if (wait_left_ms(req) == 0)
		return false;
	listen(req);
	return wait_park(req, attempt);
}

/* ---- The first look, by the id ---- */

static void on_looked(struct request *req, const struct reply *r)
{
	struct end_wait *w = req->work;

	if (!r) {
		answer_sent(req, NULL);
		return;
	}
	switch (reply_outcome(r)) {
	case QUEUE_MESSAGE_GET_NO_RESULTS:
		queue_end_answer_no_results(req, "?wait_ms", w->queue);
		return;
	case QUEUE_MESSAGE_GET_ABSENT:
		answer_message(req, NULL);
		return;
	case QUEUE_MESSAGE_GET_RESULT_KEPT:
		keep_sequence(w, reply_text(r, QUEUE_MESSAGE_GET_SEQUENCE));
		attempt(req);
		return;
	}
	const struct reply *message = reply_item(r, QUEUE_MESSAGE_GET_MESSAGE);
	if (!is_end(reply_text(message, QUEUE_MESSAGE_STATE))) {
		keep_sequence(w, reply_text(message, QUEUE_MESSAGE_SEQUENCE));
		if (await(req))
			return;
	}
	answer_message(req, message);
}

static void look(struct request *req, bool wants_results)
{
	const struct end_wait *w = req->work;
	struct call *c = queue_call(req, &queue_message_get_script, w->queue);

	call_text(c, w->id);
	call_int(c, wants_results);
	call_int(c, 0);
	if (w->is_sent)
		call_may_fail(c);
	call_send(c, on_looked);
}

static struct end_wait *begin(struct request *req, struct text queue, int64_t wait_ms)
{
	struct end_wait *w = req->work = arena_alloc(&req->arena, sizeof(*w));

	if (!w) {
		answer_no_memory(req, EFFECT_NONE);
		return NULL;
	}
	*w = (struct end_wait){ .queue = queue };
	return wait_begin(req, wait_ms, 2) ? w : NULL;
}

void queue_message_get(struct request *req, const struct queue_message_get_input *in)
{
	struct end_wait *w = begin(req, in->name, in->wait_ms);

	if (!w)
		return;
	w->id = in->id;
	look(req, in->wait_ms > 0);
}

/* ---- A send ---- */

bool queue_end_begin(struct request *req, struct text queue, int64_t wait_ms)
{
	return begin(req, queue, wait_ms);
}

void queue_end_await_sent(struct request *req, struct text given, const struct reply *item)
{
	struct end_wait *w = req->work;

	w->is_sent = true;
	w->outcome = reply_int(item, QUEUE_SENT_OUTCOME);
	w->deliver_at_ms = reply_int(item, QUEUE_SENT_DELIVER_AT_MS);
	req->has_effect = true; /* problems of the wait must report it */
	keep_sequence(w, queue_sent_sequence(item, given));
	if (w->outcome == QUEUE_SENT_KEPT) { /* the kept message may have another id, or an unknown one */
		struct text id = reply_text(item, QUEUE_SENT_ID);
		size_t len = id.len < ID_BYTES ? id.len : ID_BYTES;
		memcpy(w->kept, id.at, len);
		w->kept[len] = '\0';
		w->id = (struct text){ w->kept, len };
	} else {
		w->id = given;
	}
	if (w->outcome == QUEUE_SENT_KEPT && *w->sequence) { /* it may have ended before */
		listen(req);
		attempt(req);
		return;
	}
	if (w->id.len) {
		look(req, false);
		return;
	}
	if (!await(req))
		attempt(req);
}
