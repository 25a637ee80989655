/*
 * bloom: Bloom filters. This file hashes each item to 128 bits, as two numbers of 64, and splits a
 * request with many items into calls with a few items each. A call blocks Redis for a fraction of a
 * millisecond, and other calls are served in between. This file must not know which bits an item
 * has: the scripts choose them (lua/bloom/bloom_*.lua).
 *
 * The hash (XXH3, 128 bits, no seed) is part of the stored data: another hash would not find items
 * that were added before.
 */
#include <xxhash.h>

#include "common/handler.h"
#include "common/key_kinds.h"
#include "common/kind.h"

enum {
	ADD_ITEMS = 20, /* at most per call; a script adds as many of them as its time allows */
	LOOKUP_ITEMS = 40,
	MAX_UNDER_WAY = 8,  /* calls per request: other requests on the connection wait for these at most */
	FIRST_SEGMENTS = 8, /* passed as keys before a script has returned their number */
	MAX_SEGMENTS = 512, /* as in lua/bloom/lib_bloom.lua */
	MAX_REPEATS = 8 * MAX_SEGMENTS,
};

/* The state of a request, in its arena. */
struct bloom_work {
	size_t segments; /* number of segments that are passed as keys */
	unsigned repeats;
	/* Used by bloom_item_add and bloom_item_lookup: */
	const struct script *script;
	size_t step_items;
	struct text name;
	size_t item_count;
	XXH128_canonical_t *hashes; /* of the distinct items, in the order of their first occurrence */
	char *found;                /* a digit for each hash */
	size_t count, unanswered;
	size_t *which;    /* for each item of the request, the index of its hash */
	size_t next;      /* index of the first hash that was not sent */
	size_t under_way; /* steps that are under way */
};

/* Returns the work of a request, which an operation that starts again finds as it was. */
static struct bloom_work *work_of(struct request *req)
{
	struct bloom_work *w = req->work ? req->work : arena_alloc(&req->arena, sizeof(*w));

	if (!w)
		answer_no_memory(req, EFFECT_NONE);
	else if (!req->work)
		*w = (struct bloom_work){ .segments = FIRST_SEGMENTS };
	return req->work = w;
}

static struct call *filter_call(struct request *req, const struct script *s, struct text name, size_t segments)
{
	struct call *c = call_script(req, s);
	char digits[TEXT_DIGITS];

	call_key(c, KEY_BLOOM, name, NULL);
	for (size_t i = 0; i < segments; i++)
		call_key(c, KEY_BLOOM, name, text_of_int((int64_t)i, digits).at);
	return c;
}

/* Returns true if the script needs more keys: it must be called again with them. */
static bool needs_keys(struct request *req, const struct reply *r)
{
	struct bloom_work *w = req->work;

	if (reply_outcome(r) != BLOOM_PUT_MORE_KEYS) /* every script has this outcome of bloom_put */
		return false;
	int64_t segments = reply_int(r, BLOOM_MORE_SEGMENTS);
	if (segments > (int64_t)w->segments && segments <= MAX_SEGMENTS)
		w->segments = (size_t)segments;
	if (++w->repeats > MAX_REPEATS)
		answer_internal(req, "the script made no progress");
	return true; /* a reply to a call that was sent after the answer is ignored */
}

static void answer_no_filter(struct request *req, struct text name)
{
	answer_problem(req, P_NOT_FOUND, "filter '%s' does not exist; PUT or the first add creates it", name.at);
}

/* ---- The reply about a filter ---- */

struct layer_sums {
	int64_t size, bits, set;
	int64_t hashes; /* of the newest layer */
	double right;   /* probability that no layer errs */
};

static double fill_of(int64_t set, int64_t bits)
{
	return bits > 0 ? (double)set / (double)bits : 0;
}

/* Returns the fill of the layer that begins at item `i`. */
static double fill_at(const struct reply *r, size_t i)
{
	return fill_of(reply_int(r, i + BLOOM_LAYER_SET_BITS), reply_int(r, i + BLOOM_LAYER_BITS));
}

