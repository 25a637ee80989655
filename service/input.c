/* input: fills the typed struct of an operation from its rows; see input.h. Generic: knows no operation. */
#include "input.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fault.h"
#include "input_value.h"
#include "json_tree.h"
#include "request.h"

enum { MAX_FIELDS = 64 }; /* of an object; the generator sees to it */

/* ---- From text: path, query, headers ---- */

static bool store_parsed(struct faults *f, const struct field *row, const struct spot *at, struct text value,
			 void *slot)
{
	int64_t n;
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
		double real = strtod(value.at, &end); /* too large is infinite, and out of every range */
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
			fault_add(f, at, P_INVALID_VALUE, "was given twice");
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

static void fill_object(struct faults *f, const struct field *rows, size_t count, json_t *object, const struct spot *at,
			void *into);

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

static bool store_json_int(struct faults *f, const struct field *row, const struct spot *at, json_t *value, void *slot)
{
	struct text digits = { json_string_value(value), json_string_length(value) };
	int64_t n;

	if (row->or_digits && digits.at && value_digits(digits, &n))
		return value_int(f, row, at, n, slot);
	if (json_is_integer(value))
		return value_int(f, row, at, json_integer_value(value), slot);
	double real = json_real_value(value);
	if (!json_is_real(value) || real != floor(real) || fabs(real) > 9007199254740992.0)
		return fault_add(f, at, P_WRONG_TYPE, "must be %s", type_name(row));
	return value_int(f, row, at, (int64_t)real, slot);
}

static bool store_many(struct faults *f, const struct field *row, const struct spot *at, json_t *value, void *slot);

static bool store_json(struct faults *f, const struct field *row, const struct spot *at, json_t *value, void *slot)
{
	struct text string = { json_string_value(value), json_string_length(value) };

	switch (row->kind) {
	case FIELD_ANY:
		*(json_t **)slot = value;
		return true;
	case FIELD_TEXT:
	case FIELD_NAME:
	case FIELD_BYTES:
		if (string.at)
			return value_text(f, row, at, string, slot);
		break;
	case FIELD_CHOICE:
		if (string.at)
			return value_choice(f, row, at, string, slot);
		break;
	case FIELD_INT:
		return store_json_int(f, row, at, value, slot);
	case FIELD_REAL:
		if (json_is_number(value))
			return value_real(f, row, at, json_number_value(value), slot);
		break;
	case FIELD_BOOL:
		if (json_is_boolean(value)) {
			*(bool *)slot = json_is_true(value);
			return true;
		}
		break;
	case FIELD_OBJECT:
		if (json_is_object(value)) {
			fill_object(f, row->fields, row->field_count, value, at, slot);
			return true;
		}
		break;
	case FIELD_ARRAY:
	case FIELD_MAP:
		if (row->kind == FIELD_MAP ? json_is_object(value) : json_is_array(value))
			return store_many(f, row, at, value, slot);
		break;
	}
	return fault_add(f, at, P_WRONG_TYPE, "must be %s", type_name(row));
}

/* True when item `i` of the array stands there before. */
static bool is_repeated(const json_t *array, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (json_equal(json_array_get(array, i), json_array_get(array, j)))
			return true;
	return false;
}

static bool store_many(struct faults *f, const struct field *row, const struct spot *at, json_t *value, void *slot)
{
	bool is_map = row->kind == FIELD_MAP, ok = true;
	struct input_array many = { .count = is_map ? json_object_size(value) : json_array_size(value) };
	const struct field *of = row->fields; /* of an item; in a map of its key, then of its value */

	if ((int64_t)many.count < row->low || (int64_t)many.count > row->high)
		return fault_add(f, at, P_OUT_OF_RANGE, "must have %lld to %lld %s, not %zu", (long long)row->low,
				 (long long)row->high, is_map ? "members" : "items", many.count);
	char *item = many.items = arena_alloc(&f->req->arena, many.count * row->size);
	if (!item)
		return false;
	for (size_t i = 0; !is_map && i < many.count; i++, item += row->size) {
		struct spot spot = { .parent = at, .index = i };
		ok = store_json(f, of, &spot, json_array_get(value, i), item) && ok;
		if (row->distinct && is_repeated(value, i))
			ok = fault_add(f, &spot, P_INVALID_VALUE, "stands there before");
	}
	/* An array has none of these. */
	for (void *m = json_object_iter(value); m; m = json_object_iter_next(value, m), item += row->size) {
		struct spot spot = { .parent = at, .key = json_object_iter_key(m) };
		ok = value_text(f, &of[0], &spot, text_of(spot.key), item + of[0].offset) &&
		     store_json(f, &of[1], &spot, json_object_iter_value(m), item + of[1].offset) && ok;
	}
	memcpy(slot, &many, sizeof(many));
	return ok;
}

static void store_default(const struct field *row, void *into)
{
	void *slot = (char *)into + row->offset;

	if (row->kind == FIELD_INT)
		*(int64_t *)slot = row->standard;
	else if (row->kind == FIELD_REAL)
		*(double *)slot = row->real_standard;
	else if (row->kind == FIELD_BOOL)
		*(bool *)slot = row->standard != 0;
	else if (row->kind == FIELD_CHOICE)
		*(int *)slot = (int)row->standard;
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

/* Which member belongs to which row, values[i] being NULL where there is none; what belongs to no row is a fault. */
static void match_members(struct faults *f, const struct field *rows, size_t count, json_t *object,
			  const struct spot *at, json_t *values[MAX_FIELDS])
{
	const char *key;
	json_t *value;

	for (size_t i = 0; i < count; i++)
		values[i] = NULL;
	json_object_foreach(object, key, value) {
		size_t i = 0;
		while (i < count && (rows[i].place != IN_BODY || strcmp(rows[i].name, key) != 0))
			i++;
		if (i < count) {
			values[i] = value;
		} else {
			struct spot member = { .parent = at, .key = key };
			fault_add(f, &member, P_UNKNOWN_FIELD, "is not known here");
		}
	}
}

static void fill_object(struct faults *f, const struct field *rows, size_t count, json_t *object, const struct spot *at,
			void *into)
{
	json_t *values[MAX_FIELDS];
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
		uint64_t rivals = row->unless & given;
		given |= (uint64_t)(values[i] != NULL) << i;
		if (!values[i] && rivals)
			store_default(row, into);
		else if (!values[i])
			absent(f, row, &member, into);
		else if (rivals)
			fault_add(f, &member, P_INVALID_VALUE, "has no place beside %s",
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

static bool parse_body(struct request *req)
{
	char why[256];

	if (!req->op->takes_body || req->body.len == 0)
		return true;
	req->json = json_tree_parse(&req->arena, req->body, why, sizeof(why));
	if (!req->json && req->arena.failed)
		answer_no_memory(req, EFFECT_NONE);
	else if (!req->json)
		answer_problem(req, P_MALFORMED_JSON, "%s", why);
	return req->json != NULL;
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
	if (!parse_body(req))
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
