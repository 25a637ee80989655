/*
 * uv_several: sketches of pages in several slots of a Cluster, where no PFCOUNT and no PFMERGE reaches them all. Each slot puts its own
 * together and sends the bytes of that; one slot counts, or merges, them all. Nothing stays behind there: keys for the meantime lie beside
 * the page that they are for, and go within the script that makes them.
 *
 * Today is decided by the slot that is asked first; the others are asked for the days that it found right.
 */
#include "visitors/visitor_call.h"

enum { SCRATCH_DIGITS = 16 };

/* In the request's arena. */
struct parts {
	const struct slots *slots;
	const struct text *pages;
	const struct script *script; /* asked of each slot */
	void (*then)(struct request *req, struct when *w);
	size_t owed;
	const struct reply **replies; /* of each slot */
};

/* A key for the meantime. */
static void call_scratch(struct request *req, struct call *c, struct text page)
{
	char hex[SCRATCH_DIGITS + 1];

	random_hex(hex, SCRATCH_DIGITS);
	const char *part = arena_printf(&req->arena, "scratch:%s", hex).at;
	call_key(c, KEY_UV, page, part ? part : "scratch");
}

static void on_part(struct request *req, const struct reply *r);

static void send_part(struct request *req, struct when *w, size_t g)
{
	const struct slot_group *group = &w->parts->slots->groups[g];
	const struct text *pages = w->parts->pages;
	struct call *c = script_call(req, w->parts->script);

	call_scratch(req, c, pages[group->which[0]]);
	for (size_t i = 0; i < group->count; i++)
		call_days(c, KEY_UV, pages[group->which[i]], w);
	if (g == 0)
		call_today(c, w);
	else
		call_string(c, "");
	call_int(c, w->to - w->from + 1);
	call_tag(c, g);
	call_send(c, on_part);
}

static void on_part(struct request *req, const struct reply *r)
{
	struct when *w = req->work;
	struct parts *parts = w->parts;

	if (!when_was_right(req, r))
		return;
	parts->replies[req->tag] = reply_keep(&req->arena, r);
	if (req->arena.failed) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	for (size_t g = 1; req->tag == 0 && g < parts->slots->count; g++)
		send_part(req, w, g);
	if (--parts->owed == 0)
		parts->then(req, w);
}

static void ask_parts(struct request *req, struct when *w, const struct parts *given)
{
	size_t count = given->slots->count;
	struct parts *parts = arena_alloc(&req->arena, sizeof(*parts));
	const struct reply **replies = arena_alloc(&req->arena, count * sizeof(replies[0]));

	if (!parts || !replies) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*parts = *given;
	parts->owed = count;
	parts->replies = replies;
	w->parts = parts;
	send_part(req, w, 0);
}

/* ---- GET /uv ---- */

static void on_summed(struct request *req, const struct reply *r)
{
	const struct when *w = req->work;
	const struct slots *slots = w->parts->slots;
	int64_t *counts = arena_alloc(&req->arena, (size_t)w->pages * sizeof(*counts));

	for (size_t g = 0; counts && g < slots->count; g++)
		for (size_t i = 0; i < slots->groups[g].count; i++)
			counts[slots->groups[g].which[i]] = reply_int(w->parts->replies[g], 3 + i);
	if (counts)
		uv_answer_union(req, reply_int(r, 2), counts);
	else
		answer_no_memory(req, EFFECT_NONE);
}

static void sum_union(struct request *req, struct when *w)
{
	const struct parts *parts = w->parts;
	struct call *c = script_call(req, &uv_union_sum_script);

	for (int i = 0; i < 2; i++)
		call_scratch(req, c, parts->pages[0]);
	for (size_t g = 0; g < parts->slots->count; g++)
		call_text(c, reply_text(parts->replies[g], 2));
	call_send(c, on_summed);
}

void uv_send_union_parts(struct request *req, struct when *w, const struct slots *slots)
{
	const struct uv_union_input *in = req->input;

	ask_parts(req, w,
		  &(struct parts){ .slots = slots,
				   .pages = in->pages.items,
				   .script = &uv_union_part_script,
				   .then = sum_union });
}

/* ---- POST /uv/{page}/merge ---- */

static void sum_merge(struct request *req, struct when *w)
{
	const struct uv_merge_input *in = req->input;
	const struct parts *parts = w->parts;
	struct call *c = script_call(req, &uv_merge_sum_script);

	call_scratch(req, c, in->page);
	call_days(c, KEY_UV, in->page, w);
	call_retention(c);
	call_int(c, w->from);
	for (size_t g = 0; g < parts->slots->count; g++) {
		for (int64_t day = w->from; day <= w->to; day++) {
			struct text sketch = reply_text(parts->replies[g], 2 + (size_t)(day - w->from));
			if (sketch.len == 0)
				continue;
			call_int(c, day - w->from + 1);
			call_text(c, sketch);
		}
	}
	call_send(c, uv_on_merged);
}

void uv_send_merge_parts(struct request *req, struct when *w)
{
	const struct uv_merge_input *in = req->input;
	const struct slots *slots = slots_of(req, in->sources.items, in->sources.count);

	if (slots)
		ask_parts(req, w,
			  &(struct parts){ .slots = slots,
					   .pages = in->sources.items,
					   .script = &uv_merge_part_script,
					   .then = sum_merge });
}
