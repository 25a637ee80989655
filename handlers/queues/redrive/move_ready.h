/*
 * move_ready: a redrive with `state` ready: messages of a dead-letter queue move into another
 * queue, or back into the queue in which each died.
 *
 * The messages are received, stored in their queue (lua/queues/redrive/queue_letters_store.lua),
 * and removed here (queue_moved_remove.lua), so that no worker gets one at the same time. Messages
 * that stay are returned at the end. If the daemon dies, the messages are ready again once MOVE_MS
 * have passed. The next redrive stores none twice while the other queue has or remembers its id.
 */
#ifndef PATTERND_QUEUE_MOVE_READY_H
#define PATTERND_QUEUE_MOVE_READY_H

#include "common/handler.h"

/* Answers the request. */
void queue_move_ready(struct request *req, const struct queue_redrive_input *in);

#endif
