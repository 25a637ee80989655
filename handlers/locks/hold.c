/*
 * lock_hold: POST /locks/{name}/hold: a lock that is held as long as the connection lives, reported
 * as server-sent events.
 *
 * The lock is renewed each third of its time to live. When this daemon cannot renew it, because it
 * died or Redis is away, the lock expires by itself. Each renewal is a request without a client;
 * the hold outlives them all.
 */
#include <stdlib.h>

#include "locks/acquire.h"
#include "locks/quorum_locks.h"

struct lock_hold {
	struct stream *stream;      /* (ref) NULL once its client left */
	const struct operation *op; /* (ref) */
	int64_t ttl_ms;
	int64_t sure_until_us; /* by our clock; Redis's ends later, since this counts from when the renewal was sent */
	int64_t asked_us;      /* when the latest renewal was sent */
	int64_t max_until_us;  /* INT64_MAX: as long as the connection lives */
	struct loop_timer timer;
	unsigned calls;     /* under way */
	const char *ending; /* the event that reports its release; NULL while it is held */
	const char *reason; /* of that event */
	bool is_lost;
	struct text name, token_hash; /* behind the struct */
};

static void free_when_unneeded(struct lock_hold *h)
{
	if (h->stream || h->calls)
		return;
	loop_timer_stop(&h->timer);
	free(h);
}

/* Sends the last event; `reason` is a code, `detail` a sentence for people or NULL. */
static void end(struct lock_hold *h, const char *event, const char *reason, const char *detail)
{
	char data[192];
	int len = snprintf(data, sizeof(data), "{\"reason\":\"%s\"%s%s%s}", reason, detail ? ",\"detail\":\"" : "",
			   detail ? detail : "", detail ? "\"" : "");

	loop_timer_stop(&h->timer);
	h->is_lost = true;
	if (!h->stream)
		return;
	stream_event(h->stream, event, (struct text){ data, (size_t)len });
	stream_end(h->stream);
}

static struct request *begin_call(struct lock_hold *h, void (*ended)(struct request *req))
{
	struct request *req = request_background(h->op, h, ended);

	if (req)
		h->calls++;
	return req;
}

/* ---- Releasing ---- */

static void on_release_ended(struct request *req)
{
	struct lock_hold *h = req->work;

	h->calls--;
	if (!h->is_lost)
		end(h, req->answer.problem ? "lost" : h->ending, h->reason,
		    req->answer.problem ? "the lock could not be released; it expires by itself" : NULL);
	free_when_unneeded(h);
}

static void on_release_answered(struct request *req, const struct reply *r)
{
	(void)req;
	(void)r;
}

static void release(struct lock_hold *h, const char *event, const char *reason)
{
	if (h->ending || h->is_lost)
		return;
	h->ending = event;
	h->reason = reason;
	loop_timer_stop(&h->timer);
	struct request *req = begin_call(h, on_release_ended);
	if (!req) {
		end(h, "lost", "out_of_memory", "the daemon is out of memory; the lock expires by itself");
		return;
	}
	struct call *c = call_script(req, &lock_leave_script);
	lock_call_keys(c, h->name, lock_parts_to_change);
	call_string(c, "");
	call_text(c, h->token_hash);
	call_send(c, on_release_answered);
	request_background_start(req);
}

/* ---- Renewing ---- */

static void schedule(struct lock_hold *h)
{
	int64_t next_us = h->asked_us + h->ttl_ms * 1000 / 3;

	if (next_us > h->sure_until_us)
		next_us = h->sure_until_us;
	loop_timer_set(&h->timer, next_us < h->max_until_us ? next_us : h->max_until_us);
}

/* Redis has the token no more. It expires there only after sure_until_us. */
static void end_gone(struct lock_hold *h)
{
	if (loop_now_us() < h->sure_until_us)
		end(h, "lost", "released", "another call released the lock, or Redis lost it");
	else
		end(h, "lost", "expired", "the lock expired before it was renewed");
}

/*
 * An earlier renewal may be answered after a later one was sent: each counts for its own time only.
 */
