/*
 * room: waiting for room, when a message is sent to a full queue with `max_messages`.
 *
 * The wait queue for room has its own key (lua/queues/room/lib_queue_room.lua), so its waiters are
 * senders only.
 */
#ifndef PATTERND_QUEUE_ROOM_H
#define PATTERND_QUEUE_ROOM_H

#include "common/handler.h"

/*
 * Call it before the first attempt. The request may wait up to wait_ms for room for `messages`;
 * with 0 it never waits. False: the request was answered.
 */
bool queue_room_begin(struct request *req, struct text queue, int64_t wait_ms, size_t messages);
/*
 * Adds the last argument of queue_message_send, if the request may wait. `before` is the option
 * before it, or "".
 */
void queue_room_call(struct request *req, struct call *c, const char *before);
/* Call it in a `done`, when there was room, or the attempt was refused for another reason. */
void queue_room_left(struct request *req);
/*
 * Call it in a `done`, when there was no room. Waits and then calls `again`, or answers 409
 * `queue_full`.
 */
void queue_room_wait(struct request *req, struct text queue, const struct reply *r, void (*again)(struct request *req));

#endif
