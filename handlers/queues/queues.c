/*
 * queues: whole queues: settings, counts, list. Each operation is one script
 * (lua/queues/queue_*.lua). Purge and redrive are in bulk.c. This file must not know what a setting
 * does to messages: the scripts do.
 */
#include <inttypes.h>

#include "common/allowance.h"
#include "common/handler.h"
#include "common/key_kinds.h"
#include "common/kind.h"
#include "queues/annotations.h"
#include "queues/dead_letters.h"
#include "queues/queue_call.h"
#include "queues/queue_findings.h"

/* ---- A queue's counts and settings ---- */

static void write_policy(struct json_out *o, struct text name, struct text key)
{
	if (name.len == 0) {
		out_null(o, "policy");
		return;
	}
	out_object(o, "policy");
	out_text(o, "name", name);
	out_text(o, "key", key);
	out_close(o);
}

static void write_some(struct json_out *o, const char *member, int64_t value)
{
	out_int_or_null(o, member, value > 0, value);
}

/* Writes a rate, whose limit, window_ms and burst begin at item `at`. */
static void write_rate(struct json_out *o, const char *member, const struct reply *r, size_t at)
{
	if (reply_int(r, at + QUEUE_RATE_LIMIT) == 0) {
		out_null(o, member);
		return;
	}
	out_object(o, member);
	out_int(o, "limit", reply_int(r, at + QUEUE_RATE_LIMIT));
	out_int(o, "window_ms", reply_int(r, at + QUEUE_RATE_WINDOW_MS));
	out_int(o, "burst", reply_int(r, at + QUEUE_RATE_BURST));
	out_close(o);
}

/* Writes the settings, which begin at item `at`, and the annotations. */
static void write_settings(struct json_out *o, const struct reply *r, size_t at, size_t annotations_at)
{
	out_object(o, "settings");
	out_int(o, "visibility_ms", reply_int(r, at + QUEUE_SETTINGS_VISIBILITY_MS));
	int64_t max_receives = reply_int(r, at + QUEUE_SETTINGS_MAX_RECEIVES);
	out_int(o, "max_receives", max_receives < QUEUE_NEVER_DEAD ? max_receives : 0);
	out_object(o, "backoff");
	out_int(o, "base_ms", reply_int(r, at + QUEUE_SETTINGS_BACKOFF_BASE_MS));
	out_int(o, "max_ms", reply_int(r, at + QUEUE_SETTINGS_BACKOFF_MAX_MS));
	out_close(o);
	out_int(o, "dedupe_ms", reply_int(r, at + QUEUE_SETTINGS_DEDUPE_MS));
	out_int(o, "dead_retention_ms", reply_int(r, at + QUEUE_SETTINGS_DEAD_RETENTION_MS));
	int64_t result_ms = reply_int(r, at + QUEUE_SETTINGS_RESULT_MS);
	out_int_or_null(o, "result_ms", result_ms > 0, result_ms);
	out_bool(o, "paused", reply_int(r, at + QUEUE_SETTINGS_PAUSED) > 0);
	write_policy(o, reply_text(r, at + QUEUE_SETTINGS_POLICY_NAME), reply_text(r, at + QUEUE_SETTINGS_POLICY_KEY));
	int64_t max_messages = reply_int(r, at + QUEUE_SETTINGS_MAX_MESSAGES);
	out_int_or_null(o, "max_messages", max_messages > 0, max_messages);
	out_string(o, "order", reply_int(r, at + QUEUE_SETTINGS_IS_STRICT) ? "strict" : "fair");
	write_some(o, "group_concurrency", reply_int(r, at + QUEUE_SETTINGS_GROUP_CONCURRENCY));
	write_some(o, "concurrency", reply_int(r, at + QUEUE_SETTINGS_CONCURRENCY));
	write_rate(o, "rate", r, at + QUEUE_SETTINGS_RATE);
	write_rate(o, "group_rate", r, at + QUEUE_SETTINGS_GROUP_RATE);
	out_int(o, "delay_ms", reply_int(r, at + QUEUE_SETTINGS_DELAY_MS));
	write_some(o, "ttl_ms", reply_int(r, at + QUEUE_SETTINGS_TTL_MS));
	out_int(o, "wait_ms", reply_int(r, at + QUEUE_SETTINGS_WAIT_MS));
	out_text_or_null(o, "dead_letter_queue", reply_text(r, at + QUEUE_SETTINGS_DEAD_LETTER_QUEUE));
	out_bool(o, "dedupe_by_body", reply_int(r, at + QUEUE_SETTINGS_DEDUPE_BY_BODY));
	out_string(o, "dedupe_scope", reply_int(r, at + QUEUE_SETTINGS_DEDUPES_IN_GROUPS) ? "group" : "queue");
	write_some(o, "max_message_bytes", reply_int(r, at + QUEUE_SETTINGS_MAX_MESSAGE_BYTES));
	annotations_out(o, r, annotations_at);
	out_close(o);
}

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

