/*
 * sqs_send: SendMessage and SendMessageBatch, each by one operation that sends. Entries that are
 * invalid are left out of it. If the queue itself refuses entries, it stores nothing and names
 * them; the others are then sent again.
 */
#include "sqs/sqs_send.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "process/config.h"
#include "sqs/sqs_attributes.h"
#include "sqs/sqs_batch.h"
#include "sqs/sqs_text.h"

enum { BATCH_BYTES_MOST = 1048576, DELAY_MOST_S = 900, TOKEN_MOST = 128 };

/* A message, and what becomes of it. */
struct outgoing {
	const struct json *in; /* its members */
	struct text text, id, group, dedupe_id;
	struct sqs_attributes user, system;
	int64_t delay_s; /* -1: the queue's */
	struct text message_id, sequence;
};

struct sending {
	struct sqs_batch batch; /* of a single message: an entry without an id */
	struct outgoing *messages;
	bool is_batch;
	struct text traceparent;   /* of the request, for its log */
	struct sqs_entry *refused; /* the queue refused it as too large; NULL: not known */
};

/* ---- Checks ---- */

static bool is_token(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.at[i] < '!' || t.at[i] > '~')
			return false;
	return t.len >= 1 && t.len <= TOKEN_MOST;
}

static bool check_token(struct sqs_call *s, struct sqs_entry *e, const char *member, struct text value)
{
	return !value.at || is_token(value) ||
	       sqs_batch_refuse(
		       s, e, SQS_INVALID_PARAMETER,
		       "Value %s for parameter %s is invalid. Reason: %s can only include alphanumeric and punctuation "
		       "characters. 1 to 128 in length.",
		       value.at, member, member);
}

static bool check_kind(struct sqs_call *s, struct sqs_entry *e, const struct outgoing *m)
{
	if (!s->is_fifo && m->dedupe_id.at)
		return sqs_batch_refuse(
			s, e, SQS_INVALID_PARAMETER,
			"Value %s for parameter MessageDeduplicationId is invalid. Reason: The request includes "
			"a parameter that is not valid for this queue type.",
			m->dedupe_id.at);
	if (s->is_fifo && m->delay_s > 0)
		return sqs_batch_refuse(s, e, SQS_INVALID_PARAMETER,
					"Value %" PRId64
					" for parameter DelaySeconds is invalid. Reason: The request include "
					"parameter that is not valid for this queue type.",
					m->delay_s);
	return check_token(s, e, "MessageGroupId", m->group) &&
	       check_token(s, e, "MessageDeduplicationId", m->dedupe_id);
}

static size_t bytes_of(const struct outgoing *m)
{
	return m->text.len + m->user.bytes;
}

static bool check(struct sqs_call *s, struct sqs_entry *e, struct outgoing *m)
{
	const struct json *delay = json_tree_member(m->in, "DelaySeconds");
	struct request *req = s->req;

	m->text = json_tree_string(m->in, "MessageBody");
	m->group = json_tree_string(m->in, "MessageGroupId");
	m->dedupe_id = json_tree_string(m->in, "MessageDeduplicationId");
	m->delay_s = delay && delay->kind == JSON_IS_INTEGER ? delay->integer : -1;
	if (!m->text.len)
		return sqs_batch_refuse(s, e, SQS_MISSING_PARAMETER,
					"The request must contain the parameter MessageBody.");
	if (!sqs_text_is_allowed(m->text))
		return sqs_batch_refuse(
			s, e, SQS_INVALID_MESSAGE_CONTENTS,
			"Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | "
			"#xE000 to #xFFFD | #x10000 to #x10FFFF");
	if (delay && delay->kind != JSON_IS_NULL && (m->delay_s < 0 || m->delay_s > DELAY_MOST_S))
		return sqs_batch_refuse(s, e, SQS_INVALID_PARAMETER,
					"Value %" PRId64
					" for parameter DelaySeconds is invalid. Reason: DelaySeconds must be "
					">= 0 and <= %d.",
					m->delay_s, DELAY_MOST_S);
	if (!sqs_attributes_read(req, json_tree_member(m->in, "MessageAttributes"), false, &m->user, &e->refusal) ||
	    !sqs_attributes_read(req, json_tree_member(m->in, "MessageSystemAttributes"), true, &m->system,
				 &e->refusal)) {
		e->has_failed = true;
		return false;
	}
	return check_kind(s, e, m);
}

