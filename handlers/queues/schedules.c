/*
 * schedules: messages that recur. A schedule is stored with its next instant; nothing runs in the
 * background: the receive, or the look, that finds the instant past makes the message
 * (lua/queues/lib_queue_fire.lua), and waiters wake for it as for a delayed message.
 */
#include "common/handler.h"
#include "common/kinds.h"
#include "queues/cron.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"

static void out_above_0(struct json_out *o, const char *key, const struct reply *s, size_t i)
{
	out_int_or_null(o, key, reply_int(s, i) > 0, reply_int(s, i));
}

static void out_settings(struct json_out *o, const struct reply *s)
{
	out_text(o, "id", reply_text(s, QUEUE_SCHEDULE_ID));
	out_above_0(o, "every_ms", s, QUEUE_SCHEDULE_EVERY_MS);
	out_text_or_null(o, "cron", reply_text(s, QUEUE_SCHEDULE_CRON));
	out_above_0(o, "start_at_ms", s, QUEUE_SCHEDULE_START_AT_MS);
	out_above_0(o, "end_at_ms", s, QUEUE_SCHEDULE_END_AT_MS);
	out_int(o, "priority", reply_int(s, QUEUE_SCHEDULE_PRIORITY));
	out_text(o, "overlap", reply_text(s, QUEUE_SCHEDULE_OVERLAP));
	out_int(o, "next_at_ms", reply_int(s, QUEUE_SCHEDULE_NEXT_AT_MS));
	out_above_0(o, "last_at_ms", s, QUEUE_SCHEDULE_LAST_AT_MS);
	out_int(o, "sent", reply_int(s, QUEUE_SCHEDULE_SENT));
	out_int(o, "missed", reply_int(s, QUEUE_SCHEDULE_MISSED));
	out_int(o, "skipped", reply_int(s, QUEUE_SCHEDULE_SKIPPED));
}

static void answer_schedule(struct request *req, int status, const struct reply *s)
{
	struct json_out *o = answer_begin(req, status);
	struct text body = reply_text(s, QUEUE_SCHEDULE_FULL_CONTENT), headers = text_cut(&body, '\t');

	out_settings(o, s);
	out_raw(o, "body", body);
	if (headers.len)
		out_raw(o, "headers", arena_copy(&req->arena, headers.at, headers.len)); /* JSON is read up to a NUL */
	answer_end(req);
}

static void answer_no_schedule(struct request *req, struct text queue, struct text id)
{
	answer_problem(req, P_NOT_FOUND, "queue '%s' has no schedule '%s'", queue.at, id.at);
}

/* ---- PUT and PATCH ---- */

/* What queue_schedule_put.lua takes of a field: its value, its default, or what it was. */
static void call_field(struct request *req, struct call *c, bool has, bool reset, struct text value)
{
	struct text parts[] = { TEXT("="), value };

	call_text(c, has ? arena_join(&req->arena, parts, 2) : reset ? TEXT("~") : TEXT(""));
}

static void call_field_int(struct request *req, struct call *c, bool has, bool reset, int64_t value)
{
	char buffer[TEXT_DIGITS];

	call_field(req, c, has, reset, text_of_int(value, buffer));
}

/* A body that changes a schedule: of PUT, where what is absent is reset, or of PATCH. */
struct schedule_change {
	struct text queue, id;
	bool is_patch;
	bool has_every, reset_every, has_cron, reset_cron;
	int64_t every_ms;
	struct text cron;
	bool has_start, reset_start, has_stop, reset_stop;
	int64_t start_at_ms, stop_at_ms;
	bool has_priority, reset_priority, has_overlap, reset_overlap, skips;
	int64_t priority;
	bool has_headers, reset_headers;
	struct text headers, body;
};

