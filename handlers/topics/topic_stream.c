/*
 * topic_stream: streams the messages of topics as server-sent events: one topic, or several topics
 * and patterns.
 *
 * Each named topic has a sharded channel. Messages for patterns arrive from all servers by one
 * classic channel (wait/broadcast.h), each after its topic's key; this file selects the messages
 * that match.
 */
#include "common/handler.h"
#include "common/key_kinds.h"
#include "topics/topic_name.h"
#include "wait/broadcast.h"

enum { ALIVE_MS = 15000 }; /* between keep-alive comments, which keep proxies and clients from closing the connection */

/* A named topic that a stream listens to. */
struct topic_listener {
	struct channel_listener listener;
	struct topic_stream *of; /* (ref) */
};

/* One stream. In the request's arena. */
struct topic_stream {
	struct request *req;   /* (ref) */
	struct stream *stream; /* (ref) */
	struct loop_timer alive;
	struct broadcast_listener all; /* listens for the patterns */
	const struct text *names;
	size_t count;
	bool names_topic; /* each message names its topic */
	bool has_listened;
	bool has_gap;                  /* report a gap before the next message */
	struct topic_listener *topics; /* an array with a place per name; the places of patterns are unused */
};

static bool has_pattern(const struct topic_stream *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (topic_name_is_pattern(t->names[i]))
			return true;
	return false;
}

/* ---- Subscriptions ---- */

/*
 * is_complete: all channels are subscribed. is_settled: each channel is subscribed, or its server
 * is not reachable.
 */
static void look(const struct topic_stream *t, bool *is_complete, bool *is_settled)
{
	bool waits_for_all = has_pattern(t);

	*is_complete = !waits_for_all || (t->all.is_listening && broadcast_is_subscribed());
	*is_settled = !waits_for_all || broadcast_is_settled();
	for (size_t i = 0; i < t->count; i++) {
		const struct channel *ch = t->topics[i].listener.channel;
		if (topic_name_is_pattern(t->names[i]))
			continue;
		*is_complete &= ch && ch->state == CHANNEL_SUBSCRIBED;
		*is_settled &= !ch || ch->state != CHANNEL_SUBSCRIBING;
	}
}

/*
 * Called when another channel is subscribed, or subscribed again. Channels that are lost together
 * make one gap, which is reported before any message.
 */
static void on_some_subscribed(struct topic_stream *t)
{
	bool is_complete, is_settled;

	look(t, &is_complete, &is_settled);
	if (!t->has_listened && !is_complete)
		return;
	t->has_gap = t->has_listened && !is_settled;
	if (!t->has_gap)
		stream_event(t->stream, t->has_listened ? "gap" : "listening", TEXT("{}"));
	t->has_listened = true;
}

static void on_subscribed(struct channel_listener *h)
{
	struct topic_listener *l = container_of(h, struct topic_listener, listener);

	on_some_subscribed(l->of);
}

static void on_all_subscribed(struct broadcast_listener *h)
{
	on_some_subscribed(container_of(h, struct topic_stream, all));
}

/* ---- Messages ---- */

static void send(struct topic_stream *t, struct text message)
{
	if (t->has_gap)
		stream_event(t->stream, "gap", TEXT("{}"));
	t->has_gap = false;
	if (t->has_listened)
		stream_event(t->stream, "message", message);
}

/*
 * Writes a message with its topic as the first member. A message is an object of this daemon's
 * script, or anything that another client of Redis has published.
 */
static void send_named(struct topic_stream *t, struct text topic, struct text message)
{
	struct arena_mark before = arena_mark(&t->req->arena);
	struct json_out o;

	if (message.len < 2 || message.at[0] != '{')
		return;
	out_init(&o, &t->req->arena, message.len + topic.len + 64);
	out_object(&o, NULL);
	out_text(&o, "topic", topic);
	struct text head = out_all(&o);
	struct text parts[] = { head, TEXT(","), { message.at + 1, message.len - 1 } };
	struct text data = head.at ? arena_join(&t->req->arena, parts, sizeof(parts) / sizeof(parts[0])) : head;
	if (data.at)
		send(t, data);
	else /* memory ran out: a stream must not skip a message */
		stream_end(t->stream);
	arena_rewind(&t->req->arena, before);
}

