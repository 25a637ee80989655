/* sqs_queues: the actions on queues as a whole. It must not know how a queue is stored. */
#ifndef PATTERND_SQS_QUEUES_H
#define PATTERND_SQS_QUEUES_H

struct sqs_call;

void sqs_create_queue(struct sqs_call *s);
void sqs_get_queue_url(struct sqs_call *s);
void sqs_list_queues(struct sqs_call *s);
void sqs_delete_queue(struct sqs_call *s);
void sqs_purge_queue(struct sqs_call *s);
void sqs_get_queue_attributes(struct sqs_call *s);
void sqs_set_queue_attributes(struct sqs_call *s);

#endif
