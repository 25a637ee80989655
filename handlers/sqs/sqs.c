/*
 * sqs: see sqs.h. The header X-Amz-Target names the action, which is found before the body arrives.
 * Once the body has arrived, the types of its members are checked, and the action runs.
 */
#include "sqs/sqs.h"

#include <string.h>
#include <strings.h>

#include "contract/gateway.h"
#include "contract/route.h"
#include "process/config.h"
#include "request/answer.h"
#include "sqs/sqs_call.h"
#include "sqs/sqs_moves.h"
#include "sqs/sqs_name.h"
#include "sqs/sqs_queues.h"
#include "sqs/sqs_receive.h"
#include "sqs/sqs_send.h"
#include "sqs/sqs_settle.h"
#include "sqs/sqs_tags.h"

enum { ACCOUNT_DIGITS = sizeof(SQS_ACCOUNT) - 1, ITEMS_MOST = 100 };

static void refuse_permission(struct sqs_call *s)
{
	sqs_fail(s, SQS_UNSUPPORTED_OPERATION, "Permissions are not supported; use the scopes of --tokens.");
}

/* The action of a request that names an unknown action. */
static void refuse_action(struct sqs_call *s)
{
	struct text target = s->req->asked.header(s->req, "X-Amz-Target", NULL);

	sqs_fail(s, SQS_UNKNOWN_OPERATION, "There is no action '%s'.", target.at ? target.at : "");
}

static bool is_off(void)
{
	return strcmp(config()->sqs, "off") == 0;
}

static void refuse_off(struct sqs_call *s)
{
	sqs_fail(s, SQS_UNSUPPORTED_OPERATION, "SQS is not served: the daemon runs with --sqs=off.");
}

static void refuse_query(struct sqs_call *s)
{
	gateway_begin_answer(s->req);
	s->gateway.code = "InvalidAction";
	answer_body(
		s->req, 400, "text/xml",
		TEXT("<ErrorResponse><Error><Type>Sender</Type><Code>InvalidAction</Code><Message>only the JSON protocol "
		     "(application/x-amz-json-1.0) is served; update the SDK</Message></Error></ErrorResponse>\n"));
}

static void refuse_post(struct sqs_call *s)
{
	gateway_begin_answer(s->req);
	answer_header(s->req, "Allow", "GET, HEAD, OPTIONS");
	answer_problem(s->req, P_METHOD_NOT_ALLOWED,
		       "POST is a method of this path only for SQS, with the header X-Amz-Target; use GET");
}

/* ---- The actions ---- */

#define QUEUE_URL                              \
	{                                      \
		"QueueUrl", JSON_IS_TEXT, true \
	}
#define END                               \
	{                                 \
		NULL, JSON_IS_NULL, false \
	}
static const struct sqs_member none[] = { END };
static const struct sqs_member of_queue[] = { QUEUE_URL, END };
static const struct sqs_member of_batch[] = { QUEUE_URL, { "Entries", JSON_IS_ARRAY, false }, END };
static const struct sqs_member of_create[] = {
	{ "QueueName", JSON_IS_TEXT, true },
	{ "Attributes", JSON_IS_OBJECT, false },
	{ "tags", JSON_IS_OBJECT, false },
	END,
};
static const struct sqs_member of_name[] = { { "QueueName", JSON_IS_TEXT, true }, END };
static const struct sqs_member of_list[] = {
	{ "QueueNamePrefix", JSON_IS_TEXT, false },
	{ "NextToken", JSON_IS_TEXT, false },
	{ "MaxResults", JSON_IS_INTEGER, false },
	END,
};
static const struct sqs_member of_send[] = {
	QUEUE_URL,
	{ "MessageBody", JSON_IS_TEXT, true },
	{ "DelaySeconds", JSON_IS_INTEGER, false },
	{ "MessageAttributes", JSON_IS_OBJECT, false },
	{ "MessageSystemAttributes", JSON_IS_OBJECT, false },
	{ "MessageGroupId", JSON_IS_TEXT, false },
	{ "MessageDeduplicationId", JSON_IS_TEXT, false },
	END,
};
static const struct sqs_member of_receive[] = {
	QUEUE_URL,
	{ "AttributeNames", JSON_IS_ARRAY, false },
	{ "MessageSystemAttributeNames", JSON_IS_ARRAY, false },
	{ "MessageAttributeNames", JSON_IS_ARRAY, false },
	{ "MaxNumberOfMessages", JSON_IS_INTEGER, false },
	{ "VisibilityTimeout", JSON_IS_INTEGER, false },
	{ "WaitTimeSeconds", JSON_IS_INTEGER, false },
	{ "ReceiveRequestAttemptId", JSON_IS_TEXT, false },
	END,
};
static const struct sqs_member of_delete[] = { QUEUE_URL, { "ReceiptHandle", JSON_IS_TEXT, true }, END };
static const struct sqs_member of_change[] = {
	QUEUE_URL,
	{ "ReceiptHandle", JSON_IS_TEXT, true },
	{ "VisibilityTimeout", JSON_IS_INTEGER, true },
	END,
};
static const struct sqs_member of_get[] = { QUEUE_URL, { "AttributeNames", JSON_IS_ARRAY, false }, END };
static const struct sqs_member of_set[] = { QUEUE_URL, { "Attributes", JSON_IS_OBJECT, true }, END };
static const struct sqs_member of_tag[] = { QUEUE_URL, { "Tags", JSON_IS_OBJECT, true }, END };
static const struct sqs_member of_untag[] = { QUEUE_URL, { "TagKeys", JSON_IS_ARRAY, true }, END };