/* Without the attribute AWSTraceHeader, the header of AWS X-Ray is its value. */
static void take_trace(struct sqs_call *s, struct outgoing *m)
{
	struct text trace = s->req->asked.header(s->req, "X-Amzn-Trace-Id", NULL);

	if (m->system.count || !trace.len || !text_is_utf8(trace) || !sqs_text_is_allowed(trace))
		return;
	m->system.items = arena_alloc(&s->req->arena, sizeof(*m->system.items));
	m->system.count = m->system.items != NULL;
	if (m->system.count)
		*m->system.items = (struct sqs_attribute){ TEXT("AWSTraceHeader"), TEXT("String"), trace, trace };
}

/* ---- The send ---- */

static void out_message(struct sqs_call *s, struct json_out *o, struct outgoing *m)
{
	sqs_text_out(o, "body", m->text);
	if (m->id.at)
		out_text(o, "id", m->id);
	if (m->group.at)
		out_text(o, "group", m->group);
	if (m->dedupe_id.at)
		out_text(o, "dedupe_id", m->dedupe_id);
	else if (s->is_fifo)
		out_bool(o, "dedupe_by_body", true);
	if (m->delay_s > 0 || (m->delay_s == 0 && !s->is_fifo))
		out_int(o, "delay_ms", m->delay_s * 1000);
	take_trace(s, m);
	sqs_attributes_out_headers(o, s->req, &m->user, &m->system);
}

static void out_sent(struct json_out *o, const struct sqs_call *s, const struct outgoing *m)
{
	bool has_system = json_tree_member(m->in, "MessageSystemAttributes");

	sqs_md5_out(o, "MD5OfMessageBody", &m->text, 1);
	sqs_attributes_out_md5(o, "MD5OfMessageAttributes", &m->user);
	if (has_system)
		sqs_attributes_out_md5(o, "MD5OfMessageSystemAttributes", &m->system);
	out_text(o, "MessageId", m->message_id);
	if (s->is_fifo && m->sequence.at)
		out_text(o, "SequenceNumber", m->sequence);
}

static void answer(struct sqs_call *s)
{
	struct sending *w = s->work;
	struct sqs_entry *first = w->batch.entries;

	if (!w->is_batch && first->has_failed) {
		sqs_fail(s, first->refusal.fault, "%s", first->refusal.message.at ? first->refusal.message.at : "");
		return;
	}
	struct json_out *o = sqs_answer_begin(s);
	if (!w->is_batch)
		out_sent(o, s, w->messages);
	if (w->is_batch) {
		out_array(o, "Successful");
		for (size_t i = 0; i < w->batch.count; i++) {
			if (first[i].has_failed)
				continue;
			out_object(o, NULL);
			out_text(o, "Id", first[i].id);
			out_sent(o, s, &w->messages[i]);
			out_close(o);
		}
		out_close(o);
		sqs_batch_out_failed(o, &w->batch);
	}
	sqs_answer_end(s);
}

static void send(struct sqs_call *s);

/* True if the queue does not compute dedupe ids from bodies; then all messages fail. */
static bool lacks_dedupe_id(struct sqs_call *s)
{
	const struct json *errors = json_tree_member(sqs_problem_document(s), "errors");
	struct text pointer = json_tree_string(errors ? errors->first : NULL, "pointer");

	return pointer.at && strstr(pointer.at, "/dedupe_by_body");
}

/* Marks the messages that the queue refused. True: there are some, and the others can be sent. */
static bool mark_refused(struct sqs_call *s)
{
	struct sending *w = s->work;
	struct sqs_named named[SQS_ENTRIES_MOST];
	size_t count = sqs_batch_named(s, &w->batch, named);

	for (size_t i = 0; i < count; i++)
		sqs_batch_refuse(s, named[i].entry, SQS_INVALID_PARAMETER,
				 "One or more parameters are invalid. Reason: the message %s.", named[i].detail.at);
	return count;
}

static void refuse_size(struct sqs_call *s, struct sqs_entry *e, int64_t most)
{
	const struct sending *w = s->work;

	sqs_batch_refuse(s, e, SQS_INVALID_PARAMETER,
			 "One or more parameters %s. Reason: Message must be shorter than %" PRId64 " bytes.",
			 w->is_batch ? "cannot be validated" : "are invalid", most);
}

/* Refuses the messages that are larger than the queue allows, and sends the others. */
static void on_limit(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	struct sending *w = s->work;
	const struct json *queue = sqs_answer(s);
	int64_t most = json_tree_int(json_tree_member(queue, "settings"), "max_message_bytes", INT64_MAX);
	bool any = false;

	if (!queue)
		return;
	for (size_t i = 0; i < w->batch.count; i++) {
		struct sqs_entry *e = &w->batch.entries[i];
		if (e->has_failed || (e != w->refused && (int64_t)bytes_of(&w->messages[i]) <= most))
			continue;
		refuse_size(s, e, most);
		any = true;
	}
	if (any)
		send(s);
	else
		sqs_fail(s, SQS_INTERNAL_FAILURE, "The queue refused a message, and it is not known which.");
}

