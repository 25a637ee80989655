#include "locks/lock_quorum_call.h"

struct lock_round *lock_quorum_begin(struct request *req, const struct quorum_lock *given, int64_t ttl_ms)
{
	struct quorum_lock *w = arena_alloc(&req->arena, sizeof(*w));

	if (req->asked.idempotency_key.at) {
		answer_field_problem(req, P_IDEMPOTENCY_UNAVAILABLE, "Idempotency-Key:",
				     "is not supported with --lock-quorum: no single server can store the record");
		return NULL;
	}
	if (w)
		*w = *given;
	return lock_round_new(req, w, ttl_ms);
}

struct lock_safety lock_quorum_safety(const struct lock_round *r, size_t acknowledged)
{
	return (struct lock_safety){ "quorum", (int64_t)acknowledged, (int64_t)r->of };
}

void lock_quorum_out_left(struct json_out *o, int64_t left_ms)
{
	out_int_or_null(o, "ttl_ms", left_ms > 0, left_ms);
	out_int_or_null(o, "expires_at_ms", left_ms > 0, loop_wall_ms() + left_ms);
}

void lock_quorum_out_holders(struct json_out *o, const struct lock_quorum_holder *holder,
			     const struct lock_holder_at *at)
{
	out_int(o, "holder_count", holder != NULL);
	out_array(o, "holders");
	if (holder) {
		out_object(o, NULL);
		lock_out_holder(o, &(struct lock_holder){
					   .owner = reply_text(holder->reply, at->owner),
					   .fence = reply_int(holder->reply, at->fence),
					   .holds = 1,
					   .ttl_ms = holder->left_ms,
					   .expires_at_ms = loop_wall_ms() + holder->left_ms,
				   });
		if (at->metadata)
			out_raw_or_null(o, "metadata", reply_text(holder->reply, at->metadata));
		out_close(o);
	}
	out_close(o);
}

static void on_released_one(struct request *req, const struct reply *r)
{
	(void)req;
	(void)r;
}

void lock_quorum_release_all(struct lock_round *r)
{
	const struct quorum_lock *w = r->context;
	struct request *req = request_background(r->req->op, NULL, NULL);

	if (!req)
		return; /* the lock expires */
	struct text name = arena_copy(&req->arena, w->name.at, w->name.len),
		    hash = arena_copy(&req->arena, w->hash.at, w->hash.len);
	for (size_t i = 0; i < r->of; i++) {
		if (r->votes[i].said && r->votes[i].outcome < 1)
			continue;
		struct call *c = call_script(req, &lock_leave_script);
		lock_call_keys(c, name, lock_parts_to_change);
		call_string(c, "");
		call_text(c, hash);
		call_member(c, (unsigned)i + 1);
		call_may_fail(c);
		call_send(c, on_released_one);
	}
	request_background_start(req);
}
