/* input: see input.h. It fills the typed struct of any operation by its field descriptors. */
#include "contract/input.h"

#include <stdio.h>

#include "contract/input_json.h"
#include "contract/path_hint.h"
#include "contract/synonym.h"
#include "contract/validation.h"
#include "contract/value.h"
#include "process/config.h"
#include "request/answer.h"
#include "request/request.h"
#include "json/read.h"

/* ---- From text: path, query, headers ---- */

static bool store_parsed(struct validation *v, const struct field *field, const struct json_pointer *at,
			 struct text value, void *slot)
{
	int64_t n;
	double real;

	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_NAME:
	case FIELD_BYTES:
		return value_text(v, field, at, value, slot);
	case FIELD_CHOICE:
		return value_choice(v, field, at, value, slot);
	case FIELD_BOOL:
		if (!value_is_truth(value))
			return validation_error(v, at, P_WRONG_TYPE, "must be true or false");
		*(bool *)slot = text_is(value, "true");
		return true;
	case FIELD_INT:
		if (!value_digits(value, &n))
			return validation_error(v, at, P_WRONG_TYPE, "must be a whole number");
		return value_int(v, field, at, n, slot);
	case FIELD_REAL:
		if (!value_parse_real(value, &real))
			return validation_error(v, at, P_WRONG_TYPE, "must be a number");
		return value_real(v, field, at, real, slot);
	default:
		return validation_error(v, at, P_WRONG_TYPE, "cannot be given here");
	}
}

static bool store_repeated(struct validation *v, const struct field *field, const struct json_pointer *at, void *slot)
{
	struct request *req = v->req;
	struct input_array array = { 0 };
	bool ok = true;

	array.items = arena_alloc(&req->arena, req->asked.query_count * field->size);
	for (size_t i = 0; array.items && i < req->asked.query_count; i++) {
		if (!text_is(req->asked.query[i].name, field->name))
			continue;
		void *item = (char *)array.items + array.count++ * field->size;
		ok = store_parsed(v, field->fields, at, req->asked.query[i].value, item) && ok;
	}
	if (array.count == 0 && field->required)
		return validation_error(v, at, P_MISSING_FIELD, "is required, as a query parameter");
	if ((int64_t)array.count < field->low || (int64_t)array.count > field->high)
		return validation_error(v, at, P_OUT_OF_RANGE, "must be given %lld to %lld times, not %zu",
					(long long)field->low, (long long)field->high, array.count);
	memcpy(slot, &array, sizeof(array));
	return ok;
}

/* Returns the text of a field that is not in the body; absent if it was not given. */
static struct text outside_value(struct validation *v, const struct field *field, const struct json_pointer *at,
				 size_t path_index)
{
	struct request *req = v->req;
	struct text found = { 0 };

	if (field->place == IN_PATH)
		return req->asked.path_values[path_index];
	if (field->place == IN_HEADER)
		return req->asked.header(req, field->name, NULL);
	for (size_t i = 0; i < req->asked.query_count; i++) {
		if (!text_is(req->asked.query[i].name, field->name))
			continue;
		if (found.at)
			validation_error(v, at, P_INVALID_VALUE, "is given more than once");
		found = req->asked.query[i].value;
	}
	return found;
}

static bool takes_query(const struct operation *op, struct text name)
{
	for (size_t i = 0; i < op->field_count; i++)
		if (op->fields[i].place == IN_QUERY && text_is(name, op->fields[i].name))
			return true;
	return false;
}

static void check_query_names(struct validation *v)
{
	const struct operation *op = v->req->op;
	char hint[NEAREST_HINT];

	for (size_t i = 0; i < v->req->asked.query_count; i++) {
		struct nearest near = { .given = v->req->asked.query[i].name };
		if (takes_query(op, near.given))
			continue;
		for (size_t k = 0; k < op->field_count; k++)
			if (op->fields[k].place == IN_QUERY)
				synonym_offer(&near, op->fields[k].name);
		const struct field unknown = { .name = near.given.at, .place = IN_QUERY };
		validation_error(v, &(struct json_pointer){ .field = &unknown }, P_UNKNOWN_FIELD,
				 "is not a query parameter of %s%s%s", op->id, nearest_hint(&near, hint),
				 synonym_unit(&near));
	}
}

