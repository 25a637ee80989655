/*
 * semaphores: at most a number of permits at once, each with an expiry. Each operation is one
 * script (lua/semaphores/semaphore_*.lua); waiters have a wait queue, as for a lock. Only the
 * scripts choose the waiter that gets a free permit.
 *
 * A permit is a secret, like a lock's token: only its holder gets it, and Redis stores its digest.
 */
#include "common/handler.h"
#include "common/key_kinds.h"
#include "common/kind.h"

/* The permit that the request may get. */
struct semaphore_permit {
	struct text permit, hash;
	char limit[TEXT_DIGITS]; /* the limit, as the end of the ticket */
};

static const char *const wait_parts[] = { "permits", "waiters", NULL };

static struct call *semaphore_call(struct request *req, const struct script *s, struct text name)
{
	struct call *c = handler_call(req, s, KEY_SEMAPHORE, name);

	for (const char *const *part = wait_parts; *part; part++)
		call_key(c, KEY_SEMAPHORE, name, *part);
	return c;
}

static void out_owner(struct json_out *o, struct text owner)
{
	out_text_or_null(o, "owner", owner);
}

static void answer_expired(struct request *req, struct text name)
{
	answer_problem(req, P_PERMIT_EXPIRED, "the permit of '%s' has expired or was released", name.at);
}

/* ---- POST /semaphores/{name}/permits ---- */

static void answer_none_free(struct request *req, const struct reply *r)
{
	const struct semaphore_permit_acquire_input *in = req->input;
	int64_t held = reply_int(r, SEMAPHORE_REFUSAL_HELD);
	int64_t next_ms = request_ms_until(req, reply_int(r, SEMAPHORE_REFUSAL_NEXT_AT_MS));
	struct json_out *o;

	answer_retry_after_ms(req, next_ms);
	if (held < in->limit)
		o = answer_begin_problem(req, P_NO_PERMIT, "the free permit of '%s' is reserved for a waiting client",
					 in->name.at);
	else if (in->limit == 1)
		o = answer_begin_problem(req, P_NO_PERMIT, "the only permit of '%s' is taken; it expires in %lld ms",
					 in->name.at, (long long)next_ms);
	else
		o = answer_begin_problem(req, P_NO_PERMIT,
					 "all %lld permits of '%s' are taken; the first expires in %lld ms",
					 (long long)in->limit, in->name.at, (long long)next_ms);
	out_int(o, "limit", in->limit);
	out_int(o, "permits_held", held);
	out_int(o, "waiter_count", reply_int(r, SEMAPHORE_REFUSAL_WAITER_COUNT));
	answer_end(req);
}

static void attempt(struct request *req);

static void on_acquired(struct request *req, const struct reply *r)
{
	const struct semaphore_permit_acquire_input *in = req->input;
	const struct semaphore_permit *new = req->work;

	if (!req->result->replayed && (reply_outcome(r) > 0 || wait_left_ms(req) == 0))
		wait_ticket_left(req);
	if (reply_outcome(r) == SEMAPHORE_PERMIT_ACQUIRE_NONE_FREE) {
		wait_look_at(req, reply_int(r, SEMAPHORE_REFUSAL_NEXT_AT_MS));
		req->on_disconnect = NULL; /* there is nothing to release */
		if (!wait_park(req, attempt))
			answer_none_free(req, r);
		return;
	}
	int64_t expires_at_ms = reply_int(r, SEMAPHORE_PERMIT_ACQUIRE_EXPIRES_AT_MS);
	struct text sealed = reply_text(r, SEMAPHORE_PERMIT_ACQUIRE_SEALED);
	struct text permit = sealed.len ? seal_mask(req, sealed) : new->permit;
	if (request_is_past(req, expires_at_ms)) {
		answer_problem_effect(req, P_PERMIT_EXPIRED, EFFECT_APPLIED,
				      "the original request succeeded, but the permit of '%s' has expired",
				      in->name.at);
		return;
	}
	struct json_out *o = answer_begin(req, 201);
	out_text(o, "name", in->name);
	answer_location(req, (struct text[]){ TEXT("semaphores"), in->name, TEXT("permits"), permit }, 4);
	out_text(o, "permit", permit);
	out_owner(o, reply_text(r, SEMAPHORE_PERMIT_ACQUIRE_OWNER));
	out_int(o, "limit", in->limit);
	out_int(o, "permits_held", reply_int(r, SEMAPHORE_PERMIT_ACQUIRE_HELD));
	out_int(o, "ttl_ms", request_ms_until(req, expires_at_ms));
	out_int(o, "expires_at_ms", expires_at_ms);
	out_int(o, "waited_ms", wait_waited_ms(req));
	answer_end(req);
}

static void release(struct request *req, struct text name, struct text hash, call_done done)
{
	struct call *c = semaphore_call(req, &semaphore_permit_leave_script, name);

	call_string(c, ""); /* no ticket */
	call_text(c, hash);
	call_send(c, done);
}

/*
 * The client disconnected. Releases what the present attempt may have acquired, unless the client
 * could claim it by a retry.
 */
static void on_disconnect(struct request *req, const struct reply *r)
{
	const struct semaphore_permit_acquire_input *in = req->input;
	const struct semaphore_permit *new = req->work;

	(void)r;
	if (!req->asked.idempotency_key.at)
		release(req, in->name, new->hash, NULL);
}

