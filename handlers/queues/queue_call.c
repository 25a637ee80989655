#include "queues/queue_call.h"

#include <string.h>

#include "common/key_kinds.h"

const char *const queue_states[] = { "ready", "delayed", "in_flight", "dead", "blocked", NULL };

const char *const queue_parts[] = { "ready",   "delayed", "flight", "dead",   "ids",  "done", "schedules",
				    "waiters", "order",   "busy",   "groups", "room", NULL };

void queue_call_keys(struct call *c, struct text queue)
{
	call_keys(c, KEY_QUEUE, queue, queue_parts);
}

struct call *queue_call(struct request *req, const struct script *s, struct text queue)
{
	struct call *c = call_script(req, s);

	queue_call_keys(c, queue);
	return c;
}

struct call *queue_look(struct request *req, struct text queue)
{
	struct call *c = queue_call(req, &queue_get_script, queue);

	call_int(c, 1);
	return c;
}

/*
 * The check is SHA-256 of the queue's name and the delivery. The delivery's length is fixed, so no
 * two pairs hash the same bytes.
 */
static void write_check(struct request *req, struct text queue, struct text delivery, char check[CHECK_DIGITS])
{
	const struct text parts[] = { queue, delivery };
	struct arena_mark mark = arena_mark(&req->arena);
	struct text digest = seal_digest(req, arena_join(&req->arena, parts, 2));

	memset(check, '0', CHECK_DIGITS);
	if (digest.at) /* otherwise the request ends, since memory ran out */
		memcpy(check, digest.at, CHECK_DIGITS);
	arena_rewind(&req->arena, mark);
}

/* Writes at most `most` bytes of the part and a dot. Returns where the next part begins. */
static char *put_part(char *to, struct text part, size_t most)
{
	size_t len = part.len < most ? part.len : most;

	if (len)
		memcpy(to, part.at, len);
	to[len] = '.';
	return to + len + 1;
}

struct text queue_receipt(struct request *req, struct text queue, struct text sequence, struct text nonce,
			  char buffer[RECEIPT_LEN + 1])
{
	char *end = put_part(buffer, sequence, SEQUENCE_DIGITS);

	end = put_part(end, nonce, NONCE_DIGITS);
	write_check(req, queue, (struct text){ buffer, (size_t)(end - 1 - buffer) }, end);
	end[CHECK_DIGITS] = '\0';
	return (struct text){ buffer, (size_t)(end - buffer) + CHECK_DIGITS };
}

bool queue_is_receipt(struct request *req, struct text queue, struct text t)
{
	char check[CHECK_DIGITS];

	if (t.len != RECEIPT_LEN || strspn(t.at, "0123456789") != SEQUENCE_DIGITS || t.at[SEQUENCE_DIGITS] != '.' ||
	    strspn(t.at + SEQUENCE_DIGITS + 1, "0123456789abcdef") != NONCE_DIGITS || t.at[DELIVERY_LEN] != '.')
		return false;
	write_check(req, queue, (struct text){ t.at, DELIVERY_LEN }, check);
	return memcmp(t.at + DELIVERY_LEN + 1, check, CHECK_DIGITS) == 0;
}

void queue_answer_no_receipt(struct request *req, const char *pointer, struct text queue)
{
	answer_field_problem(
		req, P_INVALID_RECEIPT, pointer,
		"is not a receipt of queue '%s'; send the receipt unchanged, to the queue that the message came from",
		queue.at);
}

const char *queue_reject_conflict(const struct queue_reject *r)
{
	if (!r->dead)
		return NULL;
	return r->has_delay_ms ? "/delay_ms" : !r->counted ? "/counted" : NULL;
}

void queue_answer_reject_conflict(struct request *req, const char *pointer)
{
	answer_field_problem(req, P_INVALID_VALUE, pointer,
			     "cannot be combined with dead, since a dead letter is not redelivered");
}

void queue_call_reject(struct call *c, const struct queue_reject *r)
{
	queue_call_optional(c, r->has_delay_ms, r->delay_ms);
	call_text(c, r->reason);
	call_int(c, r->dead ? 1 : r->counted ? 0 : 2);
}

void queue_call_late(struct call *c, bool late)
{
	if (late)
		call_string(c, "late");
}

void queue_call_receipt(struct request *req, struct call *c, struct text receipt)
{
	call_text(c, arena_copy(&req->arena, receipt.at, SEQUENCE_DIGITS));
	call_text(c, arena_copy(&req->arena, receipt.at + SEQUENCE_DIGITS + 1, NONCE_DIGITS));
}

int64_t queue_most_receives(int64_t max_receives)
{
	return max_receives == 0 ? QUEUE_NEVER_DEAD : max_receives;
}

void queue_call_optional(struct call *c, bool has, int64_t value)
{
	call_int(c, has ? value : -1);
}

void queue_answer_no_message(struct request *req, struct text queue, struct text id)
{
	answer_problem(req, P_NOT_FOUND, "queue '%s' has no message '%s'", queue.at, id.at);
}
