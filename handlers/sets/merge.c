/*
 * set_merge: makes a set of other sets: POST /sets/{name}/merge. For a union it reads all sets page
 * by page, one after the other. For an intersection or a difference it reads the base set (the
 * smallest of an intersection, the first of a difference); the other sets return which members of a
 * page stay. The result is built under a separate key with a TTL. The last step puts it in the
 * set's place, so nothing needs to be undone if a step fails.
 *
 * Each step is one script that works on about 5000 members at most, however large the sets are.
 * Every script has the keys of one slot, so sets in several slots of a Cluster are merged in the
 * same way. This file must not change the set before the last step.
 */
#include <stdio.h>

#include "common/handler.h"
#include "common/key_kinds.h"

enum {
	SETS_A_STEP = 10, /* sets that are asked about a page per step */
	NONCE_DIGITS = 16,
	CURSOR_SIZE = 24,
	PART_SIZE = 32,
};

enum set_way { UNION, INTERSECT, SUBTRACT };
static const char *const ways[] = { "union", "intersect", "subtract" };

/* The state of a merge, in the request's arena. */
struct set_merge {
	enum set_way way;
	const struct text *names;
	size_t count;
	struct arena_mark since; /* of the request's arena: memory after it belongs to one page */
	char part[PART_SIZE];    /* the part of the key of the result */
	int64_t built;           /* members so far */
	size_t source;           /* index of the set whose pages are read */
	char cursor[CURSOR_SIZE];
	int64_t *sizes;
	size_t pending;            /* sizes that have not arrived */
	struct text *others;       /* the sets beside the source, which decide what stays */
	const struct slots *slots; /* the slots of `others`; NULL: there are none */
	size_t group, at;          /* the next of `others`: its slot, and its index there */
	struct text *page;         /* the members of the page that stay so far */
	size_t page_count;
};

static void next_page(struct request *req);
static void filter_page(struct request *req);

/* ---- The end ---- */

static void answer_made(struct request *req, const struct reply *r)
{
	const struct set_merge_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "size", reply_int(r, SET_SIZE));
	handler_out_expiry(o, r, SET_EXPIRES_AT_MS);
	answer_end(req);
}

static void answer_lost_work(struct request *req)
{
	answer_problem(req, P_CONTENTION, "the partial result was lost in Redis; the set is unchanged");
}

static void on_ended(struct request *req, const struct reply *r)
{
	if (reply_outcome(r) == SET_MERGE_END_LOST)
		answer_lost_work(req);
	else
		answer_made(req, r);
}

static void end(struct request *req)
{
	const struct set_merge_input *in = req->input;
	const struct set_merge *m = req->work;
	struct call *c = handler_call(req, &set_merge_end_script, KEY_SET, in->name);

	call_key(c, KEY_SET, in->name, m->part);
	call_int(c, m->built);
	call_send(c, on_ended);
}

/* The client disconnected: the result that was built so far is deleted. */
static void on_disconnect(struct request *req, const struct reply *r)
{
	const struct set_merge_input *in = req->input;
	const struct set_merge *m = req->work;
	struct call *c = call_command(req, "UNLINK", "i", true);

	(void)r;
	call_key(c, KEY_SET, in->name, m->part);
	call_send(c, NULL);
}

/* ---- A page: the members that stay are added to the result ---- */

/* The page is done. */
static void proceed(struct request *req)
{
	struct set_merge *m = req->work;
	bool is_last = strcmp(m->cursor, "0") == 0;

	arena_rewind(&req->arena, m->since);
	if (is_last && (m->way != UNION || m->source + 1 == m->count)) {
		end(req);
		return;
	}
	m->source += is_last;
	next_page(req);
}

static void on_put(struct request *req, const struct reply *r)
{
	struct set_merge *m = req->work;

	if (reply_outcome(r) == SET_MERGE_PUT_LOST) {
		answer_lost_work(req);
		return;
	}
	m->built = reply_int(r, SET_MERGE_PUT_MEMBERS);
	proceed(req);
}

static void put_page(struct request *req)
{
	const struct set_merge_input *in = req->input;
	const struct set_merge *m = req->work;
	struct call *c = call_script(req, &set_merge_put_script);

	call_key(c, KEY_SET, in->name, m->part);
	call_int(c, m->built);
	for (size_t i = 0; i < m->page_count; i++)
		call_text(c, m->page[i]);
	call_send(c, on_put);
}

static void on_filtered(struct request *req, const struct reply *r)
{
	struct set_merge *m = req->work;
	struct text stays = reply_text(r, SET_FILTER_STAYS);
	size_t kept = 0;

	for (size_t i = 0; i < m->page_count && i < stays.len; i++)
		if (stays.at[i] == '1')
			m->page[kept++] = m->page[i];
	m->page_count = kept;
	filter_page(req);
}

/*
 * Asks the other sets of the next slot which members they have. If all were asked, adds the members
 * that stay.
 */
