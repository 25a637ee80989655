/*
 * sqs_name: how SQS names a queue, and where its clients have the token.
 *
 * Of a QueueUrl and of an ARN only the last part counts, whatever host, account and region they
 * have.
 */
#ifndef PATTERND_SQS_NAME_H
#define PATTERND_SQS_NAME_H

#include "core/text.h"

struct request;

/* The account of every QueueUrl and ARN that is returned. */
#define SQS_ACCOUNT "000000000000"

/* Returns the queue of a QueueUrl, or of a bare name; absent if it has a bad escape. */
struct text sqs_name_of_url(struct request *req, struct text url);
/* Returns the queue of an ARN; absent if it is none. */
struct text sqs_name_of_arn(struct request *req, struct text arn);

/* Return what names the queue. */
struct text sqs_url_of(struct request *req, struct text queue);
struct text sqs_arn_of(struct request *req, struct text queue);

bool sqs_name_is_fifo(struct text queue);
/*
 * True if SQS allows a queue of that name: 1 to 80 letters, digits, '-' and '_', and perhaps
 * ".fifo".
 */
bool sqs_name_is_valid(struct text queue);

/*
 * Returns the bearer token of a request: X-Amz-Security-Token, else the access key id of the
 * signature, else the token of `Authorization: Bearer`; absent if it has none of them.
 */
struct text sqs_token(struct request *req);

#endif
