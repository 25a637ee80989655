/* receive_out: the answers of a receive, whose order (receive_order.h) is the request's work. */
#ifndef PATTERND_QUEUE_RECEIVE_OUT_H
#define PATTERND_QUEUE_RECEIVE_OUT_H

#include "common/handler.h"

/* Answers with all messages that were received, and with what was settled before. */
void receive_answer_deliveries(struct request *req);
/* The request's fallback: answers in place of a problem, once deliveries were settled. */
bool receive_answer_unreceived(struct request *req, enum problem p, enum effect effect);

#endif