static void on_put(struct request *req, const struct reply *r)
{
	const struct queue_schedule_put_input *in = req->input; /* begins as the input of PATCH does */
	int64_t outcome = reply_outcome(r);

	if (outcome > 0)
		answer_schedule(req, reply_int(r, QUEUE_SCHEDULE_PUT_IS_NEW) ? 201 : 200,
				reply_item(r, QUEUE_SCHEDULE_PUT_SCHEDULE));
	else if (outcome == QUEUE_SCHEDULE_PUT_ABSENT)
		answer_no_schedule(req, in->name, in->id);
	else if (outcome == QUEUE_SCHEDULE_PUT_NO_RECURRENCE)
		answer_field_problem(req, P_MISSING_FIELD, "/every_ms", "is required, or cron");
	else if (outcome == QUEUE_SCHEDULE_PUT_NO_INSTANT)
		answer_field_problem(req, P_INVALID_VALUE, "/cron", "matches no instant of the next 40 years");
	else
		answer_field_problem(req, P_INVALID_VALUE, "/end_at_ms",
				     "leaves no instant at which a message would be due");
}

/* False when the request was answered with what is wrong. */
static bool check_change(struct request *req, const struct schedule_change *change, char mask[CRON_MASK_LEN + 1])
{
	char why[CRON_WHY_BYTES];

	if (change->has_every && change->has_cron) {
		answer_field_problem(req, P_INVALID_VALUE, "/cron", "cannot be given together with every_ms");
		return false;
	}
	if (change->has_cron && !cron_parse(change->cron, mask, why)) {
		answer_field_problem(req, P_INVALID_VALUE, "/cron", "%s", why);
		return false;
	}
	return true;
}

static struct text json_of(struct request *req, struct text id)
{
	struct json_out o;

	out_init(&o, &req->arena, 64);
	out_text(&o, NULL, id);
	return out_all(&o);
}

static void send_change(struct request *req, const struct schedule_change *change)
{
	char mask[CRON_MASK_LEN + 1] = "";

	if (!check_change(req, change, mask))
		return;
	struct call *c = queue_call(req, &queue_schedule_put_script, change->queue);
	call_text(c, change->id);
	call_text(c, json_of(req, change->id));
	call_int(c, change->is_patch);
	call_field_int(req, c, change->has_every, change->reset_every || change->has_cron, change->every_ms);
	call_field(req, c, change->has_cron, change->reset_cron || change->has_every, change->cron);
	call_field(req, c, change->has_cron, change->reset_cron || change->has_every, text_of(mask));
	call_field_int(req, c, change->has_start, change->reset_start, change->start_at_ms);
	call_field_int(req, c, change->has_stop, change->reset_stop, change->stop_at_ms);
	call_field_int(req, c, change->has_priority, change->reset_priority, change->priority);
	call_field(req, c, change->has_overlap, change->reset_overlap, change->skips ? TEXT("skip") : TEXT("allow"));
	call_field(req, c, change->has_headers, change->reset_headers, change->headers);
	call_field(req, c, change->body.at, false, change->body);
	call_send(c, on_put);
}

void queue_schedule_put(struct request *req, const struct queue_schedule_put_input *in)
{
	send_change(req, &(struct schedule_change){
				 .queue = in->name,
				 .id = in->id,
				 .has_every = in->has_every_ms,
				 .reset_every = true,
				 .every_ms = in->every_ms,
				 .has_cron = in->cron.at,
				 .reset_cron = true,
				 .cron = in->cron,
				 .has_start = in->has_start_at_ms,
				 .reset_start = true,
				 .start_at_ms = in->start_at_ms,
				 .has_stop = in->has_end_at_ms,
				 .reset_stop = true,
				 .stop_at_ms = in->end_at_ms,
				 .has_priority = true,
				 .priority = in->priority,
				 .has_overlap = true,
				 .skips = in->overlap == QUEUE_SCHEDULE_PUT_OVERLAP_SKIP,
				 .has_headers = in->headers.count,
				 .reset_headers = true,
				 .headers = queue_headers(req, in->headers),
				 .body = in->body,
			 });
}

