/*
 * cache: JSON values with a time to live. Versions, fences, a second deletion and fill tickets keep
 * stale values out. Each operation is one script (lua/cache/cache_*.lua). Only the scripts decide
 * whether a write is stale, and which client fills a value.
 *
 * A value is JSON text that is stored and returned unchanged. The script makes its version from
 * Redis's time and random digits that are made here.
 */
#include <stdlib.h>

#include "common/handler.h"
#include "common/key_kinds.h"

enum { VERSION_DIGITS = 8 };

static void answer_etag(struct request *req, struct text version)
{
	answer_header_parts(req, "ETag", (struct text[]){ TEXT("\""), version, TEXT("\"") }, 3);
}

/* ---- If-Match and If-None-Match ---- */

static bool take_condition(struct request *req, const char *pointer, struct text header,
			   enum etag_comparison comparison, struct call *c)
{
	struct text list = etag_list(&req->arena, header, comparison);

	if (!list.at && !req->arena.failed) {
		answer_field_problem(req, P_INVALID_VALUE, pointer,
				     "must be * or a list of entity tags, each in double quotes");
		return false;
	}
	call_text(c, list);
	return true;
}

/* Adds both conditions, as the last arguments of the call. False: the request was answered. */
static bool take_conditions(struct request *req, struct call *c)
{
	static const struct request_conditions none = { { 0 }, { 0 } };
	const struct request_conditions *given = req->asked.conditions ? req->asked.conditions : &none;

	return take_condition(req, "If-Match:", given->match, ETAG_STRONG, c) &&
	       take_condition(req, "If-None-Match:", given->none_match, ETAG_WEAK, c);
}

/* `version` is empty when there is no value. */
static void answer_precondition_failed(struct request *req, struct text key, struct text version)
{
	struct json_out *o =
		version.len ? answer_begin_problem(req, P_PRECONDITION_FAILED, "the current version of '%s' is %s",
						   key.at, version.at)
			    : answer_begin_problem(req, P_PRECONDITION_FAILED, "cache key '%s' has no value", key.at);

	out_text_or_null(o, "version", version);
	answer_end(req);
}

/* ---- GET /cache/{key} ---- */

static void answer_no_value(struct request *req, struct text key)
{
	answer_problem(req, P_NOT_FOUND, "cache key '%s' has no value", key.at);
}

/*
 * Writes the version and the expiry of an entry. `ttl_ms` counts from the PUT, whose time is in the
 * version. The remaining time would give two texts for one version, and the ETag is a strong one.
 * Another program may PERSIST the key, so the expiry may be absent.
 */
static void out_entry(struct json_out *o, const struct reply *r)
{
	struct text version = reply_text(r, CACHE_ENTRY_VERSION);
	int64_t expires_at_ms = reply_int(r, CACHE_ENTRY_EXPIRES_AT_MS);
	int64_t ttl_ms = expires_at_ms - strtoll(version.at, NULL, 10) / 1000;

	out_text(o, "version", version);
	out_int_or_null(o, "ttl_ms", expires_at_ms >= 0, ttl_ms > 0 ? ttl_ms : 0);
	out_int_or_null(o, "expires_at_ms", expires_at_ms >= 0, expires_at_ms);
}

/*
 * One version always has the same text. A 304 has no body, but must have the Content-Length of the
 * 200.
 */
static void answer_value(struct request *req, int status, struct text key, const struct reply *r)
{
	answer_etag(req, reply_text(r, CACHE_ENTRY_VERSION));
	struct json_out *o = answer_begin(req, status);
	out_text(o, "key", key);
	out_raw(o, "value", reply_text(r, CACHED_VALUE));
	out_entry(o, r);
	answer_end(req);
}

static void on_got(struct request *req, const struct reply *r)
{
	const struct cache_get_input *in = req->input;

	switch (reply_outcome(r)) {
	case CACHE_GET_ABSENT:
		answer_no_value(req, in->key);
		break;
	case CACHE_GET_PRECONDITION_FAILED:
		answer_precondition_failed(req, in->key, reply_text(r, CACHE_GET_VERSION));
		break;
	case CACHE_GET_NOT_MODIFIED:
		answer_value(req, 304, in->key, r);
		break;
	default:
		answer_value(req, 200, in->key, r);
	}
}

void cache_get(struct request *req, const struct cache_get_input *in)
{
	struct call *c = handler_call(req, &cache_get_script, KEY_CACHE, in->key);

	if (take_conditions(req, c))
		call_send(c, on_got);
}

/* ---- GET /cache ---- */

static struct call *get_one(struct request *req, struct text key, struct text part)
{
	(void)part;
	return handler_call(req, &cache_item_get_script, KEY_CACHE, key);
}

