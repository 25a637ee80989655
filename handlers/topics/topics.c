/*
 * topics: publish, and listen as server-sent events. Nothing is stored: only clients that listen
 * now receive a message, and a topic is no more than its subscriptions in Redis.
 */
#include <stdlib.h>

#include "common/handler.h"
#include "common/kinds.h"

enum { ALIVE_MS = 15000 }; /* between keep-alive comments, for proxies and clients */

/* One stream. */
struct topic_listener {
	struct channel_listener listener;
	struct stream *stream; /* (ref) */
	struct loop_timer alive;
	bool has_listened;
};

/* ---- GET /topics/{name} ---- */

static void on_state(struct request *req, const struct reply *r)
{
	const struct topic_get_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "daemons", reply_int(r, TOPIC_GET_DAEMONS));
	answer_end(req);
}

void topic_get(struct request *req, const struct topic_get_input *in)
{
	call_send(handler_call(req, &topic_get_script, KEY_TOPIC, in->name), on_state);
}

/* ---- GET /topics ---- */

static struct call *get_one(struct request *req, struct text name, struct text part)
{
	(void)part;
	return handler_call(req, &topic_get_script, KEY_TOPIC, name);
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	(void)req, (void)part;
	if (reply_int(r, TOPIC_GET_DAEMONS) == 0)
		return;
	out_object(o, NULL);
	out_text(o, "name", name);
	out_int(o, "daemons", reply_int(r, TOPIC_GET_DAEMONS));
	out_close(o);
}

void topic_list(struct request *req, const struct topic_list_input *in)
{
	static const struct list_of topics = {
		.kind = KEY_TOPIC, .is_channels = true, .look = get_one, .item = item_of
	};

	list_keys(req, &topics, in->match, in->cursor, in->limit);
}

/* ---- POST /topics/{name} ---- */

static void on_published(struct request *req, const struct reply *r)
{
	const struct topic_publish_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "published_at_ms", reply_int(r, TOPIC_PUBLISH_PUBLISHED_AT_MS));
	out_int(o, "daemons", reply_int(r, TOPIC_PUBLISH_DAEMONS));
	answer_end(req);
}

void topic_publish(struct request *req, const struct topic_publish_input *in)
{
	struct call *c = handler_call(req, &topic_publish_script, KEY_TOPIC, in->name);

	call_text(c, in->body);
	call_send(c, on_published);
}

/* ---- GET /topics/{name}/stream ---- */

static void on_subscribed(struct channel_listener *h)
{
	struct topic_listener *l = container_of(h, struct topic_listener, listener);

	stream_event(l->stream, l->has_listened ? "gap" : "listening", TEXT("{}"));
	l->has_listened = true;
}

static void on_message(struct channel_listener *h, struct text message)
{
	struct topic_listener *l = container_of(h, struct topic_listener, listener);

	stream_event(l->stream, "message", message);
}

static void on_alive(struct loop_timer *t)
{
	struct topic_listener *l = container_of(t, struct topic_listener, alive);

	stream_comment(l->stream, "alive");
	loop_timer_set(t, loop_now_us() + ALIVE_MS * 1000);
}

static void on_ended(void *context)
{
	struct topic_listener *l = context;

	loop_timer_stop(&l->alive);
	channel_unlisten(&l->listener);
	free(l);
}

void topic_stream(struct request *req, const struct topic_stream_input *in)
{
	static const struct stream_callbacks owner = { .ended = on_ended };
	struct text channel = call_key_name(req, KEY_TOPIC, in->name, NULL);

	if (!wait_has_room(req))
		return;
	struct topic_listener *l = calloc(1, sizeof(*l));
	if (!l) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	l->listener.subscribed = on_subscribed;
	l->listener.message = on_message;
	l->alive.expired = on_alive;
	if (!channel_can_subscribe(channel)) {
		free(l);
		answer_problem(req, P_REDIS_UNAVAILABLE,
			       "Redis is not usable: no connection to subscribe to the topic");
		return;
	}
	l->stream = stream_begin(req, &owner, l);
	if (!l->stream) {
		free(l);
		return;
	}
	if (channel_listen(&l->listener, channel))
		loop_timer_set(&l->alive, loop_now_us() + ALIVE_MS * 1000);
	else
		stream_end(l->stream);
}
