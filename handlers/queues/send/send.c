/*
 * send: sends one message or a batch. One script stores them
 * (lua/queues/queue_message_send.lua). If a message may change an earlier one with its id, another
 * script does (lua/queues/queue_message_supersede.lua). Only the scripts know whether an id was
 * used before, and whether the queue has room.
 */
#include <inttypes.h>

#include "common/handler.h"
#include "queues/ends.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"
#include "queues/queue_metrics.h"
#include "queues/send/dedupe.h"
#include "queues/send/message_size.h"
#include "queues/send/room.h"
#include "request/traceparent.h"

/*
 * Answers 400 about a field of message `i` of a batch, or of the only message if `i` is negative.
 */
static void answer_message_problem(struct request *req, int i, const char *field, const char *detail)
{
	struct text pointer = i < 0 ? arena_printf(&req->arena, "/%s", field)
				    : arena_printf(&req->arena, "/messages/%d/%s", i, field);

	answer_field_problem(req, P_INVALID_VALUE, pointer.at ? pointer.at : "", "%s", detail);
}

/* True if the message may change an earlier one with its id. */
static bool supersedes(const struct queue_message_send_messages_item *m)
{
	return m->on_duplicate != QUEUE_MESSAGE_SEND_MESSAGES_ITEM_ON_DUPLICATE_KEEP;
}

/* False: the request was answered. */
static bool check_message(struct request *req, const struct queue_message_send_messages_item *m, int i)
{
	if (m->has_delay_ms && m->has_deliver_at_ms) {
		answer_message_problem(req, i, "deliver_at_ms", "cannot be given together with delay_ms");
		return false;
	}
	if (m->has_ttl_ms && m->ttl_ms > 0 && m->has_delay_ms && m->ttl_ms <= m->delay_ms) {
		answer_message_problem(req, i, "ttl_ms", "ends before the message is due");
		return false;
	}
	if (m->has_backoff_base_ms && m->has_backoff_max_ms && m->backoff_base_ms > m->backoff_max_ms) {
		answer_message_problem(req, i, "backoff_base_ms", "cannot be above backoff_max_ms");
		return false;
	}
	if (m->has_max_extend_ms && m->on_duplicate != QUEUE_MESSAGE_SEND_MESSAGES_ITEM_ON_DUPLICATE_EXTEND) {
		answer_message_problem(req, i, "max_extend_ms", "is allowed only with on_duplicate extend");
		return false;
	}
	if (supersedes(m) && !m->id.at) {
		answer_message_problem(req, i, "on_duplicate", "needs an id, unless it is keep");
		return false;
	}
	if (m->dedupe_by_body && m->dedupe_id.len) {
		answer_message_problem(req, i, "dedupe_by_body", "cannot be given together with dedupe_id");
		return false;
	}
	if (m->traceparent.at && !traceparent_is_valid(m->traceparent)) {
		answer_message_problem(
			req, i, "traceparent",
			"must be 2, 32, 16 and 2 lowercase hex digits, separated by dashes; no id may be all zeros");
		return false;
	}
	return true;
}

/*
 * Returns on_duplicate as lua/queues/queue_message_supersede.lua expects it, or for a message with
 * a dedupe id as lua/queues/queue_message_send.lua does.
 */
static struct text on_duplicate_of(struct request *req, const struct queue_message_send_messages_item *m)
{
	static const char *const letters[] = { "", "", "r", "e", "a" };

	if (queue_dedupe_has(m))
		return m->dedupe_by_body ? TEXT("b") : TEXT("d");
	return m->has_max_extend_ms ? arena_printf(&req->arena, "e%" PRId64, m->max_extend_ms)
				    : text_of(letters[m->on_duplicate]);
}

/*
 * Returns the backoff in the form of lua/queues/lib_queue.lua. An empty part means the queue's
 * setting.
 */
static struct text backoff_of(struct request *req, const struct queue_message_send_messages_item *m)
{
	char base[TEXT_DIGITS], most[TEXT_DIGITS];

	if (!m->has_backoff_base_ms && !m->has_backoff_max_ms)
		return TEXT("");
	return arena_printf(&req->arena, "%s:%s",
			    m->has_backoff_base_ms ? text_of_int(m->backoff_base_ms, base).at : "",
			    m->has_backoff_max_ms ? text_of_int(m->backoff_max_ms, most).at : "");
}

