/* input: fills the typed struct of an operation from its rows; see input.h. Generic: knows no operation. */
#include "contract/input.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "contract/fault.h"
#include "contract/input_value.h"
#include "process/config.h"
#include "request/answer.h"
#include "request/request.h"
#include "json/json_tree.h"

enum { MAX_FIELDS = 64 }; /* of an object; the generator sees to it */

/* ---- From text: path, query, headers ---- */

static bool store_parsed(struct faults *f, const struct field *row, const struct spot *at, struct text value,
			 void *slot)
{
	int64_t n;
	double real;
	char *end;

	switch (row->kind) {
	case FIELD_TEXT:
	case FIELD_NAME:
	case FIELD_BYTES:
		return value_text(f, row, at, value, slot);
	case FIELD_CHOICE:
		return value_choice(f, row, at, value, slot);
	case FIELD_BOOL:
		if (!text_is(value, "true") && !text_is(value, "false"))
			return fault_add(f, at, P_WRONG_TYPE, "must be true or false");
		*(bool *)slot = text_is(value, "true");
		return true;
	case FIELD_INT:
		if (!value_digits(value, &n))
			return fault_add(f, at, P_WRONG_TYPE, "must be a whole number");
		return value_int(f, row, at, n, slot);
	case FIELD_REAL:
		real = strtod(value.at, &end); /* too large is infinite, and out of every range */
		if (value.len == 0 || strspn(value.at, "+-.eE0123456789") != value.len || end != value.at + value.len)
			return fault_add(f, at, P_WRONG_TYPE, "must be a number");
		return value_real(f, row, at, real, slot);
	default:
		return fault_add(f, at, P_WRONG_TYPE, "cannot be given here");
	}
}

static bool store_repeated(struct faults *f, const struct field *row, const struct spot *at, void *slot)
{
	struct request *req = f->req;
	struct input_array array = { 0 };
	bool ok = true;

	array.items = arena_alloc(&req->arena, req->query_count * row->size);
	for (size_t i = 0; array.items && i < req->query_count; i++) {
		if (!text_is(req->query[i].name, row->name))
			continue;
		void *item = (char *)array.items + array.count++ * row->size;
		ok = store_parsed(f, row->fields, at, req->query[i].value, item) && ok;
	}
	if (array.count == 0 && row->required)
		return fault_add(f, at, P_MISSING_FIELD, "is required");
	if ((int64_t)array.count < row->low || (int64_t)array.count > row->high)
		return fault_add(f, at, P_OUT_OF_RANGE, "must be given %lld to %lld times, not %zu",
				 (long long)row->low, (long long)row->high, array.count);
	memcpy(slot, &array, sizeof(array));
	return ok;
}

/* The text of a field that does not come from the body; absent when it was not given. */
static struct text outside_value(struct faults *f, const struct field *row, const struct spot *at, size_t path_index)
{
	struct request *req = f->req;
	struct text found = { 0 };

	if (row->place == IN_PATH)
		return req->path_values[path_index];
	if (row->place == IN_HEADER)
		return req->header(req, row->name);
	for (size_t i = 0; i < req->query_count; i++) {
		if (!text_is(req->query[i].name, row->name))
			continue;
		if (found.at)
			fault_add(f, at, P_INVALID_VALUE, "is given twice");
		found = req->query[i].value;
	}
	return found;
}

static void check_query_names(struct faults *f)
{
	const struct operation *op = f->req->op;

	for (size_t i = 0; i < f->req->query_count; i++) {
		bool known = false;
		for (size_t r = 0; r < op->field_count && !known; r++)
			known = op->fields[r].place == IN_QUERY && text_is(f->req->query[i].name, op->fields[r].name);
		if (!known) {
			const struct field row = { .name = f->req->query[i].name.at, .place = IN_QUERY };
			struct spot at = { .row = &row };
			fault_add(f, &at, P_UNKNOWN_FIELD, "is not a query parameter of %s", op->id);
		}
	}
}

/* ---- From JSON ---- */

static void fill_object(struct faults *f, const struct field *rows, size_t count, const struct json *object,
			const struct spot *at, void *into);

static const char *type_name(const struct field *row)
{
	switch (row->kind) {
	case FIELD_INT:
		return row->or_digits ? "a whole number of 64 bits, or the text of one" : "a whole number";
	case FIELD_REAL:
		return "a number";
	case FIELD_BOOL:
		return "true or false";
	case FIELD_OBJECT:
	case FIELD_MAP:
		return "an object";
	case FIELD_ARRAY:
		return "an array";
	default:
		return "a string";
	}
}

static bool store_json_int(struct faults *f, const struct field *row, const struct spot *at, const struct json *value,
			   void *slot)
{
	int64_t n;

	if (value->kind == JSON_IS_INTEGER)
		return value_int(f, row, at, value->integer, slot);
	if (row->or_digits && value->kind == JSON_IS_TEXT && value_digits(value->text, &n))
		return value_int(f, row, at, n, slot);
	if (value->kind != JSON_IS_REAL || fabs(value->real) > 9007199254740992.0 ||
	    value->real != (double)(int64_t)value->real)
		return fault_add(f, at, P_WRONG_TYPE, "must be %s", type_name(row));
	return value_int(f, row, at, (int64_t)value->real, slot);
}

