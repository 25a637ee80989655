/*
 * sets: members without repeats: single members, the list of members, and whole sets. Each
 * operation is one script (lua/sets/set_*.lua). sets/members.c has many members in one request.
 * sets/combine.c combines sets, and sets/merge.c stores the combination as a set.
 */
#include "common/handler.h"
#include "common/key_kinds.h"
#include "common/kind.h"

static void answer_member(struct request *req, int status, struct text name, struct text member, int64_t size)
{
	struct json_out *o = answer_begin(req, status);

	out_text(o, "name", name);
	out_text(o, "member", member);
	out_int(o, "size", size);
	answer_end(req);
}

static void answer_no_member(struct request *req, struct text name, struct text member)
{
	answer_problem(req, P_NOT_FOUND, "set '%s' has no member '%s'", name.at, member.at);
}

/* ---- PUT, GET, DELETE /sets/{name}/members/{member} ---- */

static void on_put(struct request *req, const struct reply *r)
{
	const struct set_member_put_input *in = req->input;

	answer_member(req, reply_outcome(r) == SET_MEMBER_PUT_NEW ? 201 : 200, in->name, in->member,
		      reply_int(r, SET_MEMBER_PUT_SIZE));
}

void set_member_put(struct request *req, const struct set_member_put_input *in)
{
	struct call *c = handler_call(req, &set_member_put_script, KEY_SET, in->name);

	call_text(c, in->member);
	call_send(c, on_put);
}

static void on_member(struct request *req, const struct reply *r)
{
	const struct set_member_get_input *in = req->input;

	if (reply_outcome(r) == SET_MEMBER_GET_ABSENT)
		answer_no_member(req, in->name, in->member);
	else
		answer_member(req, 200, in->name, in->member, reply_int(r, SET_MEMBER_GET_SIZE));
}

void set_member_get(struct request *req, const struct set_member_get_input *in)
{
	struct call *c = handler_call(req, &set_member_get_script, KEY_SET, in->name);

	call_text(c, in->member);
	call_send(c, on_member);
}

static void on_removed(struct request *req, const struct reply *r)
{
	const struct set_member_delete_input *in = req->input;

	if (!handler_removed(req, r))
		answer_no_member(req, in->name, in->member);
}

void set_member_delete(struct request *req, const struct set_member_delete_input *in)
{
	struct call *c = handler_call(req, &set_member_delete_script, KEY_SET, in->name);

	call_text(c, in->member);
	call_send(c, on_removed);
}

/* ---- GET /sets/{name}/members ---- */

static void on_members(struct request *req, const struct reply *r)
{
	struct text cursor = reply_text(r, SET_MEMBER_LIST_NEXT_CURSOR);

	if (reply_outcome(r) == SET_MEMBER_LIST_NO_CURSOR) {
		handler_answer_cursor(req);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (size_t i = SET_MEMBER_LIST_MEMBERS; i < r->count; i++) {
		out_object(o, NULL);
		out_text(o, "member", reply_text(r, i));
		out_close(o);
	}
	out_close(o);
	out_text(o, "next_cursor", text_is(cursor, "0") ? (struct text){ 0 } : cursor);
	answer_end(req);
}

void set_member_list(struct request *req, const struct set_member_list_input *in)
{
	struct text glob;

	if (!match_glob(req, in->match, &glob))
		return;
	struct call *c = handler_call(req, &set_member_list_script, KEY_SET, in->name);
	call_text(c, in->cursor.at ? in->cursor : TEXT("0"));
	call_text(c, glob);
	call_int(c, in->limit);
	call_send(c, on_members);
}

/* ---- GET, PATCH, DELETE /sets/{name}, GET /sets ---- */

static void out_set(struct json_out *o, struct text name, const struct reply *r)
{
	out_text(o, "name", name);
	out_int(o, "size", reply_int(r, SET_SIZE));
	handler_out_expiry(o, r, SET_EXPIRES_AT_MS);
}

const struct kind set_kind = {
	.list = { .kind = KEY_SET, .is_indexed = true, .look = kind_look, .item = kind_item },
	.missing = { "set ", " does not exist" },
	.get = &set_get_script,
	.patch = &set_patch_script,
	.delete = &set_delete_script,
	.out = out_set,
	.is_always = true,
};
