#include "sqs/sqs_queue_attributes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "process/config.h"
#include "sqs/sqs_name.h"
#include "sqs/sqs_tags.h"
#include "json/read.h"

enum { RECEIVES_MOST = 1000 };

/* How a value is written, and where it is. */
enum kind {
	SECONDS, /* of a setting in milliseconds */
	NUMBER,  /* of a setting */
	TRUTH,   /* of a setting */
	SCOPE,   /* dedupe_scope */
	FIFO,    /* the name decides */
	REDRIVE, /* dead_letter_queue and max_receives */
	KEPT,    /* an annotation; an empty text removes it */
	REFUSED, /* it would promise an encryption that is not done */
	COUNT,   /* of messages; read-only, as are the kinds below */
	INSTANT,
	ARN,
};

static const struct attribute {
	const char *name;
	enum kind kind;
	const char *member; /* of the settings, or of the queue; KEPT: the default, or NULL */
	int64_t low, high, absent;
	bool of_fifo;
} attributes[] = {
	{ "QueueArn", ARN, NULL, 0, 0, 0, false },
	{ "ApproximateNumberOfMessages", COUNT, "ready", 0, 0, 0, false },
	{ "ApproximateNumberOfMessagesNotVisible", COUNT, "in_flight", 0, 0, 0, false },
	{ "ApproximateNumberOfMessagesDelayed", COUNT, "delayed", 0, 0, 0, false },
	{ "CreatedTimestamp", INSTANT, "created_at_ms", 0, 0, 0, false },
	{ "LastModifiedTimestamp", INSTANT, "changed_at_ms", 0, 0, 0, false },
	{ "VisibilityTimeout", SECONDS, "visibility_ms", 0, 43200, 30, false },
	{ "MaximumMessageSize", NUMBER, "max_message_bytes", 1024, 1048576, 1048576, false },
	{ "MessageRetentionPeriod", SECONDS, "ttl_ms", 60, 1209600, 1209600, false },
	{ "DelaySeconds", SECONDS, "delay_ms", 0, 900, 0, false },
	{ "ReceiveMessageWaitTimeSeconds", SECONDS, "wait_ms", 0, 20, 0, false },
	{ "SqsManagedSseEnabled", KEPT, "false", 0, 0, 0, false },
	{ "Policy", KEPT, NULL, 0, 0, 0, false },
	{ "RedrivePolicy", REDRIVE, NULL, 0, 0, 0, false },
	{ "RedriveAllowPolicy", KEPT, NULL, 0, 0, 0, false },
	{ "FifoQueue", FIFO, NULL, 0, 0, 0, true },
	{ "ContentBasedDeduplication", TRUTH, "dedupe_by_body", 0, 0, 0, true },
	{ "DeduplicationScope", SCOPE, "dedupe_scope", 0, 0, 0, true },
	{ "FifoThroughputLimit", KEPT, "perQueue", 0, 0, 0, true },
	{ "KmsMasterKeyId", REFUSED, NULL, 0, 0, 0, false },
	{ "KmsDataKeyReusePeriodSeconds", REFUSED, NULL, 0, 0, 0, false },
};
enum { ATTRIBUTES = sizeof(attributes) / sizeof(attributes[0]) };

static const struct attribute *attribute_of(struct text name)
{
	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (text_is(name, attributes[i].name))
			return &attributes[i];
	return NULL;
}

/* The attribute that a request has set, once all were checked. */
static const struct attribute *checked(const struct json *given)
{
	const struct attribute *a = attribute_of(given->key);
	assert(a);
	return a;
}

static const struct json *first_given(const struct sqs_call *s)
{
	const struct json *given = json_tree_member(s->in, "Attributes");

	return given && given->kind == JSON_IS_OBJECT ? given->first : NULL;
}

/* ---- What a client sets ---- */

static bool refuse(struct sqs_call *s, const char *name)
{
	sqs_fail(s, SQS_INVALID_ATTRIBUTE_VALUE, "Invalid value for the parameter %s.", name);
	return false;
}

static bool is_truth(struct text t)
{
	return t.at && (strcasecmp(t.at, "true") == 0 || strcasecmp(t.at, "false") == 0);
}

static bool text_is_true(struct text t)
{
	return t.at && strcasecmp(t.at, "true") == 0;
}