static bool store_many(struct faults *f, const struct field *row, const struct spot *at, const struct json *value,
		       void *slot);

/* A value of the client's own, whatever surrounds it. Only a larger request can hold one that is too large. */
static bool store_any(struct faults *f, const struct spot *at, const struct json *value, void *slot)
{
	size_t most = (size_t)config()->max_body_bytes;

	*(const struct json **)slot = value;
	if (f->req->body.len <= most)
		return true;
	size_t len = json_tree_text(&f->req->arena, value).len, quotes = value->kind == JSON_IS_TEXT ? 2 : 0;
	if (len <= most + quotes)
		return true;
	return fault_add(f, at, P_BODY_TOO_LARGE, "has %zu bytes as JSON; --max-body-bytes allows %zu", len - quotes,
			 most);
}

static bool store_json(struct faults *f, const struct field *row, const struct spot *at, const struct json *value,
		       void *slot)
{
	enum json_kind kind = value->kind;

	switch (row->kind) {
	case FIELD_ANY:
		return store_any(f, at, value, slot);
	case FIELD_TEXT:
	case FIELD_NAME:
	case FIELD_BYTES:
		if (kind == JSON_IS_TEXT)
			return value_text(f, row, at, value->text, slot);
		break;
	case FIELD_CHOICE:
		if (kind == JSON_IS_TEXT)
			return value_choice(f, row, at, value->text, slot);
		break;
	case FIELD_INT:
		return store_json_int(f, row, at, value, slot);
	case FIELD_REAL:
		if (kind == JSON_IS_INTEGER || kind == JSON_IS_REAL)
			return value_real(f, row, at, kind == JSON_IS_REAL ? value->real : (double)value->integer,
					  slot);
		break;
	case FIELD_BOOL:
		if (kind == JSON_IS_BOOL) {
			*(bool *)slot = value->truth;
			return true;
		}
		break;
	case FIELD_OBJECT:
		if (kind == JSON_IS_OBJECT) {
			fill_object(f, row->fields, row->field_count, value, at, slot);
			return true;
		}
		break;
	case FIELD_ARRAY:
	case FIELD_MAP:
		if (kind == (row->kind == FIELD_MAP ? JSON_IS_OBJECT : JSON_IS_ARRAY))
			return store_many(f, row, at, value, slot);
		break;
	}
	return fault_add(f, at, P_WRONG_TYPE, "must be %s", type_name(row));
}

/* Of scalars: the generator lets no other items be distinct. */
static bool is_same(const struct json *a, const struct json *b)
{
	switch (a->kind == b->kind ? a->kind : JSON_IS_OBJECT) {
	case JSON_IS_TEXT:
		return text_equal(a->text, b->text);
	case JSON_IS_INTEGER:
		return a->integer == b->integer;
	case JSON_IS_REAL:
		return a->real == b->real;
	default:
		return false;
	}
}

/* True when the item stands in its array before. */
static bool is_repeated(const struct json *array, const struct json *item)
{
	const struct json *one = array->first;

	while (one != item && !is_same(one, item))
		one = one->next;
	return one != item;
}

static bool store_many(struct faults *f, const struct field *row, const struct spot *at, const struct json *value,
		       void *slot)
{
	bool is_map = row->kind == FIELD_MAP, ok = true;
	struct input_array many = { .count = value->count };
	const struct field *of = row->fields; /* of an item; in a map of its key, then of its value */
	size_t i = 0;

	if ((int64_t)many.count < row->low || (int64_t)many.count > row->high)
		return fault_add(f, at, P_OUT_OF_RANGE, "must have %lld to %lld %s, not %zu", (long long)row->low,
				 (long long)row->high, is_map ? "members" : "items", many.count);
	char *item = many.items = arena_alloc(&f->req->arena, many.count * row->size);
	if (!item)
		return false;
	for (const struct json *one = value->first; one; one = one->next, item += row->size) {
		struct spot spot = { .parent = at, .key = one->key.at, .index = i++ };
		if (is_map)
			ok = value_text(f, &of[0], &spot, one->key, item + of[0].offset) &&
			     store_json(f, &of[1], &spot, one, item + of[1].offset) && ok;
		else
			ok = store_json(f, of, &spot, one, item) && ok;
		if (row->distinct && is_repeated(value, one))
			ok = fault_add(f, &spot, P_INVALID_VALUE, "is a duplicate value");
	}
	memcpy(slot, &many, sizeof(many));
	return ok;
}

