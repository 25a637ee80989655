/*
 * sqs_tags: the tags of a queue, which are its annotations `sqs.tag.<key>`. It must not know how
 * they are stored.
 */
#ifndef PATTERND_SQS_TAGS_H
#define PATTERND_SQS_TAGS_H

#include "json/out.h"

struct json;
struct sqs_call;

/*
 * True if the tags that CreateQueue or TagQueue has are allowed; otherwise an error was answered.
 */
bool sqs_tags_check(struct sqs_call *s, const struct json *tags);
/* Writes the tags of CreateQueue as annotations, into the open object. */
void sqs_tags_out_given(struct sqs_call *s, struct json_out *annotations);

void sqs_tag_queue(struct sqs_call *s);
void sqs_untag_queue(struct sqs_call *s);
void sqs_list_queue_tags(struct sqs_call *s);

#endif