static void item_of(struct json_out *o, struct request *req, struct text key, struct text part, const struct reply *r)
{
	(void)req, (void)part;
	if (reply_outcome(r) == CACHE_ITEM_GET_ABSENT)
		return;
	out_object(o, NULL);
	out_text(o, "key", key);
	out_entry(o, r);
	out_close(o);
}

void cache_list(struct request *req, const struct cache_list_input *in)
{
	static const struct list_of values = { .kind = KEY_CACHE, .look = get_one, .item = item_of };

	list_keys(req, &values, in->match, in->cursor, in->limit);
}

/* ---- PUT and DELETE /cache/{key} ---- */

static void answer_stale_fence(struct request *req, struct text key, int64_t fence, int64_t highest)
{
	struct json_out *o = answer_begin_problem(req, P_STALE_FENCE,
						  "fencing token %lld is below %lld, the highest that '%s' has seen",
						  (long long)fence, (long long)highest, key.at);

	out_int(o, "highest", highest);
	answer_end(req);
}

static void on_put(struct request *req, const struct reply *r)
{
	const struct cache_put_input *in = req->input;

	switch (reply_outcome(r)) {
	case CACHE_PUT_STALE_FENCE:
		answer_stale_fence(req, in->key, in->fence, reply_int(r, CACHE_PUT_HIGHEST));
		return;
	case CACHE_PUT_STALE_TICKET:
		answer_problem(req, P_TICKET_EXPIRED,
			       "the ticket for '%s' has expired, or the value was written or deleted since",
			       in->key.at);
		return;
	case CACHE_PUT_PRECONDITION_FAILED:
		answer_precondition_failed(req, in->key, reply_text(r, CACHE_PUT_VERSION));
		return;
	}
	answer_etag(req, reply_text(r, CACHE_ENTRY_VERSION));
	struct json_out *o = answer_begin(req, reply_outcome(r) == CACHE_PUT_NEW ? 201 : 200);
	out_text(o, "key", in->key);
	out_entry(o, r);
	answer_end(req);
}

void cache_put(struct request *req, const struct cache_put_input *in)
{
	struct call *c = handler_call(req, &cache_put_script, KEY_CACHE, in->key);

	call_key(c, KEY_CACHE, in->key, "fence");
	call_key(c, KEY_CACHE, in->key, "fill");
	call_key(c, KEY_CACHE, in->key, "again");
	call_key(c, KEY_CACHE, in->key, "waiters");
	call_text(c, in->value);
	call_int(c, in->ttl_ms + handler_random_up_to(in->jitter_ms));
	call_text(c, handler_random(req, VERSION_DIGITS));
	handler_call_optional(c, in->has_fence, in->fence);
	call_text(c, in->fill_ticket);
	if (take_conditions(req, c))
		call_send(c, on_put);
}

static void on_deleted(struct request *req, const struct reply *r)
{
	const struct cache_delete_input *in = req->input;

	switch (reply_outcome(r)) {
	case CACHE_DELETE_ABSENT:
		answer_no_value(req, in->key);
		break;
	case CACHE_DELETE_STALE_FENCE:
		answer_stale_fence(req, in->key, in->fence, reply_int(r, CACHE_DELETE_HIGHEST));
		break;
	case CACHE_DELETE_PRECONDITION_FAILED:
		answer_precondition_failed(req, in->key, reply_text(r, CACHE_DELETE_VERSION));
		break;
	default:
		answer_empty(req, 204);
	}
}

void cache_delete(struct request *req, const struct cache_delete_input *in)
{
	struct call *c = handler_call(req, &cache_delete_script, KEY_CACHE, in->key);

	call_key(c, KEY_CACHE, in->key, "fence");
	call_key(c, KEY_CACHE, in->key, "fill");
	call_key(c, KEY_CACHE, in->key, "waiters");
	handler_call_optional(c, in->has_fence, in->fence);
	if (take_conditions(req, c))
		call_send(c, on_deleted);
}

/* ---- POST /cache/{key}/invalidate ---- */

static void on_invalidated(struct request *req, const struct reply *r)
{
	const struct cache_invalidate_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "key", in->key);
	out_bool(o, "deleted", reply_int(r, CACHE_INVALIDATE_DELETED));
	out_int(o, "again_at_ms", reply_int(r, CACHE_INVALIDATE_AGAIN_AT_MS));
	answer_end(req);
}

