#include "queues/redrive/move_ready.h"

#include "queues/queue_call.h"
#include "queues/queue_content.h"
#include "queues/redrive/move.h"

/*
 * The bounds of one request. It receives PAGE messages at a time, which are in flight for MOVE_MS.
 */
enum { MESSAGES_MOST = 1000, BYTES_MOST = 4 << 20, PAGE = 100, MOVE_MS = 60000 };

/* A message that was received. */
struct moving {
	const struct reply *m;
	struct text to; /* absent: it stays */
	bool is_stored;
};

/* The work of the request, in its arena. */
struct move_ready {
	const struct queue_redrive_input *in;
	int64_t stored, moved, duplicates;
	size_t bytes, first, count; /* of messages; the page begins at `first` */
	struct text to;             /* of the call under way */
	struct moving messages[MESSAGES_MOST];
};

static void receive(struct request *req);

static void answer(struct request *req)
{
	const struct move_ready *w = req->work;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", w->in->name);
	out_int(o, "redriven", w->moved);
	out_int(o, "duplicates", w->duplicates);
	answer_end(req);
}

static void on_returned(struct request *req, const struct reply *r)
{
	if (r)
		answer(req);
	else
		call_problem_answer(req->result->failed);
}

/* Messages that stay are ready again, as if they had not been received. */
static void return_others(struct request *req)
{
	const struct move_ready *w = req->work;
	struct call *c = NULL;

	for (size_t i = 0; i < w->count; i++) {
		if (w->messages[i].is_stored)
			continue;
		if (!c)
			c = queue_call(req, &queue_delivery_return_script, w->in->name);
		call_text(c, reply_text(w->messages[i].m, QUEUE_DELIVERY_SEQUENCE));
		call_text(c, reply_text(w->messages[i].m, QUEUE_DELIVERY_STORED_STATE));
		call_string(c, "");
	}
	if (!c) {
		answer(req);
		return;
	}
	call_may_fail(c);
	call_send(c, on_returned);
}

static void on_removed(struct request *req, const struct reply *r)
{
	struct move_ready *w = req->work;

	if (!r) {
		call_problem_answer(req->result->failed);
		return;
	}
	w->moved += reply_outcome(r);
	w->first = w->count;
	receive(req);
}

/* Removes what the page has stored elsewhere. */
static void remove_page(struct request *req)
{
	struct move_ready *w = req->work;
	struct call *c = queue_call(req, &queue_moved_remove_script, w->in->name);

	for (size_t i = w->first; i < w->count; i++) {
		if (!w->messages[i].is_stored)
			continue;
		struct text state = reply_text(w->messages[i].m, QUEUE_DELIVERY_STORED_STATE);
		call_text(c, reply_text(w->messages[i].m, QUEUE_DELIVERY_SEQUENCE));
		call_text(c, (struct text){ state.at, state.len < NONCE_DIGITS ? state.len : NONCE_DIGITS });
	}
	call_may_fail(c);
	call_send(c, on_removed);
}

static void store(struct request *req);

static void on_stored(struct request *req, const struct reply *r)
{
	struct move_ready *w = req->work;

	if (!r) {
		call_problem_answer(req->result->failed);
		return;
	}
	struct text outcomes = reply_text(r, QUEUE_LETTERS_STORE_OUTCOMES), to = w->to;
	w->stored += reply_outcome(r);
	req->has_effect |= reply_outcome(r) > 0;
	for (size_t i = w->first; i < w->count; i++) {
		struct moving *one = &w->messages[i];
		if (!text_equal(one->to, to) || !one->to.at || !outcomes.len)
			continue;
		one->is_stored = *outcomes.at == LETTER_STORED || *outcomes.at == LETTER_STORED_BEFORE;
		w->duplicates += *outcomes.at == LETTER_TAKEN;
		one->to = (struct text){ 0 };
		outcomes = (struct text){ outcomes.at + 1, outcomes.len - 1 };
	}
	store(req);
}