/* Moves dead letters, which may be older than the setting. */
static void move_letters(struct text queue, const struct reply *r, size_t settings)
{
	if (reply_text(r, settings + QUEUE_SETTINGS_DEAD_LETTER_QUEUE).len)
		dead_letters_move(queue);
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
	write_some(o, "created_at_ms", reply_int(r, QUEUE_GET_CREATED_AT_MS));
	write_some(o, "changed_at_ms", reply_int(r, QUEUE_GET_CHANGED_AT_MS));
	write_settings(o, r, QUEUE_GET_SETTINGS, QUEUE_GET_ANNOTATIONS);
	if (reply_int(r, QUEUE_GET_DEAD) > 0)
		move_letters(in->name, r, QUEUE_GET_SETTINGS);
	answer_end(req);
}

void queue_get(struct request *req, const struct queue_get_input *in)
{
	struct call *c = queue_call(req, &queue_get_script, in->name);

	call_int(c, 2); /* with annotations */
	call_send(c, on_state);
}

static void answer_settings(struct request *req, int status, struct text name, const struct reply *r)
{
	struct json_out *o = answer_begin(req, status);

	out_text(o, "name", name);
	write_settings(o, r, QUEUE_PUT_SETTINGS, QUEUE_PUT_ANNOTATIONS);
	move_letters(name, r, QUEUE_PUT_SETTINGS);
	answer_end(req);
}

/*
 * Answers when the order, the backoff or the ttl_ms contradicts what an earlier request stored.
 * Returns true if the request has been answered.
 */
static bool answer_reversed(struct request *req, const struct reply *r)
{
	if (reply_outcome(r) == QUEUE_PUT_STRICT_CONCURRENCY) {
		answer_field_problem(
			req, P_INVALID_VALUE, "/group_concurrency",
			"cannot be given together with a strict order, which delivers one message of a group at a time");
		return true;
	}
	if (reply_outcome(r) == QUEUE_PUT_NOT_EMPTY) {
		answer_problem(req, P_QUEUE_NOT_EMPTY,
			       "order cannot change while messages of groups are in the queue: %" PRId64
			       " are blocked, %" PRId64
			       " are ready or in flight; purge them, or let workers finish them",
			       reply_int(r, QUEUE_PUT_BLOCKED), reply_int(r, QUEUE_PUT_BUSY));
		return true;
	}
	if (reply_outcome(r) == QUEUE_PUT_TTL_WITHIN_DELAY) {
		answer_field_problem(req, P_INVALID_VALUE, "/ttl_ms",
				     "would be %" PRId64 ", not above the delay_ms of %" PRId64
				     ", so that messages end before they are due; change both",
				     reply_int(r, QUEUE_PUT_TTL_MS), reply_int(r, QUEUE_PUT_DELAY_MS));
		return true;
	}
	if (reply_outcome(r) == QUEUE_PUT_MANY_ANNOTATIONS) {
		answer_field_problem(
			req, P_OUT_OF_RANGE, "/annotations",
			"would be %" PRId64 " with %" PRId64
			" bytes of names and values; 64 with 32768 bytes are allowed; remove some with null",
			reply_int(r, QUEUE_PUT_COUNT), reply_int(r, QUEUE_PUT_BYTES));
		return true;
	}
	if (reply_outcome(r) != QUEUE_PUT_BACKOFF_REVERSED)
		return false;
	answer_field_problem(req, P_INVALID_VALUE, "/backoff",
			     "would have a base_ms of %" PRId64 " above its max_ms of %" PRId64 "; change both",
			     reply_int(r, QUEUE_PUT_BASE_MS), reply_int(r, QUEUE_PUT_MAX_MS));
	return true;
}

