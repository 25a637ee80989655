/*
 * keys: the keys in Redis under the daemon's prefix, including keys of other programs: one key, its
 * TTL, its elements, and the list. Each operation is one script (lua/keys/key_*.lua). This file
 * must not know the kinds of keys (common/key_kinds.h).
 *
 * A key is always the prefix and the client's text, so nothing outside the prefix can be named.
 * Keys and their values are bytes. If they are not UTF-8, an answer has them twice, readable and
 * exact.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/handler.h"

/*
 * Writes the text. If JSON cannot carry its bytes, also writes them exactly, under the second name.
 */
static void write_bytes(struct json_out *o, const char *name, const char *exact_name, struct text bytes)
{
	out_text(o, name, bytes);
	if (!text_is_utf8(bytes))
		out_base64(o, exact_name, bytes);
}

static void write_ttl(struct json_out *o, struct request *req, int64_t expires_at_ms)
{
	out_int_or_null(o, "ttl_ms", expires_at_ms >= 0, request_ms_until(req, expires_at_ms));
}

static struct call *key_call(struct request *req, const struct script *s, struct text key)
{
	struct call *c = call_script(req, s);

	call_raw_key(c, key);
	return c;
}

/*
 * Starts a call that changes the key. Its other keys belong to the resource that the key may be
 * part of: the key up to its hash tag, and the waiters of that resource.
 */
static struct call *key_change_call(struct request *req, const struct script *s, struct text key)
{
	struct call *c = key_call(req, s, key);
	const char *tag = memchr(key.at, '{', key.len);
	const char *end = tag ? memchr(tag, '}', key.len - (size_t)(tag - key.at)) : NULL;

	if (!end || end == tag + 1)
		return c;
	struct text whole = { key.at, (size_t)(end - key.at) + 1 };
	call_raw_key(c, arena_copy(&req->arena, whole.at, whole.len));
	call_raw_key(c, arena_join(&req->arena, (struct text[]){ whole, TEXT(":waiters") }, 2));
	return c;
}

static void answer_no_key(struct request *req, struct text key)
{
	answer_problem(req, P_NOT_FOUND, "Redis has no key '%s%s'", config()->prefix, key.at);
}

static void answer_key(struct request *req, struct text key, const struct reply *r)
{
	struct json_out *o = answer_begin(req, 200);

	write_bytes(o, "key", "key_base64", key);
	out_text(o, "type", reply_text(r, KEY_STATE_TYPE));
	out_int_or_null(o, "size", reply_int(r, KEY_STATE_SIZE) >= 0, reply_int(r, KEY_STATE_SIZE));
	write_ttl(o, req, reply_int(r, KEY_STATE_EXPIRES_AT_MS));
	answer_end(req);
}

/* ---- GET, DELETE /keys/{key} ---- */

static void on_state(struct request *req, const struct reply *r)
{
	const struct key_get_input *in = req->input;

	if (text_is(reply_text(r, KEY_STATE_TYPE), "none"))
		answer_no_key(req, in->key);
	else
		answer_key(req, in->key, r);
}

void key_get(struct request *req, const struct key_get_input *in)
{
	call_send(key_call(req, &key_get_script, in->key), on_state);
}

static void on_deleted(struct request *req, const struct reply *r)
{
	const struct key_delete_input *in = req->input;

	if (!handler_removed(req, r))
		answer_no_key(req, in->key);
}

void key_delete(struct request *req, const struct key_delete_input *in)
{
	call_send(key_change_call(req, &key_delete_script, in->key), on_deleted);
}

/* ---- PUT /keys/{key}/ttl ---- */

static void on_expires(struct request *req, const struct reply *r)
{
	const struct key_ttl_put_input *in = req->input;

	if (reply_outcome(r) > 0)
		answer_key(req, in->key, r);
	else
		answer_no_key(req, in->key);
}

void key_ttl_put(struct request *req, const struct key_ttl_put_input *in)
{
	struct call *c = key_change_call(req, &key_ttl_put_script, in->key);

	handler_call_optional(c, in->has_ttl_ms, in->ttl_ms);
	call_send(c, on_expires);
}

