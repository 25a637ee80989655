/*
 * queue_bulk: many messages at once: purge and redrive. Each is a script that is called until it
 * has finished (lua/queues/queue_purge.lua, queue_redrive.lua, queue_redrive_delayed.lua,
 * queue_redrive_to.lua). A redrive by ids into the same queue is one call
 * (queue_message_redrive.lua). Only the scripts know how many messages one step takes.
 */
#include <inttypes.h>

#include "common/handler.h"
#include "queues/groups.h"
#include "queues/queue_call.h"

/* The state of a purge or redrive, in the request's arena. */
struct queue_steps {
	const struct script *script;
	struct text queue, argument;
	int64_t interval_ms;
};

static void next_step(struct request *req, int64_t total);

static void answer_redriven(struct request *req, int64_t total, int64_t duplicates)
{
	const struct queue_redrive_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "redriven", total);
	out_int(o, "duplicates", duplicates);
	answer_end(req);
}

static void answer_total(struct request *req, const struct queue_steps *steps, int64_t total)
{
	if (steps->script != &queue_purge_script) {
		answer_redriven(req, total, 0);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", steps->queue);
	out_int(o, "purged", total);
	answer_end(req);
}

/* A redrive has the same outcomes. Returns true if another step follows. */
static bool is_unfinished(struct request *req, const struct reply *r)
{
	int64_t outcome = reply_outcome(r);
	bool goes_on = outcome == QUEUE_PURGE_MORE || outcome == QUEUE_PURGE_SETTLED;

	req->has_effect = goes_on && reply_int(r, QUEUE_STEP_TOTAL) > 0; /* in case the next step fails */
	return goes_on;
}

static void on_step(struct request *req, const struct reply *r)
{
	int64_t total = reply_int(r, QUEUE_STEP_TOTAL);

	if (is_unfinished(req, r))
		next_step(req, total);
	else
		answer_total(req, req->work, total);
}

static void next_step(struct request *req, int64_t total)
{
	const struct queue_steps *steps = req->work;
	struct call *c = queue_call(req, steps->script, steps->queue);

	call_text(c, steps->argument);
	call_int(c, total);
	if (steps->script == &queue_redrive_script)
		call_int(c, steps->interval_ms);
	call_int(c, total); /* the part's name in the idempotency record */
	call_send(c, on_step);
}

static void begin(struct request *req, const struct queue_steps *given)
{
	struct queue_steps *steps = req->work = arena_alloc(&req->arena, sizeof(*steps));

	if (!steps) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*steps = *given;
	next_step(req, 0);
}

/* ---- Redrive ---- */

static void on_redriven(struct request *req, const struct reply *r)
{
	answer_redriven(req, reply_int(r, QUEUE_MESSAGE_REDRIVE_TOTAL), 0);
}

static void redrive_these(struct request *req, const struct queue_redrive_input *in)
{
	struct call *c = queue_call(req, &queue_message_redrive_script, in->name);

	call_int(c, in->interval_ms);
	for (size_t i = 0; i < in->ids.count; i++)
		call_text(c, in->ids.items[i]);
	call_send(c, on_redriven);
}

static void on_moved(struct request *req, const struct reply *r);

/* Sends one step of a redrive into another queue, which continues where the step before ended. */
static void move(struct request *req, int64_t total, int64_t duplicates, int64_t at)
{
	const struct queue_redrive_input *in = req->input;
	struct call *c = queue_call(req, &queue_redrive_to_script, in->name);

	queue_call_keys(c, in->to);
	call_int(c, in->interval_ms);
	call_int(c, total);
	call_int(c, duplicates);
	call_int(c, at);
	call_int(c, in->ids.count ? 0 : in->limit);
	for (size_t i = 0; i < in->ids.count; i++)
		call_text(c, in->ids.items[i]);
	/* the part's name in the idempotency record */
	call_text(c, arena_printf(&req->arena, "%" PRId64 ".%" PRId64, total, at));
	call_send(c, on_moved);
}

static void on_moved(struct request *req, const struct reply *r)
{
	int64_t total = reply_int(r, QUEUE_REDRIVE_TO_TOTAL), duplicates = reply_int(r, QUEUE_REDRIVE_TO_DUPLICATES);

	if (is_unfinished(req, r))
		move(req, total, duplicates, reply_int(r, QUEUE_REDRIVE_TO_AT));
	else
		answer_redriven(req, total, duplicates);
}

void queue_redrive(struct request *req, const struct queue_redrive_input *in)
{
	if (in->to.at && !text_equal(in->to, in->name)) {
		if (slots_are_one(in->to, in->name))
			move(req, 0, 0, 0);
		else
			answer_field_problem(
				req, P_INVALID_VALUE, "/to",
				"is in another slot of the Cluster than queue '%s', and messages are moved "
				"within a slot only",
				in->name.at);
		return;
	}
	if (in->ids.count) {
		redrive_these(req, in);
		return;
	}
	if (in->group.at) {
		queue_group_redrive(req, in->name, in->group, in->limit);
		return;
	}
	struct text limit = arena_printf(&req->arena, "%" PRId64, in->limit);
	const struct script *script =
		in->state == QUEUE_REDRIVE_STATE_DELAYED ? &queue_redrive_delayed_script : &queue_redrive_script;

	begin(req, &(struct queue_steps){ script, in->name, limit, in->interval_ms });
}

void queue_purge(struct request *req, const struct queue_purge_input *in)
{
	struct text state = text_of(in->state ? queue_states[in->state - 1] : "");

	if (in->group.at)
		queue_group_purge(req, in->name, in->group, state);
	else
		begin(req, &(struct queue_steps){ &queue_purge_script, in->name, state, 0 });
}
