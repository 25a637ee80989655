/* queue_call: see queue_call.h. */
#include "queues/queue_call.h"

#include <stdio.h>
#include <string.h>

#include "common/kinds.h"

const char *const queue_states[] = { "ready", "delayed", "in_flight", "dead", NULL };

const char *const queue_parts[] = { "ready",     "delayed", "flight", "dead", "ids",    "done",
				    "schedules", "waiters", "order",  "busy", "groups", NULL };

void queue_call_keys(struct call *c, struct text queue)
{
	call_key(c, KEY_QUEUE, queue, NULL);
	for (const char *const *part = queue_parts; *part; part++)
		call_key(c, KEY_QUEUE, queue, *part);
}

struct call *queue_call(struct request *req, const struct script *s, struct text queue)
{
	struct call *c = call_script(req, s);

	queue_call_keys(c, queue);
	return c;
}

void queue_run_schedules(struct request *req, struct text queue,
			 void (*done)(struct request *req, const struct reply *reply))
{
	struct call *c = queue_call(req, &queue_schedule_fire_script, queue);

	call_may_fail(c);
	call_send(c, done);
}

/*
 * SHA-256 of the queue's name and the delivery, whose length is fixed: no two pairs share their
 * bytes.
 */
static void write_check(struct request *req, struct text queue, struct text delivery, char check[CHECK_DIGITS])
{
	const struct text parts[] = { queue, delivery };
	struct arena_mark mark = arena_mark(&req->arena);
	struct text digest = seal_digest(req, arena_join(&req->arena, parts, 2));

	memset(check, '0', CHECK_DIGITS);
	if (digest.at) /* else the request ends for want of memory */
		memcpy(check, digest.at, CHECK_DIGITS);
	arena_rewind(&req->arena, mark);
}

struct text queue_receipt(struct request *req, struct text queue, struct text sequence, struct text nonce,
			  char buffer[RECEIPT_LEN + 1])
{
	char check[CHECK_DIGITS];

	snprintf(buffer, RECEIPT_LEN + 1, "%.*s.%.*s", SEQUENCE_DIGITS, sequence.at ? sequence.at : "", NONCE_DIGITS,
		 nonce.at ? nonce.at : "");
	write_check(req, queue, text_of(buffer), check);
	snprintf(buffer + strlen(buffer), RECEIPT_LEN + 1 - strlen(buffer), ".%.*s", CHECK_DIGITS, check);
	return text_of(buffer);
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

void queue_call_optional(struct call *c, bool has, int64_t value)
{
	call_int(c, has ? value : -1);
}

void queue_answer_no_message(struct request *req, struct text queue, struct text id)
{
	answer_problem(req, P_NOT_FOUND, "queue '%s' has no message '%s'", queue.at, id.at);
}