static void filter_page(struct request *req)
{
	struct set_merge *m = req->work;

	if (m->page_count == 0) {
		proceed(req);
		return;
	}
	if (!m->slots || m->group == m->slots->count) {
		put_page(req);
		return;
	}
	const struct slots_group *group = &m->slots->groups[m->group];
	struct call *c = call_script(req, &set_filter_script);
	for (size_t i = 0; i < SETS_A_STEP && m->at < group->count; i++)
		call_key(c, KEY_SET, m->others[group->which[m->at++]], NULL);
	if (m->at == group->count) {
		m->group++;
		m->at = 0;
	}
	call_string(c, ways[m->way]);
	for (size_t i = 0; i < m->page_count; i++)
		call_text(c, m->page[i]);
	call_send(c, on_filtered);
}

static void on_page(struct request *req, const struct reply *r)
{
	struct set_merge *m = req->work;
	const struct reply *found = reply_item(r, SET_MERGE_PAGE_FOUND);

	snprintf(m->cursor, sizeof(m->cursor), "%s", reply_text(r, SET_MERGE_PAGE_NEXT_CURSOR).at);
	m->page_count = found->count;
	m->page = arena_alloc(&req->arena, m->page_count * sizeof(*m->page) + 1);
	for (size_t i = 0; m->page && i < m->page_count; i++) {
		struct text member = reply_text(found, i);
		m->page[i] = arena_copy(&req->arena, member.at, member.len);
	}
	m->group = m->at = 0;
	if (req->arena.failed)
		answer_no_memory(req, EFFECT_NONE);
	else
		filter_page(req);
}

static void next_page(struct request *req)
{
	const struct set_merge *m = req->work;
	struct call *c = handler_call(req, &set_merge_page_script, KEY_SET, m->names[m->source]);

	call_string(c, m->cursor);
	call_send(c, on_page);
}

/* ---- The sizes of the sets ---- */

/* Chooses the source, and the sets beside it. */
static void choose(struct request *req)
{
	struct set_merge *m = req->work;
	size_t others = 0;

	for (size_t i = 1; m->way == INTERSECT && i < m->count; i++)
		if (m->sizes[i] < m->sizes[m->source])
			m->source = i;
	for (size_t i = 0; m->way != UNION && i < m->count; i++)
		if (i != m->source)
			m->others[others++] = m->names[i];
	if (others && !(m->slots = slots_of(req, m->others, others)))
		return;
	req->on_disconnect = on_disconnect;
	m->since = arena_mark(&req->arena);
	next_page(req);
}

static void proceed_from_size(struct request *req)
{
	struct set_merge *m = req->work;

	if (--m->pending == 0)
		choose(req);
}

static void on_begun(struct request *req, const struct reply *r)
{
	if (reply_outcome(r) > 0)
		answer_made(req, r); /* from an earlier request: this is a replay */
	else
		proceed_from_size(req);
}

static void on_size(struct request *req, const struct reply *r)
{
	struct set_merge *m = req->work;

	m->sizes[req->result->tag] = reply_int(r, SET_SIZES_SIZES);
	proceed_from_size(req);
}

/* Asks for the size of each set, and whether the new set can be made, or was by this request. */
static void begin(struct request *req)
{
	const struct set_merge_input *in = req->input;
	struct set_merge *m = req->work;

	m->pending = m->count + 1;
	call_send(handler_call(req, &set_merge_begin_script, KEY_SET, in->name), on_begun);
	for (size_t i = 0; i < m->count; i++) {
		struct call *c = handler_call(req, &set_sizes_script, KEY_SET, m->names[i]);
		call_tag(c, i);
		call_send(c, on_size);
	}
}

/* ---- POST /sets/{name}/merge ---- */

static void merge(struct request *req, enum set_way way, const struct text *names, size_t count)
{
	const struct set_merge_input *in = req->input;
	bool is_allowed = handler_slots(req, in->name, names, count);
	struct set_merge *m = arena_alloc(&req->arena, sizeof(*m));
	int64_t *sizes = arena_alloc(&req->arena, count * sizeof(*sizes));
	struct text *others = arena_alloc(&req->arena, count * sizeof(*others));
	char nonce[NONCE_DIGITS + 1];

	if (!is_allowed)
		return;
	if (!m || !sizes || !others) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*m = (struct set_merge){
		.way = way, .names = names, .count = count, .sizes = sizes, .others = others, .cursor = "0"
	};
	hex_random(nonce, NONCE_DIGITS);
	snprintf(m->part, sizeof(m->part), "merge:%s", nonce);
	req->work = m;
	begin(req);
}

void set_merge(struct request *req, const struct set_merge_input *in)
{
	if (in->union_.count)
		merge(req, UNION, in->union_.items, in->union_.count);
	else if (in->intersect.count)
		merge(req, INTERSECT, in->intersect.items, in->intersect.count);
	else
		merge(req, SUBTRACT, in->subtract.items, in->subtract.count);
}
