#include "locks/lock_call.h"

const struct lock_safety lock_single = { "single", 1, 1 };

static const char *const parts_to_acquire[] = { "fence", "readers", "waiters", NULL };
const char *const lock_parts_to_change[] = { "readers", "waiters", NULL };
const char *const lock_parts_to_release[] = { "readers", "waiters", "released", NULL };
const char *const lock_parts_to_get[] = { "readers", "waiters", "fence", NULL };

void lock_call_keys(struct call *c, struct text name, const char *const *parts)
{
	call_key(c, KEY_LOCK, name, NULL);
	for (; *parts; parts++)
		call_key(c, KEY_LOCK, name, *parts);
}

void lock_out_owner(struct json_out *o, struct text owner)
{
	out_text_or_null(o, "owner", owner);
}

void lock_out_fence(struct json_out *o, int64_t fence)
{
	out_int_or_null(o, "fence", fence > 0, fence);
}

void lock_out_safety(struct json_out *o, const struct lock_safety *safety)
{
	out_object(o, "safety");
	out_string(o, "mode", safety->mode);
	out_int(o, "acknowledged", safety->acknowledged);
	out_int(o, "servers", safety->servers);
	out_close(o);
}

void lock_out_time(struct json_out *o, struct request *req, int64_t expires_at_ms)
{
	out_int_or_null(o, "ttl_ms", expires_at_ms > 0, request_ms_until(req, expires_at_ms));
	out_int_or_null(o, "expires_at_ms", expires_at_ms > 0, expires_at_ms);
}

void lock_out_holder(struct json_out *o, const struct lock_holder *holder)
{
	lock_out_owner(o, holder->owner);
	out_int(o, "fence", holder->fence);
	out_int(o, "holds", holder->holds);
	out_int(o, "ttl_ms", holder->ttl_ms);
	out_int(o, "expires_at_ms", holder->expires_at_ms);
}

void lock_out_holders(struct json_out *o, struct request *req, const struct reply *r, size_t first, bool has_metadata)
{
	out_array(o, "holders");
	for (size_t i = first; i < r->count; i += LOCK_HOLDER_ITEMS) {
		struct lock_holder holder = {
			.owner = reply_text(r, i + LOCK_HOLDER_OWNER),
			.fence = reply_int(r, i + LOCK_HOLDER_FENCE),
			.holds = reply_int(r, i + LOCK_HOLDER_HOLDS),
			.expires_at_ms = reply_int(r, i + LOCK_HOLDER_EXPIRES_AT_MS),
		};
		holder.ttl_ms = request_ms_until(req, holder.expires_at_ms);
		out_object(o, NULL);
		lock_out_holder(o, &holder);
		if (has_metadata)
			out_raw_or_null(o, "metadata", reply_text(r, i + LOCK_HOLDER_METADATA));
		out_close(o);
	}
	out_close(o);
}

void lock_out_acquired(struct json_out *o, struct request *req, const struct lock_acquisition *acquisition,
		       const struct reply *r)
{
	out_text(o, "name", acquisition->names[0]);
	out_text(o, "token", acquisition->token);
	out_int(o, "fence", reply_int(r, LOCK_ACQUIRE_FENCES));
	lock_out_owner(o, reply_text(r, LOCK_ACQUIRE_OWNER));
	out_text(o, "mode", reply_text(r, LOCK_ACQUIRE_MODE));
	out_int(o, "holds", reply_int(r, LOCK_ACQUIRE_HOLDS));
	lock_out_time(o, req, reply_int(r, LOCK_ACQUIRE_EXPIRES_AT_MS));
	out_int(o, "waited_ms", wait_waited_ms(req));
	lock_out_safety(o, &acquisition->safety);
}

void lock_out_released(struct json_out *o, struct text name, int64_t holds, bool is_held)
{
	out_text(o, "name", name);
	out_int(o, "holds", holds);
	out_bool(o, "held", is_held);
}

bool lock_has_no_entry(struct request *req, const char *what)
{
	if (!req->asked.header(req, "Lock-Token", NULL).at)
		return false;
	answer_field_problem(req, P_INVALID_VALUE,
			     "Lock-Token:", "is not supported by %s, which has no re-entry; leave the header out",
			     what);
	return true;
}

