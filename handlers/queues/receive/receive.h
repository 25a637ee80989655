/*
 * receive: ends deliveries, then receives messages from one queue, or from several in order of
 * preference, and waits for them. It must not know the operations queue_message_receive and
 * queue_list_receive: receive_input.c reads their input.
 */
#ifndef PATTERND_QUEUE_RECEIVE_H
#define PATTERND_QUEUE_RECEIVE_H

#include "queues/receive/receive_order.h"

/* Starts the receive. Copies `given`. */
void receive_begin(struct request *req, const struct receive_order *given);

#endif
