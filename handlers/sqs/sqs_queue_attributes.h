/*
 * sqs_queue_attributes: the attributes of a queue, which are its settings. An attribute that has no
 * effect is stored as an annotation of the queue, `sqs.<attribute>`. This module must not know how
 * settings are stored.
 */
#ifndef PATTERND_SQS_QUEUE_ATTRIBUTES_H
#define PATTERND_SQS_QUEUE_ATTRIBUTES_H

#include "sqs/sqs_call.h"

/* Checks the member Attributes. False: an error was answered. */
bool sqs_queue_attributes_check(struct sqs_call *s);

/*
 * Writes the settings and annotations that Attributes change into the body of a PUT, if the queue
 * is new, or of a PATCH.
 */
void sqs_queue_attributes_out_settings(struct sqs_call *s, struct json_out *body, bool is_new);

/*
 * Calls `then` if the queue that RedrivePolicy names exists and is of the same type (standard or
 * FIFO), or if there is no RedrivePolicy. Otherwise answers an error.
 */
void sqs_queue_attributes_look_at_target(struct sqs_call *s, void (*then)(struct sqs_call *s));

/*
 * sqs_queue_attributes_check_names checks AttributeNames. False: an error was answered.
 * sqs_queue_attributes_out writes the attributes that it asks for, from the answer of queue_get.
 */
bool sqs_queue_attributes_check_names(struct sqs_call *s);
void sqs_queue_attributes_out(struct sqs_call *s, struct json_out *o, const struct json *queue);

/* Returns the first of Attributes whose value differs from the queue's; NULL: none. */
const char *sqs_queue_attributes_difference(struct sqs_call *s, const struct json *queue);

/* The prefix of the annotations that the actions of SQS write. */
#define SQS_ANNOTATION "sqs."

#endif