static const struct sqs_member of_sources[] = {
	QUEUE_URL,
	{ "NextToken", JSON_IS_TEXT, false },
	{ "MaxResults", JSON_IS_INTEGER, false },
	END,
};
static const struct sqs_member of_start[] = {
	{ "SourceArn", JSON_IS_TEXT, true },
	{ "DestinationArn", JSON_IS_TEXT, false },
	{ "MaxNumberOfMessagesPerSecond", JSON_IS_INTEGER, false },
	END,
};
static const struct sqs_member of_tasks[] = {
	{ "SourceArn", JSON_IS_TEXT, true },
	{ "MaxResults", JSON_IS_INTEGER, false },
	END,
};
static const struct sqs_member of_cancel[] = { { "TaskHandle", JSON_IS_TEXT, true }, END };

#define ACTIONS(A)                                                                     \
	A(AddPermission, none, refuse_permission)                                      \
	A(CancelMessageMoveTask, of_cancel, sqs_cancel_message_move_task)              \
	A(ChangeMessageVisibility, of_change, sqs_change_message_visibility)           \
	A(ChangeMessageVisibilityBatch, of_batch, sqs_change_message_visibility_batch) \
	A(CreateQueue, of_create, sqs_create_queue)                                    \
	A(DeleteMessage, of_delete, sqs_delete_message)                                \
	A(DeleteMessageBatch, of_batch, sqs_delete_message_batch)                      \
	A(DeleteQueue, of_queue, sqs_delete_queue)                                     \
	A(GetQueueAttributes, of_get, sqs_get_queue_attributes)                        \
	A(GetQueueUrl, of_name, sqs_get_queue_url)                                     \
	A(ListDeadLetterSourceQueues, of_sources, sqs_list_dead_letter_source_queues)  \
	A(ListMessageMoveTasks, of_tasks, sqs_list_message_move_tasks)                 \
	A(ListQueueTags, of_queue, sqs_list_queue_tags)                                \
	A(ListQueues, of_list, sqs_list_queues)                                        \
	A(PurgeQueue, of_queue, sqs_purge_queue)                                       \
	A(ReceiveMessage, of_receive, sqs_receive_message)                             \
	A(RemovePermission, none, refuse_permission)                                   \
	A(SendMessage, of_send, sqs_send_message)                                      \
	A(SendMessageBatch, of_batch, sqs_send_message_batch)                          \
	A(SetQueueAttributes, of_set, sqs_set_queue_attributes)                        \
	A(StartMessageMoveTask, of_start, sqs_start_message_move_task)                 \
	A(TagQueue, of_tag, sqs_tag_queue)                                             \
	A(UntagQueue, of_untag, sqs_untag_queue)                                       \
	/* not actions of SQS: each refuses the request */                             \
	A(unknown, none, refuse_action)                                                \
	A(off, none, refuse_off)                                                       \
	A(query, none, refuse_query)                                                   \
	A(none, none, refuse_post)

enum {
#define A(name, members, run) ACTION_##name,
	ACTIONS(A)
#undef A
};

static const struct {
	const char *name;
	const struct sqs_member *members; /* a member without a name ends the list */
	void (*run)(struct sqs_call *s);
} actions[] = {
#define A(name, members, run) { #name, members, run },
	ACTIONS(A)
#undef A
};

static void run(struct request *req, const void *input);

/* Each action as an operation, by which logs and metrics name it. */
static const struct operation action_operations[] = {
#define A(name, members, run_it) \
	{ .id = "sqs." #name,    \
	  .method = "POST",      \
	  .run = run,            \
	  .input_size = 1,       \
	  .needs_token = true,   \
	  .takes_body = true,    \
	  .is_gateway = true,    \
	  .token = sqs_token },
	ACTIONS(A)
#undef A
};
enum { ACTION_COUNT = sizeof(actions) / sizeof(actions[0]) };

/* ---- The request ---- */

static bool check_members(struct sqs_call *s, const struct sqs_member *members)
{
	static const char *const kinds[] = { "null",     "a boolean", "an integer", "a number",
					     "a string", "a list",    "an object" };

	for (const struct sqs_member *m = members; m->name; m++) {
		const struct json *given = json_tree_member(s->in, m->name);
		bool is_absent = !given || given->kind == JSON_IS_NULL;
		if (is_absent && m->required) {
			sqs_fail(s, SQS_MISSING_PARAMETER, "The request must contain the parameter %s.", m->name);
			return false;
		}
		if (!is_absent && given->kind != m->kind) {
			sqs_fail(s, SQS_SERIALIZATION, "%s must be %s.", m->name, kinds[m->kind]);
			return false;
		}
		if (!is_absent && m->kind == JSON_IS_ARRAY && given->count > ITEMS_MOST) {
			sqs_fail(s, SQS_INVALID_PARAMETER, "%s has %zu items; at most %d are allowed.", m->name,
				 given->count, ITEMS_MOST);
			return false;
		}
	}
	return true;
}

