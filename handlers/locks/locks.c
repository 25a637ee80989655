/*
 * locks: leases with a fencing token, exclusive or shared, one or several at once. Each operation
 * is one script (lua/locks/lock_*.lua). locks/acquire.c acquires locks and waits for them;
 * locks/hold.c has locks that live as long as a connection.
 */
#include <stdio.h>

#include "common/finding.h"
#include "locks/acquire.h"
#include "locks/lock_polls.h"
#include "locks/lock_quorum.h"
#include "locks/lock_quorum_acquire.h"

enum {
	POLLED_MS = 300000, /* clients have asked for so long, and the lock has been held for so long */
	CROWD = 10,         /* requests that wait for a lock, as in the alert PatterndLockWaiters */
};

/* ---- POST /locks/{name} ---- */

static void on_acquired(struct request *req, const struct lock_acquisition *acquisition, const struct reply *r)
{
	struct json_out *o = answer_begin(req, reply_outcome(r) == LOCK_ACQUIRE_TAKEN ? 201 : 200);

	lock_out_acquired(o, req, acquisition, r);
	answer_end(req);
}

void lock_acquire(struct request *req, const struct lock_acquire_input *in)
{
	static const char *const modes[] = { "", "exclusive", "shared" }; /* indexed by the contract's enum */

	if (!lock_metadata_fits(req, in->metadata))
		return;
	if (lock_quorum_is_mode()) {
		lock_quorum_acquire(req, in);
		return;
	}
	lock_acquire_begin(req, &(struct lock_acquisition){
					.names = &in->name,
					.count = 1,
					.ttl_ms = in->ttl_ms,
					.wait_ms = in->wait_ms,
					.owner = in->owner,
					.metadata = in->metadata,
					.presented = in->lock_token,
					.mode = modes[in->mode],
					.min_replicas = in->min_replicas,
					.acquired = on_acquired,
				});
}

/* ---- POST /locks: several, all or nothing ---- */

static void on_all_acquired(struct request *req, const struct lock_acquisition *acquisition, const struct reply *r)
{
	struct json_out *o = answer_begin(req, 201);

	out_text(o, "token", acquisition->token);
	out_array(o, "locks");
	for (size_t i = 0; i < acquisition->count; i++) {
		out_object(o, NULL);
		out_text(o, "name", acquisition->names[i]);
		out_int(o, "fence", reply_int(r, LOCK_ACQUIRE_FENCES + i));
		out_close(o);
	}
	out_close(o);
	lock_out_owner(o, reply_text(r, LOCK_ACQUIRE_OWNER));
	lock_out_time(o, req, reply_int(r, LOCK_ACQUIRE_EXPIRES_AT_MS));
	out_int(o, "waited_ms", wait_waited_ms(req));
	lock_out_safety(o, &acquisition->safety);
	answer_end(req);
}

void lock_list_acquire(struct request *req, const struct lock_list_acquire_input *in)
{
	if (lock_quorum_has_no(req, "acquiring several locks at once") || lock_has_no_entry(req, "POST /locks"))
		return;
	lock_acquire_begin(req, &(struct lock_acquisition){
					.names = in->names.items,
					.count = in->names.count,
					.ttl_ms = in->ttl_ms,
					.wait_ms = in->wait_ms,
					.owner = in->owner,
					.mode = "exclusive",
					.acquired = on_all_acquired,
				});
}

/* ---- POST /locks/{name}/extend ---- */

