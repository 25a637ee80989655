/*
 * queue_bulk: many messages at once: purge, and redrive. Each is one script that is called until it
 * has finished (lua/queues/queue_purge.lua, queue_redrive.lua); a redrive by ids is one step
 * (queue_message_redrive.lua).
 */
#include <inttypes.h>

#include "common/handler.h"
#include "queues/groups.h"
#include "queues/queue_call.h"

/* In the request's arena. */
struct queue_steps {
	const struct script *script;
	struct text queue, argument;
	const char *member; /* of the answer, for the total */
};

static void next_step(struct request *req, int64_t total);

static void answer_total(struct request *req, struct text queue, const char *member, int64_t total)
{
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", queue);
	out_int(o, member, total);
	answer_end(req);
}

static void on_step(struct request *req, const struct reply *r)
{
	const struct queue_steps *steps = req->work;
	int64_t outcome = reply_outcome(r), total = reply_int(r, QUEUE_STEP_TOTAL);
	/* The outcomes of a redrive are the same. */
	bool is_unfinished = outcome == QUEUE_PURGE_MORE || outcome == QUEUE_PURGE_SETTLED;

	req->has_effect = is_unfinished && total > 0; /* should the next step fail */
	if (is_unfinished) {
		next_step(req, total);
		return;
	}
	answer_total(req, steps->queue, steps->member, total);
}

static void next_step(struct request *req, int64_t total)
{
	const struct queue_steps *steps = req->work;
	struct call *c = queue_call(req, steps->script, steps->queue);

	call_text(c, steps->argument);
	call_int(c, total);
	call_int(c, total); /* the part's name */
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

static void on_redriven(struct request *req, const struct reply *r)
{
	const struct queue_redrive_input *in = req->input;

	answer_total(req, in->name, "redriven", reply_int(r, QUEUE_MESSAGE_REDRIVE_TOTAL));
}

static void redrive_these(struct request *req, const struct queue_redrive_input *in)
{
	struct call *c = queue_call(req, &queue_message_redrive_script, in->name);
	for (size_t i = 0; i < in->ids.count; i++)
		call_text(c, in->ids.items[i]);
	call_send(c, on_redriven);
}

void queue_redrive(struct request *req, const struct queue_redrive_input *in)
{
	if (in->ids.count) {
		redrive_these(req, in);
		return;
	}
	if (in->group.at) {
		queue_group_redrive(req, in->name, in->group, in->limit);
		return;
	}
	struct text limit = arena_printf(&req->arena, "%" PRId64, in->limit);

	begin(req, &(struct queue_steps){ &queue_redrive_script, in->name, limit, "redriven" });
}

void queue_purge(struct request *req, const struct queue_purge_input *in)
{
	struct text state = text_of(in->state ? queue_states[in->state - 1] : "");

	if (in->group.at)
		queue_group_purge(req, in->name, in->group, state);
	else
		begin(req, &(struct queue_steps){ &queue_purge_script, in->name, state, "purged" });
}
