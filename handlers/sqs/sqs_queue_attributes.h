/*
 * sqs_queue_attributes: the attributes of a queue, which are its settings. What has no effect here
 * is an annotation of the queue, `sqs.<attribute>`. Pure, but for the errors that it answers.
 */
#ifndef PATTERND_SQS_QUEUE_ATTRIBUTES_H
#define PATTERND_SQS_QUEUE_ATTRIBUTES_H

#include "sqs/sqs_call.h"

/* Checks the member Attributes. False: an error was answered. */
bool sqs_queue_attributes_check(struct sqs_call *s);

/*
 * Writes the settings that Attributes change, into the body of a PUT if it is new, else of a PATCH.
 */
void sqs_queue_attributes_out_settings(struct sqs_call *s, struct json_out *body, bool is_new);

/*
 * Calls `then`, once the queue in RedrivePolicy was found, and is of the same kind; else an error
 * is answered.
 */
void sqs_queue_attributes_look_at_target(struct sqs_call *s, void (*then)(struct sqs_call *s));

/*
 * Writes the member Attributes of a queue, the answer of queue_get: those that AttributeNames asks
 * for. False: an error was answered.
 */
bool sqs_queue_attributes_check_names(struct sqs_call *s);
void sqs_queue_attributes_out(struct sqs_call *s, struct json_out *o, const struct json *queue);

/* Returns the first attribute in Attributes that the queue has otherwise; NULL: none. */
const char *sqs_queue_attributes_difference(struct sqs_call *s, const struct json *queue);

/* How annotations of SQS begin. */
#define SQS_ANNOTATION "sqs."

#endif
