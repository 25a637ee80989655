/*
 * lock_hold: POST /locks/{name}/hold: a lock that is held as long as its connection is open,
 * reported as server-sent events.
 *
 * The daemon renews the lock after each third of its time to live. If it cannot, because it died or
 * Redis is not reachable, the lock expires. Each renewal is a request without a client.
 *
 *	held       `ending` is NULL; the timer renews
 *	releasing  `ending` is set; lock_leave is under way
 *	ended      `is_lost`: the last event was sent; freed once `stream` is NULL and `calls` is 0
 */
#include <stdlib.h>

#include "locks/acquire.h"
#include "locks/lock_quorum.h"

struct lock_hold {
	struct stream *stream;      /* (ref) NULL once the client has disconnected */
	const struct operation *op; /* (ref) */
	int64_t ttl_ms;
	/*
	 * Redis has the lock at least until then, by the loop's clock, counted from the sending of
	 * the renewal
	 */
	int64_t sure_until_us;
	int64_t asked_us;     /* when the latest renewal was sent */
	int64_t max_until_us; /* INT64_MAX: as long as the connection is open */
	struct loop_timer timer;
	unsigned calls;     /* number of calls under way */
	const char *ending; /* the event that will report the release; NULL while the lock is held */
	const char *reason; /* the reason in that event */
	bool is_lost;
	struct text name, token_hash; /* stored after the struct */
};

static void free_when_unneeded(struct lock_hold *h)
{
	if (h->stream || h->calls)
		return;
	loop_timer_stop(&h->timer);
	free(h);
}

/* Sends the last event. `reason` is a code, `detail` a sentence or NULL. */
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
		    req->answer.problem ? "the lock could not be released; it stays held until it expires" : NULL);
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
		end(h, "lost", "out_of_memory", "the daemon is out of memory; the lock stays held until it expires");
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

/* Redis does not have the token any more. Before sure_until_us it cannot have expired. */
static void end_gone(struct lock_hold *h)
{
	if (loop_now_us() < h->sure_until_us)
		end(h, "lost", "released", "another call released the lock, or Redis lost it");
	else
		end(h, "lost", "expired", "the lock expired before it was renewed");
}

/*
 * A reply to an earlier renewal may arrive after a later one was sent. Each reply counts from when
 * its own renewal was sent.
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

/* Also called when Redis could not be reached: it is tried again until the lock expires. */
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

/* ---- The connection ---- */

static void on_ended(void *context)
{
	struct lock_hold *h = context;

	/* no client receives the event, but the stream keeps the hold until on_ended returns */
	release(h, "released", "left");
	h->stream = NULL;
	free_when_unneeded(h);
}

static void on_drain(void *context)
{
	release(context, "closing", "drain");
}

/* Makes a hold, with copies of what it needs. NULL: memory ran out. */
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

	if (!h || req->arena.failed) { /* the lock expires */
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
	if (lock_quorum_has_no(req, "a lock that lives as long as its connection") ||
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