static void on_sent(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	struct sending *w = s->work;

	req->asked.traceparent = w->traceparent;
	if (sqs_problem(s) && lacks_dedupe_id(s)) {
		sqs_fail(
			s, SQS_INVALID_PARAMETER,
			"The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided "
			"explicitly");
		return;
	}
	if (sqs_has_problem(s, P_MESSAGE_TOO_LARGE)) {
		struct sqs_named named[SQS_ENTRIES_MOST];
		w->refused = sqs_batch_named(s, &w->batch, named) ? named[0].entry : NULL;
		sqs_look(s, s->queue, on_limit);
		return;
	}
	if (sqs_problem(s) && mark_refused(s)) {
		send(s);
		return;
	}
	const struct json *sent = sqs_answer(s);
	const struct json *items = json_tree_member(sent, "messages"), *item = items ? items->first : NULL;
	if (!sent)
		return;
	for (size_t i = 0; i < w->batch.count && item; i++) {
		if (w->batch.entries[i].has_failed)
			continue;
		struct text sequence = json_tree_string(item, "sequence");
		w->messages[i].message_id = sqs_message_id(req, json_tree_string(item, "id"));
		if (sequence.at)
			w->messages[i].sequence = sqs_sequence_number(req, sequence);
		item = item->next;
	}
	answer(s);
}

static void send(struct sqs_call *s)
{
	struct sending *w = s->work;
	struct json_out body;
	size_t good = 0;

	for (size_t i = 0; i < w->batch.count; i++)
		good += w->batch.entries[i].is_asked = !w->batch.entries[i].has_failed;
	if (!good) {
		answer(s);
		return;
	}
	sqs_body_begin(s, &body);
	out_bool(&body, "must_exist", true);
	out_array(&body, "messages");
	for (size_t i = 0; i < w->batch.count; i++) {
		if (w->batch.entries[i].has_failed)
			continue;
		out_object(&body, NULL);
		out_message(s, &body, &w->messages[i]);
		out_close(&body);
	}
	out_close(&body);
	/* As in SQS, the header of the request is not an attribute of its messages. */
	w->traceparent = s->req->asked.traceparent;
	s->req->asked.traceparent = (struct text){ 0 };
	sqs_run(s, "queue_message_send", s->queue, &body, on_sent);
}

/* Returns `at_least`, or --max-body-bytes if that is larger. */
static size_t most_bytes(size_t at_least)
{
	size_t most = (size_t)config()->max_body_bytes;

	return most > at_least ? most : at_least;
}

static void begin(struct sqs_call *s, struct sending *w)
{
	unsigned char request[DIGEST_BYTES];
	size_t bytes = 0;

	digest_sha256(s->req->asked.body, request);

	w->messages = arena_alloc(&s->req->arena, w->batch.count * sizeof(*w->messages));
	if (!w->messages) {
		sqs_fail_no_memory(s);
		return;
	}
	s->work = w;
	for (size_t i = 0; i < w->batch.count; i++) {
		w->messages[i] = (struct outgoing){ .in = w->batch.entries[i].in };
		w->messages[i].id = sqs_id_of_retry(s->req, w->batch.entries[i].id, request);
		if (check(s, &w->batch.entries[i], &w->messages[i]) && bytes_of(&w->messages[i]) > most_bytes(0))
			refuse_size(s, &w->batch.entries[i], (int64_t)most_bytes(0));
		bytes += bytes_of(&w->messages[i]);
		if (s->is_fifo && !w->messages[i].group.at) {
			sqs_fail(s, SQS_MISSING_PARAMETER, "The request must contain the parameter MessageGroupId.");
			return;
		}
	}
	if (w->is_batch && bytes > most_bytes(BATCH_BYTES_MOST))
		sqs_fail(s, SQS_BATCH_REQUEST_TOO_LONG,
			 "Batch requests cannot be longer than %zu bytes. You have sent %zu bytes.",
			 most_bytes(BATCH_BYTES_MOST), bytes);
	else
		send(s);
}

/* `kind` is what error messages call an entry; NULL: the request is a single message. */
static void send_as(struct sqs_call *s, const char *kind)
{
	struct sending *w = arena_alloc(&s->req->arena, sizeof(*w));

	if (!w) {
		sqs_fail_no_memory(s);
		return;
	}
	*w = (struct sending){ .is_batch = kind };
	if (sqs_batch_read(s, kind, &w->batch))
		begin(s, w);
}

void sqs_send_message(struct sqs_call *s)
{
	send_as(s, NULL);
}

void sqs_send_message_batch(struct sqs_call *s)
{
	send_as(s, "SendMessageBatchRequestEntry");
}
