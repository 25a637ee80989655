/*
 * schedules: recurring messages: sets, changes, runs, reads, deletes and lists schedules. Each
 * operation is one script (lua/queues/schedules/queue_schedule_*.lua). This file reads the cron
 * fields and the time zone. It must not compute instants: the scripts do.
 *
 * A schedule is stored with its next instant. Nothing runs in the background: the first receive or
 * look after that instant makes the message (lua/queues/schedules/lib_queue_fire.lua). Waiters wake
 * for it as for a delayed message.
 */
#include "common/handler.h"
#include "common/key_kinds.h"
#include "process/zone_data.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"
#include "queues/schedules/cron.h"
#include "queues/schedules/schedule_out.h"
#include "queues/schedules/zone_shifts.h"

static void answer_no_schedule(struct request *req, struct text queue, struct text id)
{
	answer_problem(req, P_NOT_FOUND, "queue '%s' has no schedule '%s'", queue.at, id.at);
}

/* ---- PUT and PATCH ---- */

/*
 * Sends a field as queue_schedule_put.lua expects it: `=` and the value, `~` for the default, or ""
 * to keep the stored value.
 */
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

/* The body of PUT, where absent fields are reset, or of PATCH. */
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
	bool has_zone, reset_zone, has_limit, reset_limit, has_jitter, reset_jitter;
	struct text zone;
	int64_t limit, jitter_ms;
	bool has_group, reset_group, has_headers, reset_headers;
	struct text group;
	struct text headers, body;
};

static void on_put(struct request *req, const struct reply *r)
{
	const struct queue_schedule_put_input *in = req->input; /* the input of PATCH begins in the same way */
	int64_t outcome = reply_outcome(r);

	if (outcome > 0)
		schedule_answer(req, reply_int(r, QUEUE_SCHEDULE_PUT_IS_NEW) ? 201 : 200,
				reply_item(r, QUEUE_SCHEDULE_PUT_SCHEDULE));
	else if (outcome == QUEUE_SCHEDULE_PUT_ABSENT)
		answer_no_schedule(req, in->name, in->id);
	else if (outcome == QUEUE_SCHEDULE_PUT_NO_RECURRENCE)
		answer_field_problem(req, P_MISSING_FIELD, "/every_ms", "is required, unless cron is given");
	else if (outcome == QUEUE_SCHEDULE_PUT_NO_INSTANT)
		answer_field_problem(req, P_INVALID_VALUE, "/cron", "matches no instant of the next 40 years");
	else if (outcome == QUEUE_SCHEDULE_PUT_LIMIT_REACHED)
		answer_field_problem(req, P_INVALID_VALUE, "/limit", "was reached: messages made so far: %lld",
				     (long long)reply_int(r, QUEUE_SCHEDULE_PUT_RUNS));
	else
		answer_field_problem(req, P_INVALID_VALUE, "/end_at_ms",
				     "leaves no instant at which a message would be due");
}

/*
 * What the daemon computes for a change: the mask of `cron`, and the clock changes of `time_zone`.
 */
struct schedule_times {
	char mask[CRON_MASK_MOST + 1];
	struct text zone_version, shifts;
};

/* UTC needs no time zone data. False: the request was answered. */
static bool read_zone(struct request *req, struct text name, struct schedule_times *times)
{
	struct text why;

	if (text_is(name, "UTC")) {
		times->shifts = TEXT("0");
		return true;
	}
	struct tzif *zone = zone_data_read(&req->arena, name, &why);
	if (!zone) {
		answer_field_problem(req, P_INVALID_VALUE, "/time_zone", "%s", why.at ? why.at : "cannot be read");
		return false;
	}
	times->shifts = zone_shifts(&req->arena, zone, ZONE_SHIFTS_SINCE_S);
	times->zone_version = zone_data_version(&req->arena);
	return true;
}