/* ---- GET /keys/{key}/elements ---- */

static void write_score(struct json_out *o, double score)
{
	if (isfinite(score))
		out_real(o, "score", score);
	else
		out_string(o, "score", score > 0 ? "inf" : "-inf");
}

/*
 * Writes a key_element, which begins at item `i`. The index of a list and the score of a sorted set
 * are texts there.
 */
static void write_element(struct json_out *o, struct text type, const struct reply *r, size_t i)
{
	struct text element = reply_text(r, i + KEY_ELEMENT_ELEMENT), beside = reply_text(r, i + KEY_ELEMENT_BESIDE);

	out_object(o, NULL);
	if (text_is(type, "hash")) {
		write_bytes(o, "field", "field_base64", element);
		write_bytes(o, "value", "value_base64", beside);
	} else if (text_is(type, "list")) {
		out_int(o, "index", strtoll(beside.at, NULL, 10));
		write_bytes(o, "value", "value_base64", element);
	} else {
		write_bytes(o, "member", "member_base64", element);
		if (text_is(type, "zset"))
			write_score(o, strtod(beside.at, NULL));
	}
	if (reply_int(r, i + KEY_ELEMENT_IS_CUT))
		out_bool(o, "truncated", true);
	out_close(o);
}

static void on_elements(struct request *req, const struct reply *r)
{
	const struct key_element_list_input *in = req->input;
	struct text type = reply_text(r, KEY_ELEMENT_LIST_TYPE), cursor = reply_text(r, KEY_ELEMENT_LIST_NEXT_CURSOR);

	switch (reply_outcome(r)) {
	case KEY_ELEMENT_LIST_ABSENT:
		answer_no_key(req, in->key);
		return;
	case KEY_ELEMENT_LIST_NO_ELEMENTS:
		answer_problem(req, P_NO_ELEMENTS,
			       "key '%s' is of type %s; hashes, lists, sets and sorted sets have elements", in->key.at,
			       type.at);
		return;
	case KEY_ELEMENT_LIST_NO_CURSOR:
		handler_answer_cursor(req);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	write_bytes(o, "key", "key_base64", in->key);
	out_text(o, "type", type);
	out_array(o, "items");
	for (size_t i = KEY_ELEMENT_LIST_ELEMENTS; i < r->count; i += KEY_ELEMENT_ITEMS)
		write_element(o, type, r, i);
	out_close(o);
	out_text(o, "next_cursor", text_is(cursor, "0") ? (struct text){ 0 } : cursor);
	answer_end(req);
}

void key_element_list(struct request *req, const struct key_element_list_input *in)
{
	struct text glob;

	if (!match_glob(req, in->match, &glob))
		return;
	struct call *c = key_call(req, &key_element_list_script, in->key);
	call_text(c, in->cursor.at ? in->cursor : TEXT("0"));
	call_int(c, in->limit);
	call_text(c, in->match);
	call_text(c, glob);
	call_int(c, (int64_t)match_depth(in->match));
	call_send(c, on_elements);
}

/* ---- GET /keys ---- */

static struct call *get_one(struct request *req, struct text name, struct text part)
{
	(void)part;
	return key_call(req, &key_get_script, name);
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	(void)part;
	struct text type = reply_text(r, KEY_STATE_TYPE);

	if (text_is(type, "none"))
		return;
	out_object(o, NULL);
	write_bytes(o, "key", "key_base64", name);
	out_text(o, "type", type);
	write_ttl(o, req, reply_int(r, KEY_STATE_EXPIRES_AT_MS));
	out_close(o);
}

void key_list(struct request *req, const struct key_list_input *in)
{
	static const struct list_of keys = { .look = get_one, .item = item_of };
	static const char *const types[] = { NULL, "string", "list", "set", "zset", "hash", "stream" };

	list_typed_keys(req, &keys, in->match, types[in->type], in->cursor, in->limit);
}