/* Returns the ttl_ms as the scripts have it. */
static int64_t ttl_of(const struct queue_message_send_messages_item *m)
{
	if (!m->has_ttl_ms)
		return 0;
	return m->ttl_ms ? m->ttl_ms : -1;
}

static void add_message(struct request *req, struct call *c, const struct queue_message_send_messages_item *m,
			struct text dedupe_id)
{
	call_text(c, m->id);
	call_text(c, queue_content(req, m, dedupe_id));
	if (m->has_delay_ms || m->has_deliver_at_ms || m->has_ttl_ms || m->has_max_receives || supersedes(m) ||
	    m->has_backoff_base_ms || m->has_backoff_max_ms || m->group.len || dedupe_id.len)
		call_text(c, arena_printf(&req->arena,
					  "%d\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%s\t%s",
					  (int)m->priority, m->has_delay_ms ? (int64_t)m->delay_ms : -1,
					  m->has_deliver_at_ms ? (int64_t)m->deliver_at_ms : -1, ttl_of(m),
					  m->has_max_receives ? queue_most_receives(m->max_receives) : 0,
					  backoff_of(req, m).at, on_duplicate_of(req, m).at,
					  m->group.len ? m->group.at : ""));
	else
		call_int(c, m->priority);
}

static void on_sent(struct request *req, const struct reply *r)
{
	const struct queue_message_send_input *in = req->input;
	size_t counts[QUEUE_SENT_OUTCOMES] = { 0 };
	for (size_t i = QUEUE_MESSAGE_SEND_MESSAGES; i < r->count; i++)
		for (int64_t outcome = 0; outcome < QUEUE_SENT_OUTCOMES; outcome++)
			counts[outcome] += reply_int(reply_item(r, i), QUEUE_SENT_OUTCOME) == outcome;
	size_t sent = counts[QUEUE_SENT_STORED] + counts[QUEUE_SENT_REPLACED];
	queue_metrics_count(req, in->name, QUEUE_SENT, sent);
	queue_metrics_count(req, in->name, QUEUE_DUPLICATE, r->count - QUEUE_MESSAGE_SEND_MESSAGES - sent);
	if (in->wait_result_ms > 0) {
		queue_end_await_sent(req, in->id, reply_item(r, QUEUE_MESSAGE_SEND_MESSAGES));
		return;
	}
	if (counts[QUEUE_SENT_STORED] && !in->messages.items) {
		struct text id = reply_text(reply_item(r, QUEUE_MESSAGE_SEND_MESSAGES), QUEUE_SENT_ID);
		const struct text path[] = { TEXT("queues"), in->name, TEXT("messages"), id };
		answer_location(req, path, sizeof(path) / sizeof(path[0]));
	}
	struct json_out *o = answer_begin(req, counts[QUEUE_SENT_STORED] ? 201 : 200);
	out_text(o, "name", in->name);
	out_array(o, "messages");
	for (size_t i = QUEUE_MESSAGE_SEND_MESSAGES; i < r->count; i++) {
		const struct reply *m = reply_item(r, i);
		out_object(o, NULL);
		size_t at = i - QUEUE_MESSAGE_SEND_MESSAGES;
		struct text given = in->messages.items ? in->messages.items[at].id : in->id;
		queue_sent_out(o, reply_text(m, QUEUE_SENT_ID), reply_int(m, QUEUE_SENT_OUTCOME),
			       reply_int(m, QUEUE_SENT_DELIVER_AT_MS), queue_sent_sequence(m, given));
		out_close(o);
	}
	out_close(o);
	answer_end(req);
}

static void send(struct request *req);
static void measure(struct request *req, int64_t most);

static void on_settled(struct request *req, const struct reply *r)
{
	(void)r; /* if there is more, the next attempt learns it */
	send(req);
}

/* The ttl_ms or the delay may be the queue's: the problem names a member that the message has. */
static void answer_past_ttl(struct request *req, int64_t index)
{
	const struct queue_message_send_input *in = req->input;
	bool in_batch = in->messages.items && (size_t)index < in->messages.count;
	const struct queue_message_send_messages_item *m = in_batch ? &in->messages.items[index] : NULL;
	bool has_ttl = m ? m->has_ttl_ms : in->has_ttl_ms, has_delay = m ? m->has_delay_ms : in->has_delay_ms;
	bool has_instant = m ? m->has_deliver_at_ms : in->has_deliver_at_ms;

	if (!has_ttl)
		answer_message_problem(
			req, m ? (int)index : -1, has_delay ? "delay_ms" : "deliver_at_ms",
			"is after the end of the queue's ttl_ms; send a longer ttl_ms, or 0 for no limit");
	else
		answer_message_problem(req, m ? (int)index : -1, "ttl_ms",
				       has_delay || has_instant
					       ? "ends before the message is due"
					       : "ends before the message is due, after the queue's delay_ms");
}

