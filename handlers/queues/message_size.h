/* message_size: the bytes of a message that is sent, for queues with max_message_bytes. */
#ifndef PATTERND_QUEUE_MESSAGE_SIZE_H
#define PATTERND_QUEUE_MESSAGE_SIZE_H

#include "common/handler.h"

/*
 * Returns the bytes of the body, of a string without quotes and escapes, and of the names and
 * values of headers. If they cannot be above `most`, it may return more, but not above `most`.
 */
size_t queue_message_size(struct request *req, const struct queue_message_send_messages_item *m, size_t most);

/* Answers 400. `pointer` names the body. */
void queue_message_answer_too_large(struct request *req, const char *pointer, struct text queue, size_t size,
				    size_t most);

#endif
