/*
 * queue_content: how a message is stored, and how it is read. The scripts put a header before the
 * content that the sender's daemon made, keep a state beside it, and return both as they are
 * (lua/queues/lib_queue.lua has their form). The content behind the header is the body, or, where
 * there is more, parts that each begin with a tab and a letter:
 *
 *	<tab> t traceparent <tab> h headers as a JSON object
 *	<tab> s the schedule as a JSON object (lua/queues/schedules/lib_queue_fire.lua) <tab> = body
 *
 * None but the body, which is the last, holds a tab, and no body alone begins with one.
 */
#ifndef PATTERND_QUEUE_CONTENT_H
#define PATTERND_QUEUE_CONTENT_H

#include "common/handler.h"

/* A message without a traceparent has that of the request. */
struct text queue_content(struct request *req, const struct queue_message_send_messages_item *m);

/* A JSON object in the request's arena; "" without headers. */
struct text queue_headers(struct request *req, struct text_pairs headers);

/* A stored message; its texts borrow from what it was read of. */
struct queue_message {
	struct text id, group, backoff, content, nonce;
	struct text marks, progress, worker, reason;           /* worker: percent-encoded */
	int64_t priority, receives, sent_at_ms, expires_at_ms; /* 0: never */
};

/*
 * Reads a message from its sequence, its content and its state (empty before the first delivery).
 * What is damaged has an empty content, which is no JSON: the response becomes 500.
 */
void queue_message_read(struct queue_message *m, struct text sequence, struct text content, struct text state);

/*
 * Writes a message as lua/queues/lib_queue_item.lua gives it. What is due may have become ready
 * since a replayed answer was stored. Of a message that is done, the content is its result.
 */
void queue_message_out(struct json_out *o, struct request *req, const struct reply *r);

/* Percent-encoded, as labels and notes are stored: "" when it is absent. */
struct text queue_encoded(struct request *req, struct text value);

/*
 * What became of a message that was sent, as lua/queues/queue_message_send.lua numbers it; and the
 * members of an answer for that. A deliver_at_ms of 0 is unknown.
 */
enum queue_sent_outcome {
	QUEUE_SENT_STORED,
	QUEUE_SENT_KEPT,
	QUEUE_SENT_REPLACED,
	QUEUE_SENT_EXTENDED,
	QUEUE_SENT_AFTER,
	QUEUE_SENT_OUTCOMES
};
void queue_sent_out(struct json_out *o, struct text id, int64_t outcome, int64_t deliver_at_ms);

/* Writes the member `body`; `traceparent`, `headers` and `schedule` unless they are absent. */
void queue_content_out(struct json_out *o, struct text content);

#endif
