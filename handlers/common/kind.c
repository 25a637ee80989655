/* kind: while a request runs, its `work` is the kind, and in a list the listing. */
#include "common/kind.h"

#include "common/handler.h"

static struct call *call_of(struct request *req, const struct kind *k, const struct script *s, struct text name)
{
	return k->call ? k->call(req, s, name) : handler_call(req, s, k->list.kind, name);
}

static void answer(struct request *req, const struct reply *r, struct text name, bool is_there)
{
	const struct kind *k = req->work;

	if (is_there) {
		k->out(answer_begin(req, 200), name, r);
		answer_end(req);
	} else {
		answer_problem(req, P_NOT_FOUND, "%s'%s'%s", k->missing[0], name.at, k->missing[1]);
	}
}

static void on_state(struct request *req, const struct reply *r)
{
	const struct kind *k = req->work;
	const struct kind_name_input *in = req->input;

	answer(req, r, in->name, k->is_always || reply_outcome(r) >= 0);
}

void kind_get(struct request *req, const struct kind *k, const struct kind_name_input *in)
{
	req->work = (void *)k;
	call_send(call_of(req, k, k->get, in->name), on_state);
}

static void on_patched(struct request *req, const struct reply *r)
{
	const struct kind_patch_input *in = req->input;

	answer(req, r, in->name, reply_outcome(r) >= 0);
}

void kind_patch(struct request *req, const struct kind *k, const struct kind_patch_input *in)
{
	req->work = (void *)k;
	handler_patch_ttl(call_of(req, k, k->patch, in->name), in->has_ttl_ms, in->reset_ttl_ms, in->ttl_ms,
			  on_patched);
}

static void on_deleted(struct request *req, const struct reply *r)
{
	const struct kind_name_input *in = req->input;

	if (!handler_removed(req, r))
		answer(req, r, in->name, false);
}

void kind_delete(struct request *req, const struct kind *k, const struct kind_name_input *in)
{
	req->work = (void *)k;
	call_send(call_of(req, k, k->delete, in->name), on_deleted);
}

void kind_list(struct request *req, const struct kind *k, const struct kind_list_input *in)
{
	list_keys(req, &k->list, in->match, in->cursor, in->limit);
}

/* The list is the first member of its kind. */
static const struct kind *kind_of_list(const struct request *req)
{
	return (const struct kind *)((const struct listing *)req->work)->of;
}

struct call *kind_look(struct request *req, struct text name, struct text part)
{
	const struct kind *k = kind_of_list(req);

	(void)part;
	return call_of(req, k, k->get, name);
}

void kind_item(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	(void)part;
	if (r && reply_outcome(r) < 0)
		return; /* it was deleted after its name was found */
	out_object(o, NULL);
	if (r)
		kind_of_list(req)->out(o, name, r);
	else
		out_text(o, "name", name);
	out_close(o);
}
