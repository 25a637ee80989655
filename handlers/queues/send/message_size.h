/* message_size: the size of messages that are sent, for queues with max_message_bytes. */
#ifndef PATTERND_QUEUE_MESSAGE_SIZE_H
#define PATTERND_QUEUE_MESSAGE_SIZE_H

#include "common/handler.h"

/*
 * Returns how many bytes the body and the names and values of the headers have. A string counts
 * without quotes and escapes, unless the message has at most `most` bytes even with them.
 */
size_t queue_message_size(struct request *req, const struct queue_message_send_messages_item *m, size_t most);

/* Answers 400. `pointer` names the body. */
void queue_message_answer_too_large(struct request *req, const char *pointer, struct text queue, size_t size,
				    size_t most);

#endif
