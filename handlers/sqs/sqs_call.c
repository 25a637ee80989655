#include "sqs/sqs_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "contract/gateway.h"
#include "request/answer.h"
#include "sqs/sqs_name.h"
#include "json/read.h"

static const struct {
	const char *shape, *code;
	int status;
} faults[] = {
#define FAULT(name, shape, code, status) { shape, code, status },
	SQS_FAULTS(FAULT)
#undef FAULT
};

/* ---- Operations ---- */

void sqs_body_begin(struct sqs_call *s, struct json_out *body)
{
	out_init(body, &s->req->arena, 512);
	out_object(body, NULL);
}

static void run(struct sqs_call *s, const char *operation, struct self_call_input input, struct json_out *body,
		void (*answered)(struct request *req))
{
	if (body) {
		out_close(body);
		input.body = out_all(body);
	}
	if (s->req->arena.failed)
		answer_no_memory(s->req, EFFECT_NONE);
	else
		gateway_run(s->req, self_call_operation(operation), &input, answered);
}

void sqs_run(struct sqs_call *s, const char *operation, struct text queue, struct json_out *body,
	     void (*answered)(struct request *req))
{
	run(s, operation, (struct self_call_input){ .name = queue }, body, answered);
}

void sqs_look(struct sqs_call *s, struct text queue, void (*answered)(struct request *req))
{
	s->gateway.scope = GATEWAY_ANY_ACTION;
	s->gateway.action = NULL;
	sqs_run(s, "queue_get", queue, NULL, answered);
}

void sqs_look_to_create(struct sqs_call *s, void (*answered)(struct request *req))
{
	s->gateway.scope = GATEWAY_ANY_ACTION;
	s->gateway.action = "manage";
	sqs_run(s, "queue_get", s->queue, NULL, answered);
}

void sqs_look_to_manage(struct sqs_call *s, struct text queue, void (*answered)(struct request *req))
{
	s->gateway.scope = GATEWAY_ACTION;
	s->gateway.action = "manage";
	sqs_run(s, "queue_get", queue, NULL, answered);
}

void sqs_run_create(struct sqs_call *s, const char *operation, struct text queue, struct json_out *body,
		    void (*answered)(struct request *req))
{
	static const struct request_conditions create_only = { .none_match = { "*", 1 } };

	run(s, operation, (struct self_call_input){ .name = queue, .conditions = &create_only }, body, answered);
}

/* The bytes of a message's body are kept. */
static const void *place(const void *parent, struct text key, bool *opaque)
{
	*opaque = text_is(key, "body");
	return parent;
}

const struct json *sqs_answer(struct sqs_call *s)
{
	struct request *req = s->req;

	if (sqs_problem(s)) {
		sqs_fail_by_problem(s);
		return NULL;
	}
	const struct json *answer = json_read_own(&req->arena, req->answer.body, place, s);
	if (!answer)
		sqs_fail_no_memory(s);
	return answer;
}

const struct json *sqs_problem_document(struct sqs_call *s)
{
	return json_read_own(&s->req->arena, s->req->answer.body, NULL, NULL);
}

/* ---- Answers ---- */

static struct json_out *begin(struct sqs_call *s, int status)
{
	const struct problem_row *problem = s->req->answer.problem; /* the access log has it */
	int64_t retry_after_ms = s->req->answer.retry_after_ms;

	gateway_begin_answer(s->req);
	struct json_out *o = answer_begin(s->req, status);
	s->req->answer.content_type = "application/x-amz-json-1.0";
	s->req->answer.problem = status >= 400 ? problem : NULL;
	if (status == 503)
		answer_header_int(s->req, "Retry-After", retry_after_ms > 1000 ? (retry_after_ms + 999) / 1000 : 1);
	answer_header_parts(s->req, "x-amzn-RequestId", &s->req->asked.request_id, 1);
	return o;
}

struct json_out *sqs_answer_begin(struct sqs_call *s)
{
	return begin(s, 200);
}

void sqs_answer_end(struct sqs_call *s)
{
	answer_end(s->req);
}

void sqs_answer_empty(struct sqs_call *s)
{
	sqs_answer_begin(s);
	sqs_answer_end(s);
}

const char *sqs_fault_code(enum sqs_fault fault)
{
	return faults[fault].code;
}

static void fail(struct sqs_call *s, enum sqs_fault fault, struct text message)
{
	bool is_ours = faults[fault].status >= 500;
	struct json_out *o = begin(s, faults[fault].status);

	s->gateway.code = faults[fault].code;
	answer_header(s->req, "x-amzn-query-error", "%s;%s", faults[fault].code, is_ours ? "Receiver" : "Sender");
	out_text(o, "__type", arena_printf(&s->req->arena, "com.amazonaws.sqs#%s", faults[fault].shape));
	out_text(o, "message", message);
	answer_end(s->req);
}

void sqs_fail(struct sqs_call *s, enum sqs_fault fault, const char *message, ...)
{
	va_list args;

	va_start(args, message);
	struct text text = arena_vprintf(&s->req->arena, message, args);
	va_end(args);
	fail(s, fault, text);
}

static void fail_absent(struct sqs_call *s)
{
	sqs_fail(s, SQS_QUEUE_DOES_NOT_EXIST, "The specified queue does not exist.");
}

