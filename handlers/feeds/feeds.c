/*
 * feeds: capped lists of JSON values, the newest first. Each operation is one script
 * (lua/feeds/feed_*.lua); only a feed that has to lose many items at once takes several calls of
 * it.
 */
#include "handler.h"
#include "kinds.h"

enum { MAX_ITEM_BYTES = 65536 };

/* ---- POST /feeds/{name} ---- */

static void answer_pushed(struct request *req, int64_t size)
{
	const struct feed_item_push_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "size", size);
	answer_end(req);
}

static struct call *push_call(struct request *req)
{
	const struct feed_item_push_input *in = req->input;
	struct call *c = handler_call(req, &feed_item_push_script, KEY_FEED, in->name);

	call_key(c, KEY_FEED, in->name, "excess");
	call_int(c, in->keep);
	return c;
}

/* The items are in. As long as the feed has an excess, call again without any, which only drops. */
static void on_pushed(struct request *req, const struct reply *r)
{
	const struct feed_item_push_input *in = req->input;

	if (reply_int(r, 3) == 0) {
		answer_pushed(req, req->has_effect ? in->keep : reply_int(r, 2));
		return;
	}
	req->has_effect = true;
	struct call *c = push_call(req);
	call_without_record(c); /* what was kept of the first call is what a replay answers */
	call_send(c, on_pushed);
}

void feed_item_push(struct request *req, const struct feed_item_push_input *in)
{
	struct call *c = push_call(req);

	for (size_t i = 0; i < in->items.count; i++) {
		struct text item = in->items.items[i];
		if (item.len > MAX_ITEM_BYTES) {
			answer_field_problem(req, P_OUT_OF_RANGE, arena_printf(&req->arena, "/items/%zu", i).at,
					     "has %zu bytes as JSON, and %d are the most", item.len, MAX_ITEM_BYTES);
			return;
		}
		call_text(c, item);
	}
	call_send(c, on_pushed);
}

/* ---- GET /feeds/{name} ---- */

static void on_read(struct request *req, const struct reply *r)
{
	const struct feed_item_list_input *in = req->input;
	int64_t size = reply_int(r, 2), next = in->offset + (int64_t)r->count - 3;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "size", size);
	out_array(o, "items");
	for (size_t i = 3; i < r->count; i++)
		out_raw(o, NULL, reply_text(r, i));
	out_close(o);
	out_int_or_null(o, "next_offset", next < size, next);
	answer_end(req);
}

void feed_item_list(struct request *req, const struct feed_item_list_input *in)
{
	struct call *c = handler_call(req, &feed_item_list_script, KEY_FEED, in->name);

	call_int(c, in->offset);
	call_int(c, in->limit);
	call_send(c, on_read);
}