void queue_schedule_patch(struct request *req, const struct queue_schedule_patch_input *in)
{
	send_change(req, &(struct schedule_change){
				 .queue = in->name,
				 .id = in->id,
				 .is_patch = true,
				 .has_every = in->has_every_ms,
				 .reset_every = in->reset_every_ms,
				 .every_ms = in->every_ms,
				 .has_cron = in->has_cron,
				 .reset_cron = in->reset_cron,
				 .cron = in->cron,
				 .has_start = in->has_start_at_ms,
				 .reset_start = in->reset_start_at_ms,
				 .start_at_ms = in->start_at_ms,
				 .has_stop = in->has_end_at_ms,
				 .reset_stop = in->reset_end_at_ms,
				 .stop_at_ms = in->end_at_ms,
				 .has_priority = in->has_priority,
				 .reset_priority = in->reset_priority,
				 .priority = in->priority,
				 .has_overlap = in->has_overlap,
				 .reset_overlap = in->reset_overlap,
				 .skips = in->overlap == QUEUE_SCHEDULE_PATCH_OVERLAP_SKIP,
				 .has_headers = in->has_headers && in->headers.count,
				 .reset_headers = in->reset_headers || in->has_headers,
				 .headers = queue_headers(req, in->headers),
				 .body = in->body,
			 });
}

/* ---- GET, DELETE, and the list ---- */

static void get_again(struct request *req, const struct reply *r);

static void on_schedule(struct request *req, const struct reply *r)
{
	const struct queue_schedule_get_input *in = req->input;

	if (reply_outcome(r) == QUEUE_SCHEDULE_GET_SCHEDULE_DUE)
		queue_run_schedules(req, in->name, get_again);
	else if (reply_outcome(r) == QUEUE_SCHEDULE_GET_ABSENT)
		answer_no_schedule(req, in->name, in->id);
	else
		answer_schedule(req, 200, reply_item(r, QUEUE_SCHEDULE_GET_SCHEDULE));
}

static void get(struct request *req, const struct queue_schedule_get_input *in, bool again)
{
	struct call *c = queue_call(req, &queue_schedule_get_script, in->name);

	call_text(c, in->id);
	call_int(c, again);
	call_send(c, on_schedule);
}

static void get_again(struct request *req, const struct reply *r)
{
	(void)r;
	get(req, req->input, true);
}

void queue_schedule_get(struct request *req, const struct queue_schedule_get_input *in)
{
	get(req, in, false);
}

static void on_deleted(struct request *req, const struct reply *r)
{
	const struct queue_schedule_delete_input *in = req->input;

	if (!handler_removed(req, r))
		answer_no_schedule(req, in->name, in->id);
}

void queue_schedule_delete(struct request *req, const struct queue_schedule_delete_input *in)
{
	struct call *c = queue_call(req, &queue_schedule_delete_script, in->name);

	call_text(c, in->id);
	call_send(c, on_deleted);
}

static void list_again(struct request *req, const struct reply *r);

static void on_schedules(struct request *req, const struct reply *r)
{
	const struct queue_schedule_list_input *in = req->input;
	struct text next = reply_text(r, QUEUE_SCHEDULE_LIST_NEXT_CURSOR);

	if (reply_outcome(r) == QUEUE_SCHEDULE_LIST_SCHEDULE_DUE) {
		queue_run_schedules(req, in->name, list_again);
		return;
	}
	if (reply_outcome(r) == QUEUE_SCHEDULE_LIST_NO_CURSOR) {
		handler_answer_cursor(req);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (size_t i = QUEUE_SCHEDULE_LIST_SCHEDULES; i < r->count; i++) {
		out_object(o, NULL);
		out_settings(o, reply_item(r, i));
		out_close(o);
	}
	out_close(o);
	out_text_or_null(o, "next_cursor", text_is(next, "0") ? TEXT("") : next);
	answer_end(req);
}

static void list(struct request *req, const struct queue_schedule_list_input *in, bool again)
{
	struct call *c = queue_call(req, &queue_schedule_list_script, in->name);

	call_text(c, in->cursor.at ? in->cursor : TEXT("0"));
	call_int(c, in->limit);
	call_int(c, again);
	call_send(c, on_schedules);
}

static void list_again(struct request *req, const struct reply *r)
{
	(void)r;
	list(req, req->input, true);
}

void queue_schedule_list(struct request *req, const struct queue_schedule_list_input *in)
{
	list(req, in, false);
}
