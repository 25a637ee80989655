#include "sqs/sqs_moves.h"

#include <string.h>

#include "contract/gateway.h"
#include "sqs/sqs_call.h"
#include "sqs/sqs_name.h"
#include "sqs/sqs_queue_attributes.h"
#include "sqs/sqs_text.h"
#include "json/base64.h"
#include "json/read.h"

enum {
	STEP_MOST = 1000, /* messages of one redrive; a task with a rate is one redrive */
	MOVED_MOST = 100000,
	TASKS_MOST = 10,
	LIST_MOST = 1000,
	PAGES_MOST = 10,
	RATE_MOST = 500,
	CURSOR_MOST = 512
};

#define TASKS SQS_ANNOTATION "tasks"

/* ---- The tasks of a queue, in an annotation: the newest first ---- */

/* Returns the list, from the answer of queue_get. NULL: there is none. */
static const struct json *tasks_of(struct sqs_call *s, const struct json *queue)
{
	const struct json *annotations = json_tree_member(json_tree_member(queue, "settings"), "annotations");
	struct text text = json_tree_string(annotations, TASKS);
	const struct json *tasks = text.at ? json_read_own(&s->req->arena, text, NULL, NULL) : NULL;

	return tasks && tasks->kind == JSON_IS_ARRAY ? tasks : NULL;
}

static void out_task(struct json_out *o, const struct json *task)
{
	out_object(o, NULL);
	out_text(o, "id", json_tree_string(task, "id"));
	out_int(o, "started", json_tree_int(task, "started", 0));
	out_int(o, "moved", json_tree_int(task, "moved", 0));
	out_int(o, "rate", json_tree_int(task, "rate", 0));
	out_text(o, "to", json_tree_string(task, "to"));
	out_close(o);
}

/*
 * Returns the answer of queue_get. NULL: it failed, or the queue does not exist; the error was
 * answered.
 */
static const struct json *existing(struct sqs_call *s, const char *parameter)
{
	const struct json *queue = sqs_answer(s);

	if (!queue || json_tree_is_true(queue, "exists"))
		return queue;
	sqs_fail(s, SQS_RESOURCE_NOT_FOUND, "The resource that you specified for the %s parameter doesn't exist.",
		 parameter);
	return NULL;
}

/* ---- The sources of a dead-letter queue ---- */

/* The scope on the dead-letter queue, which was checked before, admits the list as well. */
static void list_sources(struct sqs_call *s, int64_t most, struct text cursor, void (*answered)(struct request *req))
{
	char limit[TEXT_DIGITS];
	const struct text_pair query[] = {
		{ TEXT("limit"), text_of_int(most, limit) },
		{ TEXT("dead_letter_queue"), s->queue },
		{ TEXT("cursor"), cursor },
	};

	s->gateway.scope = GATEWAY_ADMITTED;
	gateway_run(s->req, self_call_operation("queue_list"),
		    &(struct self_call_input){ .query = query, .query_count = cursor.len ? 3 : 2 }, answered);
}

struct sources {
	struct json_out urls;
	size_t count, pages;
};

/*
 * A page of queues may have few sources, or none. Without MaxResults, up to PAGES_MOST pages are
 * read.
 */
static void on_sources(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	struct sources *found = s->work;
	const struct json *page = sqs_answer(s), *items = json_tree_member(page, "items");
	struct text next = json_tree_string(page, "next_cursor");
	bool is_paged = sqs_has_int(s, "MaxResults");

	if (!page)
		return;
	for (const struct json *q = items ? items->first : NULL; q; q = q->next, found->count++)
		out_text(&found->urls, NULL, sqs_url_of(req, json_tree_string(q, "name")));
	if (next.at && !is_paged && found->count < LIST_MOST && ++found->pages < PAGES_MOST) {
		list_sources(s, LIST_MOST, next, on_sources);
		return;
	}
	out_close(&found->urls);
	struct json_out *o = sqs_answer_begin(s);
	out_raw(o, "queueUrls", out_all(&found->urls));
	if (next.at)
		out_text(o, "NextToken", next);
	sqs_answer_end(s);
}

static void on_dead_letter_queue(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	struct sources *found = arena_alloc(&req->arena, sizeof(*found));
	int64_t most;

	if (!sqs_answer_existing(s))
		return;
	if (!found) {
		sqs_fail_no_memory(s);
		return;
	}
	*found = (struct sources){ .count = 0 };
	out_init(&found->urls, &req->arena, 256);
	out_array(&found->urls, NULL);
	s->work = found;
	if (sqs_int(s, "MaxResults", 1, LIST_MOST, LIST_MOST, &most, "Must be between 1 and 1000, if provided."))
		list_sources(s, most, json_tree_string(s->in, "NextToken"), on_sources);
}

