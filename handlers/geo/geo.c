/*
 * geo: members at positions: single members, many members, and their list. Each operation is one
 * script (lua/geo/geo_*.lua) on Redis's geo sets. geo/search.c searches; geo/geo_sets.c has the
 * sets themselves.
 *
 * This file must not compute positions: they are Redis's numbers, written to the centimetre
 * (geo_write_degrees).
 */
#include <stdlib.h>

#include "geo/geo_call.h"

/* ---- PUT, GET, DELETE /geo/{name}/members/{member} ---- */

/* The position begins at item `i` of the reply. */
static void answer_place(struct request *req, int status, struct text name, struct text member, const struct reply *r,
			 size_t i)
{
	struct json_out *o = answer_begin(req, status);

	out_text(o, "name", name);
	geo_write_place(o, member, r, i);
	answer_end(req);
}

static void on_put(struct request *req, const struct reply *r)
{
	const struct geo_member_put_input *in = req->input;

	if (geo_is_again(req, r))
		return;
	bool is_new = reply_int(r, GEO_MEMBER_PUT_ADDED) > 0;
	answer_place(req, is_new ? 201 : 200, in->name, in->member, r, GEO_MEMBER_PUT_PLACE);
}

void geo_member_put(struct request *req, const struct geo_member_put_input *in)
{
	if (!geo_begin(req))
		return;
	struct call *c = handler_call(req, &geo_member_put_script, KEY_GEO, in->name);
	geo_cell_key(c, in->name, geo_cell_of(req, in->member));
	geo_call_position(c, in->longitude, in->latitude);
	call_text(c, in->member);
	geo_send(req, c, on_put);
}

static void on_member(struct request *req, const struct reply *r)
{
	const struct geo_member_get_input *in = req->input;

	if (geo_is_again(req, r))
		return;
	if (!geo_is_place(r, GEO_MEMBER_LOOKUP_PLACES)) {
		geo_answer_no_member(req, in->name, in->member);
		return;
	}
	answer_place(req, 200, in->name, in->member, r, GEO_MEMBER_LOOKUP_PLACES);
}

void geo_member_get(struct request *req, const struct geo_member_get_input *in)
{
	if (!geo_begin(req))
		return;
	geo_call_lookup(req, in->name, in->member, on_member);
}

static void on_removed(struct request *req, const struct reply *r)
{
	const struct geo_member_delete_input *in = req->input;

	if (geo_is_again(req, r))
		return;
	if (!handler_removed(req, r))
		geo_answer_no_member(req, in->name, in->member);
}

void geo_member_delete(struct request *req, const struct geo_member_delete_input *in)
{
	if (!geo_begin(req))
		return;
	struct call *c = handler_call(req, &geo_member_delete_script, KEY_GEO, in->name);
	geo_cell_key(c, in->name, geo_cell_of(req, in->member));
	call_text(c, in->member);
	geo_send(req, c, on_removed);
}

/* ---- POST /geo/{name}/members, POST /geo/{name}/lookup ---- */

static void on_added(struct request *req, const struct reply *r)
{
	const struct geo_member_add_input *in = req->input;

	if (geo_is_again(req, r))
		return;
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_int(o, "added_count", reply_int(r, GEO_MEMBER_ADD_ADDED));
	out_int(o, "updated_count", reply_int(r, GEO_MEMBER_ADD_UPDATED));
	answer_end(req);
}

static struct text member_to_add(const void *items, size_t i)
{
	return ((const struct geo_member_add_members_item *)items)[i].member;
}

void geo_member_add(struct request *req, const struct geo_member_add_input *in)
{
	if (!geo_begin(req))
		return;
	struct call *c = handler_call(req, &geo_member_add_script, KEY_GEO, in->name);
	const struct geo_order *order =
		geo_group(req, c, in->name, in->members.count, member_to_add, in->members.items);
	for (size_t i = 0; order && i < in->members.count; i++) {
		geo_call_group(c, order, i, in->members.count);
		const struct geo_member_add_members_item *item = &in->members.items[order[i].index];
		geo_call_position(c, item->longitude, item->latitude);
		call_text(c, item->member);
	}
	geo_send(req, c, on_added);
}

/* Returns, for each member of the request, where it is in the reply. */
static const size_t *places_of(struct request *req, const struct geo_order *order, size_t count)
{
	size_t *at = arena_alloc(&req->arena, count * sizeof(*at));

	for (size_t i = 0; at && i < count; i++)
		at[order[i].index] = GEO_MEMBER_LOOKUP_PLACES + GEO_PLACE_ITEMS * i;
	return at;
}

