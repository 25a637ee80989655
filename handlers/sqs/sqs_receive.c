#include "sqs/sqs_receive.h"

#include "sqs/sqs_attributes.h"
#include "sqs/sqs_name.h"
#include "sqs/sqs_text.h"
#include "wait/wait.h"

enum { MESSAGES_MOST = 10, WAIT_MOST_S = 20, VISIBILITY_MOST_S = 43200, ATTEMPT_ID_MOST = 128 };

/* ---- The answer ---- */

static bool is_wanted(const struct sqs_call *s, const char *name)
{
	const struct json *names = json_tree_member(s->in, "MessageSystemAttributeNames");

	if (!names || names->kind != JSON_IS_ARRAY || !names->count)
		names = json_tree_member(s->in, "AttributeNames");
	return sqs_attribute_is_wanted(names, text_of(name));
}

static void out_attribute(const struct sqs_call *s, struct json_out *o, bool *is_open, const char *name,
			  struct text value)
{
	if (!value.at || !is_wanted(s, name))
		return;
	if (!*is_open)
		out_object(o, "Attributes");
	*is_open = true;
	out_text(o, name, value);
}

static void out_number(const struct sqs_call *s, struct json_out *o, bool *is_open, const char *name, int64_t value)
{
	char buffer[TEXT_DIGITS];

	out_attribute(s, o, is_open, name, text_of_int(value, buffer));
}

/* The queue keeps it to the second. It is the same in each receive, and not before the send. */
static int64_t first_received_ms(const struct sqs_call *s, const struct json *m)
{
	int64_t sent_ms = json_tree_int(m, "sent_at_ms", 0),
		first_ms = json_tree_int(m, "first_received_at_ms", s->req->now_ms) / 1000 * 1000;

	return first_ms > sent_ms ? first_ms : sent_ms;
}

static void out_attributes(const struct sqs_call *s, struct json_out *o, const struct json *m)
{
	struct text sequence = json_tree_string(m, "sequence"), source = json_tree_string(m, "dead_from");
	bool is_open = false;

	out_attribute(s, o, &is_open, "SenderId", TEXT(SQS_ACCOUNT));
	out_number(s, o, &is_open, "SentTimestamp", json_tree_int(m, "sent_at_ms", 0));
	out_number(s, o, &is_open, "ApproximateReceiveCount", json_tree_int(m, "receives", 1));
	out_number(s, o, &is_open, "ApproximateFirstReceiveTimestamp", first_received_ms(s, m));
	out_attribute(s, o, &is_open, "AWSTraceHeader",
		      json_tree_string(json_tree_member(m, "headers"), SQS_TRACE_HEADER));
	out_attribute(s, o, &is_open, "MessageGroupId", json_tree_string(m, "group"));
	out_attribute(s, o, &is_open, "MessageDeduplicationId", json_tree_string(m, "dedupe_id"));
	if (s->is_fifo && sequence.at)
		out_attribute(s, o, &is_open, "SequenceNumber", sqs_sequence_number(s->req, sequence));
	if (source.at)
		out_attribute(s, o, &is_open, "DeadLetterQueueSourceArn", sqs_arn_of(s->req, source));
	if (is_open)
		out_close(o);
}

static void out_message(const struct sqs_call *s, struct json_out *o, const struct json *m)
{
	struct text body = sqs_text_of(s->req, json_tree_member(m, "body"));
	struct sqs_attributes user = sqs_attributes_of(s->req, m, json_tree_member(s->in, "MessageAttributeNames"));

	out_object(o, NULL);
	out_text(o, "MessageId", sqs_message_id(s->req, json_tree_string(m, "id")));
	out_text(o, "ReceiptHandle", json_tree_string(m, "receipt"));
	sqs_md5_out(o, "MD5OfBody", &body, 1);
	out_text(o, "Body", body);
	out_attributes(s, o, m);
	sqs_attributes_out_md5(o, "MD5OfMessageAttributes", &user);
	sqs_attributes_out(o, &user);
	out_close(o);
}

static void on_received(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	const struct json *answer = sqs_answer(s), *messages = json_tree_member(answer, "messages");

	if (!answer)
		return;
	struct json_out *o = sqs_answer_begin(s);
	if (messages && messages->count) {
		out_array(o, "Messages");
		for (const struct json *m = messages->first; m; m = m->next)
			out_message(s, o, m);
		out_close(o);
	}
	sqs_answer_end(s);
}

/* ---- The receive ---- */

/*
 * The ReceiveRequestAttemptId serves as Idempotency-Key: a retry gets the messages of the first
 * answer that are still in flight. The record outlives their visibility, so a later receive with
 * the same id gets none of them.
 */
static void take_attempt_id(struct sqs_call *s)
{
	struct text id = json_tree_string(s->in, "ReceiveRequestAttemptId");

	if (s->is_fifo && id.len && id.len <= ATTEMPT_ID_MOST && !text_has_control(id))
		s->req->asked.idempotency_key = id;
}

void sqs_receive_message(struct sqs_call *s)
{
	int64_t limit, wait_s, visibility_s;
	struct json_out body;

	if (!wait_fits_body(s->req)) { /* a request that waits keeps what the client sent */
		sqs_fail(s, SQS_INVALID_PARAMETER, "The body of ReceiveMessage must be at most 64 KiB.");
		return;
	}
	if (!sqs_int(s, "MaxNumberOfMessages", 1, MESSAGES_MOST, 1, &limit, "Must be between 1 and 10, if provided.") ||
	    !sqs_int(s, "WaitTimeSeconds", 0, WAIT_MOST_S, SQS_UNSET, &wait_s,
		     "Must be >= 0 and <= 20, if provided.") ||
	    !sqs_int(s, "VisibilityTimeout", 0, VISIBILITY_MOST_S, SQS_UNSET, &visibility_s,
		     "Must be >= 0 and <= 43200, if provided."))
		return;
	sqs_body_begin(s, &body);
	out_bool(&body, "must_exist", true);
	out_int(&body, "limit", limit);
	if (wait_s != SQS_UNSET)
		out_int(&body, "wait_ms", wait_s * 1000);
	if (visibility_s != SQS_UNSET)
		out_int(&body, "visibility_ms", visibility_s ? visibility_s * 1000 : SQS_NO_VISIBILITY_MS);
	take_attempt_id(s);
	sqs_run(s, "queue_message_receive", s->queue, &body, on_received);
}