void cache_invalidate(struct request *req, const struct cache_invalidate_input *in)
{
	struct call *c = handler_call(req, &cache_invalidate_script, KEY_CACHE, in->key);

	call_key(c, KEY_CACHE, in->key, "fill");
	call_key(c, KEY_CACHE, in->key, "again");
	call_key(c, KEY_CACHE, in->key, "waiters");
	call_int(c, in->again_after_ms);
	call_send(c, on_invalidated);
}

/* ---- POST /cache/{key}/fill ---- */

static const char *const fill_parts[] = { "fill", "waiters", NULL };

static void attempt(struct request *req);

static void answer_filling(struct request *req, struct text key, int64_t retry_at_ms)
{
	int64_t left_ms = request_ms_until(req, retry_at_ms);

	answer_retry_after_ms(req, left_ms);
	answer_problem(req, P_CACHE_FILL_IN_PROGRESS,
		       "another client is making the value of '%s', for at most another %lld ms", key.at,
		       (long long)left_ms);
}

static void answer_ticket(struct request *req, struct text key, const struct reply *r)
{
	int64_t expires_at_ms = reply_int(r, CACHE_FILL_EXPIRES_AT_MS);

	if (expires_at_ms <= req->now_ms) { /* in a replay */
		answer_problem_effect(req, P_TICKET_EXPIRED, EFFECT_APPLIED,
				      "the original request succeeded, but its ticket for '%s' has expired", key.at);
		return;
	}
	struct json_out *o = answer_begin(req, 201);
	out_text(o, "key", key);
	out_text(o, "ticket", reply_text(r, CACHE_FILL_TICKET));
	out_int(o, "ttl_ms", expires_at_ms - req->now_ms);
	out_int(o, "expires_at_ms", expires_at_ms);
	answer_end(req);
}

/* Answers each request that waits for the value. */
static void answer_stored(struct request *req, const struct reply *r)
{
	const struct cache_fill_input *in = req->input;

	answer_value(req, 200, in->key, r);
}

static void on_filled(struct request *req, const struct reply *r)
{
	const struct cache_fill_input *in = req->input;
	int64_t outcome = reply_outcome(r);

	if (!req->result->replayed && (outcome != CACHE_FILL_IN_PROGRESS || wait_left_ms(req) == 0))
		wait_ticket_left(req);
	if (outcome == CACHE_FILL_GRANTED) {
		answer_ticket(req, in->key, r);
	} else if (outcome == CACHE_FILL_IN_PROGRESS) {
		wait_look_at(req, reply_int(r, CACHE_FILL_LOOK_AT_MS));
		req->on_disconnect = NULL; /* there is no ticket to return */
		if (!wait_park(req, attempt))
			answer_filling(req, in->key, reply_int(r, CACHE_FILL_RETRY_AT_MS));
	} else {
		wait_share(req, r, answer_stored);
		answer_stored(req, r);
	}
}

/*
 * The client disconnected. A ticket that the present attempt may have got goes to the next waiter,
 * unless the client could claim it by a retry.
 */
static void take_back(struct request *req, const struct reply *r)
{
	const struct cache_fill_input *in = req->input;
	const struct text *ticket = req->work;

	if (req->asked.idempotency_key.at || (r && reply_outcome(r) != CACHE_FILL_GRANTED))
		return;
	struct call *c = handler_call(req, &cache_leave_script, KEY_CACHE, in->key);
	for (const char *const *part = fill_parts; *part; part++)
		call_key(c, KEY_CACHE, in->key, *part);
	call_string(c, ""); /* no ticket of the wait queue */
	call_text(c, *ticket);
	call_send(c, NULL);
}

static void attempt(struct request *req)
{
	static const struct ticket_queue queue = { &cache_leave_script, fill_parts };
	const struct cache_fill_input *in = req->input;
	const struct text *ticket = req->work;
	struct call *c = handler_call(req, &cache_fill_script, KEY_CACHE, in->key);

	req->on_disconnect = take_back;
	call_key(c, KEY_CACHE, in->key, "fill");
	call_key(c, KEY_CACHE, in->key, "again");
	call_text(c, *ticket);
	call_int(c, in->fill_ms);
	if (wait_arguments(req, c, &queue, TEXT("f")))
		call_key(c, KEY_CACHE, in->key, "waiters");
	call_send(c, on_filled);
}

void cache_fill(struct request *req, const struct cache_fill_input *in)
{
	struct text *ticket = arena_alloc(&req->arena, sizeof(*ticket));

	if (!ticket) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*ticket = handler_random(req, HANDLER_SECRET_DIGITS);
	req->work = ticket;
	if (!wait_begin(req, in->wait_ms, 1))
		return;
	wait_on(req, call_key_name(req, KEY_CACHE, in->key, NULL));
	wait_shares(req);
	attempt(req);
}