/* ---- The whole input ---- */

static bool is_last_of_path(const struct operation *op, size_t i)
{
	return op->fields[i].place == IN_PATH && (i + 1u == op->field_count || op->fields[i + 1].place != IN_PATH);
}

/*
 * Adds a hint to the error for an empty name at the end of a path: the client may mean the list of
 * names.
 */
static void suggest_shorter_path(struct validation *v)
{
	char hint[PATH_HINT_BYTES];

	if (path_hint_shorter(v->req->op, hint))
		validation_add(v, "; did you mean %s?", hint);
}

static void fill_outside(struct validation *v, void *into)
{
	const struct operation *op = v->req->op;

	check_query_names(v);
	for (size_t i = 0; i < op->field_count; i++) {
		const struct field *field = &op->fields[i];
		void *slot = (char *)into + field->offset;
		if (field->place == IN_BODY)
			continue;
		struct json_pointer at = { .field = field };
		if (field->kind == FIELD_ARRAY) {
			store_repeated(v, field, &at, slot);
			continue;
		}
		struct text value = outside_value(v, field, &at, i);
		if (!value.at)
			value_absent(v, field, &at, op->fields, into);
		else if (store_parsed(v, field, &at, value, slot))
			value_note_presence(field, into, false);
		else if (value.len == 0 && is_last_of_path(op, i))
			suggest_shorter_path(v);
	}
}

/* Notes each member that a required body must have as missing. */
static void refuse_no_body(struct validation *v, const struct json_pointer *root)
{
	const struct operation *op = v->req->op;
	char names[VALIDATION_DETAIL_BYTES / 2] = "";
	size_t n = 0;

	for (size_t i = 0; i < op->field_count && n < sizeof(names); i++)
		if (op->fields[i].place == IN_BODY && op->fields[i].required)
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s %s", n ? "," : " with",
					      op->fields[i].name);
	validation_error(v, root, P_MISSING_FIELD, "is required: a JSON object%s", names);
}

static void fill_body(struct validation *v, void *into)
{
	const struct operation *op = v->req->op;
	const struct json_pointer root = { 0 };

	if (!op->takes_body)
		return;
	if (!v->req->asked.json && op->needs_body)
		refuse_no_body(v, &root);
	input_json_fill(v, op->fields, op->field_count, v->req->asked.json, &root, into);
}

/* Reads the body: one JSON value, or nothing. False: the request was answered. */
static bool read_body(struct request *req)
{
	const struct operation *op = req->op;
	const struct field all = { .kind = FIELD_OBJECT, .fields = op->fields, .field_count = op->field_count };
	struct json_error error;

	if (!op->takes_body || req->asked.body.len == 0)
		return true;
	req->asked.json =
		json_read(&req->arena, req->asked.body, op->takes_any ? input_json_place : NULL, &all, &error);
	if (!req->asked.json && !error.why)
		answer_no_memory(req, EFFECT_NONE);
	else if (!req->asked.json)
		answer_problem(req, P_MALFORMED_JSON, "the body is not valid JSON: %s (line %zu, column %zu)",
			       error.why, error.line, error.column);
	else
		return true;
	return false;
}

const void *input_fill(struct request *req)
{
	struct validation v; /* it is large, so it is not zeroed for every request */
	void *into = arena_alloc(&req->arena, req->op->input_size);

	validation_begin(&v, req);
	if (!into) {
		answer_no_memory(req, EFFECT_NONE);
		return NULL;
	}
	if (!read_body(req))
		return NULL;
	if (req->op->is_gateway) { /* it reads req->asked.json itself */
		req->input = into;
		return into;
	}
	fill_outside(&v, into);
	fill_body(&v, into);
	if (v.count) {
		validation_answer(&v);
		return NULL;
	}
	if (req->arena.failed) {
		answer_no_memory(req, EFFECT_NONE);
		return NULL;
	}
	req->input = into;
	return into;
}
