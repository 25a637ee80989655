/*
 * redrive: dead or delayed messages of a queue become ready again. A script is called until it has
 * finished: lua/queues/redrive/queue_redrive.lua and queue_redrive_delayed.lua, and
 * groups/queue_group_redrive.lua. A redrive by ids into the same queue is one call
 * (queue_message_redrive.lua). Only the scripts know how many messages one step takes. move.c moves
 * dead letters into another queue, and move_ready.c messages that are ready.
 *
 * The last argument of a script in steps is what the steps before did: nothing yet. It is also the
 * name of the step in the idempotency record.
 */
#include "common/handler.h"
#include "queues/queue_call.h"
#include "queues/redrive/move.h"
#include "queues/redrive/move_ready.h"

static void answer_redriven(struct request *req, int64_t total, int64_t duplicates)
{
	const struct queue_redrive_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "redriven", total);
	out_int(o, "duplicates", duplicates);
	answer_end(req);
}

static void on_redriven(struct request *req, const struct reply *r)
{
	answer_redriven(req, reply_int(r, QUEUE_STEP_TOTAL), 0);
}

static void redrive_these(struct request *req, const struct queue_redrive_input *in)
{
	struct call *c = queue_call(req, &queue_message_redrive_script, in->name);

	call_int(c, in->interval_ms);
	for (size_t i = 0; i < in->ids.count; i++)
		call_text(c, in->ids.items[i]);
	call_send(c, on_redriven);
}

static void redrive_group(struct request *req, const struct queue_redrive_input *in)
{
	struct call *c = queue_call(req, &queue_group_redrive_script, in->name);

	call_text(c, in->group);
	call_int(c, in->limit);
	call_string(c, ""); /* the cursor */
	call_int(c, 0);
	call_send(c, on_redriven);
}

static void redrive_all(struct request *req, const struct queue_redrive_input *in)
{
	bool are_delayed = in->state == QUEUE_REDRIVE_STATE_DELAYED;
	struct call *c = queue_call(req, are_delayed ? &queue_redrive_delayed_script : &queue_redrive_script, in->name);

	call_int(c, in->limit);
	if (!are_delayed)
		call_int(c, in->interval_ms);
	call_int(c, 0);
	call_send(c, on_redriven);
}

static void on_moved(struct request *req, struct queue_move *m)
{
	if (m->failed)
		call_problem_answer(m->failed);
	else
		answer_redriven(req, m->moved, m->duplicates);
}

static void move(struct request *req, const struct queue_redrive_input *in)
{
	const struct text names[] = { in->name, in->to };
	const struct slots *slots = slots_of(req, names, 2);
	struct queue_move *m = arena_alloc(&req->arena, sizeof(*m));

	if (!slots || !slots_bear_key(req, slots))
		return;
	if (!m) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*m = (struct queue_move){
		.from = in->name,
		.to = in->to,
		.ids = in->ids.items,
		.id_count = in->ids.count,
		.interval_ms = in->interval_ms,
		.limit = in->ids.count ? (int64_t)in->ids.count : in->limit,
		.done = on_moved,
	};
	queue_move_begin(req, m);
}

void queue_redrive(struct request *req, const struct queue_redrive_input *in)
{
	bool is_ready = in->state == QUEUE_REDRIVE_STATE_READY, is_delayed = in->state == QUEUE_REDRIVE_STATE_DELAYED;

	if (in->to_source && !is_ready)
		answer_field_problem(req, P_INVALID_VALUE, "/to_source", "is for messages with the state ready only");
	else if (is_delayed && (in->to.at || in->interval_ms > 0))
		answer_field_problem(req, P_INVALID_VALUE, in->to.at ? "/to" : "/interval_ms",
				     "cannot be given together with the state delayed");
	else if (is_ready)
		queue_move_ready(req, in);
	else if (in->to.at && !text_equal(in->to, in->name))
		move(req, in);
	else if (in->ids.count)
		redrive_these(req, in);
	else if (in->group.at)
		redrive_group(req, in);
	else
		redrive_all(req, in);
}