static void on_lookup(struct request *req, const struct reply *r)
{
	const struct geo_member_lookup_input *in = req->input;
	struct geo_work *w = req->work;

	if (geo_is_again(req, r))
		return;
	const size_t *at = places_of(req, w->more, in->members.count);
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_array(o, "members");
	for (size_t i = 0; at && i < in->members.count; i++) {
		if (!geo_is_place(r, at[i])) {
			out_null(o, NULL);
			continue;
		}
		out_object(o, NULL);
		geo_write_place(o, in->members.items[i], r, at[i]);
		out_close(o);
	}
	out_close(o);
	answer_end(req);
}

static struct text member_to_find(const void *items, size_t i)
{
	return ((const struct text *)items)[i];
}

void geo_member_lookup(struct request *req, const struct geo_member_lookup_input *in)
{
	if (!geo_begin(req))
		return;
	struct geo_work *w = req->work;
	struct call *c = handler_call(req, &geo_member_lookup_script, KEY_GEO, in->name);
	struct geo_order *order = geo_group(req, c, in->name, in->members.count, member_to_find, in->members.items);
	for (size_t i = 0; order && i < in->members.count; i++) {
		geo_call_group(c, order, i, in->members.count);
		call_text(c, in->members.items[order[i].index]);
	}
	w->more = order;
	geo_send(req, c, on_lookup);
}

/* ---- GET /geo/{name}/members ---- */

enum { CELLS_A_CALL = 64, MOST_CELLS = 1024 };

/* Where a page begins. The cursor of the API is "<cell>-<cursor within the cell>". */
struct geo_page {
	size_t cell;
	struct text match;  /* a glob */
	struct text cursor; /* the cursor within the cell */
};

static void on_members(struct request *req, const struct reply *r)
{
	const struct geo_work *w = req->work;
	const struct geo_page *p = w->more;

	if (geo_is_again(req, r))
		return;
	if (reply_outcome(r) == GEO_MEMBER_LIST_NO_CURSOR || p->cell >= (size_t)w->cells) {
		handler_answer_cursor(req);
		return;
	}
	size_t next = p->cell + (size_t)reply_int(r, GEO_MEMBER_LIST_ENDED);
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (size_t i = GEO_MEMBER_LIST_MEMBERS; i < r->count; i += GEO_MEMBER_ITEMS) {
		out_object(o, NULL);
		geo_write_place(o, reply_text(r, i + GEO_MEMBER_MEMBER), r, i + GEO_MEMBER_PLACE);
		out_close(o);
	}
	out_close(o);
	if (next >= (size_t)w->cells)
		out_null(o, "next_cursor");
	else
		out_text(o, "next_cursor",
			 arena_printf(&req->arena, "%zu-%s", next, reply_text(r, GEO_MEMBER_LIST_NEXT_CURSOR).at));
	answer_end(req);
}

/* Reads the "<cell>-" before the cursor within the cell. */
static bool parse_cursor(struct text cursor, struct geo_page *p)
{
	char *end;

	p->cursor = cursor.at ? cursor : TEXT("0");
	if (!cursor.at)
		return true;
	unsigned long long cell = strtoull(cursor.at, &end, 10);
	if (end == cursor.at || *end != '-' || cell >= MOST_CELLS)
		return false;
	p->cell = cell;
	p->cursor = (struct text){ end + 1, cursor.len - (size_t)(end + 1 - cursor.at) };
	return true;
}

/* If the set may have fewer cells, the call names none. The reply then has their number. */
static void send_page(struct request *req)
{
	const struct geo_member_list_input *in = req->input;
	const struct geo_work *w = req->work;
	const struct geo_page *p = w->more;
	struct call *c = handler_call(req, &geo_member_list_script, KEY_GEO, in->name);

	for (size_t i = p->cell; i < (size_t)w->cells && i < p->cell + CELLS_A_CALL; i++)
		geo_cell_key(c, in->name, i);
	call_text(c, p->cursor);
	call_text(c, p->match);
	call_int(c, in->limit);
	geo_send(req, c, on_members);
}

void geo_member_list(struct request *req, const struct geo_member_list_input *in)
{
	if (!geo_begin(req))
		return;
	struct geo_work *w = req->work;
	struct geo_page *p = arena_alloc(&req->arena, sizeof(*p));
	w->more = p;
	if (!p)
		answer_no_memory(req, EFFECT_NONE);
	else if (!parse_cursor(in->cursor, p))
		handler_answer_cursor(req);
	else if (match_glob(req, in->match, &p->match))
		send_page(req);
}