static void store_default(const struct field *row, void *into)
{
	void *slot = (char *)into + row->offset;

	if (row->kind == FIELD_INT)
		*(int64_t *)slot = row->default_value;
	else if (row->kind == FIELD_REAL)
		*(double *)slot = row->real_default;
	else if (row->kind == FIELD_BOOL)
		*(bool *)slot = row->default_value != 0;
	else if (row->kind == FIELD_CHOICE)
		*(int *)slot = (int)row->default_value;
}

static void absent(struct faults *f, const struct field *row, const struct spot *at, void *into)
{
	if (row->required)
		fault_add(f, at, P_MISSING_FIELD, "is required");
	else
		store_default(row, into);
}

static void present(const struct field *row, void *into)
{
	if (row->has_offset != NO_OFFSET)
		*(bool *)((char *)into + row->has_offset) = true;
}

static inline bool is_member(const struct field *row, const char *key)
{
	return row->name[0] == key[0] && row->place == IN_BODY && strcmp(row->name, key) == 0;
}

/* Which member belongs to which row, values[i] being NULL where there is none; what belongs to no row is a fault. */
static void match_members(struct faults *f, const struct field *rows, size_t count, const struct json *object,
			  const struct spot *at, const struct json *values[MAX_FIELDS])
{
	for (size_t i = 0; i < count; i++)
		values[i] = NULL;
	for (const struct json *m = object ? object->first : NULL; m; m = m->next) {
		size_t i = 0;
		while (i < count && !is_member(&rows[i], m->key.at))
			i++;
		if (i < count) {
			values[i] = m;
		} else {
			struct spot member = { .parent = at, .key = m->key.at };
			fault_add(f, &member, P_UNKNOWN_FIELD, "is not a known field");
		}
	}
}

static void fill_object(struct faults *f, const struct field *rows, size_t count, const struct json *object,
			const struct spot *at, void *into)
{
	const struct json *values[MAX_FIELDS];
	uint64_t given = 0; /* a bit for each row whose member is there */

	if (count && rows[count - 1].place == IN_WHOLE_BODY) {
		rows += count - 1;
		if (!object)
			absent(f, rows, at, into);
		else
			store_json(f, rows, at, object, (char *)into + rows->offset);
		return;
	}
	match_members(f, rows, count, object, at, values);
	for (size_t i = 0; i < count; i++) {
		const struct field *row = &rows[i];
		if (row->place != IN_BODY)
			continue;
		struct spot member = { .parent = at, .key = row->name };
		uint64_t rivals = row->excludes & given;
		given |= (uint64_t)(values[i] != NULL) << i;
		if (!values[i] && rivals)
			store_default(row, into);
		else if (!values[i])
			absent(f, row, &member, into);
		else if (rivals)
			fault_add(f, &member, P_INVALID_VALUE, "cannot be combined with %s",
				  rows[__builtin_ctzll(rivals)].name);
		else if (store_json(f, row, &member, values[i], (char *)into + row->offset))
			present(row, into);
	}
}

static void fill_outside(struct faults *f, void *into)
{
	const struct operation *op = f->req->op;

	check_query_names(f);
	for (size_t i = 0; i < op->field_count; i++) {
		const struct field *row = &op->fields[i];
		void *slot = (char *)into + row->offset;
		if (row->place == IN_BODY || row->place == IN_WHOLE_BODY)
			continue;
		struct spot at = { .row = row };
		if (row->kind == FIELD_ARRAY) {
			store_repeated(f, row, &at, slot);
			continue;
		}
		struct text value = outside_value(f, row, &at, i);
		if (!value.at)
			absent(f, row, &at, into);
		else if (store_parsed(f, row, &at, value, slot))
			present(row, into);
	}
}

/* The body is a JSON object, or nothing. False: it was answered. */
static bool read_body(struct request *req)
{
	struct json_error error;

	if (!req->op->takes_body || req->body.len == 0)
		return true;
	req->json = json_tree_read(&req->arena, req->body, &error);
	if (!req->json && !error.why)
		answer_no_memory(req, EFFECT_NONE);
	else if (!req->json)
		answer_problem(req, P_MALFORMED_JSON, "the body is not valid JSON: %s (line %zu, column %zu)",
			       error.why, error.line, error.column);
	else if (req->json->kind != JSON_IS_OBJECT)
		answer_problem(req, P_MALFORMED_JSON, "the body must be a JSON object");
	else
		return true;
	return false;
}

const void *input_fill(struct request *req)
{
	struct faults f; /* large: not zeroed for every request */
	struct spot root = { 0 };
	void *into = arena_alloc(&req->arena, req->op->input_size);

	faults_begin(&f, req);
	if (!into) {
		answer_no_memory(req, EFFECT_NONE);
		return NULL;
	}
	if (!read_body(req))
		return NULL;
	fill_outside(&f, into);
	if (req->op->takes_body)
		fill_object(&f, req->op->fields, req->op->field_count, req->json, &root, into);
	if (f.count) {
		faults_answer(&f);
		return NULL;
	}
	if (req->arena.failed) {
		answer_no_memory(req, EFFECT_NONE);
		return NULL;
	}
	req->input = into;
	return into;
}