/* Reads a number. False: it is not a number. */
static bool read_int(struct text t, int64_t *out)
{
	char *end = NULL;

	if (!t.len || t.len > 18 || strspn(t.at, "0123456789") != t.len)
		return false;
	*out = strtoll(t.at, &end, 10);
	return true;
}

struct redrive {
	struct text queue;
	int64_t receives;
};

static bool read_redrive(struct request *req, struct text policy, struct redrive *out)
{
	const struct json *given = json_read_own(&req->arena, policy, NULL, NULL);
	const struct json *count = json_tree_member(given, "maxReceiveCount");

	out->queue = sqs_name_of_arn(req, json_tree_string(given, "deadLetterTargetArn"));
	out->receives = count && count->kind == JSON_IS_INTEGER ? count->integer : 0;
	if (count && count->kind == JSON_IS_TEXT && !read_int(count->text, &out->receives))
		return false;
	return out->queue.len && out->receives >= 1 && out->receives <= RECEIVES_MOST;
}

static bool check_redrive(struct sqs_call *s, struct text policy)
{
	struct redrive redrive;

	if (!policy.len || read_redrive(s->req, policy, &redrive))
		return true;
	sqs_fail(
		s, SQS_INVALID_PARAMETER,
		"Value %s for parameter RedrivePolicy is invalid. Reason: it must be a JSON object with deadLetterTargetArn, "
		"an ARN, and maxReceiveCount, from 1 to %d.",
		policy.at, RECEIVES_MOST);
	return false;
}

static bool refuse_unknown(struct sqs_call *s, const char *name)
{
	sqs_fail(s, SQS_INVALID_ATTRIBUTE_NAME, "Unknown Attribute %s.", name);
	return false;
}

static bool check_fifo(struct sqs_call *s, struct text value)
{
	bool is_true = text_is_true(value), creates = json_tree_member(s->in, "QueueName");

	if (!is_truth(value))
		return refuse(s, "FifoQueue");
	if (!s->is_fifo && is_true && creates) {
		sqs_fail(s, SQS_INVALID_PARAMETER, "The name of a FIFO queue must end with the suffix .fifo.");
		return false;
	}
	if (!s->is_fifo)
		return refuse_unknown(s, "FifoQueue");
	if (is_true)
		return true;
	sqs_fail(s, SQS_INVALID_ATTRIBUTE_VALUE,
		 "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.");
	return false;
}

/* Refuses an attribute of FIFO queues on a standard queue. */
static bool refuse_fifo(struct sqs_call *s, const struct attribute *a)
{
	if (a->kind != SCOPE && a->kind != KEPT)
		return refuse_unknown(s, a->name);
	sqs_fail(s, SQS_INVALID_ATTRIBUTE_NAME, "You can specify the %s only when FifoQueue is set to true.", a->name);
	return false;
}

static bool check(struct sqs_call *s, const struct attribute *a, struct text value)
{
	int64_t n;

	switch (a->kind) {
	case SECONDS:
		return (read_int(value, &n) && n >= a->low && n <= a->high) || refuse(s, a->name);
	case NUMBER:
		return (read_int(value, &n) && n >= a->low && (n <= a->high || n <= config()->max_body_bytes)) ||
		       refuse(s, a->name);
	case TRUTH:
		return is_truth(value) || refuse(s, a->name);
	case SCOPE:
		return text_is(value, "queue") || text_is(value, "messageGroup") || refuse(s, a->name);
	case FIFO:
		return check_fifo(s, value);
	case REDRIVE:
		return check_redrive(s, value);
	case KEPT:
		return !a->member || value.len || refuse(s, a->name);
	case REFUSED:
		if (!value.len)
			return true;
		sqs_fail(s, SQS_UNSUPPORTED_OPERATION,
			 "%s is not supported: messages are not encrypted with a KMS key.", a->name);
		return false;
	default:
		return refuse_unknown(s, a->name);
	}
}

bool sqs_queue_attributes_check(struct sqs_call *s)
{
	for (const struct json *m = first_given(s); m; m = m->next) {
		const struct attribute *a = attribute_of(m->key);
		if (!a)
			return refuse_unknown(s, m->key.at);
		if (a->of_fifo && !s->is_fifo && a->kind != FIFO)
			return refuse_fifo(s, a);
		if (m->kind != JSON_IS_TEXT)
			return refuse(s, a->name);
		if (!check(s, a, m->text))
			return false;
	}
	return true;
}

