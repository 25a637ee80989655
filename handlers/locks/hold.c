/*
 * lock_hold: POST /locks/{name}/hold: a lock that is held as long as the connection lives, told as server-sent events.
 *
 * The lock's own time to live is the safety net: it is renewed each third of it, and what this daemon cannot renew any more, because it
 * died or Redis is away, runs out by itself. Each renewal is a request of its own without a client; the hold outlives them all.
 */
#include <stdlib.h>

#include "locks/quorum_locks.h"

struct hold {
	struct stream *stream;      /* (ref) NULL once its client left */
	const struct operation *op; /* (ref) */
	int64_t ttl_ms;
	int64_t sure_until_us; /* by our clock: before Redis's, since it counts from when the renewal was asked for */
	int64_t asked_us;      /* when the latest renewal was */
	int64_t max_until_us;
	struct timer timer;
	unsigned calls;     /* under way */
	const char *ending; /* why it is being released; NULL while it is held */
	bool is_lost;
	struct text name, token_hash; /* behind the struct */
};

static void free_when_unneeded(struct hold *h)
{
	if (h->stream || h->calls)
		return;
	timer_stop(&h->timer);
	free(h);
}

/* The last word. */
static void end(struct hold *h, const char *event, const char *reason)
{
	char data[128];
	int len = snprintf(data, sizeof(data), "{\"reason\":\"%s\"}", reason);

	timer_stop(&h->timer);
	h->is_lost = true;
	if (!h->stream)
		return;
	stream_event(h->stream, event, (struct text){ data, (size_t)len });
	stream_end(h->stream);
}

static struct request *begin_call(struct hold *h, void (*ended)(struct request *req))
{
	struct request *req = request_detached(h->op, h, ended);

	if (req)
		h->calls++;
	return req;
}

/* ---- Giving it back ---- */

static void on_release_ended(struct request *req)
{
	struct hold *h = req->work;

	h->calls--;
	if (!h->is_lost)
		end(h, req->problem ? "lost" : "released", h->ending);
	free_when_unneeded(h);
}

static void on_release_answered(struct request *req, const struct reply *r)
{
	(void)req;
	(void)r;
}

static void release(struct hold *h, const char *why)
{
	if (h->ending || h->is_lost)
		return;
	h->ending = why;
	timer_stop(&h->timer);
	struct request *req = begin_call(h, on_release_ended);
	if (!req) {
		end(h, "lost", "no memory");
		return;
	}
	struct call *c = script_call(req, &lock_leave_script);
	lock_call_keys(c, h->name, lock_parts_to_release);
	call_string(c, "");
	call_text(c, h->token_hash);
	call_send(c, on_release_answered);
	request_detached_go(req);
}

/* ---- Keeping it ---- */

static void schedule(struct hold *h)
{
	int64_t next_us = h->asked_us + h->ttl_ms * 1000 / 3;

	if (next_us > h->sure_until_us)
		next_us = h->sure_until_us;
	timer_set(&h->timer, next_us < h->max_until_us ? next_us : h->max_until_us);
}

/* An earlier renewal may be answered after a later one was asked for: each vouches for its own time only. */
static void on_renewed(struct request *req, const struct reply *r)
{
	struct hold *h = req->work;
	int64_t sure_until_us = req->started_us + h->ttl_ms * 1000;

	if (h->ending || h->is_lost)
		return;
	if (reply_int(r, 0) < 1) {
		end(h, "lost", "somebody else released it, or it expired");
		return;
	}
	if (sure_until_us > h->sure_until_us)
		h->sure_until_us = sure_until_us;
	if (h->stream)
		stream_comment(h->stream, "kept");
}

/* Also when Redis could not be asked: until the time is over there is another try. */
static void on_renewal_ended(struct request *req)
{
	struct hold *h = req->work;

	h->calls--;
	if (!h->ending && !h->is_lost)
		schedule(h);
	free_when_unneeded(h);
}

