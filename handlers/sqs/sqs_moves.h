/*
 * sqs_moves: the actions on dead-letter queues. A task has ended when StartMessageMoveTask answers.
 * An annotation of the queue keeps what its last tasks did. It must not know how messages move.
 */
#ifndef PATTERND_SQS_MOVES_H
#define PATTERND_SQS_MOVES_H

struct sqs_call;

void sqs_list_dead_letter_source_queues(struct sqs_call *s);
void sqs_start_message_move_task(struct sqs_call *s);
void sqs_list_message_move_tasks(struct sqs_call *s);
void sqs_cancel_message_move_task(struct sqs_call *s);

#endif
