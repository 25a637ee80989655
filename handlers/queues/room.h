/*
 * queue_room: a send to a queue with `max_messages` that has no room waits for it.
 *
 * The wait queue of room is a key of its own (lua/queues/lib_queue_room.lua), so its waiters are
 * senders only.
 */
#ifndef PATTERND_QUEUE_ROOM_H
#define PATTERND_QUEUE_ROOM_H

#include "common/handler.h"

/*
 * Before the first attempt: it may wait so long for room for `messages`. With 0 it never waits.
 * False: it was answered.
 */
bool queue_room_begin(struct request *req, struct text queue, int64_t wait_ms, size_t messages);
/* The last argument of queue_message_send, if the request may wait. */
void queue_room_call(struct request *req, struct call *c);
/* In a `done`: there was room, or the attempt was refused for another reason. */
void queue_room_left(struct request *req);
/* In a `done`: there was none. Waits, and tries again by `again`, or answers 409 `queue_full`. */
void queue_room_wait(struct request *req, struct text queue, const struct reply *r, void (*again)(struct request *req));

#endif