void lock_answer_not_holder(struct request *req, struct text name)
{
	answer_problem(req, P_NOT_HOLDER,
		       "the token does not hold lock '%s'; it has expired, was released, or never held it", name.at);
}

void lock_answer_expired(struct request *req, struct text name)
{
	answer_problem_effect(req, P_NOT_HOLDER, EFFECT_APPLIED,
			      "the original request succeeded, but the lease of '%s' has expired", name.at);
}

/* ---- Locks held by other clients ---- */

static struct json_out *begin_held(struct request *req, struct text name, const struct reply *r, int64_t rest_ms)
{
	struct text mode = reply_text(r, LOCK_REFUSAL_MODE);
	long long rest = rest_ms, holders = reply_int(r, LOCK_REFUSAL_HOLDER_COUNT);

	if (mode.len == 0)
		return answer_begin_problem(req, P_LOCK_HELD, "'%s' is reserved for a waiting client", name.at);
	if (text_is(mode, "shared"))
		return answer_begin_problem(req, P_LOCK_HELD, "'%s' is shared by %lld client%s for another %lld ms",
					    name.at, holders, holders == 1 ? "" : "s", rest);
	struct text owner = reply_text(r, LOCK_REFUSAL_HOLDERS + LOCK_HOLDER_OWNER);
	return answer_begin_problem(req, P_LOCK_HELD, "'%s' is held by %s%s%s for another %lld ms", name.at,
				    owner.len ? "'" : "", owner.len ? owner.at : "a client without an owner",
				    owner.len ? "'" : "", rest);
}

void lock_answer_held(struct request *req, struct text name, const struct reply *r)
{
	int64_t rest_ms = request_ms_until(req, reply_int(r, LOCK_REFUSAL_EXPIRES_AT_MS));

	answer_retry_after_ms(req, rest_ms);
	struct json_out *o = begin_held(req, name, r, rest_ms);
	out_text(o, "name", name);
	out_int(o, "waiter_count", reply_int(r, LOCK_REFUSAL_WAITER_COUNT));
	out_int(o, "holder_count", reply_int(r, LOCK_REFUSAL_HOLDER_COUNT));
	lock_out_holders(o, req, r, LOCK_REFUSAL_HOLDERS, false);
	answer_end(req);
}

/* ---- Calls ---- */

struct call *lock_call_leave(struct request *req, const struct lock_acquisition *acquisition)
{
	struct call *c = call_script(req, &lock_leave_script);

	for (size_t i = 0; i < acquisition->count; i++)
		lock_call_keys(c, acquisition->names[i], lock_parts_to_change);
	call_string(c, ""); /* no ticket: wait.c removes the ticket */
	call_text(c, acquisition->token_hash);
	return c;
}

bool lock_metadata_fits(struct request *req, struct text given)
{
	if (given.len <= LOCK_METADATA_BYTES)
		return true;
	answer_field_problem(req, P_OUT_OF_RANGE, "/metadata", "has %zu bytes as JSON; %d are allowed", given.len,
			     LOCK_METADATA_BYTES);
	return false;
}

struct text lock_metadata(struct text given)
{
	return given.at && !text_is(given, "null") ? given : TEXT("");
}

struct call *lock_call_acquire(struct request *req, const struct lock_acquisition *acquisition)
{
	static const struct ticket_queue queue = { &lock_leave_script, lock_parts_to_change };
	struct call *c = call_script(req, &lock_acquire_script);

	for (size_t i = 0; i < acquisition->count; i++)
		lock_call_keys(c, acquisition->names[i], parts_to_acquire);
	call_int(c, acquisition->ttl_ms);
	call_text(c, acquisition->owner);
	call_text(c, lock_metadata(acquisition->metadata));
	call_text(c, acquisition->presented.at ? handler_secret_hash(req, acquisition->presented) : TEXT(""));
	call_text(c, acquisition->token_hash);
	call_text(c, req->asked.idempotency_key.at ? seal_mask(req, acquisition->token) : TEXT(""));
	call_string(c, acquisition->mode);
	wait_arguments(req, c, &queue, acquisition->ticket_tail);
	call_replicas(c, (unsigned)acquisition->min_replicas);
	if (acquisition->is_stream)
		call_without_record(c);
	return c;
}