void sqs_list_dead_letter_source_queues(struct sqs_call *s)
{
	sqs_run(s, "queue_get", s->queue, NULL, on_dead_letter_queue);
}

/* ---- A task ---- */

struct task {
	struct text id, to, to_arn; /* `to` is absent: messages move back to the queues in which they died */
	const struct json *earlier;
	int64_t started_ms, rate, moved;
	struct arena_mark mark; /* each step frees what was allocated after it */
};

static void on_kept(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	struct task *t = s->work;
	struct json_out handle;

	if (!sqs_answer(s))
		return;
	sqs_body_begin(s, &handle);
	out_text(&handle, "taskId", t->id);
	out_text(&handle, "sourceArn", sqs_arn_of(req, s->queue));
	out_close(&handle);
	struct text bytes = out_all(&handle);
	out_base64(sqs_answer_begin(s), "TaskHandle", bytes.at ? bytes : TEXT(""));
	sqs_answer_end(s);
}

static void keep(struct sqs_call *s)
{
	struct task *t = s->work;
	struct json_out body, tasks;
	size_t count = 1;

	out_init(&tasks, &s->req->arena, 256);
	out_array(&tasks, NULL);
	out_object(&tasks, NULL);
	out_text(&tasks, "id", t->id);
	out_int(&tasks, "started", t->started_ms);
	out_int(&tasks, "moved", t->moved);
	out_int(&tasks, "rate", t->rate);
	out_text(&tasks, "to", t->to_arn);
	out_close(&tasks);
	for (const struct json *e = t->earlier ? t->earlier->first : NULL; e && count < TASKS_MOST;
	     e = e->next, count++)
		out_task(&tasks, e);
	out_close(&tasks);
	sqs_body_begin(s, &body);
	out_object(&body, "annotations");
	out_text(&body, TASKS, out_all(&tasks));
	out_close(&body);
	sqs_run(s, "queue_patch", s->queue, &body, on_kept);
}

static void move(struct sqs_call *s);

static void on_moved(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	struct task *t = s->work;
	const struct json *answer = sqs_answer(s);

	if (!answer)
		return;
	int64_t moved = json_tree_int(answer, "redriven", 0);
	t->moved += moved;
	if (moved > 0 && !t->rate && t->moved < MOVED_MOST) {
		arena_rewind(&req->arena, t->mark);
		move(s);
	} else {
		keep(s);
	}
}

static void move(struct sqs_call *s)
{
	struct task *t = s->work;
	struct json_out body;

	sqs_body_begin(s, &body);
	out_string(&body, "state", "ready");
	out_int(&body, "limit", STEP_MOST);
	if (t->rate)
		out_int(&body, "interval_ms", 1000 / t->rate);
	if (t->to.at)
		out_text(&body, "to", t->to);
	else
		out_bool(&body, "to_source", true);
	sqs_run(s, "queue_redrive", s->queue, &body, on_moved);
}

static void begin_moves(struct sqs_call *s)
{
	struct task *t = s->work;

	t->mark = arena_mark(&s->req->arena);
	move(s);
}

static void on_destination(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);

	struct task *t = s->work;

	if (!existing(s, "DestinationArn"))
		return;
	if (sqs_name_is_fifo(t->to) != sqs_name_is_fifo(s->queue))
		sqs_fail(s, SQS_INVALID_PARAMETER,
			 "The destination queue must be of the same type as the source queue.");
	else
		begin_moves(s);
}

static void on_found_sources(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	struct task *t = s->work;
	const struct json *page = sqs_answer(s), *items = json_tree_member(page, "items");
	struct text next = json_tree_string(page, "next_cursor");

	if (!page)
		return;
	if ((!items || !items->count) && next.at) { /* this page of queues has no source */
		char cursor[CURSOR_MOST];
		size_t len = next.len < sizeof(cursor) ? next.len : sizeof(cursor) - 1;
		memcpy(cursor, next.at, len);
		cursor[len] = '\0';
		arena_rewind(&req->arena, t->mark);
		list_sources(s, LIST_MOST, (struct text){ cursor, len }, on_found_sources);
		return;
	}
	if (!items || !items->count)
		sqs_fail(s, SQS_INVALID_PARAMETER, "Source queue must be configured as a Dead Letter Queue.");
	else if (t->to.at)
		sqs_look_to_manage(s, t->to, on_destination);
	else
		begin_moves(s);
}

static void on_source(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	struct task *t = s->work;
	const struct json *queue = existing(s, "SourceArn");

	if (!queue)
		return;
	t->earlier = tasks_of(s, queue);
	t->started_ms = req->now_ms;
	t->id = sqs_message_id(req, arena_printf(&req->arena, "%s %s", s->queue.at, req->asked.request_id.at));
	t->mark = arena_mark(&req->arena);
	list_sources(s, LIST_MOST, (struct text){ 0 }, on_found_sources);
}

