/*
 * feeds: capped lists of JSON values, the newest first. Each operation is one script
 * (lua/feeds/feed_*.lua); only a feed that has to lose many items at once takes several calls of
 * it.
 */
#include "common/handler.h"
#include "common/kinds.h"

enum { MAX_ITEM_BYTES = 65536 };

/* The feed and its settings. */
static struct call *feed_call(struct request *req, const struct script *s, struct text name)
{
	struct call *c = handler_call(req, s, KEY_FEED, name);

	call_key(c, KEY_FEED, name, "meta");
	return c;
}

/* ---- GET, PATCH, DELETE /feeds/{name} ---- */

static void write_state(struct json_out *o, struct text name, const struct reply *r)
{
	out_text(o, "name", name);
	out_int(o, "size", reply_int(r, FEED_SIZE));
	out_int(o, "max_items", reply_int(r, FEED_MAX_ITEMS));
	handler_out_expiry(o, r, FEED_EXPIRES_AT_MS);
}

static void answer_state(struct request *req, struct text name, const struct reply *r)
{
	write_state(answer_begin(req, 200), name, r);
	answer_end(req);
}

static void on_state(struct request *req, const struct reply *r)
{
	const struct feed_get_input *in = req->input;

	answer_state(req, in->name, r);
}

void feed_get(struct request *req, const struct feed_get_input *in)
{
	call_send(feed_call(req, &feed_get_script, in->name), on_state);
}

static void on_patched(struct request *req, const struct reply *r)
{
	const struct feed_patch_input *in = req->input;

	if (reply_outcome(r) > 0)
		answer_state(req, in->name, r);
	else
		handler_answer_missing(req, "feed", in->name);
}

void feed_patch(struct request *req, const struct feed_patch_input *in)
{
	struct call *c = feed_call(req, &feed_patch_script, in->name);

	handler_call_ttl(c, in->has_ttl_ms, in->reset_ttl_ms, in->ttl_ms);
	call_send(c, on_patched);
}

void feed_delete(struct request *req, const struct feed_delete_input *in)
{
	handler_delete(req, feed_call(req, &feed_delete_script, in->name), "feed", in->name);
}

/* ---- GET /feeds ---- */

static struct call *get_one(struct request *req, struct text name, struct text part)
{
	(void)part;
	return feed_call(req, &feed_get_script, name);
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	(void)req, (void)part;
	if (reply_int(r, FEED_SIZE) == 0)
		return;
	out_object(o, NULL);
	write_state(o, name, r);
	out_close(o);
}

void feed_list(struct request *req, const struct feed_list_input *in)
{
	static const struct list_of feeds = { .kind = KEY_FEED, .is_indexed = true, .look = get_one, .item = item_of };

	list_keys(req, &feeds, in->match, in->cursor, in->limit);
}

/* ---- POST /feeds/{name}/items ---- */

static void answer_pushed(struct request *req, int64_t size)
{
	const struct feed_item_push_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "size", size);
	answer_end(req);
}

static struct call *push_call(struct request *req, bool has_max, int64_t max_items)
{
	const struct feed_item_push_input *in = req->input;
	struct call *c = feed_call(req, &feed_item_push_script, in->name);

	handler_call_optional(c, has_max, max_items);
	return c;
}

/* The items are in. As long as the feed has an excess, call again without any, which only drops. */
static void on_pushed(struct request *req, const struct reply *r)
{
	int64_t max_items = reply_int(r, FEED_ITEM_PUSH_MAX_ITEMS);

	if (reply_int(r, FEED_ITEM_PUSH_EXCESS) == 0) {
		answer_pushed(req, req->has_effect ? max_items : reply_int(r, FEED_ITEM_PUSH_SIZE));
		return;
	}
	req->has_effect = true;
	struct call *c = push_call(req, true, max_items);
	call_without_record(c); /* what was kept of the first call is what a replay answers */
	call_send(c, on_pushed);
}

void feed_item_push(struct request *req, const struct feed_item_push_input *in)
{
	struct call *c = push_call(req, in->has_max_items, in->max_items);

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

/* ---- GET /feeds/{name}/items ---- */

static void on_read(struct request *req, const struct reply *r)
{
	const struct feed_item_list_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);
	int64_t next;

	handler_cursor(req, in->cursor, &next);
	next += (int64_t)r->count - FEED_ITEM_LIST_ITEMS;
	out_array(o, "items");
	for (size_t i = FEED_ITEM_LIST_ITEMS; i < r->count; i++)
		out_raw(o, NULL, reply_text(r, i));
	out_close(o);
	handler_out_cursor(o, next < reply_int(r, FEED_ITEM_LIST_SIZE), next);
	answer_end(req);
}

void feed_item_list(struct request *req, const struct feed_item_list_input *in)
{
	int64_t offset;

	if (!handler_cursor(req, in->cursor, &offset))
		return;
	struct call *c = handler_call(req, &feed_item_list_script, KEY_FEED, in->name);
	call_int(c, offset);
	call_int(c, in->limit);
	call_send(c, on_read);
}