/* Names the queue in the log as the request does, by its body or by its path. */
static void name_queue(struct sqs_call *s)
{
	struct text rest = s->req->asked.target, path = text_cut(&rest, '?');

	if (s->queue.len)
		s->gateway.resource = s->queue;
	else if (path.len > 1)
		s->gateway.resource = sqs_name_of_url(s->req, path);
}

static void run(struct request *req, const void *input)
{
	struct sqs_call *s = sqs_call_of(req);
	size_t action = (size_t)(req->gateway->op - action_operations);

	(void)input;
	req->gateway->answered = NULL;
	s->in = req->asked.json;
	struct text url = json_tree_string(s->in, "QueueUrl"), name = json_tree_string(s->in, "QueueName");
	s->queue = url.at ? sqs_name_of_url(req, url) : name;
	s->is_fifo = s->queue.at && sqs_name_is_fifo(s->queue);
	name_queue(s);
	if (action >= ACTION_unknown) {
		actions[action].run(s);
		return;
	}
	if (s->in && s->in->kind != JSON_IS_OBJECT) {
		sqs_fail(s, SQS_SERIALIZATION, "The body must be a JSON object.");
		return;
	}
	if (!check_members(s, actions[action].members))
		return;
	if (url.at && !s->queue.len)
		sqs_fail(s, SQS_INVALID_ADDRESS, "The address %s is not valid for this endpoint.", url.at);
	else
		actions[action].run(s);
}

/* ---- Finding the action ---- */

/* Answers a problem that was found before the action runs: in the token, the host or the body. */
static void on_refused(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);

	name_queue(s);
	sqs_fail_by_problem(s);
}

static void on_query(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);

	name_queue(s);
	refuse_query(s);
}

/* True for `/` and `/<12 digits>/<queue>`. */
static bool is_path(struct text path)
{
	if (path.len == 1)
		return true;
	struct text digits = { path.at + 1, path.len - 1 }, rest = digits;
	digits = text_cut(&rest, '/');
	return digits.len == ACCOUNT_DIGITS && strspn(digits.at, "0123456789") == ACCOUNT_DIGITS && rest.len &&
	       !memchr(rest.at, '/', rest.len);
}

static size_t action_of(struct text target)
{
	static const char service[] = "AmazonSQS.";
	size_t len = sizeof(service) - 1, i = 0;

	if (target.len <= len || memcmp(target.at, service, len) != 0)
		return ACTION_unknown;
	while (i < ACTION_unknown && strcmp(target.at + len, actions[i].name) != 0)
		i++;
	return i;
}

static bool is_form(struct request *req)
{
	static const char form[] = "application/x-www-form-urlencoded";
	struct text type = req->asked.header(req, "Content-Type", NULL);

	return type.at && strncasecmp(type.at, form, sizeof(form) - 1) == 0;
}

/* NULL: memory ran out. */
static struct sqs_call *begin(struct request *req, size_t action, void (*answered)(struct request *req))
{
	struct sqs_call *s = arena_alloc(&req->arena, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct sqs_call){ .req = req, .gateway = { .op = &action_operations[action], .answered = answered } };
	req->gateway = &s->gateway;
	return s;
}

static const struct operation *find(struct request *req)
{
	struct text rest = req->asked.target, path = text_cut(&rest, '?');

	if (!is_path(path) || strcmp(req->asked.method, "POST") != 0)
		return NULL;
	struct text target = req->asked.header(req, "X-Amz-Target", NULL);
	bool is_query = !target.at && is_form(req);
	if (!target.at && ((!is_query && path.len > 1) || is_off()))
		return NULL;
	size_t action = is_off() ? ACTION_off : target.at ? action_of(target) : is_query ? ACTION_query : ACTION_none;
	struct sqs_call *s = begin(req, action, target.at ? on_refused : is_query ? on_query : NULL);
	return s ? s->gateway.op : NULL;
}

/*
 * Answers a client of SQS whose endpoint has a path, such as Laravel's SQS_PREFIX. False: it did
 * not.
 */
static bool answer_lost(struct request *req)
{
	struct sqs_call *s = req->asked.header(req, "X-Amz-Target", NULL).at ? begin(req, ACTION_unknown, NULL) : NULL;

	if (!s)
		return false;
	sqs_fail(s, SQS_INVALID_ADDRESS,
		 "The address %s is not valid for this endpoint: the paths of SQS here are / and /" SQS_ACCOUNT
		 "/<queue>.",
		 req->asked.target.at);
	return true;
}

void sqs_open(void)
{
	operation_add_gateway(action_operations, ACTION_COUNT);
	route_pages(find);
	if (!is_off())
		route_lost(answer_lost);
}
