/*
 * sqs_tags: the tags of a queue, which are its annotations `sqs.tag.<key>`. It must not know how
 * they are kept.
 */
#ifndef PATTERND_SQS_TAGS_H
#define PATTERND_SQS_TAGS_H

#include "json/out.h"

struct sqs_call;

void sqs_tag_queue(struct sqs_call *s);
void sqs_untag_queue(struct sqs_call *s);
void sqs_list_queue_tags(struct sqs_call *s);

#endif
