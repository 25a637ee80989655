/*
 * sqs_call: one action that a client asked for, and how it is answered. An action checks its
 * members, runs operations of the contract (contract/gateway.h), and translates their answers. It
 * knows the contract, and must not know keys, scripts or handlers of queues.
 */
#ifndef PATTERND_SQS_CALL_H
#define PATTERND_SQS_CALL_H

#include "core/container.h"
#include "request/problem.h"
#include "request/request.h"
#include "json/out.h"
#include "json/tree.h"

/* The errors of SQS: FAULT(name, shape, code of the query protocol, status). */
#define SQS_FAULTS(FAULT)                                                                                           \
	FAULT(ACCESS_DENIED, "AccessDeniedException", "AccessDenied", 403)                                          \
	FAULT(BATCH_ENTRY_IDS_NOT_DISTINCT, "BatchEntryIdsNotDistinct", SQS_PREFIX "BatchEntryIdsNotDistinct", 400) \
	FAULT(BATCH_REQUEST_TOO_LONG, "BatchRequestTooLong", SQS_PREFIX "BatchRequestTooLong", 400)                 \
	FAULT(EMPTY_BATCH_REQUEST, "EmptyBatchRequest", SQS_PREFIX "EmptyBatchRequest", 400)                        \
	FAULT(INTERNAL_FAILURE, "InternalFailure", "InternalFailure", 500)                                          \
	FAULT(INVALID_ADDRESS, "InvalidAddress", "InvalidAddress", 404)                                             \
	FAULT(INVALID_ATTRIBUTE_NAME, "InvalidAttributeName", "InvalidAttributeName", 400)                          \
	FAULT(INVALID_ATTRIBUTE_VALUE, "InvalidAttributeValue", "InvalidAttributeValue", 400)                       \
	FAULT(INVALID_BATCH_ENTRY_ID, "InvalidBatchEntryId", SQS_PREFIX "InvalidBatchEntryId", 400)                 \
	FAULT(INVALID_MESSAGE_CONTENTS, "InvalidMessageContents", "InvalidMessageContents", 400)                    \
	FAULT(INVALID_PARAMETER, "InvalidParameterValueException", "InvalidParameterValue", 400)                    \
	FAULT(INVALID_TOKEN, "UnrecognizedClientException", "InvalidClientTokenId", 403)                            \
	FAULT(MISSING_PARAMETER, "MissingRequiredParameterException", "MissingParameter", 400)                      \
	FAULT(MISSING_TOKEN, "MissingAuthenticationTokenException", "MissingAuthenticationToken", 403)              \
	FAULT(QUEUE_DOES_NOT_EXIST, "QueueDoesNotExist", SQS_PREFIX "NonExistentQueue", 400)                        \
	FAULT(QUEUE_NAME_EXISTS, "QueueNameExists", "QueueAlreadyExists", 400)                                      \
	FAULT(RECEIPT_IS_INVALID, "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404)                          \
	FAULT(REQUEST_THROTTLED, "RequestThrottled", "RequestThrottled", 403)                                       \
	FAULT(RESOURCE_NOT_FOUND, "ResourceNotFoundException", "ResourceNotFoundException", 404)                    \
	FAULT(SERIALIZATION, "SerializationException", "SerializationException", 400)                               \
	FAULT(SERVICE_UNAVAILABLE, "ServiceUnavailable", "ServiceUnavailable", 503)                                 \
	FAULT(TOO_MANY_ENTRIES, "TooManyEntriesInBatchRequest", SQS_PREFIX "TooManyEntriesInBatchRequest", 400)     \
	FAULT(UNKNOWN_OPERATION, "UnknownOperationException", "UnknownOperationException", 400)                     \
	FAULT(UNSUPPORTED_OPERATION, "UnsupportedOperation", SQS_PREFIX "UnsupportedOperation", 400)
#define SQS_PREFIX "AWS.SimpleQueueService."

enum sqs_fault {
#define FAULT(name, shape, code, status) SQS_##name,
	SQS_FAULTS(FAULT)
#undef FAULT
};

/* The header whose value an SDK keeps over its retries of a call. */
#define SQS_INVOCATION "amz-sdk-invocation-id"

/* What a member of a request must be. */
struct sqs_member {
	const char *name;
	enum json_kind kind;
	bool required;
};

struct sqs_call {
	struct request_gateway gateway;
	struct request *req;
	const struct json *in; /* the members of the request; NULL: none */
	struct text queue;     /* the name in QueueUrl or QueueName; absent: neither was sent */
	bool is_fifo;          /* its name ends in .fifo */
	void *work;            /* of the action */
	void (*then)(struct sqs_call *s);
};

/* The call of a request that a gateway operation has begun. */
static inline struct sqs_call *sqs_call_of(struct request *req)
{
	return container_of(req->gateway, struct sqs_call, gateway);
}

/*
 * Runs an operation of the contract. `queue` is absent for an operation that names none. `body` was
 * begun by sqs_body_begin; NULL: the operation takes none. `answered` is called once the operation
 * has answered.
 */
void sqs_run(struct sqs_call *s, const char *operation, struct text queue, struct json_out *body,
	     void (*answered)(struct request *req));

/* Why something is refused. */
struct sqs_refusal {
	enum sqs_fault fault;
	struct text message;
};

/*
 * Run queue_get. sqs_look needs any scope of the token on the queue, sqs_look_to_manage a scope for
 * the action `manage`.
 */
void sqs_look(struct sqs_call *s, struct text queue, void (*answered)(struct request *req));
void sqs_look_to_manage(struct sqs_call *s, struct text queue, void (*answered)(struct request *req));
/*
 * Runs queue_get on the queue, which any scope of the token admits. s->gateway.is_blind is then
 * true if the token may neither read nor manage it.
 */
void sqs_look_to_create(struct sqs_call *s, void (*answered)(struct request *req));

/*
 * Does what sqs_run does, for an operation that creates a queue. If the queue exists, the operation
 * answers 412.
 */
void sqs_run_create(struct sqs_call *s, const char *operation, struct text queue, struct json_out *body,
		    void (*answered)(struct request *req));

/* Begins the body of an operation. */
void sqs_body_begin(struct sqs_call *s, struct json_out *body);

/* Begins the answer of the action. */
struct json_out *sqs_answer_begin(struct sqs_call *s);
void sqs_answer_end(struct sqs_call *s);
void sqs_answer_empty(struct sqs_call *s);

/* Answers an error. */
void sqs_fail(struct sqs_call *s, enum sqs_fault fault, const char *message, ...) __attribute__((format(printf, 3, 4)));
/* Answers that memory ran out. */
void sqs_fail_no_memory(struct sqs_call *s);
/* Answers the error of SQS for the problem with which the operation has answered. */
void sqs_fail_by_problem(struct sqs_call *s);

/* Returns the code of an error in the query protocol, which the failed entries of a batch have. */
const char *sqs_fault_code(enum sqs_fault fault);

/* The operation's problem; NULL: it succeeded. */
static inline const struct problem_row *sqs_problem(const struct sqs_call *s)
{
	return s->req->answer.problem;
}
static inline bool sqs_has_problem(const struct sqs_call *s, enum problem p)
{
	return sqs_problem(s) == problem_row(p);
}

/*
 * Returns the operation's answer, in which each member `body` keeps its bytes (sqs_text.h). NULL:
 * the operation failed, and the error was answered.
 */
const struct json *sqs_answer(struct sqs_call *s);
/*
 * Does what sqs_answer does, for queue_get. If the queue does not exist, answers that and returns
 * NULL.
 */
const struct json *sqs_answer_existing(struct sqs_call *s);
/* For sqs_run: answers an empty object if the operation succeeded, else its error. */
void sqs_on_done(struct request *req);
/* Returns the JSON document of the problem. NULL: it cannot be read. */
const struct json *sqs_problem_document(struct sqs_call *s);

/*
 * The visibility for a VisibilityTimeout of 0 s. A delivery that ended at once would have ended
 * before its answer, which would leave it out.
 */
enum { SQS_NO_VISIBILITY_MS = 100 };

#define SQS_UNSET INT64_MIN

/* True if the request has the member, which is an integer. */
static inline bool sqs_has_int(const struct sqs_call *s, const char *member)
{
	const struct json *given = json_tree_member(s->in, member);

	return given && given->kind == JSON_IS_INTEGER;
}

/*
 * Writes the integer of a member to *out, or `absent` if the request has none. False: it is not
 * within the range, and an error with `reason` was answered.
 */
bool sqs_int(struct sqs_call *s, const char *member, int64_t low, int64_t high, int64_t absent, int64_t *out,
	     const char *reason);

#endif
