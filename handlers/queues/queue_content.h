/*
 * queue_content: what a queue keeps of a message as one text: its body, or, where the sender gave a
 * traceparent or headers,
 *
 *	<tab> traceparent <tab> headers as a JSON object <tab> body
 *
 * with what is absent empty. Neither of them holds a tab, and no body begins with one. The scripts
 * store and return this text, and never read it.
 */
#ifndef PATTERND_QUEUE_CONTENT_H
#define PATTERND_QUEUE_CONTENT_H

#include "handler.h"

/* A message without a traceparent has that of the request. */
struct text queue_content(struct request *req, const struct queue_message_send_messages_item *m);

/* Writes the members `body`, `traceparent` and `headers`, the last two unless they are absent. */
void queue_content_out(struct json_out *o, struct text content);

#endif