static void out_redrive(struct sqs_call *s, struct json_out *body, struct text policy)
{
	struct redrive redrive = { { 0 }, 0 };

	if (policy.len)
		read_redrive(s->req, policy, &redrive);
	out_text_or_null(body, "dead_letter_queue", redrive.queue);
	out_int(body, "max_receives", redrive.receives);
}

/* Writes the annotations that change; an empty value removes one. */
static void out_annotations(struct sqs_call *s, struct json_out *body, bool is_new)
{
	out_object(body, "annotations");
	sqs_tags_out_given(s, body);
	for (const struct json *m = first_given(s); m; m = m->next) {
		const struct attribute *a = checked(m);
		if (a->kind != KEPT || (is_new && !m->text.len))
			continue;
		out_key(body, arena_printf(&s->req->arena, SQS_ANNOTATION "%s", a->name));
		out_text_or_null(body, NULL, m->text);
	}
	out_close(body);
}

static void out_setting(struct sqs_call *s, struct json_out *body, const struct attribute *a, struct text value)
{
	int64_t n = 0;

	switch (a->kind) {
	case SECONDS:
		read_int(value, &n);
		out_int(body, a->member,
			strcmp(a->member, "visibility_ms") == 0 && !n ? SQS_NO_VISIBILITY_MS : n * 1000);
		break;
	case NUMBER:
		read_int(value, &n);
		out_int(body, a->member, n);
		break;
	case TRUTH:
		out_bool(body, a->member, text_is_true(value));
		break;
	case SCOPE:
		out_string(body, a->member, text_is(value, "queue") ? "queue" : "group");
		break;
	case REDRIVE:
		out_redrive(s, body, value);
		break;
	default:
		break;
	}
}

void sqs_queue_attributes_out_settings(struct sqs_call *s, struct json_out *body, bool is_new)
{
	bool keeps = json_tree_member(s->in, "tags");

	for (const struct json *m = first_given(s); m; m = m->next) {
		const struct attribute *a = checked(m);
		keeps |= a->kind == KEPT;
		out_setting(s, body, a, m->text);
	}
	if (keeps)
		out_annotations(s, body, is_new);
}

static void on_dead_letter_queue(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	struct text policy = json_tree_string(json_tree_member(s->in, "Attributes"), "RedrivePolicy");
	const struct json *queue = sqs_answer(s);
	const char *why = NULL;

	if (!queue)
		return;
	if (!json_tree_is_true(queue, "exists"))
		why = "Dead letter target does not exist.";
	else if (sqs_name_is_fifo(json_tree_string(queue, "name")) != s->is_fifo)
		why = "Dead-letter queue must be same type of queue as the source.";
	if (why)
		sqs_fail(s, SQS_INVALID_PARAMETER, "Value %s for parameter RedrivePolicy is invalid. Reason: %s",
			 policy.at, why);
	else
		s->then(s);
}

void sqs_queue_attributes_look_at_target(struct sqs_call *s, void (*then)(struct sqs_call *s))
{
	struct text policy = json_tree_string(json_tree_member(s->in, "Attributes"), "RedrivePolicy");
	struct redrive redrive;

	s->then = then;
	if (!policy.len || !read_redrive(s->req, policy, &redrive)) {
		then(s);
		return;
	}
	sqs_look(s, redrive.queue, on_dead_letter_queue);
}

/* ---- What a client gets ---- */

static struct text int_text(struct sqs_call *s, int64_t n)
{
	return arena_printf(&s->req->arena, "%" PRId64, n);
}

static struct text redrive_of(struct sqs_call *s, const struct json *settings)
{
	struct text queue = json_tree_string(settings, "dead_letter_queue");
	struct json_out o;

	if (!queue.at)
		return queue;
	out_init(&o, &s->req->arena, 128);
	out_object(&o, NULL);
	out_text(&o, "deadLetterTargetArn", sqs_arn_of(s->req, queue));
	out_int(&o, "maxReceiveCount", json_tree_int(settings, "max_receives", 0));
	out_close(&o);
	return out_all(&o);
}

