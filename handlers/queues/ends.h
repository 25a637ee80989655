/*
 * ends: waiting for the end of a message: GET of one message with `wait_ms`, and a send with
 * `wait_result_ms`.
 *
 * A look (lua/queues/queue_message_wait.lua) registers this daemon beside the message. The script
 * that ends the message publishes to the registered daemons only, on a channel for that message and
 * daemon. One look then answers all requests of this daemon that wait for the message.
 */
#ifndef PATTERND_QUEUE_ENDS_H
#define PATTERND_QUEUE_ENDS_H

#include "common/handler.h"

/* Call it before the message is sent. Returns false when the request was answered. */
bool queue_end_begin(struct request *req, struct text queue, int64_t wait_ms);

/*
 * Call it when the message was sent, or is a duplicate of an earlier one. Waits for its end, then
 * answers. `item` is its item in the script's reply, and `given` the id of the request.
 */
void queue_end_await_sent(struct request *req, struct text given, const struct reply *item);

/* Answers 400: `pointer` names a member that only a queue with the setting result_ms accepts. */
void queue_end_answer_no_results(struct request *req, const char *pointer, struct text queue);

#endif
