/* sqs_receive: the action that receives. It must not know how a queue delivers. */
#ifndef PATTERND_SQS_RECEIVE_H
#define PATTERND_SQS_RECEIVE_H

struct sqs_call;

void sqs_receive_message(struct sqs_call *s);

#endif
