/* sqs_send: the actions that send. It must not know how a queue stores a message. */
#ifndef PATTERND_SQS_SEND_H
#define PATTERND_SQS_SEND_H

struct sqs_call;

void sqs_send_message(struct sqs_call *s);
void sqs_send_message_batch(struct sqs_call *s);

#endif
