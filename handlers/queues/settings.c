/*
 * settings: PUT and PATCH of the settings of a queue, both one script (lua/queues/queue_put.lua).
 * This file must not know what a setting does to messages: the scripts do.
 */
#include <inttypes.h>

#include "common/allowance.h"
#include "common/handler.h"
#include "queues/annotations.h"
#include "queues/queue_call.h"
#include "queues/settings_out.h"

static void answer_settings(struct request *req, int status, struct text name, const struct reply *r)
{
	struct json_out *o = answer_begin(req, status);

	out_text(o, "name", name);
	queue_settings_out(o, r, QUEUE_PUT_SETTINGS, QUEUE_PUT_ANNOTATIONS);
	queue_settings_move_letters(name, r, QUEUE_PUT_SETTINGS);
	answer_end(req);
}

/*
 * Answers why the script refused the settings. Returns true if the request has been answered.
 */
static bool answer_refused(struct request *req, const struct reply *r)
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
				     ", so messages would expire before they are due; change both",
				     reply_int(r, QUEUE_PUT_TTL_MS), reply_int(r, QUEUE_PUT_DELAY_MS));
		return true;
	}
	if (reply_outcome(r) == QUEUE_PUT_MANY_ANNOTATIONS) {
		answer_field_problem(
			req, P_OUT_OF_RANGE, "/annotations",
			"would be %" PRId64 " annotations with %" PRId64
			" bytes of names and values; at most 64 with 32768 bytes are allowed; remove some with null",
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
	else if (!answer_refused(req, r))
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

/* Sends the name after a '=', since a name may look like a number. */
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
				     "is the queue itself; name another one, or omit it so that dead letters stay");
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
 * Checks If-None-Match: a queue has no entity tag, so only * is allowed. False: the request was
 * answered.
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

	if (!answer_refused(req, r))
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
	call_int(c, 0); /* the queue may exist */
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