static void on_timer(struct timer *t)
{
	struct hold *h = container_of(t, struct hold, timer);

	if (loop_now_us() >= h->max_until_us) {
		release(h, "max_hold_ms");
		return;
	}
	if (loop_now_us() >= h->sure_until_us) {
		end(h, "lost", "Redis could not be asked in time");
		return;
	}
	h->asked_us = loop_now_us();
	schedule(h);
	struct request *req = begin_call(h, on_renewal_ended);
	if (!req)
		return;
	struct call *c = script_call(req, &lock_extend_script);
	lock_call_keys(c, h->name, lock_parts_to_extend);
	call_int(c, h->ttl_ms);
	call_text(c, h->token_hash);
	call_send(c, on_renewed);
	request_detached_go(req);
}

/* ---- Its client ---- */

static void on_left(void *whose)
{
	struct hold *h = whose;

	release(h, "left"); /* what the stream is told is heard by nobody; but it keeps the hold until this returns */
	h->stream = NULL;
	free_when_unneeded(h);
}

static void on_drain(void *whose)
{
	release(whose, "drain");
}

/* Returns new; NULL without memory. Copies what it keeps. */
static struct hold *hold_new(const struct request *req, const struct lock_take *take)
{
	const struct lock_hold_input *in = req->input;
	size_t name_len = take->names[0].len, hash_len = take->token_hash.len;
	struct hold *h = calloc(1, sizeof(*h) + name_len + hash_len + 2);

	if (!h)
		return NULL;
	char *at = (char *)(h + 1);
	h->name = (struct text){ memcpy(at, take->names[0].at, name_len), name_len };
	h->token_hash = (struct text){ memcpy(at + name_len + 1, take->token_hash.at, hash_len), hash_len };
	h->op = req->op;
	h->ttl_ms = take->ttl_ms;
	h->asked_us = take->asked_us;
	h->sure_until_us = take->asked_us + take->ttl_ms * 1000;
	h->max_until_us = loop_now_us() + in->max_hold_ms * 1000;
	h->timer.expired = on_timer;
	return h;
}

static struct text acquired_event(struct request *req, const struct lock_take *take, const struct reply *r)
{
	struct json_out o;

	out_init(&o, &req->arena, 512);
	out_object(&o, NULL);
	out_text(&o, "name", take->names[0]);
	out_text(&o, "token", take->token);
	out_int(&o, "fence", reply_int(r, LOCK_FENCES));
	lock_out_owner(&o, take->owner);
	lock_out_time(&o, req, reply_int(r, LOCK_EXPIRES_AT));
	out_int(&o, "waited_ms", wait_waited_ms(req));
	lock_out_safety(&o, &take->safety);
	out_close(&o);
	return (struct text){ o.at, o.len };
}

static void on_taken(struct request *req, const struct lock_take *take, const struct reply *r)
{
	static const struct stream_owner owner = { on_left, on_drain };
	struct hold *h = hold_new(req, take);
	struct text event = acquired_event(req, take, r);

	if (!h || req->arena.failed) { /* the lock runs out by itself */
		free(h);
		answer_no_memory(req, EFFECT_APPLIED);
		return;
	}
	h->stream = stream_begin(req, &owner, h);
	if (!h->stream) {
		free(h);
		return;
	}
	stream_event(h->stream, "acquired", event);
	schedule(h);
}

void lock_hold(struct request *req, const struct lock_hold_input *in)
{
	if (lock_quorum_has_no(req, "lock that lives as long as its connection") || !wait_has_room(req))
		return;
	req->idempotency_key = (struct text){ 0 }; /* a stream has no replay */
	lock_take(req, &(struct lock_take){
			       .names = &in->name,
			       .count = 1,
			       .ttl_ms = in->ttl_ms,
			       .wait_ms = in->wait_ms,
			       .owner = in->owner,
			       .mode = "exclusive",
			       .is_stream = true,
			       .taken = on_taken,
		       });
}
