#include "queues/send/room.h"

#include <inttypes.h>

#include "common/key_kinds.h"

/* The request's work, allocated before wait_begin. */
struct room_wait {
	char ticket_tail[TEXT_DIGITS];
	struct text tail; /* the number of messages of the request */
};

bool queue_room_begin(struct request *req, struct text queue, int64_t wait_ms, size_t messages)
{
	if (wait_ms <= 0)
		return true;
	struct room_wait *w = req->work = arena_alloc(&req->arena, sizeof(*w));
	if (!w) {
		answer_no_memory(req, EFFECT_NONE);
		return false;
	}
	w->tail = text_of_int((int64_t)messages, w->ticket_tail);
	if (!wait_begin(req, wait_ms, 1))
		return false;
	wait_on(req, call_key_name(req, KEY_QUEUE, queue, "room"));
	return true;
}

void queue_room_call(struct request *req, struct call *c, const char *before)
{
	static const char *const parts[] = { NULL };
	static const struct ticket_queue queue = { &queue_room_leave_script, parts };
	const struct room_wait *w = req->work;
	struct text ticket = w ? wait_ticket(req, &queue, w->tail) : TEXT("");

	if (ticket.len)
		call_text(c, arena_printf(&req->arena, "%s%sroom %s %" PRId64 " %" PRId64, before, *before ? " " : "",
					  ticket.at, wait_left_ms(req), wait_queued_us(req)));
	else if (*before)
		call_string(c, before);
}

void queue_room_left(struct request *req)
{
	if (!req->result->replayed)
		wait_ticket_left(req);
}

static void answer_full(struct request *req, struct text queue, const struct reply *r)
{
	int64_t most = reply_int(r, QUEUE_MESSAGE_SEND_MAX_MESSAGES), ready = reply_int(r, QUEUE_MESSAGE_SEND_READY),
		blocked = reply_int(r, QUEUE_MESSAGE_SEND_BLOCKED), delayed = reply_int(r, QUEUE_MESSAGE_SEND_DELAYED),
		in_flight = reply_int(r, QUEUE_MESSAGE_SEND_IN_FLIGHT);
	struct json_out *o = answer_begin_problem(req, P_QUEUE_FULL,
						  "queue '%s' holds %" PRId64 " of at most %" PRId64
						  " messages, so it has no room for %" PRId64
						  " more; send again later, or wait with wait_room_ms",
						  queue.at, ready + blocked + delayed + in_flight, most,
						  reply_int(r, QUEUE_MESSAGE_SEND_COUNT));

	out_int(o, "max_messages", most);
	out_int(o, "ready", ready);
	out_int(o, "blocked", blocked);
	out_int(o, "delayed", delayed);
	out_int(o, "in_flight", in_flight);
	answer_end(req);
}

void queue_room_wait(struct request *req, struct text queue, const struct reply *r, void (*again)(struct request *req))
{
	if (reply_int(r, QUEUE_MESSAGE_SEND_IS_WAITING)) {
		wait_look_at(req, reply_int(r, QUEUE_MESSAGE_SEND_LOOK_AT_MS));
		if (wait_park(req, again))
			return;
	}
	wait_ticket_left(req);
	answer_full(req, queue, r);
}
