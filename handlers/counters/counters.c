/*
 * counters: counters within +-(2^53 - 1), many under one name: increments, single counters, and all
 * counters of a name. Each operation is one script (lua/counters/counter_*.lua). Only the scripts
 * add, and check the sums and the number of counters.
 */
#include "common/handler.h"
#include "common/key_kinds.h"
#include "common/kind.h"

static void answer_too_many(struct request *req, struct text name, int64_t size)
{
	answer_problem(req, P_TOO_MANY_COUNTERS, "'%s' would have %lld counters; 500 are allowed", name.at,
		       (long long)size);
}

/* ---- POST /counters/{name}/increment ---- */

static void on_added(struct request *req, const struct reply *r)
{
	const struct counter_increment_input *in = req->input;

	if (reply_outcome(r) == COUNTER_INCREMENT_OVERFLOW) {
		answer_problem(req, P_COUNTER_OVERFLOW,
			       "'%s' is %lld, and adding %lld leaves the range of -(2^53 - 1) to 2^53 - 1",
			       reply_text(r, COUNTER_INCREMENT_NAME).at,
			       (long long)reply_int(r, COUNTER_INCREMENT_VALUE),
			       (long long)reply_int(r, COUNTER_INCREMENT_BY));
		return;
	}
	if (reply_outcome(r) == COUNTER_INCREMENT_TOO_MANY) {
		answer_too_many(req, in->name, reply_int(r, COUNTER_INCREMENT_SIZE));
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_object(o, "counters");
	for (size_t i = 0; i < in->counters.count; i++) {
		out_key(o, in->counters.items[i].key);
		out_int(o, NULL, reply_int(r, COUNTER_INCREMENT_SUMS + i));
	}
	out_close(o);
	answer_end(req);
}

void counter_increment(struct request *req, const struct counter_increment_input *in)
{
	struct call *c = handler_call(req, &counter_increment_script, KEY_COUNTER, in->name);

	for (size_t i = 0; i < in->counters.count; i++) {
		call_text(c, in->counters.items[i].key);
		call_int(c, in->counters.items[i].value);
	}
	call_send(c, on_added);
}

/* ---- GET, PATCH, DELETE /counters/{name}, GET /counters ---- */

static void out_counters(struct json_out *o, struct text name, const struct reply *r)
{
	out_text(o, "name", name);
	out_object(o, "counters");
	for (size_t i = COUNTER_STATE_COUNTERS; i < r->count; i += COUNTER_ITEMS) {
		out_key(o, reply_text(r, i + COUNTER_NAME));
		out_int(o, NULL, reply_int(r, i + COUNTER_VALUE));
	}
	out_close(o);
	handler_out_expiry(o, r, COUNTER_STATE_EXPIRES_AT_MS);
}

const struct kind counter_kind = {
	.list = { .kind = KEY_COUNTER, .is_indexed = true, .item = kind_item },
	.missing = { "there are no counters under ", "" },
	.get = &counter_get_script,
	.patch = &counter_patch_script,
	.delete = &counter_delete_script,
	.out = out_counters,
	.is_always = true,
};

/* ---- GET, PUT, DELETE /counters/{name}/fields/{field} ---- */

static void answer_field(struct request *req, int status, struct text name, struct text field, int64_t value)
{
	struct json_out *o = answer_begin(req, status);

	out_text(o, "name", name);
	out_text(o, "field", field);
	out_int(o, "value", value);
	answer_end(req);
}

static void answer_no_field(struct request *req, struct text name, struct text field)
{
	answer_problem(req, P_NOT_FOUND, "there is no counter '%s' under '%s'", field.at, name.at);
}

static void on_field(struct request *req, const struct reply *r)
{
	const struct counter_field_get_input *in = req->input;

	if (reply_outcome(r) == COUNTER_FIELD_GET_ABSENT)
		answer_no_field(req, in->name, in->field);
	else
		answer_field(req, 200, in->name, in->field, reply_int(r, COUNTER_FIELD_GET_VALUE));
}

void counter_field_get(struct request *req, const struct counter_field_get_input *in)
{
	struct call *c = handler_call(req, &counter_field_get_script, KEY_COUNTER, in->name);

	call_text(c, in->field);
	call_send(c, on_field);
}

static void on_field_put(struct request *req, const struct reply *r)
{
	const struct counter_field_put_input *in = req->input;

	if (reply_outcome(r) == COUNTER_FIELD_PUT_TOO_MANY)
		answer_too_many(req, in->name, reply_int(r, COUNTER_FIELD_PUT_SIZE));
	else
		answer_field(req, reply_outcome(r) == COUNTER_FIELD_PUT_CREATED ? 201 : 200, in->name, in->field,
			     in->value);
}

void counter_field_put(struct request *req, const struct counter_field_put_input *in)
{
	struct call *c = handler_call(req, &counter_field_put_script, KEY_COUNTER, in->name);

	call_text(c, in->field);
	call_int(c, in->value);
	call_send(c, on_field_put);
}

static void on_field_deleted(struct request *req, const struct reply *r)
{
	const struct counter_field_delete_input *in = req->input;

	if (!handler_removed(req, r))
		answer_no_field(req, in->name, in->field);
}

void counter_field_delete(struct request *req, const struct counter_field_delete_input *in)
{
	struct call *c = handler_call(req, &counter_field_delete_script, KEY_COUNTER, in->name);

	call_text(c, in->field);
	call_send(c, on_field_deleted);
}
