#include "queues/annotations.h"

#include "common/handler.h"

void annotations_call(struct request *req, struct call *c, enum annotations_change change, struct text_pairs given)
{
	static const char *const scopes[] = { "", "all", "some" };

	call_string(c, scopes[change]);
	for (size_t i = 0; change != ANNOTATIONS_STAY && i < given.count; i++) {
		struct text parts[] = { TEXT("="), given.items[i].value };
		call_text(c, given.items[i].key);
		call_text(c, parts[1].at ? arena_join(&req->arena, parts, 2) : TEXT(""));
	}
}

void annotations_out(struct json_out *o, const struct reply *r, size_t at)
{
	out_object(o, "annotations");
	for (; at < r->count; at++) {
		out_key(o, reply_text(reply_item(r, at), QUEUE_ANNOTATION_NAME));
		out_text(o, NULL, reply_text(reply_item(r, at), QUEUE_ANNOTATION_VALUE));
	}
	out_close(o);
}
