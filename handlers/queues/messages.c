/*
 * messages: messages that are not in flight: change, cancel, list. Each operation is one
 * script (lua/queues/queue_message_*.lua). Only the scripts know which state a message is in.
 * send.c sends messages, deliveries.c handles deliveries, and ends.c handles GET of one message.
 */
#include <inttypes.h>
#include <string.h>

#include "common/handler.h"
#include "common/key_kinds.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"

/* ---- One message ---- */

static void answer_in_flight(struct request *req, struct text id, int64_t visible_until_ms)
{
	int64_t left_ms = request_ms_until(req, visible_until_ms);

	answer_retry_after_ms(req, left_ms);
	answer_problem(req, P_MESSAGE_IN_FLIGHT, "message '%s' is in flight for another %" PRId64 " ms", id.at,
		       left_ms);
}

static void on_changed(struct request *req, const struct reply *r)
{
	const struct queue_message_patch_input *in = req->input;
	int64_t outcome = reply_outcome(r);

	if (outcome == QUEUE_MESSAGE_PATCH_IN_FLIGHT) {
		answer_in_flight(req, in->id, reply_int(r, QUEUE_MESSAGE_PATCH_VISIBLE_UNTIL_MS));
	} else if (outcome == QUEUE_MESSAGE_PATCH_PAST_TTL) {
		answer_field_problem(req, P_INVALID_VALUE, in->has_delay_ms ? "/delay_ms" : "/deliver_at_ms",
				     "must be before the message's ttl_ms ends, in %" PRId64 " ms",
				     request_ms_until(req, reply_int(r, QUEUE_MESSAGE_PATCH_EXPIRES_AT_MS)));
	} else if (outcome == QUEUE_MESSAGE_PATCH_ABSENT) {
		queue_answer_no_message(req, in->name, in->id);
	} else {
		queue_message_out(answer_begin(req, 200), req, reply_item(r, QUEUE_MESSAGE_PATCH_MESSAGE));
		answer_end(req);
	}
}

void queue_message_patch(struct request *req, const struct queue_message_patch_input *in)
{
	if (in->has_delay_ms && in->has_deliver_at_ms) {
		answer_field_problem(req, P_INVALID_VALUE, "/deliver_at_ms", "cannot be given together with delay_ms");
		return;
	}
	if (!in->has_delay_ms && !in->has_deliver_at_ms && !in->has_priority && !in->has_max_receives &&
	    !in->reset_max_receives) {
		answer_field_problem(req, P_MISSING_FIELD, "/delay_ms",
				     "is required, unless deliver_at_ms, priority or max_receives is given");
		return;
	}
	struct call *c = queue_call(req, &queue_message_patch_script, in->name);
	call_text(c, in->id);
	queue_call_optional(c, in->has_delay_ms, in->delay_ms);
	queue_call_optional(c, in->has_deliver_at_ms, in->deliver_at_ms);
	queue_call_optional(c, in->has_priority, in->priority);
	queue_call_optional(c, in->has_max_receives || in->reset_max_receives,
			    in->reset_max_receives ? 0 : queue_most_receives(in->max_receives));
	call_send(c, on_changed);
}

static void on_cancelled(struct request *req, const struct reply *r)
{
	const struct queue_message_delete_input *in = req->input;

	if (reply_outcome(r) == QUEUE_MESSAGE_DELETE_IN_FLIGHT)
		answer_in_flight(req, in->id, reply_int(r, QUEUE_MESSAGE_DELETE_VISIBLE_UNTIL_MS));
	else if (reply_outcome(r) == QUEUE_MESSAGE_DELETE_ABSENT)
		queue_answer_no_message(req, in->name, in->id);
	else
		answer_empty(req, 204);
}

void queue_message_delete(struct request *req, const struct queue_message_delete_input *in)
{
	struct call *c = queue_call(req, &queue_message_delete_script, in->name);

	call_text(c, in->id);
	call_int(c, in->in_flight);
	call_send(c, on_cancelled);
}

/* ---- GET /queues/{name}/messages ---- */

/*
 * A cursor is <priority>.<score>.<sequence> of the last message of the page before. For ready and
 * blocked messages, the sequence is longer and in hexadecimal digits. Returns false if the cursor
 * has another form.
 */
static bool parse_cursor(struct text cursor, bool is_hex, struct text *priority, struct text *score,
			 struct text *sequence)
{
	static const char digits[] = "0123456789", hex[] = "0123456789abcdef";
	size_t score_len = cursor.len > 2 ? strspn(cursor.at + 2, digits) : 0;

	if (score_len == 0 || score_len > 15 || strspn(cursor.at, digits) != 1 || cursor.at[1] != '.' ||
	    cursor.at[2 + score_len] != '.')
		return false;
	size_t begin = 3 + score_len, rest = cursor.len - begin;
	if (is_hex ? rest <= 16 || rest % 2 != 0 || strspn(cursor.at + begin, hex) != rest
		   : rest != 16 || strspn(cursor.at + begin, digits) != rest)
		return false;
	*priority = (struct text){ cursor.at, 1 };
	*score = (struct text){ cursor.at + 2, score_len };
	*sequence = (struct text){ cursor.at + begin, rest };
	return true;
}

static void on_messages(struct request *req, const struct reply *r)
{
	struct json_out *o = answer_begin(req, 200);
	struct text sequence = reply_text(r, QUEUE_MESSAGE_LIST_LAST_SEQUENCE), cursor = { 0 };

	out_array(o, "items");
	for (size_t i = QUEUE_MESSAGE_LIST_MESSAGES; i < r->count; i++) {
		out_object(o, NULL);
		queue_message_out(o, req, reply_item(r, i));
		out_close(o);
	}
	out_close(o);
	if (sequence.len)
		cursor = arena_printf(&req->arena, "%" PRId64 ".%" PRId64 ".%s",
				      reply_int(r, QUEUE_MESSAGE_LIST_LAST_PRIORITY),
				      reply_int(r, QUEUE_MESSAGE_LIST_LAST_AT_MS), sequence.at);
	out_text(o, "next_cursor", cursor);
	answer_end(req);
}

void queue_message_list(struct request *req, const struct queue_message_list_input *in)
{
	struct text priority = TEXT("-1"), score = TEXT("-1"), sequence = TEXT("");

	const char *state = queue_states[in->state - 1];
	bool is_hex = strcmp(state, "ready") == 0 || strcmp(state, "blocked") == 0;

	if (in->cursor.at && !parse_cursor(in->cursor, is_hex, &priority, &score, &sequence)) {
		handler_answer_cursor(req);
		return;
	}
	struct call *c = queue_call(req, &queue_message_list_script, in->name);
	call_string(c, state);
	call_int(c, in->limit);
	call_text(c, priority);
	call_text(c, score);
	call_text(c, sequence);
	call_int(c, 0);
	call_send(c, on_messages);
}
