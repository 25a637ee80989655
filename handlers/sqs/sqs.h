/*
 * sqs: the actions of Amazon SQS in its JSON protocol, on the queues of the contract. docs/sqs.md
 * describes what differs from AWS.
 */
#ifndef PATTERND_SQS_H
#define PATTERND_SQS_H

/*
 * Serves `POST /` and `POST /<12 digits>/<queue>` with the header X-Amz-Target, unless --sqs=off.
 */
void sqs_open(void);

#endif