static void answer_no_dedupe_by_body(struct request *req, int64_t index)
{
	const struct queue_message_send_input *in = req->input;
	struct text pointer = in->messages.items
				      ? arena_printf(&req->arena, "/messages/%" PRId64 "/dedupe_by_body", index)
				      : TEXT("/dedupe_by_body");

	queue_dedupe_answer_required(req, pointer.at ? pointer.at : "", in->name);
}

static void on_attempted(struct request *req, const struct reply *r)
{
	const struct queue_message_send_input *in = req->input;

	if (reply_outcome(r) == QUEUE_MESSAGE_SEND_FULL) {
		queue_room_wait(req, in->name, r, send);
		return;
	}
	if (reply_outcome(r) == QUEUE_MESSAGE_SEND_UNSETTLED) {
		call_send(queue_call(req, &queue_settle_script, in->name), on_settled);
		return;
	}
	if (reply_outcome(r) == QUEUE_MESSAGE_SEND_TOO_LARGE) {
		measure(req, reply_int(r, QUEUE_MESSAGE_SEND_MOST));
		return;
	}
	if (in->wait_room_ms > 0)
		queue_room_left(req);
	if (reply_outcome(r) == QUEUE_MESSAGE_SEND_ABSENT)
		handler_answer_missing(req, "queue", in->name);
	else if (reply_outcome(r) == QUEUE_MESSAGE_SEND_PAST_TTL)
		answer_past_ttl(req, reply_int(r, QUEUE_MESSAGE_SEND_INDEX));
	else if (reply_outcome(r) == QUEUE_MESSAGE_SEND_NO_RESULTS)
		queue_end_answer_no_results(req, "/wait_result_ms", in->name);
	else if (reply_outcome(r) == QUEUE_MESSAGE_SEND_NO_DEDUPE_BY_BODY)
		answer_no_dedupe_by_body(req, reply_int(r, QUEUE_MESSAGE_SEND_INDEX));
	else
		on_sent(req, r);
}

/*
 * Adds the last argument, if the request has an option for it, and sends the call. `sized`: how
 * many bytes no message exceeds; 0: not known.
 */
static void send_off(struct request *req, struct call *c, int64_t sized)
{
	const struct queue_message_send_input *in = req->input;
	const char *before = in->must_exist ? "exists" : "";

	if (sized > 0) {
		struct text text = arena_printf(&req->arena, "%s%ssized=%" PRId64, before, *before ? " " : "", sized);
		before = text.at ? text.at : "";
	}
	if (in->wait_result_ms > 0)
		call_text(c, *before ? arena_printf(&req->arena, "%s results", before) : TEXT("results"));
	else if (in->wait_room_ms > 0)
		queue_room_call(req, c, before);
	else if (*before)
		call_string(c, before);
	call_send(c, on_attempted);
}

/*
 * Checks dedupe ids: only a send that changes no earlier message may have one, since another script
 * does the others. False: the request was answered.
 */
static bool check_dedupe(struct request *req, const struct queue_message_send_messages_item *messages, size_t count,
			 bool any_supersedes)
{
	const struct queue_message_send_input *in = req->input;

	for (size_t i = 0; any_supersedes && i < count; i++)
		if (queue_dedupe_has(&messages[i])) {
			answer_message_problem(req, in->messages.items ? (int)i : -1,
					       messages[i].dedupe_by_body ? "dedupe_by_body" : "dedupe_id",
					       in->messages.items ? "needs that each message has on_duplicate keep"
								  : "needs on_duplicate keep");
			return false;
		}
	return true;
}