static void attempt(struct request *req)
{
	static const struct ticket_queue queue = { &semaphore_permit_leave_script, wait_parts };
	const struct semaphore_permit_acquire_input *in = req->input;
	struct semaphore_permit *new = req->work;
	struct call *c = semaphore_call(req, &semaphore_permit_acquire_script, in->name);

	req->on_disconnect = on_disconnect;
	call_int(c, in->limit);
	call_int(c, in->ttl_ms);
	call_text(c, in->owner);
	call_text(c, new->hash);
	call_text(c, req->asked.idempotency_key.at ? seal_mask(req, new->permit) : TEXT(""));
	/* The ticket has the limit: the script must know which limit the first waiter asks for. */
	wait_arguments(req, c, &queue, text_of_int(in->limit, new->limit));
	call_send(c, on_acquired);
}

void semaphore_permit_acquire(struct request *req, const struct semaphore_permit_acquire_input *in)
{
	struct semaphore_permit *new = arena_alloc(&req->arena, sizeof(*new));

	if (!new) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	new->permit = handler_random(req, HANDLER_SECRET_DIGITS);
	new->hash = handler_secret_hash(req, new->permit);
	req->work = new;
	if (!wait_begin(req, in->wait_ms, 1))
		return;
	wait_on(req, call_key_name(req, KEY_SEMAPHORE, in->name, NULL));
	attempt(req);
}

/* ---- GET /semaphores/{name}/permits/{permit} ---- */

static void on_permit(struct request *req, const struct reply *r)
{
	const struct semaphore_permit_get_input *in = req->input;

	if (reply_outcome(r) == SEMAPHORE_PERMIT_GET_ENDED) {
		answer_expired(req, in->name);
		return;
	}
	int64_t expires_at_ms = reply_int(r, SEMAPHORE_PERMIT_GET_EXPIRES_AT_MS);
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_text(o, "permit", in->permit);
	out_owner(o, reply_text(r, SEMAPHORE_PERMIT_GET_OWNER));
	out_int(o, "ttl_ms", request_ms_until(req, expires_at_ms));
	out_int(o, "expires_at_ms", expires_at_ms);
	answer_end(req);
}

void semaphore_permit_get(struct request *req, const struct semaphore_permit_get_input *in)
{
	struct call *c = semaphore_call(req, &semaphore_permit_get_script, in->name);

	call_text(c, handler_secret_hash(req, in->permit));
	call_send(c, on_permit);
}

/* ---- DELETE /semaphores/{name}/permits/{permit} ---- */

static void on_released(struct request *req, const struct reply *r)
{
	const struct semaphore_permit_release_input *in = req->input;

	if (reply_outcome(r) >= 0)
		answer_empty(req, 204);
	else
		answer_expired(req, in->name);
}

void semaphore_permit_release(struct request *req, const struct semaphore_permit_release_input *in)
{
	release(req, in->name, handler_secret_hash(req, in->permit), on_released);
}

/* ---- POST /semaphores/{name}/permits/{permit}/extend ---- */

static void on_extended(struct request *req, const struct reply *r)
{
	const struct semaphore_permit_extend_input *in = req->input;
	int64_t expires_at_ms = reply_int(r, SEMAPHORE_PERMIT_EXTEND_EXPIRES_AT_MS);

	if (reply_outcome(r) == SEMAPHORE_PERMIT_EXTEND_ENDED) {
		answer_expired(req, in->name);
		return;
	}
	if (request_is_past(req, expires_at_ms)) {
		answer_problem_effect(req, P_PERMIT_EXPIRED, EFFECT_APPLIED,
				      "the original request succeeded, but the permit of '%s' has expired",
				      in->name.at);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_int(o, "ttl_ms", request_ms_until(req, expires_at_ms));
	out_int(o, "expires_at_ms", expires_at_ms);
	answer_end(req);
}

void semaphore_permit_extend(struct request *req, const struct semaphore_permit_extend_input *in)
{
	struct call *c = semaphore_call(req, &semaphore_permit_extend_script, in->name);

	call_text(c, handler_secret_hash(req, in->permit));
	call_int(c, in->ttl_ms);
	call_send(c, on_extended);
}

/* ---- GET /semaphores/{name} ---- */

static void out_state(struct json_out *o, struct text name, const struct reply *r)
{
	int64_t held = reply_int(r, SEMAPHORE_GET_HELD);

	out_text(o, "name", name);
	out_int_or_null(o, "limit", held > 0, reply_int(r, SEMAPHORE_GET_LIMIT));
	out_int(o, "permits_held", held);
	out_int(o, "waiter_count", reply_int(r, SEMAPHORE_GET_WAITER_COUNT));
}

static void on_state(struct request *req, const struct reply *r)
{
	const struct semaphore_get_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_state(o, in->name, r);
	out_array(o, "holders");
	for (size_t i = SEMAPHORE_GET_HOLDERS; i < r->count; i += SEMAPHORE_HOLDER_ITEMS) {
		int64_t expires_at_ms = reply_int(r, i + SEMAPHORE_HOLDER_EXPIRES_AT_MS);
		out_object(o, NULL);
		out_owner(o, reply_text(r, i + SEMAPHORE_HOLDER_OWNER));
		out_int(o, "ttl_ms", request_ms_until(req, expires_at_ms));
		out_int(o, "expires_at_ms", expires_at_ms);
		out_close(o);
	}
	out_close(o);
	answer_end(req);
}

void semaphore_get(struct request *req, const struct semaphore_get_input *in)
{
	call_send(semaphore_call(req, &semaphore_get_script, in->name), on_state);
}

/* ---- DELETE /semaphores/{name}, GET /semaphores ---- */

/* After the last release, the key stays until the last permit would have expired. */
const struct kind semaphore_kind = {
	.list = { .kind = KEY_SEMAPHORE, .is_indexed = true, .look = kind_look, .item = kind_item },
	.missing = { "semaphore ", " does not exist" },
	.get = &semaphore_get_script,
	.delete = &semaphore_delete_script,
	.call = semaphore_call,
	.out = out_state,
};
