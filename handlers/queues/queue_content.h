/*
 * queue_content: how a message is stored, and how it is read.
 *
 * The sender's daemon makes the content. The scripts put a header before it, and keep a state
 * beside it. They return both unchanged (lua/queues/lib_queue.lua has their form). The content
 * after the header is the body. If there is more than a body, it consists of parts that each begin
 * with a tab and a letter:
 *
 *	<tab> m the queue that it moved from, percent-encoded, a blank and its sequence there
 *	<tab> f the same, of the queue that it died in
 *	<tab> t traceparent <tab> h headers as a JSON object
 *	<tab> d dedupe id
 *	<tab> s the schedule as a JSON object (lua/queues/schedules/lib_queue_fire.lua) <tab> = body
 *
 * The body is the last part; the others contain no tab. A body alone does not begin with a tab.
 */
#ifndef PATTERND_QUEUE_CONTENT_H
#define PATTERND_QUEUE_CONTENT_H

#include "common/handler.h"

/*
 * Returns the content of a message. If the message has no traceparent, it gets the request's. The
 * dedupe id may be absent.
 */
struct text queue_content(struct request *req, const struct queue_message_send_messages_item *m, struct text dedupe_id);

/* Returns the text of a JSON string, and the bytes of any other body. Absent if memory ran out. */
struct text queue_body_text(struct request *req, struct text body);

/* Returns a JSON object in the request's arena, or "" without headers. */
struct text queue_headers(struct request *req, struct text_pairs headers);

/* A stored message. Its texts point into what it was read from. */
struct queue_message {
	struct text id, group, backoff, content, nonce;
	struct text marks, progress, worker, reason;           /* worker is percent-encoded */
	int64_t priority, receives, sent_at_ms, expires_at_ms; /* expires_at_ms 0: never */
};

/*
 * Reads a message from its sequence, content and state, which is empty before the first delivery.
 * The content of a damaged message becomes empty, which is not JSON, so the response becomes 500.
 */
void queue_message_read(struct queue_message *m, struct text sequence, struct text content, struct text state);

/*
 * Writes a message as lua/queues/lib_queue_item.lua returns it. A message that is due may have
 * become ready since a replayed answer was stored. The content of a done message is its result.
 */
void queue_message_out(struct json_out *o, struct request *req, const struct reply *r);

/* The message of a delivery that failed, or that hangs. */
struct queue_delivered {
	struct text id; /* absent: the message is gone */
	struct text worker, reason;
	int64_t receives, received_at_ms;
};
/*
 * Reads a queue_delivered that begins at item `at`. The worker of a failed delivery is absent once
 * another worker has the message.
 */
struct queue_delivered queue_delivered_of(struct arena *arena, const struct reply *r, size_t at, bool has_failed);

/*
 * Return how often the message of a state was delivered, and when its present delivery began. Both
 * are 0 for an empty state.
 */
int64_t queue_state_receives(struct text state);
int64_t queue_state_received_at_ms(struct text state);
/* Returns when the first delivery of a message began; 0: unknown, or not yet. */
int64_t queue_first_received_at_ms(const struct queue_message *m);

/* Percent-encodes a label or a note, as it is stored. Returns "" when it is absent. */
struct text queue_encoded(struct request *req, struct text value);
/* Writes the member `worker` from its encoded form; null if it is empty. */
void queue_worker_out(struct json_out *o, struct text worker);

/*
 * The outcomes of lua/queues/queue_message_send.lua for a message. queue_sent_out writes the
 * members of the answer for it. A deliver_at_ms of 0 is unknown, and so is an empty sequence.
 */
enum queue_sent_outcome {
	QUEUE_SENT_STORED,
	QUEUE_SENT_KEPT,
	QUEUE_SENT_REPLACED,
	QUEUE_SENT_EXTENDED,
	QUEUE_SENT_AFTER,
	QUEUE_SENT_KEPT_DEAD,
	QUEUE_SENT_OUTCOMES
};
void queue_sent_out(struct json_out *o, struct text id, int64_t outcome, int64_t deliver_at_ms, struct text sequence);

/* Returns the sequence of a sent message, whose id was `given`, from its item of the reply. */
struct text queue_sent_sequence(const struct reply *item, struct text given);

/* Returns a name as it was given. It returns no text if the name is empty, or memory ran out. */
struct text queue_decoded(struct arena *arena, struct text encoded);

/*
 * Returns the queue in which the message of a content died before it moved; absent if it did not.
 */
struct text queue_dead_from(struct arena *arena, struct text content);

/*
 * Writes `body`, and `dead_from`, `traceparent`, `headers`, `dedupe_id` and `schedule` if they are
 * present.
 */
void queue_content_out(struct json_out *o, struct text content);

#endif
