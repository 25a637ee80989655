/*
 * subscriber: see subscriber.h.
 *
 * Each SSUBSCRIBE, SUNSUBSCRIBE and PING is owed an answer. One that is overdue loses the connection; a PING now and then makes sure that
 * a connection that died in silence is noticed, as long as anything is listened to.
 */
#include "subscriber.h"

#include <string.h>

#include "config.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "redis.h"
#include "redis_link.h"

enum { PING_MS = 10000 };

static const struct subscriber_owner *owner;
static struct redis_link *link_;
static unsigned owed;       /* answers */
static unsigned channels;   /* listened to */
static struct timer timer;  /* while answers are owed: the deadline of the next one; else the next PING */
static bool refusal_logged; /* on this connection */

bool subscriber_is_up(void)
{
	return link_ && link_is_ready(link_);
}

static void set_timer(void)
{
	if (owed > 0)
		timer_set(&timer, loop_now_us() + config()->redis_timeout_ms * 1000);
	else if (channels > 0)
		timer_set(&timer, loop_now_us() + PING_MS * 1000);
	else
		timer_stop(&timer);
}

static void say(const struct text *args, size_t count)
{
	if (!link_say(link_, args, count)) {
		link_drop(link_, "no memory to subscribe");
		return;
	}
	if (owed++ == 0)
		set_timer();
}

void subscriber_listen(struct text channel)
{
	channels++;
	say((struct text[]){ TEXT("SSUBSCRIBE"), channel }, 2);
}

void subscriber_ignore(struct text channel)
{
	if (channels > 0)
		channels--;
	say((struct text[]){ TEXT("SUNSUBSCRIBE"), channel }, 2);
}

void subscriber_flush(void)
{
	if (link_)
		link_flush(link_);
}

static void on_timer(struct timer *t)
{
	(void)t;
	if (owed > 0) {
		metrics_count(METRIC_redis_timeouts);
		link_drop(link_, "no answer to a subscription in time");
	} else {
		say((struct text[]){ TEXT("PING") }, 1);
	}
}

static void on_up(struct redis_link *l)
{
	(void)l;
	owed = channels = 0;
	refusal_logged = false;
	owner->up();
}

static void on_down(struct redis_link *l, const char *why, bool was_up)
{
	(void)l;
	(void)why; /* the pool says so too */
	timer_stop(&timer);
	owed = channels = 0;
	if (was_up)
		owner->down();
}

/* An ACL without the channels: who waits is then not woken, but still tries at the end of his time. */
static void log_refusal(struct text error)
{
	if (!refusal_logged)
		log_event(LOG_ERROR, "subscription_refused", "nobody who waits will be woken: %s", error.at);
	refusal_logged = true;
}

/* [kind, channel, message or count], or the answer to a PING. */
static void on_said(struct redis_link *l, const struct reply *reply)
{
	struct text kind = reply_text(reply, 0);

	if (text_is(kind, "smessage")) {
		owner->heard(reply_text(reply, 1), reply_text(reply, 2));
		return;
	}
	if (owed == 0) {
		metrics_count(METRIC_redis_protocol_errors);
		link_drop(l, "it said something that was not asked for");
		return;
	}
	owed--;
	set_timer();
	if (text_is(kind, "ssubscribe"))
		owner->listening(reply_text(reply, 1));
	else if (reply->type == REPLY_ERROR)
		log_refusal(reply->text);
}

bool subscriber_open(const struct subscriber_owner *told)
{
	static const struct redis_link_owner link_owner = { on_up, on_down, on_said };

	owner = told;
	timer.expired = on_timer;
	link_ = link_new(redis_target(), &link_owner);
	if (link_)
		link_open(link_);
	return link_ != NULL;
}

void subscriber_close(void)
{
	if (!link_)
		return;
	timer_stop(&timer);
	link_free(link_);
	link_ = NULL;
}
