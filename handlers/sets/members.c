/*
 * set_members: many members of a set in one request: POST /sets/{name}/members, and POST
 * /sets/{name}/lookup. Each operation is one script (lua/sets/set_member_write.lua,
 * set_filter.lua). This file refuses a member that is both added and removed.
 */
#include <stdlib.h>

#include "common/handler.h"
#include "common/key_kinds.h"

enum { MEMBERS_MAX = 1000 };

/* ---- POST /sets/{name}/members ---- */

static void on_written(struct request *req, const struct reply *r)
{
	const struct set_member_write_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "added_count", reply_int(r, SET_WRITTEN_ADDED));
	out_int(o, "removed_count", reply_int(r, SET_WRITTEN_REMOVED));
	out_int(o, "size", reply_int(r, SET_WRITTEN_SIZE));
	answer_end(req);
}

static int by_bytes(const void *a, const void *b)
{
	const struct text *x = a, *y = b;
	int order = memcmp(x->at, y->at, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/*
 * Returns false if a member is to be added and removed, or if memory ran out. The request was
 * answered.
 */
static bool are_apart(struct request *req, const struct set_member_write_input *in)
{
	size_t bytes = in->add.count * sizeof(struct text);
	struct text *added = arena_alloc(&req->arena, bytes + 1);

	if (!added) {
		answer_no_memory(req, EFFECT_NONE);
		return false;
	}
	if (bytes)
		memcpy(added, in->add.items, bytes);
	qsort(added, in->add.count, sizeof(*added), by_bytes);
	for (size_t i = 0; i < in->remove.count; i++) {
		const struct text *member = &in->remove.items[i];
		if (!bsearch(member, added, in->add.count, sizeof(*added), by_bytes))
			continue;
		answer_field_problem(req, P_INVALID_VALUE, arena_printf(&req->arena, "/remove/%zu", i).at,
				     "'%s' is in /add, too; a member can be added or removed, not both", member->at);
		return false;
	}
	return true;
}

void set_member_write(struct request *req, const struct set_member_write_input *in)
{
	size_t count = in->add.count + in->remove.count;

	if (count == 0 || count > MEMBERS_MAX) {
		answer_field_problem(req, P_OUT_OF_RANGE, "/add",
				     "must have 1 to %d members together with /remove, not %zu", MEMBERS_MAX, count);
		return;
	}
	if (!are_apart(req, in))
		return;
	struct call *c = handler_call(req, &set_member_write_script, KEY_SET, in->name);
	call_int(c, (int64_t)in->add.count);
	for (size_t i = 0; i < in->add.count; i++)
		call_text(c, in->add.items[i]);
	for (size_t i = 0; i < in->remove.count; i++)
		call_text(c, in->remove.items[i]);
	call_send(c, on_written);
}

/* ---- POST /sets/{name}/lookup ---- */

static void on_found(struct request *req, const struct reply *r)
{
	const struct set_member_lookup_input *in = req->input;
	struct text stays = reply_text(r, SET_FILTER_STAYS);
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_array(o, "exists");
	for (size_t i = 0; i < in->members.count; i++)
		out_bool(o, NULL, i < stays.len && stays.at[i] == '1');
	out_close(o);
	answer_end(req);
}

void set_member_lookup(struct request *req, const struct set_member_lookup_input *in)
{
	struct call *c = handler_call(req, &set_filter_script, KEY_SET, in->name);

	call_string(c, "intersect");
	for (size_t i = 0; i < in->members.count; i++)
		call_text(c, in->members.items[i]);
	call_send(c, on_found);
}
