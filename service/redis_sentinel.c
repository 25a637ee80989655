/* redis_sentinel: see redis_sentinel.h. Owns one connection; who the master is it only tells. */
#include "redis_sentinel.h"

#include <stdio.h>
#include <stdlib.h>

#include "config.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "redis_link.h"

enum { PING_MS = 5000, DOUBT_MS = 200 };

static const struct redis_urls *sentinels;
static void (*told)(struct text host, long port);
static struct redis_url url; /* of the one that is asked now */
static size_t turn;
static struct redis_link *link_;
static unsigned owed;       /* answers */
static struct timer timer;  /* while answers are owed: the deadline of the next one; else the next PING */
static struct timer doubts; /* when the next one is asked */
static int64_t asked_us;
static char trouble[LINK_WHY_BYTES + 128] = "no Sentinel was asked yet";

const char *sentinel_trouble(void)
{
	return trouble;
}

void sentinel_flush(void)
{
	if (link_)
		link_flush(link_);
}

static void set_timer(void)
{
	timer_set(&timer, loop_now_us() + (owed > 0 ? config()->redis_timeout_ms : PING_MS) * 1000);
}

static void say(const struct text *args, size_t count)
{
	if (!link_say(link_, args, count))
		link_drop(link_, "no memory to ask");
	else if (owed++ == 0)
		set_timer();
}

static void on_up(struct redis_link *l)
{
	(void)l;
	owed = 0;
	asked_us = loop_now_us();
	say((struct text[]){ TEXT("SENTINEL"), TEXT("GET-MASTER-ADDR-BY-NAME"), text_of(sentinels->master) }, 3);
	say((struct text[]){ TEXT("SUBSCRIBE"), TEXT("+switch-master") }, 2);
}

static void note(const char *why)
{
	bool news = strstr(trouble, why) == NULL;

	snprintf(trouble, sizeof(trouble), "Sentinel %.60s: %s", url.address, why);
	log_event(news ? LOG_WARN : LOG_DEBUG, "sentinel_trouble", "%s", trouble);
}

/* The next attempt goes to the next one. */
static void on_down(struct redis_link *l, const char *why, bool was_up)
{
	(void)l;
	(void)was_up;
	timer_stop(&timer);
	owed = 0;
	note(why);
	url = sentinels->at[++turn % sentinels->count];
}

static void on_doubt(struct timer *t)
{
	(void)t;
	link_drop(link_, "the master that it told of does not serve; another one is asked");
}

void sentinel_doubt(void)
{
	int64_t at_us = asked_us + DOUBT_MS * 1000;

	if (!doubts.place && link_is_ready(link_))
		timer_set(&doubts, at_us > loop_now_us() ? at_us : loop_now_us());
}

static void on_timer(struct timer *t)
{
	(void)t;
	if (owed > 0) {
		metrics_count(METRIC_redis_timeouts);
		link_drop(link_, "it did not answer in time");
	} else {
		say((struct text[]){ TEXT("PING") }, 1);
	}
}

/* The next word of a text, taken off it; absent at its end. */
static struct text next_word(struct text *rest)
{
	const char *space = rest->at ? memchr(rest->at, ' ', rest->len) : NULL;
	struct text word = { rest->at, space ? (size_t)(space - rest->at) : rest->len };

	*rest = space ? (struct text){ space + 1, rest->len - word.len - 1 } : (struct text){ 0 };
	return word;
}

/* "<name> <old host> <old port> <host> <port>" */
static void on_switch(struct text message)
{
	struct text words[5];

	for (size_t i = 0; i < 5; i++)
		words[i] = next_word(&message);
	if (text_is(words[0], sentinels->master) && words[4].at)
		told(words[3], strtol(words[4].at, NULL, 10));
}

/* The answer to the question, to SUBSCRIBE or to PING; or a message. */
static void on_said(struct redis_link *l, const struct reply *reply)
{
	char why[LINK_WHY_BYTES];

	if (text_is(reply_text(reply, 0), "message")) {
		on_switch(reply_text(reply, 2));
		return;
	}
	if (owed == 0) {
		link_drop(l, "it said something that was not asked for");
		return;
	}
	owed--;
	set_timer();
	if (reply->type == REPLY_ERROR) {
		link_drop(l, reply->text.at);
	} else if (reply->type == REPLY_NIL) {
		snprintf(why, sizeof(why), "it knows no master named '%s'", sentinels->master);
		link_drop(l, why);
	} else if (reply->type == REPLY_ARRAY && reply->count == 2 && !text_is(reply_text(reply, 0), "pong")) {
		told(reply_text(reply, 0), (long)reply_int(reply, 1));
	}
}

bool sentinel_open(const struct redis_urls *from, void (*found)(struct text host, long port))
{
	static const struct redis_link_owner owner = { .up = on_up, .down = on_down, .said = on_said };

	sentinels = from;
	told = found;
	url = from->at[0];
	timer.expired = on_timer;
	doubts.expired = on_doubt;
	link_ = link_new(&url, &owner, NULL);
	if (link_)
		link_open(link_);
	return link_ != NULL;
}

void sentinel_close(void)
{
	timer_stop(&timer);
	timer_stop(&doubts);
	link_free(link_);
	link_ = NULL;
}