static struct layer_sums sum_layers(const struct reply *r)
{
	struct layer_sums s = { .right = 1 };

	for (size_t i = BLOOM_FILTER_LAYERS; i < r->count; i += BLOOM_LAYER_ITEMS) {
		s.bits += reply_int(r, i + BLOOM_LAYER_BITS);
		s.hashes = reply_int(r, i + BLOOM_LAYER_HASHES);
		s.size += reply_int(r, i + BLOOM_LAYER_SIZE);
		s.set += reply_int(r, i + BLOOM_LAYER_SET_BITS);
		s.right *= 1 - __builtin_powi(fill_at(r, i), (int)s.hashes);
	}
	return s;
}

static void write_settings(struct json_out *o, struct text name, const struct reply *r)
{
	out_text(o, "name", name);
	out_int(o, "capacity", reply_int(r, BLOOM_FILTER_CAPACITY));
	out_real(o, "error_rate", reply_real(r, BLOOM_FILTER_ERROR_RATE));
}

static void write_layers(struct json_out *o, const struct reply *r)
{
	out_array(o, "layers");
	for (size_t i = BLOOM_FILTER_LAYERS; i < r->count; i += BLOOM_LAYER_ITEMS) {
		out_object(o, NULL);
		out_int(o, "capacity", reply_int(r, i + BLOOM_LAYER_CAPACITY));
		out_int(o, "size", reply_int(r, i + BLOOM_LAYER_SIZE));
		out_int(o, "bits", reply_int(r, i + BLOOM_LAYER_BITS));
		out_int(o, "hashes", reply_int(r, i + BLOOM_LAYER_HASHES));
		out_real(o, "fill", fill_at(r, i));
		out_close(o);
	}
	out_close(o);
}

static void answer_filter(struct request *req, int status, struct text name, const struct reply *r)
{
	struct layer_sums s = sum_layers(r);
	struct json_out *o = answer_begin(req, status);

	write_settings(o, name, r);
	out_int(o, "size", s.size);
	out_int(o, "bits", s.bits);
	out_int(o, "hashes", s.hashes);
	out_real(o, "fill", fill_of(s.set, s.bits));
	out_real(o, "expected_error", 1 - s.right);
	handler_out_expiry(o, r, BLOOM_FILTER_EXPIRES_AT_MS);
	write_layers(o, r);
	answer_end(req);
}

/* ---- GET /bloom ---- */

static struct call *look(struct request *req, const struct script *s, struct text name)
{
	return filter_call(req, s, name, 0);
}

static void out_item(struct json_out *o, struct text name, const struct reply *r)
{
	write_settings(o, name, r);
	out_int(o, "size", sum_layers(r).size);
	handler_out_expiry(o, r, BLOOM_FILTER_EXPIRES_AT_MS);
}

const struct kind bloom_kind = {
	.list = { .kind = KEY_BLOOM, .is_indexed = true, .look = kind_look, .item = kind_item },
	.get = &bloom_get_script,
	.call = look,
	.out = out_item,
};

/* ---- PUT, PATCH, GET /bloom/{name} ---- */

static void on_put(struct request *req, const struct reply *r)
{
	const struct bloom_put_input *in = req->input;

	if (needs_keys(req, r)) {
		bloom_put(req, in);
	} else if (reply_outcome(r) == BLOOM_PUT_OTHER) {
		int64_t capacity = reply_int(r, BLOOM_FILTER_CAPACITY);
		double error_rate = reply_real(r, BLOOM_FILTER_ERROR_RATE);
		char rate[TEXT_PLAIN];
		struct json_out *o =
			answer_begin_problem(req, P_FILTER_EXISTS,
					     "filter '%s' was created with capacity %lld and error_rate %s",
					     in->name.at, (long long)capacity, text_plain_real(error_rate, rate));
		out_int(o, "capacity", capacity);
		out_real(o, "error_rate", error_rate);
		answer_end(req);
	} else {
		answer_filter(req, reply_outcome(r) == BLOOM_PUT_CREATED ? 201 : 200, in->name, r);
	}
}