static void on_replaced(struct request *req, const struct reply *r)
{
	const struct queue_put_input *in = req->input;

	if (reply_outcome(r) == QUEUE_PUT_EXISTS)
		answer_problem(req, P_PRECONDITION_FAILED,
			       "queue '%s' exists; PUT without If-None-Match replaces its settings", in->name.at);
	else if (!answer_reversed(req, r))
		answer_settings(req, reply_int(r, QUEUE_PUT_IS_NEW) ? 201 : 200, in->name, r);
}

/* Sends a setting as queue_put.lua expects it: -1 keeps the stored value, -2 resets it. */
static void call_change(struct call *c, bool has, bool reset, int64_t value)
{
	call_int(c, has ? value : reset ? -2 : -1);
}

/* Sends limit, window_ms and burst; -2 means no rate, -1 keeps the stored value. */
static void call_rate(struct request *req, struct call *c, bool has, bool reset, int64_t limit, int64_t window_ms,
		      int64_t burst)
{
	if (has)
		call_text(c, arena_printf(&req->arena, "%" PRId64 " %" PRId64 " %" PRId64, limit, window_ms,
					  burst ? burst : limit));
	else
		call_string(c, reset ? "-2" : "-1");
}

/* Sends the policy's name and key. Without a name, the key is -1 (keep) or -2 (reset). */
static void call_policy(struct call *c, bool has, bool reset, struct text name, struct text key)
{
	call_text(c, has ? name : TEXT(""));
	call_text(c, has ? key : reset ? TEXT("-2") : TEXT("-1"));
}

/* Sends the name after a '=': it may look like a number. */
static void call_letters(struct request *req, struct call *c, struct text name, bool reset)
{
	call_text(c, name.at ? arena_join(&req->arena, (struct text[]){ TEXT("="), name }, 2)
			     : text_of(reset ? "-2" : "-1"));
}

/* Checks where dead letters are to move. False: the request was answered. */
static bool check_letters(struct request *req, struct text queue, struct text to)
{
	if (to.at && text_equal(queue, to))
		answer_field_problem(req, P_INVALID_VALUE, "/dead_letter_queue",
				     "is the queue itself, in which a dead letter stays without this setting");
	else
		return true;
	return false;
}

/* Checks that the policy that the request names exists. False: the request was answered. */
static bool has_policy(struct request *req, const struct allowance *a, struct text policy)
{
	if (a->failed)
		call_problem_answer(a->failed);
	else if (!a->exists)
		handler_answer_missing(req, "policy", policy);
	return !a->failed && a->exists;
}

static void put(struct request *req)
{
	const struct queue_put_input *in = req->input;
	struct call *c = queue_call(req, &queue_put_script, in->name);

	call_int(c, in->visibility_ms);
	call_int(c, queue_most_receives(in->max_receives));
	call_change(c, in->has_backoff, true, in->backoff.base_ms);
	call_change(c, in->has_backoff, true, in->backoff.max_ms);
	call_int(c, in->dedupe_ms);
	call_int(c, in->dead_retention_ms);
	call_int(c, in->paused);
	call_change(c, in->has_result_ms, true, in->result_ms);
	call_change(c, in->has_max_messages, true, in->max_messages);
	call_policy(c, in->has_policy, true, in->policy.name, in->policy.key);
	call_string(c, in->order == QUEUE_PUT_ORDER_STRICT ? "strict" : "fair");
	call_change(c, in->has_group_concurrency, true, in->group_concurrency);
	call_change(c, in->has_concurrency, true, in->concurrency);
	call_rate(req, c, in->has_rate, true, in->rate.limit, in->rate.window_ms, in->rate.burst);
	call_rate(req, c, in->has_group_rate, true, in->group_rate.limit, in->group_rate.window_ms,
		  in->group_rate.burst);
	call_int(c, in->delay_ms);
	call_change(c, in->has_ttl_ms, true, in->ttl_ms);
	call_int(c, in->wait_ms);
	call_letters(req, c, in->dead_letter_queue, true);
	call_int(c, in->dedupe_by_body);
	call_string(c, in->dedupe_scope == QUEUE_PUT_DEDUPE_SCOPE_GROUP ? "group" : "queue");
	call_change(c, in->has_max_message_bytes, true, in->max_message_bytes);
	call_int(c, req->asked.conditions && req->asked.conditions->none_match.at);
	annotations_call(req, c, ANNOTATIONS_REPLACED, in->annotations);
	call_send(c, on_replaced);
}

static void on_put_policy(struct request *req, const struct allowance *a)
{
	const struct queue_put_input *in = req->input;

	if (has_policy(req, a, in->policy.name))
		put(req);
}

