/*
 * groups: lists, pauses and resumes the groups of a queue. Each step is one script
 * (lua/queues/groups/queue_group_*.lua). This file must not know what a group does to its messages:
 * the scripts of messages do.
 */
#include "common/handler.h"
#include "queues/queue_call.h"

/* Writes a group, as lua/queues/groups/lib_queue_group_look.lua returns it, into an open object. */
static void out_group(struct json_out *o, const struct reply *r)
{
	struct text reason = reply_text(r, QUEUE_GROUP_REASON);
	int64_t oldest_at_ms = reply_int(r, QUEUE_GROUP_OLDEST_AT_MS), until_ms = reply_int(r, QUEUE_GROUP_UNTIL_MS);

	out_text(o, "group", reply_text(r, QUEUE_GROUP_GROUP));
	out_int(o, "ready", reply_int(r, QUEUE_GROUP_READY));
	out_int(o, "blocked", reply_int(r, QUEUE_GROUP_BLOCKED));
	out_int(o, "in_flight", reply_int(r, QUEUE_GROUP_IN_FLIGHT));
	out_int_or_null(o, "oldest_at_ms", oldest_at_ms >= 0, oldest_at_ms);
	out_text_or_null(o, "reason", reason);
	out_int_or_null(o, "until_ms", until_ms >= 0, until_ms);
}

/* ---- GET /queues/{name}/groups ---- */

/* A cursor is `g` and, in hexadecimal digits, the name of the last group of the page before. */
static struct text cursor_of(struct request *req, struct text group)
{
	char *cursor = group.len ? arena_alloc(&req->arena, 2 * group.len + 2) : NULL;

	if (!cursor)
		return (struct text){ 0 };
	cursor[0] = 'g';
	hex_write((const unsigned char *)group.at, group.len, cursor + 1);
	return (struct text){ cursor, 2 * group.len + 1 };
}

/* Returns false if the request has been answered. */
static bool parse_cursor(struct request *req, struct text cursor, struct text *group)
{
	char *name = arena_alloc(&req->arena, cursor.len / 2 + 1);
	bool is_good = cursor.len >= 3 && cursor.len % 2 == 1 && cursor.at[0] == 'g';

	if (!name) {
		answer_no_memory(req, EFFECT_NONE);
		return false;
	}
	*group = (struct text){ name, 0 };
	for (size_t i = 1; is_good && i < cursor.len; i += 2) {
		int high = hex_value(cursor.at[i]), low = hex_value(cursor.at[i + 1]);
		is_good = high >= 0 && low >= 0;
		name[group->len++] = (char)(high << 4 | low);
	}
	if (!is_good)
		handler_answer_cursor(req);
	return is_good;
}

static void on_groups(struct request *req, const struct reply *r)
{
	struct json_out *o = answer_begin(req, 200);

	out_array(o, "items");
	for (size_t i = QUEUE_GROUP_LIST_GROUPS; i < r->count; i++) {
		out_object(o, NULL);
		out_group(o, reply_item(r, i));
		out_close(o);
	}
	out_close(o);
	out_text(o, "next_cursor", cursor_of(req, reply_text(r, QUEUE_GROUP_LIST_LAST_GROUP)));
	answer_end(req);
}

void queue_group_list(struct request *req, const struct queue_group_list_input *in)
{
	struct text after = TEXT("");

	if (in->cursor.at && !parse_cursor(req, in->cursor, &after))
		return;
	struct call *c = queue_call(req, &queue_group_list_script, in->name);
	call_text(c, after);
	call_int(c, in->limit);
	call_int(c, 0);
	call_send(c, on_groups);
}

/* ---- Pause, resume ---- */

static void answer_group(struct request *req, struct text queue, const struct reply *r)
{
	if (reply_outcome(r) == QUEUE_GROUP_PAUSE_ABSENT) { /* a resume has the same outcomes */
		handler_answer_missing(req, "queue", queue);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", queue);
	out_group(o, reply_item(r, QUEUE_GROUP_PAUSE_GROUP));
	answer_end(req);
}

static void on_paused(struct request *req, const struct reply *r)
{
	const struct queue_group_pause_input *in = req->input;

	answer_group(req, in->name, r);
}

void queue_group_pause(struct request *req, const struct queue_group_pause_input *in)
{
	struct call *c = queue_call(req, &queue_group_pause_script, in->name);

	call_text(c, in->group);
	call_int(c, in->for_ms);
	call_int(c, 0);
	call_send(c, on_paused);
}

static void on_resumed(struct request *req, const struct reply *r)
{
	const struct queue_group_resume_input *in = req->input;

	answer_group(req, in->name, r);
}

void queue_group_resume(struct request *req, const struct queue_group_resume_input *in)
{
	struct call *c = queue_call(req, &queue_group_resume_script, in->name);

	call_text(c, in->group);
	call_send(c, on_resumed);
}
