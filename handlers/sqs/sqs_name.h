/*
 * sqs_name: how SQS names a queue, and where its clients send the token.
 *
 * Only the last part of a QueueUrl or an ARN counts, whatever its host, account and region.
 */
#ifndef PATTERND_SQS_NAME_H
#define PATTERND_SQS_NAME_H

#include "core/text.h"

struct request;

/* The account of every QueueUrl and ARN that is returned. */
#define SQS_ACCOUNT "000000000000"

/* Returns the queue of a QueueUrl, or of a bare name; absent if it has a bad escape. */
struct text sqs_name_of_url(struct request *req, struct text url);
/* Returns the queue of an ARN; absent if the text is not an ARN. */
struct text sqs_name_of_arn(struct request *req, struct text arn);

/* Return the QueueUrl and the ARN of a queue. */
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