/*
 * A queue has no entity tag that another value than * could name. False: the request was answered.
 */
static bool check_condition(struct request *req)
{
	const struct request_conditions *given = req->asked.conditions;

	if (!given || !given->none_match.at || text_is(given->none_match, "*"))
		return true;
	answer_field_problem(req, P_INVALID_VALUE, "If-None-Match:", "must be *: a queue has no entity tag");
	return false;
}

void queue_put(struct request *req, const struct queue_put_input *in)
{
	if (!check_condition(req) || !check_letters(req, in->name, in->dead_letter_queue))
		return;
	if (in->has_policy)
		allowance()->find(req, in->policy.name, on_put_policy);
	else
		put(req);
}

static void on_merged(struct request *req, const struct reply *r)
{
	const struct queue_patch_input *in = req->input;

	if (!answer_reversed(req, r))
		answer_settings(req, 200, in->name, r);
}

static void patch(struct request *req)
{
	const struct queue_patch_input *in = req->input;
	struct call *c = queue_call(req, &queue_put_script, in->name);

	call_change(c, in->has_visibility_ms, in->reset_visibility_ms, in->visibility_ms);
	call_change(c, in->has_max_receives, in->reset_max_receives, queue_most_receives(in->max_receives));
	call_change(c, in->backoff.has_base_ms, in->reset_backoff || in->backoff.reset_base_ms, in->backoff.base_ms);
	call_change(c, in->backoff.has_max_ms, in->reset_backoff || in->backoff.reset_max_ms, in->backoff.max_ms);
	call_change(c, in->has_dedupe_ms, in->reset_dedupe_ms, in->dedupe_ms);
	call_change(c, in->has_dead_retention_ms, in->reset_dead_retention_ms, in->dead_retention_ms);
	call_change(c, in->has_paused, in->reset_paused, in->paused);
	call_change(c, in->has_result_ms, in->reset_result_ms, in->result_ms);
	call_change(c, in->has_max_messages, in->reset_max_messages, in->max_messages);
	call_policy(c, in->has_policy, in->reset_policy, in->policy.name, in->policy.key);
	call_string(c, in->order == QUEUE_PATCH_ORDER_STRICT ? "strict" : in->order || in->reset_order ? "fair" : "-1");
	call_change(c, in->has_group_concurrency, in->reset_group_concurrency, in->group_concurrency);
	call_change(c, in->has_concurrency, in->reset_concurrency, in->concurrency);
	call_rate(req, c, in->has_rate, in->reset_rate, in->rate.limit, in->rate.window_ms, in->rate.burst);
	call_rate(req, c, in->has_group_rate, in->reset_group_rate, in->group_rate.limit, in->group_rate.window_ms,
		  in->group_rate.burst);
	call_change(c, in->has_delay_ms, in->reset_delay_ms, in->delay_ms);
	call_change(c, in->has_ttl_ms, in->reset_ttl_ms, in->ttl_ms);
	call_change(c, in->has_wait_ms, in->reset_wait_ms, in->wait_ms);
	call_letters(req, c, in->dead_letter_queue, in->reset_dead_letter_queue);
	call_change(c, in->has_dedupe_by_body, in->reset_dedupe_by_body, in->dedupe_by_body);
	call_string(c, in->dedupe_scope == QUEUE_PATCH_DEDUPE_SCOPE_GROUP ? "group"
		       : in->dedupe_scope || in->reset_dedupe_scope       ? "queue"
									  : "-1");
	call_change(c, in->has_max_message_bytes, in->reset_max_message_bytes, in->max_message_bytes);
	call_int(c, 0); /* it may exist */
	annotations_call(req, c,
			 in->reset_annotations ? ANNOTATIONS_REPLACED
			 : in->has_annotations ? ANNOTATIONS_MERGED
					       : ANNOTATIONS_STAY,
			 in->annotations);
	call_send(c, on_merged);
}

static void on_patch_policy(struct request *req, const struct allowance *a)
{
	const struct queue_patch_input *in = req->input;

	if (has_policy(req, a, in->policy.name))
		patch(req);
}

void queue_patch(struct request *req, const struct queue_patch_input *in)
{
	if (!check_letters(req, in->name, in->dead_letter_queue))
		return;
	if (in->has_policy)
		allowance()->find(req, in->policy.name, on_patch_policy);
	else
		patch(req);
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