/* Sets s->queue to the queue that an ARN names. False: an error was answered. */
static bool take_source(struct sqs_call *s, struct text arn)
{
	s->queue = sqs_name_of_arn(s->req, arn);
	s->gateway.resource = s->queue;
	if (s->queue.len)
		return true;
	sqs_fail(s, SQS_RESOURCE_NOT_FOUND,
		 "The resource that you specified for the SourceArn parameter doesn't exist.");
	return false;
}

void sqs_start_message_move_task(struct sqs_call *s)
{
	struct task *t = arena_alloc(&s->req->arena, sizeof(*t));
	struct text to = json_tree_string(s->in, "DestinationArn");
	int64_t rate;

	if (!t) {
		sqs_fail_no_memory(s);
		return;
	}
	if (!sqs_int(s, "MaxNumberOfMessagesPerSecond", 1, RATE_MOST, 0, &rate,
		     "Must be between 1 and 500, if provided.") ||
	    !take_source(s, json_tree_string(s->in, "SourceArn")))
		return;
	*t = (struct task){ .to = to.at ? sqs_name_of_arn(s->req, to) : to, .to_arn = to, .rate = rate };
	s->work = t;
	if (to.at && !t->to.len)
		sqs_fail(s, SQS_RESOURCE_NOT_FOUND,
			 "The resource that you specified for the DestinationArn parameter doesn't exist.");
	else
		sqs_look_to_manage(s, s->queue, on_source);
}

/* ---- What tasks did ---- */

static void on_tasks(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	const struct json *queue = existing(s, "SourceArn"), *tasks = queue ? tasks_of(s, queue) : NULL;
	int64_t most;

	if (!queue || !sqs_int(s, "MaxResults", 1, TASKS_MOST, 1, &most, "Must be between 1 and 10, if provided."))
		return;
	struct json_out *o = sqs_answer_begin(s);
	out_array(o, "Results");
	for (const struct json *t = tasks ? tasks->first : NULL; t && most > 0; t = t->next, most--) {
		struct text to = json_tree_string(t, "to");
		int64_t rate = json_tree_int(t, "rate", 0);
		out_object(o, NULL);
		out_string(o, "Status", "COMPLETED");
		out_text(o, "SourceArn", sqs_arn_of(req, s->queue));
		if (to.at)
			out_text(o, "DestinationArn", to);
		if (rate)
			out_int(o, "MaxNumberOfMessagesPerSecond", rate);
		out_int(o, "ApproximateNumberOfMessagesMoved", json_tree_int(t, "moved", 0));
		out_int(o, "ApproximateNumberOfMessagesToMove", json_tree_int(t, "moved", 0));
		out_int(o, "StartedTimestamp", json_tree_int(t, "started", 0));
		out_close(o);
	}
	out_close(o);
	sqs_answer_end(s);
}

void sqs_list_message_move_tasks(struct sqs_call *s)
{
	if (take_source(s, json_tree_string(s->in, "SourceArn")))
		sqs_run(s, "queue_get", s->queue, NULL, on_tasks);
}

static void on_cancelled_queue(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	const struct text *id = s->work;
	const struct json *queue = existing(s, "SourceArn"), *tasks = queue ? tasks_of(s, queue) : NULL;

	if (!queue)
		return;
	for (const struct json *t = tasks ? tasks->first : NULL; t; t = t->next) {
		if (!text_equal(json_tree_string(t, "id"), *id))
			continue;
		sqs_fail(s, SQS_INVALID_PARAMETER, "Only active tasks can be cancelled; this one has ended.");
		return;
	}
	sqs_fail(s, SQS_RESOURCE_NOT_FOUND, "Task does not exist.");
}

/* Returns the content of TaskHandle. NULL: it is invalid. */
static const struct json *read_handle(struct sqs_call *s)
{
	struct text handle = json_tree_string(s->in, "TaskHandle");
	char why[BASE64_WHY], *out = arena_alloc(&s->req->arena, base64_room(handle.len) + 1);
	size_t len;

	if (!out || !base64_decode(handle, out, &len, why))
		return NULL;
	out[len] = '\0';
	return json_read_own(&s->req->arena, (struct text){ out, len }, NULL, NULL);
}

void sqs_cancel_message_move_task(struct sqs_call *s)
{
	const struct json *handle = read_handle(s);
	struct text *id = arena_alloc(&s->req->arena, sizeof(*id));

	if (!id) {
		sqs_fail_no_memory(s);
		return;
	}
	*id = json_tree_string(handle, "taskId");
	s->work = id;
	if (!id->at || !json_tree_string(handle, "sourceArn").at)
		sqs_fail(s, SQS_INVALID_PARAMETER, "Value for parameter TaskHandle is invalid.");
	else if (take_source(s, json_tree_string(handle, "sourceArn")))
		sqs_look_to_manage(s, s->queue, on_cancelled_queue);
}
