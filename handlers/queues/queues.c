/*
 * queues: whole queues: counts, list, pause, purge. Each operation is one script
 * (lua/queues/queue_*.lua), which a purge calls until it has finished. This file must not know what
 * a setting does to messages: the scripts do.
 */
#include "common/handler.h"
#include "common/key_kinds.h"
#include "common/kind.h"
#include "queues/queue_call.h"
#include "queues/queue_findings.h"
#include "queues/settings_out.h"

/* ---- A queue's counts and settings ---- */

/* Writes the members that the answers for one queue and for the list have in common. */
static void write_counts(struct json_out *o, struct text name, const struct reply *r)
{
	out_text(o, "name", name);
	out_int(o, "ready", reply_int(r, QUEUE_GET_READY));
	out_int(o, "blocked", reply_int(r, QUEUE_GET_BLOCKED));
	out_int(o, "delayed", reply_int(r, QUEUE_GET_DELAYED));
	out_int(o, "retrying", reply_int(r, QUEUE_GET_RETRYING));
	out_int(o, "in_flight", reply_int(r, QUEUE_GET_IN_FLIGHT));
	out_int(o, "dead", reply_int(r, QUEUE_GET_DEAD));
	out_int(o, "sent", reply_int(r, QUEUE_GET_SENT));
}

/* `until_ms`: 0 if the queue is not paused, 1 if it is paused without an end. */
static void write_pause_end(struct json_out *o, int64_t until_ms)
{
	out_int_or_null(o, "paused_until_ms", until_ms > 1, until_ms);
}

static void write_times(struct json_out *o, const struct request *req, const struct reply *r)
{
	int64_t oldest_ready_at_ms = reply_int(r, QUEUE_GET_OLDEST_READY_AT_MS);
	int64_t blocked_at_ms = reply_int(r, QUEUE_GET_OLDEST_BLOCKED_AT_MS);
	int64_t schedule_at_ms = reply_int(r, QUEUE_GET_SCHEDULE_AT_MS);

	out_int_or_null(o, "oldest_ready_ms", oldest_ready_at_ms >= 0, req->now_ms - oldest_ready_at_ms);
	out_int_or_null(o, "oldest_blocked_ms", blocked_at_ms >= 0, req->now_ms - blocked_at_ms);
	out_int_or_null(o, "next_schedule_at_ms", schedule_at_ms >= 0, schedule_at_ms);
	write_pause_end(o, reply_int(r, QUEUE_GET_SETTINGS + QUEUE_SETTINGS_PAUSED));
}

static void on_state(struct request *req, const struct reply *r)
{
	const struct queue_get_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	write_counts(o, in->name, r);
	out_bool(o, "exists", reply_int(r, QUEUE_GET_EXISTS) > 0);
	out_int(o, "expired", reply_int(r, QUEUE_GET_EXPIRED));
	out_int(o, "died", reply_int(r, QUEUE_GET_DIED));
	out_int(o, "rejected", reply_int(r, QUEUE_GET_REJECTED));
	out_int(o, "timed_out", reply_int(r, QUEUE_GET_TIMED_OUT));
	queue_findings_out(o, req, in->name, r);
	write_times(o, req, r);
	int64_t created_at_ms = reply_int(r, QUEUE_GET_CREATED_AT_MS),
		changed_at_ms = reply_int(r, QUEUE_GET_CHANGED_AT_MS);
	out_int_or_null(o, "created_at_ms", created_at_ms > 0, created_at_ms);
	out_int_or_null(o, "changed_at_ms", changed_at_ms > 0, changed_at_ms);
	queue_settings_out(o, r, QUEUE_GET_SETTINGS, QUEUE_GET_ANNOTATIONS);
	if (reply_int(r, QUEUE_GET_DEAD) > 0)
		queue_settings_move_letters(in->name, r, QUEUE_GET_SETTINGS);
	answer_end(req);
}

void queue_get(struct request *req, const struct queue_get_input *in)
{
	struct call *c = queue_call(req, &queue_get_script, in->name);

	call_int(c, 2); /* with annotations */
	call_send(c, on_state);
}

/* ---- Pause, resume ---- */

static void answer_pause(struct request *req, struct text name, const struct reply *r)
{
	if (reply_outcome(r) == QUEUE_PAUSE_ABSENT) {
		handler_answer_missing(req, "queue", name);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", name);
	out_bool(o, "paused", reply_int(r, QUEUE_PAUSE_UNTIL_MS) > 0);
	write_pause_end(o, reply_int(r, QUEUE_PAUSE_UNTIL_MS));
	answer_end(req);
}

static void on_paused(struct request *req, const struct reply *r)
{
	const struct queue_pause_input *in = req->input;

	answer_pause(req, in->name, r);
}

void queue_pause(struct request *req, const struct queue_pause_input *in)
{
	struct call *c = queue_call(req, &queue_pause_script, in->name);

	call_int(c, in->has_for_ms ? in->for_ms : -1);
	call_send(c, on_paused);
}

static void on_resumed(struct request *req, const struct reply *r)
{
	const struct queue_resume_input *in = req->input;

	answer_pause(req, in->name, r);
}

void queue_resume(struct request *req, const struct queue_resume_input *in)
{
	struct call *c = queue_call(req, &queue_pause_script, in->name);

	call_int(c, 0);
	call_send(c, on_resumed);
}

const struct kind queue_kind = {
	.list.kind = KEY_QUEUE,
	.missing = { "queue ", " does not exist" },
	.delete = &queue_delete_script,
	.call = queue_call,
};

/* ---- Purge ---- */

static void on_purged(struct request *req, const struct reply *r)
{
	const struct queue_purge_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "purged", reply_int(r, QUEUE_STEP_TOTAL));
	answer_end(req);
}

void queue_purge(struct request *req, const struct queue_purge_input *in)
{
	bool is_group = in->group.at;
	struct call *c = queue_call(req, is_group ? &queue_group_purge_script : &queue_purge_script, in->name);

	if (is_group)
		call_text(c, in->group);
	call_string(c, in->state ? queue_states[in->state - 1] : "");
	if (is_group)
		call_string(c, ""); /* the cursor */
	call_int(c, 0);             /* purged by the steps before; names the step in the idempotency record */
	call_send(c, on_purged);
}

/* ---- GET /queues ---- */

static struct call *get_one(struct request *req, struct text name, struct text part)
{
	(void)part;
	return queue_look(req, name);
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	const struct queue_list_input *in = req->input;
	struct text to = reply_text(r, QUEUE_GET_SETTINGS + QUEUE_SETTINGS_DEAD_LETTER_QUEUE);

	(void)part;
	if (reply_int(r, QUEUE_GET_DEAD) > 0)
		queue_settings_move_letters(name, r, QUEUE_GET_SETTINGS);
	if (in->dead_letter_queue.at && !text_equal(in->dead_letter_queue, to))
		return;
	out_object(o, NULL);
	write_counts(o, name, r);
	queue_findings_out(o, req, name, r);
	write_times(o, req, r);
	out_bool(o, "paused", reply_int(r, QUEUE_GET_SETTINGS + QUEUE_SETTINGS_PAUSED) > 0);
	out_close(o);
}

void queue_list(struct request *req, const struct queue_list_input *in)
{
	static const struct list_of queues = {
		.kind = KEY_QUEUE, .is_indexed = true, .look = get_one, .item = item_of
	};

	list_keys(req, &queues, in->match, in->cursor, in->limit);
}
