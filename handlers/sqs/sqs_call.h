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
 * Runs an operation of the contract on a queue, absent for none. `body` is what was written to it,
 * or NULL. `answered` gets the call when the operation has answered.
 */
void sqs_run(struct sqs_call *s, const char *operation, struct text queue, struct json_out *body,
	     void (*answered)(struct request *req));

/* Why something is refused. */
struct sqs_refusal {
	enum sqs_fault fault;
	struct text message;
};

/*
 * Run queue_get, which any scope of the token on the queue admits, or a scope for the action
 * `manage`.
 */
void sqs_look(struct sqs_call *s, struct text queue, void (*answered)(struct request *req));
void sqs_look_to_manage(struct sqs_call *s, struct text queue, void (*answered)(struct request *req));

/*
 * As sqs_run, for an operation that makes a queue only if it does not exist; else its answer is
 * 412.
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
/* Answers the problem of the operation that has answered, as the error that it is in SQS. */
void sqs_fail_by_problem(struct sqs_call *s);

/* The code of an error, as entries of batches have it: without a prefix that batches lack. */
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
 * Returns the operation's answer. Its members `body` keep their bytes (sqs_text.h). NULL: it
 * failed, and the error was answered.
 */
const struct json *sqs_answer(struct sqs_call *s);
/*
 * Does what sqs_answer does for queue_get. NULL also if the queue does not exist, and that was
 * answered.
 */
const struct json *sqs_answer_existing(struct sqs_call *s);
/* Answers with no member once an operation has succeeded; for sqs_run. */
void sqs_on_done(struct request *req);
/* Returns a problem's document. NULL: it cannot be read. */
const struct json *sqs_problem_document(struct sqs_call *s);

/*
 * A visibility of 0 s: a delivery that ends at once could not be answered in time, and would then
 * be left out.
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
 * The integer of a member, or `absent`. False: it is not within the range, and an error with the
 * reason was answered.
 */
bool sqs_int(struct sqs_call *s, const char *member, int64_t low, int64_t high, int64_t absent, int64_t *out,
	     const char *reason);

#endif