/* Returns the value of an attribute; absent if the queue lacks it. */
static struct text value_of(struct sqs_call *s, const struct attribute *a, const struct json *queue)
{
	const struct json *settings = json_tree_member(queue, "settings");
	char name[64];
	struct text kept;

	if (a->of_fifo && !s->is_fifo)
		return (struct text){ 0 };
	switch (a->kind) {
	case SECONDS:
		return int_text(s, json_tree_int(settings, a->member, a->absent * 1000) / 1000);
	case NUMBER:
		return int_text(s, json_tree_int(settings, a->member, config()->max_body_bytes));
	case TRUTH:
		return json_tree_is_true(settings, a->member) ? TEXT("true") : TEXT("false");
	case SCOPE:
		return text_is(json_tree_string(settings, a->member), "group") ? TEXT("messageGroup") : TEXT("queue");
	case FIFO: /* a queue of that name that PUT /queues/{name} made may have another order */
		return text_is(json_tree_string(settings, "order"), "strict") ? TEXT("true") : TEXT("false");
	case REDRIVE:
		return redrive_of(s, settings);
	case KEPT:
		snprintf(name, sizeof(name), SQS_ANNOTATION "%s", a->name);
		kept = json_tree_string(json_tree_member(settings, "annotations"), name);
		return kept.at || !a->member ? kept : text_of(a->member);
	case COUNT:
		return int_text(s, json_tree_int(queue, a->member, 0) +
					   (strcmp(a->member, "ready") == 0 ? json_tree_int(queue, "blocked", 0) : 0));
	case INSTANT:
		return int_text(s, json_tree_int(queue, a->member, 0) / 1000);
	case ARN:
		return sqs_arn_of(s->req, s->queue);
	default:
		return (struct text){ 0 };
	}
}

bool sqs_queue_attributes_check_names(struct sqs_call *s)
{
	const struct json *names = json_tree_member(s->in, "AttributeNames");

	for (const struct json *n = names && names->kind == JSON_IS_ARRAY ? names->first : NULL; n; n = n->next) {
		if (n->kind == JSON_IS_TEXT && (text_is(n->text, "All") || attribute_of(n->text)))
			continue;
		sqs_fail(s, SQS_INVALID_ATTRIBUTE_NAME, "Unknown Attribute %s.",
			 n->kind == JSON_IS_TEXT ? n->text.at : "");
		return false;
	}
	return true;
}

static bool is_wanted(const struct sqs_call *s, const char *name)
{
	const struct json *names = json_tree_member(s->in, "AttributeNames");

	for (const struct json *n = names && names->kind == JSON_IS_ARRAY ? names->first : NULL; n; n = n->next)
		if (text_is(n->text, "All") || text_is(n->text, name))
			return true;
	return false;
}

void sqs_queue_attributes_out(struct sqs_call *s, struct json_out *o, const struct json *queue)
{
	bool is_open = false;

	for (size_t i = 0; i < ATTRIBUTES; i++) {
		if (!is_wanted(s, attributes[i].name))
			continue;
		struct text value = value_of(s, &attributes[i], queue);
		if (!value.at)
			continue;
		if (!is_open)
			out_object(o, "Attributes");
		is_open = true;
		out_text(o, attributes[i].name, value);
	}
	if (is_open)
		out_close(o);
}

/* True if both values have the same meaning, however they are written. */
static bool is_same(struct sqs_call *s, const struct attribute *a, struct text given, struct text shown)
{
	struct redrive x = { { 0 }, 0 }, y = { { 0 }, 0 };

	if (a->kind == TRUTH || a->kind == FIFO)
		return given.at && shown.at && strcasecmp(given.at, shown.at) == 0;
	if (a->kind == REDRIVE && given.len && shown.len)
		return read_redrive(s->req, given, &x) && read_redrive(s->req, shown, &y) &&
		       text_equal(x.queue, y.queue) && x.receives == y.receives;
	return text_equal(given, shown);
}

const char *sqs_queue_attributes_difference(struct sqs_call *s, const struct json *queue)
{
	for (const struct json *m = first_given(s); m; m = m->next) {
		const struct attribute *a = checked(m);
		if (a->kind != REFUSED && !is_same(s, a, m->text, value_of(s, a, queue)))
			return a->name;
	}
	return NULL;
}