static void send_messages(struct request *req, const struct queue_message_send_messages_item *messages, size_t count,
			  int64_t sized)
{
	const struct queue_message_send_input *in = req->input;
	bool any_supersedes = false, any_dedupes = false;

	for (size_t i = 0; i < count; i++) {
		if (!check_message(req, &messages[i], in->messages.items ? (int)i : -1))
			return;
		any_supersedes |= supersedes(&messages[i]);
		any_dedupes |= queue_dedupe_has(&messages[i]);
	}
	if (any_dedupes && !check_dedupe(req, messages, count, any_supersedes))
		return;
	const struct text *ids = any_dedupes ? queue_dedupe_ids(req, messages, count) : NULL;
	if (any_dedupes && !ids) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	struct call *c = queue_call(req, any_supersedes ? &queue_message_supersede_script : &queue_message_send_script,
				    in->name);
	for (size_t i = 0; ids && i < count; i++)
		if (ids[i].len)
			queue_dedupe_call_keys(req, c, in->name, messages[i].group, ids[i]);
	for (size_t i = 0; i < count; i++)
		add_message(req, c, &messages[i], ids ? ids[i] : (struct text){ 0 });
	send_off(req, c, sized);
}

/* The message of a request without `messages`. */
static struct queue_message_send_messages_item only_message(const struct queue_message_send_input *in)
{
	return (struct queue_message_send_messages_item){
		.body = in->body,
		.id = in->id,
		.priority = in->priority,
		.group = in->group,
		.has_delay_ms = in->has_delay_ms,
		.delay_ms = in->delay_ms,
		.has_deliver_at_ms = in->has_deliver_at_ms,
		.deliver_at_ms = in->deliver_at_ms,
		.has_ttl_ms = in->has_ttl_ms,
		.ttl_ms = in->ttl_ms,
		.has_max_receives = in->has_max_receives,
		.max_receives = in->max_receives,
		.has_backoff_base_ms = in->has_backoff_base_ms,
		.backoff_base_ms = in->backoff_base_ms,
		.has_backoff_max_ms = in->has_backoff_max_ms,
		.backoff_max_ms = in->backoff_max_ms,
		/* both enums have the same values */
		.on_duplicate = (enum queue_message_send_messages_item_on_duplicate)in->on_duplicate,
		.has_max_extend_ms = in->has_max_extend_ms,
		.max_extend_ms = in->max_extend_ms,
		.traceparent = in->traceparent,
		.headers = in->headers,
		.dedupe_id = in->dedupe_id,
		.dedupe_by_body = in->dedupe_by_body,
	};
}

static void send_sized(struct request *req, int64_t sized)
{
	const struct queue_message_send_input *in = req->input;

	if (in->messages.items) {
		send_messages(req, in->messages.items, in->messages.count, sized);
	} else {
		struct queue_message_send_messages_item m = only_message(in);
		send_messages(req, &m, 1, sized);
	}
}

/* Called again whenever there may be room, also after queue_settle. */
static void send(struct request *req)
{
	send_sized(req, 0);
}

/* A message as it is stored was above `most`; the bytes that count may be fewer. */
static void measure(struct request *req, int64_t most)
{
	const struct queue_message_send_input *in = req->input;
	struct queue_message_send_messages_item m = only_message(in);

	for (size_t i = 0; i < (in->messages.items ? in->messages.count : 1); i++) {
		const struct queue_message_send_messages_item *one = in->messages.items ? &in->messages.items[i] : &m;
		size_t size = queue_message_size(req, one, (size_t)most);
		if (size > (size_t)most) {
			struct text pointer =
				in->messages.items ? arena_printf(&req->arena, "/messages/%zu/body", i) : TEXT("/body");
			queue_message_answer_too_large(req, pointer.at ? pointer.at : "", in->name, size, (size_t)most);
			return;
		}
	}
	send_sized(req, most);
}

void queue_message_send(struct request *req, const struct queue_message_send_input *in)
{
	if (in->wait_result_ms > 0 && (in->on_duplicate == QUEUE_MESSAGE_SEND_ON_DUPLICATE_AFTER ||
				       in->on_duplicate == QUEUE_MESSAGE_SEND_ON_DUPLICATE_EXTEND))
		answer_message_problem(
			req, -1, "wait_result_ms",
			"cannot be given together with on_duplicate extend or after, whose message may not be sent yet");
	else if ((in->wait_result_ms <= 0 || queue_end_begin(req, in->name, in->wait_result_ms)) &&
		 queue_room_begin(req, in->name, in->wait_room_ms, in->messages.items ? in->messages.count : 1))
		send(req);
}
