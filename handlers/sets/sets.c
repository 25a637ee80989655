/*
 * sets: members without repeats. Each operation is one script (lua/sets/set_*.lua). What several
 * sets have together: sets/combine.c.
 */
#include "handler.h"
#include "kinds.h"

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

	answer_member(req, reply_int(r, 0) > 0 ? 201 : 200, in->name, in->member, reply_int(r, 2));
}

void set_member_put(struct request *req, const struct set_member_put_input *in)
{
	struct call *c = handler_call(req, &set_member_put_script, KEY_SET, in->name);

	call_text(c, in->member);
	call_send(c, on_put);
}

static void on_state(struct request *req, const struct reply *r)
{
	const struct set_member_get_input *in = req->input;

	if (reply_int(r, 0) < 0)
		answer_no_member(req, in->name, in->member);
	else
		answer_member(req, 200, in->name, in->member, reply_int(r, 2));
}

void set_member_get(struct request *req, const struct set_member_get_input *in)
{
	struct call *c = handler_call(req, &set_member_get_script, KEY_SET, in->name);

	call_text(c, in->member);
	call_send(c, on_state);
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

/* ---- GET /sets/{name} ---- */

/* `items`: the reply's from `i` on. */
static void write_members(struct json_out *o, const struct reply *r, size_t i)
{
	out_array(o, "items");
	for (; i < r->count; i++)
		out_text(o, NULL, reply_text(r, i));
	out_close(o);
}

static void on_members(struct request *req, const struct reply *r)
{
	const struct set_member_list_input *in = req->input;
	struct text cursor = reply_text(r, 3);

	if (reply_int(r, 0) < 0) {
		handler_answer_cursor(req);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_int(o, "size", reply_int(r, 2));
	write_members(o, r, 4);
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
