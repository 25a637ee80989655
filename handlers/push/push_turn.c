#include "push/push_turn.h"

#include <stdio.h>
#include <unistd.h>

#include "request/request.h"
#include "json/out.h"
#include "json/read.h"

enum {
	ROWS_MOST = 100, /* items of a list in a body, and messages of a receive */
	WAIT_MS = 60000,
	/*
	 * The body of a request that waits has at most 64 KiB. One result of 64 KiB fits into a
	 * settle.
	 */
	RECEIVE_BYTES = 32 * 1024,
	SETTLE_BYTES = 1 << 20,
	ROW_BYTES = PUSH_REASON_BYTES + 256,
};

/* ---- What is asked ---- */

/* Runs an operation with the body in `o`, and frees the arena of `o`. */
static bool run(struct self_call *i, const char *id, struct text queue, struct json_out *o)
{
	out_close(o);
	struct text body = out_all(o);
	bool ok = body.at &&
		  self_call_run(i, self_call_operation(id), &(struct self_call_input){ .name = queue, .body = body });

	arena_free(o->arena);
	return ok;
}

static size_t bytes_of(const struct push_job *j)
{
	return ROW_BYTES + j->answer.result.len;
}

/* The lists in the body of a settle. */
enum list { ACKNOWLEDGE, COMPLETE, REJECT, LISTS };

static enum list list_of(const struct push_job *j)
{
	return j->end == PUSH_REJECT ? REJECT : j->answer.result.at ? COMPLETE : ACKNOWLEDGE;
}

static void out_end(struct json_out *o, const struct push_job *j)
{
	enum list list = list_of(j);

	if (list == ACKNOWLEDGE) {
		out_text(o, NULL, j->receipt);
		return;
	}
	out_object(o, NULL);
	out_text(o, "receipt", j->receipt);
	if (list == COMPLETE) {
		out_raw(o, "result", j->answer.result);
	} else if (j->is_dead) {
		out_bool(o, "dead", true);
	} else {
		out_bool(o, "counted", j->is_counted);
		if (j->delay_ms >= 0)
			out_int(o, "delay_ms", j->delay_ms);
	}
	if (list == REJECT && j->is_counted && *j->answer.reason)
		out_string(o, "reason", j->answer.reason);
	out_close(o);
}

/* Chooses ended jobs for `i`, as many as fit. Returns their number. */
static size_t choose(struct self_call *i, struct push_job *jobs, size_t most_bytes)
{
	size_t count = 0, bytes = 0;

	for (struct push_job *j = jobs; j; j = j->next) {
		if (j->state != PUSH_ENDED || j->settled_by || count == ROWS_MOST || bytes + bytes_of(j) > most_bytes)
			continue;
		bytes += bytes_of(j);
		count++;
		j->settled_by = i;
	}
	return count;
}

static void unchoose(const struct self_call *i, struct push_job *jobs)
{
	for (struct push_job *j = jobs; j; j = j->next)
		if (j->state == PUSH_ENDED && j->settled_by == i)
			j->settled_by = NULL;
}

static void out_ends(struct json_out *o, const struct self_call *i, const struct push_job *jobs)
{
	static const char *const names[LISTS] = { "acknowledge", "complete", "reject" };

	for (enum list list = ACKNOWLEDGE; list < LISTS; list++) {
		out_array(o, names[list]);
		for (const struct push_job *j = jobs; j; j = j->next)
			if (j->state == PUSH_ENDED && j->settled_by == i && list_of(j) == list)
				out_end(o, j);
		out_close(o);
	}
}

/* Names this daemon as the worker, for operators. */
static void out_worker(struct json_out *o)
{
	char host[65] = "", worker[80];

	gethostname(host, sizeof(host) - 1);
	snprintf(worker, sizeof(worker), "push by %s", host);
	out_string(o, "worker", worker);
}

bool push_turn_receive(struct self_call *i, struct text queue, struct push_job *jobs, unsigned limit, int64_t lease_ms)
{
	struct arena arena = { 0 };
	struct json_out o;

	out_init(&o, &arena, 512);
	out_object(&o, NULL);
	out_int(&o, "limit", limit < ROWS_MOST ? limit : ROWS_MOST);
	out_int(&o, "wait_ms", WAIT_MS);
	out_int(&o, "visibility_ms", lease_ms);
	out_worker(&o);
	if (choose(i, jobs, RECEIVE_BYTES)) {
		out_object(&o, "settle");
		out_ends(&o, i, jobs);
		out_close(&o);
	}
	bool ok = run(i, "queue_message_receive", queue, &o);
	if (!ok)
		unchoose(i, jobs);
	return ok;
}

bool push_turn_settle(struct self_call *i, struct text queue, struct push_job *jobs)
{
	struct arena arena = { 0 };
	struct json_out o;

	if (!choose(i, jobs, SETTLE_BYTES))
		return true;
	out_init(&o, &arena, 512);
	out_object(&o, NULL);
	out_ends(&o, i, jobs);
	bool ok = run(i, "queue_delivery_settle", queue, &o);
	if (!ok)
		unchoose(i, jobs);
	return ok;
}

bool push_turn_extend(struct self_call *i, struct text queue, const struct push_job *jobs, int64_t before_us,
		      int64_t lease_ms)
{
	struct arena arena = { 0 };
	struct json_out o;
	size_t count = 0;

	out_init(&o, &arena, 512);
	out_object(&o, NULL);
	out_int(&o, "visibility_ms", lease_ms);
	out_array(&o, "receipts");
	for (const struct push_job *j = jobs; j && count < ROWS_MOST; j = j->next) {
		if ((j->state != PUSH_READY && j->state != PUSH_SENT) || j->held_until_us > before_us)
			continue;
		out_text(&o, NULL, j->receipt);
		count++;
	}
	out_close(&o);
	return run(i, "queue_delivery_list_extend", queue, &o);
}

/* ---- The answer ---- */

static const char in_answer, in_messages, in_message;

static const void *place_of(const void *parent, struct text key, bool *opaque)
{
	if (parent == &in_answer)
		return text_is(key, "messages") ? &in_messages : NULL;
	if (parent == &in_messages)
		return &in_message;
	*opaque = parent == &in_message && text_is(key, "body");
	return NULL;
}

const struct json *push_turn_answer(struct self_call *i)
{
	struct request *req = i->req;

	return req->answer.status == 200 ? json_read_own(&req->arena, req->answer.body, place_of, &in_answer) : NULL;
}
