/*
 * visitor_slots: see visitors/visitor_slots.h. PFCOUNT and PFMERGE cannot reach several slots. So
 * each slot merges its own sketches and returns the bytes, and one slot counts or merges all of
 * them. Temporary keys are in the slot of a page; the script that makes them deletes them.
 *
 * The first slot decides which day is today. The others are asked for the days that it accepted.
 */
#include "visitors/visitor_slots.h"

enum { SCRATCH_DIGITS = 16 };

/* The state of a request, in its arena. */
struct page_parts {
	const struct slots *slots;
	const struct text *pages;
	const struct script *script; /* called for each slot */
	void (*next)(struct request *req, struct visitor_days *w);
	visitor_slots_counted counted; /* answers a combination */
	call_done merged;              /* answers a merge */
	size_t pending;
	const struct reply **replies; /* one of each slot */
};

/* Adds a temporary key. */
static void call_scratch(struct request *req, struct call *c, struct text page)
{
	char hex[SCRATCH_DIGITS + 1];

	hex_random(hex, SCRATCH_DIGITS);
	const char *part = arena_printf(&req->arena, "scratch:%s", hex).at;
	call_key(c, KEY_UV, page, part ? part : "scratch");
}

static void on_part(struct request *req, const struct reply *r);

static void send_part(struct request *req, struct visitor_days *w, size_t g)
{
	const struct slots_group *group = &w->parts->slots->groups[g];
	const struct text *pages = w->parts->pages;
	struct call *c = call_script(req, w->parts->script);

	call_scratch(req, c, pages[group->which[0]]);
	for (size_t i = 0; i < group->count; i++)
		visitor_call_days(c, KEY_UV, pages[group->which[i]], w);
	if (g == 0)
		visitor_call_today(c, w);
	else
		call_string(c, "");
	call_int(c, w->to - w->from + 1);
	call_tag(c, g);
	call_send(c, on_part);
}

static void on_part(struct request *req, const struct reply *r)
{
	struct visitor_days *w = req->work;
	struct page_parts *parts = w->parts;

	if (!visitor_day_was_right(req, r))
		return;
	parts->replies[req->result->tag] = reply_keep(&req->arena, r);
	if (req->arena.failed) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	for (size_t g = 1; req->result->tag == 0 && g < parts->slots->count; g++)
		send_part(req, w, g);
	if (--parts->pending == 0)
		parts->next(req, w);
}

static void ask_parts(struct request *req, struct visitor_days *w, const struct page_parts *given)
{
	size_t count = given->slots->count;
	struct page_parts *parts = arena_alloc(&req->arena, sizeof(*parts));
	const struct reply **replies = arena_alloc(&req->arena, count * sizeof(replies[0]));

	if (!parts || !replies) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*parts = *given;
	parts->pending = count;
	parts->replies = replies;
	w->parts = parts;
	send_part(req, w, 0);
}

/* ---- GET /uv/combine ---- */

static void on_summed(struct request *req, const struct reply *r)
{
	const struct visitor_days *w = req->work;
	const struct slots *slots = w->parts->slots;
	int64_t *counts = arena_alloc(&req->arena, (size_t)w->pages * sizeof(*counts));

	for (size_t g = 0; counts && g < slots->count; g++)
		for (size_t i = 0; i < slots->groups[g].count; i++)
			counts[slots->groups[g].which[i]] = reply_int(w->parts->replies[g], UV_COMBINE_PART_COUNTS + i);
	if (counts)
		w->parts->counted(req, reply_int(r, UV_COMBINE_SUM_COUNT), counts);
	else
		answer_no_memory(req, EFFECT_NONE);
}

static void sum_sketches(struct request *req, struct visitor_days *w)
{
	const struct page_parts *parts = w->parts;
	struct call *c = call_script(req, &uv_combine_sum_script);

	for (int i = 0; i < 2; i++)
		call_scratch(req, c, parts->pages[0]);
	for (size_t g = 0; g < parts->slots->count; g++)
		call_text(c, reply_text(parts->replies[g], UV_COMBINE_PART_SKETCH));
	call_send(c, on_summed);
}

void visitor_slots_count(struct request *req, struct visitor_days *w, const struct slots *slots,
			 visitor_slots_counted answer)
{
	const struct uv_combine_input *in = req->input;

	ask_parts(req, w,
		  &(struct page_parts){ .slots = slots,
					.pages = in->name.items,
					.script = &uv_combine_part_script,
					.next = sum_sketches,
					.counted = answer });
}

/* ---- POST /uv/{name}/merge ---- */

static void sum_merge(struct request *req, struct visitor_days *w)
{
	const struct uv_merge_input *in = req->input;
	const struct page_parts *parts = w->parts;
	struct call *c = handler_call(req, &uv_merge_sum_script, KEY_UV, in->name);

	call_scratch(req, c, in->name);
	visitor_call_days(c, KEY_UV, in->name, w);
	visitor_call_total(c, KEY_UV, in->name);
	visitor_call_retention(c);
	call_int(c, w->from);
	for (size_t g = 0; g < parts->slots->count; g++) {
		for (int64_t day = w->from; day <= w->to; day++) {
			size_t i = UV_MERGE_PART_SKETCHES + (size_t)(day - w->from);
			struct text sketch = reply_text(parts->replies[g], i);
			if (sketch.len == 0)
				continue;
			call_int(c, day - w->from + 1);
			call_text(c, sketch);
		}
	}
	call_send(c, parts->merged);
}

void visitor_slots_merge(struct request *req, struct visitor_days *w, call_done answer)
{
	const struct uv_merge_input *in = req->input;
	const struct slots *slots = slots_of(req, in->sources.items, in->sources.count);

	if (slots)
		ask_parts(req, w,
			  &(struct page_parts){ .slots = slots,
						.pages = in->sources.items,
						.script = &uv_merge_part_script,
						.next = sum_merge,
						.merged = answer });
}
