/* queue_content: see queue_content.h. */
#include "queues/queue_content.h"

static struct text headers_of(struct request *req, const struct queue_message_send_messages_item *m)
{
	struct json_out o;

	if (!m->headers.count)
		return TEXT("");
	out_init(&o, &req->arena, 256);
	out_object(&o, NULL);
	for (size_t i = 0; i < m->headers.count; i++) {
		out_key(&o, m->headers.items[i].key);
		out_text(&o, NULL, m->headers.items[i].value);
	}
	out_close(&o);
	return out_all(&o);
}

struct text queue_content(struct request *req, const struct queue_message_send_messages_item *m)
{
	struct text traceparent = m->traceparent.at ? m->traceparent : req->traceparent, tab = TEXT("\t");

	if (!traceparent.at && !m->headers.count)
		return m->body;
	struct text parts[] = { tab, traceparent, tab, headers_of(req, m), tab, m->body };
	return arena_join(&req->arena, parts, sizeof(parts) / sizeof(parts[0]));
}

void queue_content_out(struct json_out *o, struct text content)
{
	struct text body = content, traceparent = { 0 }, headers = { 0 };

	if (content.len && *content.at == '\t') {
		text_cut(&body, '\t');
		traceparent = text_cut(&body, '\t');
		headers = text_cut(&body, '\t');
	}
	out_raw(o, "body", body);
	if (traceparent.len)
		out_text(o, "traceparent", traceparent);
	if (headers.len)
		out_raw(o, "headers", arena_copy(o->arena, headers.at, headers.len)); /* JSON is read up to a NUL */
}