static void on_renewed(struct request *req, const struct reply *r)
{
	struct lock_hold *h = req->work;
	int64_t sure_until_us = req->started_us + h->ttl_ms * 1000;

	if (h->ending || h->is_lost)
		return;
	if (reply_outcome(r) == LOCK_EXTEND_NOT_HOLDER) {
		end_gone(h);
		return;
	}
	if (sure_until_us > h->sure_until_us)
		h->sure_until_us = sure_until_us;
	if (h->stream)
		stream_comment(h->stream, "kept");
}

/* Also when Redis could not be reached: until the lock expires there is another attempt. */
static void on_renewal_ended(struct request *req)
{
	struct lock_hold *h = req->work;

	h->calls--;
	if (!h->ending && !h->is_lost)
		schedule(h);
	free_when_unneeded(h);
}

static void on_timer(struct loop_timer *t)
{
	struct lock_hold *h = container_of(t, struct lock_hold, timer);

	if (loop_now_us() >= h->max_until_us) {
		release(h, "released", "max_hold_ms");
		return;
	}
	if (loop_now_us() >= h->sure_until_us) {
		end(h, "lost", "expired", "the lock could not be renewed in time");
		return;
	}
	h->asked_us = loop_now_us();
	schedule(h);
	struct request *req = begin_call(h, on_renewal_ended);
	if (!req)
		return;
	struct call *c = call_script(req, &lock_extend_script);
	lock_call_keys(c, h->name, lock_parts_to_change);
	call_int(c, h->ttl_ms);
	call_text(c, h->token_hash);
	call_send(c, on_renewed);
	request_background_start(req);
}

/* ---- Its client ---- */

static void on_ended(void *context)
{
	struct lock_hold *h = context;

	release(h, "released", "left"); /* its events go nowhere; but the stream keeps the hold until this returns */
	h->stream = NULL;
	free_when_unneeded(h);
}

static void on_drain(void *context)
{
	release(context, "closing", "drain");
}

/* Returns new; NULL without memory. Copies what it keeps. */
static struct lock_hold *hold_new(const struct request *req, const struct lock_acquisition *acquisition)
{
	const struct lock_hold_input *in = req->input;
	size_t name_len = acquisition->names[0].len, hash_len = acquisition->token_hash.len;
	struct lock_hold *h = calloc(1, sizeof(*h) + name_len + hash_len + 2);

	if (!h)
		return NULL;
	char *at = (char *)(h + 1);
	h->name = (struct text){ memcpy(at, acquisition->names[0].at, name_len), name_len };
	h->token_hash = (struct text){ memcpy(at + name_len + 1, acquisition->token_hash.at, hash_len), hash_len };
	h->op = req->op;
	h->ttl_ms = acquisition->ttl_ms;
	h->asked_us = acquisition->asked_us;
	h->sure_until_us = acquisition->asked_us + acquisition->ttl_ms * 1000;
	h->max_until_us = in->has_max_hold_ms ? loop_now_us() + in->max_hold_ms * 1000 : INT64_MAX;
	h->timer.expired = on_timer;
	return h;
}

static struct text acquired_event(struct request *req, const struct lock_acquisition *acquisition,
				  const struct reply *r)
{
	struct json_out o;

	out_init(&o, &req->arena, 512);
	out_object(&o, NULL);
	lock_out_acquired(&o, req, acquisition, r);
	out_close(&o);
	return (struct text){ o.at, o.len };
}

static void on_acquired(struct request *req, const struct lock_acquisition *acquisition, const struct reply *r)
{
	static const struct stream_callbacks owner = { on_ended, on_drain };
	struct lock_hold *h = hold_new(req, acquisition);
	struct text event = acquired_event(req, acquisition, r);

	if (!h || req->arena.failed) { /* the lock expires by itself */
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
	if (lock_quorum_has_no(req, "lock that lives as long as its connection") ||
	    lock_has_no_entry(req, "POST /locks/{name}/hold") || !wait_has_room(req))
		return;
	lock_acquire_begin(req, &(struct lock_acquisition){
					.names = &in->name,
					.count = 1,
					.ttl_ms = in->ttl_ms,
					.wait_ms = in->wait_ms,
					.owner = in->owner,
					.mode = "exclusive",
					.is_stream = true,
					.acquired = on_acquired,
				});
}
