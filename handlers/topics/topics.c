/*
 * topics: publishes messages, and lists topics with listeners. Nothing is stored: only clients that
 * listen at that moment receive a message (topic_stream.c). A topic exists only as subscriptions in
 * Redis. This file must not know listeners: Redis counts the daemons that have some.
 */
#include "common/handler.h"
#include "common/key_kinds.h"
#include "topics/topic_name.h"

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
	if (topic_name_is_one(req, in->name))
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
	out_int(o, "pattern_daemons", reply_int(r, TOPIC_PUBLISH_PATTERN_DAEMONS));
	answer_end(req);
}

void topic_publish(struct request *req, const struct topic_publish_input *in)
{
	if (!topic_name_is_one(req, in->name))
		return;
	struct call *c = handler_call(req, &topic_publish_script, KEY_TOPIC, in->name);
	call_text(c, in->body);
	call_text(c, call_key_name(req, KEY_TOPIC, TOPIC_OF_PATTERNS, NULL));
	call_send(c, on_published);
}
