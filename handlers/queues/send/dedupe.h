/*
 * dedupe: the dedupe ids of messages that are sent. lua/queues/lib_queue_dedupe.lua remembers them.
 */
#ifndef PATTERND_QUEUE_DEDUPE_H
#define PATTERND_QUEUE_DEDUPE_H

#include "common/handler.h"

/* Returns true if the message has a dedupe id, whether given or computed from its body. */
bool queue_dedupe_has(const struct queue_message_send_messages_item *m);

/*
 * Returns the dedupe id of each message, in the request's arena; absent for a message without one.
 */
const struct text *queue_dedupe_ids(struct request *req, const struct queue_message_send_messages_item *messages,
				    size_t count);

/* Adds the two keys of a message with this dedupe id. */
void queue_dedupe_call_keys(struct request *req, struct call *c, struct text queue, struct text group, struct text id);

/* Answers 400: `pointer` names a dedupe_by_body, which the queue does not allow. */
void queue_dedupe_answer_required(struct request *req, const char *pointer, struct text queue);

#endif
