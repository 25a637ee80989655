/*
 * receive_lacks: the queues of a receive that could not be received from, because their server or
 * the server of their policy cannot be asked, or because the policy does not exist.
 *
 * The other queues are received from all the same, and the answer names these. If no queue could be
 * received from, the request is answered with a problem.
 */
#ifndef PATTERND_QUEUE_RECEIVE_LACKS_H
#define PATTERND_QUEUE_RECEIVE_LACKS_H

#include "queues/receive/payment.h"

struct receive_lack {
	struct call *failed; /* the call that failed; NULL: none */
	struct text policy;  /* the policy that does not exist; absent: there is none */
};

/* Part of a receive. It is small, since a request that waits keeps it. */
struct receive_lacks {
	struct receive_lack *of; /* of each queue in the present attempt; NULL: each could be received from */
	uint16_t count;          /* of queues */
	uint16_t unknown;        /* bits: a call of any attempt got no reply, and may have taken messages */
};

/* Begins an attempt. Of the earlier ones only the calls that got no reply count. */
void receive_lacks_begin(struct receive_lacks *l);

/* Notes the failed call of a queue. If memory runs out, the arena notes it. */
void receive_lacks_note(struct request *req, struct receive_lacks *l, size_t queue, struct call *failed);
/* Notes the queues whose policies could not be asked, or do not exist. */
void receive_lacks_note_policies(struct request *req, struct receive_lacks *l, const struct queue_payment *p);

/* Returns true if the present attempt could not receive from one of the queues. */
bool receive_lacks_some(const struct receive_lacks *l);
/* Returns true if it could receive from no queue. */
bool receive_lacks_all(const struct receive_lacks *l);
/* Answers the request then. */
void receive_lacks_answer(struct request *req, const struct receive_lacks *l);

/* Writes `unanswered`, unless it is empty. */
void receive_lacks_out(struct json_out *o, const struct receive_lacks *l, const struct text *queues);

#endif