void bloom_put(struct request *req, const struct bloom_put_input *in)
{
	const struct bloom_work *w = work_of(req);

	if (!w)
		return;
	struct call *c = filter_call(req, &bloom_put_script, in->name, w->segments);
	call_int(c, in->capacity);
	call_real(c, in->error_rate);
	handler_call_ttl(c, in->has_ttl_ms, in->reset_ttl_ms || !in->has_ttl_ms, in->ttl_ms);
	call_send(c, on_put);
}

static void on_patched(struct request *req, const struct reply *r)
{
	const struct bloom_patch_input *in = req->input;

	if (needs_keys(req, r))
		bloom_patch(req, in);
	else if (reply_outcome(r) == BLOOM_PATCH_ABSENT)
		answer_no_filter(req, in->name);
	else
		answer_filter(req, 200, in->name, r);
}

void bloom_patch(struct request *req, const struct bloom_patch_input *in)
{
	const struct bloom_work *w = work_of(req);

	if (w)
		handler_patch_ttl(filter_call(req, &bloom_patch_script, in->name, w->segments), in->has_ttl_ms,
				  in->reset_ttl_ms, in->ttl_ms, on_patched);
}

static void on_state(struct request *req, const struct reply *r)
{
	const struct bloom_get_input *in = req->input;

	if (reply_outcome(r) == BLOOM_GET_ABSENT)
		answer_no_filter(req, in->name);
	else
		answer_filter(req, 200, in->name, r);
}

void bloom_get(struct request *req, const struct bloom_get_input *in)
{
	call_send(filter_call(req, &bloom_get_script, in->name, 0), on_state);
}

/* ---- DELETE /bloom/{name} ---- */

static void on_deleted(struct request *req, const struct reply *r)
{
	const struct bloom_delete_input *in = req->input;

	if (needs_keys(req, r))
		bloom_delete(req, in);
	else if (reply_outcome(r) > 0 || req->has_effect) /* another request may have made the last step */
		answer_empty(req, 204);
	else
		answer_no_filter(req, in->name);
}

void bloom_delete(struct request *req, const struct bloom_delete_input *in)
{
	const struct bloom_work *w = work_of(req);

	if (w)
		call_send(filter_call(req, &bloom_delete_script, in->name, w->segments), on_deleted);
}

/* ---- POST /bloom/{name}/add, /lookup ---- */

/*
 * Returns the index of an equal hash before this one, or of a new one. `table` has a power of two
 * of places, most of them empty.
 */
static size_t number_of(struct bloom_work *w, size_t *table, size_t places, const XXH128_canonical_t *hash)
{
	size_t at = XXH128_hashFromCanonical(hash).low64 & (places - 1);

	for (; table[at]; at = (at + 1) & (places - 1))
		if (memcmp(&w->hashes[table[at] - 1], hash, sizeof(*hash)) == 0)
			return table[at] - 1;
	w->hashes[w->count] = *hash;
	table[at] = ++w->count;
	return w->count - 1;
}

/*
 * Hashes the items. An item that occurs twice is sent once: calls may reach Redis in any order, and
 * the first occurrence must be the one that was added.
 */
static bool take_items(struct request *req, struct bloom_work *w, const struct text *items)
{
	size_t count = w->item_count, places = 1;

	while (places < 2 * count)
		places *= 2;
	size_t *table = arena_alloc(&req->arena, places * sizeof(*table));
	w->hashes = arena_alloc(&req->arena, count * sizeof(*w->hashes));
	w->found = arena_alloc(&req->arena, count);
	w->which = arena_alloc(&req->arena, count * sizeof(*w->which));
	if (req->arena.failed) {
		answer_no_memory(req, EFFECT_NONE);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		XXH128_canonical_t hash;
		XXH128_canonicalFromHash(&hash, XXH3_128bits(items[i].at, items[i].len));
		w->which[i] = number_of(w, table, places, &hash);
	}
	w->unanswered = w->count;
	return true;
}