static void on_extended(struct request *req, const struct reply *r)
{
	const struct lock_extend_input *in = req->input;
	int64_t expires_at_ms = reply_int(r, LOCK_EXTEND_EXPIRES_AT_MS);

	if (reply_outcome(r) == LOCK_EXTEND_NOT_HOLDER) {
		lock_answer_not_holder(req, in->name);
		return;
	}
	if (expires_at_ms <= req->now_ms) {
		lock_answer_expired(req, in->name);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_int(o, "fence", reply_int(r, LOCK_EXTEND_FENCE));
	out_int(o, "holds", reply_int(r, LOCK_EXTEND_HOLDS));
	lock_out_time(o, req, expires_at_ms);
	lock_out_safety(o, &lock_single);
	answer_end(req);
}

void lock_extend(struct request *req, const struct lock_extend_input *in)
{
	if (lock_quorum_is_mode()) {
		lock_quorum_extend(req, in);
		return;
	}
	struct call *c = call_script(req, &lock_extend_script);

	lock_call_keys(c, in->name, lock_parts_to_change);
	call_int(c, in->ttl_ms);
	call_text(c, handler_secret_hash(req, in->lock_token));
	call_send(c, on_extended);
}

/* ---- DELETE /locks/{name} ---- */

static void on_released(struct request *req, const struct reply *r)
{
	const struct lock_release_input *in = req->input;

	if (reply_outcome(r) == LOCK_RELEASE_NOT_HOLDER && in->force) {
		answer_problem(req, P_NOT_HOLDER, "no client holds '%s'", in->name.at);
		return;
	}
	if (reply_outcome(r) == LOCK_RELEASE_NOT_HOLDER) {
		lock_answer_not_holder(req, in->name);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	lock_out_released(o, in->name, reply_int(r, LOCK_RELEASE_HOLDS), reply_int(r, LOCK_RELEASE_HELD_FENCE) > 0);
	answer_end(req);
}

void lock_release(struct request *req, const struct lock_release_input *in)
{
	if (in->force && in->lock_token.at) {
		answer_field_problem(req, P_INVALID_VALUE, "?force", "cannot be combined with the header Lock-Token");
		return;
	}
	if (!in->force && !in->lock_token.at) {
		answer_field_problem(req, P_MISSING_FIELD,
				     "Lock-Token:", "is required: send the token of the hold in this header");
		return;
	}
	if (lock_quorum_is_mode()) {
		lock_quorum_release(req, in);
		return;
	}
	struct call *c = call_script(req, &lock_release_script);
	lock_call_keys(c, in->name, lock_parts_to_release);
	call_text(c, in->force ? TEXT("") : handler_secret_hash(req, in->lock_token));
	call_int(c, in->force);
	call_send(c, on_released);
}

/* ---- GET /locks/{name} ---- */

static void on_state(struct request *req, const struct reply *r)
{
	const struct lock_get_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_bool(o, "held", reply_outcome(r) == LOCK_GET_HELD);
	out_text_or_null(o, "mode", reply_text(r, LOCK_GET_MODE));
	lock_out_fence(o, reply_int(r, LOCK_GET_FENCE));
	lock_out_time(o, req, reply_int(r, LOCK_GET_EXPIRES_AT_MS));
	out_int(o, "waiter_count", reply_int(r, LOCK_GET_WAITER_COUNT));
	out_int(o, "holder_count", reply_int(r, LOCK_GET_HOLDER_COUNT));
	lock_out_holders(o, req, r, LOCK_GET_HOLDERS, true);
	answer_end(req);
}

void lock_get(struct request *req, const struct lock_get_input *in)
{
	if (lock_quorum_is_mode()) {
		lock_quorum_get(req, in);
		return;
	}
	struct call *c = call_script(req, &lock_get_script);
	lock_call_keys(c, in->name, lock_parts_to_get);
	call_send(c, on_state);
}

/* ---- GET /locks ---- */

static struct call *get_one(struct request *req, struct text name, struct text part)
{
	struct call *c = call_script(req, &lock_get_script);

	(void)part;
	lock_call_keys(c, name, lock_parts_to_change); /* lists look with these keys, too */
	return c;
}

/* Writes the finding, if requests have waited long, or clients have asked again and again. */
static void find_waiting(struct json_out *o, const struct request *req, struct text name, const struct reply *r,
			 int64_t waited_ms, int64_t polled_ms, int64_t held_ms)
{
	int64_t waiters = reply_int(r, LOCK_GET_WAITER_COUNT), holders = reply_int(r, LOCK_GET_HOLDER_COUNT);
	bool is_polled = waited_ms < 0 && polled_ms > POLLED_MS && held_ms > POLLED_MS;
	bool is_held_long = held_ms > FINDING_OLD_MS && (is_polled || (waited_ms >= 0 && held_ms >= waited_ms));
	int64_t longest_ms = is_held_long ? held_ms : waited_ms;
	struct text owner = holders ? reply_text(r, LOCK_GET_HOLDERS + LOCK_HOLDER_OWNER) : TEXT("");
	/*
	 * A lease of at most a minute ends soon, unless its holder lives and extends it. Then a few
	 * requests that wait are candidates for the lock of a leader, or wait for their turn.
	 */
	bool is_kept = reply_int(r, LOCK_GET_EXPIRES_AT_MS) - req->now_ms <= FINDING_OLD_MS && waiters <= CROWD;
	struct finding f = {
		"lock_waiting", "warning", name, "ms", longest_ms, waiters, .since_at_ms = req->now_ms - longest_ms
	};
	char waiting[64] = "clients ask for the lock again and again";

	if (longest_ms <= FINDING_LATE_MS || is_kept)
		return;
	if (waiters > 0)
		snprintf(waiting, sizeof(waiting), "%" PRId64 " request%s wait%s for the lock", waiters,
			 finding_plural(waiters), waiters == 1 ? "s" : "");
	if (!owner.len)
		owner = TEXT("a client without an owner");
	if (holders > 1)
		finding_out(o, &f, "%s, which %" PRId64 " clients %s", waiting, holders,
			    is_held_long ? "have shared for more than a minute" : "share");
	else
		finding_out(o, &f, "%s, which %.*s %s", waiting, (int)owner.len, owner.at,
			    is_held_long ? "has held for more than a minute" : "holds");
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	int64_t since_us = reply_outcome(r) == LOCK_GET_FREE ? 0 : reply_int(r, LOCK_GET_FIRST_ARRIVED_AT_US);
	int64_t waited_ms = req->now_ms - since_us / 1000, granted_ms = reply_int(r, LOCK_GET_FENCE) / 1000;
	int64_t polled_ms = lock_polls_ms(name);

	(void)part;
	if (reply_outcome(r) == LOCK_GET_FREE)
		return;
	out_object(o, NULL);
	out_text(o, "name", name);
	out_text(o, "mode", reply_text(r, LOCK_GET_MODE));
	out_int(o, "fence", reply_int(r, LOCK_GET_FENCE));
	/* A fence is Redis's time at the grant, or higher, if the clock was set back. */
	granted_ms = granted_ms < req->now_ms ? granted_ms : req->now_ms;
	waited_ms = since_us <= 0 ? -1 : waited_ms > 0 ? waited_ms : 0;
	out_int(o, "granted_at_ms", granted_ms);
	lock_out_time(o, req, reply_int(r, LOCK_GET_EXPIRES_AT_MS));
	out_int(o, "waiter_count", reply_int(r, LOCK_GET_WAITER_COUNT));
	out_int_or_null(o, "longest_wait_ms", waited_ms >= 0, waited_ms);
	out_int_or_null(o, "polled_ms", polled_ms >= 0, polled_ms);
	out_int(o, "holder_count", reply_int(r, LOCK_GET_HOLDER_COUNT));
	lock_out_holders(o, req, r, LOCK_GET_HOLDERS, false);
	out_array(o, "findings");
	find_waiting(o, req, name, r, waited_ms, polled_ms, req->now_ms - granted_ms);
	out_close(o);
	out_close(o);
}

void lock_list(struct request *req, const struct lock_list_input *in)
{
	static const struct list_of locks = { .kind = KEY_LOCK, .is_indexed = true, .look = get_one, .item = item_of };

	if (!lock_quorum_has_no(req, "the list of locks"))
		list_keys(req, &locks, in->match, in->cursor, in->limit);
}
