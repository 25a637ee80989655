/*
 * feeds: capped streams of JSON values, the newest first. Each operation is one script
 * (lua/feeds/feed_*.lua). Only a feed that must drop many items at once takes several calls. An id
 * is the id in the stream, "<ms>-<number>". A cursor is the id of the last item of a page.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/handler.h"
#include "common/key_kinds.h"
#include "common/kind.h"

enum { MAX_ITEM_BYTES = 65536 };

/* Starts a call with the keys of the feed and of its settings. */
static struct call *feed_call(struct request *req, const struct script *s, struct text name)
{
	struct call *c = handler_call(req, s, KEY_FEED, name);

	call_key(c, KEY_FEED, name, "meta");
	return c;
}

/* ---- GET, PATCH, DELETE /feeds/{name}, GET /feeds ---- */

static void out_feed(struct json_out *o, struct text name, const struct reply *r)
{
	out_text(o, "name", name);
	out_int(o, "size", reply_int(r, FEED_SIZE));
	out_int(o, "max_items", reply_int(r, FEED_MAX_ITEMS));
	handler_out_expiry(o, r, FEED_EXPIRES_AT_MS);
}

const struct kind feed_kind = {
	.list = { .kind = KEY_FEED, .is_indexed = true, .look = kind_look, .item = kind_item },
	.missing = { "feed ", " does not exist" },
	.get = &feed_get_script,
	.patch = &feed_patch_script,
	.delete = &feed_delete_script,
	.call = feed_call,
	.out = out_feed,
	.is_always = true,
};

/* ---- POST /feeds/{name}/items ---- */

enum { ID_DIGITS = 2 * TEXT_DIGITS };

/* The id of the first item of a push; the other ids count up from it. */
struct pushed {
	int64_t ms, seq;
	int64_t size; /* after all drops */
};

static void answer_pushed(struct request *req)
{
	const struct feed_item_push_input *in = req->input;
	const struct pushed *first = req->work;
	struct json_out *o = answer_begin(req, 200);
	char id[ID_DIGITS];

	out_text(o, "name", in->name);
	out_int(o, "size", first->size);
	out_array(o, "items");
	for (size_t i = 0; i < in->items.count; i++) {
		snprintf(id, sizeof(id), "%lld-%lld", (long long)first->ms, (long long)(first->seq + (int64_t)i));
		out_object(o, NULL);
		out_string(o, "id", id);
		out_close(o);
	}
	out_close(o);
	answer_end(req);
}

static struct call *push_call(struct request *req, bool has_max, int64_t max_items)
{
	const struct feed_item_push_input *in = req->input;
	struct call *c = feed_call(req, &feed_item_push_script, in->name);

	handler_call_optional(c, has_max, max_items);
	return c;
}

/* While the feed has too many items, calls the script again without items, which only drops. */
static void on_dropped(struct request *req, const struct reply *r)
{
	if (reply_int(r, FEED_ITEM_PUSH_EXCESS) == 0) {
		answer_pushed(req);
		return;
	}
	req->has_effect = true;
	struct call *c = push_call(req, true, reply_int(r, FEED_ITEM_PUSH_MAX_ITEMS));
	call_without_record(c); /* a replay answers with the record of the first call */
	call_send(c, on_dropped);
}

static void on_pushed(struct request *req, const struct reply *r)
{
	struct pushed *first = req->work;

	first->ms = reply_int(r, FEED_ITEM_PUSH_FIRST_MS);
	first->seq = reply_int(r, FEED_ITEM_PUSH_FIRST_SEQ);
	first->size = reply_int(r, FEED_ITEM_PUSH_SIZE) - reply_int(r, FEED_ITEM_PUSH_EXCESS);
	on_dropped(req, r);
}

void feed_item_push(struct request *req, const struct feed_item_push_input *in)
{
	struct call *c = push_call(req, in->has_max_items, in->max_items);

	for (size_t i = 0; i < in->items.count; i++) {
		struct text item = in->items.items[i];
		if (item.len > MAX_ITEM_BYTES) {
			answer_field_problem(req, P_OUT_OF_RANGE, arena_printf(&req->arena, "/items/%zu", i).at,
					     "has %zu bytes as JSON; %d are allowed", item.len, MAX_ITEM_BYTES);
			return;
		}
		call_text(c, item);
	}
	req->work = arena_alloc(&req->arena, sizeof(struct pushed));
	if (req->work)
		call_send(c, on_pushed);
	else
		answer_no_memory(req, EFFECT_NONE);
}

/* ---- GET /feeds/{name}/items, DELETE /feeds/{name}/items/{id} ---- */

/*
 * Returns the length of the 63-bit number at `at`, in the form that Redis writes; 0 if there is
 * none.
 */
static size_t number_bytes(const char *at)
{
	size_t n = strspn(at, "0123456789");

	return n < 19 && (n == 1 || *at != '0') ? n : 0;
}

/* Checks an id. Redis itself accepts other texts as ids, and answers some with an error. */
static bool is_id(struct text id)
{
	size_t ms = number_bytes(id.at), seq = id.at[ms] == '-' ? number_bytes(id.at + ms + 1) : 0;

	return ms > 0 && seq > 0 && ms + 1 + seq == id.len && !text_is(id, "0-0");
}

static void on_read(struct request *req, const struct reply *r)
{
	struct json_out *o = answer_begin(req, 200);
	struct text id = { 0 };

	out_array(o, "items");
	for (size_t i = FEED_ITEM_LIST_ITEMS; i < r->count; i += FEED_ITEM_ITEMS) {
		id = reply_text(r, i + FEED_ITEM_ID);
		out_object(o, NULL);
		out_text(o, "id", id);
		out_raw(o, "item", reply_text(r, i + FEED_ITEM_ITEM));
		out_int(o, "pushed_at_ms", strtoll(id.at, NULL, 10));
		out_close(o);
	}
	out_close(o);
	out_text(o, "next_cursor", reply_int(r, FEED_ITEM_LIST_MORE) ? id : (struct text){ 0 });
	answer_end(req);
}

void feed_item_list(struct request *req, const struct feed_item_list_input *in)
{
	if (in->cursor.at && !is_id(in->cursor)) {
		handler_answer_cursor(req);
		return;
	}
	struct call *c = handler_call(req, &feed_item_list_script, KEY_FEED, in->name);
	call_text(c, in->cursor);
	call_int(c, in->limit);
	call_send(c, on_read);
}

static void answer_no_item(struct request *req)
{
	const struct feed_item_delete_input *in = req->input;

	answer_problem(req, P_NOT_FOUND, "feed '%s' has no item '%s'", in->name.at, in->id.at);
}

static void on_item_deleted(struct request *req, const struct reply *r)
{
	if (!handler_removed(req, r))
		answer_no_item(req);
}

void feed_item_delete(struct request *req, const struct feed_item_delete_input *in)
{
	if (!is_id(in->id)) {
		answer_no_item(req);
		return;
	}
	struct call *c = feed_call(req, &feed_item_delete_script, in->name);
	call_text(c, in->id);
	call_send(c, on_item_deleted);
}