/* False: the request was answered. */
static bool read_times(struct request *req, const struct schedule_change *change, struct schedule_times *times)
{
	char why[CRON_WHY_BYTES];

	*times = (struct schedule_times){ .shifts = TEXT("") };
	if (change->has_every && change->has_cron) {
		answer_field_problem(req, P_INVALID_VALUE, "/cron", "cannot be given together with every_ms");
		return false;
	}
	if (change->has_cron && !cron_parse(change->cron, times->mask, why)) {
		answer_field_problem(req, P_INVALID_VALUE, "/cron", "%s", why);
		return false;
	}
	return !change->has_zone || read_zone(req, change->zone, times);
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
	struct schedule_times times;

	if (!read_times(req, change, &times))
		return;
	struct call *c = queue_call(req, &queue_schedule_put_script, change->queue);
	call_text(c, change->id);
	call_text(c, json_of(req, change->id));
	call_int(c, change->is_patch);
	call_field_int(req, c, change->has_every, change->reset_every || change->has_cron, change->every_ms);
	call_field(req, c, change->has_cron, change->reset_cron || change->has_every, change->cron);
	call_field(req, c, change->has_cron, change->reset_cron || change->has_every, text_of(times.mask));
	call_field_int(req, c, change->has_start, change->reset_start, change->start_at_ms);
	call_field_int(req, c, change->has_stop, change->reset_stop, change->stop_at_ms);
	call_field_int(req, c, change->has_priority, change->reset_priority, change->priority);
	call_field(req, c, change->has_overlap, change->reset_overlap, change->skips ? TEXT("skip") : TEXT("allow"));
	call_field(req, c, change->has_headers, change->reset_headers, change->headers);
	call_field(req, c, change->body.at, false, change->body);
	call_field(req, c, change->has_zone, change->reset_zone, change->zone);
	call_field(req, c, change->has_zone, change->reset_zone, times.zone_version);
	call_field(req, c, change->has_zone, change->reset_zone, times.shifts);
	call_field_int(req, c, change->has_limit, change->reset_limit, change->limit);
	call_field_int(req, c, change->has_jitter, change->reset_jitter, change->jitter_ms);
	call_field(req, c, change->has_group, change->reset_group, change->group);
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
				 .has_zone = in->time_zone.at,
				 .reset_zone = true,
				 .zone = in->time_zone,
				 .has_limit = in->has_limit,
				 .reset_limit = true,
				 .limit = in->limit,
				 .has_jitter = true,
				 .jitter_ms = in->jitter_ms,
				 .has_group = in->group.at,
				 .reset_group = true,
				 .group = in->group,
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
				 .has_zone = in->has_time_zone,
				 .reset_zone = in->reset_time_zone,
				 .zone = in->time_zone,
				 .has_limit = in->has_limit,
				 .reset_limit = in->reset_limit,
				 .limit = in->limit,
				 .has_jitter = in->has_jitter_ms,
				 .reset_jitter = in->reset_jitter_ms,
				 .jitter_ms = in->jitter_ms,
				 .has_group = in->has_group,
				 .reset_group = in->reset_group,
				 .group = in->group,
				 .has_headers = in->has_headers && in->headers.count,
				 .reset_headers = in->reset_headers || in->has_headers,
				 .headers = queue_headers(req, in->headers),
				 .body = in->body,
			 });
}

/* ---- Run now ---- */

static void on_run(struct request *req, const struct reply *r)
{
	const struct queue_schedule_run_input *in = req->input;

	if (reply_outcome(r) == QUEUE_SCHEDULE_RUN_ABSENT) {
		answer_no_schedule(req, in->name, in->id);
	} else if (reply_outcome(r) == QUEUE_SCHEDULE_RUN_OVERLAP) {
		answer_problem(
			req, P_SCHEDULE_OVERLAP,
			"the previous message of schedule '%s' is not done; acknowledge or cancel it, or set overlap to "
			"allow",
			in->id.at);
	} else {
		struct json_out *o = answer_begin(req, 200);
		out_text(o, "id", in->id);
		out_text(o, "message_id", reply_text(r, QUEUE_SCHEDULE_RUN_MESSAGE_ID));
		answer_end(req);
	}
}

void queue_schedule_run(struct request *req, const struct queue_schedule_run_input *in)
{
	struct call *c = queue_call(req, &queue_schedule_run_script, in->name);

	call_text(c, in->id);
	call_send(c, on_run);
}

/* ---- GET, DELETE, and the list ---- */

static void on_schedule(struct request *req, const struct reply *r)
{
	const struct queue_schedule_get_input *in = req->input;

	if (reply_outcome(r) == QUEUE_SCHEDULE_GET_ABSENT)
		answer_no_schedule(req, in->name, in->id);
	else
		schedule_answer(req, 200, reply_item(r, QUEUE_SCHEDULE_GET_SCHEDULE));
}

void queue_schedule_get(struct request *req, const struct queue_schedule_get_input *in)
{
	struct call *c = queue_call(req, &queue_schedule_get_script, in->name);

	call_text(c, in->id);
	call_int(c, 0);
	call_send(c, on_schedule);
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

static void on_schedules(struct request *req, const struct reply *r)
{
	struct text next = reply_text(r, QUEUE_SCHEDULE_LIST_NEXT_CURSOR);

	if (reply_outcome(r) == QUEUE_SCHEDULE_LIST_NO_CURSOR) {
		handler_answer_cursor(req);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (size_t i = QUEUE_SCHEDULE_LIST_SCHEDULES; i < r->count; i++) {
		out_object(o, NULL);
		schedule_out(o, reply_item(r, i));
		out_close(o);
	}
	out_close(o);
	out_text_or_null(o, "next_cursor", text_is(next, "0") ? TEXT("") : next);
	answer_end(req);
}

void queue_schedule_list(struct request *req, const struct queue_schedule_list_input *in)
{
	struct call *c = queue_call(req, &queue_schedule_list_script, in->name);

	call_text(c, in->cursor.at ? in->cursor : TEXT("0"));
	call_int(c, in->limit);
	call_int(c, 0);
	call_send(c, on_schedules);
}
