/*
 * sqs_settle: the actions that end or extend deliveries. It must not know how a queue does that.
 */
#ifndef PATTERND_SQS_SETTLE_H
#define PATTERND_SQS_SETTLE_H

struct sqs_call;

void sqs_delete_message(struct sqs_call *s);
void sqs_delete_message_batch(struct sqs_call *s);
void sqs_change_message_visibility(struct sqs_call *s);
void sqs_change_message_visibility_batch(struct sqs_call *s);

#endif