static void send_step(struct request *req, size_t from);

/* Returns the end of the step that item `from` belongs to. */
static size_t end_of_step(const struct bloom_work *w, size_t from)
{
	size_t end = from - from % w->step_items + w->step_items;

	return end < w->count ? end : w->count;
}

/* Sends steps, at most `most` at a time. */
static void send_more(struct request *req, struct bloom_work *w, size_t most)
{
	for (; w->under_way < most && w->next < w->count; w->under_way++) {
		size_t from = w->next;
		w->next = end_of_step(w, from);
		send_step(req, from);
	}
}

static void answer_items(struct request *req, const struct bloom_work *w)
{
	bool is_adding = w->script == &bloom_item_add_script;
	struct json_out *o = answer_begin(req, 200);
	size_t next = 0; /* index of the next hash that was not written before */

	out_text(o, "name", w->name);
	out_array(o, is_adding ? "added" : "exists");
	for (size_t i = 0; i < w->item_count; i++) {
		bool is_first = w->which[i] == next;
		out_bool(o, NULL, w->found[w->which[i]] == '1' && (is_first || !is_adding));
		next += is_first;
	}
	out_close(o);
	answer_end(req);
}

static void on_step(struct request *req, const struct reply *r)
{
	struct bloom_work *w = req->work;
	size_t from = req->result->tag, end = end_of_step(w, from);
	int64_t outcome = reply_outcome(r);
	struct text digits = outcome < 0 ? (struct text){ 0 } : reply_text(r, BLOOM_STEP_DIGITS);

	if (outcome == BLOOM_ITEM_ADD_CREATED)
		req->has_effect = true; /* in case a later step fails */
	if (outcome == BLOOM_ITEM_ADD_CREATED || needs_keys(req, r)) {
		send_step(req, from);
	} else if (outcome == BLOOM_ITEM_ADD_FULL) {
		answer_problem(req, P_FILTER_FULL,
			       "filter '%s' is full: another layer would make it larger than 2^32 bits", w->name.at);
	} else if (digits.len == 0 || digits.len > end - from) {
		answer_internal(req, "the script returned another number of items");
	} else {
		memcpy(w->found + from, digits.at, digits.len);
		w->unanswered -= digits.len;
		if (w->unanswered == 0) {
			answer_items(req, w);
			return;
		}
		req->has_effect = req->op->writes;
		if (from + digits.len < end)
			send_step(req, from + digits.len);
		else
			w->under_way--;
		send_more(req, w, MAX_UNDER_WAY);
	}
}

static void send_step(struct request *req, size_t from)
{
	const struct bloom_work *w = req->work;
	struct call *c = filter_call(req, w->script, w->name, w->segments);

	for (size_t i = from; i < end_of_step(w, from); i++)
		call_text(c, (struct text){ (const char *)w->hashes[i].digest, sizeof(w->hashes[i].digest) });
	if (w->script->replay != REPLAY_NONE)
		call_int(c, (int64_t)from); /* the part's name in the idempotency record */
	call_tag(c, from);
	call_send(c, on_step);
}

static void start(struct request *req, const struct script *s, struct text name, const struct text *items, size_t count)
{
	struct bloom_work *w = work_of(req);

	if (!w)
		return;
	w->script = s;
	w->step_items = s == &bloom_item_add_script ? ADD_ITEMS : LOOKUP_ITEMS;
	w->name = name;
	w->item_count = count;
	if (take_items(req, w, items))
		send_more(req, w, 1); /* the first step creates the filter, and returns how many keys it has */
}

void bloom_item_add(struct request *req, const struct bloom_item_add_input *in)
{
	start(req, &bloom_item_add_script, in->name, in->items.items, in->items.count);
}

void bloom_item_lookup(struct request *req, const struct bloom_item_lookup_input *in)
{
	start(req, &bloom_item_lookup_script, in->name, in->items.items, in->items.count);
}