static void on_message(struct channel_listener *h, struct text message)
{
	struct topic_listener *l = container_of(h, struct topic_listener, listener);

	if (l->of->names_topic)
		send_named(l->of, topic_name_of(h->channel->name), message);
	else
		send(l->of, message);
}

static void on_any_message(struct broadcast_listener *h, struct text key, struct text message)
{
	struct topic_stream *t = container_of(h, struct topic_stream, all);
	struct text topic = topic_name_of(key);

	for (size_t i = 0; topic.at && i < t->count; i++)
		if (topic_name_covers(t->names[i], topic)) {
			send_named(t, topic, message);
			return;
		}
}

/* ---- Begin and end ---- */

static void on_alive(struct loop_timer *timer)
{
	struct topic_stream *t = container_of(timer, struct topic_stream, alive);

	stream_comment(t->stream, "alive");
	loop_timer_set(timer, loop_now_us() + ALIVE_MS * 1000);
}

static void on_ended(void *context)
{
	struct topic_stream *t = context;

	loop_timer_stop(&t->alive);
	for (size_t i = 0; i < t->count; i++)
		channel_unlisten(&t->topics[i].listener);
	broadcast_unlisten(&t->all);
}

static struct text channel_of(struct request *req, struct text topic)
{
	return call_key_name(req, KEY_TOPIC, topic, NULL);
}

static bool can_subscribe(const struct topic_stream *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (!topic_name_is_pattern(t->names[i]) && !channel_can_subscribe(channel_of(t->req, t->names[i])))
			return false;
	return !has_pattern(t) || broadcast_can_subscribe();
}

/* False: memory ran out. */
static bool listen(struct topic_stream *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct topic_listener *l = &t->topics[i];
		*l = (struct topic_listener){ { .subscribed = on_subscribed, .message = on_message }, t };
		if (!topic_name_is_pattern(t->names[i]) &&
		    !channel_listen(&l->listener, channel_of(t->req, t->names[i])))
			return false;
	}
	t->all.subscribed = on_all_subscribed;
	t->all.message = on_any_message;
	return !has_pattern(t) || broadcast_listen(&t->all, channel_of(t->req, TOPIC_OF_PATTERNS));
}

static void begin(struct request *req, const struct text *names, size_t count, bool names_topic)
{
	static const struct stream_callbacks owner = { .ended = on_ended };

	if (!wait_has_room(req))
		return;
	struct topic_stream *t = arena_alloc(&req->arena, sizeof(*t));
	struct topic_listener *topics = arena_alloc(&req->arena, count * sizeof(*topics));
	if (!t || !topics) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*t = (struct topic_stream){
		.req = req, .names = names, .count = count, .names_topic = names_topic, .topics = topics
	};
	t->alive.expired = on_alive;
	if (!can_subscribe(t)) {
		answer_problem(req, P_REDIS_UNAVAILABLE,
			       "Redis is not usable: no connection to subscribe to the topic%s", count > 1 ? "s" : "");
		return;
	}
	t->stream = stream_begin(req, &owner, t);
	if (!t->stream)
		return;
	if (listen(t))
		loop_timer_set(&t->alive, loop_now_us() + ALIVE_MS * 1000);
	else
		stream_end(t->stream);
}

void topic_stream(struct request *req, const struct topic_stream_input *in)
{
	if (topic_name_is_one(req, in->name))
		begin(req, &in->name, 1, false);
}

void topic_list_stream(struct request *req, const struct topic_list_stream_input *in)
{
	if (topic_names_fit(req, in->name.items, in->name.count))
		begin(req, in->name.items, in->name.count, true);
}