void sqs_fail_no_memory(struct sqs_call *s)
{
	sqs_fail(s, SQS_SERVICE_UNAVAILABLE, "The daemon has no memory for the request.");
}

/* Returns the error of SQS for the problem. The problem's detail becomes the message. */
static enum sqs_fault fault_of(struct sqs_call *s)
{
	static const struct {
		enum problem problem;
		enum sqs_fault fault;
	} known[] = {
		{ P_FORBIDDEN, SQS_ACCESS_DENIED },
		{ P_HOST_NOT_ALLOWED, SQS_ACCESS_DENIED },
		{ P_CROSS_SITE, SQS_ACCESS_DENIED },
		{ P_MALFORMED_JSON, SQS_SERIALIZATION },
		{ P_INVALID_RECEIPT, SQS_RECEIPT_IS_INVALID },
		{ P_QUEUE_FULL, SQS_REQUEST_THROTTLED },
		{ P_REQUEST_IN_PROGRESS, SQS_REQUEST_THROTTLED },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (sqs_has_problem(s, known[i].problem))
			return known[i].fault;
	if (sqs_has_problem(s, P_UNAUTHORIZED))
		return sqs_token(s->req).at ? SQS_INVALID_TOKEN : SQS_MISSING_TOKEN;
	int status = sqs_problem(s)->status;
	if (status == 503)
		return SQS_SERVICE_UNAVAILABLE;
	return status >= 500 ? SQS_INTERNAL_FAILURE : SQS_INVALID_PARAMETER;
}

/* How a detail begins that names a place, and what SQS calls the same place. */
static const struct {
	const char *ours, *theirs;
} places[] = {
	{ "/dead_letter_queue ", "RedrivePolicy " },
	{ "?cursor ", "NextToken " },
	{ "{name} ", "QueueName " },
};

/* Redis did not answer. No SDK can send the Idempotency-Key that the problem may advise. */
static struct text without_key(struct sqs_call *s, struct text detail)
{
	const char *advice = strstr(detail.at, "; an Idempotency-Key");
	bool has_id = strcmp(s->req->op->id, "queue_message_send") == 0 &&
		      s->req->asked.header(s->req, SQS_INVOCATION, NULL).len;

	return advice ? arena_printf(&s->req->arena, "%.*s%s", (int)(advice - detail.at), detail.at,
				     has_id ? "; a repetition by the SDK makes no second message" : "")
		      : detail;
}

static struct text message_of(struct sqs_call *s)
{
	struct text detail = json_tree_string(sqs_problem_document(s), "detail");

	if (sqs_has_problem(s, P_REQUEST_IN_PROGRESS))
		return TEXT("An earlier receive with this ReceiveRequestAttemptId is still waiting.");
	if (sqs_has_problem(s, P_IDEMPOTENCY_KEY_REUSED))
		return TEXT("This ReceiveRequestAttemptId was used with other parameters.");
	if (sqs_has_problem(s, P_QUEUE_FULL))
		return TEXT("The queue has no room within its max_messages: add consumers, or raise max_messages.");
	if (sqs_has_problem(s, P_NO_ANSWER) && detail.at)
		return without_key(s, detail);
	if (sqs_has_problem(s, P_UNAUTHORIZED))
		return sqs_token(s->req).at
			       ? TEXT("The token is not in the file of --tokens. It is taken from AWS_SESSION_TOKEN, "
				      "else from AWS_ACCESS_KEY_ID, else from 'Authorization: Bearer'.")
			       : TEXT("Send a token: as AWS_SESSION_TOKEN, as AWS_ACCESS_KEY_ID, or in "
				      "'Authorization: Bearer'.");
	for (size_t i = 0; detail.at && i < sizeof(places) / sizeof(places[0]); i++) {
		size_t len = strlen(places[i].ours);
		if (strncmp(detail.at, places[i].ours, len) == 0)
			return arena_printf(&s->req->arena, "%s%s", places[i].theirs, detail.at + len);
	}
	return detail.at ? detail : text_of(sqs_problem(s)->title);
}

void sqs_fail_by_problem(struct sqs_call *s)
{
	if (sqs_has_problem(s, P_NOT_FOUND))
		fail_absent(s);
	else
		fail(s, fault_of(s), message_of(s));
}

const struct json *sqs_answer_existing(struct sqs_call *s)
{
	const struct json *queue = sqs_answer(s);

	if (!queue || json_tree_is_true(queue, "exists"))
		return queue;
	fail_absent(s);
	return NULL;
}

void sqs_on_done(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);

	if (sqs_problem(s))
		sqs_fail_by_problem(s);
	else
		sqs_answer_empty(s);
}

/* ---- Members ---- */

bool sqs_int(struct sqs_call *s, const char *member, int64_t low, int64_t high, int64_t absent, int64_t *out,
	     const char *reason)
{
	const struct json *given = json_tree_member(s->in, member);
	bool is_given = given && given->kind == JSON_IS_INTEGER;

	*out = is_given ? given->integer : absent;
	if (!is_given || (*out >= low && *out <= high))
		return true;
	sqs_fail(s, SQS_INVALID_PARAMETER, "Value %" PRId64 " for parameter %s is invalid. Reason: %s", *out, member,
		 reason);
	return false;
}