/* Stores the messages of the page in their queues, one queue after the other. */
static void store(struct request *req)
{
	struct move_ready *w = req->work;
	struct call *c = NULL;

	for (size_t i = w->first; i < w->count; i++) {
		const struct moving *one = &w->messages[i];
		if (!one->to.at || (c && !text_equal(one->to, w->to)))
			continue;
		if (!c) {
			w->to = one->to;
			c = queue_call(req, &queue_letters_store_script, w->to);
			call_int(c, w->in->interval_ms);
			call_int(c, w->stored);
			call_text(c, queue_encoded(req, w->in->name));
			call_string(c, w->in->to.at ? "ready" : "back");
			call_text(c, queue_encoded(req, w->to));
		}
		call_text(c, reply_text(one->m, QUEUE_DELIVERY_SEQUENCE));
		call_text(c, reply_text(one->m, QUEUE_DELIVERY_CONTENT));
		call_text(c, reply_text(one->m, QUEUE_DELIVERY_STORED_STATE));
	}
	if (!c) {
		remove_page(req);
		return;
	}
	call_may_fail(c);
	call_send(c, on_stored);
}

/* Keeps a message, and finds out where it moves. False: memory ran out. */
static bool keep(struct request *req, struct move_ready *w, const struct reply *row)
{
	const struct reply *m = reply_keep(&req->arena, row);
	struct queue_message message;

	if (!m)
		return false;
	struct text to = w->in->to;
	if (!to.at) {
		queue_message_read(&message, reply_text(m, QUEUE_DELIVERY_SEQUENCE),
				   reply_text(m, QUEUE_DELIVERY_CONTENT), reply_text(m, QUEUE_DELIVERY_STORED_STATE));
		to = queue_dead_from(&req->arena, message.content);
	}
	w->bytes += reply_text(m, QUEUE_DELIVERY_CONTENT).len;
	w->messages[w->count++] =
		(struct moving){ .m = m, .to = text_equal(to, w->in->name) ? (struct text){ 0 } : to };
	return true;
}

static void on_received(struct request *req, const struct reply *r)
{
	struct move_ready *w = req->work;

	if (!r) {
		call_problem_answer(req->result->failed);
		return;
	}
	for (size_t i = QUEUE_MESSAGE_RECEIVE_DELIVERIES; i < r->count && w->count < MESSAGES_MOST; i++)
		if (reply_text(reply_item(r, i), QUEUE_DELIVERY_SEQUENCE).len && /* else it is a policy */
		    !keep(req, w, reply_item(r, i)))
			break; /* the next call fails, since memory ran out */
	bool has_more = reply_outcome(r) == 0 && reply_int(r, QUEUE_MESSAGE_RECEIVE_MORE) % 2 == 1;
	if (w->count > w->first)
		store(req);
	else if (has_more)
		receive(req);
	else
		return_others(req);
}

/* Receives the next page. It does not count for a policy of the queue. */
static void receive(struct request *req)
{
	struct move_ready *w = req->work;
	int64_t wanted = w->in->limit - w->moved, room = (int64_t)(MESSAGES_MOST - w->count);

	wanted = wanted < room ? wanted : room;
	if (wanted <= 0 || w->bytes >= BYTES_MOST || request_is_disconnected(req)) {
		return_others(req);
		return;
	}
	struct call *c = queue_call(req, &queue_message_receive_script, w->in->name);
	call_int(c, wanted < PAGE ? wanted : PAGE);
	call_int(c, MOVE_MS);
	call_text(c, handler_random(req, NONCE_DIGITS));
	call_int(c, 0);
	call_string(c, "");
	call_int(c, 0);
	call_int(c, 0);
	call_without_record(c);
	call_may_fail(c);
	call_send(c, on_received);
}

/* False: the request was answered. */
static bool check(struct request *req, const struct queue_redrive_input *in)
{
	if (req->asked.idempotency_key.at)
		answer_field_problem(req, P_IDEMPOTENCY_UNAVAILABLE, "Idempotency-Key:",
				     "is not possible with the state ready, whose messages move in several steps");
	else if (!in->to.at && !in->to_source)
		answer_field_problem(req, P_MISSING_FIELD, "/to",
				     "is required with the state ready, unless to_source is true");
	else if (in->to.at && text_equal(in->to, in->name))
		answer_field_problem(req, P_INVALID_VALUE, "/to",
				     "is the queue itself; name another one, or set to_source");
	else
		return true;
	return false;
}

void queue_move_ready(struct request *req, const struct queue_redrive_input *in)
{
	struct move_ready *w;

	if (!check(req, in))
		return;
	w = arena_alloc(&req->arena, sizeof(*w));
	if (!w) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	w->in = in;
	w->stored = w->moved = w->duplicates = 0;
	w->bytes = w->first = w->count = 0;
	req->work = w;
	receive(req);
}
